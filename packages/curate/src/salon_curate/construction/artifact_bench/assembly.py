"""From settled labels, levels and paths to questions of AID."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from salon_curate.construction.artifact_bench.annotation import Annotated, AnnotationState
from salon_curate.construction.artifact_bench.difficulty import difficulty
from salon_judges.formats.artifact_bench import BenchRow, QuestionLevel, QuestionTask
from salon_judges.formats.artifact_bench_options import OPTIONS, offer


@dataclass(frozen=True, slots=True)
class Assembled:
    """Questions, and why the other videos have none (video → one clause)."""

    rows: tuple[BenchRow, ...]
    left_out: Mapping[str, str]


def assemble(
    annotated: Sequence[Annotated],
    levels: Mapping[str, Mapping[str, QuestionLevel]],
    videos: Mapping[str, str],
    *,
    seed: int,
    options: int = OPTIONS,
) -> Assembled:
    """One question per video whose labels experts confirmed, whose level has a majority, and whose path is known.

    Args:
        annotated: as ``annotate`` gives it.
        levels: video → rater → level.
        videos: video → path below the folder of videos.
        seed: of the wrong options.
        options: how many a question has.
    """
    rows: list[BenchRow] = []
    left_out: dict[str, str] = {}
    for video in annotated:
        name = video.generation_id
        level = difficulty(levels.get(name, {})).level
        if video.stage is not AnnotationState.SETTLED:
            left_out[name] = f"its labels are at the stage {video.stage}"
        elif not 0 < len(video.labels) < options:
            left_out[name] = f"it has {len(video.labels)} labels; a question takes 1 to {options - 1}"
        elif level is None:
            left_out[name] = "its level has no majority yet"
        elif name not in videos:
            left_out[name] = "its file is not listed"
        else:
            drawn = offer(video.labels, seed=seed, sample_id=name, options=options)
            answer = drawn.answer.replace(",", "")
            rows.append(BenchRow(QuestionTask.AID, name, (videos[name],), answer, level, drawn.texts, drawn.leaves))
    return Assembled(tuple(rows), left_out)

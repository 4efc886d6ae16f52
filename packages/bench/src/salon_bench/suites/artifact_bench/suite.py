"""Artifact-Bench: is a video generated, which of two looks more real, and which artifacts does it have?

    row ── rvac | pvrc | aid ──► one question (pvrc in both orders: two) ──► right or wrong, and what was chosen

Here the judge is what is under test: the *subject* of a run only names the videos (``--model artifact-bench``),
results differ by ``judge``.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, RewardSpec, SuitePrompt, Summary, whole_cases
from salon_judges.asking.templates import Templates
from salon_judges.formats.artifact_bench import (
    ABSENT,
    CHOSE_FIRST,
    CORRECT,
    FRAMES,
    FRAMES_LEFT_OUT,
    LETTERS,
    PRESENT,
    SAID_YES,
    SWAPPED,
    TAXONOMY,
    BenchRow,
    QuestionTask,
    read_rows,
)
from salon_judges.formats.generations import Generated, Generations
from salon_judges.media import PicturePolicy, VideoPolicy
from salon_taxonomy import Taxonomy
from salon_taxonomy.answers.artifact_bench import (
    OptionLettersAnswer,
    VideoChoiceAnswer,
    YesNoAnswer,
    parse_option_letters,
    parse_video_choice,
    parse_yes_no,
)
from salon_taxonomy.answers.reading import Fidelity
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Media, Question
from salon_taxonomy.records import Prompt, Record
from salon_taxonomy.verdict import Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

_RULES_VERSION = 1  # raised by hand when parsers or rows change their meaning
_TEMPLATES = Templates(Path(__file__).with_name("prompts"))
_DECODING = Decoding(max_tokens=2048)
_NO_VIDEO = Media.from_bytes(b"")


class ArtifactBench(SuiteBase):
    """The suite. Installed as ``artifact-bench``, ``artifact-bench-released`` and ``artifact-bench-both-orders``.

    Args:
        fidelity: which rules read replies: ``paper``, or ``released`` for the authors' script to the letter.
        both_orders: ask PVRC twice, the second time with the videos swapped, to measure what their order does. The accuracy
            stays that of the row's own order.

    Raises:
        InputError: the fidelity is unknown.
    """

    picture_names: Sequence[str] = ("Video A", "Video B")
    reward = RewardSpec(lambda row: row.value if row.dimension == CORRECT else None, answers=True)

    pictures = PicturePolicy(video=VideoPolicy(frames_per_second=5.0))
    """Videos at 5 frames per second (Artifact-Bench, section 4)."""

    def __init__(self, fidelity: Fidelity = "paper", *, both_orders: bool = False) -> None:
        if fidelity not in ("paper", "released"):
            raise InputError("unknown fidelity", value=fidelity, allowed=("paper", "released"))
        self.fidelity = fidelity
        self.both_orders = both_orders

    @property
    def name(self) -> str:
        """As the entry points call it."""
        return f"artifact-bench{'-released' * (self.fidelity == 'released')}{'-both-orders' * self.both_orders}"

    @cached_property
    def version(self) -> str:
        """A digest of templates, parsers, the rate and size of frames, and rules."""
        video = self.pictures.video or VideoPolicy()
        parts: list[Digestible] = [video.frames_per_second, video.most_pixels, video.quality]
        whole: dict[str, Digestible] = {"templates": _TEMPLATES.version, "fidelity": self.fidelity, "video": parts}
        return digest("artifact-bench", {**whole, "both_orders": self.both_orders, "rules": _RULES_VERSION})

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Read the questions of a file, or of a folder with the released ``task*_meta.jsonl``; none ships with Salon.

        Raises:
            InputError: without a file, or when it is wrong.
        """
        hint = "Give your copy with --prompts: the folder of task*_meta.jsonl, or a file (JSON, JSON Lines, CSV, Parquet)."
        file = given(source, "Artifact-Bench needs a file of questions", hint)
        return read_rows(file).map(self._prompt)

    def generations(self, source: Path, model: str, prompts: Sequence[SuitePrompt]) -> Generations:
        """Return the videos that the questions name, below the folder ``source``; missing ones are reported when opened.

        Raises:
            InputError: when ``source`` is no folder.
        """
        if not source.is_dir():
            raise InputError("must be the folder below which the videos lie", source=source, hint="Give it as --generations.")
        return Generations(
            Generated(item.prompt.prompt_id, model, number, source / path, source)
            for item in prompts
            for number, path in enumerate(cast("tuple[str, ...]", item.facts["videos"]))
        )

    def cases(self, prompts: Sequence[SuitePrompt], generations: Generations) -> Iterable[Case]:
        """Return one case per question."""

        def videos(item: SuitePrompt) -> int:
            return len(cast("tuple[str, ...]", item.facts["videos"]))

        return whole_cases(self.name, prompts, generations, videos, "a video of the question is missing")

    def examine(self, case: Case) -> Examination:
        """Ask the one question of the case's task; the rows are those of the dimensions named in this module."""
        match case.facts["task"]:
            case QuestionTask.RVAC:
                rows = yield from self._rvac(case)
            case QuestionTask.PVRC:
                rows = yield from self._pvrc(case)
            case _:
                rows = yield from self._aid(case)
        return [*rows, *_frames(case)]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Accuracy per task and level, Avg, Total, and what the tasks say beyond it (see :func:`~.summary.summarize`)."""
        from salon_bench.suites.artifact_bench.summary import summarize

        return summarize(scores)

    def _prompt(self, row: BenchRow) -> SuitePrompt:
        facts: dict[str, Digestible] = {
            "task": row.task.value,
            "level": row.level.value,
            "videos": row.videos,
            "answer": row.answer,
            "definitions": tuple(" ".join(option.partition(":")[2].split()) for option in row.options),
            "leaves": row.leaves,
        }
        return SuitePrompt(Prompt(prompt_id=row.prompt_id, suite=self.name, text=f"{row.task} {row.sample_id}"), facts)

    def _rvac(self, case: Case) -> Examination:
        question = Question((_video(case, 0), _TEMPLATES.render("rvac")), decoding=_DECODING)
        verdict: Verdict[YesNoAnswer] = yield Inquiry("rvac", question, partial(parse_yes_no, fidelity=self.fidelity))
        if isinstance(verdict, Unscored):
            return [_row(case, CORRECT, verdict), _row(case, SAID_YES, verdict)]
        answered = verdict.value.ai_generated
        right = answered == (case.facts["answer"] == "yes")
        return [_row(case, CORRECT, Scored(float(right))), _row(case, SAID_YES, Scored(float(answered)))]

    def _pvrc(self, case: Case) -> Examination:
        rows: list[Record] = []
        for ending in ("", SWAPPED) if self.both_orders else ("",):
            order = (1, 0) if ending else (0, 1)
            parts = ("Video A:", _video(case, order[0]), "Video B:", _video(case, order[1]), _TEMPLATES.render("pvrc"))
            question = Question(parts, decoding=_DECODING)
            parse = partial(parse_video_choice, fidelity=self.fidelity)
            verdict: Verdict[VideoChoiceAnswer] = yield Inquiry(f"pvrc{ending}", question, parse)
            if isinstance(verdict, Unscored):
                rows += [_row(case, CORRECT + ending, verdict), _row(case, CHOSE_FIRST + ending, verdict)]
                continue
            first = verdict.value.more_realistic == "A"
            chosen = order[0] if first else order[1]
            right = chosen == LETTERS.index(str(case.facts["answer"]))
            rows += [_row(case, CORRECT + ending, Scored(float(right))), _row(case, CHOSE_FIRST + ending, Scored(float(first)))]
        return rows

    def _aid(self, case: Case) -> Examination:
        leaves = cast("tuple[str, ...]", case.facts["leaves"])
        names = [Taxonomy.load(TAXONOMY).find(leaf).name for leaf in leaves]
        told = {"names": names, "definitions": case.facts["definitions"], "letters": LETTERS, "count": len(leaves)}
        words = _TEMPLATES.render("aid", **told)
        question = Question((_video(case, 0), words), decoding=_DECODING)
        parse = partial(parse_option_letters, options=len(leaves), fidelity=self.fidelity)
        verdict: Verdict[OptionLettersAnswer] = yield Inquiry("aid", question, parse)
        chosen = verdict.value.letters if isinstance(verdict, Scored) else frozenset[str]()
        answer = frozenset(str(case.facts["answer"]))
        right: Verdict[float] = verdict if isinstance(verdict, Unscored) else Scored(float(chosen == answer))
        rows: list[Record] = [_row(case, CORRECT, right)]
        for letter, leaf in zip(LETTERS, leaves, strict=False):
            score: Verdict[float] = verdict if isinstance(verdict, Unscored) else Scored(float(letter in chosen))
            rows.append(_row(case, (PRESENT if letter in answer else ABSENT) + leaf, score))
            if isinstance(verdict, Scored):
                rows.append(case.label(TAXONOMY, leaf, present=letter in chosen))
        return rows


def _video(case: Case, number: int) -> Media:
    """Return one of the case's videos; an empty one when they are missing and no judge is asked."""
    return case.media[number] if number < len(case.media) else _NO_VIDEO


def _row(case: Case, dimension: str, verdict: Verdict[float]) -> Record:
    return case.score(f"{case.facts['task']} {case.facts['level']}", dimension, verdict)


def _frames(case: Case) -> list[Record]:
    """Return how many frames were shown and left out, where the videos were sampled."""
    films = [media.film for media in case.media]
    known = [film for film in films if film is not None]
    if not known or len(known) < len(films):
        return []
    frames = sum(len(film.frames) for film in known)
    left_out = sum(film.at_rate for film in known) - frames
    return [_row(case, FRAMES, Scored(float(frames))), _row(case, FRAMES_LEFT_OUT, Scored(float(left_out)))]

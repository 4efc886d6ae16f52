"""``salon bench artifact-bench``: look at rows and confusions, and build such a benchmark. Parse, one library call, print."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import rich_click as click

from salon_bench.cli.options import FORMAT, STORE
from salon_taxonomy.errors import IncompleteError
from salon_taxonomy.file_options import InputPath, OutputPath

_FILE = InputPath(dir_okay=False)
_ASSESSMENTS = click.argument("assessments", type=_FILE)
_EXPERTS = click.option("--expert", "experts", multiple=True, help="A judge who verifies; repeat for the second one.")


@click.group("artifact-bench")
def artifact_bench() -> None:
    """Artifact-Bench's own tools; the benchmark itself is `salon bench run artifact-bench`.

    \b
    salon bench artifact-bench rows rows.json --videos videos/
    salon bench artifact-bench options "Oversmoothing" --seed 0
    salon bench artifact-bench annotation labels.csv --expert zoe --expert yan
    """


@artifact_bench.command("rows")
@click.argument("rows", type=InputPath(), nargs=-1, required=True, metavar="ROWS...")
@click.option("--videos", type=InputPath(), help="The folder of videos; those that are missing are counted.")
@FORMAT
def rows_(rows: tuple[Path, ...], videos: Path | None, form: str) -> None:
    """Check the questions in ROWS (files, or the released folder) and count them by task and level.

    A row that cannot be used is left out and named; the command then exits with 1.

    \b
    Example:
      salon bench artifact-bench rows task/ --videos videos/
      salon bench artifact-bench rows task1_meta.jsonl task2_meta.jsonl task3_meta.jsonl
    """
    from salon_bench.suites.artifact_bench.rows import Level, Task, read_rows

    found = read_rows(*rows)
    counts = Counter((each.task, each.level) for each in found)
    missing = sorted({path for each in found for path in each.videos if videos and not (videos / path).is_file()})
    if form == "json":
        by_task = {task.value: {level.value: counts[task, level] for level in Level} for task in Task}
        problems = [str(each.error) for each in found.left_out]
        click.echo(json.dumps({"questions": by_task, "missing_videos": missing, "left_out": problems}, indent=2))
    else:
        lines = [[task.value, *(str(counts[task, level]) for level in Level)] for task in Task]
        _table(["task", *(level.value for level in Level)], lines)
        click.echo(f"{len(found)} questions")
    if found.left_out:
        click.echo("\n".join(found.remarks()), err=True)
    if missing:
        raise IncompleteError(f"{len(missing)} videos are missing below {videos}; the first: {missing[0]!r}")
    if found.left_out:
        raise IncompleteError(f"{len(found.left_out)} rows cannot be used")


@artifact_bench.command("confusion")
@click.argument("run_id", metavar="RUN")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="So many pairs.")
@STORE
@FORMAT
def confusion_(run_id: str, top: int, store: Path, form: str) -> None:
    """Which artifacts the judge of RUN takes for which: missed labels beside those that it chose instead.

    \b
    Example:
      salon bench artifact-bench confusion artifact-bench-artifact-bench-qwen-1a2b3c4d
    """
    from salon_bench.runs.status import run_status
    from salon_bench.runs.view import RunView
    from salon_bench.suites.artifact_bench.diagnosis import confusion, diagnoses
    from salon_bench.suites.artifact_bench.summary import INVALID

    view = RunView(store, run_status(store, run_id))
    found = diagnoses(view.scores, INVALID)
    pairs = confusion(found).head(top)
    if form == "json":
        click.echo(json.dumps(pairs.to_dicts(), indent=2))
        return
    _table(pairs.columns, [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in pairs.rows()])
    click.echo(f"{len(found)} questions, {sum(each.chosen is None for each in found)} of them without an answer")


@artifact_bench.command("options")
@click.argument("labels", nargs=-1, required=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed draws other options.")
@click.option("--sample-id", default="1", show_default=True, help="The question; each has a draw of its own.")
@click.option("--count", type=click.IntRange(2, 26), default=6, show_default=True, help="Options in all.")
def options_(labels: Sequence[str], seed: int, sample_id: str, count: int) -> None:
    """Draw the options of a question whose right answers are LABELS: the wrong ones are easily taken for them.

    \b
    Example:
      salon bench artifact-bench options "Flickering and Noise" "Spatial Clipping" --seed 0
    """
    from salon_bench.suites.artifact_bench.construction import offer
    from salon_bench.suites.artifact_bench.rows import LETTERS

    drawn = offer(labels, seed=seed, sample_id=sample_id, options=count)
    for letter, text in zip(LETTERS, drawn.texts, strict=False):
        click.echo(f"{letter}. {text}")
    click.echo(f"Answer: {drawn.answer}")


@artifact_bench.command("annotation")
@_ASSESSMENTS
@_EXPERTS
@FORMAT
def annotation_(assessments: Path, experts: tuple[str, ...], form: str) -> None:
    """Where the labels in ASSESSMENTS stand, and how far people agree: three label a video, two more where they differ.

    ASSESSMENTS is a table with generation_id, label, present (true or false) and judge. Somebody who found nothing says false
    of any label.

    \b
    Example:
      salon bench artifact-bench annotation labels.csv --expert zoe --expert yan
    """
    from salon_bench.suites.artifact_bench.construction import agreement, annotate, read_assessments

    rows = read_assessments(assessments)
    videos, agreed = annotate(rows, experts=experts), agreement(rows, experts=experts)
    if form == "json":
        standing = [{name: getattr(each, name) for name in type(each).__slots__} for each in videos]
        labels = [{name: getattr(each, name) for name in type(each).__slots__} for each in agreed]
        click.echo(json.dumps({"videos": standing, "agreement": labels}, indent=2))
        return
    lines = [[each.generation_id, each.stage.value, str(each.missing), ", ".join(each.labels)] for each in videos]
    _table(["video", "stage", "missing", "labels"], lines)
    scores = [
        [each.label, str(each.videos), _number(each.alpha), _number(each.kappa), _number(each.present)] for each in agreed
    ]
    _table(["label", "videos", "alpha", "kappa", "present"], scores)


@artifact_bench.command("export")
@_ASSESSMENTS
@click.option("--levels", required=True, type=_FILE, help="A table with generation_id, rater, level (easy, medium, hard).")
@click.option("--videos", required=True, type=_FILE, help="A table with generation_id, video_path.")
@click.option("--output", required=True, type=OutputPath(), help="The JSON file to write (replaced), in the released schema.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the wrong options.")
@_EXPERTS
def export_(assessments: Path, levels: Path, videos: Path, output: Path, seed: int, experts: tuple[str, ...]) -> None:
    """Make questions of the videos in ASSESSMENTS that experts have confirmed and whose level has a majority.

    \b
    Example:
      salon bench artifact-bench export labels.csv --levels levels.csv --videos videos.csv --expert zoe --expert yan \\
          --output rows.json
    """
    from salon_bench.suites.artifact_bench.construction import (
        annotate,
        assemble,
        export_rows,
        read_assessments,
        read_levels,
        read_videos,
    )

    annotated = annotate(read_assessments(assessments), experts=experts)
    made = assemble(annotated, read_levels(levels), read_videos(videos), seed=seed)
    for name, why in made.left_out.items():
        click.echo(f"{name} is left out: {why}", err=True)
    export_rows(made.rows, output)
    click.echo(f"{len(made.rows)} questions in {output}, {len(made.left_out)} videos left out, seed {seed}")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    import sys

    from rich.console import Console

    from salon_bench.cli.reporting import table_of

    (Console() if sys.stdout.isatty() else Console(width=160)).print(table_of(header, lines))

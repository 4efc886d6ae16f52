"""``salon bench artifact-bench``: look at rows and confusions. Parse, one library call, print."""

from collections import Counter
from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.numbers import frame_cells
from salon_console.options import FORMAT, OUTPUT, STORE
from salon_console.output import as_json, deliver
from salon_console.table_files import Table
from salon_taxonomy.errors import IncompleteError
from salon_taxonomy.store_address import StoreAddress

_PAIRS = 20
"""The most frequent confusions."""


@click.group("artifact-bench")
def artifact_bench() -> None:
    """Artifact-Bench's own tools; the benchmark itself is `salon bench run artifact-bench`.

    \b
    salon bench artifact-bench rows rows.json --videos videos/
    salon bench artifact-bench confusion RUN
    """


@artifact_bench.command("rows")
@click.argument("rows", type=InputPath(), nargs=-1, required=True, metavar="ROWS...")
@click.option("--videos", type=InputPath(), help="The folder of videos; those that are missing are counted.")
@OUTPUT
@FORMAT
def rows_(rows: tuple[Path, ...], videos: Path | None, output: Path | None, form: str) -> None:
    """Check the questions in ROWS (files, or the released folder) and count them by task and level.

    A row that cannot be used is left out and named; the command then exits with 1.

    \b
    Example:
      salon bench artifact-bench rows task/ --videos videos/
      salon bench artifact-bench rows task1_meta.jsonl task2_meta.jsonl task3_meta.jsonl
    """
    from salon_judges.formats.artifact_bench import QuestionLevel, QuestionTask, read_rows

    usable = read_rows(*rows)
    counts = Counter((each.task, each.level) for each in usable)
    missing = sorted({path for each in usable for path in each.videos if videos and not (videos / path).is_file()})
    levels = tuple(level.value for level in QuestionLevel)
    by_task = {task.value: {level.value: counts[task, level] for level in QuestionLevel} for task in QuestionTask}
    problems = [str(each.error) for each in usable.left_out]
    document = {"questions": by_task, "missing_videos": missing, "left_out": problems}
    lines = [[task, *(str(count) for count in counted.values())] for task, counted in by_task.items()]
    values = [{"task": task, **counted} for task, counted in by_task.items()]
    cells = Table(("task", *levels), lines, frozenset(levels))
    deliver(cells, values, form=form, output=output, json=lambda: as_json(document))
    if form == "table":
        click.echo(f"{len(usable)} questions")
    if usable.left_out:
        click.echo("\n".join(usable.remarks()), err=True)
    if missing:
        raise IncompleteError(f"{len(missing)} videos are missing below {videos}; the first: {missing[0]!r}")
    if usable.left_out:
        raise IncompleteError(f"{len(usable.left_out)} rows cannot be used")


@artifact_bench.command("confusion")
@click.argument("run_id", metavar="RUN")
@STORE
@OUTPUT
@FORMAT
def confusion_(run_id: str, store: StoreAddress, output: Path | None, form: str) -> None:
    """Show which artifacts the judge of RUN takes for which: missed labels beside those that it chose instead.

    \b
    Example:
      salon bench artifact-bench confusion artifact-bench-artifact-bench-qwen-1a2b3c4d
    """
    from salon_bench.runs.status import run_status
    from salon_bench.runs.view import RunView
    from salon_bench.suites.artifact_bench.diagnosis import confusion, diagnoses
    from salon_bench.suites.artifact_bench.summary import INVALID

    view = RunView(store, run_status(store, run_id))
    answers = diagnoses(view.scores, INVALID)
    pairs = confusion(answers).head(_PAIRS)
    deliver(frame_cells(pairs), pairs, form=form, output=output, json=lambda: as_json(pairs.to_dicts()))
    if form == "table":
        click.echo(f"{len(answers)} questions, {sum(each.chosen is None for each in answers)} of them without an answer")

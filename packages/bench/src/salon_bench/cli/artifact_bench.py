"""``salon bench artifact-bench``: look at confusions. Parse, one library call, print."""

from pathlib import Path

import rich_click as click

from salon_console.numbers import frame_cells
from salon_console.options import FORMAT, OUTPUT, STORE
from salon_console.output import as_json, deliver
from salon_taxonomy.store_address import StoreAddress

_PAIRS = 20
"""The most frequent confusions."""


@click.group("artifact-bench")
def artifact_bench() -> None:
    """Artifact-Bench's own tools; the benchmark itself is `salon bench run artifact-bench`.

    \b
    salon bench artifact-bench confusion RUN
    """


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

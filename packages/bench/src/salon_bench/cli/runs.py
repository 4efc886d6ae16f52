"""``salon bench list`` and ``runs``: parse, ask the store, print."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.options import FORMAT, OUTPUT, STORE
from salon_console.output import as_json, deliver
from salon_console.table_files import Table
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_bench.runs.status import RunStatus

_HELP = {"help_option_names": ["-h", "--help"]}


_ENDINGS = (
    "-released: as the released code scores, where it differs from the paper. -zh: Chinese prompts. "
    "-both-orders, -strict, -each: how the two answers about a pair count, which is judged with left and right exchanged, too."
)


@click.command("list", context_settings=_HELP)
@OUTPUT
@FORMAT
def list_(form: str, output: Path | None) -> None:
    """List the suites of all installed packages.

    \b
    Example:
      salon bench list
      salon bench list --format json
    """
    from salon_bench.suites.contract.registry import suites

    installed = suites()
    values = [{name: getattr(each, name) for name in type(each).__slots__} for each in installed]
    rows = [(each.name, each.package, each.problem or each.summary) for each in installed]
    table = Table(("suite", "package", "what it is"), rows)
    deliver(table, values, form=form, output=output, further=[_ENDINGS], json=lambda: as_json(values))


@click.command("runs", context_settings=_HELP)
@click.argument("run_id", metavar="[RUN]", required=False)
@STORE
@OUTPUT
@FORMAT
def runs(run_id: str | None, store: StoreAddress, form: str, output: Path | None) -> None:
    """List the runs of a store, oldest first, with their state and versions; or report the progress of a RUN.

    \b
    Example:
      salon bench runs
      salon bench runs --store other-results --format json
      salon bench runs prism-our-model-qwen-1a2b3c4d
    """
    from salon_bench.runs.status import run_status, run_statuses

    if run_id is None:
        _deliver(run_statuses(store), form, output)
    else:
        run = run_status(store, run_id)
        _deliver([run], form, output, show=lambda: _say(run))


def _say(run: "RunStatus") -> None:
    """Print two or three lines about a run."""
    cases = f"{run.cases_done or 0} of {run.cases_total or '?'} cases"
    more = f"; {run.waiting} more questions have their reply in the journal" if run.waiting else ""
    click.echo(f"{run.run_id}: {run.state.value}, {cases}, {run.calls or 0} calls{more}")
    for words in (None if run.cost_usd is None else f"${run.cost_usd:.4f}", run.detail):
        if words:
            click.echo(f"  {words}")


def _deliver(
    statuses: "Sequence[RunStatus]", form: str, output: Path | None, *, show: Callable[[], None] | None = None
) -> None:
    """Print runs, and write them to a file; only JSON has their settings."""
    table = Table(("run", "suite", "model", "judge", "version", "state", "cases"), [_line(each) for each in statuses])
    document = [_fields(each) for each in statuses]
    values = [{name: value for name, value in fields.items() if name != "settings"} for fields in document]
    deliver(table, values, form=form, output=output, show=show, json=lambda: as_json(document))


def _fields(status: "RunStatus") -> dict[str, Any]:
    plain = {name: getattr(status, name) for name in type(status).__slots__ if name not in ("settings", "finished")}
    plain["settings"] = json.loads(status.settings) if status.settings and status.settings.startswith("{") else status.settings
    return plain


def _line(status: "RunStatus") -> list[str]:
    cases = (
        ""
        if status.cases_done is None or (status.state.value == "finished" and not status.cases_total)
        else f"{status.cases_done}/{status.cases_total}"
    )
    return [
        status.run_id,
        status.suite,
        ", ".join(status.models),
        status.judge or "",
        status.judge_version or "",
        status.state.value,
        cases,
    ]

"""``salon bench list``, ``runs`` and ``status``: parse, ask the store, print."""

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
    deliver(Table(("suite", "package", "what it is"), rows), values, form=form, output=output, json=lambda: as_json(values))


@click.command("runs", context_settings=_HELP)
@STORE
@OUTPUT
@FORMAT
def runs(store: StoreAddress, form: str, output: Path | None) -> None:
    """List the runs of a store, oldest first, with the version of judge and suite that made each.

    \b
    Example:
      salon bench runs
      salon bench runs --store other-results --format json
    """
    from salon_bench.runs.status import run_statuses

    statuses = run_statuses(store)
    _deliver(statuses, form, output)


@click.command("status", context_settings=_HELP)
@click.argument("run_id", metavar="[RUN]", required=False)
@STORE
@OUTPUT
@FORMAT
def status(run_id: str | None, store: StoreAddress, output: Path | None, form: str) -> None:
    """Say how far a RUN is, or all that are not finished.

    \b
    Example:
      salon bench status
      salon bench status prism-our-model-qwen-1a2b3c4d --format json
    """
    from salon_bench.runs.status import RunState, run_status, run_statuses

    open_ = (
        [each for each in run_statuses(store) if each.state in (RunState.RUNNING, RunState.UNFINISHED)]
        if run_id is None
        else []
    )
    statuses = open_ if run_id is None else [run_status(store, run_id)]
    _deliver(statuses, form, output, show=lambda: _say(statuses))


def _say(statuses: "Sequence[RunStatus]") -> None:
    """Print two or three lines about each run."""
    if not statuses:
        click.echo("Every run is finished.", err=True)
    for each in statuses:
        cases = f"{each.cases_done or 0} of {each.cases_total or '?'} cases"
        more = f"; {each.waiting} more questions have their reply in the journal" if each.waiting else ""
        click.echo(f"{each.run_id}: {each.state.value}, {cases}, {each.calls or 0} calls{more}")
        for words in (None if each.cost_usd is None else f"${each.cost_usd:.4f}", each.detail):
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
        status.subject_model or "",
        status.judge or "",
        status.judge_version or "",
        status.state.value,
        cases,
    ]

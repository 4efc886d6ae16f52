"""What is printed about runs, as plain values and as cells of tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from salon_bench.runs.session import RunSession, SessionResult, stop_on_signals
from salon_bench.runs.status import RunStatus
from salon_bench.runs.view import RunView, SubjectSummary
from salon_bench.suites.contract.suite import Suite
from salon_console.options import STOPPED_BY, command_state
from salon_console.output import print_continues
from salon_console.table_rows import UsableRows
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason

if TYPE_CHECKING:
    from salon_bench.runs.suite_runner import CaseResult

R = TypeVar("R", bound=UsableRows[Any])

MOST_NAMED = 5
"""So many pictures that could not be used are named after a run."""


def report_of(suite: Suite, store: StoreAddress, run_id: str, outcome: SessionResult | None) -> dict[str, Any]:
    """Return everything that is printed about a run; ``outcome`` is None for one that was finished before."""
    return {
        "run_id": run_id,
        "complete": outcome is None or outcome.complete,
        "stopped": None if outcome is None else outcome.stopped,
        "progress": None if outcome is None else outcome.progress.fields(),
        "models": [_numbers(each) for each in RunView(store, run_id).summaries(suite)],
    }


def _numbers(summary: SubjectSummary) -> dict[str, Any]:
    table = summary.summary.table.to_dicts()
    return {
        "model": summary.model,
        "scored": summary.scored,
        "unscored": summary.unscored,
        "table": table,
        "notes": list(summary.summary.notes),
    }


def announce_start(session: RunSession, things: str = "cases") -> None:
    """Let Ctrl-C stop a session, and print what earlier starts of its run have done."""
    if session.status is not None:
        announce_continues(session.status, things)
    state = command_state()

    def announce(words: str, number: int) -> None:
        state[STOPPED_BY] = number
        click.echo(words, err=True)

    stop_on_signals(session, announce)


def announce_continues(status: RunStatus, things: str = "cases") -> None:
    """Print how much of a run is done."""
    print_continues(status.cases_done or 0, status.cases_total or None, things, f"run {status.run_id}")


def announced(rows: R) -> R:
    """Print which rows of a file are left out, and why, on the standard error; return the rows."""
    for words in rows.remarks():
        click.echo(words, err=True)
    return rows


def remark(progress: Mapping[str, Any], things: str = "cases") -> str:
    """Return one line about a start: cases (or other ``things``), time, calls, cost and reasons of missing verdicts."""
    cost = "" if progress["cost_usd"] is None else f", ${progress['cost_usd']:.4f}"
    why = counted(progress["reasons"])
    again = f", {progress['re_asked']} asked again" if progress["re_asked"] else ""
    extra = f"; no verdict: {why}" if why else ""
    return f"{progress['done']} {things} in {progress['seconds']:.1f} s, {progress['calls']} calls{again}{cost}{extra}"


def lost(progress: Mapping[str, Any], things: str = "cases") -> str:
    """Return how many cases (or other ``things``) are open since a call failed, and why the first of them is."""
    why = f"; the first: {progress['first_lost']}" if progress.get("first_lost") else ""
    return f"{progress.get('open', 0)} {things} got no reply to a question{why}"


def counted(reasons: Mapping[str, int]) -> str:
    """Return how often each reason of a missing verdict occurs, with what it means.

    Example:
        >>> counted({"bad_media": 2})
        '2 bad_media (the picture or video is missing or cannot be read)'
    """
    return ", ".join(f"{count} {name} ({Reason(name).meaning})" for name, count in sorted(reasons.items()))


def problem_of(result: "CaseResult") -> list[str]:
    """Return which picture of a case could not be used, and why; nothing for a case without a problem."""
    case = result.case
    if case.problem is None:
        turn = case.in_turn(None).problem  # of a conversation a turn without a picture costs the questions about it
        return [] if turn is None else [f"{case.prompt.prompt_id}: {turn.detail}"]
    where = ", ".join(str(each.path) for each in case.pictures) or f"no picture for {case.prompt.prompt_id}"
    return [f"{where}: {case.problem.detail}" if case.problem.detail else where]


def shortened(lines: Sequence[str]) -> list[str]:
    """Return the first few lines, and that there are more.

    Example:
        >>> shortened(list("abcdef"))
        ['a', 'b', 'c', 'd', 'e', '… and more like these']
    """
    return [*lines[:MOST_NAMED], "… and more like these"] if len(lines) > MOST_NAMED else list(lines)

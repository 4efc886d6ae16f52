"""What is printed about runs, as plain values and as cells of tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_bench.running.runner import Outcome
from salon_bench.running.summaries import SubjectSummary, summaries
from salon_bench.running.watching import progress_fields
from salon_bench.suites.suite import Suite

if TYPE_CHECKING:
    from rich.table import Table


def report_of(suite: Suite, store: Path, run_id: str, outcome: Outcome | None) -> dict[str, Any]:
    """Everything that is printed about a run; ``outcome`` is None for one that was finished before."""
    return {
        "run_id": run_id,
        "complete": outcome is None or outcome.complete,
        "stopped": None if outcome is None else outcome.stopped,
        "progress": None if outcome is None else progress_fields(outcome.progress),
        "subjects": [_numbers(each) for each in summaries(suite, store, run_id)],
    }


def _numbers(each: SubjectSummary) -> dict[str, Any]:
    table = each.summary.table.to_dicts()
    return {
        "subject": each.subject,
        "scored": each.scored,
        "unscored": each.unscored,
        "table": table,
        "notes": list(each.summary.notes),
    }


def remark(progress: Mapping[str, Any]) -> str:
    """A finished start in one line: cases, time, calls, cost, and why verdicts could not be had."""
    cost = "" if progress["cost_usd"] is None else f", ${progress['cost_usd']:.4f}"
    why = ", ".join(f"{count} {reason}" for reason, count in progress["reasons"].items())
    again = f", {progress['re_asked']} asked again" if progress["re_asked"] else ""
    extra = f"; no verdict: {why}" if why else ""
    return f"{progress['done']} cases in {progress['seconds']:.1f} s, {progress['calls']} calls{again}{cost}{extra}"


def cell(value: object) -> str:
    """A number to four places; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def table_of(header: Sequence[str], lines: Sequence[Sequence[str]]) -> "Table":
    """A table whose cells are taken literally: no markup, nothing that a terminal acts upon."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, box=None)
    for line in lines:
        table.add_row(*(Text("".join(c if c.isprintable() else "\ufffd" for c in text)) for text in line))
    return table

"""What is printed about runs, as plain values and as cells of tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from salon_bench.runs.case_runner import CaseResult
from salon_bench.runs.session import Outcome
from salon_bench.runs.view import RunView, SubjectSummary
from salon_bench.suites.contract.suite import Suite
from salon_bench.suites.contract.table_rows import Rows
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from rich.table import Table

R = TypeVar("R", bound=Rows[Any])

MOST_NAMED = 5
"""So many pictures that could not be used are named after a run."""
_LARGEST_MARK = 10.0


def report_of(suite: Suite, store: Path, run_id: str, outcome: Outcome | None) -> dict[str, Any]:
    """Everything that is printed about a run; ``outcome`` is None for one that was finished before."""
    return {
        "run_id": run_id,
        "complete": outcome is None or outcome.complete,
        "stopped": None if outcome is None else outcome.stopped,
        "progress": None if outcome is None else outcome.progress.fields(),
        "subjects": [_numbers(each) for each in RunView(store, run_id).summaries(suite)],
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


def announced(rows: R) -> R:
    """Print which rows of a file are left out, and why, on the standard error; return the rows."""
    for words in rows.remarks():
        click.echo(words, err=True)
    return rows


def remark(progress: Mapping[str, Any], things: str = "cases") -> str:
    """A finished start in one line: cases (or other ``things``), time, calls, cost, and why verdicts could not be had."""
    cost = "" if progress["cost_usd"] is None else f", ${progress['cost_usd']:.4f}"
    why = ", ".join(f"{count} {reason}" for reason, count in progress["reasons"].items())
    again = f", {progress['re_asked']} asked again" if progress["re_asked"] else ""
    extra = f"; no verdict: {why}" if why else ""
    return f"{progress['done']} {things} in {progress['seconds']:.1f} s, {progress['calls']} calls{again}{cost}{extra}"


def problem_of(result: CaseResult) -> list[str]:
    """Which picture of a case could not be used, and why; nothing for a case without a problem."""
    case = result.case
    if case.problem is None:
        return []
    where = ", ".join(str(each.path) for each in case.pictures) or f"no picture for {case.prompt.prompt_id}"
    return [f"{where}: {case.problem.detail}" if case.problem.detail else where]


def shortened(lines: Sequence[str]) -> list[str]:
    """The first few lines, and that there are more.

    Example:
        >>> shortened(list("abcdef"))
        ['a', 'b', 'c', 'd', 'e', '… and more like these']
    """
    return [*lines[:MOST_NAMED], "… and more like these"] if len(lines) > MOST_NAMED else list(lines)


def cells(rows: Sequence[Mapping[str, object]]) -> list[list[str]]:
    """A table for people, row by row: percentages to one place, marks to two, shares and smaller numbers to four.

    The largest number decides for the whole table, so that its columns can be compared. A dash is no value.

    Example:
        >>> cells([{"metric": "overall", "value": 100.0, "ci_low": None, "scored": 3}])
        [['overall', '100.0', '–', '3']]
        >>> cells([{"metric": "win rate", "value": 0.625}])
        [['win rate', '0.6250']]
    """
    numbers = [abs(value) for row in rows for value in row.values() if isinstance(value, float)]
    largest = max(numbers, default=0.0)
    places = 1 if largest > _LARGEST_MARK else 2 if largest > 1 else 4
    return [[_cell(value, places) for value in row.values()] for row in rows]


def _cell(value: object, places: int) -> str:
    if value is None:
        return "–"
    return f"{value:.{places}f}" if isinstance(value, float) else str(value)


def table_of(header: Sequence[str], lines: Sequence[Sequence[str]]) -> "Table":
    """A table whose cells are taken literally: no markup, nothing that a terminal acts upon."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, box=None)
    for line in lines:
        table.add_row(*(Text(visible(text)) for text in line))
    return table

"""The page of a suite's leaderboards: one for every judge version, each with all the suite's numbers."""

from collections.abc import Sequence
from dataclasses import replace

from salon_bench.analysis.leaderboard import Entry, SuiteBoard
from salon_bench.report.gallery import plain
from salon_bench.runs.view import interval_text, number_text
from salon_console import numbers
from salon_console.page import Block, PageSection, Table, render_page

_LEAD = (
    "The suite's own numbers for every model that was judged. Verdicts of different judge versions are never on one board. A "
    "missing verdict is no score: it is counted as unscored."
)


def board_page(boards: Sequence[SuiteBoard]) -> str:
    """Return the page as one string of self-contained HTML, the most recent board first; needs at least one board."""
    sections = [PageSection(plain(f"{each.judge}, version {each.judge_version}"), tuple(_blocks(each))) for each in boards]
    return render_page(f"Leaderboard of {plain(boards[0].suite)}", lead=_LEAD, facts=[], sections=sections)


def suite_notes(board: SuiteBoard) -> list[str]:
    """Return the suite's notes on its numbers; a note shared by all models once."""
    notes = [(each, note) for each in board.entries for note in each.numbers.summary.notes]
    shared = {note for _, note in notes if all(note in each.numbers.summary.notes for each in board.entries)}
    common = [note for note in dict.fromkeys(note for _, note in notes) if note in shared]
    return [plain(note) for note in (*common, *(f"{each.model}: {note}" for each, note in notes if note not in shared))]


def _blocks(board: SuiteBoard) -> list[Block]:
    short = replace(board.view().table, caption=f"Ranked by {plain(board.metric)}, higher is better")
    interval_name = board.entries[0].numbers.summary.interval_name
    columns = ("Model", "Number", "Of", "Value", interval_name, "Scored", "Unscored")
    rows = [row for each in board.entries for row in _all_numbers(each)]
    whole = Table(columns, rows, frozenset(columns[3:]), "Every number")
    return [short, *map(plain, board.notes), *suite_notes(board), whole]


def _all_numbers(entry: Entry) -> list[list[str]]:
    return [
        [
            plain(entry.model),
            plain(row["metric"]),
            plain(row.get("group") or "all"),
            number_text(row.get("value")),
            interval_text(row.get("ci_low"), row.get("ci_high")),
            numbers.count(row.get("scored")),
            numbers.count(row.get("unscored")),
        ]
        for row in entry.numbers.summary.table.to_dicts()
    ]

"""The page of a suite's leaderboards: one for every judge version, each with all the suite's numbers."""

from collections.abc import Sequence

from salon_bench.analysis.leaderboard import Entry, SuiteBoard, number
from salon_bench.report.gallery import plain
from salon_bench.report.run_page import interval_text, number_text
from salon_ranking import numbers
from salon_ranking.report.page import Block, PageSection, Table, render_page

_LEAD = (
    "The suite's own numbers for every subject that was judged. Verdicts of different judge versions are never on one board. A "
    "missing verdict is no score: it is counted as unscored."
)


def board_page(boards: Sequence[SuiteBoard]) -> str:
    """The page as one string of self-contained HTML, the most recent board first; needs at least one board."""
    sections = [PageSection(plain(f"{each.judge}, version {each.judge_version}"), tuple(_blocks(each))) for each in boards]
    return render_page(f"Leaderboard of {plain(boards[0].suite)}", lead=_LEAD, facts=[], sections=sections)


def main_cells(board: SuiteBoard) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the short table: rank, subject, the ranking number with its interval, the other numbers, counts."""
    others = [name for name in board.metrics() if name != board.metric]
    header = ["rank", "subject", board.metric, "interval", *others, "scored", "unscored"]
    lines = []
    for rank, each in zip(board.ranks(), board.entries, strict=True):
        ends = (number(each, board.metric, "ci_low"), number(each, board.metric, "ci_high"))
        lines.append(
            [
                numbers.MISSING if rank is None else str(rank),
                plain(each.subject),
                number_text(number(each, board.metric, "value")),
                interval_text(*ends),
                *(number_text(number(each, name, "value")) for name in others),
                f"{each.numbers.scored:,}",
                f"{each.numbers.unscored:,}",
            ]
        )
    return [plain(name) for name in header], lines


def suite_notes(board: SuiteBoard) -> list[str]:
    """What the suite says of its numbers; said once where all subjects share it."""
    said = [(each, note) for each in board.entries for note in each.numbers.summary.notes]
    shared = {note for _, note in said if all(note in each.numbers.summary.notes for each in board.entries)}
    common = [note for note in dict.fromkeys(note for _, note in said) if note in shared]
    return [plain(note) for note in (*common, *(f"{each.subject}: {note}" for each, note in said if note not in shared))]


def _blocks(board: SuiteBoard) -> list[Block]:
    header, lines = main_cells(board)
    short = Table(tuple(header), lines, frozenset(header) - {"subject"}, f"Ranked by {plain(board.metric)}, higher is better")
    columns = ("Subject", "Number", "Of", "Value", "95 % interval", "Scored", "Unscored")
    rows = [row for each in board.entries for row in _all_numbers(each)]
    whole = Table(columns, rows, frozenset(columns[3:]), "Every number")
    return [short, *map(plain, board.notes), *suite_notes(board), whole]


def _all_numbers(entry: Entry) -> list[list[str]]:
    return [
        [
            plain(entry.subject),
            plain(row["metric"]),
            plain(row.get("group") or "all"),
            number_text(row.get("value")),
            interval_text(row.get("ci_low"), row.get("ci_high")),
            numbers.count(row.get("scored")),
            numbers.count(row.get("unscored")),
        ]
        for row in entry.numbers.summary.table.to_dicts()
    ]

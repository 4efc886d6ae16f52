"""The page of a rater report: every rater with the reason for a flag, and the thresholds it went by."""

from dataclasses import asdict

from salon_console.numbers import MISSING, counted
from salon_console.page import PageSection, Table, render_page
from salon_ranking.raters.rater_report import RaterReport
from salon_ranking.raters.table_rows import headings, lines

_LEAD = (
    "A flag is a finding, not a verdict on a person: it says which of the checks a rater's answers failed. Nothing was "
    "deleted; leaderboards may leave flagged raters out and then say how many votes that were."
)
_TEXT = {"Rater", "Mode"}


def raters_page(report: RaterReport) -> str:
    """Return one self-contained HTML page.

    Example:
        >>> import polars as pl
        >>> from salon_ranking.raters import check_raters
        >>> battles = pl.DataFrame({"rater_id": ["<r>"], "model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
        >>> "&lt;r&gt;" in raters_page(check_raters(battles))
        True
    """
    columns, rows = headings(report.table)[:-1], [line[:-1] for line in lines(report.table)]
    count, numeric = len(report.flagged), frozenset(columns) - _TEXT
    flagged = int(report.table.filter("flagged")["battles"].sum())
    facts = [
        ("Battles", f"{counted(report.battles, 'battle')} by {counted(report.table.height, 'rater')}, from {report.source}"),
        ("Flagged", f"{count:,}, with {counted(flagged, 'battle')}"),
        ("Anchors", f"{report.anchor_rate:.1%} of battles ({report.policy.anchor_wanted:.0%} wanted)"),
        *((f"Not checked: {reason}", why) for reason, why in report.not_checked),
    ]
    thresholds = [(name, _shown(value)) for name, value in asdict(report.policy).items()]
    sections = [
        PageSection("Reasons", (reasons(report) if count else "No rater is flagged.",)),
        PageSection("Flagged", (Table(columns, rows[:count], numeric) if count else "None.",)),
        PageSection("Others", (Table(columns, rows[count:], numeric) if rows[count:] else "None.",)),
        PageSection("Thresholds", (Table(("Name", "Value"), thresholds, frozenset({"Value"})),)),
    ]
    return render_page("Raters", lead=_LEAD, facts=facts, sections=sections)


def reasons(report: RaterReport) -> Table:
    """Return one row per flag, in a table of its own, as its sentences are long."""
    rows = [(row[0], row[1], row[2] or MISSING) for row in report.findings.select("rater_id", "reason", "explanation").rows()]
    return Table(("Rater", "Reason", "What was seen"), rows, caption="Reasons")


def quality(report: RaterReport, *, most: int) -> Table:
    """Return one row per rater, flagged ones first, at most so many; the reasons are not among the columns."""
    columns = headings(report.table)[:-1]
    rows = [line[:-1] for line in lines(report.table, most)]
    return Table(columns, rows, frozenset(columns) - _TEXT, "Rater quality")


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

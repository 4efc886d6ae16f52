"""The page of a rater report: every rater with the reason for a flag, and the thresholds it went by."""

from dataclasses import asdict

from salon_ranking.raters.columns import headings, lines
from salon_ranking.raters.rater_report import RaterReport
from salon_ranking.report.page import Section, Table, render_page

_LEAD = (
    "A flag is a finding, not a verdict on a person: it says which of the checks a rater's answers failed. Nothing was "
    "deleted; leaderboards may leave flagged raters out and then say how many votes that were."
)
_TEXT = {"Rater", "Mode"}


def raters_page(report: RaterReport) -> str:
    """One self-contained HTML page.

    Example:
        >>> import polars as pl
        >>> from salon_ranking.raters import check_raters
        >>> battles = pl.DataFrame({"rater_id": ["<r>"], "model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
        >>> "&lt;r&gt;" in raters_page(check_raters(battles))
        True
    """
    # The reasons have a table of their own: a cell as long as a sentence would push the others off the page.
    columns, rows = headings(report)[:-1], [line[:-1] for line in lines(report)]
    count, numeric = len(report.flagged), frozenset(columns) - _TEXT
    reasons = report.findings.select("rater_id", "reason", "explanation").rows()
    facts = [
        ("Battles", f"{report.battles:,} by {report.table.height:,} raters, from {report.source}"),
        ("Flagged", f"{count:,}, with {report.table.filter('flagged')['battles'].sum():,} battles"),
        ("Anchors", f"{report.anchor_rate:.1%} of battles ({report.policy.anchor_wanted:.0%} wanted)"),
        *((f"Not checked: {reason}", why) for reason, why in report.not_checked),
    ]
    thresholds = [(name, _shown(value)) for name, value in asdict(report.policy).items()]
    sections = [
        Section("Reasons", (Table(("Rater", "Reason", "What was seen"), reasons) if count else "Nobody is flagged.",)),
        Section("Flagged", (Table(columns, rows[:count], numeric) if count else "Nobody.",)),
        Section("Others", (Table(columns, rows[count:], numeric) if rows[count:] else "Nobody.",)),
        Section("Thresholds", (Table(("Name", "Value"), thresholds, frozenset({"Value"})),)),
    ]
    return render_page("Raters", lead=_LEAD, facts=facts, sections=sections)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

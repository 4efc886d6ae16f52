"""The page of an audit of judges: accuracy, calibration curves, differences, and which pairs people answered otherwise."""

from collections.abc import Mapping, Sequence

import polars as pl

from salon_console.line_chart import Curve, LegendEntry, LineChart
from salon_console.numbers import counted, frame_cells
from salon_console.page import Block, Figure, PageSection, render_page
from salon_ranking.agreement.judge_audit import JudgeAudit

_MOST_WRONG = 200
"""Rows of pairs on the page."""
_LEAD = (
    "How far judges that compare pairs agree with people. A missing verdict is no answer: it is counted, and left out of "
    "accuracy."
)


def audit_page(audit: JudgeAudit, further: Mapping[str, pl.DataFrame] | None = None, notes: Sequence[str] = ()) -> str:
    """Return the page of an audit as one string of self-contained HTML.

    Args:
        audit: of :func:`~salon_ranking.agreement.audit_judges`.
        further: more tables by name, such as ``cost``.
        notes: sentences below the table.

    Example:
        >>> from salon_ranking.agreement import audit_judges
        >>> rows = {"battle_id": range(8), "winner": ["model_a"] * 8, "verdict": ["model_a"] * 7 + ["model_b"]}
        >>> "Pairs that people answered otherwise" in audit_page(audit_judges(rows))
        True
    """
    chart = audit.view().chart
    accuracy: list[Block] = [] if chart is None else [Figure(chart, "The dashed line is a judge that guesses.")]
    sections = [PageSection("Accuracy", (*accuracy, audit.cells(audit.table), *notes))]
    if audit.calibration.height:
        sections.append(PageSection("Calibration", (_calibration(audit.calibration),)))
    if audit.differences.height:
        sentence = (
            "Accuracy of the first judge less that of the second on the pairs that both judged. Needed: the pairs with which "
            "four of five audits tell the two apart, if the difference is as large as found."
        )
        sections.append(PageSection("Differences of judges", (sentence, frame_cells(audit.differences))))
    for name, table in (further or {}).items():
        if name not in ("calibration", "differences"):
            sections.append(PageSection(name.replace("_", " ").capitalize(), (frame_cells(table),)))
    sections.append(PageSection("Pairs that people answered otherwise", tuple(_wrong(audit.wrong))))
    return render_page("Judges against people", lead=_LEAD, facts=[("Made", audit.header)], sections=sections)


def _calibration(tenths: pl.DataFrame) -> Figure:
    judges = tenths["judge"].unique(maintain_order=True).to_list()
    curves = [
        Curve(judge, dict(tenths.filter(judge=judge).select("chance", "share").iter_rows()), number)
        for number, judge in enumerate(judges)
    ]
    ideal = Curve("calibrated", {0.0: 0.0, 1.0: 1.0}, len(judges), dash=2)
    keys = [LegendEntry(curve.label, curve.colour, curve.dash) for curve in (*curves, ideal)]
    across = "Chance that the judge gave the first"
    chart = LineChart("Share of pairs in which people chose the first", [*curves, ideal], keys, steps=(0, 1), across=across)
    caption = "By tenths of the judge's chance. Below the dashed line and right of a half, or above it and left: too sure."
    return Figure(chart, caption, frame_cells(tenths))


def _wrong(wrong: pl.DataFrame) -> list[Block]:
    """Return the pairs as a table, with the columns that say which they are and what was answered."""
    names = ("judge", "battle_id", "prompt", "picture_a", "picture_b", "side_a_shown", "winner", "clear", "verdict")
    columns = [name for name in (*names, "chance_a", "chance_tie", "chance_b") if name in wrong.columns]
    columns = [name for name in columns if wrong[name].count()]
    order = "First the pairs on which most people agreed, and among those the ones of which the judge was surest."
    if not wrong.height:
        return ["There are none."]
    left = wrong.height - _MOST_WRONG
    more = [f"{counted(left, 'more verdict')} in the table of --wrong."] if left > 0 else []
    return [order, frame_cells(wrong.select(columns).head(_MOST_WRONG)), *more]

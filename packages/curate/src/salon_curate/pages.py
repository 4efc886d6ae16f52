"""HTML pages of curation: yield curves, and funnels against the truth; rendered like every page of Salon."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from salon_console.line_chart import Curve, LineChart
from salon_console.page import Figure, PageSection, Table, render_page
from salon_curate.files import publish_text

if TYPE_CHECKING:
    from salon_curate.selection import YieldCurve


def yield_page(curves: "Sequence[YieldCurve]", path: Path) -> None:
    """Write the yield curves as one page that needs no network.

    Raises:
        StorageError: the page cannot be written.
    """
    facts = [("Rows", f"{curves[0].rows:,}")] if curves else []
    lead = "How many rows are kept at each threshold of a column, the other conditions unchanged."
    write_page(path, "Yield of each threshold", lead, facts, [yield_section(curves)])


def write_page(path: Path, title: str, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[PageSection]) -> None:
    """Write a page of sections.

    Raises:
        StorageError: the page cannot be written.
    """
    publish_text(path, render_page(title, lead=lead, facts=facts, sections=sections))


def yield_section(curves: "Sequence[YieldCurve]") -> PageSection:
    """Return the section of yield curves, a figure each."""
    return PageSection("Yield", tuple(_figure(curve) for curve in curves))


def _figure(curve: "YieldCurve") -> Figure:
    """Return the kept share with its interval over the thresholds."""
    rows = [
        {"at": at, "share": kept / curve.rows, "low": low, "high": high, "kept": kept, "unknown": unknown}
        for at, kept, low, high, unknown in zip(curve.thresholds, curve.kept, curve.low, curve.high, curve.unknown, strict=True)
    ]
    line = Curve(
        "share kept", {row["at"]: row["share"] for row in rows}, band={row["at"]: (row["low"], row["high"]) for row in rows}
    )
    chart = LineChart("Share kept", [line], across="Threshold (at least)")
    cells = [(f"{row['at']:.4g}", f"{row['kept']:,}", f"{row['share']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}",
              f"{row['unknown']:,}") for row in rows]  # fmt: skip
    heads = (f"{curve.column} ≥", "Kept", "Share", "95% interval", "Not known")
    numbers = Table(heads, cells, frozenset(heads), f"Rows kept by threshold of {curve.column}")
    # The name is in the text, which wraps: as the axis' title a long one takes the width of the plot on a phone.
    caption = f"Share kept where {curve.column} is at least this. The band is Wilson's 95% interval. {curve.note}".rstrip()
    return Figure(chart, caption, numbers)

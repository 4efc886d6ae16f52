"""HTML pages with charts: yield curves, and the funnel of the demonstration."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_curate.files import publish_text

if TYPE_CHECKING:
    from salon_curate.selection import YieldCurve


def yield_page(curves: "Sequence[YieldCurve]", path: Path) -> None:
    """Write the yield curves as one page that needs no network.

    Raises:
        InputError: there is no curve.
        StorageError: the page cannot be written.
    """
    write_page([curve_chart(curve) for curve in curves], "Yield of each threshold", path)


def curve_chart(curve: "YieldCurve") -> Any:
    """Return the chart of one curve: the kept share with its interval over the thresholds."""
    import altair as alt

    rows = [
        {curve.column: at, "share": kept / curve.rows, "low": low, "high": high, "kept": kept}
        for at, kept, low, high in zip(curve.thresholds, curve.kept, curve.low, curve.high, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=alt.X(f"{curve.column}:Q", title=f"{curve.column}, at least"))
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title="share kept"), y2="high:Q")
    line = base.mark_line().encode(y="share:Q", tooltip=[f"{curve.column}:Q", "kept:Q", "share:Q"])
    return (band + line).properties(width=420, height=240)


def write_page(charts: Sequence[Any], title: str, path: Path, html: str = "") -> None:
    """Write charts below a title as one page; the pictures are drawn here, so the page runs no script."""
    from html import escape

    import vl_convert

    drawn = "".join(f"<figure>{vl_convert.vegalite_to_svg(chart.to_json())}</figure>" for chart in charts)
    style = "body{font-family:sans-serif;max-width:60rem;margin:2rem auto}td,th{padding:.2rem .8rem;text-align:right}"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{style}</style>'
    publish_text(
        path, f"<!doctype html><html lang=en><head>{head}</head><body><h1>{escape(title)}</h1>{html}{drawn}</body></html>\n"
    )

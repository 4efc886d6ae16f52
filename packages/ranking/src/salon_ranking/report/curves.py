"""Curves against matches as Vega-Lite specifications (see ``charts.py``): both axes logarithmic, a goal as a line."""

from typing import Any

import altair as alt
import polars as pl

from salon_console.page import Specification
from salon_ranking.report.charts import series_legend, specification_of

_ROOM = 0.9


def width_curve(
    data: pl.DataFrame, *, title: str, goal: float | None, colour: str = "kind", dash: str | None = None
) -> Specification:
    """Draw widths of intervals against matches per model; they shrink with the root, so curves become straight lines.

    Args:
        data: columns ``matches_per_model`` and ``width`` (both positive), the column named by ``colour`` (text, in the
            order of the legend), and the one named by ``dash``, if any.
        title: of the vertical axis.
        goal: a width to mark by a dashed line; None: none.
    """
    kinds = data[colour].unique(maintain_order=True).to_list()
    lowest = [value for value in (data["width"].min(), goal) if isinstance(value, float)]
    bottom = _ROOM * min(lowest) if lowest else 1.0
    scale = alt.Scale(type="log", nice=False, padding=8)
    legend = series_legend()
    axis = alt.Axis(format="~s", labelOverlap="greedy", labelSeparation=8, tickCount=5)
    encodings: dict[str, Any] = {
        "x": alt.X("matches_per_model:Q", title="Matches per model", scale=scale, axis=axis),
        "y": alt.Y(
            "width:Q",
            title=title,
            scale=alt.Scale(type="log", nice=False, padding=8, domainMin=bottom),
            axis=alt.Axis(labelOverlap="greedy", tickCount=6, format="~r"),
        ),
        "color": alt.Color(f"{colour}:N", sort=kinds, legend=legend),
        "tooltip": [
            alt.Tooltip(f"{colour}:N", title="What"),
            alt.Tooltip("matches_per_model:Q", title="Matches per model", format=",.0f"),
            alt.Tooltip("width:Q", title=title, format=",.1f"),
        ],
    }
    if dash is not None:
        names = data[dash].unique(maintain_order=True).to_list()
        encodings["strokeDash"] = alt.StrokeDash(f"{dash}:N", sort=names, legend=legend)
    base = alt.Chart(data).encode(**encodings)
    layers: list[Any] = [base.mark_line(strokeWidth=2)]
    if dash is None:
        layers.append(base.mark_point(filled=True, size=45, opacity=1))
    if goal is not None:
        line = alt.Chart(alt.InlineData(values=[{"goal": goal}])).mark_rule(strokeDash=[4, 4], opacity=0.7)
        layers.append(line.encode(y=alt.Y("goal:Q", title=title)))
    chart = alt.layer(*layers).properties(width="container", height=300, description=f"{title} against matches per model")
    return specification_of(chart)

"""Grids as Vega-Lite specifications (see ``charts.py``): win rates of pairs, and ranks within groups."""

from typing import Any

import altair as alt
import polars as pl

from salon_console.page import Specification
from salon_ranking.report.charts import colour_legend, columns_axis, names_axis, specification_of

_NARROWEST = 30
"""Pixels that a cell needs before its number is written in it."""


def win_rate_map(pairs: pl.DataFrame, *, order: list[str]) -> Specification:
    """Draw observed win rates, the row's model against the column's, with the number of matches where it fits.

    Args:
        pairs: columns ``model``, ``opponent``, ``matches``, ``win_rate`` (0-1), one row per ordered pair that met.
        order: models in the order of both axes, best first.
    """
    size = max(len(order), 1)
    height = 38 if size <= 12 else 26 if size <= 25 else 18
    base = alt.Chart(pairs.select("model", "opponent", "matches", "win_rate")).encode(
        x=alt.X("opponent:N", sort=order, title="against", axis=columns_axis(order)),
        y=alt.Y("model:N", sort=order, title=None, axis=names_axis()),
        tooltip=[
            alt.Tooltip("model:N", title="Model"),
            alt.Tooltip("opponent:N", title="against"),
            alt.Tooltip("win_rate:Q", title="Win rate", format=".1%"),
            alt.Tooltip("matches:Q", title="Matches", format=",.6~g"),
        ],
    )
    scale = alt.Scale(scheme="blueorange", domain=[0.0, 1.0], domainMid=0.5, reverse=True)
    legend = colour_legend("bottom", format=".0%")
    squares = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.Color("win_rate:Q", title="Win rate", scale=scale, legend=legend)
    )
    strong = "abs(datum.win_rate - 0.5) > 0.38"
    rate = _words(base, "win_rate", ".0%", strong, size, dy=-6 if height > 30 else 0)
    layers: list[Any] = [squares, rate]
    if height > 30:
        layers.append(_words(base, "matches", ".2~s", strong, size, dy=8, font=9))
    description = f"Win rates between {size} models, best first"
    return specification_of(alt.layer(*layers).properties(width="container", height=height * size, description=description))


def rank_map(ranks: pl.DataFrame, *, order: list[str], groups: list[str]) -> Specification:
    """Ranks within groups, coloured by how many places better (blue) or worse (orange) than overall.

    Args:
        ranks: columns ``model``, ``group``, ``rank`` and ``change`` (places gained against overall; null: unknown).
        order: models, best overall first.
        groups: in the order of the columns.
    """
    size = max(len(order), 1)
    most = max(int(ranks["change"].abs().max() or 0), 1)  # type: ignore[arg-type]
    base = alt.Chart(ranks.select("model", "group", "rank", "change")).encode(
        x=alt.X("group:N", sort=groups, title=None, axis=columns_axis(groups)),
        y=alt.Y("model:N", sort=order, title=None, axis=names_axis()),
        tooltip=[
            alt.Tooltip("model:N", title="Model"),
            alt.Tooltip("group:N", title="Group"),
            alt.Tooltip("rank:Q", title="Rank"),
            alt.Tooltip("change:Q", title="Places gained"),
        ],
    )
    scale = alt.Scale(scheme="blueorange", domain=[-most, most], domainMid=0, reverse=True)
    legend = colour_legend("bottom", tickMinStep=1, format="+d")
    color = alt.Color("change:Q", title="Places gained", scale=scale, legend=legend)
    squares = base.mark_rect(stroke="white", strokeWidth=1).encode(color=color)
    words = _words(base, "rank", "d", f"abs(datum.change) > {0.76 * most}", 1, dy=0)
    chart = alt.layer(squares, words).properties(
        width="container", height=24 * size, description=f"Ranks of {size} models in {len(groups)} groups"
    )
    return specification_of(chart)


def _words(base: alt.Chart, field: str, format_: str, dark: str, cells: int, *, dy: int, font: int = 11) -> alt.Chart:
    """Return numbers in the cells of a row of ``cells``, hidden when the page is too narrow for them."""
    room = alt.ExprRef(f"width / {cells} >= {_NARROWEST} ? 1 : 0")
    words: alt.Chart = base.mark_text(fontSize=font, dy=dy, opacity=room).encode(
        text=alt.Text(f"{field}:Q", format=format_), color=alt.condition(dark, alt.value("white"), alt.value("black"))
    )
    return words

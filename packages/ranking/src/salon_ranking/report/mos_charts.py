"""Charts of scores, weights and test points as Vega-Lite specifications (see ``charts.py``)."""

import math
from typing import Any, Literal

import altair as alt
import polars as pl

from salon_console.page import Specification
from salon_ranking.report.charts import (
    colour_legend,
    columns_axis,
    names_axis,
    numbers_axis,
    series_legend,
    specification_of,
)

_ROW = 22


def dot_plot(
    data: pl.DataFrame,
    *,
    label: str,
    value: str,
    title: str,
    colour: str | None = None,
    line: float | None = None,
    whole: bool = False,
) -> Specification:
    """Estimates as points and their intervals as bars, one row per label, in the order given.

    Args:
        data: columns ``label`` (text), ``value``, ``ci_low``, ``ci_high`` (null: no bar) and, if named, ``colour``, whose
            values get bars of their own beneath each other in a row.
        title: of the horizontal axis.
        line: a value to mark with a thin vertical line.
        whole: values are whole numbers, such as ranks.
    """
    rows = data[label].unique(maintain_order=True).to_list()
    y = alt.Y(f"{_field(label)}:N", sort=rows, title=None, axis=names_axis())
    encodings: dict[str, Any] = {"y": y}
    height = _ROW * max(len(rows), 1)
    tooltip = [alt.Tooltip(f"{_field(label)}:N", title="Row")]
    if colour is not None:
        kinds = data[colour].unique(maintain_order=True).to_list()
        encodings["color"] = alt.Color(f"{_field(colour)}:N", sort=kinds, title=None, legend=series_legend())
        encodings["yOffset"] = alt.YOffset(f"{_field(colour)}:N", sort=kinds)
        height = max(10 * len(kinds) + 8, _ROW) * max(len(rows), 1)
        tooltip.append(alt.Tooltip(f"{_field(colour)}:N", title="Kind"))
    numbers = [(value, title), ("ci_low", "Interval from"), ("ci_high", "to")]
    tooltip += [alt.Tooltip(f"{name}:Q", title=text, format=",d" if whole else ".3f") for name, text in numbers]
    base = alt.Chart(data).encode(tooltip=tooltip, **encodings)
    scale = alt.Scale(zero=False, nice=True)
    steps: dict[str, Any] = {"format": ",d", "tickMinStep": 1} if whole else {}
    axis = numbers_axis(**steps)
    points = base.mark_point(filled=True, size=45, opacity=1)
    layers = [points.encode(x=alt.X(f"{value}:Q", title=title, scale=scale, axis=axis))]
    if data["ci_low"].count():
        bars = base.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=4, opacity=0.4, strokeCap="round")
        layers.insert(0, bars.encode(x=alt.X("ci_low:Q", title=title, scale=scale, axis=axis), x2="ci_high:Q"))
    if line is not None:
        at = alt.Chart(alt.InlineData(values=[{"at": line}])).mark_rule(strokeDash=[3, 3], opacity=0.5)
        layers.insert(0, at.encode(x=alt.X("at:Q", title=title, scale=scale)))
    chart = alt.layer(*layers).properties(width="container", height=height, description=f"{title} of {len(rows)} rows")
    return specification_of(chart)


def value_map(
    cells: pl.DataFrame, *, row: str, column: str, value: str, title: str, domain: tuple[float, float], digits: int = 2
) -> Specification:
    """Draw numbers in a grid, each written in its cell and coloured by its size; missing cells stay empty.

    Args:
        cells: long form with the columns named by ``row``, ``column`` and ``value``; axes keep the order given.
        domain: the values of the lightest and the darkest colour.
    """
    rows, columns = (cells[name].unique(maintain_order=True).to_list() for name in (row, column))
    base = (
        alt.Chart(cells)
        .transform_filter(f"isValid(datum['{value}'])")
        .encode(
            x=alt.X(f"{_field(column)}:N", sort=columns, title=None, axis=columns_axis(columns)),
            y=alt.Y(f"{_field(row)}:N", sort=rows, title=None, axis=names_axis()),
            tooltip=[
                alt.Tooltip(f"{_field(row)}:N", title="Row"),
                alt.Tooltip(f"{_field(column)}:N", title="Column"),
                alt.Tooltip(f"{value}:Q", title=title, format=f".{digits}f"),
            ],
        )
    )
    scale = alt.Scale(scheme="blues", domain=list(domain), clamp=True)
    legend = colour_legend("bottom", title=None)  # the words over the chart name the number, and they wrap
    squares = base.mark_rect(stroke="white", strokeWidth=1).encode(color=alt.Color(f"{value}:Q", scale=scale, legend=legend))
    dark = f"datum['{value}'] > {domain[0] + 0.72 * (domain[1] - domain[0])}"
    words = base.mark_text(fontSize=11).encode(
        text=alt.Text(f"{value}:Q", format=f".{digits}f"),
        color=alt.condition(dark, alt.value("white"), alt.value("black")),
        # On a phone the colours stay, and the numbers are in the table beneath.
        opacity=alt.condition(f"width / {max(len(columns), 1)} > 30", alt.value(1), alt.value(0)),
    )
    height = 26 * max(len(rows), 1)
    chart = alt.layer(squares, words).properties(
        width="container", height=height, description=f"{title}: {len(rows)} × {len(columns)}"
    )
    return specification_of(chart)


def share_wheel(shares: pl.DataFrame) -> Specification:
    """Draw shares around a circle: a filled wheel of one model and the outline of another, chosen from menus.

    The radius is the share, the outer ring is 1. Sectors instead of a polygon: the order of test points means nothing,
    and a polygon's area depends on it.

    Args:
        shares: columns ``model``, ``test_point`` (not null) and ``share`` (0-1, null: no sector), best model first.
    """
    points = shares["test_point"].unique(maintain_order=True).to_list()
    models = shares["model"].unique(maintain_order=True).to_list()
    turn = 2.0 * math.pi / max(len(points), 1)
    number = pl.col("test_point").replace_strict({name: n for n, name in enumerate(points)}, return_dtype=pl.Float64)
    data = shares.select("model", "test_point", "share", start=number * turn, end=(number + 1.0) * turn)
    first = alt.param(name="first", value=models[0], bind=alt.binding_select(options=models, name="Filled "))
    second = alt.param(
        name="second", value=models[min(1, len(models) - 1)], bind=alt.binding_select(options=models, name="Outline ")
    )
    # Beside the circle there is room for the names of test points, more of it where the page is narrow.
    outside = "(width < 480 ? 2.3 : 1.5)"
    scale = alt.Scale(type="linear", domainMin=0.0, domainMax=alt.ExprRef(outside), zero=True)
    room = alt.ExprRef(f"width / 2 - 1.1 * min(width, height) / 2 / {outside}")
    radius = alt.Radius("share:Q", scale=scale)
    tooltip = [alt.Tooltip("model:N"), alt.Tooltip("test_point:N", title="test point"), alt.Tooltip("share:Q", format=".2f")]
    sector = alt.Chart(data).transform_filter("isValid(datum.share)")
    angle = {"theta": alt.Theta("start:Q", scale=None, stack=None), "theta2": "end:Q"}
    filled = sector.transform_filter("datum.model == first").mark_arc(opacity=0.5, stroke="white", strokeWidth=1)
    outline = sector.transform_filter("datum.model == second").mark_arc(filled=False, strokeWidth=2, stroke="#d9720b")
    labels = pl.DataFrame(
        {"name": points, "middle": [(n + 0.5) * turn for n in range(len(points))], "at": 1.08},
        schema_overrides={"name": pl.String, "middle": pl.Float64},
    )
    rings = alt.Chart(alt.InlineData(values=[{"ring": ring / 4.0} for ring in range(1, 5)]))
    rings = rings.mark_arc(filled=False, stroke="#8a949e", strokeWidth=0.5, theta=0.0, theta2=2.0 * math.pi)
    layers = [
        rings.encode(radius=alt.Radius("ring:Q", scale=scale, stack=None)),
        filled.encode(radius=radius, tooltip=tooltip, **angle),
        outline.encode(radius=radius, tooltip=tooltip, **angle),
    ]
    sides: list[tuple[str, Literal["left", "right"]]] = [("datum.middle < PI", "left"), ("datum.middle >= PI", "right")]
    for side, align in sides:
        words = alt.Chart(labels).transform_filter(side).mark_text(fontSize=10, align=align, limit=room)
        layers.append(
            words.encode(
                text="name:N", theta=alt.Theta("middle:Q", scale=None, stack=None), radius=alt.Radius("at:Q", stack=None)
            )
        )
    chart = alt.layer(*layers).add_params(first, second)
    return specification_of(
        chart.properties(width="container", height=420, description="Shares of satisfied checks around a circle")
    )


def _field(name: str) -> str:
    """Return a column's name with the characters escaped that Vega-Lite would take for a path or a type."""
    return "".join(f"\\{c}" if c in ".[]\\:" else c for c in name)

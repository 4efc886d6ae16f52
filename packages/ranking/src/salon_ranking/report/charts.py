"""Charts of leaderboards as Vega-Lite specifications (plain dictionaries), made with Altair.

Every function takes a polars frame and returns a specification that is as wide as its container, so that the same
chart is read on a phone and on a wide screen. ``salon_console.page`` puts them on a page; ``vl_convert`` turns them into SVG.
"""

from typing import Any, Literal

import altair as alt
import polars as pl

from salon_console.page import Specification

_ROW_HEIGHT = 20
_LONG = 25
"""Rows above which a chart is higher than a screen."""
_LONGEST_LABEL = 170
"""Pixels of a name on a phone; on a wide page names may take a third of its width."""
_LINE = 12
"""Pixels that a column needs before its name is written above it."""
_LETTER = 7
"""Pixels of a letter, about."""
_FLUSH = 20
"""Pixels from an end of an axis within which a label is written inwards, so that the page's edge does not cut it."""
_TICK = 70
"""Pixels between two ticks of an axis of numbers, about."""


def names_axis() -> alt.Axis:
    """Return the axis of names to the left of a chart; on a wide page it is wide."""
    return alt.Axis(labelLimit=alt.ExprRef(f"max({_LONGEST_LABEL}, containerSize()[0] / 3)"), labelOverlap=False)


def columns_axis(names: list[str]) -> alt.Axis:
    """Return the axis of names above a chart: level where they fit, upright where not, none where they would overlap."""
    column = f"width / {max(len(names), 1)}"
    longest = _LETTER * max(map(len, names), default=0)
    angle = alt.ExprRef(f"{column} >= {longest + _LETTER} ? 0 : 270")
    room = f"{column} >= {_LINE} ? datum.label : ''"
    return alt.Axis(orient="top", labelLimit=_LONGEST_LABEL, labelAngle=angle, labelOverlap=False, labelExpr=room)


def numbers_axis(**settings: Any) -> alt.Axis:
    """Return an axis of numbers with as many ticks as its width has room for."""
    ticks = alt.ExprRef(f"max(2, floor(width / {_TICK}))")
    return alt.Axis(tickCount=ticks, labelOverlap="greedy", labelSeparation=8, labelFlush=_FLUSH, **settings)


def colour_legend(orient: Literal["top", "bottom"], **settings: Any) -> alt.Legend:
    """Return the legend of a scale of colours, no wider than the plot."""
    length = alt.ExprRef("clamp(width - 20, 60, 160)")
    return alt.Legend(orient=orient, direction="horizontal", gradientLength=length, **settings)


def series_legend() -> alt.Legend:
    """Return the legend above a chart: one name on a line, its mark in full colour."""
    limit = alt.ExprRef("clamp(width - 25, 80, 300)")
    return alt.Legend(orient="top", direction="vertical", title=None, labelLimit=limit, symbolOpacity=1)


def interval_plot(board: pl.DataFrame, *, unit: str = "Elo", baseline: float | None = None) -> Specification:
    """Draw ratings as points, their intervals as bars, best on top.

    Args:
        board: columns ``model``, ``rating``, ``ci_low``, ``ci_high`` (null: no interval is drawn) and ``rank``.
        unit: the title of the horizontal axis.
        baseline: a rating to mark with a thin vertical line, usually the baseline's 1,000.
    """
    order = board.sort("rating", descending=True, nulls_last=True)["model"].to_list()
    data = board.select("rank", "model", "rating", "ci_low", "ci_high").with_columns(pl.col(pl.Float64).round(1))
    y = alt.Y("model:N", sort=order, title=None, axis=names_axis())
    tooltip = [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("rank:Q", title="Rank"),
        alt.Tooltip("rating:Q", title=unit),
        alt.Tooltip("ci_low:Q", title="Interval from"),
        alt.Tooltip("ci_high:Q", title="to"),
    ]
    base = alt.Chart(data).encode(y=y, tooltip=tooltip)
    # Of a long board the top is read first: its axis is there.
    scale, axis = alt.Scale(zero=False, nice=True), numbers_axis(orient="top" if len(order) > _LONG else "bottom")
    bars = (
        base.transform_filter("isValid(datum.ci_low)")
        .mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round")
        .encode(x=alt.X("ci_low:Q", title=unit, scale=scale, axis=axis), x2="ci_high:Q")
    )
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x=alt.X("rating:Q", title=unit, scale=scale, axis=axis))
    # Vega warns of a field without a value.
    layers: list[Any] = [bars, points] if data["ci_low"].is_not_null().any() else [points]
    if baseline is not None:
        line = alt.Chart(alt.InlineData(values=[{"at": baseline}])).mark_rule(strokeDash=[3, 3], opacity=0.5)
        layers.insert(0, line.encode(x=alt.X("at:Q", title=unit, scale=scale, axis=axis)))
    chart = alt.layer(*layers).properties(
        width="container",
        height=_ROW_HEIGHT * max(len(order), 1),
        description=f"{unit} and interval of {len(order)} models, best on top",
    )
    return specification_of(chart)


def numbers_plot(data: pl.DataFrame, *, title: str, series: list[str]) -> Specification:
    """Draw numbers of several series as points with their intervals, one row per group, series below each other.

    Args:
        data: columns ``of`` (the group), ``series``, ``value``, ``ci_low`` and ``ci_high`` (null: no interval is drawn).
        title: of the horizontal axis.
        series: their names in the order of the legend.
    """
    groups = data["of"].unique(maintain_order=True).to_list()
    names = {"ci_low": "Interval from", "ci_high": "to"}
    tooltip = [alt.Tooltip("of:N", title="Of"), alt.Tooltip("series:N", title="Subject"), alt.Tooltip("value:Q", title=title)]
    tooltip += [alt.Tooltip(f"{name}:Q", title=words) for name, words in names.items()]
    scale, axis = alt.Scale(zero=False, nice=True), numbers_axis()
    base = alt.Chart(data.with_columns(pl.col(pl.Float64).round(4))).encode(
        y=alt.Y("of:N", sort=groups, title=None, axis=names_axis()),
        yOffset=alt.YOffset("series:N", sort=series),
        color=alt.Color("series:N", sort=series, legend=series_legend() if len(series) > 1 else None),
        tooltip=tooltip,
    )
    bars = (
        base.transform_filter("isValid(datum.ci_low)")
        .mark_rule(strokeWidth=4, opacity=0.4, strokeCap="round")
        .encode(x=alt.X("ci_low:Q", title=title, scale=scale, axis=axis), x2="ci_high:Q")
    )
    points = base.mark_point(filled=True, size=50, opacity=1).encode(x=alt.X("value:Q", title=title, scale=scale, axis=axis))
    layers = [bars, points] if data["ci_low"].is_not_null().any() else [points]
    description = f"{title} of {len(series)} subjects in {len(groups)} groups, with intervals"
    height = max(_ROW_HEIGHT, 14 * len(series)) * max(len(groups), 1)
    return specification_of(alt.layer(*layers).properties(width="container", height=height, description=description))


def heat_map(
    cells: pl.DataFrame, *, rows: str, columns: str, value: str, note: str, title: str, order: list[str]
) -> Specification:
    """Draw a square of correlations between -1 and 1, each written in its cell; null cells stay empty.

    Args:
        cells: long form, one row per cell, with the columns named by ``rows``, ``columns``, ``value`` and ``note``.
        value: the number that colours the cell and is written in it.
        note: a number shown beside it when pointed at, such as how many models two benchmarks share.
        title: what the number is.
        order: the order of both axes.
    """
    base = alt.Chart(cells).encode(
        x=alt.X(f"{columns}:N", sort=order, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=_LONGEST_LABEL)),
        y=alt.Y(f"{rows}:N", sort=order, title=None, axis=names_axis()),
        tooltip=[
            alt.Tooltip(f"{rows}:N", title="One"),
            alt.Tooltip(f"{columns}:N", title="Other"),
            alt.Tooltip(f"{value}:Q", title=title, format="+.2f"),
            alt.Tooltip(f"{note}:Q", title="Models in common"),
        ],
    )
    color = alt.Color(
        f"{value}:Q",
        title=title,
        legend=colour_legend("top"),
        scale=alt.Scale(scheme="blueorange", domain=[-1, 1], reverse=True),
    )
    squares = base.mark_rect(stroke="white", strokeWidth=1).encode(color=color)
    dark = f"isValid(datum['{value}']) && abs(datum['{value}']) > 0.75"
    words = (
        base.transform_filter(f"isValid(datum['{value}'])")
        .mark_text(fontSize=11)
        .encode(text=alt.Text(f"{value}:Q", format=".2f"), color=alt.condition(dark, alt.value("white"), alt.value("black")))
    )
    chart = alt.layer(squares, words).properties(
        width="container", height=44 * max(len(order), 1), description=f"{title} between {len(order)} benchmarks"
    )
    return specification_of(chart)


def bump_chart(ranks: pl.DataFrame) -> Specification:
    """Draw the ranks across the tracks of one board; menus choose the board and a model to follow.

    Args:
        ranks: columns ``board``, ``track``, ``track_order`` (position of the track in its board, from 0), ``model``,
            ``rank`` (1 is best; models with equal scores share a rank and are drawn one under the other by name).
    """
    drawn = ranks.sort("track_order", "rank", "model", maintain_order=True).with_columns(
        place=pl.int_range(1, pl.len() + 1).over("board", "track_order"),
        label=pl.format("{} {}", "rank", "model"),
    )
    boards = ranks["board"].unique(maintain_order=True).to_list()
    models = sorted(ranks["model"].unique().to_list(), key=str.casefold)
    board = alt.param(
        name="board", value=boards[0] if boards else "", bind=alt.binding_select(options=boards, name="Benchmark ")
    )
    follow = alt.param(
        name="follow", value="", bind=alt.binding_select(options=["", *models], labels=["all", *models], name="Follow ")
    )
    x = alt.X(
        "track:N",
        sort=alt.EncodingSortField("track_order", op="min"),
        title=None,
        axis=alt.Axis(labelAngle=-35, labelLimit=_LONGEST_LABEL, domain=False),
    )
    y = alt.Y("place:O", title=None, axis=None)
    opacity = alt.condition("follow == '' || datum.model == follow", alt.value(0.9), alt.value(0.1))
    tooltip = [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("track:N", title="Track"),
        alt.Tooltip("rank:Q", title="Rank"),
    ]
    base = alt.Chart(drawn).transform_filter("datum.board == board").encode(x=x, y=y, opacity=opacity)
    coloured = base.encode(color=alt.Color("model:N", legend=None, scale=alt.Scale(scheme="tableau20")), tooltip=tooltip)
    lines = coloured.mark_line(strokeWidth=2).encode(detail="model:N", order="track_order:Q")
    points = coloured.mark_point(filled=True, size=60)
    first = base.transform_filter("datum.track_order == 0")
    names = first.mark_text(
        align="right", dx=-9, fontSize=11, limit=alt.ExprRef(f"max({_LONGEST_LABEL - 20}, containerSize()[0] / 3)")
    ).encode(text="label:N")
    chart = (
        alt.layer(lines, points, names)
        .add_params(board, follow)
        .properties(
            width="container",
            height=alt.Step(24),
            padding={"left": 10, "top": 5, "right": 5, "bottom": 5},
            description="Rank of each model in each track of one benchmark",
        )
    )
    return specification_of(chart)


def specification_of(chart: alt.LayerChart | alt.FacetChart) -> Specification:
    """Return the chart as a dictionary with its data inside, whatever the number of rows."""
    with alt.data_transformers.disable_max_rows():
        specification: Specification = chart.to_dict()
    return specification

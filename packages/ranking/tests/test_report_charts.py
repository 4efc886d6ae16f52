"""Charts: the data drawn is the data given, and a missing interval draws no bar."""

import itertools
import math
import random
import re

import polars as pl
import pytest
import vl_convert

from salon_ranking.report.charts import bump_chart, heat_map, interval_plot, numbers_plot
from salon_ranking.report.curves import width_curve
from salon_ranking.report.heat import rank_map, win_rate_map
from salon_ranking.report.mos_charts import dot_plot, share_wheel, value_map

BOARD = pl.DataFrame(
    {
        "rank": [1, 2, 3],
        "model": ["x", "y <b>", "z"],
        "rating": [1100.0, 1000.0, 900.0],
        "ci_low": [1050.0, 1000.0, None],
        "ci_high": [1150.0, 1000.0, None],
    }
)


def rows(specification: dict) -> list[dict]:
    """Every row of every data set inside a specification."""
    return [row for data in specification["datasets"].values() for row in data]


def test_an_interval_plot_carries_every_model_and_its_interval() -> None:
    drawn = {row["model"]: row for row in rows(interval_plot(BOARD)) if "model" in row}
    assert set(drawn) == {"x", "y <b>", "z"}
    assert (drawn["x"]["ci_low"], drawn["x"]["ci_high"]) == (1050.0, 1150.0)
    assert drawn["z"]["ci_low"] is None


def test_models_stand_in_the_order_of_their_ratings() -> None:
    svg = vl_convert.vegalite_to_svg({**interval_plot(BOARD.reverse()), "width": 300})
    assert svg.index(">x<") < svg.index("&lt;b&gt;<") < svg.index(">z<")


@pytest.mark.parametrize("baseline", [None, 1000.0])
def test_every_chart_is_valid_vega_lite(baseline: float | None) -> None:
    cells = pl.DataFrame({"one": ["a", "b"], "other": ["b", "a"], "rho": [0.5, None], "n": [5, 5]})
    ranks = pl.DataFrame(
        {"board": "B", "track": ["t", "t", "u", "u"], "track_order": [0, 0, 1, 1], "model": list("xyxy"), "rank": [1, 1, 1, 2]}
    )
    square = heat_map(cells, rows="one", columns="other", value="rho", note="n", title="ρ", order=["a", "b"])
    for specification in (interval_plot(BOARD, baseline=baseline), square, bump_chart(ranks)):
        assert vl_convert.vegalite_to_svg({**specification, "width": 300}).startswith("<svg")


def test_models_with_equal_ranks_are_drawn_one_under_the_other() -> None:
    ranks = pl.DataFrame({"board": "B", "track": "t", "track_order": 0, "model": ["y", "x", "z"], "rank": [1, 1, 3]})
    places = {row["model"]: (row["place"], row["rank"]) for row in rows(bump_chart(ranks))}
    assert places == {"x": (1, 1), "y": (2, 1), "z": (3, 3)}


# ------------------------------------------------------------------------------------------------------------ coordinates


def marks(specification: dict, width: int = 600) -> list[tuple[str, list[dict]]]:
    """The drawn marks of a chart on a page of this width, in order: their kind, and each with its place in pixels."""
    found: list[tuple[str, list[dict]]] = []

    def walk(node: dict) -> None:
        if node.get("role") == "mark" and node["marktype"] != "group":
            found.append((node["marktype"], node["items"]))
        for item in node.get("items", []):
            walk(item)

    drawing = vl_convert.vegalite_to_scenegraph({**specification, "width": width})
    walk(drawing["scenegraph"])
    return found


def of_kind(specification: dict, kind: str, width: int = 600) -> list[dict]:
    return [item for each, items in marks(specification, width) if each == kind for item in items]


def board_of(rated: list[tuple[int, int, int, bool]]) -> pl.DataFrame:
    rows = [
        (f"m{place}", float(value), *((value - low, value + high) if has else (None, None)))
        for place, (value, low, high, has) in enumerate(rated)
    ]
    return pl.DataFrame(
        rows, schema={"model": pl.String, "rating": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64}, orient="row"
    )


def check_places(specification: dict, board: pl.DataFrame, baseline: float | None, order: list[str] | None = None) -> None:
    """Points and bars lie on one axis that leaves little of the width empty, each in the middle of its row, rows in order."""
    points, rules = of_kind(specification, "symbol"), of_kind(specification, "rule")
    assert all(0 < item["opacity"] <= 1 and 0 <= item["x"] <= 600 for item in (*points, *rules))
    bars = [item for item in rules if "y2" not in item]
    row = specification["height"] / board.height
    assert row >= 14
    known = board.drop_nulls("ci_low")
    middle = {model: row * (place + 0.5) for place, model in enumerate(order or board["model"])}
    for items, models in ((points, board["model"]), (bars, known["model"])):
        assert [item["y"] for item in items] == pytest.approx([middle[model] for model in models], abs=row / 9)
    values = [*board["rating"], *known["ci_low"], *known["ci_high"], *([] if baseline is None else [baseline])]
    places = [item["x"] for item in (*points, *bars)] + [item["x2"] for item in bars]
    places += [item["x"] for item in rules if "y2" in item]
    assert len(places) == len(values)
    if max(values) > min(values):
        step = (max(places) - min(places)) / (max(values) - min(values))
        assert places == pytest.approx([min(places) + step * (value - min(values)) for value in values], abs=0.01)
        assert max(places) - min(places) > 250


@pytest.mark.parametrize(("size", "baseline"), [(1, None), (3, 1000.0), (28, 700.0)])
def test_points_and_bars_lie_where_the_numbers_are_on_one_axis_and_in_the_rows_of_their_models(
    size: int, baseline: float | None
) -> None:
    draw = random.Random(size)
    board = board_of([(draw.randint(500, 1500), draw.randint(0, 90), draw.randint(0, 90), place != 1) for place in range(size)])
    ranked = board.sort("rating", descending=True)["model"].to_list()
    check_places(interval_plot(board.with_columns(rank=1), baseline=baseline), board, baseline, ranked)
    check_places(dot_plot(board, label="model", value="rating", title="Elo", line=baseline), board, baseline)
    series = board.rename({"model": "of", "rating": "value"}).with_columns(series=pl.lit("one"))
    check_places(numbers_plot(series, title="Elo", series=["one"]), board, None)


def readable(fill: str, text: str) -> bool:
    """Whether the contrast of two colours is at least 3 : 1, as WCAG wants it of large words."""

    def luminance(colour: str) -> float:
        parts = {"white": (255, 255, 255), "black": (0, 0, 0)}.get(colour) or map(int, re.findall(r"\d+", colour))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in (part / 255 for part in parts)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(fill), luminance(text)))
    return (light + 0.05) / (dark + 0.05) >= 3


def check_cells(specification: dict, across: int, down: int, words: dict[tuple[int, int], str]) -> None:
    """Each cell is a rectangle in its column and row, its word in the middle, to be read, and gone where there is no room."""
    for width, shown in ((60 * across, 1), (20 * across, 0)):
        rects, texts = of_kind(specification, "rect", width), of_kind(specification, "text", width)
        row, column = specification["height"] / down, width / across
        assert row >= 18
        fills = {}
        for item in rects:
            assert (item["width"], item["height"]) == pytest.approx((column, row), abs=0.01)
            fills[round(item["x"] / column), round(item["y"] / row)] = item["fill"]
        assert set(words) <= set(fills)
        found = {}
        for item in texts:
            place = (int(item["x"] // column), int(item["y"] // row))
            assert item["x"] == pytest.approx((place[0] + 0.5) * column, abs=0.01)
            assert abs(item["y"] - (place[1] + 0.5) * row) <= row / 4
            assert item.get("opacity", 1) == shown
            assert readable(fills[place], item["fill"]), (fills[place], item["fill"], item["text"])
            found.setdefault(place, str(item["text"]))
        assert found == words


def test_win_rates_and_ranks_stand_in_the_cells_of_their_pairs_and_can_be_read() -> None:
    order = [f"m{place}" for place in range(5)]
    met = {(a, b): (a * 5 + b) / 25 for a in range(5) for b in range(5) if a != b}
    pairs = [(order[a], order[b], 10 + a, rate) for (a, b), rate in met.items()]
    frame = pl.DataFrame(pairs, schema=["model", "opponent", "matches", "win_rate"], orient="row")
    check_cells(win_rate_map(frame, order=order), 5, 5, {(b, a): f"{rate:.0%}" for (a, b), rate in met.items()})
    groups = [f"g{place}" for place in range(4)]
    ranks = [(order[a], groups[b], a + 1, a * 4 + b - 9) for a in range(5) for b in range(4)]
    frame = pl.DataFrame(ranks, schema=["model", "group", "rank", "change"], orient="row")
    specification = rank_map(frame, order=order, groups=groups)
    texts = {(round(item["x"] / 150 - 0.5), int(item["y"] // 24)): item["text"] for item in of_kind(specification, "text")}
    assert texts == {(b, a): str(a + 1) for a in range(5) for b in range(4)}
    fills = {(round(item["x"] / 150), int(item["y"] // 24)): item["fill"] for item in of_kind(specification, "rect")}
    assert all(readable(fills[round(i["x"] / 150 - 0.5), int(i["y"] // 24)], i["fill"]) for i in of_kind(specification, "text"))
    values = [(f"r{a}", f"c{b}", (a * 4 + b) / 20) for a in range(5) for b in range(4)]
    frame = pl.DataFrame(values, schema=["row", "column", "value"], orient="row")
    grid = value_map(frame, row="row", column="column", value="value", title="share", domain=(0.0, 1.0))
    check_cells(grid, 4, 5, {(b, a): f"{(a * 4 + b) / 20:.2f}" for a in range(5) for b in range(4)})


def test_widths_lie_on_axes_of_logarithms_with_the_goal_and_room_beneath() -> None:
    counts, widths = [10, 20, 40, 80], [100.0, 70.7, 50.0, 35.4]
    data = pl.DataFrame({"matches_per_model": counts, "width": widths, "kind": "plain"})
    for goal in (None, 30.0, 60.0):
        specification = width_curve(data, title="Width", goal=goal)
        points = of_kind(specification, "symbol")
        steps = [after["x"] - before["x"] for before, after in itertools.pairwise(points)]
        assert steps == pytest.approx([steps[0]] * 3, abs=0.01)
        lines = [item["y"] for item in of_kind(specification, "rule")]
        heights, values = [item["y"] for item in points] + lines, widths + ([] if goal is None else [goal])
        slope = (heights[3] - heights[0]) / math.log(widths[3] / widths[0])
        assert heights == pytest.approx([heights[0] + slope * math.log(value / widths[0]) for value in values], abs=0.01)
        assert len(lines) == (goal is not None)
        assert max(heights) < specification["height"] and min(heights) >= 0
        assert all(0 <= item["x"] <= 600 and 0 < item["opacity"] <= 1 for item in points)


def test_a_bump_chart_has_the_names_left_of_the_first_track_and_a_line_through_the_ranks_of_each_model() -> None:
    ranks = [("B", track, order, model, rank) for order, (track, row) in enumerate({"t": "xyz", "u": "zxy"}.items())
             for rank, model in enumerate(row, 1)]  # fmt: skip
    frame = pl.DataFrame(ranks, schema=["board", "track", "track_order", "model", "rank"], orient="row")
    specification = bump_chart(frame)
    points = {(item["x"], item["y"]) for item in of_kind(specification, "symbol")}
    left, right = sorted({x for x, _ in points})
    rows = sorted({y for _, y in points})
    assert points == set(itertools.product((left, right), rows)) and rows[1] - rows[0] >= 14
    for place, item in enumerate(of_kind(specification, "text")):
        assert (item["text"], item["align"]) == (f"{place + 1} {'xyz'[place]}", "right")
        assert item["y"] == rows[place]
        assert item["x"] + item.get("dx", 0) < left - 5  # not over the points
    lines = {tuple((item["x"], item["y"]) for item in items) for kind, items in marks(specification) if kind == "line"}
    assert lines == {((left, rows["xyz".index(m)]), (right, rows["zxy".index(m)])) for m in "xyz"}


@pytest.mark.parametrize("models", ["b", "ba", "cab"])
def test_a_wheel_has_a_sector_for_each_test_point_in_the_order_given_as_long_as_the_share(models: str) -> None:
    points = [f"p{place}" for place in (3, 1, 2, 0, 4)]
    shares = {(model, point): (1 + 7 * a + 3 * b) % 20 / 20 for a, model in enumerate(models) for b, point in enumerate(points)}
    frame = pl.DataFrame(
        [(*key, share) for key, share in shares.items()], schema=["model", "test_point", "share"], orient="row"
    )
    rings, filled, outline = (items for kind, items in marks(share_wheel(frame)) if kind == "arc")
    outer = rings[-1]["outerRadius"]
    assert [ring["outerRadius"] / outer for ring in rings] == pytest.approx([0.25, 0.5, 0.75, 1])
    assert all(ring["endAngle"] - ring["startAngle"] == pytest.approx(math.tau) for ring in rings)
    for sectors, model in ((filled, models[0]), (outline, models[min(1, len(models) - 1)])):
        assert [item["outerRadius"] / outer for item in sectors] == pytest.approx([shares[model, point] for point in points])
        for place, item in enumerate(sectors):
            ends = sorted((item["startAngle"], item["endAngle"]))
            assert ends == pytest.approx([math.tau * place / 5, math.tau * (place + 1) / 5])
            assert 0 < item.get("opacity", 1) <= 1
    for item in of_kind(share_wheel(frame), "text"):
        middle = math.tau * (points.index(item["text"]) + 0.5) / 5
        assert item["theta"] == pytest.approx(middle)
        assert item["align"] == ("left" if middle < math.pi else "right")
        assert outer < item["radius"] < 1.2 * outer
    assert sorted(item["text"] for item in of_kind(share_wheel(frame), "text")) == sorted(points)


def test_rows_of_a_grid_are_as_high_for_one_model_as_for_twelve_and_lower_for_many() -> None:
    schema = {"model": pl.String, "opponent": pl.String, "matches": pl.Int64, "win_rate": pl.Float64}
    ranked = {"model": pl.String, "group": pl.String, "rank": pl.Int64, "change": pl.Int64}
    rows = {}
    for size in (0, 1, 2, 12, 13, 25, 26, 60):
        order = [f"m{place}" for place in range(size)]
        rows[size] = win_rate_map(pl.DataFrame(schema=schema), order=order)["height"] / max(size, 1)
        ranks = pl.DataFrame([(model, "g", 1, 0) for model in order], schema=ranked, orient="row")
        assert rank_map(ranks, order=order, groups=["g"])["height"] == 24 * max(size, 1)
    assert rows[0] == rows[1] == rows[2] == rows[12] > rows[13] == rows[25] > rows[26] == rows[60] >= 14

"""Charts: what is drawn is what was given, on one axis; names stay names; a missing interval draws no bar."""

import math
import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_console.forest_plot import ForestPlot, PlotRow, _number_text, _ticks
from salon_console.heat_table import HeatCell, HeatTable
from salon_console.line_chart import (
    HEIGHT,
    WIDTH,
    Curve,
    LegendEntry,
    LineChart,
    Threshold,
    Upright,
    _decades,
    _thinned,
    _tick_texts,
    ticks,
)
from salon_console.page import Figure, PageSection, render_page
from salon_console.templates import read_text
from salon_taxonomy.errors import InputError

HOSTILE = "a\u202eb<script>alert(1)</script>\x1b[31m'\""
VALUES = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
ROWS = st.lists(st.tuples(VALUES, st.floats(0, 1e4), st.booleans()), min_size=1, max_size=12)


def rows_of(drawn: list[tuple[float, float, bool]]) -> list[PlotRow]:
    return [
        PlotRow(f"m{number}", value, *((value - half, value + half) if has else (None, None)))
        for number, (value, half, has) in enumerate(drawn)
    ]


def elements(html: str, tag: str) -> list[dict[str, str]]:
    """The attributes of each element of this tag, in order."""
    found = re.findall(rf"<{tag}\b([^>]*)>", html)
    return [dict(re.findall(r'([\w-]+)="([^"]*)"', attributes)) for attributes in found]


def percent(text: str) -> float:
    return float(text.removesuffix("%"))


@settings(max_examples=80)
@given(ROWS, st.none() | VALUES)
def test_points_bars_and_the_reference_lie_on_one_axis_in_the_order_of_the_rows(drawn, reference) -> None:
    rows = rows_of(drawn)
    html = ForestPlot("Elo", rows, reference).html()
    names = re.findall(r'<th scope="row"><bdi>(\w+)</bdi>', html)
    assert names == [row.name for row in rows]
    points = [percent(circle["cx"]) for circle in elements(html, "circle")]
    lines = elements(html, "line")
    bars = [(percent(line["x1"]), percent(line["x2"])) for line in lines if line["class"] == "bar"]
    across = [percent(line["x1"]) for line in lines if line["class"] == "reference"]
    whole = [(row, bar) for row, bar in zip([row for row in rows if row.low is not None], bars, strict=True)]
    assert len(points) == len(rows) and len(across) == (len(rows) if reference is not None else 0)
    pairs = [*zip([row.value for row in rows], points, strict=True), *((reference, x) for x in across)]
    assert all(2 <= x <= 98 for _, x in pairs)
    ticks = [(percent(text["x"]), label) for text, label in _labels(html)]
    (first, low), (last, high) = ticks[0], ticks[-1]
    assert (first, last) == (2, 98)
    span = _number(high) - _number(low)
    slack = 0.01 + 96 * 0.5 * 10 ** -_digits(low) / span
    for value, x in pairs:
        assert x == pytest.approx(2 + 96 * (value - _number(low)) / span, abs=slack)
    for row, (start, end) in whole:
        for given_end, x in ((row.low, start), (row.high, end)):
            inside = min(max(given_end, _number(low)), _number(high))
            assert x == pytest.approx(2 + 96 * (inside - _number(low)) / span, abs=slack)


def _labels(html: str) -> list[tuple[dict[str, str], str]]:
    head = html[: html.index("</thead>")]
    return [(dict(re.findall(r'(\w+)="([^"]*)"', tag)), text) for tag, text in re.findall(r"<text([^>]*)>([^<]*)</text>", head)]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _digits(text: str) -> int:
    return len(text.partition(".")[2])


@given(st.floats(2.0, 1e6))
def test_one_interval_that_reaches_far_beyond_the_others_moves_none_of_them(times: float) -> None:
    rows = [PlotRow(f"m{number}", 100.0 * number, 100.0 * number - 30, 100.0 * number + 30) for number in range(6)]

    def others(reach: float) -> tuple[list[str], str]:
        wide = PlotRow("wide", 250.0, 250.0 - reach, 250.0 + reach)
        html = ForestPlot("Elo", [*rows, wide]).html()
        return [circle["cx"] for circle in elements(html, "circle")], html

    usual, far = others(1000.0), others(1000.0 * times)
    assert usual[0] == far[0]
    assert far[1].count("‹") == far[1].count("›") == 1
    assert "from " in far[1].rpartition("<title>")[2]  # its ends are still said


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_whole_numbers_have_ticks_at_whole_numbers(drawn) -> None:
    html = ForestPlot("Rank", [PlotRow("m", value, value - low, value + high) for value, low, high in drawn]).html()
    assert all("." not in label for _, label in _labels(html))
    assert len({label for _, label in _labels(html)}) == len(_labels(html))


@settings(max_examples=100)
@given(st.lists(VALUES, min_size=1, max_size=5) | st.lists(st.integers(-30, 30).map(float), min_size=1, max_size=5))
def test_ticks_are_round_numbers_that_contain_all_values_and_no_more_and_labels_say_them(values: list[float]) -> None:
    ticks, digits = _ticks(values)
    step = ticks[1] - ticks[0]
    leading = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(leading - round_) for round_ in (1, 2, 2.5, 5)) < 1e-6
    assert all(place == pytest.approx(ticks[0] + step * number, abs=1e-9 * step) for number, place in enumerate(ticks))
    spread = max(values) - min(values)
    assert ticks[0] <= min(values) + 1e-6 * step and ticks[-1] >= max(values) - 1e-6 * step
    assert len(ticks) <= 6 and (spread < 2 * step or len(ticks) >= 3)
    if spread > 1e-3:
        assert min(values) - ticks[0] < step and ticks[-1] - max(values) < step
    labels = [_number_text(tick, digits) for tick in ticks]
    assert [_number(label) for label in labels] == pytest.approx(ticks, abs=1e-6 * step)
    assert digits == 0 or any(label[-1] != "0" for label in labels), "no digit is for nothing"


@for_each(
    ("values", "expected"),
    [
        ([], ([0.0, 1.0], 0)),
        ([0.0, 1.0], ([0.0, 1.0], 0)),
        ([0.0, 1.5], ([0.0, 0.5, 1.0, 1.5], 1)),
        ([3.0], ([2.0, 3.0, 4.0], 0)),
        ([0.4], ([-0.25, 0.0, 0.25, 0.5, 0.75, 1.0], 2)),
        ([0.0, 100.0], ([0.0, 25.0, 50.0, 75.0, 100.0], 0)),
        ([0.0, 10.0], ([0.0, 5.0, 10.0], 0)),
        ([0.0, 0.1], ([0.0, 0.025, 0.05, 0.075, 0.1], 3)),
        ([990.0, 1010.0], ([990.0, 995.0, 1000.0, 1005.0, 1010.0], 0)),
    ],
)
def test_ticks_of_common_ranges(values: list[float], expected: tuple[list[float], int]) -> None:
    ticks, digits = _ticks(values)
    assert (pytest.approx(ticks), digits) == expected


def test_numbers_of_an_axis_are_plain_up_to_nine_digits_and_fifteen_before_the_point() -> None:
    texts = [
        _number_text(value, digits)
        for value, digits in ((0.25, 9), (0.25, 10), (999e12, 0), (1e15, 0), (-1e15, 0), (1234.5, 1))
    ]
    assert texts == ["0.250000000", "0.25", "999,000,000,000,000", "1e+15", "-1e+15", "1,234.5"]


@for_each(("reach", "rows", "inside"), [(40.0, 3, True), (41.0, 3, False), (41.0, 2, True), (400.0, 2, True)])
def test_an_end_farther_than_four_medians_beyond_all_values_is_beyond_the_axis(reach: float, rows: int, inside: bool) -> None:
    """From six ends on; the median is that of the distances between ends and values."""
    plain = [PlotRow(f"m{number}", 100.0 * number, 100.0 * number - 10, 100.0 * number + 10) for number in range(rows)]
    last = plain.pop()
    for end in (last._replace(high=last.value + reach), plain[0]._replace(low=plain[0].value - reach)):
        others = [row for row in (*plain, last) if row.name != end.name]
        html = ForestPlot("Elo", sorted([*others, end])).html()
        assert html.count("‹") + html.count("›") == (0 if inside else 1), end


@dataclass
class Drawing:
    """What is drawn in an SVG, read from its elements: texts with their places, lines, circles and paths."""

    svg: str

    def __post_init__(self) -> None:
        self.root = ElementTree.fromstring(self.svg)
        self.size = tuple(float(self.root.get(name) or 0) for name in ("width", "height"))
        self.box = tuple(map(float, (self.root.get("viewBox") or "").split()))

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        found = self.root.iter(f"{{http://www.w3.org/2000/svg}}{tag}")
        return [
            {**each.attrib, "text": each.text or ""}
            for each in found
            if all(value in each.get(name.rstrip("_"), "").split() for name, value in wanted.items())
        ]

    def texts(self) -> list[tuple[str, float, float]]:
        return [(each["text"], float(each["x"]), float(each["y"])) for each in self.all("text")]


@settings(max_examples=80)
@given(ROWS, st.none() | VALUES)
def test_a_forest_plot_as_a_picture_holds_its_rows_on_one_axis(drawn, reference) -> None:
    rows = rows_of(drawn)
    picture = Drawing(ForestPlot("Elo", rows, reference, "Intervals.").svg())
    width, height = picture.size
    assert picture.box == (0, 0, width, height) and picture.root.get("aria-label") == f"Elo of {len(rows)} rows. Intervals."
    texts = picture.texts()
    names, (_, title_x, title_y) = {text: (x, y) for text, x, y in texts if text.startswith("m")}, texts[-1]
    lines = picture.all("line")
    grid = [line for line in lines if line.get("opacity") == "0.15"]
    dashed = [line for line in lines if "stroke-dasharray" in line]
    bars = [line for line in lines if line.get("stroke-width") == "5"]
    assert len(grid) + len(dashed) + len(bars) == len(lines)
    tops, bottoms = {line["y1"] for line in (*grid, *dashed)}, {line["y2"] for line in (*grid, *dashed)}
    assert len(tops) == len(bottoms) == 1
    top, bottom = float(tops.pop()), float(bottoms.pop())
    labels = [(text, x) for text, x, y in texts if bottom < y < title_y]
    assert [x for _, x in labels] == [float(line["x1"]) for line in grid] == [float(line["x2"]) for line in grid]
    (low_text, left), (high_text, right) = labels[0], labels[-1]
    low, high = _number(low_text), _number(high_text)
    slack = 0.2 + 360 * 0.5 * 10 ** -_digits(low_text) / (high - low)

    def x(value: float) -> float:
        return left + (right - left) * (min(max(value, low), high) - low) / (high - low)

    circles = picture.all("circle")
    assert len(circles) == len(rows) == len(names)
    for number, (row, circle) in enumerate(zip(rows, circles, strict=True)):
        name_x, name_y = names[row.name]
        y = float(circle["cy"])
        assert y == pytest.approx(top + 22 * (number + 0.5), abs=0.1) and 0 < name_y - y < 8
        assert float(circle["cx"]) == pytest.approx(x(row.value), abs=slack)
        assert name_x - 7 * len(row.name) >= 0 and name_x < left, "a name is whole and ends before the axis"
    whole = [row for row in rows if row.low is not None]
    for row, bar in zip(whole, bars, strict=True):
        assert [float(bar["x1"]), float(bar["x2"])] == pytest.approx([x(row.low), x(row.high)], abs=slack)
        assert bar["y1"] == bar["y2"] == circles[rows.index(row)]["cy"]
    assert [float(line["x1"]) for line in dashed] == ([] if reference is None else [pytest.approx(x(reference), abs=slack)])
    assert title_x == pytest.approx((left + right) / 2, abs=0.1)
    assert top < bottom < title_y < height and left < right < width - 20, "half of the last tick's number fits"
    assert len(rows) * 22 == pytest.approx(bottom - top)
    arrows = [(text, x, y) for text, x, y in texts if text in "‹›"]
    beyond = [("‹", left, row) for row in whole if row.low < low - slack] + [
        ("›", right, row) for row in whole if row.high > high + slack
    ]
    for sign, end, row in beyond:
        assert any(text == sign and at == end and 0 < y - float(circles[rows.index(row)]["cy"]) < 8 for text, at, y in arrows)


@for_each(("sign", "low", "high"), [("‹", -900.0, 8.0), ("›", -8.0, 900.0)])
def test_an_arrow_stands_at_the_end_of_an_axis_that_ends_at_nought(sign: str, low: float, high: float) -> None:
    values = [value if sign == "‹" else -value for value in (0.0, 100.0, 200.0, 300.0)]
    near = [PlotRow("near", value, value - 5 * (value != 0), value + 5 * (value != 0)) for value in values]
    far = PlotRow("far", values[1], values[1] + low, values[1] + high)
    picture = Drawing(ForestPlot("Elo", [*near, far]).svg())
    grid = [float(line["x1"]) for line in picture.all("line") if line.get("opacity") == "0.15"]
    nought = next(x for text, x, _ in picture.texts() if text in ("0", "-0"))
    assert nought == (grid[0] if sign == "‹" else grid[-1])
    assert [x for text, x, _ in picture.texts() if text == sign] == [nought]


def test_a_plot_in_a_page_is_transparent_and_in_the_colour_of_the_text_and_alone_dark_on_white() -> None:
    plot = ForestPlot("Elo", [PlotRow("x", 2.0, 1.0, 3.0)], 2.5)
    alone, inline = plot.svg(), plot.svg(inline=True)
    assert "<rect" in alone and "<rect" not in inline
    assert (
        inline
        == "\n".join(line for line in alone.splitlines() if "<rect" not in line).replace("#1d2125", "currentColor") + "\n"
    )


def test_names_of_wide_letters_get_the_room_that_they_need() -> None:
    def room(name: str) -> float:
        texts = Drawing(ForestPlot("Elo", [PlotRow(name, 1.0)]).svg()).texts()
        return next(x for text, x, _ in texts if text == name)

    assert room("ab" * 10) - room("ab" * 5) == pytest.approx(10 * 0.62 * 12, abs=0.1)
    assert room("ㄱ" * 20) - room("ㄱ" * 10) == pytest.approx(10 * 12, abs=0.1)
    assert room("\u10ff" * 20) - room("\u10ff" * 10) == pytest.approx(10 * 0.62 * 12, abs=0.1)
    assert room("\u1100" * 20) - room("\u1100" * 10) == pytest.approx(10 * 12, abs=0.1)


def test_what_a_row_shows_is_said_with_one_digit_more_than_the_axis() -> None:
    html = ForestPlot(
        "Share", [PlotRow("a", 0.512345, 0.4, 0.6), PlotRow("b", 1.0, series="new"), PlotRow("c", 0.5, 0.4)]
    ).html()
    assert re.findall(r"<title>([^<]*)</title>", html) == ["a: 0.51, from 0.40 to 0.60", "b, new: 1", "c: 0.50"]


def test_the_ninth_series_has_the_colour_of_the_first() -> None:
    html = ForestPlot("t", [PlotRow("a", 1.0, series=str(number)) for number in range(9)]).html()
    assert re.findall(r'<svg class="c(\d)"', html) == [*"012345670"]
    assert html.count("<li>") == 9 and ForestPlot("t", [PlotRow("a", 1.0, series="one")]).html().count("<li>") == 0


def test_rows_of_one_name_stand_under_it_each_series_in_its_colour_and_without_series_each_keeps_its_own() -> None:
    rows = [PlotRow("art", 1.0, series="one"), PlotRow("art", 2.0, series="two"), PlotRow("film", 3.0, series="two")]
    html = ForestPlot("Rise", rows).html()
    assert re.findall(r'<th scope="row(?:group)?"( rowspan="\d")?><bdi>(\w+)', html) == [(' rowspan="2"', "art"), ("", "film")]
    assert re.findall(r'<svg class="(c\d)" role="img"><title>([^:]*):', html) == [
        ("c0", "art, one"), ("c1", "art, two"), ("c1", "film, two")]  # fmt: skip
    assert html.count("<li>") == 2
    assert ForestPlot("Rise", [PlotRow("art", 1.0), PlotRow("art", 2.0)]).html().count("<bdi>art</bdi>") == 2


ANY = st.none() | st.floats() | st.sampled_from([0.0, 1e16, 2.0**53, 5e-324, 1e300, 1.7e308, -1.7e308, math.nan, math.inf])
FINITE = st.floats(allow_nan=False, allow_infinity=False)
COORDINATES = re.compile(r'\b(?:x|y|cx|cy|x1|x2|y1|y2|d|width|height|viewBox)="([^"]*)"')


def all_drawn(picture: str) -> None:
    """Every coordinate is a plain number of at most four digits before the point."""
    texts = [text for text in COORDINATES.findall(picture) if text not in ("100%", "50%")]
    assert not [text for text in texts if re.search(r"nan|inf|e|\d{5}", text)]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(ANY, ANY, ANY), max_size=5), ANY)
def test_a_forest_plot_is_drawn_of_any_numbers(rows, reference) -> None:
    plot = ForestPlot("t", [PlotRow(str(number), *row) for number, row in enumerate(rows)], reference)
    all_drawn(plot.html())
    all_drawn(plot.svg())
    assert all(len(label) < 20 for _, label in _labels(plot.html()))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.dictionaries(st.floats() | st.sampled_from([2.0**53, 1e300]), ANY, max_size=5), min_size=1, max_size=2),
    st.lists(FINITE, max_size=2),
    st.booleans(),
)
def test_a_line_chart_is_drawn_of_any_numbers(lines, thresholds, log) -> None:
    curves = [Curve(str(number), points, band={1.0: (math.nan, 1.0)}) for number, points in enumerate(lines)]
    chart = LineChart("t", curves, levels=[Threshold(value, "warn") for value in thresholds], log=log)
    all_drawn(chart.html())
    all_drawn(chart.svg())


def test_an_axis_of_shares_ends_at_1_and_begins_at_0_though_the_last_digit_is_rounded() -> None:
    for low, high in ((0.2, 1 + 2**-52), (-(2**-60), 0.9)):
        labels = [text for _, text in _labels(ForestPlot("share", [PlotRow("x", 0.5, low, high)]).html())]
        assert float(labels[0]) >= 0 and labels[-1] == "1.00", labels


def test_a_heat_cell_without_a_number_has_no_colour() -> None:
    cells = {"a": HeatCell("–", math.nan), "b": HeatCell("1", math.inf), "c": HeatCell("1", -math.inf)}
    assert re.findall(r"<td[^>]*>", HeatTable("t", ["a", "b", "c"], [("m", cells)]).html())[1:] == [
        "<td>", '<td class="cold5">', '<td class="warm5">'
    ]  # fmt: skip


def test_a_row_without_a_value_keeps_its_name_and_a_plot_without_rows_is_drawn() -> None:
    html = ForestPlot("Elo", [PlotRow("x", None), PlotRow("y", math.nan, 1.0, 2.0)]).html()
    assert "<circle" not in html and "x: no value" in html and "<bdi>y</bdi>" in html
    assert "<table" in ForestPlot("Elo", []).html()


def test_a_value_without_an_interval_among_others_is_hollow_and_alone_it_is_not() -> None:
    some = ForestPlot("Elo", [PlotRow("x", 2.0, 1.0, 3.0), PlotRow("y", 2.5)])
    none = ForestPlot("Elo", [PlotRow("x", 2.0), PlotRow("y", 2.5)])
    assert ["hollow" in circle.get("class", "") for circle in elements(some.html(), "circle")] == [False, True]
    assert "hollow" not in none.html()
    assert (some.svg().count('fill="none" stroke='), none.svg().count('fill="none" stroke=')) == (1, 0)


def test_a_chart_is_saved_by_the_ending_of_its_name(tmp_path: Path) -> None:
    plot = ForestPlot("Elo", [PlotRow("x", 2.0, 1.0, 3.0)])
    plot.save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text() == plot.svg()
    with pytest.raises(InputError, match="unknown ending"):
        plot.save(tmp_path / "plot.gif")
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"]


def test_names_of_strangers_are_text_in_every_chart() -> None:
    charts = [
        ForestPlot(HOSTILE, [PlotRow(HOSTILE, 1.0, series=HOSTILE), PlotRow(HOSTILE, 1.0, series="b")], description=HOSTILE),
        HeatTable(HOSTILE, [HOSTILE], [(HOSTILE, {HOSTILE: HeatCell(HOSTILE, 1.0, HOSTILE)})]),
        LineChart(HOSTILE, [Curve(HOSTILE, {1.0: 2.0, 2.0: 3.0})], [LegendEntry(HOSTILE, 1)], across=HOSTILE),
    ]
    for chart in charts:
        page = render_page("t", lead="", facts=[], sections=[PageSection("s", [Figure(chart, HOSTILE)])])
        assert "<script" not in page and "\u202e" not in page and "\x1b" not in page
        assert r"a\u202eb&lt;script&gt;" in page
    for svg in (charts[0].svg(), charts[2].svg()):
        assert "<script" not in svg and "\u202e" not in svg
        ElementTree.fromstring(svg)


def test_cells_of_a_heat_table_stand_in_their_row_and_column_bluer_the_larger() -> None:
    columns, rows = [f"c{number}" for number in range(4)], [f"r{number}" for number in range(5)]
    cells = {(r, c): HeatCell(f"{r}/{c}", (r * 4 + c - 1) / 8.5 - 1) for r in range(5) for c in range(4) if r != c}
    table = [(name, {columns[c]: cell for (at, c), cell in cells.items() if at == r}) for r, name in enumerate(rows)]
    html = HeatTable("Wins", columns, table).html()
    body = [re.findall(r"<td(?: class=\"(\w+)\")?(?: title=\"[^\"]*\")?>([^<]*)</td>", row) for row in html.split("<tr>")[2:]]
    assert [[text for _, text in row] for row in body] == [
        [cells[r, c].text if (r, c) in cells else "" for c in range(4)] for r in range(5)
    ]
    steps = [int(f"{'-' if shade.startswith('warm') else ''}{shade[-1]}") if shade else 0
             for r, row in enumerate(body) for c, (shade, _) in enumerate(row) if (r, c) in cells]  # fmt: skip
    assert steps == sorted(steps) and steps[0] == -5 and steps[-1] == 5


def luminance(colour: tuple[float, float, float]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_words_of_every_shade_can_be_read_by_day_and_by_night(dark: bool) -> None:
    """A contrast of 4.5 : 1, as WCAG wants it of small words."""
    style = read_text("salon_console", "page.css")

    def colour(name: str) -> tuple[float, float, float]:
        text = re.findall(rf"--{name}: #(\w+)", style)[dark]
        return tuple(int(text[at : at + 2], 16) / 255 for at in (0, 2, 4))

    shades = re.findall(r"\.(?:cold|warm)\d \{ background: color-mix\(in srgb, var\(--(c\d)\) (\d+)%, var\(--paper\)\)", style)
    assert len(shades) == 10
    for base, share in shades:
        mixed = tuple(
            int(share) / 100 * a + (1 - int(share) / 100) * b for a, b in zip(colour(base), colour("paper"), strict=True)
        )
        light, deep = sorted((luminance(mixed), luminance(colour("ink"))), reverse=True)
        assert (light + 0.05) / (deep + 0.05) >= 4.5, (base, share)


POSITIVE = st.floats(1e-3, 1e6)


@settings(max_examples=60)
@given(st.dictionaries(POSITIVE, POSITIVE, min_size=2, max_size=12), st.none() | POSITIVE)
def test_logarithmic_axes_hold_all_points_and_the_goal_where_their_logarithms_are(points, goal) -> None:
    levels = [] if goal is None else [Threshold(goal, "goal")]
    html = LineChart("Width", [Curve("a", points)], levels=levels, across="Matches", log=True).html()
    dots = [(float(circle["cx"]), float(circle["cy"])) for circle in elements(html, "circle")]
    marks = [float(y) for y in re.findall(r'class="level goal" d="M[\d.]+,([\d.]+) H\d', html)]
    assert len(dots) == len(points) and all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in dots)
    pairs = sorted(points.items())
    for axis, values in ((0, [x for x, _ in pairs]), (1, [y for _, y in pairs])):
        logs, places = [math.log(value) for value in values], [dot[axis] for dot in dots]
        low, high = logs.index(min(logs)), logs.index(max(logs))
        if logs[high] - logs[low] > 1e-6:
            slope = (places[high] - places[low]) / (logs[high] - logs[low])
            for log, place in zip(logs, places, strict=True):
                assert place == pytest.approx(places[low] + slope * (log - logs[low]), abs=0.3)
    assert len(marks) <= len(levels)


def test_what_is_not_above_zero_is_left_out_of_a_logarithmic_chart() -> None:
    html = LineChart("Width", [Curve("a", {0.0: 1.0, 1.0: 0.0, 2.0: 3.0, 4.0: 5.0})], log=True).html()
    assert html.count("<circle") == 2


def test_a_band_goes_around_its_line_and_thin_lines_are_said_by_their_mean() -> None:
    line = Curve("mean", {1.0: 0.5, 2.0: 0.7}, band={1.0: (0.4, 0.6), 2.0: (0.6, 0.9)})
    seeds = [Curve("seed", {1.0: 0.1, 2.0: 0.9}, thin=True)]
    chart = LineChart("Share", [*seeds, line], across="Steps")
    html = chart.html()
    [band] = re.findall(r'class="band c0" d="M([^"]*) Z"', html)
    corners = [tuple(map(float, corner.split(","))) for corner in band.split(" L")]
    assert [x for x, _ in corners] == [corners[0][0], corners[1][0], corners[1][0], corners[0][0]]
    dots = [(float(circle["cx"]), float(circle["cy"])) for circle in elements(html, "circle")]
    assert [corners[0][1] < dots[0][1] < corners[3][1], corners[1][1] < dots[1][1] < corners[2][1]] == [True, True]
    assert "seed:" not in html and "mean: 0.5 at steps 1" in html
    assert chart.table().columns == ("Steps", "seed", "mean")


def test_charts_are_pictures_too() -> None:
    pytest.importorskip("resvg_py")
    line = LineChart("Width", [Curve("a", {1.0: 2.0, 9.0: 1.0})], [LegendEntry("a", 0)], across="Matches", log=True)
    for chart in (line, ForestPlot("Elo", [PlotRow("a", 1.0, 0.5, 2.0)])):
        assert ElementTree.fromstring(chart.svg()).tag.endswith("svg")
        assert chart.png().startswith(b"\x89PNG") and len(chart.png()) > 1000


def test_a_png_without_what_draws_it_or_without_a_font_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    resvg = pytest.importorskip("resvg_py")
    plot = ForestPlot("Elo", [PlotRow("a", 1.0)])
    drawn = resvg.svg_to_bytes
    monkeypatch.setattr(resvg, "svg_to_bytes", lambda **options: drawn(skip_system_fonts=True, **options))
    with pytest.raises(InputError, match="needs a font"):
        plot.png()
    monkeypatch.setitem(__import__("sys").modules, "resvg_py", None)
    with pytest.raises(InputError, match="extra 'charts'"):
        plot.png()


STEPS = st.dictionaries(st.integers(-50, 5000).map(float), st.none() | VALUES, min_size=1, max_size=12)


def pairs_of(path: str) -> list[tuple[float, float]]:
    """The corners of a path of straight lines."""
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", path)]


@settings(max_examples=60)
@given(STEPS, st.lists(st.tuples(VALUES, st.sampled_from(["warn", "stop", "goal"])), max_size=2))
def test_lines_levels_and_moments_lie_on_the_axes_that_the_ticks_say(points, levels) -> None:
    known = {x: y for x, y in points.items() if y is not None}
    moments = [Upright(int(step), "resumed", "again") for step in list(points)[:2]]
    chart = LineChart(
        "Loss", [Curve("a", points, 9, 6)], [LegendEntry("a", 1)], [Threshold(*level) for level in levels], moments
    )
    picture = Drawing(chart.svg())
    texts = picture.all("text", class_="tick")
    grid = [pairs_of(path["d"])[0] for path in picture.all("path", class_="grid")]
    y_texts = [(each["text"], float(each["y"]) - 4) for each in texts if float(each["x"]) == 41]
    x_texts = [(each["text"], float(each["x"])) for each in texts if float(each["y"]) == HEIGHT - 9]
    assert grid == [*((46, y) for _, y in y_texts), *((x, HEIGHT - 26) for _, x in x_texts)]
    assert (y_texts[0][1], y_texts[-1][1]) == (HEIGHT - 26, 10)
    low, high = (_plain(y_texts[place][0]) for place in (0, -1))
    first, last = min(points), max(points)
    last = last if last > first else first + max(1.0, abs(first) * 1e-9)

    def x(step: float) -> float:
        return 46 + (WIDTH - 56) * (step - first) / (last - first)

    def y(value: float) -> float:
        return HEIGHT - 26 - (HEIGHT - 36) * (value - low) / (high - low)

    slack = 0.06 + (HEIGHT - 36) * 1e-3
    dots = [(float(dot["cx"]), float(dot["cy"])) for dot in picture.all("circle", class_="dot")]
    assert [dot[0] for dot in dots] == pytest.approx([x(step) for step in sorted(known)], abs=0.06)
    assert [dot[1] for dot in dots] == pytest.approx([y(known[step]) for step in sorted(known)], abs=slack)
    assert all(dot["class"] == "dot c1" for dot in picture.all("circle"))
    drawn = [corner for path in picture.all("path", class_="d2") for corner in pairs_of(path["d"])]
    runs = [list(run) for missing, run in groupby(sorted(points), lambda step: points[step] is None) if not missing]
    assert len(drawn) == sum(len(run) for run in runs if len(run) > 1) and set(drawn) <= set(dots)
    for text, at in x_texts:
        step = first + (at - 46) / (WIDTH - 56) * (last - first)
        assert _plain(text) == pytest.approx(step, abs=0.3 + (abs(last) + last - first) * 1e-3)
    assert [pairs_of(path["d"])[0] for path in picture.all("path", class_="upright")] == [
        (pytest.approx(x(upright.step), abs=0.06), 10) for upright in moments
    ]
    drawn_levels = [
        (path["class"], pairs_of(path["d"])[0]) for path in picture.all("path", class_="level") if " H" in path["d"]
    ]
    expected = [(f"level {kind}", (46, pytest.approx(y(value), abs=slack))) for value, kind in levels]
    assert [each for each in expected if each in drawn_levels] == drawn_levels


def _plain(text: str) -> float:
    return float(text.replace(",", ""))


def test_strips_cover_the_drawing_each_with_its_point_in_it() -> None:
    for count in (1, 2, 7, 120, 121, 400):
        points = {float(step * step): float(step) for step in range(count)}
        picture = Drawing(LineChart("Loss", [Curve("a", points)], across="Matches").svg())
        strips = picture.all("rect", class_="strip")
        assert len(strips) == min(count, 120)
        begins, widths = [float(strip["x"]) for strip in strips], [float(strip["width"]) for strip in strips]
        assert begins[0] == 46 and begins[-1] + widths[-1] == pytest.approx(WIDTH - 10)
        for begin, width, following in zip(begins, widths, begins[1:], strict=False):
            assert begin + width == pytest.approx(following, abs=0.11)
        words = [each.text for each in picture.root.iter("{http://www.w3.org/2000/svg}title")]
        at = [float(text.split("\n")[0].removeprefix("matches ").replace(",", "")) for text in words]
        assert at[0] == 0 and at[-1] == max(points) and at == sorted(at)
        last = max(points) or 1.0
        for begin, width, step in zip(begins, widths, at, strict=True):
            assert begin - 0.11 <= 46 + (WIDTH - 56) * step / last <= begin + width + 0.11
        assert all(strip["y"] == "10" and strip["height"] == str(HEIGHT - 36) for strip in strips)


def test_of_many_points_the_lowest_and_highest_of_every_stretch_are_drawn() -> None:
    few = {float(step): math.sin(step) for step in range(300)}
    assert len(_thinned(few)) == 300
    many = {float(step): math.sin(step / 9) * (10 if step == 777 else 1) for step in range(1234)}
    kept = _thinned(many)
    assert len(kept) <= 300 and kept == sorted(kept) and dict(kept).items() <= many.items()
    size = -(-2 * len(many) // 300)
    for start in range(0, len(many), size):
        stretch = dict(list(many.items())[start : start + size])
        of = {value for step, value in kept if step in stretch}
        assert of == {min(stretch.values()), max(stretch.values())}
    gaps = {float(step): None if step % 2 else 1.0 for step in range(600)}
    assert {value for _, value in _thinned(gaps)} == {1.0} and _thinned({1.0: 1e200, 2.0: -1e200}) == [
        (1.0, 1e150),
        (2.0, -1e150),
    ]


def test_a_ninth_colour_is_the_first_and_a_fifth_dash_the_first_in_lines_dots_bands_and_keys() -> None:
    curve = Curve("a", {1.0: 2.0, 2.0: 3.0}, 9, 5, band={1.0: (1.0, 2.5), 2.0: (2.0, 3.5)})
    picture = Drawing(LineChart("t", [curve], [LegendEntry("a", 9, 5)]).svg())
    classes = [each["class"] for tag in ("path", "circle") for each in picture.all(tag) if "grid" not in each["class"]]
    assert classes == ["line c1 d1", "band c1", "line c1 d1", "dot c1", "dot c1"]


def test_dots_are_drawn_of_forty_points_and_beyond_that_of_lone_ones() -> None:
    for count, dots in ((40, 40), (41, 0)):
        assert LineChart("t", [Curve("a", {float(x): 1.0 for x in range(count)})]).html().count("<circle") == dots
    lone = {float(x): None if x in (10, 12) else 1.0 for x in range(60)}
    picture = Drawing(LineChart("t", [Curve("a", lone)]).svg())
    assert [float(dot["cx"]) for dot in picture.all("circle")] == pytest.approx([46 + (WIDTH - 56) * 11 / 59], abs=0.06)
    assert [path["d"].count("M") for path in picture.all("path", class_="d0")] == [2]


def test_a_table_of_a_chart_has_at_most_forty_rows_with_the_first_and_the_last() -> None:
    for count in (1, 40, 41, 95):
        rows = LineChart("t", [Curve("a", {float(x): x / 7 for x in range(count)}), Curve("b", {0.0: None})]).table("c").rows
        assert len(rows) == min(count, 40) and rows[0] == ["0", "0", "–"] and rows[-1][0] == str(count - 1)
        steps = [int(row[0]) for row in rows]
        assert steps == sorted(set(steps)) and max((b - a for a, b in pairwise(steps)), default=1) <= -(-count // 39)


@for_each(
    ("low", "high", "options", "expected"),
    [
        (0.0, 1.0, {}, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 100.0, {"most": 6}, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
        (0.3, 2.1, {"whole": True}, [0.0, 1.0, 2.0, 3.0]),
        (5.0, 5.0, {}, [4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6]),
        (0.0, 0.0, {}, [-1e-12, -5e-13, 0.0, 5e-13, 1e-12]),
        (-3.0, 11.0, {}, [-5.0, 0.0, 5.0, 10.0, 15.0]),
        (2.0, 2.9, {"whole": True}, [2.0, 3.0]),
    ],
)
def test_ticks_of_a_line_chart(low: float, high: float, options: dict, expected: list[float]) -> None:
    assert ticks(low, high, **options) == expected


@settings(max_examples=100)
@given(VALUES, st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_of_a_line_chart_are_round_and_enclose_the_range(low: float, width: float, most: int) -> None:
    places = ticks(low, low + width, most=most)
    step = places[1] - places[0]
    assert min(abs(step / 10 ** math.floor(math.log10(step) + 1e-9) - factor) for factor in (1, 2, 5)) < 1e-3
    assert places[0] <= low + 1e-6 * step and places[-1] >= low + width - 1e-6 * step
    assert low - places[0] < step * 1.001 and places[-1] - low - width < step * 1.001
    assert width / step <= most * 1.01 and 3 * most * step >= width


@for_each(
    ("low", "high", "expected"),
    [
        (1.0, 10.0, [1, 2, 5, 10]),
        (1.0, 1000.0, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]),
        (1.0, 99_999.0, [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000]),
        (1.0, 1e7, [10.0**power for power in range(8)]),
    ],
)
def test_decades_are_one_two_and_five_while_there_are_few(low: float, high: float, expected: list[float]) -> None:
    assert _decades(low, high) == expected


def test_numbers_of_an_axis_are_all_written_in_one_way() -> None:
    assert _tick_texts([0.0, 0.5, 1.0]) == ["0", "0.5", "1"]
    assert _tick_texts([0.0, 50_000.0]) == ["0", "50,000"]
    assert _tick_texts([0.0, 500_000.0]) == ["0", "5e5"]
    assert _tick_texts([0.0, 0.00015]) == ["0", "1.5e-4"]
    assert _tick_texts([0.0, 500_000.0, 0.12345], across=True) == ["0", "500,000", "0.1235"]


def test_a_line_is_said_by_its_ends_its_extremes_and_its_alarms() -> None:
    lines = [
        Curve("a", {1.0: 3.0, 2.0: 1.0, 3.0: 9.0, 4.0: 2.0}, alarms={2.0: "warn", 3.0: "stop"}),
        Curve("b", {1.0: 7.0, 2.0: None}),
        Curve("c", {1.0: None}),
    ]
    levels = [Threshold(1.5, "warn"), Threshold(1.25, "warn"), Threshold(900.0, "stop"), Threshold(4.0, "goal")]
    picture = Drawing(LineChart("Loss", lines, levels=levels).svg())
    assert picture.root.get("aria-label") == (
        "Loss. a: 3 at step 1, 2 at step 4, between 1 and 9, 2 alarms. b: 7 at step 1. c: no number."
    )
    keys = [text for text, _, _ in picture.texts() if text.startswith(("warns", "stops", "wanted"))]
    assert keys == ["warns at 1.5 and 1.25", "stops at 900 (beyond the chart)", "wanted: 4"]
    words = [each.text for each in picture.root.iter("{http://www.w3.org/2000/svg}title")]
    assert words[1] == "step 2\na: 1 (warn)\nb: –" and len(words) == 4
    alarms = [(path["class"], pairs_of(path["d"])[0][0]) for path in picture.all("path", class_="alarm")]
    assert [kind for kind, _ in alarms] == ["alarm warn", "alarm stop"]
    assert [x for _, x in alarms] == pytest.approx([46 + 284 / 3, 46 + 2 * 284 / 3], abs=0.06)


@for_each(("value", "drawn"), [(27.0, True), (27.5, False), (-17.0, True), (-17.5, False)])
def test_a_stop_is_drawn_within_twice_the_largest_number_of_the_lines(value: float, drawn: bool) -> None:
    chart = LineChart("t", [Curve("a", {1.0: 1.0, 2.0: 9.0})], levels=[Threshold(value, "stop")])
    assert ("(beyond the chart)" not in chart.html()) == drawn
    assert ('class="level stop" d="M46' in chart.html()) == drawn


def test_all_of_a_chart_lies_within_its_picture_below_the_legend() -> None:
    keys = [LegendEntry(f"key {number}", number if number else None, number) for number in range(3)]
    for across in ("Step", "Matches"):
        chart = LineChart("Loss", [Curve("a", {1.0: 2.0, 9.0: 1.0})], keys, [Threshold(1.5, "warn")], across=across)
        picture = Drawing(chart.svg())
        left, top, width, height = picture.box
        assert (left, width, picture.size) == (0, WIDTH, (2 * WIDTH, 2 * height))
        assert (top, height) == (-(20 + 16 * 4), HEIGHT + 84 + (14 if across == "Matches" else 0))
        for text, x, y in picture.texts():
            assert 0 <= x <= WIDTH and top + 10 <= y <= top + height - 3, text
        legend = [y for text, _, y in picture.texts() if text.startswith(("key", "warns"))]
        assert [b - a for a, b in pairwise(legend)] == [16, 16, 16] and legend[-1] < 4
        marks = [path["class"] for path in picture.all("path") if path["d"].endswith(" h20") or "h20" in path["d"]]
        assert marks == ["line own d0", "line c1 d1", "line c2 d2", "level warn"]


def test_an_end_of_a_band_that_is_no_number_leaves_its_point_out() -> None:
    points = {1.0: 1.0, 2.0: 2.0, 3.0: 3.0}
    band = {1.0: (0.5, 1.5), 2.0: (math.nan, 2.5), 3.0: (2.5, math.inf), math.inf: (0.0, 1.0)}
    html = LineChart("t", [Curve("a", points, band=band)]).html()
    [path] = re.findall(r'class="band c0" d="([^"]*)"', html)
    assert len(pairs_of(path)) == 2

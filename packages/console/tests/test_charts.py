"""Charts: what is drawn is what was given, on one axis; names stay names; a missing interval draws no bar."""

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.heat_table import HeatCell, HeatTable
from salon_console.line_chart import HEIGHT, WIDTH, Curve, LegendEntry, LineChart, Threshold
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

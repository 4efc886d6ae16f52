"""Tables in every kind of file: hostile names stay literal, wrong names are refused before anything is written."""

import csv
import html
import json
import math
import re
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import Markup

from salon_console import numbers
from salon_console.file_options import OutputPath, refuse_overwriting
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import listing_cells
from salon_console.options import bootstrap_option, format_option
from salon_console.output import as_json, cells, console_of
from salon_console.shown_result import _NARROWEST, FittedTable, ResultView, ShownResult, _fitting, joined_views, table_text
from salon_console.table_files import CHART_ENDINGS, RESULT_ENDINGS, TABLE_ENDINGS, Table, encoded, write_table
from salon_console.table_rows import BadRow, read_each, table_rows
from salon_console.templates import _shown
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

HOSTILE = "a\\b{c}$d&e#f_g%h~i^j<k>l|m\"n`o'p[q]--–−*!\x1b[31m\u202e"
NUMBERS = frozenset({"Elo", "change"})


def table(name: str = HOSTILE) -> Table:
    return Table(("model", "Elo", "change"), [(name, "1,000", "-80"), ("plain", "–", "+4")], NUMBERS, name)


def unescaped_latex(cell: str) -> str:
    """The text that LaTeX prints for a cell, by the commands that the writer may use."""
    words = {
        "textbackslash": "\\",
        "textasciitilde": "~",
        "textasciicircum": "^",
        "textless": "<",
        "textgreater": ">",
        "textbar": "|",
        "textquotedbl": '"',
        "textasciigrave": "`",
        "textquotesingle": "'",
    }
    sign = re.compile(r"\\([a-z]+)\{\}|\\([{}$&#_%])|\{([\[\]])\}|(-\{\}-)|(\$-\$)|(--)|([^\\{}$&#_%~^<>|\"`'\[\]])", re.S)
    found, place = "", 0
    while place < len(cell):
        match = sign.match(cell, place)
        assert match, f"{cell[place:]!r} is not literal text in LaTeX"
        word, escaped, bracket, hyphens, minus, dash, other = match.groups()
        found += words[word] if word else escaped or bracket or ("--" if hyphens else "−" if minus else "–" if dash else other)
        place = match.end()
    return found


@given(st.text(st.characters(codec="utf-8"), max_size=30))
@example("–")
@example("a--b–c")
def test_a_name_of_any_signs_is_literal_text_in_latex_markdown_and_html(name: str) -> None:
    shown = visible(name)
    made = table(name)
    lines = made.latex().splitlines()
    assert lines[1] == r"\begin{tabular}{lrr}"
    row = lines[lines.index(r"\midrule") + 1].removesuffix(r" \\")
    first = row[: row.rindex(" & ", 0, row.rindex(" & "))]
    if "---" not in shown:  # a third hyphen in a row is written by the rule for the first two
        assert unescaped_latex(first) == shown
    row = made.markdown().splitlines()[2]
    cells = re.split(r"(?<!\\)(?:\\\\)* \| ", row.removeprefix("| "))
    assert re.sub(r"\\(.)", r"\1", row.removeprefix("| ")).startswith(shown)
    assert len(cells) >= 3
    assert f"<td>{html.escape(shown)}</td>" in made.html()
    assert "<script" not in made.page().replace(html.escape(shown), "")


def test_every_ending_of_a_table_and_its_chart_is_written_whole(tmp_path: Path) -> None:
    values = [{"model": HOSTILE, "Elo": 1000.25, "change": -80}, {"model": "plain", "Elo": None, "change": 4}]
    chart = ForestPlot("Elo", [PlotRow(HOSTILE, 1000.0, 990.0, 1010.0), PlotRow("plain", None)], 1000.0)
    view = ResultView("made", table(), chart)
    for ending in RESULT_ENDINGS:
        write_table(tmp_path / f"board{ending}", view.table, values, made=view.makers())
    assert {path.suffix for path in tmp_path.iterdir()} == {*TABLE_ENDINGS, *CHART_ENDINGS}
    for read in (pl.read_csv, pl.read_json, pl.read_ndjson, pl.read_parquet):
        ending = {"read_ndjson": "jsonl"}.get(read.__name__, read.__name__.removeprefix("read_"))
        assert read(tmp_path / f"board.{ending}").to_dicts() == values
    assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "board.svg").read_text("utf-8")
    assert f">{html.escape(visible(HOSTILE))}</text>" in svg
    assert svg.count("<circle") == 1


def test_without_values_a_file_has_the_cells(tmp_path: Path) -> None:
    write_table(tmp_path / "cells.csv", table("a"))
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["model", "Elo", "change"], ["a", "1,000", "-80"], ["plain", "–", "+4"]]
    write_table(tmp_path / "cells.json", table("a"))
    assert json.loads((tmp_path / "cells.json").read_text("utf-8"))[0]["Elo"] == "1,000"


def test_a_wrong_name_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for name in ("board.pdf", "board", "board.svg", "board.csv.gz"):
        with pytest.raises(InputError, match=r"\(allowed: \.csv, \.json, \.jsonl, \.parquet, \.md, \.tex, \.html\)"):
            write_table(tmp_path / name, table())
    with pytest.raises(InputError, match="no such folder"):
        write_table(tmp_path / "none" / "board.csv", table())
    old = tmp_path / "board.tex"
    old.write_text("old")

    def broken() -> Table:
        raise InputError("no numbers")

    with pytest.raises(InputError, match="no numbers"):
        write_table(old, broken)
    assert [path.name for path in tmp_path.iterdir()] == ["board.tex"]
    assert old.read_text() == "old"


def pieces_in(text: str, name: str) -> str:
    """What is left of a name after its wrapped pieces were taken from the lines of a text, in order; empty: all is there."""
    left = name
    for line in text.splitlines():
        longest = next((size for size in range(len(left), 0, -1) if left[:size] in line), 0)
        left = left[longest:]
    return left


@given(
    st.lists(st.sampled_from(["word", "number"]), min_size=0, max_size=9),
    st.integers(40, 120),
    st.integers(1, 14),
)
def test_a_table_of_any_columns_keeps_its_names_whole_and_fits(kinds: list[str], width: int, digits: int) -> None:
    name = "".join(chr(0x61 + place % 26) for place in range(60))
    columns = ("rank", "model", *(f"c{place}" for place in range(len(kinds))))
    cells = [("9" * digits if kind == "number" else "some words here") for kind in kinds]
    numeric = frozenset({"rank", *(columns[place + 2] for place, kind in enumerate(kinds) if kind == "number")})
    text = table_text(Table(columns, [("1", name, *cells)], numeric), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert pieces_in(text, name) == ""
    left_out = re.findall(r"c\d", text.replace("\n", " ").partition("Left out")[2])
    shown = text.partition("Left out")[0]
    assert all(("9" * digits in shown) for place, kind in enumerate(kinds) if kind == "number" and f"c{place}" not in left_out)
    assert {*left_out} | {column for column in columns if f" {column} " in f"{shown.splitlines()[0]} "} == {*columns} - {""}


class Board(ShownResult):
    def __init__(self, rows: int) -> None:
        self.rows = rows

    def view(self) -> ResultView:
        names = [f"{HOSTILE}{place}" for place in range(self.rows)]
        chart = ForestPlot("Elo", [PlotRow(name, 1.0, 0.5, 1.5) for name in names])
        return ResultView("How it was made.", Table(("model", "Elo"), [(name, "1") for name in names]), chart, ("A warning.",))


def test_a_result_prints_as_a_table_and_is_html_with_its_chart() -> None:
    text, page = str(Board(2)), Board(2)._repr_html_()
    assert text.splitlines()[0] == "How it was made."
    assert text.splitlines()[-1] == "A warning."
    assert pieces_in(text, visible(HOSTILE) + "0") == ""
    assert page.count("<svg") == page.count("<table") == 1
    assert page.count(html.escape(visible(HOSTILE))) == 4
    assert "currentColor" in page
    assert Board(50)._repr_html_().count("<circle") == 40
    assert "10 more rows are not shown." in Board(50)._repr_html_()


def test_several_views_become_one_table_with_their_names() -> None:
    whole = joined_views([Board(1).view(), Board(2).view()], ["one", "two"], "board")
    assert whole.table.columns == ("board", "model", "Elo")
    assert [row[0] for row in whole.table.rows] == ["one", "two", "two"]
    assert whole.chart is not None
    assert whole.chart.rows[2].name == f"two: {HOSTILE}1"
    titled = [ResultView("", Table(("a",), [("1",)]), ForestPlot(title, [PlotRow("x", 1.0)], 0.5)) for title in ("Elo", "Rise")]
    joined = joined_views(titled, ["one", "two"], "of").chart
    assert joined is not None and (joined.title, joined.reference) == ("Elo", 0.5)
    assert [row.name for row in joined.rows] == ["one: x", "two: x"]
    later = joined_views([ResultView("", titled[0].table), titled[1]], ["one", "two"], "of").chart
    assert later is not None and (later.title, [row.name for row in later.rows]) == ("Rise", ["two: x"])


def test_the_chart_of_nothing_and_of_equal_values_can_be_drawn() -> None:
    assert "nan" not in ForestPlot("share", [PlotRow("a", 1.0)], float("nan")).svg()
    for rows in ([], [PlotRow("a", None)], [PlotRow("a", 2.0), PlotRow("b", 2.0)], [PlotRow("a", float("nan"), 0.0, 1e9)]):
        assert ForestPlot("share", rows).svg().startswith("<svg")


def test_a_fitted_table_says_how_to_get_what_it_left_out() -> None:
    from io import StringIO

    from rich.console import Console

    wide = Table(tuple("abcdef"), [["x" * 20] * 6])
    out = StringIO()
    Console(file=out, width=60).print(FittedTable(wide, "--output FILE writes all."))
    assert "Left out, too wide for 60 characters: d, e, f. --output FILE writes all." in " ".join(out.getvalue().split())


def test_the_numbers_of_an_axis_have_the_digits_they_need() -> None:
    """Whatever the range, the labels tell all ticks apart and read as the ticks, and one digit less would not."""
    for size in range(-4, 6):
        for factor in (0.3, 0.8, 1.0, 1.7, 3.1, 7.9):
            chart = ForestPlot("Elo", [PlotRow("a", 0.0, None, None), PlotRow("b", factor * 10.0**size)]).svg()
            labels = [float(found.replace(",", "")) for found in re.findall(r'middle">(-?[\d,.]+)<', chart)]
            digits = max(len(found.partition(".")[2]) for found in re.findall(r'middle">(-?[\d,.]+)<', chart))
            steps = [after - before for before, after in pairwise(labels)]
            assert min(steps) > 0 and max(steps) - min(steps) < 1e-6 * max(steps), labels
            assert digits == 0 or any(round(label, digits - 1) != label for label in labels), labels


def places(svg: str) -> list[tuple[float, float]]:
    """Value and x of each tick of an axis."""
    found = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">(-?[\d,.]+)<', svg)
    return [(float(value.replace(",", "")), float(x)) for x, value in found]


@given(st.lists(st.integers(-50, 50), max_size=5), st.integers(-50, 50), st.integers(0, 12))
def test_points_and_bars_lie_where_the_axis_says_and_names_end_before_it(
    values: list[int], reference: int, length: int
) -> None:
    rows = [PlotRow("n" * length, float(value), value - 3.0, value + 4.0) for value in values]
    svg = ForestPlot("Elo", rows, float(reference)).svg()
    ticks = places(svg)
    (least, start), (most, end) = ticks[0], ticks[-1]
    assert start == pytest.approx(2 * 12 + (0.62 * 12 * length if rows else 0), abs=0.06)  # a margin on both sides of names
    assert end - start == pytest.approx(360, abs=0.11)
    assert min([value - 3 for value in values] + [reference]) >= least
    assert max([value + 4 for value in values] + [reference]) <= most
    step = (most - least) / (len(ticks) - 1)
    assert any(math.isclose(step / 10 ** math.floor(math.log10(step) + 1e-9), good) for good in (1, 2, 2.5, 5)), step

    height = float(re.findall(r'height="([\d.]+)"', svg)[0])
    assert min(lines := [float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"', svg)]) > 0 and max(lines) + 3 < height

    def x(value: float) -> float:
        return start + (end - start) * (value - least) / (most - least)

    def near(found: list[str], wanted: list[float]) -> bool:
        return [float(each) for each in found] == pytest.approx([x(each) for each in wanted], abs=0.2)

    assert all(place == pytest.approx(x(value), abs=0.2) for value, place in ticks)
    assert near(re.findall(r'cx="([\d.]+)"', svg), values)
    bars = re.findall(r'<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)" [^>]*stroke-linecap', svg)
    assert near([bar[0] for bar in bars], [value - 3 for value in values])
    assert near([bar[1] for bar in bars], [value + 4 for value in values])
    assert near(re.findall(r'<line x1="([\d.]+)" [^>]*stroke-dasharray', svg), [reference])
    assert all(float(place) == pytest.approx(start - 12, abs=0.06) for place in re.findall(r'x="([\d.]+)"[^>]*"end"', svg))


def test_a_chart_of_nothing_has_an_axis_from_0_to_1() -> None:
    ticks = places(ForestPlot("share", []).svg())
    assert (ticks[0][0], ticks[-1][0]) == (0.0, 1.0)


def test_values_that_json_has_no_form_for_are_texts() -> None:
    noon = datetime(2026, 1, 2, 12, 30, tzinfo=UTC)
    row = {"at": noon, "day": date(2026, 1, 2), "price": Decimal("1.50"), "bytes": b"ab", "n": 1, "share": 0.5, "is": True}
    for rows in ([row], [row | {"list": [1, 2]}]):
        (read,) = json.loads(encoded(rows, "json"))
        assert datetime.fromisoformat(read["at"]) == noon and "T" in read["at"]
        assert date.fromisoformat(read["day"]) == row["day"]
        assert Decimal(str(read["price"])) == row["price"] and isinstance(read["bytes"], str)
        assert (read["n"], read["share"], read["is"]) == (1, 0.5, True)


WRITERS = [numbers.rating, numbers.points, numbers.change, numbers.share, numbers.count, numbers.correlation, numbers.mark]


@given(st.integers(-99_999, 99_999), st.integers(-99_999, 99_999))
def test_numbers_are_written_so_that_they_can_be_read_back(whole: int, hundredths: int) -> None:
    value = hundredths / 100

    def read(text: str) -> float:
        return float(text.replace(",", "").removesuffix("%"))

    assert read(numbers.rating(value)) == pytest.approx(value, abs=0.501)
    assert read(numbers.points(value)) == pytest.approx(value, abs=0.0501)
    assert read(numbers.share(value)) == pytest.approx(100 * value, abs=0.0501)
    assert read(numbers.correlation(value)) == read(numbers.mark(value)) == value
    assert numbers.correlation(value)[0] == ("-" if value < 0 else "+")
    assert read(numbers.count(whole)) == read(numbers.count(float(whole))) == whole and "." not in numbers.count(float(whole))
    assert numbers.change(whole) == "=" if whole == 0 else read(numbers.change(whole)) == whole
    low, high = sorted((whole, hundredths))
    assert numbers.interval(low, high) == f"{numbers.rating(low)} – {numbers.rating(high)}"
    ends = {numbers.interval(None, high), numbers.interval(low, None), numbers.interval(None, None)}
    assert ends == {write(None) for write in WRITERS} == {"–"}
    assert numbers.counted(abs(whole), "box", "es") == f"{abs(whole):,} box{'' if abs(whole) == 1 else 'es'}"


def test_an_output_among_the_tables_of_a_folder_that_is_read_is_refused(tmp_path: Path) -> None:
    for name in ("read/votes.csv", "other/votes.csv", "outer/inner/votes.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("a")

    def refused(output: str, read: str) -> bool:
        try:
            refuse_overwriting({"--output": tmp_path / output}, {"INPUT": tmp_path / read})
        except InputError:
            return True
        return False

    assert refused("read/votes.csv", "read/votes.csv") and refused("read/../read/votes.csv", "read/votes.csv")
    assert refused("read/new.csv", "read") and refused("read/new.parquet", "read") and not refused("read/new.svg", "read")
    assert not refused("other/new.csv", "read") and not refused("new.csv", "read") and not refused("read/new.csv", "other")
    assert not refused("read/deeper/new.csv", "read")  # folders within it are read only where it has no table itself
    assert refused("outer/inner/new.csv", "outer") and refused("outer/inner/votes.csv", "outer")
    for output, words in (("read/votes.csv", "the same file"), ("read/new.csv", "would become a file of INPUT")):
        with pytest.raises(InputError, match=words):
            refuse_overwriting({"--output": tmp_path / output}, {"INPUT": tmp_path / "read"})


def test_what_is_printed_has_no_colours_of_its_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    for stderr in (False, True):
        console_of(80, stderr=stderr).print("3 rows of 'a' at http://localhost")
    found = capsys.readouterr()
    assert found.out == found.err == "3 rows of 'a' at http://localhost\n"


def test_json_is_written_as_it_is_read_also_with_lists(tmp_path: Path) -> None:
    for rows in ([{"model": "flüx – 猫"}], [{"model": "flüx – 猫", "tags": ["é"]}]):
        assert "flüx – 猫" in encoded(rows, "json").decode() and json.loads(encoded(rows, "json")) == rows


@pytest.mark.parametrize("rows", [1, 39, 40, 41, 1041])
def test_a_notebook_shows_forty_rows_and_says_how_many_more_there_are(rows: int) -> None:
    shown = Board(rows)._repr_html_()
    assert shown.count("<tr>") == 1 + min(rows, 40) and shown.count("<circle") == min(rows, 40)
    assert ("more rows are not shown" in shown) is (rows > 40)
    assert rows <= 40 or f"<p>{rows - 40:,} more rows are not shown.</p>" in shown


@pytest.mark.parametrize(
    ("largest", "digits"), [(0.0, 4), (1.0, 4), (-1.0, 4), (1.01, 2), (-9.5, 2), (10.0, 2), (10.1, 1), (-99.0, 1)]
)
def test_the_largest_number_decides_how_many_digits_a_table_has(largest: float, digits: int) -> None:
    (first, second) = cells([{"n": 1, "value": largest, "missing": None}, {"n": 2000, "value": 0.5, "missing": 0.25}])
    assert (first[0], second[0], first[2]) == ("1", "2000", "–")
    for text, value in ((first[1], largest), (second[1], 0.5), (second[2], 0.25)):
        assert text == f"{value:.{digits}f}"


def test_a_folder_is_no_output_and_a_format_says_its_default(tmp_path: Path) -> None:
    @click.command()
    @click.option("--output", type=OutputPath())
    @format_option("table", "json")
    def made(output: Path | None, form: str) -> None:
        click.echo(f"{form} {output}")

    run = CliRunner().invoke
    assert run(made, ["--output", str(tmp_path)]).exit_code == 2
    assert run(made, ["--output", str(tmp_path / "a.csv")]).output == f"table {tmp_path / 'a.csv'}\n"
    assert "default: table" in run(made, ["--help"]).output


def test_a_template_shows_what_would_act_unseen_and_leaves_numbers_and_markup_alone() -> None:
    shown = [_shown(value) for value in ("a\u202eb\nc", Markup("<b>\u202e</b>"), 7, None)]
    assert shown == ["a\\u202eb\nc", "<b>\u202e</b>", 7, None] and isinstance(shown[1], Markup)


def test_the_last_numbers_are_left_out_first_then_the_last_words_and_only_where_they_do_not_fit() -> None:
    widths, numeric = [5, 6, 7, 8, 9], [False, True, False, True, True]
    whole = sum(widths) + 2 * len(widths)
    assert _fitting(widths, numeric, whole) == [0, 1, 2, 3, 4]
    assert _fitting(widths, numeric, whole - 1) == [0, 1, 2, 3]
    assert _fitting(widths, numeric, whole - 11 - 1) == [0, 1, 2]
    assert _fitting(widths, numeric, whole - 11 - 10 - 1) == _fitting(widths, numeric, 0) == [0, 1]
    assert _fitting(widths, [True, True, False, True, True], 0) == [0, 1, 2, 3], "the words and one number beside them"
    assert _fitting(widths, [True] * 5, 0) == [0, 1]


def test_words_wrap_to_sixteen_characters_before_a_column_is_left_out() -> None:
    table = Table(("name", "a", "b"), [("x" * 40, "1", "2")], frozenset({"a", "b"}))
    narrowest = min(width for width in range(10, 60) if "Left out" not in table_text(table, width))
    assert narrowest == _NARROWEST + 1 + 1 + 3 * 2
    assert "".join(line.split()[0] for line in table_text(table, narrowest).splitlines()[1:]) == "x" * 40


def test_a_listing_is_said_in_words() -> None:
    row = {"matches_needed": None, "listed": True, "width": 18.234, "match_effect": 0.05}
    assert listing_cells(row) == ["18.2", "0.1", "yes"]
    assert listing_cells({**row, "listed": False}) == ["18.2", "0.1", "no"]
    assert listing_cells({**row, "listed": False, "matches_needed": 1}) == ["18.2", "0.1", "no: about 1 more match"]
    assert listing_cells({**row, "listed": False, "matches_needed": 1200}) == ["18.2", "0.1", "no: about 1,200 more matches"]
    assert listing_cells({**row, "listed": None}) == ["–", "–", "baseline"]


@pytest.mark.parametrize(
    ("terminal", "columns", "width"), [(False, "", 77), (False, "50", 50), (False, "wide", 77), (True, "50", 50)]
)
def test_a_console_is_as_wide_as_the_terminal_or_columns_say_and_else_as_asked(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert console_of(77).width == width


def test_json_holds_every_letter_as_it_is_but_for_half_a_letter() -> None:
    assert as_json({"é": "猫 \ud800"}) == '{\n  "é": "猫 \\ud800"\n}'
    assert as_json({"at": datetime(2026, 1, 2, tzinfo=UTC), "path": Path("a/b")}) == (
        '{\n  "at": "2026-01-02T00:00:00+00:00",\n  "path": "a/b"\n}'
    )


def test_a_header_with_a_column_twice_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    for rows in ("a,b,c\n", '"a"b,c,d\n', ""):
        path.write_text(f"id,prompt,prompt\n{rows}")
        with pytest.raises(InputError, match=r"prompts\.csv, line 1, column 'prompt': the header has the column twice"):
            list(table_rows(path))
    path.write_text("id,,\na,,\n")
    assert [row.text("id") for row in table_rows(path)] == ["a"]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_row_whose_bytes_are_not_utf8_costs_itself_alone(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    rows = (b"caf\xc3\xa9", b"caf\xe9 au lait", b"plain")
    if ending == "csv":
        path.write_bytes(b"name\n" + b"".join(row + b"\n" for row in rows))
    else:
        path.write_bytes(b"".join(b'{"name": "' + row + b'"}\n' for row in rows))
    first, bad, last = read_each(path, lambda row: row.text("name"))
    assert (first, last) == ((1, "café"), (3, "plain"))
    assert (
        isinstance(bad, BadRow) and bad.number == 2 and "is not UTF-8" in str(bad.error) and bad.error.value == b"\xe9 au lai"
    )


def test_the_number_of_resamples_is_a_thousand_and_may_be_nought() -> None:
    @click.command()
    @bootstrap_option()
    def command(replicates: int) -> None:
        click.echo(replicates)

    assert [CliRunner().invoke(command, words).output for words in ([], ["--bootstrap", "0"])] == ["1000\n", "0\n"]
    assert CliRunner().invoke(command, ["--bootstrap", "-1"]).exit_code == 2

"""Tables in every kind of file: hostile names stay literal, wrong names are refused before anything is written."""

import csv
import html
import json
import re
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.shown_result import FittedTable, ResultView, ShownResult, joined_views, table_text
from salon_console.table_files import CHART_ENDINGS, RESULT_ENDINGS, TABLE_ENDINGS, Table, write_table
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
    whole = joined_views([Board(1).view(), Board(2).view()], ["one", "two"])
    assert whole.table.columns == ("result", "model", "Elo")
    assert [row[0] for row in whole.table.rows] == ["one", "two", "two"]
    assert whole.chart is not None
    assert whole.chart.rows[2].name == f"two: {HOSTILE}1"


def test_the_chart_of_nothing_and_of_equal_values_can_be_drawn() -> None:
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

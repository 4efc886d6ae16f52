"""The page: text of strangers stays text, nothing is fetched, every block is drawn."""

import base64
import hashlib
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.page import Code, Figure, Fragment, PageSection, Table, render_page

CHART = ForestPlot("Elo", [PlotRow("</script><script>alert(1)</script>", 1.0)])


def page(*blocks: object, title: str = "T") -> str:
    return render_page(title, lead="L", facts=[("Seed", "0")], sections=[PageSection("S", blocks)])


@settings(max_examples=60)
@given(st.text())
def test_any_text_is_escaped_wherever_it_stands(text: str) -> None:
    hostile = f"<img src=x onerror=alert(1)>{text}"
    html = render_page(
        hostile,
        lead=hostile,
        facts=[(hostile, hostile)],
        sections=[PageSection(hostile, (hostile, Code(hostile), Table((hostile,), [[hostile]], caption=hostile)))],
    )
    assert "<img" not in html


def test_the_page_forbids_itself_the_network() -> None:
    html = page(Figure(CHART, "caption"))
    assert "default-src 'none'" in html
    assert not re.search(r'(src|href)="(https?:)?//', html)


def test_a_page_of_text_tables_and_charts_carries_no_script() -> None:
    html = page("Only text.", Table(("A",), [["1"]]), Figure(CHART, "caption"))
    assert "<script" not in html and "script-src 'none';" in html


def test_numbers_are_set_flush_right_and_words_are_not() -> None:
    html = page(Table(("Model", "Elo"), [["x", "1,000"]], frozenset({"Elo"})))
    assert '<td class="number">1,000</td>' in html
    assert "<td>x</td>" in html


def test_each_figure_has_its_chart_and_its_numbers() -> None:
    numbers = Table(("A",), [["1"]], caption="numbers")
    html = page(Figure(CHART, "first", numbers), Figure(CHART, "second"))
    assert html.count('class="chart"') == 2
    assert html.count("<summary>") == 1


def test_the_same_page_is_written_twice_to_the_byte() -> None:
    assert page(Figure(CHART, "caption")) == page(Figure(CHART, "caption"))


def test_a_fragment_brings_its_style_and_its_script_once_and_no_other_script_may_run() -> None:
    piece = Fragment("<i>made</i>", style="i { color: red; }", script="let made = 1;")
    html = page(piece, piece)
    assert html.count("<i>made</i>") == 2
    assert html.count("i { color: red; }") == 1
    assert html.count('<script type="module">let made = 1;</script>') == 1
    digest = base64.b64encode(hashlib.sha256(b"let made = 1;").digest()).decode()
    assert f"script-src 'sha256-{digest}';" in html
    assert "unsafe-eval" not in html

"""The page of runs: the pivot of groups and numbers, charts, and the partial mean that must be asked for."""

import html
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from verdict_store import VerdictStore

from salon_bench.report.run_page import run_page
from salon_bench.runs.view import RunView, run_numbers
from salon_console import main
from salon_judges.formats.prism_tracks import Track
from salon_taxonomy.errors import InputError


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of PRISM-Bench; the first has no score in the last track."""
    made = VerdictStore(tmp_path_factory.mktemp("prism"))
    for number, (name, tracks) in enumerate((("ours", [*Track][:-1]), ("other", [*Track]))):
        values = {
            (track, f"{track}-{prompt}", axis): 4.0 + prompt + number
            for track in tracks
            for prompt in range(3)
            for axis in ("alignment", "aesthetic")
        }
        made.run(f"run-{name}", values, subject=name, suite="prism")
    return made.path


def rows_of(page: str, caption: str) -> list[list[str]]:
    table = next(each for each in re.findall("<table.*?</table>", page, re.S) if f"<caption>{caption}</caption>" in each)
    return [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", table, re.S)[1:]]


def test_groups_are_rows_and_numbers_are_columns(store: Path) -> None:
    rows = rows_of(run_page(store, ["run-other"]), "Groups and numbers")
    assert [row[0] for row in rows] == [*Track, "all"]
    assert {tuple(row[1:]) for row in rows} == {("60.00", "60.00", "60.00")}


def test_every_number_with_an_interval_has_a_chart(store: Path) -> None:
    page = run_page(store, ["run-ours", "run-other"])
    assert page.count('class="forest"') == 3


def test_the_numbers_of_runs_print_and_are_files(store: Path) -> None:
    (summary,) = RunView(store, "run-other").summaries()
    assert "alignment" in str(summary)
    assert summary._repr_html_().count("<svg") == 1
    view, values = run_numbers(store, ["run-ours", "run-other"])
    assert view.table.columns[:3] == ("model", "number", "of")
    assert values["model"].unique().sort().to_list() == ["other", "ours"]
    with pytest.raises(InputError, match="name a run"):
        run_numbers(store, [])


def test_a_card_holds_its_scores_for_the_filters_of_the_page_and_leaves_missing_ones_out(tmp_path: Path) -> None:
    values = {("t", "p0", "d"): 4.0, ("t", "p0", "e"): "timeout", ("t", "p1", "d"): 2.5, ("t", "p1", "e"): 1.0}
    made = VerdictStore(tmp_path)
    run = made.run("run", values)
    result = CliRunner().invoke(
        main, ["results", "report", run, "--store", str(made.path), "--output", str(tmp_path / "p.html")]
    )
    assert result.exit_code == 0, result.output
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    held = {html.unescape(text) for text in re.findall(r'data-scores="([^"]*)"', page)}
    assert {frozenset(map(tuple, json.loads(text))) for text in held} == {
        frozenset({("d", 4.0)}), frozenset({("d", 2.5), ("e", 1.0)})}  # fmt: skip
    reasons = [json.loads(html.unescape(text)) for text in re.findall(r'data-reasons="([^"]*)"', page)]
    assert sorted(map(len, reasons)) == [0, 1]

"""The page of the ledger: small, under one policy, and its filters and its models work by keyboard in a browser."""

import json
import math
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, ConsoleMessage
from polars.testing import assert_frame_equal

from salon_console import main, numbers
from salon_published.ledger import compared_scores, ledger_board, ledger_scores, sources
from salon_published.ledger_consistency import (
    agreement_of_judges,
    agreement_of_sources,
    lead_of_self_reports,
    separation_of_best,
)
from salon_published.ledger_page import _PEOPLE, STATEMENTS, _by_capability, _embedded, ledger_page
from salon_published.manifest import GenerationTask
from salon_ranking.uncertainty.student import two_sided_quantile


@pytest.fixture(scope="module")
def page_text() -> str:
    return ledger_page()


def test_the_page_is_small_and_holds_every_number(page_text: str) -> None:
    assert len(page_text.encode()) < 1_500_000
    (content,) = re.findall(r'<script type="application/json" class="content">(.*?)</script>', page_text, re.DOTALL)
    data = json.loads(content)
    scores = ledger_scores()
    assert len(data["cells"]) == scores.height
    model, table, benchmark, _, printed, reported, _ = data["cells"][-1]
    last = scores.row(-1, named=True)
    assert (benchmark, printed, reported) == (last["benchmark"], last["printed"], last["reported"])
    assert data["sources"][data["tables"][table][0]][1].startswith("https://")
    assert data["models"][model][0]
    assert {board["task"] for board in data["boards"]} == set(scores["task"])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """What each query beside a section of the page gives over the two files that its last section makes."""
    folder = tmp_path_factory.mktemp("files")
    for words in (["scores", "--output", "scores.parquet"], ["board", "text-to-image", "--output", "board.parquet"]):
        done = CliRunner().invoke(main, ["papers", *words[:-1], str(folder / words[-1])])
        assert done.exit_code == 0, done.output
    with duckdb.connect() as connection:
        connection.execute(f"SET file_search_path = '{folder}'")
        return {name: connection.sql(statement).pl() for name, statement in STATEMENTS.items()}


def tables_under(page_text: str, heading: str) -> list[list[str]]:
    """The rows of the tables of one section."""
    section = page_text.partition(f">{heading}</h2>")[2].partition("<h2")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", section, re.DOTALL)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows if "<td" in row]


def same_means_and_intervals(
    asked: pl.DataFrame, known: pl.DataFrame, keys: list[str], within: tuple[float, float] = (-math.inf, math.inf)
) -> None:
    """Compare what a query gives, with Student's t times its error, with a table of the page."""
    rows = asked.join(known, on=keys, suffix="_known")
    assert rows.height == asked.height == known.height
    for row in rows.iter_rows(named=True):
        assert row["mean"] == pytest.approx(row["mean_known"])
        if row["ci_low"] is not None:
            reach = two_sided_quantile(0.05, row["degrees"]) * row["error"]
            ends = (max(row["mean"] - reach, within[0]), min(row["mean"] + reach, within[1]))
            assert ends == pytest.approx((row["ci_low"], row["ci_high"]))


def test_every_section_can_be_rebuilt_by_the_query_beside_it(page_text: str, answers: dict[str, pl.DataFrame]) -> None:
    board = ledger_board(compared_scores("text-to-image")).table
    assert answers["leaders"]["rating"].to_list() == pytest.approx(board["rating"].drop_nulls().to_list())
    assert answers["model"].height == ledger_scores().filter(model="qwen-image").height > 100
    saturation = [row[5] for row in tables_under(page_text, "Which benchmarks still separate the best?")]
    assert saturation == [numbers.share(gap) for gap in answers["saturation"]["gap"]] and len(saturation) > 10
    gaps = separation_of_best(ledger_scores())
    columns = ["benchmark", "track", "task", "models", "best", "tenth", "gap", "noise", "pairs"]
    asked = answers["saturation"].with_columns(pl.col("pairs").fill_null(0))
    assert_frame_equal(asked.select(columns), gaps.select(columns), check_dtypes=False, check_row_order=False)
    for name, by in (("sources agree", "benchmark"), ("kinds agree", "kinds")):
        agreed = agreement_of_sources(ledger_scores(), by=by).rename({"equal": "mean"})
        same_means_and_intervals(answers[name].rename({"equal": "mean"}), agreed, ["task", by], (0.0, 1.0))
    lead = lead_of_self_reports(ledger_scores()).rename({"lead": "mean"})
    same_means_and_intervals(answers["self-reports"].rename({"lead": "mean"}), lead, ["task"])
    judges = agreement_of_judges(ledger_scores()).rename({"other_judge": "other"})
    keys = ["task", "benchmark", "judge", "other"]
    same_means_and_intervals(
        answers["judges agree"].rename({"difference": "mean"}), judges.rename({"difference": "mean"}), keys
    )
    orders = judges.drop("ci_low", "ci_high").rename({"spearman": "mean", "spearman_low": "ci_low", "spearman_high": "ci_high"})
    same_means_and_intervals(answers["order of judges"].rename({"spearman": "mean"}), orders, keys, (-1.0, 1.0))
    facts = answers["facts"].row(0, named=True)
    top = page_text.partition("<h2")[0]
    assert all(f"{facts[name]:,}" in top for name in ("numbers", "generators", "sources", "self", "quoted"))
    assert str(facts["newest"]) in top
    listed = {row[0]: row[5:7] for row in tables_under(page_text, "Sources")}
    assert sorted(listed.values()) == sorted(
        [str(n), str(m)] for n, m in answers["sources"].select("numbers", "models").iter_rows()
    )
    hints = dict(re.findall(r"([^\">]+ and [^\">]+): ρ = (-?[\d.]+) over", page_text))
    known = {f"{one} and {other}": rho for one, other, _, rho in answers["agreement"].iter_rows()}
    shared = [(rho, known.get(pair, known.get(" and ".join(reversed(pair.split(" and ")))))) for pair, rho in hints.items()]
    compared = [(printed, rho) for printed, rho in shared if rho is not None]
    assert len(compared) > 30 and all(f"{rho:.2f}" == printed for printed, rho in compared)
    best = dict(answers["progress"].group_by("weights").agg(pl.col("best").max()).iter_rows())
    known_rows = board.filter(pl.col("ci_low").is_not_null()).select("model", "rating")
    facts = ledger_scores().select("model", "weights", "released").unique().drop_nulls()
    assert best == dict(known_rows.join(facts, on="model").group_by("weights").agg(pl.col("rating").max()).iter_rows())


def test_boards_that_are_derived_together_are_those_that_are_derived_alone() -> None:
    boards = dict(_by_capability())
    assert len(boards) > 30
    alone = {
        ("text-to-image", "counting"): compared_scores("text-to-image", capability="counting"),
        ("edit", "identity"): compared_scores("edit", capability="identity"),
        ("text-to-video", _PEOPLE): compared_scores("text-to-video", people=True),
    }
    for key, scores in alone.items():
        assert_frame_equal(boards[key].table, ledger_board(scores).table)
        assert ", ".join(key) in boards[key].header


def test_columns_of_numbers_and_no_others_are_flush_right(page_text: str) -> None:
    whole = re.findall(r'<table class="stack".*?</table>', page_text, re.DOTALL)
    assert len(whole) >= 3
    for table in whole:
        cells: dict[str, set[str]] = {}
        right = set()
        for name, number, text in re.findall(r'<td data-label="([^"]*)"( class="number")?>([^<]*)</td>', table):
            cells.setdefault(name, set()).add(text)
            right |= {name} if number else set()
        numeric = {name for name, texts in cells.items() if all(re.fullmatch(r"[-−+]?[\d.,]*\d%?|–?", each) for each in texts)}
        assert right == numeric, table[:200]


def test_what_has_no_interval_is_not_said_to_be_of_one_source(page_text: str) -> None:
    """Two sources may know a model and not bound it."""
    boards = [ledger_board(compared_scores(task)).table for task in GenerationTask]
    unbounded = {model for board in boards for model in board.filter(pl.col("ci_low").is_null())["model"]}
    sources = ledger_scores().group_by("task", "model").agg(pl.col("source").n_unique())
    assert unbounded & set(sources.filter(pl.col("source") > 1)["model"])
    assert "that one source knows" not in page_text and "of two sources or more" not in page_text


def test_names_cannot_end_the_data_of_the_page() -> None:
    hostile = "</script><img src=x onerror=alert(1)> & <!-- \u2028"
    text = _embedded([hostile])
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == [hostile]


def test_the_command_writes_the_page_and_refuses_another_kind_of_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["papers", "page", "--output", str(tmp_path / "ledger.pdf")])
    assert result.exit_code == 2 and ".html" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 360])
def test_boards_are_filtered_and_models_compared(browser: Browser, page_text: str, tmp_path: Path, width: int) -> None:
    file = tmp_path / "ledger.html"
    file.write_text(page_text, encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    rows = page.locator(".board tbody tr")
    known = rows.count()
    page.uncheck("[name=known]")
    assert rows.count() > known > 50
    page.select_option("[name=task]", "edit")
    page.select_option("[name=weights]", "open")
    assert {text.strip() for text in page.locator(".board tbody td:nth-child(7)").all_text_contents()} == {"open"}
    page.select_option("[name=size]", "12 1000")
    assert rows.count() > 0 and all(float(text) > 12 for text in page.locator(".board tbody td:last-child").all_text_contents())
    page.select_option("[name=size]", "")
    page.fill("[name=since]", "2025-06")
    assert all(text >= "2025-06" for text in page.locator(".board tbody td:nth-child(6)").all_text_contents())
    page.fill("[name=until]", "2025-12")  # the board of a year
    page.fill("[name=since]", "2025-01")
    assert {text[:4] for text in page.locator(".board tbody td:nth-child(6)").all_text_contents()} == {"2025"}
    page.fill("[name=until]", "")
    page.select_option("[name=capability]", "all, without makers' reports")
    assert rows.count() > 0
    page.select_option("[name=capability]", "identity")
    page.select_option("[name=capability]", "text")
    page.select_option("[name=weights]", "")
    page.fill("[name=since]", "")
    assert "Hidden" not in (page.locator(".filters output").text_content() or "")
    ranks = [int(text) for text in page.locator(".board tbody td:first-child").all_text_contents()]
    page.check("[name=known]")
    first = int(page.locator(".board tbody td:first-child").first.text_content() or "")
    hidden, above = len(ranks) - rows.count(), sum(rank < first for rank in ranks)
    assert above > 0  # the best editors at text have one source each
    said = f"Hidden without an interval: {hidden}, of which {above} stand above all that are shown."
    assert said in (page.locator(".filters output").text_content() or "")
    page.uncheck("[name=known]")
    page.fill("[name=words]", "no such model")
    assert rows.count() == 0
    page.fill("[name=words]", "")
    made = page.locator(".filters output").text_content() or ""
    assert "of 2026-" in made and "edit" in made and "95% interval: sandwich" in made  # day, task, and how intervals are made
    page.locator(".board tbody button").first.focus()
    page.keyboard.press("Enter")
    assert page.input_value("[name=one]") != ""
    numbers = page.locator(".numbers tbody tr")
    assert numbers.count() > 0
    page.fill("[name=one]", "qwen-image")
    alone = numbers.count()
    page.fill("[name=other]", "GLM-Image")
    assert 0 < numbers.count() < alone
    assert page.locator(".numbers tbody a").first.get_attribute("href").startswith("https://github.com/")  # type: ignore[union-attr]
    page.fill("[name=other]", "<b>nobody</b>")
    assert numbers.count() == alone
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    page.close()


HOSTILE = "</script></td><img src=x onerror=window.hacked=1><script>window.hacked=1</script>\"'`{{7*7}}"


@pytest.mark.browser
def test_hostile_texts_of_a_source_stay_texts(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name has no sign that acts unseen (the manifest refuses them), but any other: it is shown, and does nothing."""
    is_one = pl.col("source") == "vmbench"
    texts = [pl.when(is_one).then(pl.lit(HOSTILE)).otherwise(name).alias(name) for name in ("benchmark", "track", "judge")]
    scores, listed = (
        ledger_scores().with_columns(texts),
        sources().with_columns(
            pl.when(is_one).then(pl.lit(HOSTILE)).otherwise(name).alias(name) for name in ("title", "licence")
        ),
    )
    monkeypatch.setattr("salon_published.ledger_page.ledger_scores", lambda: scores)
    monkeypatch.setattr("salon_published.ledger_page.sources", lambda: listed)
    boards = {GenerationTask.TEXT_TO_VIDEO: ledger_board(compared_scores("text-to-video"))}
    file = tmp_path / "ledger.html"
    file.write_text(ledger_page(boards), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.fill("[name=one]", "Mochi 1")
    assert HOSTILE in (page.locator(".numbers tbody").text_content() or "")
    assert HOSTILE in (page.locator("body").text_content() or "")
    assert page.evaluate("[window.hacked === undefined, document.images.length, document.scripts.length]") == [True, 0, 2]
    page.close()

"""The quickstart: from an empty folder to a ranked store and a report; twice is harmless; a wrong folder is refused."""

import re
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from salon_console import main
from salon_published import cells, tables
from salon_published.consensus import BASELINE, generator_scores
from salon_published.consensus_page import consensus_page, track_ranks
from salon_published.quickstart import Quickstart, quickstart
from salon_published.registry import model, models
from salon_store import ResultStore
from salon_taxonomy.errors import SalonError

BENCHMARKS = {
    "MagicBench": 14,
    "GenEval++": 8,
    "T2I-CompBench": 8,
    "PRISM-Bench": 19,
    "PRISM-Bench-ZH": 7,
    "Magic-Bench-377": 12,
    "Artificial Analysis": 11,
}
"""Each benchmark with the number of generators that the papers score on it."""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Quickstart:
    return quickstart(tmp_path_factory.mktemp("quickstart") / "store")


def test_forty_two_generators_of_seven_benchmarks_are_scored() -> None:
    scores = generator_scores()
    counted = scores.group_by("benchmark").agg(pl.col("model").n_unique())
    assert dict(counted.iter_rows()) == BENCHMARKS
    assert scores["model"].n_unique() == 42
    assert {model(name).kind for name in scores["model"].unique()} == {"generator"}


def test_the_board_ranks_every_generator_and_fixes_the_baseline(first: Quickstart) -> None:
    table = first.consensus.board.table
    assert table.height == 42
    baseline = table.row(by_predicate=pl.col("model") == BASELINE, named=True)
    assert (baseline["rating"], baseline["ci_low"], baseline["ci_high"]) == (1000.0, 1000.0, 1000.0)
    assert table["rating"].is_sorted(descending=True)
    assert sum(first.consensus.benchmarks.values()) == sum(BENCHMARKS.values())


def test_the_store_holds_every_row_and_every_battle_says_it_was_derived(first: Quickstart) -> None:
    store = ResultStore.open(first.given, read_only=True)
    rows = {info.table: info.rows for info in store.tables()}
    assert rows["battles"] == first.battles
    assert rows["leaderboards"] == 42
    assert rows["published"] == cells().height
    assert rows["runs"] == len({each.id for each in tables() if each.spec.rows == "generator"})
    assert first.added == sum(rows.values())
    assert store.sql("SELECT DISTINCT mode FROM battles").rows() == [("derived",)]


def test_a_second_call_adds_nothing_and_writes_the_same_report(first: Quickstart) -> None:
    before = first.report.read_bytes()
    told: dict[str, list[tuple[int, int]]] = {}
    again = quickstart(first.given, progress=lambda step, done, total: told.setdefault(step, []).append((done, total)))
    assert again.added == 0
    for counts in told.values():  # each step is told from nothing to all of it
        assert counts == [(done, len(counts) - 1) for done in range(len(counts))]
    assert len(told) == 2
    assert again.report.read_bytes() == before


def test_the_questions_have_answers(first: Quickstart) -> None:
    store = ResultStore.open(first.given, read_only=True)
    answers = [store.sql(sql) for _, sql in first.questions]
    assert [answer.height > 0 for answer in answers] == [True, True, True]
    assert answers[0]["rank"].to_list() == list(range(1, 11))


def test_the_board_says_that_seven_benchmarks_are_few(first: Quickstart) -> None:
    board = first.consensus.board
    known = dict(board.table.select("model", pl.col("ci_low").is_not_null()).iter_rows())
    assert known == {name: number > 1 for name, number in first.consensus.benchmarks.items()}
    assert "degrees of freedom for some intervals" in " ".join(board.warnings)
    assert board.table["degrees"].drop_nulls().is_between(1, 3).all()


def test_the_command_prints_the_board_the_agreement_and_the_questions(first: Quickstart) -> None:
    done = CliRunner().invoke(main, ["quickstart", "--dir", str(first.given), "--top", "3"])
    assert done.exit_code == 0, done.output
    assert "GPT-Image-1" in done.stdout
    assert "791 published scores, 0 unscored" in done.stdout
    assert "MagicBench" in done.stdout
    assert done.stdout.count("salon store sql") == 3
    assert "0 rows were new" in done.stdout
    head, *rows = done.stdout.partition("the models they share?\n")[2].partition("\n\n")[0].splitlines()
    for name in ("models in common", "Spearman ρ", "Kendall τ"):
        end = head.index(name) + len(name)
        assert all(re.search(r"\s[-−+]?[\d.]+$", row[:end]) for row in rows if "more pairs" not in row), name


def test_a_folder_that_holds_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(SalonError, match=str(tmp_path)):
        quickstart(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    done = CliRunner().invoke(main, ["quickstart", "--dir", str(tmp_path)])
    assert done.exit_code == 2
    assert "thesis" not in done.stdout


def test_ranks_share_the_best_place_when_scores_are_equal() -> None:
    scores = pl.DataFrame(
        {
            "benchmark": "B",
            "judge": "J",
            "track": ["t", "t", "t", "u", "u", "u"],
            "track_order": [0, 0, 0, 1, 1, 1],
            "model": ["x", "y", "z"] * 2,
            "value": [2.0, 2.0, 1.0, None, 1.0, 2.0],
            "direction": ["higher"] * 3 + ["lower"] * 3,
        }
    )
    ranks = track_ranks(scores)
    assert ranks.filter(track="t").select("model", "rank").rows() == [("x", 1), ("y", 1), ("z", 3)]
    assert ranks.filter(track="u").select("model", "rank").rows() == [("y", 1), ("z", 2)]


def test_the_page_says_how_many_scores_it_stands_on(first: Quickstart) -> None:
    page = consensus_page(first.consensus, first.scores, first.questions, directory="my results; rm -rf /")
    assert "791 scored, 0 unscored" in page
    assert "salon store sql &#39;my results; rm -rf /&#39;" in page


def test_columns_of_numbers_and_no_others_are_flush_right(first: Quickstart) -> None:
    tables_of_page = re.findall(r'<table class="stack".*?</table>', first.report.read_text("utf-8"), re.DOTALL)
    assert len(tables_of_page) == 3
    for table in tables_of_page:
        cells_of: dict[str, set[str]] = {}
        right = set()
        for name, number, text in re.findall(r'<td data-label="([^"]*)"( class="number")?>([^<]*)</td>', table):
            cells_of.setdefault(name, set()).add(text)
            right |= {name} if number else set()
        numbers = {
            name for name, texts in cells_of.items() if all(re.fullmatch(r"[-−+]?[\d.,]*\d%?|–?", each) for each in texts)
        }
        assert right - {name for name in right if "interval" in name} == numbers, table[:200]


def test_every_printed_cell_is_a_row_of_the_store(first: Quickstart) -> None:
    stored = ResultStore.open(first.given).read("published").collect()
    printed = cells()
    assert dict(stored.group_by("table_id").len().iter_rows()) == dict(printed.group_by("table").len().iter_rows())
    assert stored["value"].sum() == pytest.approx(printed["value"].sum())


def test_scores_are_scores_of_generators_on_benchmarks_and_nothing_else(first: Quickstart) -> None:
    store = ResultStore.open(first.given)
    scores = store.read("scores").collect()
    assert {model(name).kind for name in scores["subject_model"].unique()} == {"generator"}
    benchmarks = {about.benchmark for table in tables() for about in map(table.describe, table.columns)}
    assert set(scores["suite"]) <= benchmarks
    ids = {name.id for name in models()}
    assert not set(scores["dimension"]) & (ids | {name.replace("-", "_") for name in ids} | {"n0", "gpt_image"})
    # What the board is made of is all there, once.
    board = first.scores.select("benchmark", "judge", "model", "track", "value").drop_nulls("value")
    stored = scores.select(
        pl.col("suite").alias("benchmark"),
        "judge",
        pl.col("subject_model").alias("model"),
        pl.col("task").alias("track"),
        "value",
    )
    assert board.join(stored, on=board.columns, how="anti", nulls_equal=True).filter(pl.col("judge").is_not_null()).is_empty()
    assert set(scores["run_id"]) == set(store.read("runs").collect()["run_id"])


REBUILT = """
    WITH rates AS (
      SELECT model, split_part(column_name, '.', 1) AS label,
             max(value) FILTER (column_name LIKE '%.precision') AS p, max(value) FILTER (column_name LIKE '%.recall') AS r,
             max(value) FILTER (column_name LIKE '%.f1') AS f1
      FROM published WHERE table_id = 'magicmirror:6' GROUP BY ALL),
    support AS (
      SELECT row_name AS name, value AS n FROM published WHERE table_id = 'magicmirror:5' AND column_name = 'test'),
    names (label, name) AS (VALUES
      ('interaction', 'L2: Irrational Element Interaction'), ('human', 'L2: Abnormal Human Anatomy'),
      ('animal', 'L2: Abnormal Animal Anatomy'), ('object', 'L2: Abnormal Object Morphology')),
    counted AS (
      SELECT rates.*, n, round(r * n) AS hits, round(round(r * n) / p) AS flagged
      FROM rates JOIN names USING (label) JOIN support USING (name)),
    averages AS (
      SELECT model, unnest([
        {'dimension': 'macro.precision', 'value': avg(p)}, {'dimension': 'macro.recall', 'value': avg(r)},
        {'dimension': 'macro.f1', 'value': avg(2 * p * r / (p + r))},
        {'dimension': 'micro.precision', 'value': sum(hits) / sum(flagged)},
        {'dimension': 'micro.recall', 'value': sum(hits) / sum(n)},
        {'dimension': 'micro.f1', 'value': 2 * sum(hits) / (sum(flagged) + sum(n))}], recursive := true)
      FROM counted GROUP BY model),
    rebuilt AS (
      SELECT 'magicmirror:4' AS table_id, * FROM averages
      UNION ALL SELECT 'magicmirror:6', model, label || '.f1', 2 * p * r / (p + r) FROM counted)
    SELECT rebuilt.table_id, rebuilt.dimension, printed.value AS printed, rebuilt.value AS rebuilt
    FROM rebuilt JOIN published AS printed
      ON printed.table_id = rebuilt.table_id AND printed.model = rebuilt.model AND printed.column_name = rebuilt.dimension
"""


def test_magicmirrors_tables_four_and_six_follow_in_sql_from_the_stored_rates_and_supports(first: Quickstart) -> None:
    rows = pl.DataFrame(ResultStore.open(first.given).sql(REBUILT))
    assert rows.group_by("table_id").len().sort("table_id")["len"].to_list() == [5 * 6, 5 * 4]
    apart = (rows["printed"] - rows["rebuilt"]).abs()
    assert apart.filter(rows["table_id"] == "magicmirror:4").max() < 0.000_051  # the last printed digit
    assert apart.max() < 0.000_1  # F1 of rates that were rounded themselves

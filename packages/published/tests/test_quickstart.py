"""The quickstart: from an empty folder to a ranked store and a report; twice is harmless; a wrong folder is refused."""

from pathlib import Path

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_published.ledger import ledger_scores
from salon_published.ledger_page import ledger_page
from salon_published.manifest import GenerationTask
from salon_published.quickstart import Quickstart, quickstart
from salon_published.registry import model, models
from salon_published.rows import vote_rows
from salon_published.tables import all_cells, ledger, tables
from salon_ranking import Battles, rank
from salon_store import ResultStore
from salon_taxonomy.errors import SalonError


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Quickstart:
    return quickstart(tmp_path_factory.mktemp("quickstart") / "store")


def test_every_task_has_a_board_of_generators_and_one_of_them_is_fixed(first: Quickstart) -> None:
    assert list(first.boards) == list(GenerationTask)
    for board in first.boards.values():
        rated = board.table.drop_nulls("rating")
        assert rated.drop_nulls("ci_low")["rating"].is_sorted(descending=True)
        (baseline,) = board.baselines
        assert rated.filter(model=baseline).select("rating", "ci_low", "ci_high").row(0) == (1000.0, 1000.0, 1000.0)
        assert {model(name).kind for name in rated["model"]} == {"generator"}
    assert first.boards[GenerationTask.TEXT_TO_IMAGE].table.height > 200


def test_the_store_holds_every_row_and_every_battle_says_it_was_derived(first: Quickstart) -> None:
    store = ResultStore.open(first.given, read_only=True)
    rows = {info.table: info.rows for info in store.tables()}
    assert rows["battles"] == first.battles + vote_rows().height
    assert rows["leaderboards"] == sum(board.table.drop_nulls("rating").height for board in first.boards.values())
    assert rows["published"] == all_cells().height
    assert first.added == sum(rows.values())
    modes = "SELECT mode, count(*) FROM battles GROUP BY ALL ORDER BY mode"
    assert store.sql(modes).rows() == [("derived", first.battles), ("public", 2_060)]
    assert store.sql("SELECT DISTINCT board FROM leaderboards ORDER BY 1").rows() == sorted(
        (str(task),) for task in GenerationTask
    )


def test_a_second_call_adds_nothing_and_writes_the_same_report(first: Quickstart) -> None:
    before = first.report.read_bytes()
    told: dict[str, list[tuple[int, int]]] = {}
    again = quickstart(first.given, progress=lambda step, done, total: told.setdefault(step, []).append((done, total)))
    assert again.added == 0
    for counts in told.values():  # each step is told from nothing to all of it
        assert counts == [(done, len(counts) - 1) for done in range(len(counts))]
    assert len(told) == 3
    assert again.report.read_bytes() == before == ledger_page().encode()


def test_plain_duckdb_finds_the_rows_in_the_catalog(first: Quickstart) -> None:
    with duckdb.connect(str(first.given / "catalog.duckdb"), read_only=True) as connection:
        counted = {table: connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in ("scores", "battles")}
    store = ResultStore.open(first.given, read_only=True)
    assert counted == {info.table: info.rows for info in store.tables() if info.table in counted} and counted["scores"]


def test_the_questions_have_answers(first: Quickstart) -> None:
    store = ResultStore.open(first.given, read_only=True)
    answers = [store.sql(sql) for _, sql in first.questions]
    assert [answer.height > 0 for answer in answers] == [True, True, True]
    assert answers[0]["rank"].to_list() == list(range(1, 11))
    source, columns, won = answers[1].row(0)
    scores = ledger_scores().filter(pl.col("direction") != "none", ~pl.col("overall"), source=source)
    assert 0 < won <= columns <= scores.filter(model="qwen-image").height


def test_the_command_prints_the_boards_and_the_questions(first: Quickstart) -> None:
    done = CliRunner().invoke(main, ["quickstart", "--dir", str(first.given), "--top", "3"])
    assert done.exit_code == 0, done.output
    for board in first.boards.values():
        best = board.table.drop_nulls("ci_low")["model"][0]
        assert model(best).name in done.stdout
    assert f"{first.scores:,} published numbers, from which {first.battles:,} battles are derived" in done.stdout
    assert f"{first.scores:,} of 441 generators" in first.report.read_text(encoding="utf-8")  # the report counts the same
    assert done.stdout.count("salon store sql") == 3
    assert "0 rows were new" in done.stdout


def test_the_file_has_the_boards_of_all_tasks(first: Quickstart, tmp_path: Path) -> None:
    file = tmp_path / "boards.parquet"
    done = CliRunner().invoke(main, ["quickstart", "--dir", str(first.given), "--output", str(file)])
    assert done.exit_code == 0, done.output
    frame = pl.read_parquet(file)
    heights = {str(task): board.table.height for task, board in first.boards.items()}
    assert dict(frame["task"].value_counts().iter_rows()) == heights


def test_a_folder_that_holds_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(SalonError, match=str(tmp_path)):
        quickstart(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    done = CliRunner().invoke(main, ["quickstart", "--dir", str(tmp_path)])
    assert done.exit_code == 2
    assert "thesis" not in done.stdout


@for_each(("task", "table", "within"), [("t2i", "genai-arena:1", 1.0), ("edit", "genai-arena:2", 60.0)])
def test_votes_that_an_arena_released_give_the_board_that_it_printed(
    first: Quickstart, task: str, table: str, within: float
) -> None:
    """GenAI-Arena's boards of 20 February 2024, blind votes; its fit draws ratings together, which 60 votes on edits show."""
    battles = Battles.read(first.given, where=f"suite = 'GenAI-Arena {task}' AND scenario = 'blind'")
    board = rank(battles, interval=None).table
    printed = all_cells().filter(table=table, column="elo_blind").select("model", "value")
    both = board.join(printed, on="model", maintain_order="left")
    assert both.height == board.height == printed.height
    assert both["value"].is_sorted(descending=True)
    apart = (both["rating"] - both["rating"].mean()) - (both["value"] - both["value"].mean())
    assert apart.abs().max() < within


def test_every_printed_cell_is_a_row_of_the_store(first: Quickstart) -> None:
    stored = ResultStore.open(first.given).read("published").collect()
    printed = all_cells()
    assert dict(stored.group_by("table_id").len().iter_rows()) == dict(printed.group_by("table").len().iter_rows())
    assert stored["value"].sum() == pytest.approx(printed["value"].sum())


def test_scores_are_scores_of_generators_on_benchmarks_and_nothing_else(first: Quickstart) -> None:
    store = ResultStore.open(first.given)
    scores = store.read("scores").collect()
    assert {model(name).kind for name in scores["subject_model"].unique()} == {"generator"}
    benchmarks = {about.benchmark for table in (*tables(), *ledger()) for about in map(table.describe, table.columns)}
    assert set(scores["suite"]) <= benchmarks
    ids = {name.id for name in models()}
    assert not set(scores["dimension"]) & (ids | {name.replace("-", "_") for name in ids} | {"n0", "gpt_image"})
    # What the boards are made of is all there, once.
    board = (
        ledger_scores()
        .filter(kind="generator")
        .select(
            pl.format("published-{}", pl.col("table").str.replace(":", "-")).alias("run_id"),
            pl.col("benchmark").alias("suite"),
            pl.col("model").alias("subject_model"),
            pl.col("column").alias("dimension"),
            "value",
        )
    )
    assert board.join(scores, on=board.columns, how="anti").is_empty()
    assert scores.select(board.columns).is_unique().all()
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

"""How long the result store takes: append, skip, query and compaction of a million battles.

Not part of the tests; run with ``just benchmark``.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from salon_store import SCHEMAS, ResultStore, checked
from salon_taxonomy.records import Prompt

ROWS = 1_000_000
Benchmark = Callable[..., Any]


def battles(rows: int, prefix: str = "") -> pl.DataFrame:
    """Battles among 200 models with keys of 24 characters."""
    number = pl.int_range(rows, eager=True).alias("number")
    return pl.DataFrame({"number": number}).select(
        battle_id=prefix + pl.col("number").hash(7).cast(pl.String).str.zfill(24),
        model_a=pl.lit("model-a-") + (pl.col("number") % 200).cast(pl.String),
        model_b=pl.lit("model-b-") + (pl.col("number") % 199).cast(pl.String),
        winner=pl.lit("model_a"),
        rater_id=pl.lit("rater-") + (pl.col("number") % 5_000).cast(pl.String),
        mode=pl.lit("public"),
    )


@pytest.fixture(scope="module")
def million() -> pl.DataFrame:
    return battles(ROWS)


@pytest.fixture
def full(tmp_path: Path, million: pl.DataFrame) -> ResultStore:
    store = ResultStore.open(tmp_path / "results")
    store.append("battles", million, run_id="first")
    return store


def test_append_a_million_battles_to_an_empty_store(benchmark: Benchmark, tmp_path: Path, million: pl.DataFrame) -> None:
    numbers = count()

    def fresh() -> tuple[tuple[ResultStore], dict[str, object]]:
        return (ResultStore.open(tmp_path / f"results{next(numbers)}"),), {}

    benchmark.pedantic(lambda store: store.append("battles", million, run_id="r"), setup=fresh, rounds=5)


def test_append_a_million_battles_beside_a_million(benchmark: Benchmark, full: ResultStore) -> None:
    numbers = count()

    def more() -> tuple[tuple[pl.DataFrame], dict[str, object]]:
        return (battles(ROWS, f"{next(numbers)}-"),), {}

    benchmark.pedantic(lambda rows: full.append("battles", rows, run_id="r"), setup=more, rounds=3)


def test_skip_a_million_battles_that_already_stand(benchmark: Benchmark, full: ResultStore, million: pl.DataFrame) -> None:
    benchmark(lambda: full.append("battles", million, run_id="again", on_duplicate="skip"))


def test_append_ten_battles(benchmark: Benchmark, full: ResultStore) -> None:
    numbers = count()
    benchmark(lambda: full.append("battles", battles(10, f"{next(numbers)}-"), run_id="r"))


def test_check_a_million_battles(benchmark: Benchmark, million: pl.DataFrame) -> None:
    benchmark(lambda: checked(million, SCHEMAS["battles"]))


def test_count_a_million_battles_by_model_in_sql(benchmark: Benchmark, full: ResultStore) -> None:
    benchmark(lambda: full.sql("SELECT model_a, count(*) FROM battles GROUP BY model_a"))


def test_journal_one_row_and_flush_it(benchmark: Benchmark, tmp_path: Path) -> None:
    numbers = count()
    with ResultStore.open(tmp_path / "results").journal("r") as journal:
        benchmark(lambda: journal.add("prompts", Prompt(prompt_id=str(next(numbers)), suite="s", text="t")))


def test_compact_a_hundred_small_parts(benchmark: Benchmark, tmp_path: Path) -> None:
    numbers = count()

    def scattered() -> tuple[tuple[ResultStore], dict[str, object]]:
        store = ResultStore.open(tmp_path / f"results{next(numbers)}")
        for part in range(100):
            store.append("battles", battles(100, f"{part}-"), run_id="r")
        return (store,), {}

    benchmark.pedantic(lambda store: store.compact(), setup=scattered, rounds=2)

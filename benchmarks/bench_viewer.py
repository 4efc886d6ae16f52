"""Time ``salon view`` over a run of 100,000 cases, three questions each: first opening, a filter, another page.

python -m pytest benchmarks/bench_viewer.py --benchmark-only
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from salon_bench.viewer.pages import cases_page
from salon_bench.viewer.store_tables import StoreTables
from salon_store import ResultStore

PROMPTS, MODELS = 10_000, 10
QUESTIONS = ("subject", "colour", "beauty")
Benchmark = Callable[..., Any]
RUN = {"run_id": "one", "suite": "su", "judge": "j", "judge_version": "1", "source": "made", "salon_version": "0.1"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("view") / "store"
    opened = ResultStore.open(path)
    cases = pl.DataFrame({"number": pl.int_range(PROMPTS * MODELS, eager=True)}).select(
        prompt_id="p" + (pl.col("number") // MODELS).cast(pl.String).str.zfill(5),
        subject_model="model-" + (pl.col("number") % MODELS).cast(pl.String),
        generation_id=pl.col("number").hash(7).cast(pl.String).str.zfill(24),
        number="number",
    )
    generations = cases.select(
        "generation_id", "prompt_id", model="subject_model", sample=pl.lit(0), kind=pl.lit("image"),
        uri=pl.col("generation_id") + ".png", sha256=pl.lit("0" * 64),
    )  # fmt: skip
    verdicts = cases.join(pl.DataFrame({"dimension": QUESTIONS}), how="cross").select(
        "prompt_id", "subject_model", "generation_id", "dimension",
        run_id=pl.lit("one"), suite=pl.lit("su"), task="category " + (pl.col("number") % 7).cast(pl.String),
        value=(pl.col("number").hash(3) % 2).cast(pl.Float64), judge=pl.lit("j"), judge_version=pl.lit("1"),
    )  # fmt: skip
    prompts = cases.select("prompt_id").unique().with_columns(
        suite=pl.lit("su"), text="A cat on a mat, " + pl.col("prompt_id"), prompt_key=pl.lit("0" * 64)
    )  # fmt: skip
    opened.append("runs", pl.DataFrame([RUN]), run_id="one")
    for table, rows in {"generations": generations, "scores": verdicts, "prompts": prompts}.items():
        opened.append(table, rows, run_id="one")
    return path


def test_open_a_run_for_the_first_time(benchmark: Benchmark, store: Path) -> None:
    def fresh() -> tuple[tuple[StoreTables, dict[str, list[str]]], dict[str, object]]:
        return (StoreTables(store), {"run": ["one"]}), {}

    assert "100,000" in benchmark.pedantic(cases_page, setup=fresh, rounds=9)


@pytest.mark.parametrize("query", [{"page": ["500"]}, {"verdict": ["1"], "question": ["colour"]}, {"beside": ["1"]}])
def test_open_it_again(benchmark: Benchmark, store: Path, query: dict[str, list[str]]) -> None:
    tables = StoreTables(store)
    cases_page(tables, {"run": ["one"]})
    benchmark(cases_page, tables, {"run": ["one"], **query})

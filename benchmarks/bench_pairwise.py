"""How long the models beyond plain Bradley-Terry take: online Elo from a file, tie models, covariates, growing leagues.

Not part of the tests; run with ``pytest benchmarks/bench_pairwise.py --benchmark-only -n 0``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from salon_ranking import Battles, GrowingLeague, online_elo, rank

Benchmark = Callable[..., Any]
WINNERS = np.array(["model_a", "model_b", "tie"])


def votes(battles: int, models: int) -> pl.DataFrame:
    """Votes among models of random strength with lengths and sides."""
    rng = np.random.default_rng(0)
    strength = rng.normal(size=models)
    a = rng.integers(0, models, battles)
    b = (a + rng.integers(1, models, battles)) % models
    lost = rng.random(battles) > 1 / (1 + np.exp(strength[b] - strength[a]))
    winner = np.where(rng.random(battles) < 0.1, 2, lost.astype(np.int64))
    names = pl.Series([f"vendor-{number % 17}/image-model-{number:04}" for number in range(models)])
    columns = {
        "model_a": names[a],
        "model_b": names[b],
        "winner": pl.Series(WINNERS[winner]),
        "length_a": rng.normal(size=battles),
        "length_b": rng.normal(size=battles),
        "side_a_shown": pl.Series(np.array(["left", "right"])[rng.integers(0, 2, battles)]),
    }
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def ten_million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("votes") / "10m-200.parquet"
    votes(10_000_000, 200).select("model_a", "model_b", "winner").write_parquet(path, compression="zstd")
    return path


@pytest.fixture(scope="module")
def million() -> Battles:
    return Battles.from_frame(votes(1_000_000, 200))


def test_online_elo_of_ten_million_battles_from_a_file(benchmark: Benchmark, ten_million: Path) -> None:
    benchmark(online_elo, ten_million)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_a_tie_model_of_a_million_battles(benchmark: Benchmark, million: Battles, model: str) -> None:
    benchmark(rank, million, ties=model)


@pytest.mark.parametrize("covariates", [["side_a_shown"], ["length_a,length_b", "side_a_shown"]], ids=["side", "length"])
def test_covariates_of_a_million_battles(benchmark: Benchmark, million: Battles, covariates: list[str]) -> None:
    benchmark(rank, million, covariates=covariates)


def test_ten_more_battles_in_a_league_of_a_million(benchmark: Benchmark, million: Battles) -> None:
    more = votes(10, 200)
    arena, _ = GrowingLeague().update(million.frame).fitted()
    benchmark(lambda: arena.update(more).fitted())

"""How long ranking takes, from a zstd Parquet file of strings to ratings and intervals, and planning; beside its peers.

Not part of the tests; run with ``just benchmark``. Peers (``evalica``, ``arena-rank``:
the dependency group ``benchmark``) run in the same process when they are installed; ratios are printed at the end. Every
timing of a ranking begins with the file, because turning names into numbers is most of the work.
``SALON_BENCH_FILES=20`` also writes 100 M battles to many files and prints time and peak memory of reading them.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from salon_ranking import Battles, correct_ratings, fit, rank
from salon_ranking.scheduling import RULES, Rule, ScheduleState, next_pairs

Benchmark = Callable[..., Any]

WINNERS = pl.Series(["model_a", "model_b", "both_good", "both_bad", "tie"])


def write_votes(path: Path, battles: int, models: int) -> Path:
    """Votes among models of random strength, a tenth of them ties; over 20,000 prompts."""
    rng = np.random.default_rng(0)
    strength = rng.normal(size=models)
    a = rng.integers(0, models, battles)
    b = (a + rng.integers(1, models, battles)) % models
    lost = rng.random(battles) > 1 / (1 + np.exp(strength[b] - strength[a]))
    winner = np.where(rng.random(battles) < 0.1, rng.integers(2, 5, battles), lost)
    names = pl.Series([f"vendor-{number % 17}/image-model-{number:04}" for number in range(models)])
    prompts = pl.Series([f"prompt-{number:05}" for number in range(20_000)])
    columns = {
        "model_a": names[a],
        "model_b": names[b],
        "winner": WINNERS[winner],
        "prompt_id": prompts[rng.integers(0, 20_000, battles)],
    }
    pl.DataFrame(columns).write_parquet(path, compression="zstd")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("votes")


@pytest.fixture(scope="module")
def ten_million(folder: Path) -> Path:
    return write_votes(folder / "10m-200.parquet", 10_000_000, 200)


@pytest.fixture(scope="module")
def million(folder: Path) -> Path:
    return write_votes(folder / "1m-50.parquet", 1_000_000, 50)


@pytest.fixture(scope="module")
def sparse(folder: Path) -> Path:
    return write_votes(folder / "1m-1000.parquet", 1_000_000, 1000)


@pytest.fixture(scope="module")
def judged(folder: Path, million: Path) -> tuple[Path, Path]:
    """Votes on 10,000 of a million battles, and a judge's verdicts on all, a third of them another battle's."""
    people = pl.read_parquet(million).with_row_index("battle_id")
    votes, verdicts = folder / "votes.parquet", folder / "verdicts.parquet"
    people.sample(10_000, seed=0).write_parquet(votes)
    other = pl.col("winner").shuffle(seed=1)
    people.with_columns(winner=pl.when(pl.int_range(pl.len()) % 3 == 0).then(other).otherwise("winner")).write_parquet(verdicts)
    return votes, verdicts


def write_chain(path: Path, models: int) -> Path:
    """Ten battles between each model and the next, three to seven of them won."""
    wins = np.random.default_rng(0).integers(3, 8, models - 1)
    first = np.arange(models - 1).repeat(10)
    winner = WINNERS[((np.arange(10) >= wins[:, None]).ravel()).astype(np.int64)]
    names = pl.Series([f"model-{number:06}" for number in range(models)])
    pl.DataFrame({"model_a": names[first], "model_b": names[first + 1], "winner": winner}).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def chain(folder: Path) -> Path:
    return write_chain(folder / "chain-20000.parquet", 20_000)


@pytest.fixture(scope="module")
def medians(request: pytest.FixtureRequest) -> Iterator[dict[str, float]]:
    """Medians in seconds by "what/who"; at the end, how many times longer each peer took is printed."""
    found: dict[str, float] = {}
    yield found
    with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        for name, seconds in found.items():
            what, _, who = name.partition("/")
            ours = found.get(f"{what}/salon")
            if who != "salon" and ours:
                print(f"\n{what}: salon {ours:.3f} s, {who} {seconds:.3f} s, ratio {seconds / ours:.0f}")


@pytest.fixture
def timed(benchmark: Any, medians: dict[str, float]) -> Callable[..., None]:
    def run(name: str, work: Callable[[], object], rounds: int = 5) -> None:
        benchmark.pedantic(work, rounds=rounds, warmup_rounds=1 if rounds > 1 else 0)
        medians[name] = benchmark.stats.stats.median

    return run


def test_point_estimate_of_ten_million_battles(timed: Benchmark, ten_million: Path) -> None:
    timed("10 M x 200, ratings/salon", lambda: fit(Battles.read(ten_million)))


def test_intervals_of_ten_million_battles(timed: Benchmark, ten_million: Path) -> None:
    timed("10 M x 200, ratings and intervals/salon", lambda: rank(Battles.read(ten_million), replicates=1000))


def test_intervals_of_ten_million_battles_clustered_by_prompt(timed: Benchmark, ten_million: Path) -> None:
    timed(
        "10 M x 200, clustered by 20,000 prompts/salon",
        lambda: rank(Battles.read(ten_million, cluster_by="prompt_id"), replicates=1000, cluster=True),
        rounds=3,
    )


def test_intervals_of_a_million_battles(timed: Benchmark, million: Path) -> None:
    timed("1 M x 50, B = 1000/salon", lambda: rank(Battles.read(million), replicates=1000))


def test_a_hundred_replicates_of_a_million_battles(timed: Benchmark, million: Path) -> None:
    timed("1 M x 50, B = 100/salon", lambda: rank(Battles.read(million), replicates=100))


def test_sandwich_of_a_million_verdicts(timed: Benchmark, judged: tuple[Path, Path]) -> None:
    verdicts = judged[1]
    timed("1 M x 50, sandwich/salon", lambda: rank(Battles.read(verdicts, cluster_by="prompt_id"), interval="sandwich"))


def test_a_million_verdicts_corrected_by_ten_thousand_votes(timed: Benchmark, judged: tuple[Path, Path]) -> None:
    votes, verdicts = judged
    timed(
        "1 M x 50, sandwich/corrected by 10,000 votes",
        lambda: correct_ratings(Battles.read(votes, cluster_by="prompt_id"), Battles.read(verdicts)),
    )


def test_ratings_of_a_chain_of_twenty_thousand_models(timed: Benchmark, chain: Path) -> None:
    timed("chain of 20,000 models/salon", lambda: fit(Battles.read(chain)))


def test_intervals_of_a_sparse_million_battles(timed: Benchmark, sparse: Path) -> None:
    timed("1 M x 1000, B = 100/salon", lambda: rank(Battles.read(sparse), replicates=100))


def arena(kind: str) -> ScheduleState:
    """Two hundred models: all new, or after 100,000 votes."""
    names = [f"model-{number:03}" for number in range(200)]
    if kind == "new":
        return ScheduleState.of(models=names)
    rng = np.random.default_rng(0)
    strength, known = rng.normal(size=200), pl.Series(names)
    a = rng.integers(0, 200, 100_000)
    b = (a + rng.integers(1, 200, 100_000)) % 200
    lost = rng.random(100_000) > 1 / (1 + np.exp(strength[b] - strength[a]))
    votes = pl.DataFrame({"model_a": known[a], "model_b": known[b], "winner": WINNERS[lost.astype(np.int64)]})
    return ScheduleState.of(Battles.from_frame(votes))


@pytest.mark.parametrize("kind", ["played", "new"])
@pytest.mark.parametrize("rule", RULES)
def test_a_thousand_battles_planned_among_two_hundred_models(timed: Benchmark, kind: str, rule: Rule) -> None:
    state = arena(kind)
    assert np.isfinite(state.covariance).all()  # once per state, and not part of a plan
    timed(f"1,000 battles of a {kind} arena by {rule}/salon", lambda: next_pairs(state, 1_000, rule=rule), rounds=60)


def evalica_columns(path: Path, evalica: Any) -> tuple[list[str], list[str], list[Any]]:
    frame = pl.read_parquet(path, columns=["model_a", "model_b", "winner"])
    outcome = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y}
    winners = [outcome.get(winner, evalica.Winner.Draw) for winner in frame["winner"].to_list()]
    return frame["model_a"].to_list(), frame["model_b"].to_list(), winners


def test_evalica_point_estimate(timed: Benchmark, ten_million: Path) -> None:
    evalica = pytest.importorskip("evalica")
    timed(
        "10 M x 200, ratings/evalica",
        lambda: evalica.bradley_terry(*evalica_columns(ten_million, evalica), tolerance=1e-9, limit=1000),
        rounds=1,
    )


def test_evalica_bootstrap(timed: Benchmark, million: Path) -> None:
    evalica = pytest.importorskip("evalica")
    timed(
        "1 M x 50, B = 100/evalica",
        lambda: evalica.bootstrap(
            evalica.bradley_terry,
            *evalica_columns(million, evalica),
            n_resamples=100,
            bootstrap_method="percentile",
            random_state=0,
        ),
        rounds=1,
    )


def arena_rank_board(path: Path) -> object:
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    dataset = PairDataset.from_pandas(pd.read_parquet(path, columns=["model_a", "model_b", "winner"]))
    return BradleyTerry(n_competitors=len(dataset.competitors)).compute_ratings_and_cis(dataset)


def test_arena_rank_with_sandwich_intervals(timed: Benchmark, ten_million: Path) -> None:
    pytest.importorskip("arena_rank")
    timed("10 M x 200, ratings and intervals/arena-rank (sandwich)", lambda: arena_rank_board(ten_million), rounds=1)


FILES = int(os.environ.get("SALON_BENCH_FILES", "0"))
READ = """
import resource, sys, time
from salon_ranking import Battles, fit
began = time.perf_counter()
fit(battles := Battles.read(sys.argv[1]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{battles.count:,} battles x {len(battles.models)} models: {time.perf_counter() - began:.1f} s, peak {peak:.0f} MiB")
"""


@pytest.mark.skipif(not FILES, reason="SALON_BENCH_FILES=20 writes and reads 100 M battles in 20 files")
def test_memory_stays_flat_however_many_files_there_are(folder: Path, request: pytest.FixtureRequest) -> None:
    """Peak memory of a process of its own that reads half of the files, then all."""
    many = folder / "many"
    many.mkdir()
    said = []
    for number in range(FILES):
        write_votes(many / f"part-{number:03}.parquet", 5_000_000, 200)
        if number + 1 in {FILES // 2, FILES}:
            command = [sys.executable, "-c", READ, str(many)]
            said.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        print("", *said, sep="\n")
    shutil.rmtree(many)
    peaks = [float(line.split("peak ")[1].split()[0].replace(",", "")) for line in said]
    assert peaks[-1] < 1.25 * peaks[0] + 50

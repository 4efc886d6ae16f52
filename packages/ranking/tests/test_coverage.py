"""Do 95 % intervals hold the truth in 95 % of leagues? Simulated; run with `-m slow`."""

import numpy as np
import polars as pl
import pytest

from salon_ranking import Battles, rank

LEAGUES, MODELS = 1000, 8
TRUTH = np.linspace(0.9, -0.9, MODELS)
POINTS = 400 / np.log(10)


def simulated(rng: np.random.Generator, clusters: int, per_cluster: int, spread: float) -> pl.DataFrame:
    """Battles in clusters; within a cluster every model is stronger or weaker by a shared normal amount."""
    count = clusters * per_cluster
    cluster = np.repeat(np.arange(clusters), per_cluster)
    local = TRUTH + spread * rng.normal(size=(clusters, MODELS))
    a = rng.integers(0, MODELS, count)
    b = (a + rng.integers(1, MODELS, count)) % MODELS
    won = rng.random(count) < 1 / (1 + np.exp(local[cluster, b] - local[cluster, a]))
    names = np.array([f"m{number}" for number in range(MODELS)])
    return pl.DataFrame(
        {"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b"), "cluster": cluster}
    )


def population_truth(spread: float) -> np.ndarray:
    """Ratings that endlessly many battles would give: the fit to one very large simulated league."""
    if spread == 0:
        return 1000 + POINTS * (TRUTH - TRUTH[-1])
    large = simulated(np.random.default_rng(1), 40_000, 100, spread)
    return rank(Battles.from_frame(large), baseline=f"m{MODELS - 1}", replicates=0).table.sort("model")["rating"].to_numpy()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("cluster", "spread"), [(False, 0.0), (True, 0.0), (True, 0.6)])
def test_95_percent_intervals_cover_the_truth_in_93_to_97_percent_of_leagues(cluster: bool, spread: float):
    rng = np.random.default_rng(0)
    truth = population_truth(spread)[:-1]
    covered = np.zeros(MODELS - 1)
    for number in range(LEAGUES):
        battles = Battles.from_frame(simulated(rng, 100, 20, spread), cluster_by="cluster")
        board = rank(battles, baseline=f"m{MODELS - 1}", replicates=500, seed=number, cluster=cluster)
        rows = board.table.sort("model").head(MODELS - 1)
        covered += (rows["ci_low"].to_numpy() <= truth) & (truth <= rows["ci_high"].to_numpy())
    assert 0.93 <= covered.mean() / LEAGUES <= 0.97, covered / LEAGUES

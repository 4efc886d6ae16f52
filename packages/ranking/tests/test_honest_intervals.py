"""An interval has the width that chance gave it, or it is null with a reason: too few replicates, clusters, or battles."""

import math
import sys

import numpy as np
import polars as pl
import pytest
from ranked import contextual, tied

from salon_ranking import Battles, differences, rank

KINDS = ("percentile", "bca", "sandwich", "anytime")
WIN, LOSS, TIE = ("x", "y", "model_a"), ("x", "y", "model_b"), ("x", "y", "tie")
REST = [(a, b, winner) for a in "yuv" for b in "yuv" if a < b for winner in ("model_a", "model_a", "model_b", "tie")] * 6


def battles(rows: list[tuple[object, ...]], *further: str, **options: object) -> Battles:
    return Battles.from_frame(pl.DataFrame(rows, ["model_a", "model_b", "winner", *further], orient="row"), **options)


def clustered(clusters: int) -> Battles:
    rows = [(*row, number % clusters, number % 2) for number, row in enumerate(REST + [WIN, LOSS, TIE, WIN] * 6)]
    return battles(rows, "prompt", "detail", cluster_by="prompt")


SMALL = {
    "one tie": (battles([TIE]), {}),
    "three ties": (battles([TIE] * 3), {}),
    "many ties": (battles([TIE] * 30), {}),
    "one tie among others": (battles([*REST, TIE]), {}),
    "many ties among others": (battles(REST + [TIE] * 9), {}),
    "one win each": (battles([WIN, LOSS]), {}),
    "one win and a prior": (battles([WIN]), {"prior_ties": 1.0}),
    "wins and a prior": (battles([WIN] * 30), {"prior_ties": 1.0}),
    "wins among others and a prior": (battles(REST + [WIN] * 9), {"prior_ties": 1.0}),
    "counts as weights": (battles([(*WIN, 30.0), (*LOSS, 20.0)], "n", weight="n"), {}),
    "loses nearly always": (battles(REST + [LOSS] * 30 + [WIN]), {}),
    "one cluster": (clustered(1), {"cluster": True}),
    "two clusters": (clustered(2), {"cluster": True}),
    "four clusters": (clustered(4), {"cluster": True}),
    "one model in one cluster": (
        battles(
            [(*row, number % 30) for number, row in enumerate(REST * 3)] + [(*WIN, 1), (*LOSS, 1)] * 9, "p", cluster_by="p"
        ),
        {"cluster": True},
    ),
    "one model in one cluster and a prior": (
        battles(
            [(*row, number % 30) for number, row in enumerate(REST * 3)] + [(*WIN, 1), (*LOSS, 1)] * 9, "p", cluster_by="p"
        ),
        {"cluster": True, "prior_ties": 1.0},
    ),
    "one replicate": (battles(REST + [WIN, LOSS] * 9), {"replicates": 1}),
    "20 replicates": (battles(REST + [WIN, LOSS] * 9), {"replicates": 20}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SMALL)
def test_an_interval_has_a_width_that_chance_gave_it_or_is_missing_for_a_reason(name: str, kind: str):
    league, options = SMALL[name]
    board = rank(league, interval=kind, replicates=options.get("replicates", 200), seed=1, baseline="y", **_without(options))
    missing = 0
    for row in board.table.filter(pl.col("model") != "y").iter_rows(named=True):
        ends = row["ci_low"], row["ci_high"]
        if None in ends:
            missing += 1
            assert ends == (None, None)
        else:
            assert ends[1] - ends[0] > 20.0, row
            assert ends[0] < row["rating"] < ends[1]
    said = " ".join(board.warnings)
    if name.startswith("one model in one cluster"):
        assert missing == 1
        assert "no interval for x: its battles, or the baseline's," in said
    assert ("no interval" in said) == bool(missing)
    if kind in ("percentile", "bca") and name == "loses nearly always":
        assert board.ci_method == "sandwich"
        assert "no finite estimate" in said
    if kind != "sandwich" and name.startswith("wins"):
        assert "so that no data bound it" in said
    for pair in differences(league, interval="sandwich", **_without(options)).table.iter_rows(named=True):
        assert pair["standard_error"] is None or pair["standard_error"] > 1.0
        assert (pair["standard_error"] is None) == (pair["p_value"] is None) == (pair["ci_low"] is None)


def _without(options: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name != "replicates"}


@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("clusters", [1, 2, 4, 19, 20])
@pytest.mark.parametrize("model", ["plain", "ties", "covariates"])
def test_few_clusters_are_told_by_every_model(model: str, clusters: int, kind: str):
    options = {"cluster": True, "interval": kind, "replicates": 60, "baseline": "y"}
    league = clustered(clusters)
    if model == "plain":
        found = rank(league, **options).warnings
    elif model == "ties":
        found = tied(league, **options).warnings
    else:
        found = contextual(league, ["detail"], **options).warnings
    if kind == "sandwich":
        assert any("degrees of freedom" in one for one in found) == (2 <= clusters < 5)
    else:
        assert any("fewer than 20 clusters" in one for one in found) == (clusters < 20)


@pytest.mark.parametrize("kind", ["percentile", "bca"])
@pytest.mark.parametrize(("confidence", "least"), [(0.95, 39), (0.9, 19), (0.99, 199)])
def test_the_least_number_of_replicates_is_named_and_enough(kind: str, confidence: float, least: int):
    league = battles(REST + [WIN, LOSS] * 20)
    few = rank(league, replicates=least - 1, confidence=confidence, interval=kind)
    assert few.table["ci_low"].null_count() == 4
    assert few.warnings == (
        f"no interval: {least - 1} replicates are too few for a {100 * confidence:g}% interval (at least {least})",
    )
    if kind == "percentile":
        assert rank(league, replicates=least, confidence=confidence).table["ci_low"].null_count() == 0


def bottom_model(wins: float, matches: int, leagues: int) -> tuple[int, int, int]:
    """Leagues of five models whose last one wins so many of its matches, as expected.

    Returns: those whose interval of it holds the truth; those where the percentiles of the finite replicates alone do; and all
    that have finite ratings.
    """
    truth = np.array([0.4, 0.2, 0.0, -0.2, math.log(wins / (matches - wins))])
    held = held_without = rated = 0
    rng = np.random.default_rng(5)
    for number in range(leagues):
        a = np.append(rng.integers(0, 4, 300), np.full(matches, 4))
        b = np.append((a[:300] + rng.integers(1, 4, 300)) % 4, rng.integers(0, 4, matches))
        won = rng.random(len(a)) < 1 / (1 + np.exp(truth[b] - truth[a]))
        rows = pl.DataFrame({"model_a": a, "model_b": b, "winner": np.where(won, "model_a", "model_b")})
        league = Battles.from_frame(rows.with_columns(pl.col("model_a", "model_b").cast(pl.String)))
        if league.cells.components().any():
            continue
        rated += 1
        points = 400 / math.log(10) * (truth[4] - truth[2]) + 1000
        low, high = (
            rank(league, baseline="2", replicates=500, seed=number).table.filter(model="4").select("ci_low", "ci_high").row(0)
        )
        held += low <= points <= high
        held_without += _finite_replicates_hold(league, number, truth[4] - truth[2])
    return held, held_without, rated


def _finite_replicates_hold(league: Battles, seed: int, gap: float) -> bool:
    from salon_ranking import _core, fit

    estimate = fit(league).log_strengths
    drawn = _core.bootstrap(league.cells, estimate, 2, 500, seed, False, 2, 0.0, 1e-9, 100).log_strengths
    low, high = np.nanquantile(drawn[:, 4] - drawn[:, 2], [0.025, 0.975])
    return bool(low <= gap <= high)


@pytest.mark.study
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("wins", [0.9, 1.0])
def test_the_bottom_model_is_covered_although_many_replicates_have_no_finite_estimate(
    wins: float,
):
    held, held_without, rated = bottom_model(wins, 40, 1_000)
    shares = f"{held / rated:.1%}; by finite replicates alone {held_without / rated:.1%}; {rated} leagues"
    sys.stdout.write(f"\nbottom model, {wins:g} wins of 40 expected: {shares}\n")
    assert held / rated >= 0.93
    assert held_without <= held


def test_the_bottom_model_of_a_few_leagues_is_covered_although_many_replicates_have_no_finite_estimate():
    held, _, rated = bottom_model(1.0, 40, 60)
    assert held / rated >= 0.88

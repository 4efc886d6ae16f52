"""CR2 and Satterthwaite's degrees of freedom: the core against its long form, and what they promise about few clusters."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sandwich import league
from twins import reference_clusters

from salon_ranking import Battles, _core, compare_votes, differences, rank
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ratings import fitted
from salon_ranking.uncertainty.sandwich import Clustering, inverse_curvature, prior_of

MODELS = {
    "half": {},
    "davidson": {"ties": "davidson"},
    "rao-kupper": {"ties": "rao-kupper"},
    "prior": {"prior_ties": 0.7},
    "davidson and a prior": {"ties": "davidson", "prior_ties": 1.0},
    "firth": {"estimator": "firth"},
    "covariates": {"covariates": ["side_a_shown", "detail"], "ridge": 0.5},
}


def clustering(frame: pl.DataFrame, options: dict[str, object], weight: str | None = None) -> Clustering:
    battles = Battles.from_frame(frame, cluster_by="prompt_id", weight=weight)
    (one,) = fitted(battles, FitOptions(**options), clustered=True).leagues
    prior = prior_of(one.likelihood, one.estimate.values)
    rows = one.likelihood.at(one.estimate.values).by_row()
    return Clustering(rows, one.likelihood.row_groups[0], inverse_curvature(rows, prior, rows.models), prior)


def arguments(one: Clustering) -> tuple[tuple, tuple]:
    """What the core and its twin get for the products, and for the degrees of freedom of all differences and parameters."""
    count, models = len(one.bread), one.rows.models
    unit = np.eye(count)
    contrasts = [unit[a] - unit[b] for a in range(models) for b in range(a)] + list(unit[models:])
    reaches = np.ascontiguousarray(np.array(contrasts) @ one.bread)
    products = (models, one.rows.rows, one._design, one.group, one.bread, one.prior)
    return products, (models, one._design, one.clusters, one.bread, one.prior, reaches, 2)


@pytest.mark.parametrize("name", MODELS)
@given(st.integers(0, 500), st.integers(2, 30), st.booleans())
@settings(max_examples=8, deadline=None)
def test_the_core_is_the_long_form(name: str, seed: int, prompts: int, weights: bool):
    rng = np.random.default_rng(seed)
    frame = league(160, seed, prompts=prompts, weights=True).with_columns(
        side_a_shown=pl.Series(rng.choice(["left", "right"], 160)),
        detail=pl.Series(rng.normal(size=160)),
        # One cluster dominates, as often as not.
        prompt_id=pl.Series(np.where(rng.random(160) < rng.choice([0.0, 0.5]), 0, rng.integers(0, prompts, 160))),
    )
    try:
        one = clustering(frame, MODELS[name], "weight" if weights else None)
    except Exception as error:  # noqa: BLE001 - leagues that have no finite estimate are of no interest here
        assert type(error).__name__ == "UnratableError"
        return
    products, degrees = arguments(one)
    expected = reference_clusters.corrected_products(*products)
    assert _core.corrected_products(*products) == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())
    assert _core.contrast_degrees(*degrees) == pytest.approx(
        reference_clusters.contrast_degrees(*degrees), rel=1e-7, nan_ok=True
    )


def test_beyond_the_heaviest_clusters_degrees_are_right_to_a_hundredth():
    products, degrees = arguments(clustering(league(900, 1, prompts=80), {}))
    assert _core.corrected_products(*products) == pytest.approx(reference_clusters.corrected_products(*products), abs=1e-9)
    assert _core.contrast_degrees(*degrees) == pytest.approx(reference_clusters.contrast_degrees(*degrees), rel=0.01)


def test_many_like_clusters_have_the_same_wide_t_for_all_contrasts():
    products, degrees = arguments(clustering(league(30_000, 1, prompts=10_000), {}))
    found = _core.contrast_degrees(*degrees)
    assert np.ptp(found) == 0.0
    assert 1000 <= found[0] <= 9_999
    assert _core.corrected_products(*products).shape == (5, 5)


def concentrated(clusters: tuple[int, ...]) -> pl.DataFrame:
    """A league over 20 clusters in which m0 plays in some of them."""
    plays = (pl.col("model_a") == "m0") | (pl.col("model_b") == "m0")
    own = pl.lit(pl.Series(clusters)).gather(pl.int_range(pl.len()) % len(clusters))
    return league(1_500, 3).with_columns(prompt_id=pl.when(plays).then(own).otherwise(pl.col("prompt_id")))


def test_a_model_of_few_clusters_has_few_degrees_of_freedom_and_the_board_says_so():
    for clusters in ((0, 7), (0, 7, 11), (1, 5, 9, 13, 17)):
        battles = Battles.from_frame(concentrated(clusters), cluster_by="prompt_id")
        board = rank(battles, interval="sandwich", baseline="m1")
        degrees = dict(board.table.select("model", "degrees").iter_rows())
        assert len(clusters) - 1 - 0.3 < degrees["m0"] < len(clusters) + 2.0
        assert degrees["m2"] > 10
        assert degrees["m1"] is None  # the baseline
        assert f"{degrees['m0']:.1f}".removesuffix(".0") + " to " in board.header
        assert any("degrees of freedom for some intervals" in one for one in board.warnings) == (degrees["m0"] < 4)
        pairs = differences(battles, interval="sandwich")
        own = pairs.table.filter((pl.col("model_a") == "m0") | (pl.col("model_b") == "m0"))["degrees"]
        assert own.max() < len(clusters) + 3.0
        reach = (pairs.table["ci_high"] - pairs.table["ci_low"]) / 2 / pairs.table["standard_error"]
        assert reach.to_list() == pytest.approx([_quantile(value) for value in pairs.table["degrees"]], rel=1e-6)


def _quantile(degrees: float) -> float:
    stats = pytest.importorskip("scipy.stats")
    return float(stats.t.ppf(0.975, degrees))


@pytest.mark.parametrize("options", [{}, {"prior_ties": 1.0}, {"ties": "davidson"}, {"estimator": "firth"}], ids=str)
def test_a_model_of_one_cluster_has_no_interval_by_any_model(options: dict[str, object]):
    battles = Battles.from_frame(concentrated((4,)), cluster_by="prompt_id")
    board = rank(battles, interval="sandwich", baseline="m1", **options)
    assert board.table.filter(pl.col("ci_low").is_null())["model"].to_list() == ["m0"]
    pairs = differences(battles, interval="sandwich", **options).table
    assert pairs.filter(pl.col("p_value").is_null()).height == 4
    assert pairs.filter(pl.col("ci_low").is_null()).height == 4


def test_models_that_only_one_cluster_joins_to_the_rest_have_no_interval():
    """m3 and m4 play each other everywhere, and the others in one cluster."""
    pair = pl.col("model_a").is_in(["m3", "m4"]), pl.col("model_b").is_in(["m3", "m4"])
    frame = league(2_000, 5).with_columns(prompt_id=pl.when(pair[0] != pair[1]).then(4).otherwise(pl.col("prompt_id")))
    pairs = differences(Battles.from_frame(frame, cluster_by="prompt_id"), interval="sandwich").table
    apart = pl.col("model_a").is_in(["m3", "m4"]) != pl.col("model_b").is_in(["m3", "m4"])
    assert pairs.filter(apart)["p_value"].null_count() == 6
    assert pairs.filter(~apart)["p_value"].null_count() == 0


def test_the_null_of_replicates_that_lack_a_model_is_kept_by_the_sandwich_in_their_place():
    """m0 plays in one cluster of 20; m1 wins nearly always, so that too many replicates have no finite estimate."""
    rng = np.random.default_rng(8)
    prompt = np.repeat(np.arange(20), 12)
    a, b = rng.integers(1, 4, 240), rng.integers(1, 4, 240)
    rows = [
        (f"m{x}", f"m{y}", p, "model_a" if rng.random() < 0.5 else "model_b")
        for x, y, p in zip(a, b, prompt, strict=True)
        if x != y
    ]
    rows += [("m4", f"m{x}", p, "model_b" if p == 3 else "model_a") for p in range(20) for x in (1, 2)]
    rows += [("m0", f"m{x}", p, w) for p in (2, 5) for x in (1, 2) for w in ("model_a", "model_b") * 2]
    battles = Battles.from_frame(
        pl.DataFrame(rows, ["model_a", "model_b", "prompt", "winner"], orient="row"), cluster_by="prompt"
    )
    board = rank(battles, replicates=400, baseline="m1")
    assert "these intervals are sandwiches instead" in " ".join(board.warnings)
    assert board.table.filter(pl.col("ci_low").is_null())["model"].to_list() == ["m0"]
    assert "in too many replicates no battle joins it to the baseline" in " ".join(board.warnings)


def test_balanced_clusters_have_students_t_with_their_number_less_one():
    """Every cluster has every pair as often, so that the corrections have a closed form."""
    rng = np.random.default_rng(0)
    pairs = [(x, y, p) for p in range(12) for x in "abc" for y in "abc" if x < y for _ in range(8)]
    frame = pl.DataFrame(pairs, ["model_a", "model_b", "prompt"], orient="row")
    frame = frame.with_columns(winner=pl.Series(rng.choice(["model_a", "model_b"], frame.height)))
    board = rank(Battles.from_frame(frame, cluster_by="prompt"), interval="sandwich").table
    assert board["degrees"].drop_nulls().to_list() == pytest.approx([11.0, 11.0], rel=1e-6)


def test_one_heavy_battle_among_light_ones_has_few_degrees_of_freedom():
    frame = league(400, 2).with_columns(weight=pl.when(pl.int_range(pl.len()) % 100 == 0).then(200.0).otherwise(1.0))
    heavy = rank(Battles.from_frame(frame, weight="weight"), interval="sandwich", prior_ties=0.1)
    assert heavy.table["degrees"].min() < 4
    assert "few battles weigh most" in " ".join(heavy.warnings)
    same = rank(Battles.from_frame(frame.with_columns(weight=2.0), weight="weight"), interval="sandwich")
    assert "degrees" not in same.table.columns


def test_two_columns_have_the_fewer_degrees_of_freedom_of_both():
    frame = concentrated((0, 7, 11))
    options = {"interval": "sandwich", "baseline": "m1"}
    one, other, both = (
        rank(Battles.from_frame(frame, cluster_by=by), **options).table.sort("model")["degrees"].drop_nulls().to_numpy()
        for by in ("prompt_id", "rater_id", ("prompt_id", "rater_id"))
    )
    assert both == pytest.approx(np.minimum(one, other))


def test_two_sets_of_votes_are_compared_by_the_degrees_of_both():
    now, before = (Battles.from_frame(league(900, seed, prompts=9), cluster_by="prompt_id") for seed in (1, 2))
    other = Battles.from_frame(before.frame.collect().with_columns(prompt_id=pl.col("prompt_id") + 100), cluster_by="prompt_id")
    table = compare_votes(now, other).table
    assert ((table["degrees"] > 8) & (table["degrees"] <= 16)).all()
    reach = ((table["ci_high"] - table["ci_low"]) / 2).to_numpy()
    assert math.isfinite(reach.sum())

"""The pieces of honest intervals: two-way clusters, simultaneous statements, few clusters, and priors."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import critical_value, plain
from twins import reference_uncertainty

from salon_ranking import Battles, OptionError, _core, differences, fit, rank
from salon_ranking.uncertainty.sandwich import inverse_curvature, prior_curvature, sandwich, two_way
from salon_ranking.uncertainty.simultaneous import certain as simultaneous
from salon_ranking.uncertainty.simultaneous import rank_intervals
from salon_ranking.uncertainty.two_way import FLOOR, TwoWay
from salon_ranking.uncertainty.uncertainty import AnalyticUncertainty, ResampledUncertainty

MODELS = 5
BOTH = ("prompt", "rater")


def league(battles: int = 1_500, seed: int = 0, prompts: int = 60, raters: int = 25, spread: float = 0.8) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    prompt, rater = rng.integers(0, prompts, battles), rng.integers(0, raters, battles)
    tastes = rng.normal(size=(prompts, MODELS))[prompt] + rng.normal(size=(raters, MODELS))[rater]
    strength = np.linspace(0.5, -0.5, MODELS) + spread * tastes
    a = rng.integers(0, MODELS, battles)
    b = (a + rng.integers(1, MODELS, battles)) % MODELS
    rows = np.arange(battles)
    won = rng.random(battles) < 1 / (1 + np.exp(strength[rows, b] - strength[rows, a]))
    names = np.array([f"m{number}" for number in range(MODELS)])
    winner = np.where(won, "model_a", "model_b")
    return pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner, "prompt": prompt, "rater": rater})


def parts(battles: Battles) -> tuple[np.ndarray, TwoWay]:
    theta = fit(battles).log_strengths
    return theta, two_way(plain(battles.cells, clustered=True), theta)


def test_the_two_way_covariance_is_the_twins_sum_over_pairs_of_battles():
    battles = Battles.from_frame(league(), cluster_by=BOTH)
    theta = fit(battles).log_strengths
    bread = inverse_curvature(plain(battles.cells).at(theta), 0.0 * theta, len(theta))
    expected = reference_uncertainty.two_way_covariance(battles.cells, theta, bread)
    assert two_way(plain(battles.cells, clustered=True), theta).covariance == pytest.approx(expected, abs=1e-10)


def test_pigeonhole_draws_vary_as_the_theory_says_and_carried_over_as_they_should():
    battles = Battles.from_frame(league(6_000, spread=0.0), cluster_by=BOTH)
    theta, three = parts(battles)
    drawn = _core.bootstrap(battles.cells, theta, 0, 3000, 1, True, 2, 0.0, 1e-9, 100).log_strengths
    carried = three.carried_over(drawn, theta, MODELS)
    sums = three.by_first + three.by_second + three.by_crossing
    assert np.diag(np.cov(drawn.T)) == pytest.approx(np.diag(sums), rel=0.2)
    assert np.diag(np.cov(carried.T)) == pytest.approx(np.diag(three.covariance), rel=0.2)
    assert np.diag(np.cov(drawn.T)).mean() > 2.2 * np.diag(three.covariance).mean()


@given(st.integers(0, 200))
@settings(max_examples=25, deadline=None)
def test_a_two_way_covariance_is_never_below_half_that_of_independent_crossings(seed: int):
    _, three = parts(Battles.from_frame(league(300, seed, prompts=8, raters=6, spread=0.1), cluster_by=BOTH))
    rest = np.linalg.eigvalsh(three.covariance - FLOOR * three.by_crossing)
    assert rest.min() > -1e-9 * np.abs(rest).max()


def test_a_map_between_equal_covariances_moves_nothing_and_nan_stays_nan():
    square = np.diag([1.0, 2.0, 3.0, 0.5])
    # With V1 = V2 = 0 draws and target differ only by the corrections for few values.
    huge = 10**9
    same = TwoWay(0.0 * square, 0.0 * square, square, (huge, huge, huge))
    alone = TwoWay(square, square, square, (huge, huge, huge))
    rows = np.array([[1.0, -1.0, 0.5, 0.3], [np.nan, 0.2, -0.2, 0.1]])
    estimate = np.zeros(4)
    moved = alone.carried_over(rows, estimate, 3)
    assert np.isnan(moved[1, 0])
    assert np.isnan(moved).sum() == 1
    centred = rows[0] - np.append(np.full(3, rows[0, :3].mean()), 0.0)
    assert moved[0] == pytest.approx(centred / math.sqrt(3.0), abs=1e-6)  # P = 3 C
    # C would be negative here, and is raised to half of V12, which is half of P.
    assert same.carried_over(rows[:1], estimate, 3)[0] == pytest.approx(centred / math.sqrt(2.0), abs=1e-6)


def test_two_way_intervals_of_many_models_are_refused_like_other_matrices():
    models = np.array([f"m{number:05d}" for number in range(4_200)])
    frame = pl.DataFrame({"model_a": models, "model_b": np.roll(models, 1), "winner": "model_a", "prompt": 1, "rater": 2})
    with pytest.raises(OptionError, match="two columns need a matrix"):
        rank(Battles.from_frame(frame, cluster_by=BOTH), cluster=True, replicates=2)


@given(st.integers(0, 500), st.integers(1, 6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_largest_gaps_are_those_of_the_twin(seed: int, models: int, with_nan: bool):
    rng = np.random.default_rng(seed)
    deviations, inverse = rng.normal(size=(7, models)), rng.random((models, models)) * (rng.random((models, models)) < 0.7)
    if with_nan:
        deviations[rng.random(deviations.shape) < 0.3] = np.nan
    assert _core.largest_gaps(deviations, inverse).tolist() == reference_uncertainty.largest_gaps(deviations, inverse).tolist()


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=8), st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_stepping_down_only_adds_certain_pairs_and_contradicts_nothing(estimate: list[float], seed: int):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(len(estimate), len(estimate)))
    spread = AnalyticUncertainty(
        np.arange(len(estimate)), 0, np.array(estimate), covariance=0.05 * root @ root.T + 0.01 * np.eye(len(root))
    )
    one_step = spread.estimate[:, None] - spread.estimate[None, :] > (
        critical_value(spread, 0.95, 400, seed) * spread.difference_errors()
    )
    np.fill_diagonal(one_step, False)
    (certain,) = simultaneous([spread], 0.95, 400, seed)
    assert (certain >= one_step).all()
    assert not (certain & certain.T).any()
    ((best, worst),) = rank_intervals([spread], 0.95, 400, seed)
    assert ((best >= 1) & (best <= worst) & (worst <= len(estimate))).all()


def test_stepping_down_finds_more_where_most_pairs_are_settled():
    apart = np.array([9.0, 6.0, 3.0, 0.372, 0.0])
    spread = AnalyticUncertainty(np.arange(5), 4, apart, covariance=0.01 * np.eye(5))
    gap = 0.372 / spread.difference_errors()[3, 4]
    assert 2.6 < gap < critical_value(spread, 0.95, 4000, 0)
    (certain,) = simultaneous([spread], 0.95, 4000, 0)
    assert certain[3, 4]
    assert not np.tril(certain).any()


def test_nothing_is_certain_when_nothing_is_known():
    spread = ResampledUncertainty(np.arange(3), 0, np.array([5.0, 0.0, -5.0]), replicates=np.empty((0, 3)))
    assert not simultaneous([spread], 0.95, 10, 0)[0].any()
    assert [ends.tolist() for ends in rank_intervals([spread], 0.95, 10, 0)[0]] == [[1, 1, 1], [3, 3, 3]]


@pytest.mark.parametrize("interval", ["percentile", "bca", "sandwich"])
def test_few_clusters_make_intervals_wider_by_students_t(interval: str):
    frame = league(1_000, spread=0.0).with_columns(prompt=pl.int_range(pl.len()) % 6)
    battles = Battles.from_frame(frame, cluster_by="prompt")
    theta = fit(battles).log_strengths
    matrix = sandwich(plain(battles.cells, clustered=True), theta).covariance
    wide = AnalyticUncertainty(np.arange(5), 4, theta, covariance=matrix, degrees=5.0)
    normal = AnalyticUncertainty(np.arange(5), 4, theta, covariance=matrix)
    ratio = (wide.interval(0.95)[1] - theta + theta[4])[:4] / (normal.interval(0.95)[1] - theta + theta[4])[:4]
    assert ratio == pytest.approx(np.full(4, 2.5706 / 1.95996), rel=1e-4)
    table = rank(battles, interval=interval, cluster=True, replicates=2000, baseline="m4").table.sort("model").head(4)
    width = (table["ci_high"] - table["ci_low"]).to_numpy()
    expected = 400 / math.log(10) * 2 * (wide.interval(0.95)[1] - theta + theta[4])[:4]
    assert width == pytest.approx(expected, rel=0.35)
    assert critical_value(wide, 0.95, 2000, 0) > critical_value(normal, 0.95, 2000, 0)


def test_with_a_prior_and_one_battle_the_covariance_is_about_the_posteriors():
    rest = league(2_000, spread=0.0).select("model_a", "model_b", "winner")
    one = pl.DataFrame({"model_a": ["new"], "model_b": ["m2"], "winner": ["model_a"]})
    battles = Battles.from_frame(pl.concat([rest, one]))
    theta = fit(battles, prior_ties=1).log_strengths
    number = battles.models.index("new")
    posterior = inverse_curvature(plain(battles.cells).at(theta), prior_curvature(theta, 1.0), len(theta))
    matrix = sandwich(plain(battles.cells, 1.0), theta).covariance
    assert matrix[number, number] == pytest.approx(posterior[number, number], rel=0.3)


@pytest.mark.parametrize("interval", ["percentile", "sandwich"])
def test_with_a_prior_a_model_that_won_everything_has_no_interval(interval: str):
    rest = league(2_000, spread=0.0).select("model_a", "model_b", "winner")
    wins = pl.DataFrame({"model_a": ["new"] * 10, "model_b": ["m2"] * 10, "winner": ["model_a"] * 10})
    battles = Battles.from_frame(pl.concat([rest, wins]))
    table = rank(battles, interval=interval, prior_ties=1).table
    assert table.filter(pl.col("ci_low").is_null())["model"].to_list() == ["new"]
    tested = differences(battles, interval="sandwich", prior_ties=1).table.filter(pl.col("p_value").is_null())
    assert set(tested["model_a"]) == {"new"}


def test_with_many_battles_a_prior_leaves_the_sandwich_alone():
    battles = Battles.from_frame(league(20_000, spread=0.0))
    tables = [rank(battles, interval="sandwich", prior_ties=prior, baseline="m4").table.sort("model") for prior in (0.0, 1.0)]
    widths = [(table["ci_high"] - table["ci_low"]).to_numpy()[:4] for table in tables]
    assert widths[1] == pytest.approx(widths[0], rel=0.01)

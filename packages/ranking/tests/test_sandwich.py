"""Sandwich intervals, BCa accelerations, and two-way clusters: against their NumPy twin and against brute force."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import plain
from twins import numpy_core, reference_uncertainty

from salon_ranking import (
    BattleError,
    Battles,
    GrowingLeague,
    OptionError,
    UnratableError,
    _core,
    bca_interval,
    fit,
    percentile_interval,
    rank,
)
from salon_ranking.uncertainty.sandwich import accelerations, inverse_curvature, sandwich

MODELS = 5


def league(battles: int = 400, seed: int = 0, prompts: int = 20, raters: int = 8, weights: bool = False) -> pl.DataFrame:
    """Votes among five models by raters on prompts; prompts and raters have tastes of their own."""
    rng = np.random.default_rng(seed)
    prompt, rater = rng.integers(0, prompts, battles), rng.integers(0, raters, battles)
    tastes = [rng.normal(size=(prompts, MODELS)), rng.normal(size=(raters, MODELS))]
    strength = np.linspace(0.5, -0.5, MODELS) + 0.7 * tastes[0][prompt] + 0.7 * tastes[1][rater]
    a = rng.integers(0, MODELS, battles)
    b = (a + rng.integers(1, MODELS, battles)) % MODELS
    rows = np.arange(battles)
    won = rng.random(battles) < 1 / (1 + np.exp(strength[rows, b] - strength[rows, a]))
    code = np.where(rng.random(battles) < 0.15, 2, np.where(won, 0, 1))
    names = np.array([f"m{number}" for number in range(MODELS)])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.array(["model_a", "model_b", "tie"])[code],
            "prompt_id": prompt,
            "rater_id": rater,
            "weight": rng.choice([0.5, 1.0, 2.0], battles) if weights else np.ones(battles),
        }
    )


BOTH = ("prompt_id", "rater_id")


@given(st.integers(0, 50), st.sampled_from([0.0, 0.7]))
@settings(max_examples=15, deadline=None)
def test_the_core_and_its_twin_agree_on_every_piece(seed: int, prior_ties: float):
    battles = Battles.from_frame(league(200, seed, weights=True), cluster_by="prompt_id", weight="weight")
    cells, theta = battles.cells, np.random.default_rng(seed).normal(size=MODELS)
    assert _core.information(cells, theta, prior_ties) == pytest.approx(
        reference_uncertainty.information(cells, theta, prior_ties), abs=1e-9
    )
    group = np.arange(cells.clusters, dtype=np.uint32)
    kernel = np.random.default_rng(seed + 1).normal(size=(MODELS, MODELS))
    for chosen in (None, group, group // 3):
        expected = reference_uncertainty.score_products(cells, theta, chosen)
        assert _core.score_products(cells, theta, chosen) == pytest.approx(expected, abs=1e-9)
        influence = reference_uncertainty.grouped_scores(cells, theta, chosen) @ kernel
        assert _core.third_moments(cells, theta, kernel, chosen) == pytest.approx((influence**3).sum(axis=0), abs=1e-8)


def test_two_way_clusters_are_the_inclusion_and_exclusion_of_three_one_way_ones():
    frame = league(3000).with_columns(both=pl.concat_str("prompt_id", "rater_id", separator=" "))
    theta = fit(Battles.from_frame(frame)).log_strengths
    parts = [
        sandwich(plain(Battles.from_frame(frame, cluster_by=column).cells, clustered=True), theta).covariance
        for column in ("prompt_id", "rater_id", "both")
    ]
    two_way = sandwich(plain(Battles.from_frame(frame, cluster_by=BOTH).cells, clustered=True), theta).covariance
    assert two_way == pytest.approx(parts[0] + parts[1] - parts[2], abs=1e-12)


def test_a_two_way_covariance_has_no_negative_eigenvalue():
    for seed in range(20):
        battles = Battles.from_frame(league(60, seed, prompts=6, raters=5), cluster_by=BOTH)
        theta = fit(battles, prior_ties=1).log_strengths
        assert np.linalg.eigvalsh(sandwich(plain(battles.cells, 1.0, clustered=True), theta).covariance).min() > -1e-12


@pytest.mark.parametrize("cluster_by", [None, "prompt_id", BOTH])
def test_sandwich_and_bootstrap_intervals_have_like_widths_where_clusters_are_many(cluster_by: str | tuple[str, ...] | None):
    battles = Battles.from_frame(league(40_000, prompts=150, raters=150), cluster_by=cluster_by)
    tables = [
        rank(battles, interval=kind, cluster=cluster_by is not None, replicates=800, baseline="m4").table.head(MODELS - 1)
        for kind in ("sandwich", "percentile")
    ]
    widths = [(table["ci_high"] - table["ci_low"]).to_numpy() for table in tables]
    assert np.abs(widths[0] / widths[1] - 1).max() < 0.12


def test_the_baselines_sandwich_has_no_width_and_its_uncertainty_is_in_the_others():
    frame = league(2000)
    rare = frame.filter((pl.col("model_a") != "m4") & (pl.col("model_b") != "m4") | (pl.int_range(pl.len()) % 10 == 0))
    boards = {base: rank(Battles.from_frame(rare), interval="sandwich", baseline=base).table for base in ("m0", "m4")}
    for base, table in boards.items():
        row = table.row(by_predicate=pl.col("model") == base, named=True)
        assert (row["ci_low"], row["rating"], row["ci_high"]) == (1000.0, 1000.0, 1000.0)
    widths = {
        base: table.select("model", width=pl.col("ci_high") - pl.col("ci_low")).filter(pl.col("model") == "m2")["width"][0]
        for base, table in boards.items()
    }
    assert widths["m4"] > 1.5 * widths["m0"]


def leave_one_out_acceleration(groups: list[pl.DataFrame], base: str) -> np.ndarray:
    ratings = []
    for left_out in range(len(groups)):
        kept = pl.concat([group for number, group in enumerate(groups) if number != left_out])
        ratings.append(fit(Battles.from_frame(kept), baseline=base, tolerance=1e-12).ratings)
    gaps = np.mean(ratings, axis=0) - np.array(ratings)
    squares = (gaps**2).sum(axis=0)
    return np.divide((gaps**3).sum(axis=0), 6 * squares**1.5, out=np.zeros(MODELS), where=squares > 0)


@pytest.mark.parametrize("clustered", [False, True])
def test_accelerations_are_those_of_leaving_each_out_and_fitting_again(clustered: bool):
    frame = league(400, seed=3)
    groups = frame.partition_by("prompt_id") if clustered else [frame.slice(row, 1) for row in range(frame.height)]
    battles = Battles.from_frame(frame, cluster_by="prompt_id")
    theta = fit(battles).log_strengths
    ours = accelerations(plain(battles.cells, clustered=clustered), theta, 4)
    assert ours == pytest.approx(leave_one_out_acceleration(groups, "m4"), abs=0.02 if clustered else 0.002)
    assert ours[4] == 0.0


def test_bca_without_bias_and_skewness_is_the_percentile_interval():
    drawn = np.random.default_rng(0).normal(size=(501, 3))
    centre = np.median(drawn, axis=0)
    corrected = bca_interval(drawn, centre, np.zeros(3), 0.9)
    plain = percentile_interval(drawn, 0.9)
    assert corrected[0] == pytest.approx(plain[0], abs=0.02)
    assert corrected[1] == pytest.approx(plain[1], abs=0.02)


def test_bca_is_what_scipy_says():
    stats = pytest.importorskip("scipy.stats")
    sample = np.random.default_rng(5).exponential(size=40)
    theirs = stats.bootstrap((sample,), np.mean, method="BCa", n_resamples=4000, rng=np.random.default_rng(1))
    centred = sample - sample.mean()
    acceleration = np.array([(centred**3).sum() / (6 * (centred**2).sum() ** 1.5)])
    ours = bca_interval(theirs.bootstrap_distribution[:, None], np.array([sample.mean()]), acceleration, 0.95)
    assert (ours[0][0], ours[1][0]) == pytest.approx(tuple(theirs.confidence_interval), abs=2e-3)


def test_bca_shifts_towards_the_long_tail():
    drawn = np.random.default_rng(2).normal(size=(2000, 1))
    low, high, _ = bca_interval(drawn, np.zeros(1), np.array([0.1]), 0.95)
    plain = percentile_interval(drawn, 0.95)
    assert low[0] > plain[0][0]
    assert high[0] > plain[1][0]


@given(st.lists(st.one_of(st.floats(-9, 9), st.just(float("nan"))), max_size=60), st.floats(-2, 2), st.floats(-9, 9))
def test_bca_ends_are_in_order_and_within_the_replicates(values: list[float], acceleration: float, estimate: float):
    column = np.array(values, dtype=float)[:, None]
    low, high, used = bca_interval(column, np.array([estimate]), np.array([acceleration]), 0.9)
    if not np.isnan(low[0]):
        assert np.nanmin(column) <= low[0]
    if not np.isnan(high[0]):
        assert high[0] <= np.nanmax(column)
    if used[0] == len(values) and not np.isnan([low[0], high[0]]).any():
        assert low[0] <= high[0] + 1e-9


def test_inverse_information_is_the_pseudo_inverse_without_a_prior():
    battles = Battles.from_frame(league())
    theta = fit(battles).log_strengths
    expected = np.linalg.pinv(reference_uncertainty.information(battles.cells, theta, 0.0), rcond=1e-10)
    assert inverse_curvature(plain(battles.cells).at(theta), 0.0 * theta, len(theta)) == pytest.approx(expected, abs=1e-12)


def test_a_curvature_that_cannot_be_inverted_is_refused():
    heavy, faint = 1e9, 1e-9
    curvature = np.array([[heavy, -heavy, 0.0], [-heavy, heavy + faint, -faint], [0.0, -faint, faint]])
    with pytest.raises(UnratableError, match="say too little"):
        inverse_curvature(SimpleNamespace(curvature=lambda: curvature), np.zeros(3), 3)


def faint_to(model: str, weight: float) -> pl.DataFrame:
    has = (pl.col("model_a") == model) | (pl.col("model_b") == model)
    return league().with_columns(weight=pl.when(has).then(weight).otherwise(1.0))


def test_weights_a_million_times_apart_give_the_intervals_that_the_rest_would_give():
    few = rank(Battles.from_frame(faint_to("m0", 1e-6), weight="weight"), interval="sandwich", baseline="m1").table
    rest = league().filter((pl.col("model_a") != "m0") & (pl.col("model_b") != "m0"))
    # Weights that differ, by next to nothing, have degrees of freedom as well.
    rest = rest.with_columns(weight=pl.when(pl.int_range(pl.len()) == 0).then(1.0 + 1e-9).otherwise(1.0))
    alone = rank(Battles.from_frame(rest, weight="weight"), interval="sandwich", baseline="m1").table
    both = few.join(alone, on="model")
    # Five parameters fewer or more, and as many battles fewer or more, are in the correction for few battles.
    assert both["ci_low"].to_numpy() == pytest.approx(both["ci_low_right"].to_numpy(), abs=0.2)
    assert few["ci_low"].null_count() == 0


def test_weights_more_than_a_million_times_apart_are_refused_by_name():
    frame = faint_to("m0", 1e-7)
    row = int(frame.with_row_index().filter(weight=1.0)["index"][0]) + 1
    said = f"row {row}, column 'weight': a weight more than 1,000,000 times the smallest one, 1e-07"
    with pytest.raises(BattleError, match=said):
        Battles.from_frame(frame, weight="weight")
    heavy, faint = frame.filter(weight=1.0), frame.filter(weight=1e-7)
    with pytest.raises(BattleError, match="with the battles before, a weight more than 1,000,000 times"):
        GrowingLeague(weight="weight").update(heavy).update(faint)


@pytest.mark.parametrize("interval", ["percentile", "sandwich", "bca", "anytime"])
def test_a_single_cluster_says_nothing_and_the_header_says_so(interval: str):
    battles = Battles.from_frame(league().with_columns(prompt_id=pl.lit(1)), cluster_by="prompt_id")
    board = rank(battles, interval=interval, cluster=True, replicates=20)
    assert board.table["ci_low"].null_count() == MODELS
    assert "no interval is known" in board.header


def test_the_board_says_how_its_intervals_were_made():
    battles = Battles.from_frame(league(), cluster_by=BOTH)
    board = rank(battles, interval="sandwich", cluster=True)
    assert board.ci_method == "sandwich clustered by prompt_id and rater_id"
    assert (board.replicates, board.degenerate) == (0, 0)
    assert "replicates" not in board.header
    assert rank(battles, interval="bca", cluster=False, replicates=30).ci_method == "BCa bootstrap over battles"
    assert board.records()["confidence"].unique().to_list() == [0.95]


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_two_way_draws_give_the_same_bits_on_any_number_of_threads(interval: str):
    by = BOTH if interval == "percentile" else "prompt_id"
    battles = Battles.from_frame(league(), cluster_by=by)
    tables = [rank(battles, cluster=True, replicates=60, threads=threads, interval=interval).table for threads in (1, 3)]
    assert tables[0].equals(tables[1])


def test_the_two_way_bootstrap_draws_products_of_both_columns():
    battles = Battles.from_frame(league(2000), cluster_by=BOTH)
    first, second = _core.crossing(battles.cells)
    assert (first.max(), second.max()) == (19, 7)
    totals = [sum(battles.cells.resampled(1, index, True)[0]) for index in range(400)]
    assert all(float(total).is_integer() for total in totals)
    assert np.mean(totals) == pytest.approx(2000, rel=0.02)


def test_the_order_of_rows_does_not_change_two_way_intervals():
    frame = league()
    boards = [
        rank(Battles.from_frame(rows, cluster_by=BOTH), cluster=True, replicates=40)
        for rows in (frame, frame.sample(fraction=1.0, shuffle=True, seed=1))
    ]
    assert boards[0].table.equals(boards[1].table)


def test_the_twin_draws_two_way_too():
    battles = Battles.from_frame(league(3000), cluster_by=BOTH)
    boards = [rank(battles, cluster=True, replicates=300, baseline="m4")]
    with numpy_core():
        boards.append(rank(battles, cluster=True, replicates=300, baseline="m4"))
    tables = [board.table.filter(pl.col("model") != "m4").sort("model") for board in boards]
    widths = [(table["ci_high"] - table["ci_low"]).to_numpy() for table in tables]
    assert np.abs(widths[0] / widths[1] - 1).max() < 0.3


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Battles.from_frame(league(), cluster_by=("prompt_id", "rater_id", "weight")), "one column, or two"),
        (lambda: Battles.from_frame(league(), cluster_by=("prompt_id", "prompt_id")), "one column, or two"),
        (lambda: rank(Battles.from_frame(league(), cluster_by=BOTH), cluster=True, interval="bca"), "one column of clusters"),
        (lambda: rank(Battles.from_frame(league()), interval="jackknife"), "interval is unknown"),
    ],
)
def test_wrong_options_are_named(made: object, said: str):
    with pytest.raises(OptionError, match=said):
        made()  # type: ignore[operator]

"""Intervals that hold at every look: the closed form, their duality with p-values, and leagues that are looked at often."""

import math
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_ranking import Battles, differences, rank
from salon_ranking.uncertainty.anytime import LEAST_UNITS, NARROWEST, Anytime


def votes(count: int, models: int = 3, seed: int = 0, gap: float = 0.3) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a = random.integers(0, models, count)
    b = (a + random.integers(1, models, count)) % models
    won = random.random(count) < 1 / (1 + np.exp(-gap * (a - b)))
    names = np.array([f"m{number}" for number in range(models)])
    rater = random.integers(0, 40, count)
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.where(won, "model_a", np.where(random.random(count) < 0.2, "tie", "model_b")),
            "rater_id": [f"r{number}" for number in rater],
        }
    )


def half_width(units: int, narrowest: int, confidence: float) -> float:
    """The boundary of Waudby-Smith et al. (arXiv:2103.06476, theorem 2.2), in standard errors, with ρ tuned as they say."""
    alpha = 1.0 - confidence
    rho = math.sqrt((-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / narrowest)
    return math.sqrt((units * rho**2 + 1) / (units * rho**2) * math.log((units * rho**2 + 1) / alpha**2))


@pytest.mark.parametrize("options", [{}, {"ties": "davidson"}, {"estimator": "firth"}, {"prior_ties": 1.0}])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_of_battles_reach_as_far_as_the_formula_says(options, confidence):
    battles = Battles.from_frame(votes(400))
    table = rank(battles, interval="anytime", confidence=confidence, **options).table.filter(
        pl.col("ci_low") < pl.col("ci_high")
    )
    reach = (table["ci_high"] - table["ci_low"]) / 2 / table["standard_error"]
    assert reach.to_list() == pytest.approx([half_width(400, NARROWEST[False], confidence)] * table.height, rel=1e-9)
    once = rank(battles, interval="sandwich", confidence=confidence, **options).table
    assert table["standard_error"].to_list() == once.filter(pl.col("ci_low") < pl.col("ci_high"))["standard_error"].to_list()


def test_of_clusters_they_reach_as_far_on_students_t():
    from scipy.stats import norm, t

    battles = Battles.from_frame(votes(900), cluster_by="rater_id")
    table = rank(battles, interval="anytime").table.drop_nulls("degrees")
    normal = half_width(40, NARROWEST[True], 0.95)
    wanted = [t.isf(norm.sf(normal), degrees) for degrees in table["degrees"]]
    reach = (table["ci_high"] - table["ci_low"]) / 2 / table["standard_error"]
    assert reach.to_list() == pytest.approx(wanted, rel=1e-7)


@given(st.integers(20, 10**6), st.booleans(), st.floats(0.5, 0.999), st.floats(1.0, 200.0) | st.just(math.inf))
def test_a_p_value_is_below_alpha_where_the_interval_excludes_0(units, clustered, confidence, degrees):
    look = Anytime(units, clustered, confidence)
    reach = look.reaches(np.array([degrees]))
    if math.isfinite(reach[0]) and reach[0] < 1e6:
        at, below, above = (look.tails(reach * factor, degrees)[0] for factor in (1.0, 0.999, 1.001))
        assert at == pytest.approx(1.0 - confidence, rel=1e-6) and above <= at <= below
    assert look.tails(np.array([0.0, math.nan]), degrees)[0] == 1.0
    assert look.reach > NormalDist().inv_cdf(0.5 + confidence / 2)


def test_intervals_are_narrowest_beside_those_of_one_look_at_the_number_that_is_named():
    reaches = {units: Anytime(units, False, 0.95).reach for units in (30, 100, 300, 1_000, 3_000, 30_000)}
    assert min(reaches, key=reaches.__getitem__) == NARROWEST[False]
    assert {units: round(reach / 1.96, 2) for units, reach in reaches.items()} == {
        30: 1.97,
        100: 1.62,
        300: 1.55,
        1_000: 1.59,
        3_000: 1.65,
        30_000: 1.82,
    }


@pytest.mark.parametrize("column", [None, "rater_id"])
def test_before_twenty_battles_or_clusters_there_is_none(column):
    frame = votes(300).with_columns(rater_id=pl.int_range(300) % (LEAST_UNITS - 1)).cast({"rater_id": pl.String})
    few = frame if column else frame.head(LEAST_UNITS - 1)
    battles = Battles.from_frame(few, cluster_by=column)
    board = rank(battles, interval="anytime", prior_ties=1.0)
    assert "95% interval: anytime sandwich" in board.header and "(holds at every look)" in board.header
    assert board.table["ci_low"].null_count() == 3 and "too few for an interval that holds at every look" in str(board.warnings)
    assert differences(battles, interval="anytime", prior_ties=1.0).table["p_holm"].null_count() == 3


def test_ranks_of_all_looks_contain_those_of_one():
    battles = Battles.from_frame(votes(900, models=6))
    always, once = (rank(battles, interval=interval, ranks=True).table.sort("model") for interval in ("anytime", "sandwich"))
    assert (always["rank_low"] <= once["rank_low"]).all() and (always["rank_high"] >= once["rank_high"]).all()
    assert (always["rank_low"] > 1).any()


def test_a_covariates_test_holds_at_every_look_too():
    frame = votes(800).with_columns(
        side_a_shown=pl.when(pl.int_range(800) % 2 == 0).then(pl.lit("left")).otherwise(pl.lit("right"))
    )
    always, once = (
        rank(Battles.from_frame(frame), interval=interval, covariates=["side_a_shown"]).position_bias.row(0, named=True)
        for interval in ("anytime", "sandwich")
    )
    assert always["p_value"] > once["p_value"] and always["ci_low"] < once["ci_low"] and always["z"] == once["z"]


def test_two_equal_models_that_are_looked_at_often_are_rarely_told_apart():
    """The study (`python -m studies.looking`) in small: 40 leagues of 600 votes, looked at every 40."""
    wrong = dict.fromkeys(("sandwich", "anytime"), 0)
    for seed in range(40):
        frame = votes(600, models=2, seed=seed, gap=0.0)
        looks = [Battles.from_frame(frame.head(count)) for count in range(40, 601, 40)]
        for interval in wrong:
            tables = [differences(battles, interval=interval).table for battles in looks]
            wrong[interval] += any(low is not None and low > 0 for table in tables for low in table["ci_low"])
    assert wrong["sandwich"] >= 6 and wrong["anytime"] <= 1, wrong


def test_ranks_do_not_depend_on_replicates_that_nobody_draws():
    battles = Battles.from_frame(votes(900, models=6))
    boards = [rank(battles, interval="anytime", ranks=True, replicates=count).table for count in (0, 1, 10, 1000)]
    assert all(board.equals(boards[0]) for board in boards)


def test_a_tiny_confidence_ends_in_an_interval_and_groups_are_refused():
    from salon_ranking import OptionError, compare_groups, listing

    frame = votes(400).with_columns(mode=pl.when(pl.int_range(400) % 2 == 0).then(pl.lit("one")).otherwise(pl.lit("two")))
    battles = Battles.from_frame(frame)
    assert rank(battles, interval="anytime", confidence=1e-17).table["ci_low"].null_count() == 0
    with pytest.raises(OptionError, match="not at every look"):
        compare_groups(battles, "mode", interval="anytime")
    needed = [
        listing(rank(battles, interval=interval, baseline="m0"), battles).drop_nulls("matches_needed")
        for interval in ("sandwich", "anytime")
    ]
    ratio = (needed[1]["matches_needed"] / needed[0]["matches_needed"]).to_numpy()
    assert (ratio > (half_width(400, NARROWEST[False], 0.95) / 1.96) ** 2).all()

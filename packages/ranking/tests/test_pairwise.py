"""Differences of any two models, Holm's correction, and simultaneous rank intervals."""

import numpy as np
import polars as pl
import pytest
from ranked import critical_value

from salon_ranking import Battles, OptionError, differences, fit, rank
from salon_ranking.uncertainty.simultaneous import rank_intervals
from salon_ranking.uncertainty.uncertainty import AnalyticUncertainty, ResampledUncertainty


def league(models: int = 6, battles: int = 3000, seed: int = 0, width: float = 1.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    strength = np.linspace(width, -width, models)
    a = rng.integers(0, models, battles)
    b = (a + rng.integers(1, models, battles)) % models
    won = rng.random(battles) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array([f"m{number}" for number in range(models)])
    return pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b")})


VOTES = Battles.from_frame(league())


@pytest.mark.parametrize("interval", ["percentile", "sandwich"])
def test_every_pair_has_a_difference_with_an_interval_around_it(interval: str):
    found = differences(VOTES, interval=interval, replicates=400)
    assert found.table.height == 15
    ratings = dict(zip(VOTES.models, fit(VOTES).ratings, strict=True))
    for row in found.table.iter_rows(named=True):
        assert row["difference"] == pytest.approx(ratings[row["model_a"]] - ratings[row["model_b"]])
        assert row["ci_low"] < row["difference"] < row["ci_high"]
        assert row["difference"] >= 0
        assert row["significant"] == (row["p_holm"] < 0.05)


def test_a_difference_to_the_baseline_has_the_width_of_the_rating():
    board = rank(VOTES, baseline="m5", interval="sandwich").table
    table = differences(VOTES, interval="sandwich").table.filter(pl.col("model_b") == "m5")
    widths = dict(table.select("model_a", pl.col("ci_high") - pl.col("ci_low")).iter_rows())
    for row in board.head(5).iter_rows(named=True):
        assert widths[row["model"]] == pytest.approx(row["ci_high"] - row["ci_low"])


def test_the_standard_errors_of_bootstrap_and_sandwich_agree():
    errors = [differences(VOTES, interval=kind).table["standard_error"].to_numpy() for kind in ("percentile", "sandwich")]
    assert np.abs(errors[0] / errors[1] - 1).max() < 0.1


def test_the_matrix_of_significance_is_antisymmetric():
    matrix = differences(VOTES, interval="sandwich").matrix()
    values = matrix.drop("model").to_numpy()
    assert matrix["model"][0] == "m0"
    assert np.isnan(np.diag(values)).all()
    off = ~np.eye(6, dtype=bool)
    assert (values[off] == -values.T[off]).all()
    assert values[0, 5] == 1


def test_degenerate_replicates_are_counted_and_shown():
    thin = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "model_a"]})
    found = differences(Battles.from_frame(thin), replicates=100)
    assert 30 < found.degenerate < 70
    assert f"{found.degenerate} degenerate replicates" in found.header


def test_models_that_are_each_alone_have_no_differences():
    won = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]})
    found = differences(Battles.from_frame(won), interval="sandwich", components="separate")
    assert (found.table.height, found.matrix().height) == (0, 0)
    assert "0 pairs" in found.header


def test_a_model_called_model_keeps_its_column():
    frame = league(3, 300).with_columns(pl.col("model_a", "model_b").str.replace("m0", "model"))
    assert differences(Battles.from_frame(frame), interval="sandwich").matrix().columns == ["model_", "model", "m1", "m2"]


def test_pairs_of_different_components_have_no_difference():
    apart = pl.concat([league(3, 300), league(3, 300).with_columns(pl.col("model_a", "model_b").str.replace("m", "n"))])
    found = differences(Battles.from_frame(apart), interval="sandwich", components="separate")
    assert found.table.height == 6
    assert found.matrix().filter(pl.col("model") == "m0")["n1"].to_list() == [None]


def test_differences_refuse_bca_and_a_single_replicate():
    for options, said in (({"interval": "bca"}, "no BCa"), ({"replicates": 1}, "at least 2")):
        with pytest.raises(OptionError, match=said):
            differences(VOTES, **options)


@pytest.mark.parametrize("interval", ["percentile", "bca", "sandwich", "anytime"])
def test_rank_intervals_hold_the_rank_and_are_asked_for(interval: str):
    board = rank(VOTES, interval=interval, ranks=True, replicates=300)
    table = board.table
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()
    assert "rank intervals: simultaneous" in board.header
    assert "rank_low" not in rank(VOTES, interval=interval, replicates=10).table.columns


def test_rank_intervals_need_intervals():
    with pytest.raises(OptionError, match="rank intervals need"):
        rank(VOTES, replicates=0, ranks=True)


def test_clear_gaps_give_certain_ranks_and_even_models_share_all_of_them():
    clear = rank(Battles.from_frame(league(4, 20_000, width=2.0)), interval="sandwich", ranks=True).table
    assert clear["rank_low"].to_list() == clear["rank_high"].to_list() == [1, 2, 3, 4]
    even = rank(Battles.from_frame(league(4, 200, width=0.0)), interval="sandwich", ranks=True).table
    assert even["rank_low"].to_list() == [1] * 4
    assert even["rank_high"].to_list() == [4] * 4


def test_the_critical_value_is_that_of_the_studentized_range():
    stats = pytest.importorskip("scipy.stats")
    spread = AnalyticUncertainty(np.arange(6), 0, np.zeros(6), covariance=np.eye(6))
    expected = stats.studentized_range.ppf(0.95, 6, np.inf) / np.sqrt(2)
    assert critical_value(spread, 0.95, 40_000, 0) == pytest.approx(expected, rel=0.02)


def test_a_model_that_hardly_any_replicate_has_is_certain_of_no_rank():
    estimate = np.array([1.0, 0.0, -1.0])
    drawn = estimate + np.random.default_rng(0).normal(size=(200, 3)) * 0.01
    drawn[1:, 2] = np.nan
    ((best, worst),) = rank_intervals([ResampledUncertainty(np.arange(3), 0, estimate, replicates=drawn)], 0.95, 0, 0)
    assert (best.tolist(), worst.tolist()) == ([1, 2, 1], [2, 3, 3])


@pytest.mark.slow
def test_simultaneous_rank_intervals_hold_all_ranks_in_at_least_95_percent_of_leagues():
    strengths, held = np.linspace(0.2, -0.2, 5), 0
    rng = np.random.default_rng(0)
    for _ in range(60):
        a = rng.integers(0, 5, 1500)
        b = (a + rng.integers(1, 5, 1500)) % 5
        won = rng.random(1500) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
        names = np.array(list("abcde"))
        frame = pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b")})
        table = rank(Battles.from_frame(frame), interval="sandwich", ranks=True).table.sort("model")
        truth = np.arange(1, 6)
        held += ((table["rank_low"].to_numpy() <= truth) & (truth <= table["rank_high"].to_numpy())).all()
    assert held >= 54

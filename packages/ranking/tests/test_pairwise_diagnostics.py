"""Win-rate tables, goodness of fit and cycles."""

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_ranking import (
    BattleError,
    Battles,
    OptionError,
    as_matrix,
    cycle_report,
    fit,
    goodness_of_fit,
    win_rates,
)
from salon_ranking.models.ties import outcome_chances


def simulated(seed: int, models: int = 6, each: int = 40, ties: bool = False, model: str = "davidson") -> Battles:
    random = np.random.default_rng(seed)
    theta = np.linspace(0.7, -0.7, models)
    rows = []
    for a, b in combinations(range(models), 2):
        win, tie, loss = outcome_chances(model, np.array([theta[a] - theta[b]]), 1.3)
        if not ties:
            win, tie, loss = win / (win + loss), 0.0 * tie, loss / (win + loss)
        drawn = random.multinomial(each, [win[0], tie[0], loss[0]])
        for count, winner in zip(drawn, ["model_a", "tie", "model_b"], strict=True):
            rows += [(f"m{a}", f"m{b}", winner)] * int(count)
    return Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))


def battles_of(*meetings: tuple[str, str, int, int]) -> Battles:
    rows = [(a, b, winner) for a, b, won, lost in meetings for winner in ["model_a"] * won + ["model_b"] * lost]
    return Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))


def test_win_rates_stand_both_ways_round_with_the_prediction():
    battles = battles_of(("x", "y", 6, 2), ("y", "z", 5, 5))
    ratings = fit(battles)
    rates = win_rates(battles, ratings)
    assert rates.select("model", "opponent", "win_rate").rows() == [
        ("x", "y", 0.75),
        ("y", "x", 0.25),
        ("y", "z", 0.5),
        ("z", "y", 0.5),
    ]
    for row in rates.iter_rows(named=True):
        assert row["predicted"] == pytest.approx(ratings.win_probability(row["model"], row["opponent"]))
    every = win_rates(battles, ratings, every_pair=True)
    assert every.height == 6
    assert every.filter(model="x", opponent="z").select("matches", "win_rate").row(0) == (0.0, None)
    square = as_matrix(every, "predicted")
    assert square.columns == ["model", "x", "y", "z"]
    assert square["x"][0] is None


def test_models_may_be_called_model():
    square = as_matrix(win_rates(battles_of(("model", "opponent", 3, 1))))
    assert square.columns == ["model (row)", "model", "opponent"]


def test_a_tie_fit_predicts_half_a_win_for_ties():
    battles = simulated(0, ties=True)
    fitted = fit(battles, ties="davidson")
    row = win_rates(battles, fitted).filter(model="m0", opponent="m1").row(0, named=True)
    chances = fitted.chances("m0", "m1")
    assert row["predicted"] == pytest.approx(chances.win + chances.tie / 2)


def test_deviance_and_degrees_of_freedom_are_those_of_statsmodels():
    battles = simulated(7)
    found = goodness_of_fit(battles, fit(battles))
    rates = win_rates(battles).filter(pl.col("model") < pl.col("opponent"))
    design = np.zeros((rates.height, 6))
    for row, (a, b) in enumerate(rates.select("model", "opponent").iter_rows()):
        design[row, int(a[1])], design[row, int(b[1])] = 1.0, -1.0
    counts = rates.select("wins", "losses").to_numpy()
    oracle = sm.GLM(counts, design[:, 1:], family=sm.families.Binomial()).fit()
    assert found.deviance == pytest.approx(oracle.deviance)
    assert found.degrees_of_freedom == oracle.df_resid
    influence = oracle.get_influence(observed=False)
    ours = {(a, b): r for a, b, r in found.pairs.select("model", "opponent", "residual").iter_rows()}
    expected = influence.resid_studentized
    for row, (a, b) in enumerate(rates.select("model", "opponent").iter_rows()):
        assert ours[a, b] == pytest.approx(expected[row], rel=1e-6)


@pytest.mark.parametrize("kind", ["plain", "davidson", "rao-kupper"])
def test_p_values_are_uniform_when_the_model_holds(kind: str):
    values = []
    for seed in range(60):
        battles = simulated(seed, each=400, ties=kind != "plain", model=kind if kind != "plain" else "davidson")
        ratings = fit(battles) if kind == "plain" else fit(battles, ties=kind)  # type: ignore[arg-type]
        values.append(goodness_of_fit(battles, ratings).p_value)
    assert all(value is not None for value in values)
    ordered = np.sort(np.array(values, dtype=float))
    # Kolmogorov-Smirnov distance; 1.63/√n is its 99% quantile.
    distance = np.abs(ordered - (np.arange(60) + 0.5) / 60).max()
    assert distance < 1.63 / math.sqrt(60)


def test_a_pair_that_goes_against_the_model_is_named_first():
    battles = battles_of(
        ("a", "b", 30, 10), ("b", "c", 30, 10), ("c", "d", 30, 10), ("b", "d", 32, 8), ("a", "d", 5, 35), ("a", "c", 30, 10)
    )
    found = goodness_of_fit(battles, fit(battles))
    assert found.pairs.row(0)[:2] == ("a", "d")
    assert found.pairs["residual"][0] < -4
    assert found.p_value is not None
    assert found.p_value < 1e-6


def test_no_p_value_where_chi_squared_does_not_hold():
    tied = simulated(0, ties=True)
    weighted = Battles.from_frame(simulated(0).frame.collect().with_columns(w=pl.lit(2.0)), weight="w")
    chain = battles_of(("x", "y", 3, 2), ("y", "z", 3, 2))
    for battles, ratings, said in (
        (tied, fit(tied), "ties as half wins"),
        (weighted, fit(weighted), "weighted"),
        (simulated(0), fit(simulated(0), prior_ties=1.0), "prior"),
        (chain, fit(chain), "as many parameters"),
    ):
        found = goodness_of_fit(battles, ratings)
        assert found.p_value is None
        assert said in found.note
    assert goodness_of_fit(chain, fit(chain)).deviance == pytest.approx(0.0, abs=1e-9)
    assert goodness_of_fit(chain, fit(chain)).pairs["residual"].null_count() == 2


def test_ratings_of_other_models_are_refused():
    with pytest.raises(OptionError, match="other models"):
        goodness_of_fit(simulated(0), fit(battles_of(("x", "y", 2, 1))))
    with pytest.raises(OptionError, match="other models"):
        win_rates(simulated(0), fit(battles_of(("x", "y", 2, 1))))
    with pytest.raises(OptionError, match="win_rate"):
        as_matrix(win_rates(simulated(0)), "elo")


@given(st.integers(0, 10_000), st.integers(3, 8))
@settings(max_examples=50, deadline=None)
def test_cycles_are_those_that_counting_finds(seed: int, models: int):
    random = np.random.default_rng(seed)
    rows = []
    for a, b in combinations(range(models), 2):
        if random.random() < 0.8:
            rows += [
                (f"m{a}", f"m{b}", str(winner))
                for winner in random.choice(["model_a", "model_b", "tie"], random.integers(1, 5))
            ]
    if not rows:
        return
    battles = Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))
    rate = {(a, b): value for a, b, value in win_rates(battles).select("model", "opponent", "win_rate").iter_rows()}
    triads, cycles = 0, {}
    for a, b, c in combinations(battles.models, 3):
        if all(rate.get(pair, 0.5) != 0.5 for pair in ((a, b), (b, c), (c, a))):
            triads += 1
            for one in ((a, b, c), (a, c, b)):
                edges = [rate[one[k], one[(k + 1) % 3]] for k in range(3)]
                if min(edges) > 0.5:
                    cycles[one] = min(edges)
    found = cycle_report(battles, most=1000)
    assert (found.triads, found.cyclic) == (triads, len(cycles))
    assert {row[:3]: row[6] for row in found.worst.iter_rows()} == pytest.approx(cycles)
    assert found.worst["weakest"].to_list() == sorted(found.worst["weakest"].to_list(), reverse=True)
    assert cycle_report(battles, most=1).worst.height == min(1, len(cycles))


def test_without_triads_there_is_no_share():
    assert cycle_report(battles_of(("x", "y", 1, 0))).share is None


def test_no_battles_are_refused():
    empty = Battles.from_frame(pl.DataFrame(schema={"model_a": pl.String, "model_b": pl.String, "winner": pl.String}))
    with pytest.raises(BattleError, match="there are no battles"):
        cycle_report(empty)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_a_tie_model_without_any_tie_has_one_degree_of_freedom_per_pair_less_the_strengths(model: str):
    battles = battles_of(("x", "y", 6, 4), ("y", "z", 7, 5), ("x", "z", 8, 3))  # 3 pairs, 2 free strengths
    tied, plain = goodness_of_fit(battles, fit(battles, ties=model)), goodness_of_fit(battles, fit(battles))
    assert (tied.degrees_of_freedom, plain.degrees_of_freedom) == (1, 1)
    assert tied.deviance == pytest.approx(plain.deviance, rel=1e-6)
    one = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    with_tie = Battles.from_frame(pl.concat([battles.frame.collect(), one]))
    # Each of 3 pairs has two free shares, and the model 2 strengths and the parameter of ties.
    assert goodness_of_fit(with_tie, fit(with_tie, ties=model)).degrees_of_freedom == 3

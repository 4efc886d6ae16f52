"""Ratings with covariates: statsmodels and the NumPy twin as oracles, and covariates that cannot be told apart."""

import math

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import contextual
from twins import numpy_core

from salon_ranking import (
    Battles,
    CovariateCollinearityError,
    CovariateError,
    CovariateSeparationError,
    OptionError,
    UnratableError,
    fit,
)

EFFECT, LEFT = 0.5, 0.3


def simulated(seed: int, battles: int = 800, models: int = 5, ties: float = 0.1) -> pl.DataFrame:
    """Longer pictures win, and stronger models make longer ones; the left side wins more often."""
    random = np.random.default_rng(seed)
    theta = np.linspace(0.6, -0.6, models)
    a = random.integers(0, models, battles)
    b = (a + random.integers(1, models, battles)) % models
    length_a, length_b = random.normal(size=battles) + theta[a], random.normal(size=battles) + theta[b]
    left = random.random(battles) < 0.5
    odds = theta[a] - theta[b] + EFFECT * (length_a - length_b) + LEFT * np.where(left, 1, -1)
    won = random.random(battles) < 1 / (1 + np.exp(-odds))
    names, styles = np.array([f"m{number}" for number in range(models)]), np.array(["photo", "ink", "oil"])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.where(random.random(battles) < ties, "tie", np.where(won, "model_a", "model_b")),
            "length_a": length_a,
            "length_b": length_b,
            "style_a": styles[random.integers(0, 3, battles)],
            "style_b": styles[random.integers(0, 3, battles)],
            "side_a_shown": np.where(left, "left", "right"),
            "weight": random.choice([0.5, 1.0, 2.0], battles),
        }
    )


def test_estimates_and_sandwich_errors_are_those_of_statsmodels():
    frame = simulated(1)
    battles = Battles.from_frame(frame, weight=False)
    fitted = contextual(battles, ["length_a,length_b", "side_a_shown"], standardize=False, baseline="m0")
    numbers = [frame[side].str.slice(1).cast(pl.Int64).to_numpy() for side in ("model_a", "model_b")]
    design = np.zeros((frame.height, 7))
    design[np.arange(frame.height), numbers[0]] += 1
    design[np.arange(frame.height), numbers[1]] -= 1
    design[:, 5] = (frame["length_a"] - frame["length_b"]).to_numpy()
    design[:, 6] = np.where((frame["side_a_shown"] == "left").to_numpy(), 1, -1)
    score = frame["winner"].replace_strict({"model_a": 1.0, "model_b": 0.0, "tie": 0.5}).to_numpy()
    oracle = sm.GLM(score, design[:, 1:], family=sm.families.Binomial()).fit(cov_type="HC0")
    assert fitted.coefficients["estimate"].to_list() == pytest.approx(oracle.params[4:].tolist(), abs=1e-7)
    few = math.sqrt(frame.height / (frame.height - 6))  # HC1
    errors = few * oracle.bse
    assert fitted.coefficients["standard_error"].to_list() == pytest.approx(errors[4:].tolist(), abs=1e-7)
    assert fitted.coefficients["p_value"].to_list() == pytest.approx(
        [math.erfc(abs(z) / math.sqrt(2)) for z in oracle.params[4:] / errors[4:]], abs=1e-7
    )
    unit = 400 / math.log(10)
    assert fitted.ratings[1:] - 1000 == pytest.approx(unit * oracle.params[:4], abs=1e-5)
    assert fitted.standard_errors[1:] == pytest.approx(unit * errors[:4], abs=1e-5)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 2.0]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_core_and_its_twin_agree(seed: int, prior_ties: float, weighted: bool):
    battles = Battles.from_frame(simulated(seed, battles=300), weight="weight" if weighted else None)
    covariates = ["length_a,length_b", "style_a,style_b", "side_a_shown"]
    ours = contextual(battles, covariates, prior_ties=prior_ties)
    with numpy_core():
        twin = contextual(battles, covariates, prior_ties=prior_ties)
    assert ours.converged
    assert ours.log_strengths == pytest.approx(twin.log_strengths, abs=1e-8)
    assert ours.coefficients["estimate"].to_list() == pytest.approx(twin.coefficients["estimate"].to_list(), abs=1e-8)
    assert ours.coefficients["standard_error"].to_list() == pytest.approx(
        twin.coefficients["standard_error"].to_list(), abs=1e-8
    )
    assert ours.standard_errors == pytest.approx(twin.standard_errors, abs=1e-5)


def test_controlling_for_length_takes_its_share_out_of_the_ratings():
    battles = Battles.from_frame(simulated(3, battles=20_000))
    plain = fit(battles, baseline="m2").log_strengths
    fitted = contextual(battles, ["length_a,length_b", "side_a_shown"], standardize=False, baseline="m2")
    length, left = fitted.coefficients["estimate"]
    assert abs(length - 0.9 * EFFECT) < 0.05  # a tenth of the battles are ties at random
    assert abs(left - 0.9 * LEFT) < 0.05
    assert np.ptp(plain) > np.ptp(fitted.log_strengths) * 1.2
    bias = fitted.position_bias.row(0, named=True)
    assert bias["p_value"] < 1e-6
    assert bias["left_share"] == pytest.approx(1 / (1 + math.exp(-left)))


def test_swapping_the_sides_of_every_battle_changes_nothing_but_the_sign_of_what_speaks_for_a():
    frame = simulated(4)
    swapped = frame.rename(
        {"model_a": "model_b", "model_b": "model_a", "length_a": "length_b", "length_b": "length_a"}
    ).with_columns(
        pl.col("winner", "side_a_shown").replace({"model_a": "model_b", "model_b": "model_a", "left": "right", "right": "left"})
    )
    one, other = (contextual(Battles.from_frame(f), ["length_a,length_b", "side_a_shown"]) for f in (frame, swapped))
    assert one.ratings == pytest.approx(other.ratings, abs=1e-6)
    assert one.coefficients["estimate"].to_list() == pytest.approx(other.coefficients["estimate"].to_list(), abs=1e-9)


def test_standardizing_scales_the_coefficient_and_nothing_else():
    battles = Battles.from_frame(simulated(5))
    scaled = contextual(battles, ["length_a,length_b"])
    raw = contextual(battles, ["length_a,length_b"], standardize=False)
    scale = scaled.coefficients["scale"][0]
    assert scaled.coefficients["estimate"][0] == pytest.approx(raw.coefficients["estimate"][0] * scale)
    assert scaled.coefficients["z"][0] == pytest.approx(raw.coefficients["z"][0])
    assert scaled.ratings == pytest.approx(raw.ratings)
    assert "per standard deviation" in scaled.header
    assert raw.coefficients["scale"][0] == 1.0


def test_text_that_holds_numbers_is_read_as_numbers_so_that_csv_files_work():
    frame = simulated(6)
    text = frame.with_columns(pl.col("length_a", "length_b").cast(pl.String))
    one, other = (contextual(Battles.from_frame(f), ["length_a,length_b"]) for f in (frame, text))
    assert one.ratings == pytest.approx(other.ratings)


def test_categories_of_the_battle_each_get_an_advantage_of_model_a():
    frame = simulated(7).with_columns(device=pl.Series(["phone", "desk"] * 400))
    fitted = contextual(Battles.from_frame(frame), ["device"])
    assert fitted.coefficients["term"].to_list() == ["device=desk", "device=phone"]


@pytest.mark.parametrize(
    ("added", "covariates", "named"),
    [
        ({"twice": pl.col("length_a") * 2}, ["length_a,length_b", "length_a,length_b"], "length_a - length_b"),
        ({"same": pl.lit(0.0)}, ["same"], "same"),
        (
            {"of_a": pl.col("model_a").str.slice(1).cast(pl.Int64), "of_b": pl.col("model_b").str.slice(1).cast(pl.Int64)},
            ["of_a,of_b"],
            "of_a - of_b",
        ),
        ({"one": pl.lit(1.0)}, ["one", "side_a_shown", "device"], "device=x"),
    ],
)
def test_what_cannot_be_told_apart_is_named(added: dict[str, pl.Expr], covariates: list[str], named: str):
    frame = simulated(8).with_columns(device=pl.lit("x")).with_columns(**added)
    with pytest.raises(CovariateCollinearityError, match=named):
        contextual(Battles.from_frame(frame), covariates)


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_covariate_that_predicts_battles_without_error_is_refused(share: float):
    frame = simulated(9, ties=0.0).with_columns(
        hint=pl.when(pl.int_range(pl.len()) < share * 800)
        .then(pl.when(pl.col("winner") == "model_a").then(1.0).otherwise(-1.0))
        .otherwise(0.0)
    )
    with pytest.raises(CovariateSeparationError, match="hint"):
        contextual(Battles.from_frame(frame), ["hint"])


@pytest.mark.parametrize(
    ("columns", "covariates", "said"),
    [
        ({}, ["size"], "missing column 'size'"),
        ({"size": [None] + [1.0] * 799}, ["size"], "row 1, column 'size': no value"),
        ({"size": [math.nan] + [1.0] * 799}, ["size"], "not a finite number"),
        ({"size": [f"s{number}" for number in range(800)]}, ["size"], "too many different values"),
        (
            {"side_a_shown": ["left", "up"] + ["right"] * 798},
            ["side_a_shown"],
            "row 2, column 'side_a_shown': unknown side 'up'",
        ),
        ({}, ["a,b,c"], "a,b,c"),
        ({}, ["length_a,"], "length_a,"),
    ],
)
def test_bad_covariates_are_named(columns: dict[str, list[object]], covariates: list[str], said: str):
    frame = simulated(10).with_columns(**{name: pl.Series(values) for name, values in columns.items()})
    with pytest.raises(CovariateError) as caught:
        contextual(Battles.from_frame(frame), covariates)
    assert said in str(caught.value)


def test_models_without_a_finite_rating_and_bad_options_are_refused():
    unbeaten = pl.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["model_a"] * 2, "size": [1.0, 2.0]})
    with pytest.raises(UnratableError, match="'x'"):
        contextual(Battles.from_frame(unbeaten), ["size"])
    battles = Battles.from_frame(simulated(11))
    with pytest.raises(OptionError, match="cannot be combined"):
        contextual(battles, ["side_a_shown"], ties="davidson")


@pytest.mark.study
def test_intervals_of_coefficients_hold_the_truth():
    held = [0, 0]
    for seed in range(400):
        battles = Battles.from_frame(simulated(seed, battles=600, ties=0.0))
        fitted = contextual(battles, ["length_a,length_b", "side_a_shown"], standardize=False)
        for term, truth in enumerate((EFFECT, LEFT)):
            row = fitted.coefficients.row(term, named=True)
            held[term] += row["ci_low"] < truth < row["ci_high"]
    assert all(0.92 < count / 400 < 0.98 for count in held)

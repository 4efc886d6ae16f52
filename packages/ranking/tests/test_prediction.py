"""Predictions and log-loss from every kind of fit; weights by pair, matrices of wins, and the ridge on coefficients."""

import numpy as np
import polars as pl
import pytest
from ranked import contextual
from twins import numpy_core

from salon_ranking import (
    Battles,
    CovariateCollinearityError,
    CovariateSeparationError,
    OptionError,
    fit,
    log_loss,
    predict,
    rank,
)

MODELS = {
    "plain": {},
    "firth": {"estimator": "firth"},
    "davidson": {"ties": "davidson"},
    "rao-kupper": {"ties": "rao-kupper"},
    "covariates": {"covariates": ["size_a,size_b", "style_a,style_b", "side_a_shown"]},
    "ridge": {"covariates": ["size_a,size_b", "kind"], "ridge": 3.0},
}


def league(battles: int = 400, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    names, a = np.array(["p", "q", "r", "s"]), random.integers(0, 4, battles)
    b = (a + random.integers(1, 4, battles)) % 4
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": random.choice(["model_a", "model_b", "tie", "both_bad"], battles, p=[0.45, 0.3, 0.15, 0.1]),
            "size_a": random.normal(size=battles),
            "size_b": random.normal(size=battles),
            "style_a": random.choice(["ink", "oil", "photo"], battles),
            "style_b": random.choice(["ink", "oil", "photo"], battles),
            "kind": random.choice(["cat", "dog"], battles),
            "side_a_shown": random.choice(["left", "right"], battles),
            "weight": random.choice([0.0, 0.5, 2.0], battles),
        }
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_log_loss_of_the_battles_of_a_fit_is_its_log_likelihood(model: str, weight: str | None):
    battles = Battles.from_frame(league(), weight=weight or False)
    found = fit(battles, **MODELS[model])
    loss = log_loss(battles, found)
    total = 400.0 if weight is None else float(league()["weight"].sum())
    assert loss.value == pytest.approx(-found.log_likelihood / total, rel=1e-9)
    assert (loss.battles, loss.unpredicted) == (battles.count, 0)
    table = predict(battles, found)
    assert (table["win"] + table["tie"] + table["loss"]).to_numpy() == pytest.approx(1.0)


@pytest.mark.parametrize("model", MODELS)
def test_battles_that_a_fit_cannot_compare_are_counted_and_not_predicted(model: str):
    found = fit(league(), **MODELS[model])
    frames = [league(3, number).with_columns(weight=pl.lit(1.0)) for number in (1, 2)]
    strange = pl.concat([frames[0], frames[1].with_columns(model_a=pl.lit("new"))])
    loss = log_loss(strange, found)
    assert (loss.battles, loss.unpredicted) == (3, 3)
    assert predict(strange, found)["win"].null_count() == 3
    assert log_loss(strange.tail(3), found).value is None


def test_a_fit_with_the_covariate_that_matters_predicts_held_out_battles_better():
    random = np.random.default_rng(3)
    frame = league(4_000, 3)
    odds = 1.5 * (frame["size_a"] - frame["size_b"]).to_numpy()
    won = random.random(4_000) < 1 / (1 + np.exp(-odds))
    frame = frame.with_columns(winner=pl.Series(np.where(won, "model_a", "model_b")))
    seen, held_out = frame.head(2_000), frame.tail(2_000)
    plain, controlled = (log_loss(held_out, fit(seen, covariates=names)) for names in ([], ["size_a,size_b"]))
    assert plain.value is not None
    assert controlled.value is not None
    assert controlled.value < plain.value - 0.1


def test_pairs_with_enough_battles_count_alike_and_rare_ones_less():
    frame = league(2_000, 4)
    rare = (pl.col("model_a") == "p") & (pl.col("model_b") == "q")
    frame = pl.concat([frame.filter(~rare), *[frame.filter(rare)] * 6])
    weighed = Battles.from_frame(frame, weight=False).with_equal_pairs(100)
    weights = weighed.rows.select(
        "pair_weight",
        pl.concat_str(pl.min_horizontal("model_a", "model_b"), pl.max_horizontal("model_a", "model_b")).alias("pair"),
    ).collect()
    totals = weights.group_by("pair").agg(pl.col("pair_weight").sum(), pl.len())
    assert totals["len"].min() > 100
    assert np.ptp(totals["pair_weight"].to_numpy()) < 1e-9
    assert weights["pair_weight"].mean() == pytest.approx(1.0)
    counts = pl.concat_str(pl.min_horizontal("model_a", "model_b"), pl.max_horizontal("model_a", "model_b"))
    by_hand = frame.with_columns(w=1.0 / pl.len().over(counts))
    assert weighed.cells.battles == frame.height
    assert fit(weighed).log_strengths == pytest.approx(fit(Battles.from_frame(by_hand, weight="w")).log_strengths, abs=1e-8)
    floor = Battles.from_frame(frame, weight=False).with_equal_pairs(10**9)
    assert fit(floor).log_strengths == pytest.approx(fit(Battles.from_frame(frame, weight=False)).log_strengths, abs=1e-8)
    assert "count alike" in rank(weighed, replicates=0).header
    for wrong in (0, 1.5, True, "7"):
        with pytest.raises(OptionError, match="min_pair_count"):
            weighed.with_equal_pairs(wrong)  # type: ignore[arg-type]


def test_a_ridge_makes_coefficients_finite_and_shrinks_them():
    frame = (
        league()
        .filter(pl.col("winner").is_in(["model_a", "model_b"]))
        .with_columns(hint=pl.when(pl.col("winner") == "model_a").then(1.0).otherwise(-1.0), one=pl.col("size_a") * 2)
    )
    with pytest.raises(CovariateSeparationError):
        fit(frame, covariates=["hint"])
    with pytest.raises(CovariateCollinearityError):
        fit(frame, covariates=["size_a", "one"])
    sizes = []
    for ridge in (0.1, 10.0, 1e6):
        found = rank(frame, covariates=["hint", "size_a", "one"], ridge=ridge, prior_ties=1.0)
        assert found.converged
        assert f"ridge {ridge:g}" in found.header
        assert found.parameters["ci_low"].null_count() == 0
        sizes.append(found.parameters["estimate"].abs().sum())
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[2] < 1e-3
    with pytest.raises(OptionError, match="ridge"):
        fit(frame, ridge=1.0)


@pytest.mark.parametrize("interval", ["sandwich", "percentile"])
def test_the_core_and_its_twin_agree_with_a_ridge(interval: str):
    battles = Battles.from_frame(league(), weight="weight")
    options = {"ridge": 4.0, "interval": interval, "replicates": 12, "confidence": 0.5, "baseline": "p"}
    ours = contextual(battles, ["size_a,size_b", "kind"], **options)
    with numpy_core():
        twin = contextual(battles, ["size_a,size_b", "kind"], **options)
    ends = ["estimate", "standard_error", "ci_low", "ci_high"]
    assert ours.coefficients.select(ends).to_numpy() == pytest.approx(twin.coefficients.select(ends).to_numpy(), abs=1e-6)
    assert ours.ci_low == pytest.approx(twin.ci_low, abs=1e-4)

"""Contributions of prompts: exact against a fit from scratch, and their sum against the rating."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import reference_uncertainty

from salon_ranking import BattleError, Battles, OptionError, UnratableError, _core, contributions, fit
from salon_ranking.battles.encoding import BattleColumns, encode


def league(models: int = 6, prompts: int = 40, battles: int = 4000, seed: int = 0, reach: float = 0.5) -> pl.DataFrame:
    """Votes on prompts with tastes of their own; mean strengths from -reach to reach."""
    rng = np.random.default_rng(seed)
    prompt = rng.integers(0, prompts, battles)
    strength = np.linspace(reach, -reach, models) + 0.5 * rng.normal(size=(prompts, models))[prompt]
    a = rng.integers(0, models, battles)
    b = (a + rng.integers(1, models, battles)) % models
    rows = np.arange(battles)
    won = rng.random(battles) < 1 / (1 + np.exp(strength[rows, b] - strength[rows, a]))
    code = np.where(rng.random(battles) < 0.2, 2, np.where(won, 0, 1))
    names = np.array([f"m{number}" for number in range(models)])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.array(["model_a", "model_b", "both_bad"])[code],
            "prompt_id": [f"p{number:03}" for number in prompt],
        }
    )


@given(st.integers(0, 100), st.sampled_from([0.0, 1.0]))
@settings(max_examples=12, deadline=None)
def test_every_contribution_is_that_of_a_fit_from_scratch(seed: int, prior_ties: float):
    frame = league(4, prompts=5, battles=120, seed=seed, reach=1.0)
    cells = encode(frame.lazy(), BattleColumns(cluster=("prompt_id",)), "votes").cells
    ours, unconverged = _core.contributions(cells, 2, prior_ties, 1e-11, 200)
    expected = reference_uncertainty.contributions(cells, prior_ties, 1e-11, 200)
    assert unconverged == 0
    assert ours == pytest.approx(expected, abs=1e-9)


def test_contributions_add_up_to_the_rating_within_5_percent():
    # As in MEF: 377 prompts, ratings over about 170 points, which is what its leaderboards span.
    found = contributions(Battles.from_frame(league(12, prompts=377, battles=60_000)), baseline="m11")
    distance = np.ptp(found.totals["rating"].to_numpy())
    assert 120 < distance < 220
    assert found.relative_gap < 0.05
    relative = (found.totals["gap"] / found.totals["rating"]).filter(found.totals["rating"].abs() > 10)
    assert relative.abs().max() < 0.05
    assert "%" in found.header


def test_the_gap_grows_with_the_distance_of_the_ratings_and_is_shown():
    gaps = [contributions(Battles.from_frame(league(reach=reach, battles=20_000))).relative_gap for reach in (0.3, 0.8, 2.0)]
    assert gaps[0] < gaps[1] < gaps[2]
    assert gaps[2] > 0.05


def test_the_table_has_a_row_for_every_prompt_and_model():
    frame = league()
    found = contributions(Battles.from_frame(frame), baseline="m5")
    assert found.table.columns == ["prompt_id", "model", "contribution", "matches"]
    assert found.table.height == 40 * 6
    assert found.table["matches"].sum() == 2 * frame.height
    assert (found.table.filter(pl.col("model") == "m5")["contribution"] == 0).all()
    sums = found.table.group_by("model").agg(pl.col("contribution").sum()).sort("model")
    assert sums["contribution"].to_numpy() == pytest.approx(found.totals.sort("model")["sum"].to_numpy())
    ratings = fit(Battles.from_frame(frame), baseline="m5").ratings - 1000
    assert found.totals.sort("model")["rating"].to_numpy() == pytest.approx(ratings)


def test_a_prompt_whose_matches_are_all_drawn_contributes_nothing():
    frame = league().with_columns(winner=pl.when(pl.col("prompt_id") == "p007").then(pl.lit("tie")).otherwise("winner"))
    found = contributions(Battles.from_frame(frame)).table.filter(pl.col("prompt_id") == "p007")
    assert found["contribution"].abs().max() < 1e-9


def test_the_result_does_not_depend_on_threads():
    tables = [contributions(Battles.from_frame(league()), threads=threads).table for threads in (1, 3)]
    assert tables[0].equals(tables[1])


def test_weights_count():
    frame = league().with_columns(w=pl.when(pl.col("prompt_id") == "p001").then(2.0).otherwise(1.0))
    doubled = pl.concat([frame, frame.filter(pl.col("w") == 2.0)])
    weighted = contributions(Battles.from_frame(frame, weight="w")).table
    repeated = contributions(Battles.from_frame(doubled)).table
    assert weighted["contribution"].to_numpy() == pytest.approx(repeated["contribution"].to_numpy(), abs=1e-6)


def test_a_missing_column_and_a_missing_prompt_are_named():
    with pytest.raises(BattleError, match="missing column"):
        contributions(Battles.from_frame(league()), column="theme")
    holes = league().with_columns(prompt_id=pl.when(pl.int_range(pl.len()) > 5).then("prompt_id"))
    with pytest.raises(BattleError, match="row 1"):
        contributions(Battles.from_frame(holes))


def test_a_column_named_like_the_tables_own_is_refused():
    frame = league().with_columns(matches=pl.col("prompt_id"))
    with pytest.raises(OptionError, match="rename"):
        contributions(Battles.from_frame(frame), column="matches")


def test_without_finite_ratings_there_are_no_contributions():
    won = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"], "prompt_id": ["p"]})
    with pytest.raises(UnratableError):
        contributions(Battles.from_frame(won))
    assert contributions(Battles.from_frame(won), prior_ties=1).relative_gap == pytest.approx(0.0, abs=1e-9)

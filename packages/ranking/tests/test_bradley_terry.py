"""Ratings: the Rust core against its NumPy twin, and what a fit promises."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from twins import numpy_core, reference

from salon_ranking import BattleError, Battles, OptionError, UnknownModelError, UnratableError, _core, fit

WINNERS = ["model_a", "model_b", "both_good", "both_bad", "tie"]


@st.composite
def leagues(draw: st.DrawFn, weighted: bool = False) -> Battles:
    """Any battles among up to eight models, with clusters."""
    count = draw(st.integers(2, 8))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, count - 1),
                st.integers(1, count - 1),
                st.sampled_from(WINNERS),
                st.integers(0, 3),
                st.sampled_from([0.25, 1.0, 3.0]) if weighted else st.just(1.0),
            ),
            min_size=1,
            max_size=60,
        )
    )
    columns = {
        "model_a": [f"m{a}" for a, *_ in rows],
        "model_b": [f"m{(a + step) % count}" for a, step, *_ in rows],
        "winner": [winner for *_, winner, _, _ in rows],
        "cluster": [cluster for *_, cluster, _ in rows],
        "weight": [weight for *_, weight in rows],
    }
    return Battles.from_frame(pl.DataFrame(columns), cluster_by="cluster", weight="weight")


def win_probabilities(log_strengths: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(log_strengths[None, :] - log_strengths[:, None]))


@given(leagues(weighted=True), st.sampled_from([0.0, 0.0, 0.5, 2.0]))
@settings(max_examples=60, deadline=None)
def test_the_core_and_its_twin_agree_to_1e_9_in_win_probability(battles: Battles, prior_ties: float):
    assume(prior_ties > 0 or not battles.cells.components().any())
    ours = fit(battles, prior_ties=prior_ties)
    with numpy_core():
        twin = fit(battles, prior_ties=prior_ties)
    assert ours.converged
    assert twin.converged
    assert np.abs(win_probabilities(ours.log_strengths) - win_probabilities(twin.log_strengths)).max() < 1e-9


@given(leagues(weighted=True), st.integers(0, 5), st.booleans(), st.sampled_from([0.0, 1.0]), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_every_bootstrap_replicate_is_the_fit_of_its_resample(
    battles: Battles, index: int, by_cluster: bool, prior_ties: float, baseline: int
):
    cells = battles.cells
    baseline %= cells.models
    assume(prior_ties > 0 or not cells.components().any())
    estimate = fit(battles, prior_ties=prior_ties).log_strengths
    drawn = _core.bootstrap(cells, estimate, baseline, index + 1, 3, by_cluster, 1, prior_ties, 1e-9, 200)
    matches, won = cells.resampled(3, index, by_cluster)
    first, second = cells.met()
    score = np.zeros((cells.models, cells.models))
    score[first, second], score[second, first] = won, matches - won
    row = drawn.log_strengths[index]
    if prior_ties == 0 and not reference.is_strongly_connected(score):
        assert np.isnan(row).all()
        return
    joined = reference.joined_to(baseline, score)
    assert np.array_equal(~np.isnan(row), joined)
    expected = reference.fit_matrix(score, prior_ties, 1e-9, 200).log_strengths
    difference = np.abs(win_probabilities(row[joined]) - win_probabilities(expected[joined]))
    assert difference.max(initial=0.0) < 1e-9


@given(leagues())
@settings(max_examples=40, deadline=None)
def test_without_a_finite_answer_the_models_at_fault_are_named(battles: Battles):
    assume(battles.cells.components().any())
    with pytest.raises(UnratableError) as caught:
        fit(battles)
    assert sorted(name for group in caught.value.groups for name in group) == list(battles.models)
    assert len(caught.value.groups) > 1
    assert "--components separate" in str(caught.value)


def test_names_that_are_alike_are_said_where_they_keep_models_apart():
    votes = pl.DataFrame(
        [("Flux", "sdxl", "model_a"), ("sdxl", "flux", "model_a")], schema=["model_a", "model_b", "winner"], orient="row"
    )
    with pytest.raises(UnratableError, match=r"'Flux' and 'flux' \(--names merge merges them"):
        fit(Battles.from_frame(votes))


@given(leagues())
@settings(max_examples=40, deadline=None)
def test_ratings_within_components_are_those_of_the_component_alone(battles: Battles):
    ratings = fit(battles, components="separate")
    for number in set(ratings.component.tolist()):
        members = [name for name, own in zip(ratings.models, ratings.component, strict=True) if own == number]
        theirs = ratings.log_strengths[ratings.component == number]
        if len(members) == 1:
            assert np.isnan(theirs).all()
            continue
        alone = battles.frame.filter(pl.col("model_a").is_in(members) & pl.col("model_b").is_in(members))
        assert np.allclose(theirs, fit(Battles.from_frame(alone, weight="weight")).log_strengths, atol=1e-8)


def two(wins: int, losses: int, ties: int = 0) -> Battles:
    winners = ["model_a"] * wins + ["model_b"] * losses + ["tie"] * ties
    return Battles.from_frame(pl.DataFrame({"winner": winners}).with_columns(model_a=pl.lit("x"), model_b=pl.lit("y")))


def test_ten_to_one_is_four_hundred_points():
    ratings = fit(two(10, 1), baseline="y")
    assert ratings.ratings.tolist() == pytest.approx([1400.0, 1000.0])
    assert ratings.win_probability("x", "y") == pytest.approx(10 / 11)


def test_a_tie_is_half_a_win_for_each():
    assert fit(two(2, 0, 2)).log_strengths == pytest.approx(fit(two(3, 1)).log_strengths)


def test_a_prior_is_a_drawn_battle_against_a_mean_opponent():
    # With x beating y once: x's slope is 1 - p + (1/2 - q), p = P(x beats y), q = P(x beats the mean) = 1 - P(y beats it).
    theta = fit(two(1, 0), prior_ties=1.0).log_strengths
    p, q = 1 / (1 + math.exp(theta[1] - theta[0])), 1 / (1 + math.exp(-theta[0]))
    assert 1 - p + 0.5 - q == pytest.approx(0, abs=1e-9)


def test_the_default_baseline_is_the_lowest_rated_well_played_model():
    rows = [("a", "b", "model_a")] * 6 + [("a", "b", "model_b")] * 4 + [("c", "a", "model_a"), ("c", "a", "model_b")] * 5
    rows += [("new", "a", "model_b")] * 2 + [("new", "a", "model_a")]  # rated lowest, but hardly played
    battles = Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))
    ratings = fit(battles)
    assert ratings.models[int(np.argmin(ratings.ratings))] == "new"
    assert ratings.baselines == ("b",)


def test_an_unknown_baseline_is_refused_with_the_models_there_are():
    with pytest.raises(UnknownModelError, match=r"'z' \(allowed: x, y\)"):
        fit(two(1, 1), baseline="z")


def test_no_battles_are_refused():
    with pytest.raises(BattleError, match="there are no battles"):
        fit(Battles.from_frame(pl.DataFrame(schema={"model_a": pl.String, "model_b": pl.String, "winner": pl.String})))


@pytest.mark.parametrize(
    "option", [{"prior_ties": -1.0}, {"prior_ties": math.nan}, {"tolerance": 0.0}, {"baseline_rating": math.inf}]
)
def test_options_out_of_range_are_refused(option: dict[str, float]):
    with pytest.raises(OptionError, match=next(iter(option))):
        fit(two(1, 1), **option)


@pytest.mark.parametrize("option", [{"ties": "thirds"}, {"components": "drop"}])
def test_unknown_choices_are_refused(option: dict[str, str]):
    with pytest.raises(OptionError, match="allowed"):
        fit(two(1, 1), **option)


def test_running_out_of_iterations_is_said():
    assert not fit(two(50, 1), max_iterations=1).converged


@pytest.mark.slow
def test_a_hundred_thousand_models_need_no_square_matrix():
    count = 100_000
    names = pl.Series([f"m{number:06}" for number in range(count)])
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(count) for _ in range(6)])
    other = np.concatenate([np.roll(part, 1) for part in np.split(order, 6)])
    winner = pl.Series(["model_a", "model_b"])[(np.arange(len(order)) % 2).tolist()]
    battles = Battles.from_frame(pl.DataFrame({"model_a": names[order], "model_b": names[other], "winner": winner}))
    ratings = fit(battles, prior_ties=0.5)
    assert ratings.converged
    assert ratings.gradient_norm < 1e-6


@pytest.mark.parametrize("climbs", [False, True], ids=["up and down", "ever weaker"])
def test_a_chain_of_20_000_models_has_the_ratings_of_its_links(climbs: bool):
    """In a chain every link is a league of two, whose answer has a closed form: checked without another solver."""
    models, matches = 20_000, 10
    wins = np.full(models - 1, 6) if climbs else np.random.default_rng(0).integers(3, 8, models - 1)
    first = np.repeat(np.arange(models - 1), matches)
    won = (np.arange(matches)[None, :] < wins[:, None]).ravel()
    names = np.array([f"m{number:05}" for number in range(models)])
    winner = np.where(won, "model_a", "model_b")
    found = fit(Battles.from_frame(pl.DataFrame({"model_a": names[first], "model_b": names[first + 1], "winner": winner})))
    assert found.converged
    assert found.iterations < 20
    steps = np.log(wins / (matches - wins))
    assert -np.diff(found.log_strengths) == pytest.approx(steps, abs=1e-8)

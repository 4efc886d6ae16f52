"""Weights of dimensions: known ones are recovered, swapping sides changes nothing, and what cannot be fitted says why."""

import math

import numpy as np
import polars as pl
import pytest

from salon_ranking import BattleError, Battles, OptionError
from salon_ranking.opinion import (
    CollinearityError,
    MosRatings,
    SeparationError,
    Terms,
    TooFewBattlesError,
    Weights,
    dimension_weights,
    fit_logistic,
    standardized_marks,
)
from salon_ranking.opinion.logistic import degrees_of, win_probability

DIMENSIONS = ("Prompt Following", "Structural Accuracy", "Aesthetic Quality")
# MEF paper (004), Table 9: rise of the win rate above 50% for one standard deviation.
TABLE_9 = {
    "General user": (0.125, 0.007, 0.071),
    "Expert": (0.377, 0.142, 0.109),
    "Designer": (0.260, 0.100, 0.221),
}


def rated(
    seed: int = 0, *, models: int = 6, prompts: int = 60, samples: int = 2, dimensions: tuple[str, ...] = DIMENSIONS
) -> MosRatings:
    rng = np.random.default_rng(seed)
    model, prompt, sample, dimension = (g.ravel() for g in np.mgrid[:models, :prompts, :samples, : len(dimensions)])
    quality = rng.normal(0, 0.4, (models, len(dimensions)))[model, dimension]
    luck = rng.normal(0, 0.8, (models, prompts, len(dimensions)))[model, prompt, dimension]
    value = np.clip(np.rint(3.5 + quality + luck + rng.normal(0, 0.5, len(model))), 1, 5)
    frame = pl.DataFrame({"model": model, "prompt_id": prompt, "sample": sample, "number": dimension, "value": value})
    names = {
        "dimension": pl.col("number").replace_strict(dict(enumerate(dimensions)), return_dtype=pl.String),
        "generation_id": pl.format("{}/{}/{}", "model", "prompt_id", "sample"),
        "scenario": pl.format("scenario {}", pl.col("prompt_id") % 2),
        "rater_id": pl.lit("ann"),
        "scale_min": pl.lit(1),
        "scale_max": pl.lit(5),
    }
    return MosRatings.from_frame(frame.with_row_index("rating_id").with_columns(**names))


def voted(
    ratings: MosRatings, theta: np.ndarray, count: int, seed: int, *, interactions: bool = True, tied: float = 0.0
) -> pl.DataFrame:
    """Votes of a population with the coefficients ``theta``; a share of them, drawn at random, ends in a tie."""
    rng = np.random.default_rng(seed)
    marks = standardized_marks(ratings)
    by_prompt = [rows["picture"].to_numpy() for _, rows in marks.keys.group_by("prompt_id", maintain_order=True)]
    chosen = [rng.choice(by_prompt[prompt], 2, replace=False) for prompt in rng.integers(0, len(by_prompt), count)]
    a, b = np.array(chosen).T
    columns = Terms(marks.dimensions, interactions).columns((marks.z[a] + marks.z[b]) / 2, marks.z[a] - marks.z[b])
    won = rng.random(count) < win_probability(columns @ theta)
    models = marks.keys["model"]
    winner = np.where(rng.random(count) < tied, "both_good", np.where(won, "model_a", "model_b"))
    return pl.DataFrame(
        {
            "prompt_id": marks.keys["prompt_id"].gather(a),
            "model_a": models.gather(a),
            "model_b": models.gather(b),
            "winner": winner,
        }
    )


def weights(votes: pl.DataFrame, ratings: MosRatings, **options: object) -> Weights:
    return dimension_weights(Battles.from_frame(votes), ratings, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("persona", TABLE_9)
def test_a_persona_with_the_papers_weights_gets_them_back(persona: str):
    ratings = rated()
    theta = np.array([math.log((0.5 + rise) / (0.5 - rise)) for rise in TABLE_9[persona]])
    found = weights(voted(ratings, theta, 8000, seed=1, interactions=False), ratings, interactions=False).table
    for rise, (dimension, estimate, low, high) in zip(
        TABLE_9[persona], found.select("dimension", "rise", "ci_low", "ci_high").iter_rows(), strict=True
    ):
        assert estimate == pytest.approx(rise, abs=0.02), dimension
        assert low - 0.01 < rise < high + 0.01
        assert high - low < 0.05


def true_rises(ratings: MosRatings, votes: pl.DataFrame, theta: np.ndarray) -> list[float]:
    """The rises that the coefficients imply at the levels of the votes, written out term by term."""
    marks = standardized_marks(ratings)
    place = {(p, m): z for p, m, z in zip(marks.keys["prompt_id"], marks.keys["model"], marks.z, strict=True)}
    x = np.array([(place[p, a] + place[p, b]) / 2 for p, a, b in votes.select("prompt_id", "model_a", "model_b").iter_rows()])
    beta, (g01, g02, g12), delta = theta[:3], theta[3:6], theta[6:]
    cross = np.array([[0, g01, g02], [g01, 0, g12], [g02, g12, 0]])
    return [float((1 / (1 + np.exp(-(beta[d] + x @ cross[d] + delta[d] * x[:, d])))).mean() - 0.5) for d in range(3)]


THETA = np.array([1.2, 0.5, 0.3, 0.2, 0.0, -0.15, -0.25, 0.1, 0.0])


def coverage(studies: int, count: int, **options: object) -> tuple[float, float]:
    """The share of intervals that hold the truth: of rises, and of coefficients."""
    ratings = rated(3)
    rises, coefficients = [], []
    for seed in range(studies):
        votes = voted(ratings, THETA, count, seed=1000 + seed)
        found = weights(votes, ratings, **options)
        for truth, low, high in zip(
            true_rises(ratings, votes, THETA), found.table["ci_low"], found.table["ci_high"], strict=True
        ):
            rises.append(low <= truth <= high)
        table = found.coefficients
        coefficients += [
            low <= truth <= high for truth, low, high in zip(THETA, table["ci_low"], table["ci_high"], strict=True)
        ]
    return float(np.mean(rises)), float(np.mean(coefficients))


@pytest.mark.slow
def test_known_weights_with_interactions_lie_in_their_intervals():
    rises, coefficients = coverage(25, 1500)
    assert rises >= 0.86  # 75 intervals at 95%: below with a chance of a tenth of a percent
    assert coefficients >= 0.9


@pytest.mark.study
@pytest.mark.parametrize("options", [{}, {"cluster": "prompt_id"}], ids=["robust", "clustered"])
def test_intervals_cover_known_weights_at_their_nominal_rate(options: dict[str, object]):
    rises, coefficients = coverage(400, 2000, **options)
    assert 0.93 <= rises <= 0.97
    assert 0.925 <= coefficients <= 0.97


def test_changing_the_sides_of_battles_changes_nothing():
    ratings = rated()
    votes = voted(ratings, THETA, 1200, seed=5, tied=0.1)
    swapped = votes.rename({"model_a": "model_b", "model_b": "model_a"}).with_columns(
        pl.col("winner").replace({"model_a": "model_b", "model_b": "model_a"})
    )
    first, second = weights(votes, ratings), weights(swapped.select(votes.columns), ratings)
    assert first.table["rise"].to_list() == pytest.approx(second.table["rise"].to_list())
    assert first.coefficients["estimate"].to_list() == pytest.approx(second.coefficients["estimate"].to_list())


def test_estimates_and_errors_are_those_of_statsmodels():
    glm = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    families = pytest.importorskip("statsmodels.genmod.families")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 3))
    y = rng.choice([0.0, 0.5, 1.0], 800, p=[0.3, 0.2, 0.5])
    clusters = rng.integers(0, 40, 800)
    model = glm.GLM(y, x, family=families.Binomial())
    ours = fit_logistic(x, y, ["a", "b", "c"])
    robust = model.fit(cov_type="HC0", tol=1e-12)
    assert ours.estimate == pytest.approx(robust.params, abs=1e-8)
    assert ours.covariance == pytest.approx(robust.cov_params() * 800 / 797, rel=1e-6)
    # statsmodels has no CR2; its sum over clusters, with each corrected by hand, is ours.
    p = model.predict(robust.params, x)
    bread, middle = robust.normalized_cov_params, np.zeros((3, 3))
    for number in range(40):
        own = x[clusters == number] * np.sqrt(p * (1 - p))[clusters == number, None]
        values, vectors = np.linalg.eigh(np.eye(len(own)) - own @ bread @ own.T)
        score = own.T @ (vectors / np.sqrt(values)) @ vectors.T @ ((y - p) / np.sqrt(p * (1 - p)))[clusters == number]
        middle += np.outer(score, score)
    ours = fit_logistic(x, y, ["a", "b", "c"], clusters)
    assert ours.covariance == pytest.approx(bread @ middle @ bread, rel=1e-6)
    assert 25 < degrees_of(ours, np.eye(3)).min() <= degrees_of(ours, np.eye(3)).max() <= 39


def test_personas_scenarios_and_both_have_weights_of_their_own():
    ratings = rated()
    taste = {"expert": np.array([1.9, 0.5, 0.4]), "public": np.array([0.4, 0.0, 0.3])}
    votes = pl.concat(
        voted(ratings, theta, 3000, seed=7, interactions=False).with_columns(mode=pl.lit(name)) for name, theta in taste.items()
    )
    table = weights(votes, ratings, persona="mode", by_scenario=True, interactions=False).table
    groups = table.select("persona", "scenario").unique(maintain_order=True).rows()
    assert groups[:3] == [(None, None), ("expert", None), ("public", None)]
    assert len(groups) == 3 + 2 + 4
    rows = table.filter(pl.col("scenario").is_null(), dimension=DIMENSIONS[0])
    first = dict(rows.select("persona", "rise").iter_rows())
    assert first["expert"] > first[None] > first["public"]


def test_ties_are_half_wins_or_left_out_and_counted():
    ratings = rated()
    votes = voted(ratings, THETA, 2000, seed=9, tied=0.3)
    half, dropped = weights(votes, ratings), weights(votes, ratings, ties="drop")
    ties = int((votes["winner"] == "both_good").sum())
    assert (half.dropped_ties, dropped.dropped_ties) == (0, ties)
    assert half.table["ties"].to_list() == [ties] * 3
    assert dropped.table["battles"].to_list() == [2000 - ties] * 3
    assert half.table["rise"][0] < dropped.table["rise"][0]
    assert f"{ties:,} ties left out" in dropped.header


def test_battles_without_ratings_are_left_out_and_counted():
    ratings = rated()
    votes = voted(ratings, THETA, 1000, seed=9)
    strangers = votes.head(40).with_columns(model_a=pl.lit("nobody rated me"))
    found = weights(pl.concat([votes, strangers]), ratings)
    assert (found.battles, found.unrated, found.table["battles"][0]) == (1040, 40, 1000)


def test_votes_can_be_joined_by_the_very_pictures_that_were_shown():
    ratings = rated()
    votes = voted(ratings, THETA, 1000, seed=9)
    shown = votes.with_columns(
        generation_a=pl.format("{}/{}/0", "model_a", "prompt_id"), generation_b=pl.format("{}/{}/1", "model_b", "prompt_id")
    )
    found = weights(shown, ratings, level="generation")
    assert found.table["battles"][0] == 1000
    assert found.standards["deviation"].to_list() != weights(votes, ratings).standards["deviation"].to_list()
    with pytest.raises(BattleError, match="generation_a"):
        weights(votes, ratings, level="generation")
    with pytest.raises(BattleError, match="missing column 'prompt_id'"):  # the ratings' scenarios are those of prompts
        weights(shown.drop("prompt_id"), ratings, level="generation", by_scenario=True)
    assert weights(shown.drop("prompt_id"), ratings, level="generation").table.equals(found.table.with_columns(prompts=0))


def test_a_blank_name_of_a_persona_or_scenario_is_none_and_not_everybody():
    ratings = rated()
    names = pl.Series(["", None, " ", "expert"] * 300)
    votes = voted(ratings, THETA, 1200, seed=9).with_columns(mode=names, scenario=names)
    for options in ({"persona": "mode"}, {"by_scenario": True}):
        found = weights(votes, ratings, interactions=False, **options)
        (column,) = (cells for cells in ("persona", "scenario") if found.table[cells].null_count() < found.table.height)
        counts = found.table.filter(dimension=DIMENSIONS[0]).select(column, "battles").rows()
        assert counts == [(None, 1200), ("(not given)", 900), ("expert", 300)]


def test_a_group_that_cannot_be_fitted_is_listed_with_the_reason():
    ratings = rated()
    votes = voted(ratings, THETA, 1000, seed=9).with_columns(mode=pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("expert")))
    found = weights(votes, ratings, persona="mode")
    assert found.unfitted.row(0)[:3] == ("expert", None, 20)
    assert "too few votes" in found.unfitted["reason"][0]
    assert found.table["persona"].unique().sort().to_list() == [None, "(not given)"]


def test_separation_collinearity_and_too_few_votes_are_told_apart():
    ratings = rated()
    votes = voted(ratings, THETA, 400, seed=2)
    with pytest.raises(TooFewBattlesError, match="too few votes with ratings: 50"):
        weights(votes.head(50), ratings)
    with pytest.raises(TooFewBattlesError, match="clusters"):
        weights(votes.with_columns(rater_id=pl.lit("ann")), ratings, cluster="rater_id")
    with pytest.raises(SeparationError, match="Prompt Following"):
        weights(voted(ratings, np.array([1e6, 0.0, 0.0]), 400, seed=2, interactions=False), ratings, interactions=False)
    frame = ratings.frame.with_row_index("rating_id").with_columns(scale_min=pl.lit(1), scale_max=pl.lit(5))
    flat = frame.with_columns(value=pl.when(pl.col("dimension") == DIMENSIONS[1]).then(3.0).otherwise("value"))
    with pytest.raises(CollinearityError, match="same mark in dimension 'Structural Accuracy'"):
        weights(votes, MosRatings.from_frame(flat))
    first = frame.filter(dimension=DIMENSIONS[0])
    again = first.with_columns(dimension=pl.lit("the same again"), rating_id=pl.col("rating_id") + 1_000_000)
    with pytest.raises(CollinearityError, match="the same again"):
        weights(votes, MosRatings.from_frame(pl.concat([frame, again])), interactions=False)


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_an_estimate_is_where_the_likelihood_is_level_and_is_reached_in_few_steps_also_from_far_away(scale: float):
    rng = np.random.default_rng(7)
    for size in (0.0, 1.0, 6.0):
        x = rng.normal(size=(400, 3)) * [1.0, 2.0, 0.5]
        y = (rng.random(400) < win_probability(x @ (np.array([1.0, -0.5, 0.3]) * size))).astype(float)
        y[:40] = 0.5
        mass = rng.choice([0.5, 2.0], 400)
        fit = fit_logistic(x / scale, y, ["a", "b", "c"], weight=mass)
        score = x.T @ (mass * (y - win_probability(x / scale @ fit.estimate)))
        assert np.abs(score).max() < 1e-5
        assert 1 < fit.iterations <= 15
        plain = fit_logistic(x, y, ["a", "b", "c"], weight=mass)
        assert fit.estimate == pytest.approx(plain.estimate * scale, rel=1e-6)


@pytest.mark.parametrize("seed", [1793, 2227])
def test_an_estimate_is_found_also_where_a_whole_step_of_newton_leads_too_far(seed: int):
    """Two of four thousand data sets of these heavy tails in which the likelihood falls at some step."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(1, 3)
    x = rng.standard_t(1.0, size=(40, columns))
    y = (rng.random(40) < win_probability(x @ np.full(columns, rng.choice([0.2, 1.0, 3.0])))).astype(float)
    wrong = rng.random(40) < 0.1
    y[wrong] = 1 - y[wrong]
    fit = fit_logistic(x, y, ["a", "b"][:columns])
    assert np.abs(x.T @ (y - win_probability(x @ fit.estimate))).max() < 1e-9


def test_terms_that_determine_each_other_are_named_and_no_other():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 4))
    y = rng.choice([0.0, 1.0], 100)
    terms = ["a", "b", "c", "d"]
    assert fit_logistic(x / np.sqrt((x * x).sum(axis=0)), y, terms).estimate.shape == (4,)  # also of columns of length 1
    for changed, named in (({1: 2 * x[:, 3]}, "b, d"), ({0: x[:, 1] - x[:, 2]}, "a, b, c"), ({0: -x[:, 1]}, "a, b")):
        copy = x.copy()
        for column, values in changed.items():
            copy[:, column] = values
        with pytest.raises(CollinearityError, match="determine each other") as caught:
            fit_logistic(copy, y, terms)
        assert caught.value.value == named
    for columns, named in (([2], "c"), ([0, 3], "a, d")):
        copy = x.copy()
        copy[:, columns] = 0.0
        with pytest.raises(CollinearityError, match="never differ in") as caught:
            fit_logistic(copy, y, terms)
        assert caught.value.value == named


def test_quasi_separation_is_found_too():
    """One row contradicts in a column that the others leave at zero: finite along it, infinite along the other."""
    x = np.zeros((60, 2))
    x[:40, 0], x[40:, 1] = 1.0, 1.0
    y = np.r_[np.ones(40), np.tile([0.0, 1.0], 10)]
    with pytest.raises(SeparationError, match="'a'"):
        fit_logistic(x, y, ["a", "b"])


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"confidence": 0.0}, OptionError, "confidence"),
        ({"ties": "win"}, OptionError, "'win'"),
        ({"level": "model"}, OptionError, "'model'"),
        ({"persona": "occupation"}, BattleError, "'occupation'"),
        ({"cluster": "rater"}, BattleError, "'rater'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], error: type[Exception], said: str):
    ratings = rated()
    with pytest.raises(error, match=said):
        weights(voted(ratings, THETA, 300, seed=1), ratings, **options)


def test_battles_without_prompts_cannot_be_joined():
    ratings = rated()
    with pytest.raises(BattleError, match="column 'mode': must hold text"):
        weights(voted(ratings, THETA, 300, seed=1).with_columns(mode=pl.lit(["expert"])), ratings, persona="mode")
    with pytest.raises(BattleError, match="prompt_id"):
        weights(voted(ratings, THETA, 300, seed=1).drop("prompt_id"), ratings)


def test_people_read_rises_as_percentages_with_their_ends() -> None:
    ratings = rated()
    theta = np.array([math.log((0.5 + rise) / (0.5 - rise)) for rise in next(iter(TABLE_9.values()))])
    votes = voted(ratings, theta, 900, seed=3, interactions=False)
    found = weights(votes, ratings, interactions=False)
    view = found.view()
    assert len(view.table.rows) == found.table.height > 1 and view.table.columns[4] == "95% CI"
    for cells, row in zip(view.table.rows, found.table.iter_rows(named=True), strict=True):
        low, _, high = cells[4].partition(" – ")
        shown = [float(text.strip("%")) / 100 for text in (cells[3], low, high)]
        assert cells[:3] == ("all", "all", row["dimension"]) and cells[3][0] in "+-" and cells[3].endswith("%")
        assert shown == pytest.approx([row["rise"], row["ci_low"], row["ci_high"]], abs=0.00051)
        assert (cells[5], cells[6]) == (f"{row['battles']:,}", f"{row['ties']:,}")
    assert [row.value for row in view.chart.rows] == found.table["rise"].to_list() and view.chart.reference == 0.0

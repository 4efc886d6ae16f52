"""Rankings: what is read, Plackett-Luce against choix and oracles of its own, battles as rankings of two, and properties."""

from itertools import groupby, permutations
from pathlib import Path

import choix
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.optimize import minimize

import salon_ranking
from for_each import for_each
from salon_console import main
from salon_ranking import (
    Battles,
    Leaderboard,
    _core,
    agreement,
    compare_votes,
    differences,
    fit,
    rank,
    rank_by,
    scheduling,
    win_rates,
)
from salon_ranking.cli import votes as command
from salon_ranking.errors import BattleError, OptionError, UnratableError
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ranking_likelihood import RankingLikelihood
from studies.rankings import NAMES, SETTINGS, SPREAD, Setting, covered, drawn

few = settings(max_examples=5, derandomize=True, deadline=None)
seeds = st.integers(0, 10_000)
MODELS = ("ada", "bee", "cyd", "dot", "eve")


def table(seed: int, rankings: int = 60, *, sizes: tuple[int, ...] = (2, 3, 4), ties: bool = False) -> pl.DataFrame:
    """Rankings in clusters, with gaps between places; with ``ties`` often on equal ones, up to all four."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(rankings):
        chosen = rng.choice(len(MODELS), rng.choice(sizes), replace=False)
        utility = chosen / 3 + rng.gumbel(size=len(chosen))
        place = 1 + 2 * np.argsort(np.argsort(-utility))
        if ties:
            place = (1 + place // 3, 1 + (place > 3), np.ones_like(place))[number // 3 % 3]
        rows += [
            (f"k{number}", f"p{number % 11}", f"r{rng.integers(6)}", MODELS[model], int(where), 0.5 + number % 3)
            for model, where in zip(chosen, place, strict=True)
        ]
    frame = pl.DataFrame(rows, schema=["ranking_id", "prompt_id", "rater_id", "model", "place", "w"], orient="row")
    return frame.with_columns(pl.col("rater_id").first().over("ranking_id"))


def as_lists(frame: pl.DataFrame) -> list[list[list[int]]]:
    """Each ranking as groups of tied models, best first."""
    listed = []
    for _, rows in frame.group_by("ranking_id", maintain_order=True):
        ordered = sorted(rows.select("place", "model").rows())
        listed.append([[MODELS.index(model) for _, model in group] for _, group in groupby(ordered, key=lambda row: row[0])])
    return listed


def log_probability(theta: np.ndarray, groups: list[list[int]]) -> float:
    """The mean over all orders that the groups allow, each a product of choices: from the definition, model by model."""
    total, left = 0.0, [model for group in groups for model in group]
    for group in groups:
        every = []
        for order in permutations(group):
            rest, value = list(left), 0.0
            for model in order:
                value += theta[model] - np.log(np.exp(theta[rest]).sum())
                rest.remove(model)
            every.append(value)
        total += float(np.mean(every))
        left = [model for model in left if model not in group]
    return total


def slopes(theta: np.ndarray, groups: list[list[int]]) -> np.ndarray:
    """Slopes of the log-probability by differences."""
    steps = 1e-5 * np.eye(len(theta))
    return np.array([(log_probability(theta + s, groups) - log_probability(theta - s, groups)) / 2e-5 for s in steps])


# --- The table


@for_each("text", ["", "The first picture is the best one.", '{"ranking_id": "k1", "model": "x", "pla'])
@for_each("name", ["rankings.csv", "rankings.jsonl"])
def test_a_text_that_is_no_table_is_refused(tmp_path: Path, text: str, name: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(BattleError):
        Battles.read(tmp_path / name)


GOOD = {"ranking_id": ["k1", "k1", "k2", "k2"], "model": ["x", "y", "y", "x"], "place": ["1", "2", "1", "2"]}
WRONG = {
    "row 2, column 'place': a place is a whole number": {"place": ["1", "second", "1", "2"]},
    "row 2, column 'place': a place is a whole number of 1 or more, or unplaced, not: '0'": {"place": ["1", "0", "1", "2"]},
    "row 3, column 'place': a place is a whole number of 1 or more, or unplaced, not: '1.5'": {"place": ["1", "2", "1.5", "2"]},
    "row 1, column 'place': a place is a whole number of 1 or more, or unplaced, not: 'inf'": {"place": ["inf", "2", "1", "2"]},
    "row 4, column 'place': no place": {"place": [1, 2, 1, None]},
    "row 2, column 'model': a model twice in one ranking: 'x'": {"model": ["x", "x", "y", "x"]},
    "row 1, column 'model': no model name": {"model": [None, "y", "y", "x"]},
    "row 1, column 'model': empty model name": {"model": [" ", "y", "y", "x"]},
    "row 4, column 'ranking_id': no ranking id": {"ranking_id": ["k1", "k1", "k1", None], "model": ["x", "y", "z", "x"]},
    "row 3, column 'ranking_id': a ranking of one model: 'k2'": {"ranking_id": ["k1", "k1", "k2", "k3"]},
    "row 2, column 'weight': another value than the rows above": {"weight": [1.0, 2.0, 1.0, 1.0]},
    "row 1, column 'weight': a weight that cannot be used": {"weight": [-1.0, -1.0, 1.0, 1.0]},
    "row 3, column 'weight': a weight more than": {"weight": [1e-5, 1e-5, 1e5, 1e5]},
    "row 2, column 'prompt_id': another value than the rows above": {"prompt_id": ["p", "q", "p", "p"]},
    "column 'place': must hold numbers, not: 'Boolean'": {"place": [True, False, True, False]},
    "column 'model': must hold one value per row": {"model": [["x"], ["y"], ["y"], ["x"]]},
    "row 1, column 'ranking_id': a ranking without places: 'k1'": {"place": ["unplaced", "unplaced", "1", "2"]},
    "row 2, column 'place': a place is a whole number of 1 or more, or unplaced, not: ''": {"place": ["1", "", "1", "2"]},
}


@for_each("message", WRONG)
def test_a_wrong_row_is_named_with_row_column_and_value(message: str):
    frame = {"prompt_id": ["p"] * 4, **GOOD, **WRONG[message]}
    with pytest.raises(BattleError) as error:
        Battles.from_frame(frame, cluster_by="prompt_id")
    assert message in str(error.value).replace("not '", "not: '")


@for_each("column", ["ranking_id", "model"])
def test_a_missing_column_is_named(column: str):
    with pytest.raises(BattleError, match=f"missing column '{column}'"):
        Battles.from_frame({name: values for name, values in GOOD.items() if name != column})


def test_five_models_may_be_unplaced_but_not_on_one_place():
    frame = pl.DataFrame({"ranking_id": ["k"] * 6, "model": ["a", "b", "c", "d", "e", "f"], "place": ["1"] + ["unplaced"] * 5})
    battles = Battles.from_frame(frame)
    assert battles.cells.records()[1].tolist() == [5, 0, 0, 0, 0, 0]
    for place in ("1", "2"):
        with pytest.raises(BattleError, match=f"column 'place': more than 4 models on one place: '{place}'.*") as error:
            Battles.from_frame(frame.with_columns(pl.col("place").replace("unplaced", place)))
        assert "Write unplaced" in str(error.value)


def test_a_table_without_rows_has_no_rankings(tmp_path: Path):
    (tmp_path / "rankings.csv").write_text("ranking_id,model,place\n")
    for votes in (tmp_path / "rankings.csv", {"ranking_id": [], "model": [], "place": []}):
        with pytest.raises(BattleError, match="there are no rankings"):
            rank(votes)


def test_rankings_may_be_clusters_themselves():
    one, other = (Battles.from_frame(table(0), cluster_by=name, weight=False) for name in ("ranking_id", None))
    errors = [rank(battles).table["standard_error"].to_numpy() for battles in (one, other)]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)
    with pytest.raises(BattleError, match="column 'model': another value"):
        Battles.from_frame(table(0), cluster_by="model", weight=False)


def test_rankings_of_equal_places_count_as_ties():
    frame = table(0)
    more = pl.concat([frame, pl.DataFrame({"ranking_id": ["z"] * 2, "model": ["ada", "new"], "place": [3, 3]})], how="diagonal")
    board = rank(more, weight=False)
    ada, new = (board.table.row(by_predicate=pl.col("model") == name, named=True) for name in ("ada", "new"))
    assert new["rating"] == pytest.approx(ada["rating"]) and (new["ties"], new["matches"]) == (1, 1)
    assert board.rankings == 61


def test_rankings_that_compare_none_of_some_models_are_left_out():
    frame = {
        "ranking_id": ["k"] * 3 + ["l"] * 3 + ["m"] * 2,
        "model": ["a", "b", "c"] * 2 + ["b", "c"],
        "place": ["1", "unplaced", "unplaced", "unplaced", "2", "unplaced", "4", "4"],
    }
    orders = Battles.from_frame(frame).orders.among(np.array([1, 2]))
    assert (orders.start.tolist(), orders.model.tolist()) == ([0, 2, 4], [0, 1, 0, 1])
    assert orders.place.tolist() == [1, 2**32 - 1, 1, 1]


@few
@given(seed=seeds, placed=st.integers(1, 3))
def test_unplaced_models_are_below_all_others_in_any_order(seed: int, placed: int):
    frame = table(seed, 40, sizes=(4, 5)).with_columns(place=pl.col("place").rank("dense").over("ranking_id"))
    top = pl.when(pl.col("place") <= placed).then(pl.col("place").cast(pl.String)).otherwise(pl.lit("unplaced"))
    found = fit(frame.with_columns(place=top), prior_ties=1)

    def loss(theta: np.ndarray) -> float:
        prior = (theta / 2 - np.log1p(np.exp(theta))).sum()
        lists = ([model for (model,) in groups] for groups in as_lists(frame))
        chosen = (theta[one[k]] - np.log(np.exp(theta[one[k:]]).sum()) for one in lists for k in range(placed))
        return -float(prior + sum(chosen))

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-6}).x
    assert found.log_strengths == pytest.approx(best, abs=1e-5)


# --- Ratings


@few
@given(seed=seeds)
def test_choix_finds_the_same_ratings(seed: int):
    frame = table(seed)
    data = [[model for (model,) in groups] for groups in as_lists(frame)]
    found = fit(frame).log_strengths
    assert found == pytest.approx(choix.ilsr_rankings(5, data, alpha=0.0, tol=1e-12), abs=1e-8)


@few
@given(seed=seeds, ties=st.booleans())
def test_ratings_maximise_the_likelihood_of_its_definition(seed: int, ties: bool):
    frame = table(seed, 40, ties=ties)
    groups = as_lists(frame)
    found = fit(frame)
    assert found.log_likelihood == pytest.approx(sum(log_probability(found.log_strengths, one) for one in groups))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        return -sum(log_probability(theta, one) for one in groups), -sum(slopes(theta, one) for one in groups)

    best = minimize(loss, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-7}).x
    assert found.log_strengths == pytest.approx(best - best.mean(), abs=1e-6)
    assert found.converged and found.gradient_norm < 1e-9


@few
@given(seed=seeds)
def test_the_rows_of_a_ranking_add_up_to_its_slope_and_curvature(seed: int):
    frame = table(seed, 12, ties=True)
    groups = as_lists(frame.sort("ranking_id"))
    battles = Battles.from_frame(frame)
    likelihood = RankingLikelihood(battles.cells, fit(battles, prior_ties=1).options, battles.orders)
    theta = np.random.default_rng(seed).normal(size=5)
    scores = likelihood.at(theta)
    first, second, slope, _, _ = scores.rows
    for number, one in enumerate(groups):
        own = likelihood.unit == number
        total = np.bincount(first[own], slope[own], 5) - np.bincount(second[own], slope[own], 5)
        assert total == pytest.approx(slopes(theta, one), abs=1e-8)
    step = 1e-4
    bend = [sum(slopes(theta - h, one) - slopes(theta + h, one) for one in groups) / (2 * step) for h in step * np.eye(5)]
    assert scores.curvature() == pytest.approx(np.array(bend), abs=1e-4)
    assert (scores.bend >= 0).all()


def test_wide_strengths_and_many_models_are_fitted_too():
    names = [f"m{number:03}" for number in range(300)]
    rows = [(f"k{n}", names[(n + k) % 300], k + 1) for n in range(300) for k in range(4)]
    rows += [(f"b{n}", names[(n + k) % 300], 4 - k) for n in range(0, 300, 2) for k in range(4)]
    found = fit(pl.DataFrame(rows, schema=["ranking_id", "model", "place"], orient="row"))
    assert found.converged and found.gradient_norm < 1e-8
    certain = [("k", "x", 1), ("k", "y", 2), ("k", "z", 3), ("l", "z", 1), ("l", "x", 2)]
    frame = pl.DataFrame(certain, schema=["ranking_id", "model", "place"], orient="row")
    weights = pl.when(pl.col("ranking_id") == "k").then(1e6).otherwise(1.0)
    assert fit(frame.with_columns(weight=weights)).converged


@few
@given(seed=seeds)
def test_a_start_changes_no_answer(seed: int):
    frame = table(seed, ties=True)
    start = dict(zip(MODELS, np.random.default_rng(seed).normal(0, 3, 5), strict=True))
    assert fit(frame, start=start).log_strengths == pytest.approx(fit(frame).log_strengths, abs=1e-9)


def test_the_core_refuses_columns_that_do_not_fit():
    start, codes, weight = np.array([0, 2], dtype=np.uint64), np.array([0, 1], dtype=np.uint32), np.ones(1)
    for rankings in (
        (start, codes, codes[::-1].copy(), weight),
        (start, codes + 1, codes, weight),
        (start, codes, codes, np.ones(2)),
    ):
        with pytest.raises(ValueError, match=r"rankings|model|place"):
            _core.fit_rankings(2, rankings, np.zeros(2), 0.0, 1e-9, 10)


# --- Battles as rankings of two


def both_ways(seed: int, *, ties: bool = False) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same votes as rankings of two and as battles."""
    rankings = table(seed, 150, sizes=(2,), ties=ties)
    is_first = pl.col("ranking_id").is_first_distinct()
    one, other = rankings.filter(is_first), rankings.filter(~is_first)
    battles = one.rename({"model": "model_a"}).join(other.select("ranking_id", model_b="model", below="place"), on="ranking_id")
    lead = (pl.col("below").cast(pl.Int64) - pl.col("place")).sign()
    winner = lead.replace_strict({1: "model_a", 0: "tie", -1: "model_b"}, return_dtype=pl.String)
    return rankings, battles.with_columns(winner=winner).drop("ranking_id", "place", "below")


KINDS = [(columns, weight, interval) for columns in (0, 1, 2) for weight in (None, "w") for interval in ("sandwich", "anytime")]


@pytest.mark.parametrize(("columns", "weight", "interval"), KINDS)
@settings(max_examples=2, derandomize=True, deadline=None)
@given(seed=seeds)
def test_rankings_of_two_are_battles_of_bradley_terry(columns: int, weight: str | None, interval: str, seed: int):
    names = ("prompt_id", "rater_id")[:columns]
    one, other = (Battles.from_frame(frame, "votes", names, weight or False) for frame in both_ways(seed, ties=True))
    options = {"interval": interval, "ranks": True, "prior_ties": float(seed % 2)}
    board, expected = rank(one, **options), rank(other, **options)
    assert_frame_equal(board.table, expected.table, rel_tol=1e-8)
    assert board.log_likelihood == pytest.approx(expected.log_likelihood)
    assert board.warnings == expected.warnings
    gaps = (differences(battles, interval=interval).table for battles in (one, other))
    assert_frame_equal(*gaps, rel_tol=1e-6)


def test_battles_that_no_ratings_fit_give_the_same_error():
    rankings, _ = both_ways(1)
    first = pl.col("model") == "eve"
    lost = rankings.with_columns(place=pl.when(first.any().over("ranking_id")).then(first + 1).otherwise("place"))
    keys = lost.filter(pl.col("place") == pl.col("place").min().over("ranking_id")).select("ranking_id", best="model")
    paired = rankings.group_by("ranking_id", maintain_order=True).agg(pl.col("model")).join(keys, on="ranking_id")
    sides = {"model_a": pl.col("model").list.get(0), "model_b": pl.col("model").list.get(1)}
    winner = pl.when(pl.col("best") == pl.col("model").list.get(0)).then(pl.lit("model_a")).otherwise(pl.lit("model_b"))
    same = paired.select(**sides, winner=winner)
    said = []
    for frame in (lost, same):
        with pytest.raises(UnratableError) as error:
            rank(Battles.from_frame(frame, "votes", weight=False))
        said.append((str(error.value), error.value.groups))
        assert rank(frame, components="separate", weight=False).components == 2
    assert said[0] == said[1] and "lost all of their battles: 'eve'" in said[0][0]


# --- Intervals


@few
@given(seed=seeds)
def test_errors_are_those_of_rankings_summed_before_they_are_squared(seed: int):
    frame = table(seed, 80, sizes=(3, 4), ties=seed % 2 == 0)
    groups = as_lists(frame)
    battles = Battles.from_frame(frame)
    found = fit(battles)
    theta = found.log_strengths
    scores = np.array([slopes(theta, one) for one in groups])
    likelihood = found.leagues[0].likelihood
    bread = np.linalg.pinv(likelihood.at(theta).curvature())
    factor = len(groups) / (len(groups) - 4)
    covariance = factor * bread @ scores.T @ scores @ bread
    base = found.leagues[0].base
    errors = np.sqrt(np.diag(covariance) + covariance[base, base] - 2 * covariance[base])
    board = rank(battles, baseline=found.baselines[0]).table.sort("model")
    assert board["standard_error"].to_numpy() == pytest.approx(400 / np.log(10) * errors, rel=1e-4, abs=1e-9)


PROPERTIES = {
    "one column": {"cluster_by": "prompt_id", "weight": "w"},
    "two columns": {"cluster_by": ("prompt_id", "rater_id"), "weight": "w"},
    "no clusters": {"weight": "w"},
    "no weights": {"weight": False},
}


def boards(frame: pl.DataFrame, name: str) -> tuple[Leaderboard, pl.DataFrame]:
    battles = Battles.from_frame(frame, "rankings", **PROPERTIES[name])
    return rank(battles, ranks=True, baseline="cyd"), differences(battles).table


def assert_same(frame: pl.DataFrame, other: pl.DataFrame, name: str, tolerance: float = 1e-9) -> None:
    one, two = boards(frame, name), boards(other, name)
    assert_frame_equal(one[0].table, two[0].table, rel_tol=tolerance)
    assert_frame_equal(one[1], two[1], rel_tol=1e3 * tolerance)
    assert one[0].header == two[0].header


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_order_of_rows_and_the_names_of_rankings_change_nothing(name: str):
    frame = table(3, ties=True)
    other = frame.sample(fraction=1.0, shuffle=True, seed=8).with_columns(ranking_id=pl.col("ranking_id").str.reverse())
    assert_same(frame, other.filter(pl.col("ranking_id").is_not_null()), name)


@pytest.mark.parametrize("name", PROPERTIES)
def test_only_the_order_of_places_matters(name: str):
    frame = table(4, ties=True)
    assert_same(frame, frame.with_columns(place=pl.col("place") ** 2 + 7), name, 1e-15)
    assert_same(frame, frame.with_columns(pl.col("place").cast(pl.Float64).cast(pl.String)), name, 1e-15)


@pytest.mark.parametrize("name", ["one column", "two columns", "no clusters"])
def test_rows_of_weight_0_change_nothing_whatever_they_hold(name: str):
    frame = table(5, ties=True)
    nonsense = {
        "ranking_id": ["k0", None, "k1", "zz"],
        "prompt_id": [None, "p0", "elsewhere", "p1"],
        "rater_id": ["r0", None, "r1", "r9"],
        "model": ["ghost", "ada", None, "ada"],
        "place": [-3, None, 1, 1],
        "w": [0.0] * 4,
    }
    assert_same(frame, pl.concat([pl.DataFrame(nonsense, schema=frame.schema), frame]), name, 1e-15)


@pytest.mark.parametrize("name", PROPERTIES)
def test_names_of_models_change_the_names_alone(name: str):
    frame = table(6, ties=True)
    names = dict(zip(MODELS, ("zoe", "ann", "cyd", "Ünal", "bob"), strict=True))
    back = {new: old for old, new in names.items()}
    one, _ = boards(frame, name)
    other, _ = boards(frame.with_columns(pl.col("model").replace(names)), name)
    renamed = other.table.with_columns(pl.col("model").replace(back)).sort("model")
    assert_frame_equal(one.table.sort("model"), renamed, rel_tol=1e-8)


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_component_is_what_it_is_alone(name: str):
    frame = table(7, 80, ties=True)
    second = table(8, 40).with_columns(pl.col("ranking_id", "prompt_id", "rater_id", "model").str.replace("^", "x"))
    top = frame.filter(pl.col("ranking_id") == "k0").with_columns(
        ranking_id=pl.lit("t"), prompt_id=pl.lit("t"), rater_id=pl.lit("t")
    )
    above = pl.concat([top, top.with_columns(pl.col("model").str.replace("^", "x"), place=pl.col("place") + 50)])
    whole = Battles.from_frame(pl.concat([frame, second, above]), **PROPERTIES[name])
    alone = Battles.from_frame(pl.concat([frame, top]), **PROPERTIES[name])
    board = rank(whole, components="separate").table.filter(pl.col("component") == 0)
    columns = ["model", "rating", "standard_error", "ci_low", "ci_high"]
    assert_frame_equal(board.select(columns), rank(alone).table.select(columns), rel_tol=1e-8)


def test_doubling_all_weights_equals_doubling_all_rankings_in_clusters():
    frame = table(9, ties=True)
    again = pl.concat([frame, frame.with_columns(pl.col("ranking_id").str.replace("^", "again "))])
    kept = ["model", "rating", "standard_error", "ci_low", "ci_high"]
    one, _ = boards(frame.with_columns(w=2 * pl.col("w")), "two columns")
    assert_frame_equal(one.table.select(kept), boards(again, "two columns")[0].table.select(kept), rel_tol=1e-7)


def test_a_ranking_of_four_tells_23_sixths_of_what_a_vote_between_equals_tells():
    told = {}
    for size in (2, 3, 4):
        frame = {"ranking_id": ["k"] * size, "model": list(MODELS[:size]), "place": list(range(1, size + 1))}
        battles = Battles.from_frame(frame)
        assert battles.orders is not None
        told[size] = np.trace(RankingLikelihood(battles.cells, FitOptions(), battles.orders).at(np.zeros(size)).curvature())
    assert told[3] / told[2] == pytest.approx(7 / 3) and told[4] / told[2] == pytest.approx(23 / 6)


def test_the_study_in_small_covers():
    setting = next(one for one in SETTINGS if one.name == "prompts with tastes")
    known = dict(zip(NAMES.tolist(), truth_in_small(setting), strict=True))
    shares = [covered(seed, setting, known)[0] for seed in range(40)]
    assert 0.9 < np.mean(shares) < 0.99


def truth_in_small(setting: Setting) -> list[float]:
    """The log-strengths that many rankings of many prompts give."""
    return fit(drawn(np.random.default_rng(1), SPREAD, 20_000, 4, setting, prompts=20_000)).log_strengths.tolist()


# --- What rankings are not for


REFUSED = {
    "tie model": lambda battles: fit(battles, ties="davidson"),
    "covariates": lambda battles: rank(battles, covariates=["place"]),
    "Firth": lambda battles: differences(battles, estimator="firth"),
    "percentile": lambda battles: rank(battles, interval="percentile"),
    "BCa": lambda battles: rank(battles, interval="bca"),
    "groups": lambda battles: rank_by(battles, "prompt_id"),
    "win_rates": win_rates,
    "compare_votes": lambda battles: compare_votes(battles, battles),
    "equal pairs": lambda battles: battles.with_equal_pairs(),
    "no winner": lambda battles: rank(table(1), no_winner="leave_out"),
    "both_bad": lambda battles: salon_ranking.settle_both_bad(battles, "drop"),
    "goodness_of_fit": lambda battles: salon_ranking.goodness_of_fit(battles, fit(battles)),
    "online_elo": salon_ranking.online_elo,
    "contributions": salon_ranking.contributions,
    "preference_pairs": salon_ranking.preference_pairs,
    "acceptability": salon_ranking.acceptability,
    "pairs of votes": lambda battles: agreement.pairs_of_votes(battles, battles),
    "explain": lambda battles: salon_ranking.explain(rank(battles), battles, "ada"),
    "listing": lambda battles: salon_ranking.listing(rank(battles), battles),
    "schedule": lambda battles: scheduling.ScheduleState.of(battles),
    "predict": lambda battles: salon_ranking.predict(battles, fit(battles)),
    "cycles": salon_ranking.cycle_report,
}


@for_each("name", REFUSED)
def test_what_is_for_battles_alone_is_refused(name: str):
    with pytest.raises(OptionError, match="rankings"):
        REFUSED[name](Battles.from_frame(table(1), weight=False))


def test_a_table_with_sides_and_a_place_is_one_of_battles():
    frame = {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a"] * 2, "place": [1, 2]}
    assert Battles.from_frame(frame).orders is None


def test_names_columns_and_conditions_are_those_of_battles():
    frame = table(2).rename({"model": "generator"}).with_columns(pl.col("generator").replace({"ada": "Ada"}).alias("generator"))
    half = frame.with_columns(
        generator=pl.when(pl.col("ranking_id") > "k3").then(pl.col("generator").replace({"Ada": "ada"})).otherwise("generator")
    )
    columns = {"generator": "model"}
    apart = Battles.from_frame(half, columns=columns, weight=False)
    assert "differ only by case" in " ".join(apart.remarks)
    merged = Battles.from_frame(half, columns=columns, names="merge", weight=False)
    named = Battles.from_frame(half, columns=columns, names={"Ada": "ada"}, weight=False)
    assert merged.models == named.models == MODELS
    some = Battles.from_frame(half, columns=columns, names="merge", where="prompt_id < 'p5'", weight=False)
    assert some.orders.count < merged.orders.count and "where prompt_id < 'p5'" in some.remarks[0]


def test_the_command_ranks_a_table_of_rankings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    table(1).write_csv("rankings.csv")
    run = CliRunner().invoke
    result = run(
        command, ["rank", "rankings.csv", "--weight", "1", "--cluster", "prompt_id", "--ranks", "--output", "board.json"]
    )
    assert result.exit_code == 0, result.output
    assert "60 rankings" in result.output and "Plackett-Luce" in Path("board.json").read_text()
    assert run(command, ["rank", "rankings.csv", "--output", "board.html"]).exit_code == 0
    assert run(command, ["compare", "rankings.csv"]).exit_code == 0
    for arguments in (
        ["rank", "rankings.csv", "--by", "prompt_id"],
        ["rank", "rankings.csv", "--listing"],
        ["rank", "rankings.csv", "--diagnose"],
        ["rank", "rankings.csv", "--equal-pairs", "3"],
        ["rank", "rankings.csv", "--exclude-flagged"],
        ["rank", "rankings.csv", "--both-bad", "own"],
        ["rank", "rankings.csv", "--repeated-ids", "count"],
        ["rank", "rankings.csv", "--ties", "davidson"],
        ["compare", "rankings.csv", "--by", "prompt_id"],
        ["compare", "rankings.csv", "rankings.csv"],
        ["elo", "rankings.csv"],
        ["explain", "rankings.csv", "ada"],
        ["import", "rankings.csv"],
        ["next", "rankings.csv"],
    ):
        refused = run(command, arguments)
        assert isinstance(refused.exception, OptionError) and "rankings" in str(refused.exception), arguments


def test_a_board_of_rankings_is_stored_under_its_model():
    records = rank(table(1)).records()
    assert records["estimator"].unique().to_list() == ["maximum-likelihood; plackett-luce"]


@for_each("words", ["votes raters r.csv", "votes draw r.csv --count 1", "votes correct r.csv --judged other.csv"])
def test_a_command_for_battles_says_that_the_table_holds_rankings(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("r.csv", "other.csv"):
        table(0).write_csv(name)
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 2
    assert "table holds rankings" in result.stderr and "`salon votes rank" in result.stderr


def test_a_table_of_rankings_without_places_is_told_which_column_is_missing():
    with pytest.raises(BattleError, match="missing column 'place'"):
        rank(table(0).rename({"place": "rank"}))

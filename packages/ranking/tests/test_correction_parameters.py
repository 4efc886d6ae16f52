"""Correcting a judge with a tie parameter or covariates: held against rank, against differences, and against the truth."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from salon_ranking import Battles, CorrectedRatings, correct_ratings, rank
from salon_ranking.cli import votes as votes_commands
from salon_ranking.correction.estimate import estimate, loss_rows, mixed
from salon_ranking.correction.joint_fit import loss_at, rao_kupper_terms
from salon_ranking.correction.pairing import paired
from salon_ranking.errors import CovariateCollinearityError, CovariateError, OptionError, UnratableError
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ties import rao_kupper
from studies.correction_models import coverage

NAMES = np.array(["m0", "m1", "m2", "m3"])
OUTCOMES = np.array(["model_a", "model_b", "tie"])
KINDS: dict[str, dict[str, Any]] = {
    "davidson": {"ties": "davidson"},
    "rao-kupper": {"ties": "rao-kupper"},
    "length": {"covariates": ("length_a,length_b",)},
    "side": {"covariates": ("side_a_shown",)},
    "style": {"covariates": ("style_a,style_b", "length_a,length_b")},
}


def drawn(seed: int = 0, battles: int = 1500, voted: int = 300, lean: float = 0.5) -> tuple[pl.DataFrame, ...]:
    """Votes, verdicts, and people on all battles: Davidson's ties, a side bias of people, and a judge that likes length."""
    rng = np.random.default_rng(seed)
    strengths, tastes = rng.normal(0, 0.5, 4), rng.normal(0, 0.5, 4)
    a = rng.integers(0, 4, battles)
    b = (a + rng.integers(1, 4, battles)) % 4
    lengths = rng.normal(0, 30, (2, battles))
    sides = rng.choice(["left", "right"], (2, battles))
    gap = strengths[a] - strengths[b] + 0.3 * np.where(sides[0] == "left", 1, -1) + 0.01 * (lengths[0] - lengths[1])
    noise = rng.gumbel(size=(3, battles))
    people = np.argmax(np.stack([gap / 2, -gap / 2, np.full(battles, np.log(0.5))]) + noise, axis=0)
    liked = gap + lean * (tastes[a] - tastes[b])
    judge = np.argmax(np.stack([liked / 2, -liked / 2, np.full(battles, np.log(0.3))]) + noise, axis=0)
    frame = pl.DataFrame(
        {
            "battle_id": [f"b{number}" for number in range(battles)],
            "prompt_id": [f"p{number // 5}" for number in range(battles)],
            "model_a": NAMES[a],
            "model_b": NAMES[b],
            "length_a": lengths[0],
            "length_b": lengths[1],
            "style_a": rng.choice(["ink", "oil", "chalk"], battles),
            "style_b": rng.choice(["ink", "oil", "chalk"], battles),
            "category": rng.choice(["text", "scene"], battles),
        }
    )
    raters = pl.Series([f"r{number % 12}" for number in range(battles)])
    people_on_all = frame.with_columns(winner=pl.Series(OUTCOMES[people]), side_a_shown=pl.Series(sides[0]), rater_id=raters)
    chosen = np.sort(rng.choice(battles, voted, replace=False))
    verdicts = frame.with_columns(winner=pl.Series(OUTCOMES[judge]), side_a_shown=pl.Series(sides[1]))
    return people_on_all[chosen], verdicts, people_on_all


def board(votes: pl.DataFrame, judged: pl.DataFrame, *, cluster: tuple[str, ...] = (), **options: Any) -> CorrectedRatings:
    people = Battles.from_frame(votes, cluster_by=cluster)
    return correct_ratings(people, Battles.from_frame(judged, ids=None), **{"baseline": "m1", **options})


def turned(frame: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """The same battles with the sides of some of them swapped."""
    swaps = {f"{name}_{side}": f"{name}_{other}" for name in ("model", "length", "style") for side, other in ("ab", "ba")}
    values = {"winner": {"model_a": "model_b", "model_b": "model_a"}, "side_a_shown": {"left": "right", "right": "left"}}
    return frame.with_columns(
        *(pl.when(rows).then(pl.col(other)).otherwise(pl.col(one)).alias(one) for one, other in swaps.items()),
        *(pl.when(rows).then(pl.col(one).replace(other)).otherwise(pl.col(one)).alias(one) for one, other in values.items()),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_identical_to_people_gives_people_on_all_battles(kind: str) -> None:
    votes, _, people = drawn()
    found = board(votes, people.drop("rater_id"), **KINDS[kind])
    assert found.factor == pytest.approx(1.0)
    everyone = rank(Battles.from_frame(people), baseline="m1", interval="sandwich", **KINDS[kind])
    np.testing.assert_allclose(found.table.sort("model")["rating"], everyone.table.sort("model")["rating"], atol=1e-6)
    columns = ["term", "estimate", "scale", "elo"]
    assert_frame_equal(found.parameters.select(columns), everyone.parameters.select(columns), abs_tol=1e-6)
    assert_frame_equal(
        found.parameters.select("standard_error", "ci_low", "ci_high", "z", "p_value"),
        everyone.parameters.select("standard_error", "ci_low", "ci_high", "z", "p_value"),
        rel_tol=0.02,
        abs_tol=0.02,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_judge_it_is_the_board_of_people(kind: str) -> None:
    votes, judged, _ = drawn()
    found = board(votes, judged, factor=0.0, cluster=("prompt_id",), **KINDS[kind])
    table, plain = (
        found.table.sort("model"),
        rank(Battles.from_frame(votes, cluster_by="prompt_id"), baseline="m1", interval="sandwich", **KINDS[kind]),
    )
    expected = plain.table.sort("model")
    for name in ("rating", "ci_low", "ci_high"):
        np.testing.assert_allclose(table[name], expected[name], atol=1e-5)
    np.testing.assert_allclose(table["rating"], table["people"], atol=1e-9)
    if kind in (
        "davidson",
        "rao-kupper",
        "side",
    ):  # standard deviations and the most frequent category are those of the verdicts
        columns = [name for name in plain.parameters.columns if name != "component"]
        assert_frame_equal(found.parameters.select(columns), plain.parameters.select(columns), abs_tol=1e-6)
    else:
        assert found.parameters["z"][-1] == pytest.approx(plain.parameters["z"][-1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cluster", [(), ("prompt_id", "rater_id")])
def test_order_names_and_sides_change_nothing(kind: str, cluster: tuple[str, ...]) -> None:
    votes, judged, _ = drawn()
    options = {"cluster": cluster, **KINDS[kind]}
    expected = board(votes, judged, **options)
    assert 0.0 < expected.factor < 1.0
    rng = np.random.default_rng(1)
    shuffled = [frame.sample(fraction=1.0, shuffle=True, seed=number) for number, frame in enumerate((votes, judged))]
    sides = [turned(frame, pl.Series(rng.random(frame.height) < 0.5)) for frame in (votes, judged)]
    for frames in (shuffled, sides):
        found = board(*frames, **options)
        assert_frame_equal(found.table, expected.table, abs_tol=1e-6)
        # the standard deviation of a difference, not centred, depends on which side is a; z does not
        same = ["term", "z", "p_value", "degrees"] if kind in ("length", "style") else found.parameters.columns
        assert_frame_equal(found.parameters.select(same), expected.parameters.select(same), abs_tol=1e-6)
    names = dict(zip(NAMES.tolist(), ("z", "y", "x", "w"), strict=True))
    renamed = board(
        *(one.with_columns(pl.col("model_a", "model_b").replace(names)) for one in (votes, judged)), **options, baseline="y"
    )
    again = renamed.table.with_columns(pl.col("model").replace({new: old for old, new in names.items()}))
    assert_frame_equal(again, expected.table, abs_tol=1e-6)
    assert_frame_equal(renamed.parameters, expected.parameters, abs_tol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_and_curvature_are_those_of_the_loss(kind: str) -> None:
    """Central differences of the loss and of its slopes, away from the minimum."""
    votes, judged, _ = drawn()
    battles = Battles.from_frame(votes), Battles.from_frame(judged)
    both = mixed(paired(*battles, None, model=FitOptions(**KINDS[kind])), np.array([0.6]))
    assert both.further is not None
    parts = loss_rows(both, both.further, 0.6)
    at = np.random.default_rng(2).normal(0, 0.5, 4 + max(len(both.further.terms), 1))
    at[-1] = abs(at[-1])  # ln κ is above 0
    _, slopes, curvature = loss_at(parts, at)
    for number, step in enumerate(1e-5 * np.eye(len(at))):
        (up, slopes_up, _), (down, slopes_down, _) = (loss_at(parts, at + sign * step) for sign in (1, -1))
        assert slopes[number] == pytest.approx((up - down) / 2e-5, abs=1e-8)
        np.testing.assert_allclose(curvature[number], (slopes_up - slopes_down) / 2e-5, atol=1e-8)
    one = estimate(both, 0.6)
    np.testing.assert_allclose(loss_at(parts, np.append(one.theta, one.further))[1], 0.0, atol=1e-9)
    if kind not in ("side", "rao-kupper"):  # with covariates alike in votes and verdicts the loss is convex everywhere
        assert np.linalg.eigvalsh(curvature).min() > -1e-12


def test_terms_of_rao_and_kupper_are_those_of_rank_s_likelihood() -> None:
    """Of single outcomes; of several judges' shares their mean. Far from 0 they stay finite."""
    rng = np.random.default_rng(4)
    gap, outcome = rng.normal(0, 3, 60), rng.integers(0, 3, 60).astype(np.uint8)
    score, ties = np.array([1.0, 0.0, 0.5])[outcome], (outcome == 2) * 1.0
    for t in (0.01, 0.4, 3.0):
        for mine, other in zip(rao_kupper_terms(gap, t, score, ties), rao_kupper(gap, t, outcome), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)
        mixture = rao_kupper_terms(gap, t, np.full(60, 0.7), np.full(60, 0.2))
        of_each = [rao_kupper(gap, t, np.full(60, number, dtype=np.uint8)) for number in range(3)]
        for number, mine in enumerate(mixture):
            np.testing.assert_allclose(mine, sum(w * one[number] for w, one in zip((0.6, 0.2, 0.2), of_each, strict=True)))
    far = rao_kupper_terms(np.array([-60.0, 60.0]), 5.0, np.array([0.5, 0.5]), np.ones(2))
    assert np.isfinite(far).all()


@pytest.mark.parametrize("kind", ["davidson", "rao-kupper", "side"])
def test_the_bootstrap_is_as_wide_as_the_sandwich(kind: str) -> None:
    votes, judged, _ = drawn()
    plain, resampled = (board(votes, judged, replicates=number, **KINDS[kind]) for number in (0, 100))
    for table, other in ((plain.table, resampled.table), (plain.parameters, resampled.parameters)):
        widths = [(one["ci_high"] - one["ci_low"]).to_numpy() for one in (other, table)]
        known = widths[1] > 0
        assert 0.75 < float(np.mean(widths[0][known] / widths[1][known])) < 1.35
    assert resampled.parameters["standard_error"].null_count() == resampled.parameters.height


def test_several_judges_and_boards_by_category_keep_their_parameters() -> None:
    votes, judged, _ = drawn()
    twins = pl.concat([judged.with_columns(rater_id=pl.lit(name)) for name in ("one", "twin")])
    for kind in ("davidson", "rao-kupper", "side"):
        alone, twice = (board(votes, frame, by="category", **KINDS[kind]) for frame in (judged, twins))
        assert_frame_equal(alone.table.drop("verdicts"), twice.table.drop("verdicts"), abs_tol=1e-6)
        assert_frame_equal(alone.parameters, twice.parameters, abs_tol=1e-6)
        own = board(votes.filter(category="text"), judged.filter(category="text"), **KINDS[kind]).table
        assert_frame_equal(alone.groups.filter(group="text").drop("group"), own, abs_tol=1e-6)
    other = twins.with_columns(
        side_a_shown=pl.when(pl.col("rater_id") == "twin").then(pl.lit("left")).otherwise("side_a_shown")
    )
    with pytest.raises(CovariateError, match=r"different values of a covariate.*"):
        board(votes, other, **KINDS["side"])


def test_without_ties_the_tie_parameter_is_0_and_the_board_is_plain() -> None:
    votes, judged, _ = (frame.filter(pl.col("winner") != "tie") for frame in drawn())
    votes = votes.join(judged, on="battle_id", how="semi")
    found, plain = (board(votes, judged, ties=ties) for ties in ("davidson", "half"))
    other = board(votes, judged, ties="rao-kupper")
    assert_frame_equal(found.table, plain.table)
    assert_frame_equal(other.table, plain.table)
    assert other.parameters.select("term", "estimate", "ci_low", "people", "judge").row(0) == ("κ", 1.0, None, 1.0, 1.0)
    assert found.parameters.select("term", "estimate", "ci_low", "people", "judge").row(0) == ("ν", 0.0, None, 0.0, 0.0)
    assert plain.parameters.is_empty()
    assert plain.parameters.columns == found.parameters.columns


@pytest.mark.parametrize(("ties", "edge"), [("davidson", 0.0), ("rao-kupper", 1.0)])
def test_a_judge_that_never_ties_is_used_and_its_own_tie_parameter_is_at_its_edge(ties: str, edge: float) -> None:
    votes, judged, _ = drawn()
    decided = judged.with_columns(winner=pl.col("winner").replace("tie", "model_a"))
    found = board(votes, decided, ties=ties)
    assert found.factor > 0.0
    assert found.parameters["judge"].to_list() == [edge]
    assert found.parameters["estimate"][0] == pytest.approx(found.parameters["people"][0], abs=0.1)


def test_what_cannot_be_fitted_is_refused_with_its_name() -> None:
    votes, judged, _ = drawn()
    with pytest.raises(OptionError, match="cannot be combined"):
        board(votes, judged, ties="davidson", covariates=["side_a_shown"])
    for frames, covariate, words in (
        ((votes.drop("side_a_shown"), judged), "side_a_shown", "missing column.*side_a_shown"),
        ((votes, judged.drop("side_a_shown")), "side_a_shown", "missing column.*side_a_shown"),
        ((votes, judged), "a,b,c", "a covariate is a column"),
        ((votes.with_columns(side_a_shown=pl.lit("above")), judged), "side_a_shown", "unknown side.*above"),
        ((votes.with_columns(style_a=pl.lit("neon")), judged), "style_a,style_b", "a category that no verdict has.*neon"),
        ((votes.with_columns(length_a=pl.lit("long")), judged), "length_a,length_b", "must hold numbers"),
        ((votes, judged.with_columns(length_b=None)), "length_a,length_b", "no value"),
    ):
        with pytest.raises(CovariateError, match=words):
            board(*frames, covariates=[covariate])
    same = votes.with_columns(length_a=pl.col("length_b"))
    with pytest.raises(CovariateCollinearityError, match=r"the votes of people.*never differ"):
        board(same, judged, covariates=["length_a,length_b"])
    with pytest.raises(CovariateCollinearityError, match="is determined by what else is fitted"):
        board(votes, judged, covariates=["length_a,length_b", "length_b,length_a"])
    apart = [pl.concat([one, one.with_columns(pl.col("model_a", "model_b", "battle_id") + "'")]) for one in (votes, judged)]
    with pytest.raises(UnratableError, match="no finite ratings"):
        board(*apart, ties="davidson")
    ever = votes.with_columns(
        winner=pl.when(pl.col("side_a_shown") == "left").then(pl.lit("model_a")).otherwise(pl.lit("model_b"))
    )
    with pytest.raises(UnratableError, match="without tie parameter and covariates"):
        board(ever, judged, covariates=["side_a_shown"], factor=0.0)


def test_the_command_shows_the_parameters_after_the_board(tmp_path: Path) -> None:
    votes, judged, _ = drawn()
    votes.write_csv(tmp_path / "votes.csv")
    judged.write_parquet(tmp_path / "verdicts.parquet")
    asked = ["correct", str(tmp_path / "votes.csv"), "--judged", str(tmp_path / "verdicts.parquet"), "--baseline", "m1"]
    shown = CliRunner().invoke(votes_commands, [*asked, "--covariate", "side_a_shown"])
    assert shown.exit_code == 0, shown.output
    assert "controlled for side_a_shown" in " ".join(shown.output.split())
    assert shown.output.index("parameters") > shown.output.index("people alone")
    answer = json.loads(CliRunner().invoke(votes_commands, [*asked, "--ties", "davidson", "--format", "json"]).stdout)
    assert answer["parameters"] == board(votes, judged, ties="davidson").parameters.to_dicts()
    assert f"Davidson, ν = {answer['parameters'][0]['estimate']:.4g}" in answer["header"]
    answer = json.loads(CliRunner().invoke(votes_commands, [*asked, "--ties", "rao-kupper", "--format", "json"]).stdout)
    assert f"Rao-Kupper, κ = {answer['parameters'][0]['estimate']:.4g}" in answer["header"]


@pytest.mark.parametrize("kind", ["davidson", "rao-kupper", "side_a_shown", "three judges"])
def test_intervals_hold_the_truth_in_the_leagues_of_the_study(kind: str) -> None:
    (agreement, _, ratings, parameter, counts_for), failed = coverage(kind, 8)
    assert 0.75 < agreement < 0.85
    assert ratings > 0.75 and not parameter <= 0.75  # NaN without a parameter
    assert counts_for > 1.2
    assert failed == 0

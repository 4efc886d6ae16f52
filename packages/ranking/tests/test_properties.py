"""What holds for every public function that takes battles, ratings or votes: one table of functions, one test per property.

1. Rows of weight 0 change nothing, whatever they hold.
2. Intervals, tests and ranks of a component are those of the component alone.
3. Renaming and reordering models and rows change the names, and nothing else.
4. Doubling all weights equals doubling all rows, where the docs say so.
5. The number of threads changes nothing, and a wrong one is refused.

Two libraries of others are the oracles of ratings. A function that is not in the tables fails a test of its own.
"""

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType

import choix
import evalica
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from ranked import contextual, tied
from twins import numpy_core

import salon_ranking
from for_each import for_each
from salon_ranking import (
    Battles,
    GrowingLeague,
    acceptability,
    agreement,
    compare,
    compare_groups,
    compare_votes,
    contributions,
    cycle_report,
    differences,
    explain,
    fit,
    goodness_of_fit,
    groups_of,
    listing,
    match_effects,
    online_elo,
    opinion,
    preference_pairs,
    rank,
    rank_by,
    raters,
    scheduling,
    settle_both_bad,
    win_rates,
)
from salon_ranking.diagnostics.convergence import convergence
from salon_ranking.diagnostics.head_to_head import head_to_head
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.leaderboard.analyses import analyses_of
from salon_ranking.opinion import dimension_weights
from salon_ranking.raters import Votes, check_raters, exclude_flagged
from salon_ranking.scheduling import ScheduleState, next_pairs

MODELS = ("ada", "bee", "cyd", "dot")
BASE = "bee"
DRAWN = {"replicates": 40, "seed": 3}
few = settings(max_examples=2, derandomize=True, deadline=None)
seeds = st.integers(0, 10_000)


def league(seed: int, battles: int = 150, models: tuple[str, ...] = MODELS, prompts: int = 12) -> pl.DataFrame:
    """Votes with ties, clusters, covariates and ids; every model beats and loses to others."""
    rng = np.random.default_rng(seed)
    a = np.append(np.arange(len(models)), rng.integers(0, len(models), battles))
    b = np.append(np.roll(np.arange(len(models)), -1), (a[len(models) :] + rng.integers(1, len(models), battles)) % len(models))
    winners = rng.choice(["model_a", "model_b", "tie", "both_bad"], len(a), p=[0.45, 0.35, 0.12, 0.08])
    winners[: len(models)] = "model_a"  # a cycle of wins, so that finite ratings exist
    return pl.DataFrame(
        {
            "battle_id": [f"v{number}" for number in range(len(a))],
            "model_a": np.array(models)[a],
            "model_b": np.array(models)[b],
            "winner": winners,
            "prompt_id": [f"p{value:02}" for value in rng.integers(0, prompts, len(a))],
            "rater_id": [f"r{value}" for value in rng.integers(0, 7, len(a))],
            "mode": rng.choice(["expert", "public"], len(a)),
            "length": rng.normal(size=len(a)).round(3),
            "w": rng.choice([0.5, 1.0, 2.0], len(a)),
        }
    )


def marks(models: tuple[str, ...] = MODELS, prompts: int = 12) -> opinion.MosRatings:
    """Marks of every model on every prompt in two dimensions."""
    rng = np.random.default_rng(11)
    rows = [
        (model, f"p{prompt:02}", f"{model} {prompt}", dimension, float(rng.integers(1, 6)))
        for model in models
        for prompt in range(prompts)
        for dimension in ("beauty", "truth")
    ]
    frame = pl.DataFrame(rows, schema=["model", "prompt_id", "generation_id", "dimension", "value"], orient="row")
    constant = {"scale_min": pl.lit(1), "scale_max": pl.lit(5), "rater_id": pl.lit("ann")}
    return opinion.MosRatings.from_frame(frame.with_row_index("rating_id").with_columns(**constant))


Answer = list[object]
"""Tables and numbers, each with models by name."""


def _fitted(found: salon_ranking.Ratings) -> Answer:
    return [dict(zip(found.models, found.ratings.tolist(), strict=True)), dict(zip(found.models, found.component, strict=True))]


def _ranked(battles: Battles, **options: object) -> Answer:
    board = rank(battles, baseline=BASE, ranks=True, **DRAWN, **options)
    return [board.table, board.battles, board.header]


def _tied(battles: Battles, **options: object) -> Answer:
    found = tied(battles, baseline=BASE, prior_ties=1, **DRAWN, **options)
    return [
        found.table,
        found.tie["estimate"],
        found.tie["standard_error"],
        found.tie["ci_low"],
        found.tie["ci_high"],
        found.header,
    ]


def _contextual(battles: Battles, **options: object) -> Answer:
    found = contextual(battles, ["length"], baseline=BASE, **DRAWN, **options)
    return [found.table, found.coefficients, found.header]


def _fitness(battles: Battles, ratings: object) -> Answer:
    found = goodness_of_fit(battles, ratings)
    return [found.deviance, found.degrees_of_freedom, found.few, found.pairs]


def _weights(battles: Battles, **options: object) -> Answer:
    found = dimension_weights(battles, marks(battles.models), interactions=False, **options)
    return [found.table, found.coefficients, found.battles, found.unrated, found.dropped_ties, found.header]


def _arena(battles: Battles) -> Answer:
    frame = battles.frame.collect()
    half = len(frame) // 2
    arena = GrowingLeague(weight=battles.weight).update(frame.head(half)).update(frame.slice(half))
    return [arena.count, len(arena.seen), *_fitted(arena.fitted(baseline=BASE, prior_ties=1)[1])]


def _settled(battles: Battles, handling: str) -> Answer:
    rest, table = settle_both_bad(battles, handling)
    return [rest.count, rest.source, table, rank(rest, replicates=0, prior_ties=1, baseline=BASE).table]


def _planned(battles: Battles) -> Answer:
    state = ScheduleState.of(battles)
    return [state.models, state.matches, state.log_strengths, next_pairs(state, 5, seed=1)]


def _contributed(battles: Battles) -> Answer:
    found = contributions(battles, baseline=BASE)
    return [found.table, found.totals]


def _fitted_by_the_twin(battles: Battles) -> Answer:
    with numpy_core():
        return _fitted(fit(battles, baseline=BASE))


def _further(battles: Battles) -> Answer:
    (found,) = analyses_of([rank(battles, replicates=0)], battles, every=battles, acceptable=True, diagnose=True)
    assert found.diagnosis is not None
    return [found.acceptability, found.diagnosis.note, *found.diagnosis.tables.values()]


def _explained(battles: Battles, interval: str) -> Answer:
    board = rank(battles, baseline=BASE, interval=interval, **DRAWN)
    return [explain(board, battles, "ada"), listing(board, battles), match_effects(fit(battles, baseline=BASE))]


ANALYTIC: dict[str, Callable[[Battles], Answer]] = {
    "fit": lambda b: _fitted(fit(b, baseline=BASE)),
    "fit by the twin": _fitted_by_the_twin,
    "rank, sandwich": partial(_ranked, interval="sandwich"),
    "rank, anytime": partial(_ranked, interval="anytime"),
    "preference_pairs": lambda b: [preference_pairs(b, held_out=0.5).table],
    "rank, sandwich with a prior": partial(_ranked, interval="sandwich", prior_ties=1),
    "rank, sandwich by clusters": partial(_ranked, interval="sandwich", cluster=True),
    "differences, sandwich": lambda b: [differences(b, interval="sandwich").table],
    "differences, anytime": lambda b: [differences(b, interval="anytime").table],
    "differences, sandwich by clusters": lambda b: [differences(b, interval="sandwich", cluster=True).table],
    "explain, listing, match_effects": partial(_explained, interval="sandwich"),
    "contributions": _contributed,
    "compare_votes": lambda b: [compare_votes(b, b, prior_ties=1).table],
    "compare_groups": lambda b: [compare_groups(b, "mode", baseline=BASE, interval="sandwich").table],
    "convergence": lambda b: [convergence(b, baseline=BASE, fractions=(1.0,)), convergence(b, baseline=BASE, cluster=True)],
    "fit_ties, Davidson": partial(_tied, model="davidson"),
    "fit_ties, Rao-Kupper by clusters": partial(_tied, model="rao-kupper", cluster=True),
    "fit_contextual": _contextual,
    "fit_contextual by clusters": partial(_contextual, cluster=True),
    "goodness_of_fit": lambda b: _fitness(b, fit(b)),
    "goodness_of_fit of ties": lambda b: _fitness(b, fit(b, ties="davidson", prior_ties=1)),
    "cycle_report": lambda b: [cycle_report(b).triads, cycle_report(b).cyclic],
    "win_rates, head_to_head": lambda b: [win_rates(b, fit(b)), win_rates(b, every_pair=True), head_to_head(b)],
    "acceptability": lambda b: [acceptability(b)],
    "settle_both_bad, drop": partial(_settled, handling="drop"),
    "settle_both_bad, own": partial(_settled, handling="own"),
    "dimension_weights": _weights,
    "dimension_weights by clusters": partial(_weights, cluster="prompt_id", ties="drop"),
    "GrowingLeague": _arena,
}
"""Functions that draw nothing: names of models do not matter at all."""

DRAWING: dict[str, Callable[[Battles], Answer]] = {
    "rank, percentile": _ranked,
    "rank, percentile by clusters": partial(_ranked, cluster=True),
    "rank, BCa by clusters": partial(_ranked, interval="bca", cluster=True),
    "rank_by, compare": lambda b: [
        compare(rank_by(b, "mode", prior_ties=1, baseline=BASE, **DRAWN)),
        *(board.table for board in rank_by(b, "mode", prior_ties=1, baseline=BASE, **DRAWN)),
        {name: group.count for name, group in groups_of(b, "rater_id").items()},
    ],
    "differences, percentile": lambda b: [differences(b, **DRAWN).table],
    "differences with a prior": lambda b: [differences(b, prior_ties=1, cluster=True, **DRAWN).table],
    "explain, percentile": partial(_explained, interval="percentile"),
    "fit_ties, BCa": partial(_tied, interval="bca"),
    "fit_contextual, percentile by clusters": partial(_contextual, interval="percentile", cluster=True),
    "ScheduleState, next_pairs": _planned,
    "rank at equal covariates, analyses_of": lambda b: [
        rank(b, covariates=["length"], baseline=BASE, **DRAWN).table,
        *_further(b),
    ],
}
"""Functions that draw battles or clusters in the order of names: a draw is another one when that order changes."""

EVERY = {**ANALYTIC, **DRAWING}


def built(frame: pl.DataFrame, *, weight: str | None = "w", two_way: bool = False) -> Battles:
    return Battles.from_frame(frame, cluster_by=("prompt_id", "rater_id") if two_way else "prompt_id", weight=weight)


def assert_same(one: Answer, other: Answer, tolerance: float = 0.0) -> None:
    """Equal values, tables in any order of their rows, numbers to a relative tolerance."""
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        if isinstance(left, pl.DataFrame):
            keys = [name for name, dtype in left.schema.items() if dtype == pl.String]
            assert isinstance(right, pl.DataFrame)
            assert_frame_equal(left.sort(keys), right.sort(keys), rel_tol=tolerance, abs_tol=10 * tolerance)
        elif isinstance(left, dict) and tolerance:
            assert left == pytest.approx(right, rel=tolerance, abs=10 * tolerance, nan_ok=True)
        elif isinstance(left, float | np.ndarray):
            np.testing.assert_allclose(np.asarray(right), left, rtol=tolerance, atol=10 * tolerance)
        elif not (isinstance(left, str) and tolerance):
            assert left == right


# --- 1: rows of weight 0


NONSENSE = {
    "battle_id": ["v0", "v1", None, "v2", "v3", "z1", "z2"],  # ids that others have
    "model_a": ["ghost", "ada", "", "bee", "cyd", "ada", None],
    "model_b": ["ada", "ada", "bee", "ghost", "dot", "bee", "cyd"],
    "winner": ["model_a", "nonsense", None, "model_b", "model_b", "model_a", "tie"],
    "prompt_id": ["elsewhere", "p01", None, "nowhere", "p00", "", "p02"],
    "rater_id": ["nobody", None, "r1", "r2", "r0", "somebody", "r1"],
    "mode": ["machine", None, "expert", "public", "public", "expert", "expert"],
    "length": [None, float("nan"), 1e9, float("inf"), 0.0, 1.0, -1e9],
    "w": [0.0] * 7,
}


def with_nothing(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The frame with rows of weight 0 among the others, every wrong one many times."""
    rows = pl.concat([pl.DataFrame(NONSENSE, schema=frame.schema)] * 40)
    places = np.random.default_rng(seed).random(len(frame) + len(rows))
    places[: len(frame)].sort()  # the others stay in their order
    return pl.concat([frame, rows]).with_columns(__place=places).sort("__place").drop("__place")


TWO_WAY = [(name, True) for name in EVERY if "cluster" in name and "BCa" not in name]


@pytest.mark.parametrize(("name", "two_way"), [*((name, False) for name in EVERY), *TWO_WAY])
def test_rows_of_weight_0_change_nothing(name: str, two_way: bool):
    frame = league(1)
    expected = EVERY[name](built(frame, two_way=two_way))
    assert_same(EVERY[name](built(with_nothing(frame, 2), two_way=two_way)), expected)


@pytest.mark.parametrize("name", EVERY)
def test_rows_of_weight_0_change_nothing_where_all_others_weigh_1(name: str):
    ones = league(1).with_columns(w=pl.lit(1.0))
    alone, more = (
        Battles.from_frame(frame.rename({"w": "weight"}), cluster_by="prompt_id") for frame in (ones, with_nothing(ones, 2))
    )
    assert_same(EVERY[name](more), EVERY[name](alone))


def test_rows_of_weight_0_change_nothing_for_rater_reports_on_a_board(tmp_path):
    from click.testing import CliRunner

    from salon_ranking.cli.rank import rank as command

    frame = league(1, 400)
    said = []
    for name, rows in (("all", frame), ("more", with_nothing(frame, 2))):
        folder = tmp_path / name
        folder.mkdir()
        rows.write_parquet(folder / "votes.parquet")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            arguments = ["votes.parquet", "--weight", "w", "--exclude-flagged", "--bootstrap", "20", "--format", "csv"]
            result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 0, result.output
        said.append(result.output)
    assert said[0] == said[1]


def test_a_wrong_row_after_rows_of_weight_0_is_named_by_its_own_number():
    frame = with_nothing(league(1), 2)
    row = int(frame.with_row_index().filter(pl.col("w") > 0)["index"][60])
    wrong = frame.with_row_index().with_columns(winner=pl.when(pl.col("index") == row).then(pl.lit("x")).otherwise("winner"))
    with pytest.raises(BattleError, match=f"row {row + 1}, column 'winner'"):
        built(wrong.drop("index"))


# --- 2: components


BOUND = ["rank", "model", "rating", "ci_low", "ci_high", "replicates_used"]
GAPS = ["model_a", "model_b", "difference", "ci_low", "ci_high", "standard_error", "p_value"]


def leagues_apart(seed: int) -> tuple[pl.DataFrame, list[tuple[str, ...]]]:
    """Two leagues, and a third on one prompt alone; some models of the first beat some of the second."""
    groups = [("a1", "a2", "a3"), ("b1", "b2", "b3", "b4"), ("c1", "c2")]
    frames = [league(seed + k, 60, group, prompts=(9, 5, 1)[k]) for k, group in enumerate(groups)]
    frames[1] = frames[1].with_columns(pl.col("prompt_id").str.replace("p", "q"))
    between = league(seed + 9, 20, ("a1", "b1")).tail(20)
    wins = pl.when(pl.col("model_a") == "a1").then(pl.lit("model_a")).otherwise(pl.lit("model_b"))
    frame = pl.concat([*frames, between.with_columns(winner=wins, prompt_id=pl.lit("between"))])
    return frame.with_columns(battle_id=pl.int_range(pl.len()).cast(pl.String)), groups


KINDS = [(interval, columns) for interval in ("percentile", "sandwich") for columns in (0, 1, 2)] + [
    ("bca", 0),
    ("bca", 1),
    ("anytime", 0),
]


@pytest.mark.parametrize(("interval", "columns"), KINDS)
@few
@given(seed=seeds)
def test_intervals_tests_and_ranks_of_a_component_are_those_of_the_component_alone(interval: str, columns: int, seed: int):
    frame, groups = leagues_apart(seed)
    options = {"interval": interval, "cluster": columns > 0, **DRAWN}
    battles = built(frame, two_way=columns == 2)
    board = rank(battles, components="separate", ranks=True, **options).table
    gaps = None if interval == "bca" else differences(battles, components="separate", **options).table
    assert board["component"].n_unique() == 3
    for group in groups:
        own = frame.filter(pl.col("model_a").is_in(group) & pl.col("model_b").is_in(group))
        alone = built(own, two_way=columns == 2)
        expected = rank(alone, ranks=True, **options).table
        found = board.filter(pl.col("model").is_in(group))
        assert_frame_equal(found.select(BOUND), expected.select(BOUND))
        # A rank interval of all components at once holds that of one, and is wider if anything.
        both = found.join(expected, on="model")
        assert (both["rank_low"] <= both["rank_low_right"]).all()
        assert (both["rank_high"] >= both["rank_high_right"]).all()
        if gaps is not None:
            table = gaps.filter(pl.col("model_a").is_in(group))
            assert_frame_equal(table.select(GAPS), differences(alone, **options).table.select(GAPS))
            assert (table["p_holm"] >= table["p_value"]).all()


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("interval", ["percentile", "sandwich", "anytime"])
def test_with_a_prior_models_are_compared_that_battles_join_and_as_if_they_were_alone(interval: str, clusters: bool):
    frame, groups = leagues_apart(5)
    frame = frame.filter(pl.col("prompt_id") != "between")
    options = {"interval": interval, "prior_ties": 1.0, "cluster": clusters, **DRAWN}
    found = differences(built(frame), **options).table
    assert found.height == 3 + 6 + 1  # and none across
    for group in groups:
        own = built(frame.filter(pl.col("model_a").is_in(group)))
        alone = differences(own, **options).table
        assert_frame_equal(found.filter(pl.col("model_a").is_in(group)).select(GAPS), alone.select(GAPS), rel_tol=1e-9)


@pytest.mark.parametrize("interval", ["percentile", "bca", "sandwich"])
def test_no_kind_of_interval_compares_by_a_prior_alone(interval: str):
    frame, _ = leagues_apart(5)
    board = rank(
        built(frame.filter(pl.col("prompt_id") != "between")),
        interval=interval,
        prior_ties=1,
        ranks=True,
        baseline="a1",
        **{**DRAWN, "replicates": 1_000},
    )
    table = board.table.with_columns(joined=pl.col("model").str.starts_with("a"))
    assert (table["ci_low"].is_not_null() == table["joined"]).all()
    assert "6 models have no interval" in board.header
    assert (table["rank_high"] - table["rank_low"] >= 9 - pl.Series([3, 4, 2]).max()).all()


# --- 3: names and order


@pytest.mark.parametrize("name", EVERY)
def test_the_order_of_rows_changes_nothing(name: str):
    frame = league(4)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=8)
    assert_same(EVERY[name](built(shuffled)), EVERY[name](built(frame)), tolerance=1e-7)


OF_SIDES = {name for name in EVERY if "contextual" in name or "covariates" in name}
"""Covariates speak for model_a."""


@pytest.mark.parametrize("name", sorted(set(EVERY) - OF_SIDES))
def test_which_model_is_called_a_changes_nothing(name: str):
    frame = league(4)
    swap = pl.col("battle_id").str.slice(1).cast(pl.Int64) % 2 == 0
    other = {"model_a": "model_b", "model_b": "model_a"}
    swapped = frame.with_columns(
        model_a=pl.when(swap).then("model_b").otherwise("model_a"),
        model_b=pl.when(swap).then("model_a").otherwise("model_b"),
        winner=pl.when(swap).then(pl.col("winner").replace(other)).otherwise("winner"),
    )
    assert_same(EVERY[name](built(swapped)), EVERY[name](built(frame)), tolerance=1e-7)


def renamed(answer: Answer, names: dict[str, str]) -> Answer:
    """The answer with the names of models put back."""
    back = {new: old for old, new in names.items()}
    found: Answer = []
    for part in answer:
        if isinstance(part, pl.DataFrame):
            text = [name for name, dtype in part.schema.items() if dtype == pl.String]
            found.append(part.with_columns(pl.col(text).replace(back)))
        elif isinstance(part, dict):
            found.append({back.get(key, key): value for key, value in part.items()})
        else:
            found.append(part)
    return found


BY_NAME = {"explain, listing, match_effects", *(name for name in ANALYTIC if "dimension_weights" in name)}
"""Answers with arrays in the order of names, with sentences, or of marks that are given by name."""


@pytest.mark.parametrize("name", sorted(set(ANALYTIC) - BY_NAME))
def test_names_of_models_do_not_matter(name: str):
    frame = league(4)
    names = {"ada": "zoe", BASE: BASE, "cyd": "ann", "dot": "Ünal"}
    other = frame.with_columns(pl.col("model_a", "model_b").replace(names))
    expected = ANALYTIC[name](built(frame))
    found = renamed(ANALYTIC[name](built(other)), names)
    if name in {"goodness_of_fit", "goodness_of_fit of ties"}:  # a pair is told once, from the model whose name comes first
        found, expected = ([*answer[:3], answer[3]["residual"].abs().sort()] for answer in (found, expected))
        found[3], expected[3] = found[3].to_numpy(), expected[3].to_numpy()
    assert_same(found, expected, tolerance=1e-6)


# --- 4: weights and rows


POINTS = {name: ANALYTIC[name] for name in ("fit", "fit by the twin", "contributions", "win_rates, head_to_head")}
BY_CLUSTER = {name: call for name, call in ANALYTIC.items() if "by clusters" in name}
RECORDS = {"matches", "wins", "ties", "losses", "battles"}


def without_counts(answer: Answer) -> Answer:
    kept = [part for part in answer if not isinstance(part, int | str)]
    return [part.drop(RECORDS, strict=False) if isinstance(part, pl.DataFrame) else part for part in kept]


@pytest.mark.parametrize("name", {**POINTS, **BY_CLUSTER})
def test_doubling_all_weights_equals_doubling_all_rows(name: str):
    frame = league(6, 240)
    call = ANALYTIC[name]
    heavier = call(built(frame.with_columns(pl.col("w") * 2)))
    again = frame.with_columns(battle_id=pl.lit("again ") + pl.col("battle_id"))
    assert_same(without_counts(call(built(pl.concat([frame, again])))), without_counts(heavier), tolerance=1e-6)


@pytest.mark.parametrize("name", ["rank, sandwich", "differences, sandwich", "fit_contextual", "dimension_weights"])
def test_the_unit_of_weights_changes_no_interval(name: str):
    frame = league(6, 240)
    one, other = (ANALYTIC[name](built(frame.with_columns(pl.col("w") * unit))) for unit in (1.0, 0.001))
    assert_same(without_counts(one), without_counts(other), tolerance=1e-6)


# --- 5: threads


def _of_scores(**options: object) -> Answer:
    found = agreement.compare_all(np.random.default_rng(0).normal(size=(30, 3)), replicates=50, **options)
    return [float(value) for one in found for value in (one.value, one.ci_low, one.ci_high)]


def _of_battles(call: Callable[..., object], **options: object) -> Callable[..., Answer]:
    def answer(**threads: object) -> Answer:
        found = call(built(league(7), weight=None), **options, **threads)
        tables = found if isinstance(found, tuple) else (found,)
        return [part if isinstance(part, str) else part.table for part in tables]

    return answer


def _explain(battles: Battles, **threads: object) -> object:
    return explain(rank(battles, **DRAWN), battles, "ada", **threads)


WITH_THREADS: dict[str, Callable[..., Answer]] = {
    "rank": _of_battles(rank, **DRAWN),
    "rank_by": _of_battles(rank_by, column="mode", prior_ties=1, **DRAWN),
    "compare_groups": _of_battles(compare_groups, column="mode", prior_ties=1, **DRAWN),
    "differences": _of_battles(differences, **DRAWN),
    "contributions": _of_battles(contributions),
    "explain": _of_battles(_explain),
    "rank, with ties": _of_battles(rank, ties="davidson", interval="percentile", prior_ties=1, **DRAWN),
    "rank, at equal covariates": _of_battles(rank, covariates=["length"], interval="percentile", **DRAWN),
    "online_elo": _of_battles(online_elo, orders=20),
    "compare_all": _of_scores,
}


@pytest.mark.parametrize("name", WITH_THREADS)
def test_the_number_of_threads_changes_nothing(name: str):
    alone = WITH_THREADS[name](threads=1)
    for number in (2, 5, None):
        assert_same(WITH_THREADS[name](threads=number), alone)


@for_each("number", [0, -1, True, 1.5, "2", 1 << 40])
@for_each("name", WITH_THREADS)
def test_a_number_of_threads_that_cannot_be_is_refused(name: str, number: object):
    with pytest.raises(OptionError, match="threads must"):
        WITH_THREADS[name](threads=number)


# --- The tables are complete


COVERED = {
    *("fit", "rank", "rank_by", "groups_of", "differences", "contributions", "explain", "listing", "compare"),
    *("compare_votes", "compare_groups", "preference_pairs"),
    *("goodness_of_fit", "cycle_report", "win_rates", "acceptability", "predict", "log_loss"),
    *("settle_both_bad", "dimension_weights", "next_pairs", "convergence", "head_to_head"),
}
WITHOUT_WEIGHTS = {
    *("online_elo", "check_raters", "audit_sample", "exclude_flagged", "qualify"),
    *("correct_ratings", "correct_means", "pairs_of_votes"),  # test_correction, test_correction_means, test_judge_audit
}
"""They take votes and refuse weights, or know none."""
ROOMS: tuple[ModuleType, ...] = (
    *(salon_ranking, opinion, scheduling, raters, agreement),
    *(import_module(f"salon_ranking.diagnostics.{name}") for name in ("convergence", "head_to_head")),
)


def test_no_public_function_of_battles_and_no_option_for_threads_is_missing_from_these_tables():
    public = {name: getattr(room, name) for room in ROOMS for name in room.__all__}
    functions = {name: value for name, value in public.items() if inspect.isfunction(value)}
    parameters = {name: set(inspect.signature(function).parameters) for name, function in functions.items()}
    of_battles = {
        name for name, given in parameters.items() if given & {"battles", "votes", "state", "board", "boards", "people"}
    }
    assert of_battles == COVERED | WITHOUT_WEIGHTS
    assert {name for name, given in parameters.items() if "threads" in given} | {"rank_by"} == {
        name.split(",")[0] for name in WITH_THREADS
    }
    with pytest.raises(BattleError, match="cannot weigh"):
        online_elo(built(league(1)))
    report = check_raters(Votes.from_frame(league(1)))
    assert exclude_flagged(league(1), report).kept.collect().height <= 154


# --- Other people's implementations give the same numbers


@few
@given(seed=seeds)
def test_evalica_finds_the_same_bradley_terry_ratings(seed: int):
    frame = league(seed, 200)
    outcome = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y}
    winners = [outcome.get(winner, evalica.Winner.Draw) for winner in frame["winner"]]
    weights = frame["w"].to_list()
    found = evalica.bradley_terry(
        frame["model_a"].to_list(), frame["model_b"].to_list(), winners, weights=weights, tolerance=1e-12, limit=100_000
    )
    ours = fit(built(frame))
    logs = np.log([found.scores[name] for name in ours.models])
    assert ours.log_strengths == pytest.approx(logs - logs.mean(), abs=1e-6)


@few
@given(seed=seeds)
def test_choix_finds_the_same_bradley_terry_ratings(seed: int):
    frame = league(seed, 200).filter(pl.col("winner").is_in(["model_a", "model_b"]))
    won = pl.col("winner") == "model_a"
    pairs = frame.select(
        pl.when(won).then("model_a").otherwise("model_b").alias("winner"),
        pl.when(won).then("model_b").otherwise("model_a").alias("loser"),
    )
    data = [(MODELS.index(winner), MODELS.index(loser)) for winner, loser in pairs.iter_rows()]
    battles = built(frame, weight=None)
    assert battles.models == MODELS
    assert fit(battles).log_strengths == pytest.approx(choix.ilsr_pairwise(len(MODELS), data, tol=1e-12), abs=1e-6)

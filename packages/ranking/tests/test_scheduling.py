"""Which models should meet next: the rules, the inventory, determinism, and what cannot be planned."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import numpy_core

from salon_ranking import BattleError, Battles, OptionError
from salon_ranking.scheduling import RULES, Inventory, Rule, ScheduleState, next_pairs

NAMES = ["ada", "bob", "cyd", "dan", "eve"]


def votes(rows: list[tuple[str, str, str]]) -> Battles:
    return Battles.from_frame(
        pl.DataFrame(rows, schema={"model_a": pl.String, "model_b": pl.String, "winner": pl.String}, orient="row")
    )


def some_votes(models: int, battles: int, seed: int) -> Battles:
    random = np.random.default_rng(seed)
    a = random.integers(0, models, battles)
    b = (a + random.integers(1, models, battles)) % models
    labels = ["model_a", "model_b", "tie"]
    return votes([(f"m{x}", f"m{y}", labels[w]) for x, y, w in zip(a, b, random.integers(0, 3, battles), strict=True)])


def met(plan: pl.DataFrame) -> Counter[tuple[str, str]]:
    return Counter((min(pair), max(pair)) for pair in plan.select("model_a", "model_b").iter_rows())


@st.composite
def inventories(draw: st.DrawFn, models: int) -> Inventory | None:
    if draw(st.booleans()):
        return None
    rows = [
        (f"m{model}", f"p{prompt}", f"{model}-{prompt}-{sample}")
        for model in range(models)
        for prompt in range(4)
        for sample in range(draw(st.integers(0, 2)))
    ]
    rows += [("m0", "common", "x"), ("m1", "common", "y")]
    return Inventory.from_frame(pl.DataFrame(rows, schema=["model", "prompt_id", "generation_id"], orient="row"))


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(RULES), st.integers(2, 6), st.integers(0, 40), st.integers(0, 2**63 - 1))
def test_the_core_plans_what_its_readable_twin_plans(data: st.DataObject, rule: Rule, models: int, battles: int, seed: int):
    inventory = data.draw(inventories(models))
    everyone = [f"m{model}" for model in range(models)]
    state = ScheduleState.of(some_votes(models, battles, seed % 99), models=everyone, inventory=inventory)
    plan = next_pairs(state, 30, rule=rule, seed=seed)
    with numpy_core():
        assert plan.equals(next_pairs(state, 30, rule=rule, seed=seed))
    assert (plan["model_a"] != plan["model_b"]).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("models", [15, 16, 17, 33])
@pytest.mark.parametrize("battles", [0, 2000])
def test_so_it_does_where_models_fill_several_strips(rule: Rule, models: int, battles: int):
    state = ScheduleState.of(some_votes(models, battles or models, 5), models=[f"m{model}" for model in range(models)])
    plan = next_pairs(state, 120, rule=rule, seed=7)
    with numpy_core():
        assert plan.equals(next_pairs(state, 120, rule=rule, seed=7))


def outcomes_changed(votes: pl.DataFrame, stream: int) -> pl.DataFrame:
    """The same votes, in one of whose streams all were won by the other side."""
    turned = pl.col("winner").replace({"model_a": "model_b", "model_b": "model_a", "tie": "model_a"})
    return votes.with_columns(pl.when(pl.col("plan_stream") == stream).then(turned).otherwise("winner").alias("winner"))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(RULES), st.integers(0, 2**63 - 1), st.integers(1, 2))
def test_what_is_voted_in_a_stream_never_decides_what_that_stream_plans(rule: Rule, seed: int, stream: int):
    votes = some_votes(6, 120, seed % 97).frame.collect()
    votes = votes.with_columns(plan_stream=pl.Series(np.random.default_rng(seed % 89).integers(1, 3, 120)))
    plans = [
        next_pairs(ScheduleState.of(Battles.from_frame(frame)), 40, rule=rule, seed=seed, streams=2)
        for frame in (votes, outcomes_changed(votes, stream))
    ]
    own = [plan.filter(plan_stream=stream) for plan in plans]
    assert own[0].equals(own[1])


@pytest.mark.parametrize("rule", ["proportional", "mef", "information"])
def test_what_is_voted_in_a_stream_decides_what_the_other_one_plans(rule: Rule):
    votes = some_votes(6, 120, 1).frame.collect().with_columns(plan_stream=pl.Series([1, 2] * 60))
    states = [ScheduleState.of(Battles.from_frame(frame)) for frame in (votes, outcomes_changed(votes, 1))]
    plans = [pl.concat(next_pairs(state, 40, rule=rule, seed=seed, streams=2) for seed in range(5)) for state in states]
    assert not plans[0].filter(plan_stream=2).equals(plans[1].filter(plan_stream=2))


def test_streams_become_even_and_a_vote_without_one_stays_where_the_lot_put_it():
    votes = some_votes(5, 100, 3).frame.collect()
    for frame in (votes, votes.with_columns(battle_id=pl.Series([f"vote-{row}" for row in range(100)]))):
        state = ScheduleState.of(Battles.from_frame(frame))
        counts = [half.battles for half in state.halves]
        assert sum(counts) == 100
        assert min(counts) >= 30
        plan = next_pairs(state, 60, streams=2)
        ends = [count + plan.filter(plan_stream=number).height for number, count in enumerate(counts, start=1)]
        assert abs(ends[0] - ends[1]) <= 1
        more = pl.concat(
            [frame, frame.with_columns(battle_id=pl.lit("z") + pl.col("battle_id"))] if "battle_id" in frame else [frame] * 2
        )
        later = ScheduleState.of(Battles.from_frame(more)).halves
        assert all((new.matches >= old.matches).all() for new, old in zip(later, state.halves, strict=True))
    shuffled = ScheduleState.of(Battles.from_frame(frame.sample(fraction=1.0, shuffle=True, seed=1)))
    assert next_pairs(shuffled, 60).equals(next_pairs(ScheduleState.of(Battles.from_frame(frame)), 60))


def test_a_plan_says_its_rule_and_streams_and_the_default_is_two_streams_in_proportion():
    state = ScheduleState.of(some_votes(4, 30, 0))
    plan = next_pairs(state, 9)
    assert plan["plan_rule"].unique().to_list() == ["proportional"]
    assert sorted(plan["plan_stream"].unique()) == [1, 2]
    for rule in ("mef", "information", "uniform"):
        assert next_pairs(state, 9, rule=rule)["plan_stream"].null_count() == 9
    assert next_pairs(state, 0).schema == plan.schema


def test_a_stream_that_is_none_is_named():
    votes = some_votes(4, 30, 0).frame.with_columns(plan_stream=pl.lit(3))
    with pytest.raises(BattleError, match="unknown stream"):
        next_pairs(ScheduleState.of(Battles.from_frame(votes)), 9)


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_gives_the_same_plan_and_another_seed_another(rule: Rule):
    state = ScheduleState.of(some_votes(8, 100, 0), inventory=Inventory.full([f"m{i}" for i in range(8)], ["p", "q"], 4))
    assert next_pairs(state, 50, rule=rule, seed=3).equals(next_pairs(state, 50, rule=rule, seed=3))
    assert not next_pairs(state, 50, rule=rule, seed=3).equals(next_pairs(state, 50, rule=rule, seed=4))


@pytest.mark.parametrize("rule", ["information", "uniform"])
def test_a_new_arena_begins_with_every_pair_alike(rule: Rule):
    counts = met(next_pairs(ScheduleState.of(models=NAMES), 10, rule=rule))
    assert sorted(counts) == sorted(combinations(NAMES, 2))


@pytest.mark.parametrize(("rule", "least"), [("mef", 4.4), ("information", 5.0), ("proportional", 4.0), ("uniform", 1.4)])
def test_a_new_model_plays_first(rule: Rule, least: float):
    old = [(a, b, winner) for a, b in combinations(NAMES, 2) for winner in ("model_a", "model_b") * 20]
    state = ScheduleState.of(votes(old), models=[*NAMES, "new"])
    plans = [next_pairs(state, 5, rule=rule, seed=seed).select("model_a", "model_b") for seed in range(200)]
    mean = sum("new" in pair for plan in plans for pair in plan.iter_rows()) / 200
    assert least <= mean <= least + 0.6  # five of its pairs have no match yet, ten of the others have 40 each


@pytest.mark.slow  # thousands of draws
def test_proportional_draws_pairs_in_proportion_to_the_information_that_they_add():
    state = ScheduleState.of(some_votes(5, 80, 2))
    first, second = np.triu_indices(5, 1)
    p = 1 / (1 + np.exp(state.log_strengths[second] - state.log_strengths[first]))
    own = np.diag(state.covariance)
    gain = p * (1 - p) * (own[first] + own[second] - 2 * state.covariance[first, second])
    counts = Counter(next(iter(met(next_pairs(state, 1, rule="proportional", streams=1, seed=seed)))) for seed in range(4000))
    for i, j, share in zip(first, second, gain / gain.sum(), strict=True):
        assert counts[f"m{i}", f"m{j}"] == pytest.approx(4000 * share, abs=5 * (4000 * share) ** 0.5)


@pytest.mark.parametrize("rule", ["mef", "information"])
def test_an_even_match_comes_before_a_lopsided_one(rule: Rule):
    # ada and bob are even, cyd and dan are even, and the first two nearly always beat the others; all met 40 times.
    rows = [(a, b, "model_b") for a, b in (("ada", "cyd"), ("bob", "dan"), ("ada", "dan"), ("bob", "cyd"))]
    rows += [(a, b, "model_a") for a, b, _ in rows * 39]
    rows += [(a, b, winner) for a, b in (("ada", "bob"), ("cyd", "dan")) for winner in ("model_a", "model_b") * 20]
    state = ScheduleState.of(votes(rows))
    firsts = Counter(next(iter(met(next_pairs(state, 1, rule=rule, seed=seed)))) for seed in range(200))
    even = firsts["ada", "bob"] + firsts["cyd", "dan"]
    assert even >= (200 if rule == "information" else 140)  # weights: 1/4 against about 1/40, two pairs against four


def test_information_is_the_largest_growth_of_the_determinant():
    state = ScheduleState.of(some_votes(6, 60, 4))
    information = np.linalg.inv(state.covariance)
    growth = {}
    for i, j in combinations(range(6), 2):
        gap = state.log_strengths[i] - state.log_strengths[j]
        p = 1 / (1 + np.exp(-gap))
        v = np.zeros(6)
        v[[i, j]] = 1, -1
        growth[f"m{i}", f"m{j}"] = np.linalg.slogdet(information + p * (1 - p) * np.outer(v, v))[1]
    assert next(iter(met(next_pairs(state, 1, rule="information")))) == max(growth, key=growth.__getitem__)


def test_prompts_samples_and_sides_are_even():
    inventory = Inventory.full(NAMES, ["p", "q", "r"], samples=4)
    plan = next_pairs(ScheduleState.of(inventory=inventory), 12_000, rule="uniform", seed=2)
    for column, share in (("prompt_id", 1 / 3), ("sample_a", 1 / 4), ("sample_b", 1 / 4), ("side_a_shown", 1 / 2)):
        counts = plan[column].value_counts()["count"]
        assert counts.len() == round(1 / share)
        assert counts.is_between(12_000 * share * 0.93, 12_000 * share * 1.07).all(), column
    assert plan.filter(pl.col("model_a") < pl.col("model_b")).height == pytest.approx(6_000, rel=0.05)


def test_only_what_was_made_is_planned_and_ids_belong_to_their_model_and_prompt():
    made = [
        ("ada", "p", "a1"),
        ("ada", "p", "a2"),
        ("bob", "p", "b1"),
        ("bob", "q", "b2"),
        ("cyd", "q", "c1"),
        ("dan", "r", "d1"),
    ]
    frame = pl.DataFrame(made, schema=["model", "prompt_id", "generation_id"], orient="row")
    owner = {key: (model, prompt) for model, prompt, key in made}
    for rule in RULES:
        plan = next_pairs(ScheduleState.of(inventory=Inventory.from_frame(frame)), 200, rule=rule)
        assert set(met(plan)) == {("ada", "bob"), ("bob", "cyd")}
        for row in plan.iter_rows(named=True):
            assert owner[row["generation_a"]] == (row["model_a"], row["prompt_id"])
            assert owner[row["generation_b"]] == (row["model_b"], row["prompt_id"])
        assert {"a1", "a2"} <= {*plan["generation_a"], *plan["generation_b"]}


def test_retired_models_count_in_the_fit_but_are_not_planned():
    state = ScheduleState.of(some_votes(6, 200, 1), models=["m1", "m4", "m5"])
    assert state.matches.shape == (3, 3)
    assert {name for pair in met(next_pairs(state, 30)) for name in pair} == {"m1", "m4", "m5"}


def test_a_model_without_generations_is_never_planned():
    state = ScheduleState.of(models=["x", "y", "z"], inventory=Inventory.full(["x", "y"], ["p"]))
    assert set(met(next_pairs(state, 9))) == {("x", "y")}


def test_no_prompt_in_common_is_an_error_with_advice():
    frame = pl.DataFrame({"model": ["x", "y"], "prompt_id": ["p", "q"]})
    for rule in RULES:
        with pytest.raises(OptionError, match="no two models have a prompt in common"):
            next_pairs(ScheduleState.of(inventory=Inventory.from_frame(frame)), 1, rule=rule)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": -1}, "number of battles"),
        ({"n": 1 << 40}, "number of battles"),
        ({"n": 1, "rule": "elo"}, "rule is unknown: 'elo'"),
        ({"n": 1, "seed": -1}, "seed must lie"),
        ({"n": 1, "streams": 3}, "streams must be 1 or 2"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], said: str):
    with pytest.raises(OptionError, match=said):
        next_pairs(ScheduleState.of(models=["x", "y"]), **options)  # type: ignore[arg-type]


def test_states_that_cannot_be_planned_are_refused():
    with pytest.raises(OptionError, match="a plan needs 2 to"):
        ScheduleState.of(models=["alone"])
    with pytest.raises(OptionError, match="a plan needs 2 to"):
        ScheduleState.of(models=[f"m{i}" for i in range(3_000)])
    with pytest.raises(OptionError, match="needs a name"):
        ScheduleState.of(models=["x", " "])
    with pytest.raises(OptionError, match="must be positive"):
        ScheduleState.of(models=["x", "y"], prior_ties=0.0)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"model": ["x"]}, "missing column 'prompt_id'"),
        ({"model": ["x", None], "prompt_id": ["p", "q"]}, "row 2"),
        ({"model": ["x"], "prompt_id": [" "]}, "prompt_id"),
        ({"model": [], "prompt_id": []}, "there are no generations"),
    ],
)
def test_a_wrong_table_of_generations_is_named(frame: dict[str, list[str | None]], said: str):
    with pytest.raises(BattleError, match=said):
        Inventory.from_frame(pl.DataFrame(frame))


def test_an_inventory_needs_prompts_and_samples():
    with pytest.raises(OptionError, match="no prompts"):
        Inventory.full(["x"], [])
    with pytest.raises(OptionError, match="samples must lie between 1 and"):
        Inventory.full(["x"], ["p"], samples=0)


def test_a_plan_of_nothing_has_its_columns():
    plan = next_pairs(ScheduleState.of(models=["x", "y"]), 0)
    assert plan.height == 0
    assert plan.columns[:3] == ["prompt_id", "model_a", "model_b"]

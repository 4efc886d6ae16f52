"""Compositions: weights, gates, stages and schedules; what happens to a reward that is missing; and every component kept."""

import asyncio
import functools
import json
import math
import pickle
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_rewards import (
    ConsistencyReward,
    FormatReward,
    L1Reward,
    Linear,
    MagicMirrorTotal,
    MagicMirrorWeights,
    Missing,
    Part,
    Steps,
    ThinkReward,
    compose,
)
from salon_rewards.batch import Batch
from salon_rewards.callables.reward import AskingReward, RuleReward, each_paid
from salon_rewards.group_mask import Abstention
from salon_taxonomy.answers import MAGICMIRROR_MENU, MagicMirrorAnswer, magicmirror_json, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Reward
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge, magicmirror_answers

NORMAL = '{"Whether Normal": true}'
FINE = "<think>Fine.</think>\\boxed{" + NORMAL + "}"


class Given:
    """Pays what it was given: numbers by completion."""

    def __init__(self, name, *values):
        self.__name__ = name
        self.values = list(values)

    def __call__(self, completions, **columns):
        assert len(completions) == len(self.values)
        return self.values


def of(*parts, **settings):
    """A composition of given rewards over as many completions as they have values."""
    composed = compose([*parts], **settings)
    return lambda **columns: composed(["x"] * len(parts[0].reward.values), **columns)


@for_each("reply", HOSTILE_REPLIES)
def test_hostile_text_earns_nothing_in_a_composition(reply):
    composed = compose({"magicmirror": 1.0, "format": 8.0, "l1": 4.0, "l2": 2.0, "l3": 1.0, "think": 1.0})
    assert composed([reply], truth=[NORMAL]) == [0.0]


# Sixty-fourths: floats hold them and their sums of products exactly.
weights = st.integers(-512, 512).map(lambda number: Fraction(number, 64))
values = st.integers(-256, 256).map(lambda number: Fraction(number, 64))


@given(parts=st.lists(st.tuples(weights, values, values), min_size=1, max_size=5))
def test_a_weighted_sum_equals_its_twin_in_fractions(parts):
    composed = of(*(Part(Given(str(at), float(a), float(b)), float(w)) for at, (w, a, b) in enumerate(parts)))
    exact = [sum(w * a for w, a, _ in parts), sum(w * b for w, _, b in parts)]
    assert [Fraction(total) for total in composed()] == exact


@given(
    parts=st.lists(st.tuples(weights.map(abs).filter(bool), st.none() | values), min_size=1, max_size=5),
    missing=st.sampled_from(Missing),
    instead=values,
)
def test_what_is_missing_is_settled_as_its_twin_in_fractions_says(parts, missing, instead):
    composed = of(
        *(Part(Given(str(at), None if v is None else float(v)), float(w)) for at, (w, v) in enumerate(parts)),
        missing=missing,
        missing_value=float(instead),
    )
    there = [(w, v) for w, v in parts if v is not None]
    if missing is Missing.VALUE:
        exact = sum(w * (instead if v is None else v) for w, v in parts)
    elif len(there) == len(parts):
        exact = sum(w * v for w, v in there)
    elif missing is Missing.ABSTAIN or not there:
        exact = None
    else:
        exact = sum(w * v for w, v in there) * sum(w for w, _ in parts) / sum(w for w, _ in there)
    (total,) = composed()
    assert total is None if exact is None else total == pytest.approx(float(exact), rel=1e-12, abs=1e-12)


def test_a_missing_part_takes_its_whole_group_out_unless_told_otherwise():
    parts = [Part(Given("a", 1.0, 1.0, 1.0)), Part(Given("b", 2.0, None, 2.0))]
    columns = {"example_id": ["1", "1", "2"]}
    assert of(*parts)(**columns) == [None, None, 3.0]
    assert of(*parts, missing="renormalise")(**columns) == [3.0, 2.0, 3.0]
    assert of(*parts, missing="value", missing_value=-1.0)(**columns) == [3.0, 0.0, 3.0]
    assert of(*parts, group_size=3)() == [None, None, None]


def test_a_closed_gate_earns_nothing_and_a_price_stays_a_price():
    gate, sum_ = Given("gate", 1.0, 0.0, 0.0, 0.5), Given("sum", 3.0, 3.0, -1.0, 3.0)
    assert of(Part(gate, gate=True), Part(sum_, 2.0))() == [6.0, 0.0, -2.0, 6.0]
    assert of(Part(gate, gate=True, least=1.0), Part(sum_, 2.0))() == [6.0, 0.0, -2.0, 0.0]


def test_a_missing_gate_is_open_when_weights_are_renormalised_and_a_value_otherwise():
    parts = [Part(Given("gate", None, None), gate=True), Part(Given("sum", 3.0, None))]
    assert of(*parts, group_size=1)() == [None, None]
    assert of(*parts, missing="renormalise", group_size=1)() == [3.0, None]
    assert of(*parts, missing="value")() == [0.0, 0.0]
    assert of(*parts, missing="value", missing_value=1.0)() == [3.0, 1.0]


def test_weights_follow_the_trainers_step():
    composed = compose(
        [Part(L1Reward(), Steps(((0, 1.0), (10, 3.0)))), Part(FormatReward(), Linear(0.0, 1.0, first=0, last=20))]
    )
    columns = {"truth": [NORMAL]}
    assert composed([FINE], trainer_state=SimpleNamespace(global_step=0), **columns) == [1.0]
    assert composed([FINE], trainer_state=SimpleNamespace(global_step=10), **columns) == [3.5]
    assert composed([FINE], global_step=100, **columns) == [4.0]
    assert composed.last.step == 100
    assert [component.weight for component in composed.last.components] == [3.0, 1.0, 1.0]
    with pytest.raises(InputError, match=r"column 'l1': the weight has a schedule, and there is no step"):
        composed([FINE], **columns)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Steps(()),
        lambda: Steps(((1, 1.0),)),
        lambda: Steps(((0, 1.0), (0, 2.0))),
        lambda: Steps(((0, math.inf),)),
        lambda: Linear(0.0, 1.0, first=5, last=5),
        lambda: Linear(math.nan, 1.0),
        lambda: Part(FormatReward(), math.nan),
        lambda: compose([]),
        lambda: compose([FormatReward(), FormatReward()]),
        lambda: compose([Part(FormatReward(), name="total")]),
        lambda: compose([FormatReward()], missing="zero"),
        lambda: compose([FormatReward()], missing_value=math.nan),
        lambda: compose({"magic": 1.0}),
    ],
    ids=range(13),
)
def test_what_cannot_be_composed_is_refused_when_it_is_made(make):
    with pytest.raises(InputError):
        make()


@given(step=st.integers(-10, 10_000))
def test_a_line_stays_between_its_ends(step):
    assert 0.25 <= Linear(1.0, 0.25, first=100, last=200).at(step) <= 1.0
    assert Steps(((0, 1.0), (100, 0.25))).at(step) == (0.25 if step >= 100 else 1.0)


@pytest.mark.parametrize("weight", [math.nan, -math.inf, None, "1"])
def test_a_schedule_whose_weight_is_no_number_is_named(weight):
    class Broken:
        def at(self, step):
            return 1.0 if step else weight

    reward = compose([Part(FormatReward(), Broken(), name="format"), ThinkReward()])
    assert reward([FINE], global_step=1) == [2.0]
    with pytest.raises(InputError, match=r"'format'.*step 0.*finite"):
        reward([FINE], global_step=0)


def test_stages_are_compositions_within_compositions_and_keep_their_components():
    first = compose([Part(L1Reward(), 0.7), Part(FormatReward(), 0.3)], name="stage1")
    composed = compose([Part(first, 0.25), Part(ThinkReward(), 0.75)], name="staged")
    assert composed([FINE, "?"], truth=[NORMAL, NORMAL]) == [1.0, 0.0]
    assert composed.__name__ == "staged"
    assert list(composed.last.as_rows()[0]) == ["stage1/l1", "stage1/format", "stage1", "think", "total"]
    assert composed.last.as_rows()[1] == {"stage1/l1": 0.0, "stage1/format": 0.0, "stage1": 0.0, "think": 0.0, "total": 0.0}
    assert composed.last.total == [1.0, 0.0]


def test_no_part_takes_the_name_of_a_part_of_a_part():
    stage = compose([ThinkReward()], name="stage")
    deep = compose([stage], name="deep")
    for parts in ([stage, Part(FormatReward(), name="stage/think")], [Part(FormatReward(), name="deep/stage/think"), deep]):
        with pytest.raises(InputError, match="needs rewards with different names"):
            compose(parts)
    assert compose([stage, Part(deep, name="other"), Part(FormatReward(), name="stage/format")])


def test_a_composition_that_asks_runs_its_parts_together_and_settles_groups():
    judge = ReplayJudge(['{"consistent": true}', "?"])
    composed = compose([Part(ConsistencyReward(judge, concurrency=1), gate=True), MagicMirrorTotal()], group_size=2)
    completions = [FINE, FINE.replace("Fine", "Good"), "?", "?"]
    assert asyncio.run(composed(completions, truth=[NORMAL] * 4)) == [None, None, 0.0, 0.0]
    assert asyncio.iscoroutinefunction(type(composed).__call__)


@given(
    batches=st.lists(st.lists(st.integers(-8, 8).map(float), min_size=2, max_size=2), min_size=2, max_size=4, unique_by=tuple),
    asks=st.booleans(),
)
def test_each_batch_gets_its_own_components_and_never_those_of_another_one(batches, asks):
    """Batches of one length, of the same texts or others, one after the other and side by side."""

    def pays(completions, worth, **columns):
        return list(worth)

    async def slow(completions, worth, **columns):
        await asyncio.sleep(0.001 * (abs(worth[0]) < 4))
        return list(worth)

    inner = compose([Part(slow if asks else pays, 2.0, name="worth")], name="inner", group_size=1)
    composed = compose([Part(inner, 0.5, name="one"), Part(inner, 3.0, name="other")], group_size=1)
    columns = [{"worth": worth, "example_id": [f"{number}", "x"]} for number, worth in enumerate(batches)]
    made = [Batch(["a", "b"], each) for each in columns]

    async def beside_each_other():
        return await asyncio.gather(*(composed.score(batch) for batch in made))

    compositions = asyncio.run(beside_each_other()) if asks else [composed.score(batch) for batch in made]
    for worth, composition in zip(batches, compositions, strict=True):
        rows = composition.as_rows()
        assert [row["one/worth"] for row in rows] == [row["other/worth"] for row in rows] == worth
        assert list(composition) == composition.total == [7 * each for each in worth]
    for number, own in enumerate(columns):
        returned = composed(["a", "b"], **own)
        paid = asyncio.run(returned) if asks else returned
        assert paid == [7 * each for each in batches[number]]
        for other, batch in enumerate(made):
            terms = composed.terms(batch)
            assert [term.paid for term in terms[:1]] == ([tuple(batches[number])] if other == number else [])


@for_each(
    ("values", "reasons"),
    [
        ([None, 1.0], ["abstained", None]),
        ([math.nan, -math.inf], ["off_menu", "off_menu"]),
        (np.array([1.0, np.nan]), [None, "off_menu"]),
        ((True, 2), [None, None]),
    ],
)
def test_every_reader_of_a_reward_function_says_the_same_of_an_absent_value(values, reasons):
    def own(completions, **columns):
        return values

    async def waits(completions, **columns):
        return values

    def why(paid):
        return [None if isinstance(each, float) else each.reason.value for each in paid]

    batch = Batch(["x", "y"], {})
    assert why(asyncio.run(each_paid(own, ["x", "y"], {}))) == reasons
    assert why(asyncio.run(each_paid(waits, ["x", "y"], {}))) == reasons
    assert why(compose([own], group_size=1).score(batch)) == reasons
    assert why(asyncio.run(compose([waits], group_size=1).score(batch))) == reasons


@for_each(
    "values", [{"a": 1.0, "b": 2.0}, "ab", 3.0, None, [1.0], [1.0, 2.0, 3.0], [{"score": 1.0}, 1.0], ["x", 1.0], [[1], [2]]]
)
def test_what_is_no_list_of_numbers_is_refused_by_every_reader(values):
    def own(completions, **columns):
        return values

    for call in (
        lambda: asyncio.run(each_paid(own, ["x", "y"], {})),
        lambda: compose([own])(["x", "y"]),
    ):
        with pytest.raises(InputError, match="column 'own'"):
            call()


def test_every_component_of_every_completion_becomes_a_row():
    rows: list[Reward] = []
    composed = compose([Part(L1Reward(), 4.0), FormatReward()], sink=rows.extend, run_id="run-1")
    columns = {"truth": [NORMAL, None], "example_id": ["e", "f"]}
    composed([FINE, FINE], trainer_state=SimpleNamespace(global_step=7), **columns)
    assert [(row.reward, row.value, row.unscored_reason, row.weight, row.prompt_id) for row in rows] == [
        ("l1", 1.0, None, 4.0, "e"),
        ("l1", None, "not_reported", 4.0, "f"),
        ("format", 1.0, None, 1.0, "e"),
        ("format", 1.0, None, 1.0, "f"),
        ("total", 5.0, None, 1.0, "e"),
        ("total", None, "not_reported", 1.0, "f"),
    ]
    assert {(row.run_id, row.step) for row in rows} == {("run-1", 7)}
    assert len({row.completion_id for row in rows}) == 2


def test_a_completion_or_prompt_without_an_id_is_not_called_none():
    rows = []
    compose([ThinkReward()], sink=rows.extend)(["x"] * 3, completion_id=["a", None, None], prompt_id=["p", None, "q"])
    of_total = [row for row in rows if row.reward == "total"]
    assert [row.prompt_id for row in of_total] == ["p", None, "q"]
    names = [row.completion_id for row in of_total]
    assert names[0] == "a" and len(set(names)) == 3 and "None" not in names


def test_the_names_of_completions_differ_by_batch_and_are_the_same_when_a_step_is_done_again():
    def names(composed, rows, steps):
        for step in steps:
            composed([FINE], global_step=step)
        return [row.completion_id for row in rows if row.reward == "total"]

    first, again = [], []
    before = names(compose([FormatReward()], sink=first.extend), first, [0, 0, 1])
    assert len(set(before)) == 3
    assert names(compose([FormatReward()], sink=again.extend), again, [1]) == before[2:]
    own = []
    compose([FormatReward()], sink=own.extend)([FINE], completion_id=["c"])
    assert {row.completion_id for row in own} == {"c"}


def test_a_composition_pickles_without_its_latest_batch():
    composed = compose({"l1": 4.0, "think": 1.0}, name="mine")
    composed([FINE], truth=[NORMAL])
    again = pickle.loads(pickle.dumps(composed))
    assert again.__name__ == "mine"
    assert again.last is None
    assert again([FINE], truth=[NORMAL]) == [5.0]


def test_a_part_that_forgets_a_completion_is_named():
    def forgets(completions, **columns):
        return [1.0]

    with pytest.raises(InputError, match="column 'forgets': must return 2 rewards, one for each completion, not 1"):
        compose([forgets])(["x", "y"])


@given(answer=magicmirror_answers(), truth=magicmirror_answers())
def test_the_composed_levels_are_the_total_in_fractions(answer, truth):
    composed = compose({"format": 8.0, "l1": 4.0, "l2": 2.0, "l3": 1.0, "magicmirror": 1.0})
    composed([render_magicmirror(answer, "So.")], truth=[magicmirror_json(truth)])
    row = composed.last.as_rows()[0]
    exact = sum(Fraction(str(row[name])) * weight for name, weight in (("format", 8), ("l1", 4), ("l2", 2), ("l3", 1)))
    assert Fraction(str(round(row["magicmirror"], 12))) == exact
    assert 0 <= row["magicmirror"] <= (12 if truth.normal else 15)
    assert row["l1"] or row["l2"] == row["l3"] == 0
    assert row["l2"] or row["l3"] == 0


def _renamed(answer: MagicMirrorAnswer, order: list[str]) -> str:
    """The answer with its kinds, and the cases of each, in another order."""
    if answer.normal:
        return magicmirror_json(answer)
    kinds = sorted(answer.labels, key=order.index)
    labels = {kind: list(reversed(answer.labels[kind])) if MAGICMIRROR_MENU[kind] else True for kind in kinds}
    return json.dumps({"Whether Normal": False, "Type of Deformity": labels})


@given(answer=magicmirror_answers(), truth=magicmirror_answers(), order=st.permutations(list(MAGICMIRROR_MENU)))
def test_the_order_of_labels_changes_no_reward(answer, truth, order):
    reward = MagicMirrorTotal(weights=MagicMirrorWeights(1, 1, 1, 1))
    plain = reward(["<think>a</think>\\boxed{" + magicmirror_json(answer) + "}"], truth=[magicmirror_json(truth)])
    turned = reward(["<think>a</think>\\boxed{" + _renamed(answer, order) + "}"], truth=[_renamed(truth, order)])
    assert plain == turned


def test_a_part_that_pays_no_number_abstains():
    parts = [Part(Given("a", math.nan, 1.0, math.inf, 2.0)), Part(Given("b", 1.0, 1.0, 1.0, 1.0))]
    assert of(*parts)(example_id=[1, 1, 2, 3]) == [None, None, None, 3.0]
    composed = compose(parts)
    composed(["x"] * 4)
    assert [str(each.reason) for each in composed.last.components[0].paid[::2]] == ["off_menu", "off_menu"]


def test_trainers_are_told_the_mean_of_every_part_and_what_is_missing():
    told = {}
    inner = compose([Part(Given("a", 1.0, 0.0), 0.5)], name="inner")
    composed = compose([inner, Given("b", None, 3.0)], name="sum")
    composed(["x", "y"], log_metric=told.__setitem__)
    assert told == {
        "sum/inner/a": 0.5,
        "sum/inner/a/abstained": 0.0,
        "sum/inner": 0.25,
        "sum/inner/abstained": 0.0,
        "sum/b": 3.0,
        "sum/b/abstained": 0.5,
        "sum/abstained": 0.5,
    }


def test_a_function_without_a_name_is_a_part_as_trainers_take_it():
    class Nameless:
        def __call__(self, completions, **columns):
            return [1.0] * len(completions)

    async def slow(completions, worth, **columns):
        return [worth] * len(completions)

    composed = compose([Nameless(), functools.partial(slow, worth=2.0)])
    assert asyncio.run(composed(["x"])) == [3.0]
    assert list(composed.last.as_rows()[0]) == ["Nameless", "slow", "total"]


@pytest.mark.parametrize(
    ("make", "column"),
    [
        (lambda: Part("format"), "reward"),
        (lambda: Part(FormatReward(), "4"), "weight"),
        (lambda: Part(FormatReward(), gate=True, least=math.nan), "least"),
    ],
    ids=["reward", "weight", "least"],
)
def test_a_part_that_could_only_fail_in_training_is_refused_when_it_is_made(make, column):
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.column == column


def test_two_processes_of_one_step_name_their_completions_differently():
    def names(text, example):
        rows = []
        compose([FormatReward()], sink=rows.extend)([text], global_step=3, example_id=[example])
        return rows[0].completion_id

    assert len({names("a", "1"), names("b", "1"), names("a", "2")}) == 3
    assert names("\ud800", "1") == names("\ud800", "1")


def test_a_function_of_ones_own_is_given_completions_as_the_trainer_gave_them():
    seen = []

    def own(completions, **_):
        seen.append(completions)
        return [1.0] * len(completions)

    for handed in ([[{"role": "assistant", "content": FINE}]], [FINE]):
        assert compose([ThinkReward(), own])(handed) == [2.0]
        assert seen.pop() == handed


@for_each("count", [0, 1, 3])
@for_each("asks", [False, True])
def test_a_rule_that_gives_another_number_of_rewards_is_named_and_no_total_is_cut_short(count, asks):
    class Rule(RuleReward):
        __name__ = "rule"

        def score(self, batch):
            return [1.0] * count

    class Asking(AskingReward):
        __name__ = "asking"
        abstention, group_size = Abstention.ALONE, None

        async def verdicts(self, batch):
            return [1.0] * count

    composed = compose([FormatReward(), Asking() if asks else Rule()])
    with pytest.raises(InputError, match=f"must return 2 rewards, one for each completion, not {count}"):
        returned = composed(["x", "y"])
        asyncio.run(returned)


@given(weighed=st.lists(st.sampled_from([-1.0, 0.0, 2.0]), min_size=1, max_size=4))
def test_what_weighs_nothing_makes_up_for_no_missing_part(weighed):
    parts = [Part(Given(f"p{place}", 1.0), weight) for place, weight in enumerate(weighed)]
    (total,) = of(*parts, Part(Given("lost", None), 1.0), Part(Given("gate", 1.0), gate=True), missing="renormalise")()
    present = sum(map(abs, weighed))
    assert total == (None if not present else pytest.approx(sum(weighed) * (present + 1) / present))

"""MagicMirror's reward: the golden cases by hand, the gates, the bounds, and what cannot be bought."""

import dataclasses
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from for_each import for_each
from salon_rewards import ConsistencyMode, MagicMirrorWeights, label_score, magicmirror_reward
from salon_taxonomy.answers import (
    MAGICMIRROR_MENU,
    Artifact,
    MagicMirrorAnswer,
    Parsed,
    Unparsed,
    parse_magicmirror,
    render_magicmirror,
)
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers, spoiled
from salon_taxonomy.verdict import Reason, Scored, Unscored

HUMAN, OBJECT = "L2: Abnormal Human Anatomy", "L2: Abnormal Object Morphology"
SCENE, ANIMAL = "L2: Irrational Element Interaction", "L2: Abnormal Animal Anatomy"
HAND, FOOT, FACE = "L3: Hand Structure Deformity", "L3: Foot Structure Deformity", "L3: Facial Structure Deformity"
OVERLAP, HEAD = "L3: Abnormal Element Overlap", "L3: Abnormal Head Structure"
NORMAL = MagicMirrorAnswer(True)
ABSTAINED = Unscored(Reason.TIMEOUT, "no answer in 30 s", raw="")


def flawed(labels: dict[str, tuple[str, ...]]) -> MagicMirrorAnswer:
    return MagicMirrorAnswer(False, tuple(Artifact(l2, l3) for l2, l3 in labels.items()))


def thought(answer: MagicMirrorAnswer) -> Parsed[MagicMirrorAnswer]:
    return Parsed(answer, "Looking closely.")


verdicts = st.none() | st.builds(Scored, st.booleans()) | st.just(ABSTAINED)


@for_each("reply", HOSTILE_REPLIES)
@for_each("consistency", [None, Scored(True), ABSTAINED])
def test_hostile_text_earns_nothing_and_says_why(reply, consistency):
    reward = magicmirror_reward(parse_magicmirror(reply), NORMAL, consistency=consistency)
    assert (reward.format, reward.l1, reward.l2, reward.l3, reward.total) == (0, 0, 0, 0, Scored(0.0))
    assert isinstance(reward.flaw, Unparsed)


GOLDEN = [
    # given, truth, (l1, l2, l3), total: worked by hand from appendix A.4 and the released constants
    (NORMAL, NORMAL, (1, 0, 0), 12),
    (NORMAL, flawed({HUMAN: (HAND,)}), (0, 0, 0), 8),
    (flawed({HUMAN: (HAND,)}), NORMAL, (0, 0, 0), 8),
    (flawed({HUMAN: (HAND,)}), flawed({HUMAN: (HAND,)}), (1, 1, 1), 15),
    (flawed({HUMAN: (FOOT,)}), flawed({HUMAN: (HAND,)}), (1, 1, 0), 14),
    (flawed({HUMAN: ()}), flawed({HUMAN: (HAND,)}), (1, 1, 0), 14),
    (flawed({HUMAN: (HAND, FOOT)}), flawed({HUMAN: (HAND,)}), (1, 1, 0.3), 14.3),
    (flawed({HUMAN: (HAND, FOOT)}), flawed({HUMAN: (HAND, FOOT, FACE)}), (1, 1, 0.9), 14.9),
    (flawed({OBJECT: ()}), flawed({OBJECT: ()}), (1, 1, 0), 14),
    (flawed({OBJECT: ()}), flawed({HUMAN: (HAND,)}), (1, 0, 0), 12),
    (flawed({}), flawed({HUMAN: (HAND,)}), (1, 0, 0), 12),
    (flawed({}), flawed({}), (1, 0, 0), 12),
    (flawed({HUMAN: (HAND,), OBJECT: ()}), flawed({HUMAN: (HAND,)}), (1, 0.3, 1), 13.6),
    (flawed({HUMAN: (HAND,)}), flawed({HUMAN: (HAND,), OBJECT: ()}), (1, 0.3, 1), 13.6),
    # One right, one missed, one extra: L2 is clipped to 0, and so is L3 although HAND is right.
    (flawed({HUMAN: (HAND,), SCENE: (OVERLAP,)}), flawed({HUMAN: (HAND,), ANIMAL: (HEAD,)}), (1, 0, 0), 12),
    # L3 is pooled over the common L2: two right, one missed.
    (flawed({HUMAN: (HAND,), ANIMAL: (HEAD,)}), flawed({HUMAN: (HAND, FOOT), ANIMAL: (HEAD,)}), (1, 1, 0.9), 14.9),
    # The L3 labels of an L2 that the truth lacks do not count against L3.
    (
        flawed({HUMAN: (HAND,), OBJECT: (), SCENE: (OVERLAP,)}),
        flawed({HUMAN: (HAND,), OBJECT: ()}),
        (1, 0.9, 1),
        14.8,
    ),
]


@pytest.mark.parametrize(("answer", "truth", "levels", "total"), GOLDEN)
def test_golden_cases(answer, truth, levels, total):
    reward = magicmirror_reward(thought(answer), truth)
    assert (reward.format, (reward.l1, reward.l2, reward.l3)) == (1.0, levels)
    assert reward.total.value == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "score"),
    [
        ((3, 0, 0), 1.0),
        ((1, 0, 1), 0.3),
        ((2, 1, 1), 0.6),
        ((3, 0, 1), 1.0),
        ((3, 3, 3), 0.0),
        ((0, 0, 0), 0.0),
        ((0, 1, 0), 0.0),
    ],
)
def test_the_label_score_is_equation_5(counts, score):
    assert label_score(*counts) == score


@given(correct=st.integers(0, 9), missed=st.integers(0, 9), extra=st.integers(0, 9))
def test_the_label_score_is_bounded_and_monotone(correct, missed, extra):
    score = label_score(correct, missed, extra)
    assert 0 <= score <= 1
    assert score <= label_score(correct + 1, missed, extra)
    assert score >= label_score(correct, missed + 1, extra)
    assert score >= label_score(correct, missed, extra + 1)
    assert label_score(correct, missed, extra) == label_score(correct, extra, missed)


@given(answer=magicmirror_answers(), truth=magicmirror_answers(), consistency=verdicts, mode=st.sampled_from(ConsistencyMode))
def test_bounds_and_gates_hold(answer, truth, consistency, mode):
    reward = magicmirror_reward(thought(answer), truth, consistency=consistency, mode=mode)
    assert {reward.format, reward.l1} <= {0.0, 1.0}
    assert 0 <= reward.l2 <= 1
    assert 0 <= reward.l3 <= 1
    assert reward.l1 or reward.l2 == reward.l3 == 0
    assert reward.l2 or reward.l3 == 0
    assert not truth.normal or reward.l2 == reward.l3 == 0
    if isinstance(reward.total, Scored):
        highest = 12 if truth.normal else 15
        assert 0 <= reward.total.value <= highest + (consistency is not None and mode is ConsistencyMode.TERM)
    assert isinstance(reward.total, Unscored) == (consistency is ABSTAINED)


@given(truth=magicmirror_answers(), answer=magicmirror_answers())
def test_nothing_earns_more_than_the_truth(truth, answer):
    best = magicmirror_reward(thought(truth), truth).total.value
    assert magicmirror_reward(thought(answer), truth).total.value <= best


@given(truth=magicmirror_answers(), answer=magicmirror_answers(), data=st.data())
def test_another_wrong_kind_of_artifact_never_pays(truth, answer, data):
    assume(not answer.normal)
    others = sorted(MAGICMIRROR_MENU.keys() - answer.labels.keys() - truth.labels.keys())
    assume(others)
    more = MagicMirrorAnswer(False, (*answer.artifacts, Artifact(data.draw(st.sampled_from(others)))))
    assert magicmirror_reward(thought(more), truth).total.value <= magicmirror_reward(thought(answer), truth).total.value


@given(truth=magicmirror_answers(), answer=magicmirror_answers(), data=st.data())
def test_another_wrong_special_case_never_pays(truth, answer, data):
    open_ = [
        (kind, case)
        for kind, cases in answer.labels.items()
        for case in MAGICMIRROR_MENU[kind]
        if case not in cases and case not in truth.labels.get(kind, ())
    ]
    assume(open_)
    kind, case = data.draw(st.sampled_from(open_))
    more = flawed({**answer.labels, kind: (*answer.labels[kind], case)})
    assert magicmirror_reward(thought(more), truth).total.value <= magicmirror_reward(thought(answer), truth).total.value


@given(truth=magicmirror_answers(), answer=magicmirror_answers())
def test_the_order_of_labels_does_not_matter(truth, answer):
    turned = MagicMirrorAnswer(
        answer.normal, tuple(Artifact(artifact.l2, artifact.l3[::-1]) for artifact in reversed(answer.artifacts))
    )
    assert magicmirror_reward(thought(turned), truth) == magicmirror_reward(thought(answer), truth)


@given(truth=magicmirror_answers())
def test_naming_every_label_earns_less_than_knowing(truth):
    assume(not truth.normal and len(truth.artifacts) <= 2)
    everything = flawed(dict(MAGICMIRROR_MENU))
    assert magicmirror_reward(thought(everything), truth).l2 == 0


@given(reply=spoiled(magicmirror_answers().map(lambda answer: render_magicmirror(answer, "So."))), truth=magicmirror_answers())
def test_spoiled_replies_have_a_reward(reply, truth):
    outcome = parse_magicmirror(reply)
    reward = magicmirror_reward(outcome, truth)
    assert (reward.flaw is None) == (reward.format == 1.0)
    assert reward.total.value >= 8 * reward.format


def test_an_answer_without_reasoning_breaks_the_format_unless_it_may():
    bare = parse_magicmirror(render_magicmirror(NORMAL))
    assert magicmirror_reward(bare, NORMAL).flaw.reason == Reason.MALFORMED
    assert magicmirror_reward(bare, NORMAL, reasoning="optional").total == Scored(12.0)
    assert magicmirror_reward(Parsed(NORMAL, ""), NORMAL, reasoning="paper").total == Scored(12.0)


@pytest.mark.parametrize(("consistent", "term", "gate"), [(True, 16.0, 15.0), (False, 15.0, 0.0)])
def test_consistency_is_a_term_or_a_gate(consistent, term, gate):
    truth = flawed({HUMAN: (HAND,)})
    totals = [
        magicmirror_reward(thought(truth), truth, consistency=Scored(consistent), mode=mode).total for mode in ConsistencyMode
    ]
    assert totals == [Scored(term), Scored(gate)]


@pytest.mark.parametrize("mode", ConsistencyMode)
def test_a_judge_that_gives_no_verdict_leaves_no_total_and_keeps_the_components(mode):
    truth = flawed({HUMAN: (HAND,)})
    reward = magicmirror_reward(thought(truth), truth, consistency=ABSTAINED, mode=mode)
    assert (reward.format, reward.l1, reward.l2, reward.l3) == (1, 1, 1, 1)
    assert reward.consistency is ABSTAINED
    assert (reward.total.reason, reward.total.detail) == (Reason.TIMEOUT, "no verdict on consistency: no answer in 30 s")


def test_a_judge_that_gives_no_verdict_on_an_unreadable_answer_is_reported_and_changes_nothing():
    reward = magicmirror_reward(parse_magicmirror(""), NORMAL, consistency=ABSTAINED)
    assert reward.consistency is ABSTAINED
    assert reward.total == Scored(0.0)


def test_a_verdict_that_weighs_nothing_is_not_missed():
    weights = MagicMirrorWeights(consistency=0.0)
    reward = magicmirror_reward(thought(NORMAL), NORMAL, consistency=ABSTAINED, weights=weights)
    assert reward.total == Scored(12.0)
    assert reward.consistency is ABSTAINED


def test_weights_are_arguments_and_are_remembered():
    weights = MagicMirrorWeights(1, 1, 1, 1, 0.5)
    truth = flawed({HUMAN: (HAND,)})
    reward = magicmirror_reward(thought(truth), truth, consistency=Scored(True), weights=weights)
    assert reward.total == Scored(4.5)
    assert reward.weights is weights


def test_a_mode_may_be_given_by_its_name_and_no_other_is_taken():
    named = magicmirror_reward(thought(NORMAL), NORMAL, consistency=Scored(False), mode="gate")
    assert (named.total, named.mode) == (Scored(0.0), ConsistencyMode.GATE)
    with pytest.raises(InputError, match="allowed: term, gate"):
        magicmirror_reward(thought(NORMAL), NORMAL, mode="product")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(InputError, match="column 'l2'"):
        MagicMirrorWeights(l2=weight)


def test_a_reward_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        magicmirror_reward(thought(NORMAL), NORMAL).total = Scored(15.0)


@given(answer=magicmirror_answers(), truth=magicmirror_answers(), consistency=verdicts)
def test_a_reward_as_plain_values_is_json_and_keeps_every_number(answer, truth, consistency):
    reward = magicmirror_reward(thought(answer), truth, consistency=consistency)
    plain = json.loads(json.dumps(reward.as_dict(), allow_nan=False))
    assert [plain[name] for name in ("format", "l1", "l2", "l3")] == [reward.format, reward.l1, reward.l2, reward.l3]
    assert (plain["total"] is None) == (plain["total_unscored"] is not None)
    assert plain["consistency_unscored"] == ("timeout" if consistency is ABSTAINED else None)


def released(truth: dict, given: dict) -> float:
    """An independent reading of the released rules, on plain dictionaries and in floating point, as an oracle."""
    if truth["normal"] != given["normal"]:
        return 8.0
    if truth["normal"]:
        return 12.0

    def points(true: set, found: set) -> tuple[int, int]:
        return len(true & found), len(true ^ found)

    def level(correct: int, wrong: int) -> float:
        return 1.0 if correct and not wrong else max(0.0, min(1.0, correct * 0.6 - wrong * 0.3))

    l2 = level(*points(set(truth["labels"]), set(given["labels"])))
    shared = [key for key in truth["labels"] if key in given["labels"] and MAGICMIRROR_MENU[key]]
    counts = [points(set(truth["labels"][key]), set(given["labels"][key])) for key in shared]
    l3 = level(sum(c for c, _ in counts), sum(w for _, w in counts)) if l2 > 1e-9 and counts else 0.0
    return 12.0 + 2 * l2 + l3


@given(answer=magicmirror_answers(), truth=magicmirror_answers())
def test_the_reward_equals_an_independent_reading_of_the_released_rules(answer, truth):
    plain = [{"normal": item.normal, "labels": item.labels} for item in (truth, answer)]
    assert magicmirror_reward(thought(answer), truth).total.value == pytest.approx(released(*plain), abs=1e-12)

"""Rewards by rule, as trainers call them: hostile text first, then what each pays for, and what a trainer may hand over."""

import json
import pickle
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_rewards import (
    REASONING_RULES,
    ConsistencyMode,
    FormatReward,
    JsonReward,
    L1Reward,
    L2Reward,
    L3Reward,
    LengthPenalty,
    MagicMirrorTotal,
    MagicMirrorWeights,
    RepetitionPenalty,
    ThinkReward,
    VerdictReward,
    illusory,
    magicmirror_reward,
)
from salon_rewards.monitors import MONITORS, StepBatch
from salon_taxonomy.answers import (
    MagicMirrorAnswer,
    R3Answer,
    magicmirror_json,
    parse_magicmirror,
    render_magicmirror,
    render_r3,
)
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers, reasonings, spoiled
from salon_taxonomy.verdict import Reason, Scored, Unscored

NORMAL = '{"Whether Normal": true}'
FINE = "<think>Fine.</think>\\boxed{" + NORMAL + "}"
RULES = [FormatReward(), L1Reward(), L2Reward(), L3Reward(), MagicMirrorTotal(), ThinkReward(), JsonReward(), VerdictReward()]
COLUMNS = {"truth": [NORMAL], "matches": [True]}
by_name = pytest.mark.parametrize("reward", RULES, ids=lambda reward: reward.__name__)


@by_name
@for_each("reply", HOSTILE_REPLIES)
def test_hostile_text_earns_nothing(reward, reply):
    assert reward([reply], **COLUMNS) == [0.0]


@by_name
def test_a_reward_pickles_has_a_name_and_takes_whatever_a_trainer_passes(reward):
    again = pickle.loads(pickle.dumps(reward))
    assert again == reward
    assert again.__name__ == reward.__name__ != type(reward).__name__
    paid = again(completions=[FINE], prompts=["Look."], completion_ids=[[1]], trainer_state=object(), **COLUMNS)
    assert len(paid) == 1
    assert reward.lowest <= paid[0] <= reward.highest


@by_name
def test_no_completions_have_no_rewards(reward):
    assert reward([], truth=[], matches=[]) == []


def test_a_completion_may_be_a_list_of_messages():
    said = [{"role": "assistant", "content": FINE}]
    parts = [{"role": "assistant", "content": [{"type": "text", "text": FINE}]}]
    assert FormatReward()([said, parts, [], [{"role": "assistant", "content": None}]]) == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("completion", [None, 3, ["text"], [{"role": "assistant", "content": 3}], {"content": "x"}])
def test_a_completion_of_another_kind_names_its_row(completion):
    with pytest.raises(InputError, match="row 2, column 'completions'"):
        FormatReward()([FINE, completion])


def test_a_missing_column_says_which_there_are():
    with pytest.raises(InputError, match=r"column 'truth'.*\n?.*There are: bucket, prompts"):
        L1Reward()([FINE], prompts=["Look."], bucket=["normal"], trainer_state=object())


@pytest.mark.parametrize("truth", [[NORMAL, NORMAL], NORMAL, {"a": NORMAL}])
def test_a_column_of_another_length_is_refused(truth):
    with pytest.raises(InputError, match="needs a list of 1 values"):
        L1Reward()([FINE], truth=truth)


@pytest.mark.parametrize("truth", ["", "normal", '{"Whether Normal": "yes"}', 3, True, ["L2"]])
def test_a_truth_that_is_none_names_its_row(truth):
    with pytest.raises(InputError, match=r"row 2, column 'truth': no MagicMirror labels"):
        L1Reward()([FINE, FINE], truth=[NORMAL, truth])


def test_a_truth_may_be_text_a_reply_a_mapping_or_an_answer_and_none_has_no_reward():
    truths = [NORMAL, FINE, {"Whether Normal": True}, MagicMirrorAnswer(True), None]
    assert L1Reward()([FINE] * 5, truth=truths) == [1.0, 1.0, 1.0, 1.0, None]
    assert MagicMirrorTotal(truth="labels")([FINE] * 2, labels=[NORMAL, None]) == [12.0, None]


@pytest.mark.parametrize("matches", ["yes", 1, 0.0, "", [True]])
def test_a_verdict_of_another_kind_names_its_row(matches):
    with pytest.raises(InputError, match="row 1, column 'matches': neither true nor false"):
        VerdictReward()([FINE], matches=[matches])


def test_a_trainer_that_takes_metrics_is_told_the_share_without_a_reward():
    told = {}
    L1Reward()([FINE, FINE], truth=[NORMAL, None], log_metric=told.__setitem__)
    assert told == {"l1/abstained": 0.5}


replies = st.tuples(magicmirror_answers(), reasonings()).map(lambda made: render_magicmirror(*made))


@given(reply=replies | spoiled(replies), truth=magicmirror_answers(), reasoning=st.sampled_from(list(REASONING_RULES)))
def test_the_callables_pay_what_the_pure_function_pays(reply, truth, reasoning):
    once = magicmirror_reward(parse_magicmirror(reply), truth, reasoning=reasoning)
    column = {"truth": [magicmirror_json(truth)]}
    levels = [kind(reasoning=reasoning)([reply], **column) for kind in (FormatReward, L1Reward, L2Reward, L3Reward)]
    assert levels == [[once.format], [once.l1], [once.l2], [once.l3]]
    assert MagicMirrorTotal(reasoning=reasoning)([reply], **column) == [once.total.value]


@given(
    reply=replies | spoiled(replies),
    truth=magicmirror_answers(),
    consistent=st.none() | st.booleans(),
    mode=st.sampled_from(ConsistencyMode),
    weights=st.builds(MagicMirrorWeights, *[st.sampled_from([0.0, 1.0, 8.0])] * 5),
)
def test_with_consistency_and_any_weights_the_total_is_the_pure_functions(reply, truth, consistent, mode, weights):
    judged = Unscored(Reason.ABSTAINED, "nothing said") if consistent is None else Scored(consistent)
    once = magicmirror_reward(parse_magicmirror(reply), truth, consistency=judged, mode=mode, weights=weights)
    paid = MagicMirrorTotal(mode=mode, weights=weights)([reply], truth=[magicmirror_json(truth)], consistent=[consistent])
    assert paid == [once.total.value if isinstance(once.total, Scored) else None]


def test_a_column_of_verdicts_on_consistency_is_a_term_or_a_gate():
    columns = {"truth": [NORMAL] * 4, "consistent": [True, False, None, None]}
    given_ = [FINE, FINE, FINE, "Fine."]
    assert MagicMirrorTotal()(given_, **columns) == [13.0, 12.0, None, 0.0]
    assert MagicMirrorTotal(mode="gate")(given_, **columns) == [12.0, 0.0, None, 0.0]
    assert MagicMirrorTotal(weights=MagicMirrorWeights(consistency=0.0))(given_, **columns) == [12.0, 12.0, 12.0, 0.0]
    with pytest.raises(InputError, match="allowed: term, gate"):
        MagicMirrorTotal(mode="product")


@pytest.mark.parametrize(
    ("text", "paid"),
    [
        ("<think>Two.</think>No.", 1.0),
        ("  \n<THINK>\nTwo.\n</THINK>\nNo.", 1.0),
        ("<think>Two.</think>", 0.0),
        ("<think> \n </think>No.", 0.0),
        ("Well. <think>Two.</think>No.", 0.0),
        ("<think>Two.</think>No.<think>Three.</think>No.", 0.0),
        ("<think>Two.<think>Three.</think>No.", 0.0),
        ("<think>Two.</think>No.</think>", 0.0),
        ("Two.</think>No.", 0.0),
        ("<think>Two.", 0.0),
        ("", 0.0),
    ],
)
def test_thinking_is_one_block_and_then_an_answer(text, paid):
    assert ThinkReward()([text]) == [paid]


def test_a_block_may_be_opened_by_the_prompt_or_be_empty_when_that_is_said():
    assert ThinkReward(opened_by_prompt=True)(["Two.</think>No.", "</think>No.", "Two.", "<think>T</think>No."]) == [1, 0, 0, 1]
    assert ThinkReward(least_characters=0)(["<think></think>No."]) == [1.0]
    assert ThinkReward(least_characters=5)(["<think>Two.</think>No."]) == [0.0]
    with pytest.raises(InputError, match="least_characters"):
        ThinkReward(least_characters=-1)


@given(matches=st.booleans(), truth=st.booleans())
def test_a_verdict_is_paid_when_it_is_the_annotated_one(matches, truth):
    reply = render_r3(R3Answer(matches, "Two lemons.", "Add one."))
    assert VerdictReward()([reply, reply], matches=[truth, str(truth)]) == [float(matches == truth)] * 2
    assert VerdictReward(truth="answer")([reply], answer=[None]) == [None]


def test_json_is_paid_by_the_grammar_that_was_asked_for():
    prism = json.dumps({"justification": "", "score": 7})
    assert JsonReward("prism")([prism, FINE]) == [1.0, 0.0]
    assert JsonReward("magicmirror")([prism, FINE]) == [0.0, 1.0]
    with pytest.raises(InputError, match="allowed: magicmirror, prism, r3"):
        JsonReward("xml")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_that_a_chat_parser_took_out_of_the_text_counts(key):
    apart = [{"role": "assistant", "content": "\\boxed{" + NORMAL + "}", key: "Fine."}]
    assert FormatReward()([apart]) == ThinkReward()([apart]) == [1.0]
    assert MagicMirrorTotal()([apart], truth=[NORMAL]) == [12.0]
    blank = [{**apart[0], key: " "}]
    both = [{**apart[0], "content": FINE}]
    assert FormatReward()([blank, both]) == [0.0, 1.0]
    assert ThinkReward()([both]) == [1.0]


class Scalar:
    """What NumPy and torch make of a truth."""

    ndim = 0

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def test_truths_may_be_scalars_of_an_array_library():
    reply = '{"answer": false, "explanation": "Two.", "edit_prompt": "Add one."}'
    assert VerdictReward()([reply, reply], matches=[Scalar(False), Scalar(True)]) == [1.0, 0.0]
    with pytest.raises(InputError, match="neither true nor false 1"):
        VerdictReward()([reply], matches=[Scalar(1)])


@pytest.mark.parametrize(
    "reply",
    [
        "\\boxed{" + NORMAL + "}<think>So I said.</think>",
        "\\boxed{" + NORMAL + "}<think>So I said.</think> That is all.",
        "<think></think>\\boxed{" + NORMAL + "}<think>So I said.</think>",
    ],
)
def test_reasoning_behind_the_answer_is_none(reply):
    assert (
        FormatReward()([reply]) == L1Reward()([reply], truth=[NORMAL]) == MagicMirrorTotal()([reply], truth=[NORMAL]) == [0.0]
    )
    assert MagicMirrorTotal(reasoning="optional")([reply], truth=[NORMAL]) == [12.0]
    flaw = magicmirror_reward(parse_magicmirror(reply), MagicMirrorAnswer(True)).flaw
    assert flaw.detail == "the answer stands before the reasoning"


def test_an_answer_may_stand_on_both_sides_of_the_reasoning():
    replies = ["First look: \\boxed{?}" + FINE, FINE + "<think>Done.</think>\\boxed{" + NORMAL + "}"]
    assert FormatReward(reasoning="paper")(replies) == [1.0, 1.0]
    assert FormatReward()(replies) == [1.0, 0.0]  # the second thinks twice


EMPTY_THOUGHTS = [
    "",
    " \n\t",
    "\u200b\u2060\ufeff",
    "\u3164\uffa0",
    "\u202e\u00ad",
    ".",
    "…!?",
    "...........",
    "aaaaaaaa",
    "👍",
    NORMAL,
    "\\boxed{" + NORMAL + "}",
    "<think>The hands are fine.</think>",
    "The hands are</think><think>fine.",
]


@pytest.mark.parametrize("thought", EMPTY_THOUGHTS, ids=ascii)
def test_reasoning_without_words_of_its_own_earns_nothing_unless_the_papers_rule_is_asked_for(thought):
    """Empty, invisible, a sign, one sign repeated, the answer alone, nested and repeated blocks."""
    reply = f"<think>{thought}</think>\\boxed{{{NORMAL}}}"
    assert FormatReward()([reply]) == MagicMirrorTotal()([reply], truth=[NORMAL]) == [0.0]
    assert magicmirror_reward(parse_magicmirror(reply), MagicMirrorAnswer(True)).flaw is not None
    assert FormatReward(reasoning="paper")([reply]) == FormatReward(reasoning="optional")([reply]) == [1.0]
    if thought != "aaaaaaaa":
        assert ThinkReward()([reply]) == [0.0]


@pytest.mark.parametrize("thought", ["Fine.", "正常", "6 fingers", "The box says {five}, I count six.", "\u200bAll well."])
def test_reasoning_with_words_earns_the_format(thought):
    reply = f"<think>{thought}</think>\\boxed{{{NORMAL}}}"
    assert FormatReward()([reply]) == ThinkReward()([reply]) == [1.0]


@pytest.mark.parametrize("kind", [FormatReward, L1Reward, MagicMirrorTotal])
def test_another_rule_for_the_reasoning_is_refused(kind):
    with pytest.raises(InputError, match="allowed: content, paper, optional"):
        kind(reasoning="some")


def watched(text):
    """All monitors look at two such completions, once."""
    for grammar, kinds in MONITORS.items():
        batch = StepBatch.read([text] * 2, step=0, grammar=grammar)
        for build in kinds:
            build().look(batch)


READERS = {
    **{reward.__name__: lambda text, reward=reward: reward([text], **COLUMNS) for reward in RULES},
    **{type(each).__name__: lambda text, each=each: each([text]) for each in (LengthPenalty(), RepetitionPenalty())},
    "json prism": lambda text: JsonReward("prism")([text]),
    "json magicmirror": lambda text: JsonReward("magicmirror")([text]),
    "illusory": illusory,
    "monitors": watched,
}
UNITS = [
    "{",
    '{"a":',
    "{}",
    '"',
    "\\",
    "\\boxed{",
    "}",
    "<think>",
    "</think>",
    "[",
    "a ",
    "<",
    "手",
    "\u200b",
    "change ",
    "the prompt ",
    "; ",
]
BEFORE = ["", "<think>a</think>", "<think>a</think>\\boxed{"]


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_reading_four_times_as_much_takes_about_four_times_as_long(name, unit):
    """No reply makes a reward, a parser or a monitor turn back: sixteen times as long would be a square."""
    read = READERS[name]
    for before in BEFORE:
        spent = []
        for length in (10_000, 40_000):  # shorter ones may be remembered from before
            text = before + unit * (length // len(unit))
            tries = []
            for _ in range(3):  # the least of them: others hold what else the machine does
                began = process_time()
                read(text)
                tries.append(process_time() - began)
            spent.append(min(tries))
        assert spent[1] < 0.05 + 10 * spent[0]

"""Prices for repetition and length, judged scores, rewards by name, and the signatures of verl and ms-swift."""

import asyncio
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from importlib.metadata import EntryPoint

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from for_each import for_each
from salon_rewards import (
    REWARDS,
    ConsistencyReward,
    JudgedScoreReward,
    LengthPenalty,
    MagicMirrorJudged,
    RepetitionPenalty,
    RewardFunction,
    ThinkReward,
    catalog,
    make_reward,
)
from salon_rewards.adapters import SwiftReward, VerlBatchScore, VerlScore
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge, text

NORMAL = '{"Whether Normal": true}'
FINE = "<think>Fine.</think>\\boxed{" + NORMAL + "}"
YES = '{"consistent": true}'


@pytest.mark.parametrize("reward", [RepetitionPenalty(), LengthPenalty()], ids=["repetition", "length"])
@for_each("reply", HOSTILE_REPLIES)
def test_hostile_text_costs_no_more_than_everything(reward, reply):
    (paid,) = reward([reply])
    assert reward.lowest <= paid <= reward.highest
    assert pickle.loads(pickle.dumps(reward))([reply]) == [paid]


@given(words=st.lists(st.sampled_from("abcd"), max_size=30), size=st.integers(1, 4))
def test_repetition_equals_its_twin_in_fractions(words, size):
    grams = [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]
    exact = Fraction(len(set(grams)), len(grams)) - 1 if grams else 0
    assert RepetitionPenalty(size)([" ".join(words)]) == [pytest.approx(float(exact))]
    assert RepetitionPenalty(size, unit="tokens")([""], completion_ids=[words]) == [pytest.approx(float(exact))]


def test_every_sign_of_a_script_without_spaces_is_a_word():
    assert RepetitionPenalty(2)(["手手手手手"]) == [-0.75]
    assert RepetitionPenalty(2, most=0.0)(["no no no"]) == [0.0]


@given(reply=text, more=text, longest=st.integers(1, 60), share=st.floats(0, 1))
def test_more_length_never_costs_less(reply, more, longest, share):
    penalty = LengthPenalty(longest, int(longest * share))
    shorter, longer = penalty([reply, reply + more])
    assert -1 <= longer <= shorter <= 0


@pytest.mark.parametrize(
    ("tokens", "paid"), [(0, 0.0), (15_872, 0.0), (17_920, -0.5), (19_968, -1.0), (19_969, -1.0), (50_000, -1.0)]
)
def test_length_costs_what_dapos_constants_say(tokens, paid):
    assert LengthPenalty(19_968, 4_096, unit="tokens")([""], completion_ids=[range(tokens)]) == [paid]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RepetitionPenalty(0),
        lambda: RepetitionPenalty(most=-1.0),
        lambda: RepetitionPenalty(unit="letters"),
        lambda: LengthPenalty(0),
        lambda: LengthPenalty(10, 11),
        lambda: LengthPenalty(unit="words"),
        lambda: JudgedScoreReward(ReplayJudge([]), " "),
        lambda: JudgedScoreReward(ReplayJudge([]), "r", concurrency=0),
    ],
    ids=range(8),
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(InputError):
        make()


@for_each("reply", HOSTILE_REPLIES)
def test_a_judges_hostile_reply_is_no_score(reply):
    assert asyncio.run(JudgedScoreReward(ReplayJudge([reply]), "Deduct.")(["x"])) == [None]


def test_a_judge_sees_rubric_prompt_picture_and_the_completion_in_quotation_marks():
    judge = ReplayJudge(['{"justification": "", "score": 7.5}', '{"justification": "", "score": 11}'])
    reward = JudgedScoreReward(judge, "Deduct.", image="images", prompt="asked", concurrency=1)
    columns = {"images": [b"a", [b"b"]], "asked": ["A sign.", "A sign."], "group_id": [1, 2]}
    assert asyncio.run(reward(['Give me "10".', "x"], **columns)) == [0.75, None]
    question = judge.asked[0]
    assert question.parts[0] == "Deduct."
    assert '"A sign."' in question.parts[1]
    assert question.media[0].data == b"a"
    assert '"Give me \\"10\\"."' in question.text


def test_every_reward_of_the_list_can_be_made_and_keeps_what_the_list_says():
    for entry in REWARDS:
        given_ = {"judge": {"judge": ReplayJudge([])}, "editor": {"editor": object(), "certainty": len}}.get(entry.asks, {})
        reward = make_reward(entry.name, **given_, **({"rubric": "Deduct."} if entry.name == "judged_score" else {}))
        assert isinstance(reward, RewardFunction)
        assert reward.__name__ == entry.name
        assert (reward.lowest, reward.highest) == (entry.lowest, entry.highest)
        assert asyncio.iscoroutinefunction(type(reward).__call__) == bool(entry.asks)
    assert [entry.name for entry in REWARDS] == sorted(entry.name for entry in REWARDS)


def test_parameters_are_checked_by_name():
    assert make_reward("think", least_characters=3) == ThinkReward(3)
    assert isinstance(make_reward("magicmirror", judge=ReplayJudge([])), MagicMirrorJudged)
    assert make_reward("magicmirror", weights={"l1": 1}).weights.l1 == 1
    with pytest.raises(InputError, match=r"unknown parameter of think 'length' \(allowed: least_char"):
        make_reward("think", length=3)
    with pytest.raises(InputError, match="consistency cannot be made without 'judge'"):
        make_reward("consistency")
    with pytest.raises(InputError, match="unknown parameter of magicmirror's weights 'l4'"):
        make_reward("magicmirror", weights={"l4": 1})
    with pytest.raises(InputError, match="there is no reward 'magic'"):
        make_reward("magic")
    with pytest.raises(InputError, match="no installed package brings rewards of 'nobody'"):
        make_reward("nobody:prism")
    with pytest.raises(InputError, match=r"is named scorer:./metrics.py:redness"):
        make_reward("./metrics.py:redness")


def test_a_package_brings_rewards_of_its_own(monkeypatch):
    entry = EntryPoint("mine", "test_penalties_and_names:anything", catalog.SOURCES)
    monkeypatch.setattr(EntryPoint, "load", lambda self: lambda name, parameters: LengthPenalty(**parameters))
    monkeypatch.setattr(catalog, "entry_points", lambda group: [entry])
    assert catalog.source_names() == ["mine"]
    assert make_reward("mine:any", longest=2, buffer=1) == LengthPenalty(2, 1)


def test_verl_gets_numbers_and_a_count_and_groups_that_were_torn_apart_abstain_together():
    judge = ReplayJudge([YES, "?", YES])
    score = VerlBatchScore(ConsistencyReward(judge, concurrency=1), abstained=-1.0)
    texts = [FINE.replace("Fine", each) for each in "abc"]
    infos = [{"index": 1}, {"index": 2}, {"index": 1}]
    scores = score(["d"] * 3, texts, [NORMAL] * 3, infos)
    assert scores == [{"score": -1.0, "abstained": 1.0}, {"score": 1.0, "abstained": 0.0}, {"score": -1.0, "abstained": 1.0}]
    assert score.__name__ == "consistency"


def test_verl_scores_one_by_one_with_and_without_extra_info_also_within_a_running_loop():
    normal = VerlScore(make_reward("magicmirror"))
    assert normal(data_source="d", solution_str=FINE, ground_truth=NORMAL) == {"score": 12.0, "abstained": 0.0}
    assert normal("d", FINE, None, {"index": 3, "split": "train"}) == {"score": 0.0, "abstained": 1.0}
    assert pickle.loads(pickle.dumps(normal)).__name__ == "magicmirror"

    async def within():
        return VerlScore(ConsistencyReward(ReplayJudge([YES])))("d", FINE, NORMAL, None, timeout=3)

    assert asyncio.run(within())["score"] == 1.0
    with pytest.raises(InputError, match="column 'ground_truths': needs 1 values"):
        VerlBatchScore(ThinkReward())(["d"], ["x"], [], [None])


def test_ms_swift_makes_the_object_itself_and_may_call_columns_otherwise():
    class Swift(SwiftReward):
        reward = make_reward("l1")
        columns = {"truth": "solution"}  # noqa: RUF012

    made = Swift(args=object(), tokenizer=None)
    assert made([FINE, "?"], solution=[NORMAL, None], images=[["a"], ["b"]], trainer_state=object()) == [1.0, None]

    class Judged(SwiftReward):
        reward = ConsistencyReward(ReplayJudge([YES]))

    assert Judged()([FINE]) == [1.0]


class LoopKeepingJudge(ReplayJudge):
    """Keeps something of the event loop that it first answers in, as a client keeps its connections."""

    loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, question):
        here = asyncio.get_running_loop()
        self.loop = self.loop or here
        assert self.loop is here
        assert not here.is_closed()
        return await super().ask(question)


def test_a_judge_is_asked_in_one_loop_from_batch_to_batch_and_from_many_threads():
    judge = LoopKeepingJudge([YES] * 12)
    score = VerlScore(ConsistencyReward(judge))
    texts = [FINE.replace("Fine", each) for each in "abcdefgh"]
    with ThreadPoolExecutor(4) as threads:
        paid = list(threads.map(lambda text: score("d", text, NORMAL), texts))
    assert [each["score"] for each in paid] == [1.0] * 8

    class Judged(SwiftReward):
        reward = ConsistencyReward(judge)

    assert [Judged()([text]) for text in (FINE, FINE.replace("Fine", "Good"))] == [[1.0], [1.0]]


def test_a_class_without_a_reward_is_refused():
    with pytest.raises(InputError, match="the class names no reward"):
        SwiftReward()


@example(longest=5, share=0.0, length=5)
@example(longest=5, share=0.0, length=6)
@example(longest=5, share=1.0, length=0)
@given(longest=st.integers(1, 40), share=st.floats(0, 1), length=st.integers(0, 50))
def test_length_costs_nothing_before_the_buffer_and_everything_beyond_the_longest(longest, share, length):
    buffer = int(longest * share)
    (cost,) = LengthPenalty(longest, buffer)(["x" * length])
    assert (cost == 0) is (length <= longest - buffer)
    assert (cost == -1) is (length > longest or (length == longest and buffer > 0))
    if longest - buffer < length < longest:
        assert cost == -(length - longest + buffer) / buffer


def test_a_judge_named_by_its_text_is_opened_and_one_whose_package_is_missing_names_the_extra(monkeypatch):
    assert make_reward("consistency", judge="vllm:m@localhost:8000").judge.name == "m"
    monkeypatch.setitem(sys.modules, "salon_judges.clients.openai_compatible", None)
    with pytest.raises(InputError, match=r"not installed(.|\n)*judges\[clients\]"):
        make_reward("consistency", judge="vllm:m@localhost:8000")

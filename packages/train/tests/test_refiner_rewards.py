"""The refiner's two stages on drawn scenes: hostile replies first, then who earns nothing, who abstains, and who is counted."""

import asyncio

import pytest

from for_each import for_each
from salon_rewards import ReasoningReward, RectificationReward
from salon_synthetic import DrawEditor
from salon_synthetic.scenes.drawing import png
from salon_taxonomy.answers import R3Answer, render_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Media, Reply
from salon_taxonomy.records import CallStatus
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge
from salon_taxonomy.verdict import Unscored
from salon_train.refiner import CachingEditor, EditCounts, QuestionVerifier, draw_small_scenes

[ITEM] = draw_small_scenes(1, seed=4)  # a green square that should be blue, and a yellow cross
BEFORE = png(ITEM.shown)


def says(instruction: str) -> str:
    return render_r3(R3Answer(False, ITEM.explanation, instruction), "I look.")


MENDS, IMPOSSIBLE, EVASIVE = says(ITEM.edit_prompt), says("Remove the star."), says("Replace blue with green in the prompt.")


def sure(prompts, pictures):
    """Certain of any other picture than the given one."""
    return [0.1 if media.data == BEFORE else 0.9 for media in pictures]


def paid(editor, completions, *, ids=None, matches=False, certainty=sure, **options):
    count = len(completions)
    reward = RectificationReward(editor, certainty, image="picture", **options)
    columns = {"matches": [matches] * count, "picture": [BEFORE] * count, "text_prompt": [ITEM.prompt] * count}
    return asyncio.run(reward(completions, example_id=ids or ["0"] * count, **columns))


class Broken:
    """Works, but for one instruction."""

    name, version = "broken", "1"

    def __init__(self, fault):
        self.fault = fault

    async def edit(self, image, instruction, *, seed=None):
        if instruction != "Remove the star.":
            return Edit(Media.from_bytes(b"after"))
        if isinstance(self.fault, Exception):
            raise self.fault
        return Edit(None, self.fault, error="gone")


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_reply_earns_nothing_in_stage_two_and_reaches_no_editor(text):
    editor = CachingEditor(DrawEditor())
    assert paid(editor, [text]) == [0.0]
    assert editor.counts == EditCounts()
    assert ReasoningReward()([text], matches=[False])[0] <= 0.1  # the form of a thought at most


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_judge_of_questions_gives_no_value(text):
    verifier = QuestionVerifier(ReplayJudge([text]), {ITEM.prompt: (ITEM.questions, ITEM.answers)})
    [value] = asyncio.run(verifier([ITEM.prompt], [Media.from_bytes(BEFORE)]))
    assert isinstance(value, Unscored)


def test_an_edit_that_mends_is_paid_by_the_verifiers_certainty_and_a_wrong_verdict_by_nothing():
    wrong = render_r3(R3Answer(True), "I look.")
    assert paid(CachingEditor(DrawEditor()), [MENDS, wrong]) == [0.9, 0.0]


def test_a_right_match_is_paid_by_the_certainty_about_the_picture_as_it_is():
    right = render_r3(R3Answer(True), "I look.")
    editor = CachingEditor(DrawEditor())
    assert paid(editor, [right], matches=True) == [0.1]
    assert editor.counts == EditCounts()


@pytest.mark.parametrize(
    ("rules", "earned", "counts"),
    [
        ({"refusal": "unchanged"}, [0.1, 0.9], EditCounts(made=1, refused=1)),
        ({"refusal": "zero"}, [0.0, 0.9], EditCounts(made=1, refused=1)),
        ({"illusory": "zero"}, [0.0, 0.9], EditCounts(made=1)),
    ],
    ids=str,
)
def test_what_an_illusory_instruction_earns_is_said_by_name(rules, earned, counts):
    editor = CachingEditor(DrawEditor())
    assert paid(editor, [EVASIVE, MENDS], **rules) == earned
    assert editor.counts == counts


@pytest.mark.parametrize(
    "fault",
    [CallStatus.TIMEOUT, CallStatus.UNREACHABLE, CallStatus.CANCELLED, RuntimeError("defect"), InputError("no picture")],
    ids=str,
)
def test_an_editor_that_fails_for_one_makes_its_whole_group_abstain_and_no_other(fault):
    editor = CachingEditor(Broken(fault))
    completions = [MENDS, IMPOSSIBLE, EVASIVE, MENDS]
    assert paid(editor, completions, ids=["a", "a", "a", "b"], refusal="zero", illusory="zero") == [None, None, None, 0.9]
    assert (editor.counts.made, editor.counts.failed) == (2, 1)


def test_abstaining_completions_are_counted_for_the_trainer():
    told = []
    reward = RectificationReward(Broken(CallStatus.TIMEOUT), sure, image="picture")
    columns = {"matches": [False] * 2, "picture": [BEFORE] * 2, "text_prompt": [ITEM.prompt] * 2, "example_id": ["a", "b"]}
    asyncio.run(reward([IMPOSSIBLE, MENDS], **columns, log_metric=lambda name, value: told.append((name, value))))
    assert told == [("rectification/abstained", 0.5)]


def test_a_refused_instruction_abstains_unless_the_editor_is_known_to_refuse_only_what_cannot_be_done():
    assert paid(CachingEditor(DrawEditor()), [IMPOSSIBLE, MENDS]) == [None, None]
    editor = CachingEditor(DrawEditor())
    assert paid(editor, [IMPOSSIBLE, MENDS], refusal="zero") == [0.0, 0.9]
    assert editor.counts == EditCounts(made=1, refused=1)


def test_another_worth_of_a_refusal_is_refused():
    with pytest.raises(InputError, match="abstain, zero"):
        RectificationReward(DrawEditor(), sure, refusal="half")


def test_equal_tasks_are_edited_once_and_lost_ones_again():
    class Counting(Broken):
        calls = 0

        async def edit(self, image, instruction, *, seed=None):
            self.calls += 1
            return await super().edit(image, instruction, seed=seed)

    counting = Counting(CallStatus.TIMEOUT)
    editor = CachingEditor(counting)
    for said in ("Make it blue.", "Make it blue.", "Remove the star.", "Remove the star."):
        asyncio.run(editor.edit(Media.from_bytes(BEFORE), said, seed=0))
    assert counting.calls == 3
    assert editor.counts == EditCounts(made=2, failed=2)


def test_questions_pay_the_share_that_is_answered_as_annotated():
    count = len(ITEM.questions)
    lines = ["yes" if answer else "no" for answer in ITEM.answers]
    lines[0] = "no" if lines[0] == "yes" else "yes"
    verifier = QuestionVerifier(ReplayJudge(["\n".join(lines)]), {ITEM.prompt: (ITEM.questions, ITEM.answers)})
    assert paid(DrawEditor(), [MENDS], certainty=verifier) == [(count - 1) / count]


def test_questions_that_cannot_be_asked_abstain_and_unknown_prompts_are_an_error():
    questions = {ITEM.prompt: (ITEM.questions, ITEM.answers)}
    lost = ReplayJudge([Reply("", CallStatus.TIMEOUT)])
    assert paid(DrawEditor(), [MENDS, EVASIVE], certainty=QuestionVerifier(lost, questions)) == [None, None]
    with pytest.raises(InputError, match="no questions"):
        paid(DrawEditor(), [MENDS], certainty=QuestionVerifier(lost, {}))

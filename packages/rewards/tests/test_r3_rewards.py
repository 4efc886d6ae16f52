"""R³-Refiner's rewards: hostile replies first, the golden constants of both fidelities, and the holes that stay closed."""

import asyncio
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_rewards import HierarchicalReward, ReasoningReward, RectificationReward, illusory
from salon_rewards.batch import Batch
from salon_rewards.pictures import picture
from salon_taxonomy.answers import R3Answer, render_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason, Unscored

LABELLED = [json.loads(line) for line in (Path(__file__).parent / "illusory_instructions.jsonl").read_text().splitlines()]
BETTER, EVASIVE = "Add a lemon on the right.", "Change the prompt to two lemons."


def reply(matches: bool, edit: str = BETTER, thought: str | None = "Two lemons.") -> str:
    return render_r3(R3Answer(matches, "" if matches else "Two lemons.", "" if matches else edit), thought)


class Painter:
    """Writes the instruction into the picture, or fails as the instruction says."""

    name, version = "painter", "1"

    def __init__(self) -> None:
        self.told: list[str] = []

    async def edit(self, image, instruction, *, seed=None):
        self.told.append(instruction)
        if "outage" in instruction:
            return Edit(None, CallStatus.UNREACHABLE, error="connection refused")
        if "slow" in instruction:
            await asyncio.sleep(60)
        if "raise" in instruction:
            raise ConnectionResetError
        if "refuse" in instruction:
            raise InputError("no such picture")
        return Edit(Media.from_bytes(instruction.encode()))


def sure(prompts, pictures):
    """Certain of edited pictures, and hardly of the one that was given."""
    return [0.2 if image.data == b"before" else 0.9 for image in pictures]


def columns(count: int, matches: bool = False) -> dict:
    return {"matches": [matches] * count, "images": [[b"before"]] * count, "text_prompt": ["Three lemons."] * count}


def paid(reward, completions, matches=False, **more):
    return asyncio.run(reward(completions, **columns(len(completions), matches) | more))


KINDS = [RectificationReward, HierarchicalReward]


@pytest.mark.parametrize("kind", KINDS)
@for_each("text", HOSTILE_REPLIES)
def test_hostile_text_earns_nothing_and_reaches_no_editor(kind, text):
    painter = Painter()
    assert paid(kind(painter, sure), [text]) == [0.0]
    assert painter.told == []


@pytest.mark.parametrize(
    ("text", "truth", "paper", "released"),
    [
        (reply(False), False, 1.0, 1.0),
        (reply(False), True, 0.3, 0.1),
        (reply(True), True, 1.0, 1.0),
        (reply(True, thought=None), True, 0.9, 0.9),
        (reply(True, thought=None), False, 0.2, 0.0),
        ("<think>Two lemons.</think>No.", False, 0.1, 0.1),
        ("No.", False, 0.0, 0.0),
    ],
)
def test_the_first_stage_by_hand(text, truth, paper, released):
    assert ReasoningReward()([text], matches=[truth]) == [paper]
    assert ReasoningReward("released")([text], matches=[truth]) == [released]


def test_the_first_stage_needs_a_truth():
    assert ReasoningReward()([reply(True)], matches=[None]) == [None]
    with pytest.raises(InputError, match="allowed: paper, released"):
        ReasoningReward("script")


@pytest.mark.parametrize(
    ("text", "truth", "earned", "told"),
    [
        (reply(False), False, 0.9, [BETTER]),
        (reply(False), True, 0.0, []),
        (reply(True), True, 0.2, []),
        (reply(True), False, 0.0, []),
        (reply(False, EVASIVE), False, 0.9, [EVASIVE]),
        (reply(False, "  "), False, 0.0, []),
        (reply(False), None, 0.9, [BETTER]),
    ],
)
def test_the_second_stage_by_hand(text, truth, earned, told):
    painter = Painter()
    assert paid(RectificationReward(painter, sure), [text], truth) == [earned]
    assert painter.told == told


@pytest.mark.parametrize("kind", KINDS)
@for_each("row", LABELLED)
def test_equation_5_looks_at_no_words_and_the_guard_that_does_is_asked_for_by_name(kind, row):
    """Every labelled instruction is executed and paid like any other, unless ``illusory="zero"`` withholds it."""
    said = reply(False, row["text"])
    printed, guarded = Painter(), Painter()
    assert paid(kind(printed, sure), [said]) == paid(kind(Painter(), sure), [reply(False)])
    assert printed.told == [row["text"]]
    (earned,) = paid(kind(guarded, sure, illusory="zero"), [said])
    assert bool(guarded.told) is (illusory(row["text"]) is None)
    assert earned == paid(kind(Painter(), sure), [said if guarded.told else reply(False, " ")])[0]


def test_without_a_truth_wrong_verdicts_are_not_told_from_right_ones():
    reward = RectificationReward(Painter(), sure, truth=None)
    assert asyncio.run(reward([reply(True)], images=[b"before"], text_prompt=["p"])) == [0.2]


@pytest.mark.parametrize(
    ("text", "truth", "paper", "released"),
    [
        (reply(False), False, 0.25 * 1.0 + 0.75 * 0.9, 0.2 * 1.0 + 0.8 * (0.05 + 0.95 * 0.9)),
        (reply(False), True, 0.25 * 0.3, 0.2 * 0.1),
        (reply(True), True, 0.25 * 1.0 + 0.75 * 0.2, 0.2 * 1.0 + 0.8 * 0.05),
        (reply(True), False, 0.25 * 0.3, 0.2 * 0.1),
        (reply(False, EVASIVE), False, 0.25 * 1.0 + 0.75 * 0.9, 0.2 * 1.0 + 0.8 * (0.05 + 0.95 * 0.9)),
        ('<think>x</think>{"edit_prompt": "Add a lemon."}', False, 0.25 * 0.1, 0.2 * 0.1),
    ],
)
def test_both_stages_by_hand(text, truth, paper, released):
    assert paid(HierarchicalReward(Painter(), sure), [text], truth) == [pytest.approx(paper)]
    assert paid(HierarchicalReward(Painter(), sure, fidelity="released"), [text], truth) == [pytest.approx(released)]


def test_stage_weights_may_be_ones_own():
    assert paid(HierarchicalReward(Painter(), sure, stage_weights=(1.0, 0.0)), [reply(False)]) == [1.0]
    for wrong in ({"stage_weights": (1.0,)}, {"stage_weights": (-1.0, 1.0)}, {"json_share": 2.0}, {"fidelity": "script"}):
        with pytest.raises(InputError):
            HierarchicalReward(Painter(), sure, **wrong)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [("outage", "unreachable"), ("slow", "timeout"), ("raise", "unreachable"), ("refuse", "bad_media")],
)
def test_an_editor_that_fails_takes_its_group_out_and_moves_no_other_score(kind, fault, reason):
    reward = kind(Painter(), sure, timeout_s=0.05)
    completions = [reply(False), reply(False, f"Paint {fault}."), reply(False), reply(False, "  ")]
    more = {"example_id": ["1", "1", "2", "2"]}
    first, second, third, fourth = paid(reward, completions, **more)
    assert (first, second) == (None, None)
    assert (third, fourth) == tuple(paid(reward, completions[2:]))
    verdicts = asyncio.run(reward.score(Batch(completions[1:2], columns(1))))
    assert str(verdicts[0].reason) == reason


@pytest.mark.parametrize(("refusal", "earned"), [("abstain", None), ("zero", 0.25), ("unchanged", 0.25 + 0.75 * 0.2)])
def test_what_a_refused_instruction_earns_is_said_for_both_stages_alike(refusal, earned):
    class Balker:
        name = version = "balker"

        async def edit(self, image, instruction, *, seed=None):
            return Edit(None, CallStatus.REJECTED, error="there is no room")

    assert paid(HierarchicalReward(Balker(), sure, refusal=refusal), [reply(False)]) == [earned and pytest.approx(earned)]
    for name, allowed in (("refusal", "abstain, zero, unchanged"), ("illusory", "executed, zero")):
        with pytest.raises(InputError, match=f"{name}.*{allowed}"):
            HierarchicalReward(Balker(), sure, **{name: "half"})


@pytest.mark.parametrize("given_", [Unscored(Reason.TIMEOUT), float("nan"), 1.5, -0.1])
def test_a_probability_that_is_none_is_no_reward(given_):
    assert paid(RectificationReward(Painter(), lambda prompts, pictures: [given_]), [reply(False)]) == [None]


def test_certainty_may_be_a_coroutine_and_is_asked_once_for_a_whole_batch():
    calls = []

    async def slowly(prompts, pictures):
        calls.append((list(prompts), [image.data for image in pictures]))
        return sure(prompts, pictures)

    assert paid(RectificationReward(Painter(), slowly), [reply(False), "?", reply(False, "Add two.")]) == [0.9, 0.0, 0.9]
    assert calls == [(["Three lemons."] * 2, [BETTER.encode(), b"Add two."])]
    with pytest.raises(InputError, match="needs 1 probabilities"):
        paid(RectificationReward(Painter(), lambda prompts, pictures: []), [reply(False)])


@given(probability=st.floats(0, 1), fidelity=st.sampled_from(["paper", "released"]), truth=st.booleans(), matches=st.booleans())
def test_the_reward_keeps_its_bounds_and_a_wrong_verdict_never_pays_more(probability, fidelity, truth, matches):
    reward = HierarchicalReward(Painter(), lambda prompts, pictures: [probability] * len(pictures), fidelity=fidelity)
    (right,) = paid(reward, [reply(truth)], truth)
    (other,) = paid(reward, [reply(matches)], truth)
    assert 0 <= other <= right <= 1 + 1e-12


def test_a_reward_with_an_editor_pickles():
    again = pickle.loads(pickle.dumps(HierarchicalReward(Painter(), sure)))
    assert again.__name__ == "hierarchical"
    assert paid(again, [reply(False)]) == [pytest.approx(0.925)]


def test_pictures_may_be_paths_bytes_mappings_lists_of_one_or_saveable(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"a")

    class Saveable:
        def save(self, file, **how):
            file.write(b"a")

    for value in (str(path), path, b"a", bytearray(b"a"), {"bytes": b"a"}, {"path": str(path)}, [b"a"], Saveable()):
        assert picture(value).sha256 == Media.from_bytes(b"a").sha256
    for wrong in (None, [], [b"a", b"b"], 3, {}, tmp_path / "gone.png"):
        with pytest.raises(InputError):
            picture(wrong, row=2, column="images")

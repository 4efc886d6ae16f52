"""Win rates within a group: wins are counted as by hand, whatever the judge says, in whatever order."""

import asyncio
import json
import pickle
from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from itertools import combinations
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from salon_rewards import make_reward
from salon_rewards.adapters import FlowGRPOReward
from salon_rewards.callables.pairwise import WinRateReward, _pairs
from salon_rewards.callables.reward import each_paid
from salon_rewards.serving.app import RewardServer, ServingLimits
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.protocols import Media, Question, Reply
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge
from salon_taxonomy.verdict import Unscored


class ScriptedJudge:
    """Knows the pictures by their colour, prefers the redder, and says "both good" of equal ones; ``left`` always says left."""

    version = ReplayJudge([""]).version
    identity = getattr(ReplayJudge([""]), "identity", None)

    def __init__(self, *, left: bool = False, lost: Sequence[tuple[int, int]] = ()) -> None:
        self.left, self.lost, self.asked = left, set(lost), 0

    async def ask(self, question: Question, **more: Any) -> Reply:
        self.asked += 1
        reds = [red_of(part) for part in question.parts if isinstance(part, Media)]
        verdict = "left" if self.left or reds[0] > reds[1] else "right" if reds[0] < reds[1] else "both good"
        reply = await ReplayJudge([json.dumps({"reason": "", "verdict": verdict})]).ask(question)
        return await ReplayJudge(["no idea"]).ask(question) if (reds[0], reds[1]) in self.lost else reply


def red_of(media: Media) -> int:
    assert media.data is not None
    decoded = decode(media.data)
    assert not isinstance(decoded, Unscored)
    red = decoded.image.convert("RGB").getpixel((0, 0))
    assert isinstance(red, tuple)
    return int(red[0])


def pictures(reds: Sequence[int]) -> list[Image.Image]:
    return [Image.new("RGB", (4, 4), (red, 0, 0)) for red in reds]


def paid(reward: WinRateReward, reds: Sequence[int], prompts: Sequence[str]) -> list[Any]:
    return asyncio.run(each_paid(reward, [""] * len(reds), {"images": pictures(reds), "prompts": list(prompts)}))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=1, max_size=7))
def test_wins_are_those_of_a_plain_loop_within_each_prompt(drawn: list[tuple[int, str]]) -> None:
    reds, prompts = [60 * red for red, _ in drawn], [prompt for _, prompt in drawn]
    found = paid(WinRateReward(ScriptedJudge()), reds, prompts)
    for place, (red, prompt) in enumerate(zip(reds, prompts, strict=True)):
        others = [other for at, other in enumerate(reds) if at != place and prompts[at] == prompt]
        if others:
            assert found[place] == pytest.approx(sum((red > o) + (red == o) / 2 for o in others) / len(others))
        else:
            assert isinstance(found[place], Unscored) and "no other picture" in found[place].detail


def test_a_judge_that_always_says_left_pays_everyone_a_half_and_both_orders_are_asked() -> None:
    judge = ScriptedJudge(left=True)
    assert paid(WinRateReward(judge), [10, 200, 90], ["a"] * 3) == [0.5] * 3
    assert judge.asked == 6


def test_a_missing_verdict_counts_for_neither_and_a_picture_without_any_has_no_reward() -> None:
    found = paid(WinRateReward(ScriptedJudge(lost=[(10, 200)])), [10, 200, 90], ["a"] * 3)
    assert found == [0.0, 1.0, 0.5], "10 against 90, 200 against 90, 90 against both"
    alone = paid(WinRateReward(ScriptedJudge(lost=[(10, 200)])), [10, 200], ["a"] * 2)
    assert all(isinstance(each, Unscored) for each in alone)
    for reply in HOSTILE_REPLIES:
        hostile = paid(WinRateReward(ReplayJudge([reply] * 2)), [10, 200], ["a"] * 2)
        assert all(isinstance(each, Unscored) for each in hostile) or hostile == [0.5, 0.5]


@given(st.integers(2, 12), st.sampled_from([None, 2, 4, 6]))
def test_each_picture_meets_as_many_others_as_it_was_given(count: int, opponents: int | None) -> None:
    pairs = list(_pairs(["a"] * count, opponents))
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) and all(one != other for one, other in pairs)
    met = [sum(place in pair for pair in pairs) for place in range(count)]
    assert met == [min(count - 1, count if opponents is None else opponents)] * count
    if opponents is None:
        assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in combinations(range(count), 2)}


def red(images: Sequence[Any], prompts: Sequence[str]) -> list[float | None]:
    return [None if image.getpixel((0, 0))[0] == 77 else image.getpixel((0, 0))[0] / 255 for image in images]


red.version = "1"  # type: ignore[attr-defined]


def test_a_scorer_pays_wins_and_not_differences_by_name_and_through_the_adapter_of_flow_grpo() -> None:
    reward = make_reward("win_rate", scorer=f"{__file__}:red")
    assert paid(reward, [10, 11, 250, 250], ["a"] * 4) == [0.0, 1 / 3, 2.5 / 3, 2.5 / 3]  # type: ignore[arg-type]
    lost = paid(reward, [10, 77, 250], ["a"] * 3)  # type: ignore[arg-type]
    assert (lost[0], lost[2]) == (0.0, 1.0) and isinstance(lost[1], Unscored)
    scores, why = FlowGRPOReward(reward, "nan")(pictures([10, 250, 9, 8]), ["a", "a", "b", "b"], [{}] * 4)
    assert scores["avg"] == [0.0, 1.0, 1.0, 0.0] and why["unscored"] == [None] * 4
    again = pickle.loads(pickle.dumps(reward))
    assert paid(again, [10, 11], ["a"] * 2) == [0.0, 1.0]


def test_edits_of_two_sources_by_one_instruction_are_not_compared() -> None:
    reds, prompts = [10, 250, 20, 30], ["make it red"] * 4
    cup, table = pictures([1, 2])
    for sources in ([cup, cup, table, table], [[cup], [cup], [cup, table], [cup, table]]):
        columns = {"images": pictures(reds), "prompts": prompts, "sources": sources}
        judged = asyncio.run(each_paid(WinRateReward(ScriptedJudge()), [""] * 4, columns))
        scored = asyncio.run(each_paid(make_reward("win_rate", scorer=f"{__file__}:red"), [""] * 4, columns))
        assert judged == scored == [0.0, 1.0, 0.0, 1.0]


def test_a_server_compares_the_pictures_of_one_request_and_all_of_them() -> None:
    """The pictures of other clients decide nothing, and no group is divided between batches."""

    def asked(*groups: Sequence[int]) -> list[Any]:
        async def run() -> list[Any]:
            server = RewardServer(make_reward("win_rate", scorer=f"{__file__}:red"), limits=ServingLimits(batch=3))
            async with TestServer(server.application()) as running, ClientSession() as session:

                async def one(reds: Sequence[int]) -> Any:
                    files = [BytesIO() for _ in reds]
                    for file, image in zip(files, pictures(reds), strict=True):
                        image.save(file, "PNG")
                    images = [b64encode(file.getvalue()).decode() for file in files]
                    async with session.post(
                        running.make_url("/score"), json={"prompts": ["a"] * len(reds), "images": images}
                    ) as response:
                        return (await response.json())["scores"]

                return await asyncio.gather(*(one(each) for each in groups))

        return asyncio.run(run())

    groups = [[10, 20]] * 5 + [[100, 30]] * 5 + [[10, 20, 30, 40, 50]]
    assert asked(*groups) == [[0.0, 1.0]] * 5 + [[1.0, 0.0]] * 5 + [[0.0, 0.25, 0.5, 0.75, 1.0]]


def test_what_it_cannot_be_made_from_is_refused() -> None:
    for parameters in ({}, {"judge": ReplayJudge([""]), "scorer": "ocr"}):
        with pytest.raises(InputError, match="either a judge or a scorer"):
            make_reward("win_rate", **parameters)
    for opponents in (0, 1, 3, -2):
        with pytest.raises(InputError, match="even number"):
            WinRateReward(ReplayJudge([""]), opponents=opponents)

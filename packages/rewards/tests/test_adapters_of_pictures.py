"""Rewards in the signatures of trainers of image policies: shapes as released, and an explicit policy for missing scores."""

import asyncio
import inspect
import json
import math
import subprocess
import sys
import types
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from for_each import for_each
from salon_rewards import Part, compose, make_reward
from salon_rewards.adapters import DDPOReward, FlowGRPOReward, UnscoredError, VerlImageScore, flow_factory_reward
from salon_rewards.adapters.pictures import pictures_of, settled
from salon_rewards.callables.scorer import ScorerReward
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import checked_scorer
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge
from salon_taxonomy.verdict import Reason, Unscored

BAD = [
    "",
    "It is a lovely picture.",
    '{"justification": "cut of',
    '{"justification": "Off the menu.", "score": 11}',
    *HOSTILE_REPLIES,
]


def marked(replies, **parameters):
    """A judge's mark of each picture: no reply is remembered for another picture."""
    return make_reward(
        "judged_score", judge=ReplayJudge(replies), rubric="Mark it.", image="images", prompt="prompts", **parameters
    )


def mark(score):
    return json.dumps({"justification": "Seen.", "score": score})


def shown(count):
    return [Image.new("RGB", (4, 4), (number, 0, 0)) for number in range(count)]


def red(images, prompts):
    return [image.getpixel((0, 0))[0] / 255 for image in images]


red.version = "1"
REDNESS = ScorerReward(checked_scorer(red))


@pytest.mark.parametrize("reply", BAD)
def test_a_judge_that_says_nothing_usable_is_paid_by_the_policy_and_never_a_score_of_its_own(reply):
    replies = [mark(8), reply, mark(4)]
    scores, info = FlowGRPOReward(marked(replies, concurrency=1))(shown(3), ["a cat"] * 3, [{}] * 3)
    assert scores == {"avg": [0.8, pytest.approx(0.6), 0.4], "judged_score": [0.8, pytest.approx(0.6), 0.4]}
    assert [why is None for why in info["unscored"]] == [True, False, True]
    scores, info = DDPOReward(marked(replies, concurrency=1), on_unscored="nan")(shown(3), ["a cat"] * 3, [{}] * 3)
    assert math.isnan(scores[1])
    with pytest.raises(UnscoredError, match="1 of 3 pictures have no reward"):
        DDPOReward(marked(replies, concurrency=1), on_unscored="raise")(shown(3), ["a cat"] * 3)
    with pytest.raises(UnscoredError):
        VerlImageScore(marked([reply]))("drawn", np.zeros((4, 4, 3), np.uint8), "a cat")
    assert VerlImageScore(marked([reply]), on_unscored=-1.0)("drawn", np.zeros((4, 4, 3), np.uint8), "a cat") == {
        "score": -1.0,
        "abstained": 1.0,
    }


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_picture_of_a_policy_that_diverged_is_paid_by_the_policy_and_the_others_keep_their_scores(broken):
    batch = np.full((4, 8, 8, 3), 0.5, np.float32)
    batch[:, :, :, 0] = np.array([0.0, 1.0, 0.2, 0.4])[:, None, None]
    batch[2, 3, 3, 1] = broken
    sound = [0, 1, 3]
    expected, _ = FlowGRPOReward(REDNESS)(batch[sound], ["a", "b", "b"], [{}] * 3)
    scores, info = FlowGRPOReward(REDNESS, on_unscored="nan")(batch, ["a", "b", "b", "b"], [{"n": n} for n in range(4)])
    assert [scores["avg"][number] for number in sound] == expected["avg"] and math.isnan(scores["avg"][2])
    assert info["unscored"] == [None, None, "bad_media", None]
    with pytest.raises(UnscoredError, match="not finite"):
        DDPOReward(REDNESS)(batch[2:3], ["a"])


def test_the_mean_is_that_of_the_same_prompt_and_of_the_batch_where_a_whole_prompt_is_missing():
    missing = Unscored(Reason.TIMEOUT)
    found = [1.0, missing, 3.0, missing, missing, 8.0]
    assert settled(found, ["a", "a", "a", "b", "b", "c"], "mean") == [1.0, 2.0, 3.0, 4.0, 4.0, 8.0]
    with pytest.raises(UnscoredError, match="none of 2 pictures"):
        settled([missing] * 2, ["a", "b"], "mean")


def test_pictures_of_tensors_arrays_and_lists_are_the_same_pictures():
    torch = pytest.importorskip("torch")
    numbers = np.random.default_rng(0).integers(0, 256, (3, 5, 7, 3), dtype=np.uint8)
    tensor = torch.tensor(numbers).permute(0, 3, 1, 2)
    given = [
        numbers,
        numbers.astype(np.float32) / 255,
        tensor,
        tensor.float() / 255,
        (tensor.double() / 255).requires_grad_(),
        list(tensor),
        [Image.fromarray(each) for each in numbers],
    ]
    for images in given:
        assert all(np.array_equal(np.asarray(a), b) for a, b in zip(pictures_of(images), numbers, strict=True))
    half = pictures_of((tensor.float() / 255).bfloat16())
    assert np.abs(np.asarray(half[0]).astype(int) - numbers[0]).max() <= 1


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((2, 3, 8, 8), np.uint8),
        np.full((1, 8, 8, 3), 200.0),
        np.full((1, 8, 8, 3), -1.0),
        np.zeros((8, 8), np.uint8),
        np.zeros((1, 0, 8, 3), np.uint8),
        "a.png",
        None,
    ],
)
def test_pictures_of_another_shape_or_range_are_refused_before_anything_is_scored(images):
    with pytest.raises(InputError) as raised:
        DDPOReward(REDNESS)(images, ["a"])
    assert raised.value.column == "images"


def test_prompts_and_metadata_of_another_length_are_refused():
    with pytest.raises(InputError, match="needs 2 values, one for each picture"):
        DDPOReward(REDNESS)(shown(2), ["a"])


def test_metadata_becomes_columns_of_the_reward():
    seen = {}

    def reward(completions, **columns):
        seen.update(columns)
        return [1.0] * len(completions)

    FlowGRPOReward(reward)(shown(2), ("a", "b"), ({"prompt_id": "1"}, {"prompt_id": "2"}), only_strict=True)
    assert (seen["prompt_id"], seen["prompts"]) == (["1", "2"], ["a", "b"])


def test_flow_grpo_can_make_tensors_of_the_scores_and_join_batches():
    torch = pytest.importorskip("torch")
    reward_fn = FlowGRPOReward(REDNESS)
    batches = [reward_fn(torch.full((2, 3, 4, 4), 1.0), ["a", "b"], [{}, {}], only_strict=True)[0] for _ in range(2)]
    joined = {key: torch.cat([torch.as_tensor(each[key]).float() for each in batches]) for key in batches[0]}
    assert joined["avg"].shape == (4,)
    assert joined["avg"].tolist() == [1.0] * 4


@for_each("adapter", [FlowGRPOReward, DDPOReward])
def test_a_composition_keeps_the_parts_of_the_latest_batch_of_pictures(adapter):
    by_rule = compose([Part(REDNESS, 2.0), Part(REDNESS, name="again")])
    asked = compose([Part(REDNESS, 2.0), Part(marked([mark(8), "I cannot say.", mark(4)], concurrency=1))])
    for composed, second in ((by_rule, "again"), (asked, "judged_score")):
        assert composed.last is None
        adapter(composed)(shown(3), ["a", "b", "c"], [{}] * 3)
        first, other, total = composed.last.components
        assert [first.name, other.name, total.name] == ["scorer:red", second, "total"]
        assert list(first.paid) == [0.0, 1 / 255, 2 / 255]
        assert composed.last.as_rows()[2]["total"] == pytest.approx(2 * first.paid[2] + other.paid[2])
    assert isinstance(asked.last.components[1].paid[1], Unscored)


def test_verl_calls_by_these_names():
    """As ``VisualRewardManager.run_single``, verl_omni/reward_loop/reward_manager/visual.py of verl-project/verl-omni.

    At commit a1139bafffb5b9711f0a6b6edff8ecaa60bfff30. The responses are uint8 tensors, of videos (frames, 3, height, width),
    or (3, frames, …) where the second number is not 3 (``video_tensor_to_pil_frames``, utils/reward_score/reward_utils.py
    there).
    """
    names = ("data_source", "solution_image", "ground_truth", "extra_info")
    assert tuple(inspect.signature(VerlImageScore(REDNESS)).parameters)[:4] == names
    inspect.signature(VerlImageScore(REDNESS)).bind(**dict.fromkeys((*names, "reward_router_address", "model_name")))


def test_verl_takes_a_picture_with_or_without_a_dimension_in_front():
    torch = pytest.importorskip("torch")
    picture = torch.full((3, 4, 4), 255, dtype=torch.uint8)
    compute_score = VerlImageScore(REDNESS)
    for image in (picture, picture[None]):
        found = compute_score(
            data_source="x", solution_image=image, ground_truth="a cat", extra_info={"index": 1}, model_name="m"
        )
        assert found == {"score": 1.0, "abstained": 0.0}


@for_each("frames", [1, 2, 3, 4, 5, 9])
@for_each("layout", ["tchw", "cthw", "thwc", "1tchw", "1cthw", "1thwc"])
@for_each("kind", ["bytes", "numbers"])
def test_verl_takes_the_frames_of_a_video_in_every_layout_and_pays_their_mean(frames, layout, kind):
    torch = pytest.importorskip("torch")
    if frames == 3 and layout.endswith("cthw"):
        return  # three frames of three channels, either way round: verl-omni takes the second for channels
    film = torch.stack([torch.full((3, 8, 9), 20 * number, dtype=torch.uint8) for number in range(frames)])
    film = film if kind == "bytes" else film.float() / 255
    order = layout.removeprefix("1")
    image = film.permute(*("tchw".index(axis) for axis in order))
    found = VerlImageScore(REDNESS)("x", image[None] if layout[0] == "1" else image, "a cat", {"index": 1})
    assert found == {"score": pytest.approx(10 * (frames - 1) / 255), "abstained": 0.0}


@for_each("shape", [(8, 9), (2, 3, 4, 8, 9), (0, 3, 8, 9), (3,), (2, 2, 3, 3, 8, 9)])
def test_verl_gets_a_typed_error_for_a_tensor_that_is_no_picture(shape):
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="must be a picture or the frames of one video, not"):
        VerlImageScore(REDNESS)("x", torch.zeros(shape, dtype=torch.uint8), "a cat")


def test_a_video_of_which_a_frame_has_no_score_is_paid_by_the_policy():
    torch = pytest.importorskip("torch")
    film = torch.stack([torch.full((3, 8, 9), number, dtype=torch.uint8) for number in range(2)])
    paid = VerlImageScore(marked([mark(8), "?"], concurrency=1), on_unscored=0.0)("x", film, "a")
    assert paid == {"score": pytest.approx(0.4), "abstained": 0.5}
    with pytest.raises(UnscoredError):
        VerlImageScore(marked([mark(8), "?"], concurrency=1))("x", film, "a")


@pytest.fixture
def flow_factory(monkeypatch):
    """The released classes: PointwiseRewardModel(config, accelerator), RewardModelOutput(rewards, extra_info)."""

    class PointwiseRewardModel:
        def __init__(self, config, accelerator):
            self.config = config

    @dataclass
    class RewardModelOutput:
        rewards: list
        extra_info: dict | None = None

    module = types.ModuleType("flow_factory.rewards")
    module.PointwiseRewardModel, module.RewardModelOutput = PointwiseRewardModel, RewardModelOutput
    monkeypatch.setitem(sys.modules, "flow_factory", types.ModuleType("flow_factory"))
    monkeypatch.setitem(sys.modules, "flow_factory.rewards", module)
    return PointwiseRewardModel


FLOW_FACTORY = ("prompt", "image", "video", "audio", "condition_images", "condition_videos")
"""Parameters of ``PointwiseRewardModel.__call__`` before ``**kwargs``, all but the first None where a sample has none.

X-GenGroup/Flow-Factory, src/flow_factory/rewards/abc.py at 5f6cda1a3e6be3c971643beb8d1e92e7be4a9638. Its processor
(rewards/reward_processor.py at a0b2bc5a2b4fbf9125429b3fb70c0c5d7631047c) hands over each field that the signature has and all
samples fill, media as PIL images: image a list, video a list of lists, conditions a list deeper.
"""


def test_flow_factory_gets_a_class_of_its_own_reward_model(flow_factory):
    model = flow_factory_reward(REDNESS)("config", "accelerator")
    assert isinstance(model, flow_factory)
    parameters = list(inspect.signature(model.__call__).parameters.values())
    assert tuple(each.name for each in parameters[:-1]) == FLOW_FACTORY
    assert all(each.default is None for each in parameters[1:-1]) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    assert (model.required_fields, model.use_tensor_inputs) == (("prompt", "image"), False)
    output = model(prompt=["a", "b"], image=[Image.new("RGB", (4, 4), "red")] * 2, metadata="{}")
    assert (output.rewards, output.extra_info) == ([1.0, 1.0], {"unscored": [None, None]})
    with pytest.raises(InputError, match="rates pictures, and was given the other"):
        model(prompt=["a"], video=[shown(2)])


def test_flow_factory_hands_over_videos_and_what_they_were_made_from(flow_factory):
    model = flow_factory_reward(FILMS)("config", "accelerator")
    assert model.required_fields == ("prompt", "video", "condition_images")
    output = model(
        prompt=["a", "b"],
        video=[shown(2), shown(5)],
        audio=[np.zeros((1, 8))] * 2,
        condition_images=[shown(1), shown(2)],
        condition_videos=[[shown(3)], []],
    )
    assert output.rewards == [2 + 10 + 30, 5 + 20]
    with pytest.raises(InputError, match="rates videos, and was given the other"):
        model(prompt=["a"], image=shown(1), condition_images=[shown(1)])
    with pytest.raises(InputError, match="needs a column that is not there"):
        model(prompt=["a"], video=[shown(2)])


def film(frames, prompts, sources):
    """Frames of the video, 10 for each source, 10 for each frame of a source that is a video."""
    counted = [sum(10 * (len(each) if isinstance(each, list) else 1) for each in row) for row in sources]
    return [len(video) + count for video, count in zip(frames, counted, strict=True)]


def frames_of(frames, prompts):
    return [len(video) for video in frames]


film.version = frames_of.version = "1"
FILMS, FRAMES = ScorerReward(checked_scorer(film)), ScorerReward(checked_scorer(frames_of))


@for_each("layout", ["tchw", "thwc", "cthw"])
def test_a_reward_of_videos_is_given_all_frames_of_a_tensor_and_refuses_pictures(layout):
    torch = pytest.importorskip("torch")
    batch = torch.zeros((2, 5, 3, 8, 9), dtype=torch.uint8).permute(0, *(1 + "tchw".index(axis) for axis in layout))
    assert DDPOReward(FRAMES)(batch, ["a", "b"])[0] == [5.0, 5.0]
    assert VerlImageScore(FRAMES)("x", batch[0], "a") == {"score": 5.0, "abstained": 0.0}
    for pictures in (torch.zeros((2, 3, 8, 9)), shown(2)):
        with pytest.raises(InputError, match="rates videos, not pictures"):
            DDPOReward(FRAMES)(pictures, ["a", "b"])
    for videos in (batch, [shown(2)] * 2):
        with pytest.raises(InputError, match="rates pictures, not videos"):
            DDPOReward(REDNESS)(videos, ["a", "b"])
    bad = torch.zeros((2, 5, 3, 8, 9))
    bad[1, 2, 0, 0, 0] = math.nan
    assert DDPOReward(FRAMES, on_unscored=-1.0)(bad, ["a", "b"]) == ([5.0, -1.0], {"unscored": [None, "bad_media"]})


def test_pictures_that_were_edited_come_with_their_sources():
    def same(images, prompts, sources, references=()):
        return [image.tobytes() == row[0].tobytes() for image, row in zip(images, sources, strict=True)]

    same.version = "1"
    reward = ScorerReward(checked_scorer(same))
    assert FlowGRPOReward(reward)(shown(2), ["a", "b"], [{}] * 2, ref_images=shown(1) * 2)[0]["avg"] == [1.0, 0.0]
    # verl-project/verl-omni, verl_omni/utils/reward_score/genrm_image_edit.py at 27d87476a97a77063f1e8b7098b1bdea1b8ade24
    encoded = BytesIO()
    shown(1)[0].save(encoded, "PNG")
    for source in (shown(1)[0], {"bytes": encoded.getvalue(), "path": None}, np.zeros((4, 4, 3), np.float32)):
        extra = {"source_img": source, "target_img": None, "instruction": "a"}
        assert VerlImageScore(reward)("x", np.zeros((4, 4, 3), np.uint8), "a", extra)["score"] == 1.0
    with pytest.raises(InputError, match="needs a column that is not there"):
        VerlImageScore(reward)("x", np.zeros((4, 4, 3), np.uint8), "a", {})


def test_videos_that_were_edited_come_with_source_videos_by_path_or_frames(tmp_path):
    pytest.importorskip("av")
    from salon_synthetic.videos import write_clip

    clip = write_clip(tmp_path / "1.mp4", "clean", seconds=1.0)
    adapter, results = FlowGRPOReward(FILMS), [shown(2)] * 3
    paid = adapter(results, ["a", "b", "c"], [{}] * 3, ref_images=[str(clip), shown(3), shown(1)[0]])
    assert paid[0]["avg"] == [2 + 50, 2 + 30, 2 + 10], "five frames a second, of one second"
    for source, count in ((str(clip), 5), (clip.read_bytes(), 5), (np.zeros((3, 4, 4, 3), np.uint8), 3), (shown(2), 2)):
        score = VerlImageScore(FILMS)("x", np.zeros((2, 4, 4, 3), np.uint8), "a", {"source_img": source})
        assert score["score"] == 2 + 10 * count, type(source)
    with pytest.raises(InputError, match="rates pictures, not videos"):
        FlowGRPOReward(REDNESS)(shown(1), ["a"], [{}], ref_images=[shown(2)])


def test_without_flow_factory_the_error_says_what_is_missing():
    with pytest.raises(InputError, match="needs Flow-Factory"):
        flow_factory_reward(REDNESS)


@pytest.mark.parametrize("policy", ["drop", "", math.nan, math.inf, None])
def test_an_unknown_policy_is_refused_when_the_adapter_is_made(policy):
    for kind in (FlowGRPOReward, DDPOReward, VerlImageScore):
        with pytest.raises(InputError):
            kind(REDNESS, on_unscored=policy)
    with pytest.raises(InputError, match="one picture at a time has no mean"):
        VerlImageScore(REDNESS, on_unscored="mean")


def test_adapters_work_from_many_threads_and_within_a_running_loop():
    from concurrent.futures import ThreadPoolExecutor

    reward_fn = DDPOReward(REDNESS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: reward_fn(shown(3), [str(number)] * 3)[0], range(8)))
    assert found == [[0.0, 1 / 255, 2 / 255]] * 8

    async def within():
        return reward_fn(shown(1), ["a"])[0]

    assert asyncio.run(within()) == [0.0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_where_no_picture_has_a_reward_the_first_reason_is_said(count):
    missing = [Unscored(Reason.TIMEOUT, f"detail {number}") for number in range(count)]
    with pytest.raises(UnscoredError, match=f"none of {count} pictures .* timeout .detail 0"):
        settled(missing, ["a"] * count, "mean")
    for policy, paid in (("nan", math.nan), (-1.0, -1.0)):
        assert settled([0.5, *missing], ["a"] * (count + 1), policy) == pytest.approx([0.5] + [paid] * count, nan_ok=True)
    with pytest.raises(UnscoredError, match=f"{count} of {count + 1} pictures .* timeout .detail 0"):
        settled([0.5, *missing], ["a"] * (count + 1), "raise")


def test_what_a_judge_has_open_is_closed_when_a_plain_script_ends():
    script = """
from salon_rewards.adapters.blocking import waited

async def connection():
    try:
        yield
    finally:
        print("closed")

async def ask():
    opened.append(connection())
    await anext(opened[0])

opened = []
waited(ask())
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("closed\n", "")

"""A scorer as a reward: the score itself, groups that abstain, and the same number that the scorer gives a benchmark."""

import asyncio
import inspect
import math
import os
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from salon_rewards import make_reward
from salon_rewards.callables.reward import each_paid
from salon_rewards.callables.scorer import ScorerReward
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import MediaKind
from salon_taxonomy.scorers import checked_scorer
from salon_taxonomy.verdict import Unscored

SOURCE = """
def red(images, prompts):
    wrong = {"bad": None, "nan": float("nan")}
    return [wrong.get(prompt, image.getpixel((0, 0))[0] / 255) for image, prompt in zip(images, prompts)]
red.range = (0, 1)

def error(images, prompts):
    return [1 - score for score in red(images, prompts)]
error.higher_is_better = False
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.py"
    path.write_text(SOURCE)
    return path


def picture(red):
    return Image.new("RGB", (4, 4), (red, 0, 0))


def paid(reward, prompts, reds, **columns):
    return asyncio.run(reward([""] * len(prompts), prompts=prompts, images=[picture(red) for red in reds], **columns))


def test_a_scorer_pays_its_score_and_lower_is_better_pays_the_other_sign(file):
    assert paid(make_reward(f"scorer:{file}:red"), ["a", "b"], [255, 51]) == [1.0, 0.2]
    assert paid(make_reward(f"scorer:{file}:error"), ["a", "b"], [255, 51]) == [0.0, -0.8]
    assert paid(make_reward(f"scorer:{file}:error", scale=[0, 1]), ["a", "b"], [255, 51]) == [1.0, pytest.approx(0.2)]


@pytest.mark.parametrize("wrong", ["bad", "nan"])
def test_a_missing_score_abstains_with_its_group_and_is_never_zero(file, wrong):
    reward = make_reward(f"scorer:{file}:red")
    logged = {}
    found = paid(reward, ["a", wrong, "c", "c"], [255] * 4, group_id=[0, 0, 1, 1], log_metric=logged.__setitem__)
    assert found == [None, None, 1.0, 1.0]
    assert logged == {"scorer:red/abstained": 0.5}
    assert paid(make_reward(f"scorer:{file}:red", abstention="alone"), ["a", wrong], [255] * 2) == [1.0, None]


def test_pictures_come_as_files_bytes_or_images_and_prompts_as_chats(file, tmp_path):
    picture(255).save(tmp_path / "a.png")
    reward = make_reward(f"scorer:{file}:red")
    shown = [str(tmp_path / "a.png"), (tmp_path / "a.png").read_bytes(), {"path": str(tmp_path / "a.png")}]
    chat = [{"role": "user", "content": "a cat"}]
    assert asyncio.run(reward([""] * 3, prompts=[chat] * 3, images=shown)) == [1.0] * 3


def test_a_reward_names_the_columns_that_it_needs(file):
    file.write_text(
        SOURCE
        + "\n\ndef change(frames, prompts, sources, masks=None):\n    return [0.5] * len(prompts)\n\nchange.version = '1'\n"
    )
    assert make_reward(f"scorer:{file}:red").columns == ("images", "prompts")
    assert make_reward(f"scorer:{file}:red", image="shot", prompt="text").columns == ("shot", "text")
    moving = make_reward(f"scorer:{file}:change")
    assert moving.columns == ("videos", "prompts", "sources") == pickle.loads(pickle.dumps(moving)).columns


def test_the_reward_pickles_by_the_text_of_its_scorer(file):
    reward = pickle.loads(pickle.dumps(make_reward(f"scorer:{file}:red", scale=(0, 2))))
    assert paid(reward, ["a"], [255]) == [0.5]


def test_wrong_parameters_and_scorers_are_errors_that_say_what_is_allowed(file):
    for name, parameters, problem in (
        (f"scorer:{file}:red", {"weight": 2}, "unknown parameter"),
        (f"scorer:{file}:red", {"scale": (1, math.inf)}, "two finite numbers"),
        (f"scorer:{file}:absent", {}, "has no such function"),
        ("scorer:", {}, "no such scorer"),
    ):
        with pytest.raises(InputError, match=problem):
            make_reward(name, **parameters)


@pytest.mark.parametrize(("scale", "share"), [([0, 1], 0.6), ([0, 0.5], 1.0), ([0.8, 1], 0.0), ([0.5, 0.7], 0.5)])
def test_a_score_beyond_its_scale_is_worth_as_much_as_the_end(file, scale, share):
    for name, worth in (("red", share), ("error", 1 - share)):
        score = 153 if name == "red" else 102  # 0.6 by either function
        assert paid(make_reward(f"scorer:{file}:{name}", scale=scale), ["a"], [score]) == [pytest.approx(worth)]


def test_a_scorer_of_videos_is_paid_for_files_and_frames_and_a_bad_file_abstains(tmp_path):
    pytest.importorskip("av")
    from salon_synthetic.videos import write_clip

    (tmp_path / "videos.py").write_text(
        "def count(frames, prompts, first_frames=None):\n"
        "    return [len(video) + (first_frames is not None) for video in frames]\n"
        "count.frames_per_second = 4\n"
    )
    clip = write_clip(tmp_path / "1.mp4", "clean", seconds=1.0)
    reward = make_reward(f"scorer:{tmp_path}/videos.py:count", abstention="alone")
    assert reward.takes == ("videos", "first_frames")
    shown = [clip, clip.read_bytes(), {"path": str(clip)}, [picture(0)] * 3, clip.read_bytes()[:2000], b"prose"]
    assert asyncio.run(reward([""] * 6, prompts=["a"] * 6, videos=shown)) == [4.0, 4.0, 4.0, 3.0, None, None]
    assert asyncio.run(reward([""], prompts=["a"], videos=[clip], first_frames=[picture(0)])) == [5.0]
    assert pickle.loads(pickle.dumps(reward)).takes == reward.takes


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    pytest.importorskip("av")
    from salon_synthetic.videos import write_clip

    return write_clip(tmp_path / "1.mp4", "clean", seconds=1.0)


def beside(frames, prompts, sources=None, references=None, first_frames=None):
    """100 for each frame of a source that is a video, 10 for each one that is a picture; 1000 for those of a reference."""
    rows = [sources or [[] for _ in frames], references or [[] for _ in frames]]
    worth = [[sum(10 * len(each) if isinstance(each, list) else 1 for each in row) for row in column] for column in rows]
    return [10.0 * one + 1000 * two for one, two in zip(*worth, strict=True)]


beside.version, beside.frames_per_second = "1", 4
BESIDE = ScorerReward(checked_scorer(beside), abstention="alone")


def paid_beside(**columns):
    count = len(next(iter(columns.values())))
    return asyncio.run(BESIDE([""] * count, prompts=["a"] * count, videos=[[picture(0)]] * count, **columns))


def test_a_source_video_comes_by_path_bytes_or_frames_as_a_result_does(clip):
    data = clip.read_bytes()
    shown = [str(clip), clip, data, {"path": str(clip)}, {"bytes": data, "path": None}, [[picture(0)] * 4], [clip], [data]]
    assert paid_beside(sources=shown) == [400.0] * len(shown)
    mixed = [[clip, picture(0)], [picture(0), data, [picture(0)] * 2], [], None, [picture(0)]]
    assert paid_beside(sources=mixed) == [410.0, 610.0, 0.0, 0.0, 10.0]
    assert paid_beside(references=[clip, picture(0)]) == [40_000.0, 1000.0]
    assert paid_beside(sources=[Media.from_file(clip), Media.from_bytes(data, MediaKind.VIDEO)]) == [400.0, 400.0]


def test_a_source_video_that_cannot_be_read_costs_its_own_row(clip, tmp_path):
    data = clip.read_bytes()
    (tmp_path / "prose.mp4").write_text("prose")
    (tmp_path / "list.mp4").write_text("#EXTM3U\nfile:///etc/hostname")
    (tmp_path / "cut.mp4").write_bytes(data[:2000])
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "link.mp4").symlink_to(clip)
    names = ("prose.mp4", "list.mp4", "cut.mp4", "empty.mp4", "away/link.mp4")
    shown = [clip, *(str(tmp_path / name) for name in names), data[:2000], b"", [clip, b"?"], [[]]]
    assert paid_beside(sources=shown) == [400.0, *[None] * (len(shown) - 1)]
    assert paid_beside(first_frames=[None, clip]) == [0.0, None], "a first frame is a picture"


@pytest.mark.parametrize("kind", ["missing", "a dangling link", "a pipe", "a folder", "a number", "a mapping of neither"])
@pytest.mark.parametrize("column", ["videos", "sources"])
def test_a_video_that_is_no_file_is_an_error_of_its_row_and_column(kind, column, clip, tmp_path):
    path = tmp_path / "odd.mp4"
    if kind == "a dangling link":
        path.symlink_to(tmp_path / "nothing.mp4")
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    odd = {"a number": 7, "a mapping of neither": {"name": "1.mp4"}}.get(kind, path)
    columns = {"videos": [[picture(0)]] * 2, "prompts": ["a"] * 2, column: [clip, odd]}
    with pytest.raises(InputError) as raised:
        asyncio.run(BESIDE(["", ""], **columns))
    assert (str(path) in str(raised.value)) or (raised.value.row, raised.value.column) == (2, column)


@pytest.mark.parametrize("sources", [[], [b"?"], [b"?"] * 3])
def test_sources_of_another_number_are_refused(sources):
    with pytest.raises(InputError, match="sources"):
        asyncio.run(BESIDE([""] * 2, prompts=["a"] * 2, videos=[[picture(0)]] * 2, sources=sources))


def test_a_scorer_of_pictures_is_given_no_video_as_a_source(clip):
    def sizes(images, prompts, sources):
        return [float(len(row)) for row in sources]

    sizes.version = "1"
    reward = ScorerReward(checked_scorer(sizes), abstention="alone")
    rows = {"images": [picture(0)] * 3, "prompts": ["a"] * 3, "sources": [[picture(0)], [clip], clip.read_bytes()]}
    paid = asyncio.run(each_paid(reward, [""] * 3, rows))
    assert (paid[0], [each.reason for each in paid[1:]]) == (1.0, ["bad_media"] * 2)
    with pytest.raises(InputError, match="rates pictures, not videos"):
        asyncio.run(reward([""], images=[picture(0)], prompts=["a"], sources=[[[picture(0)] * 2]]))


@pytest.mark.parametrize("videos", [[[picture(0), picture(0)]], [Media.from_bytes(b"?", MediaKind.VIDEO)]])
def test_a_scorer_of_pictures_refuses_a_video(file, videos):
    with pytest.raises(InputError, match="rates pictures, not videos") as raised:
        asyncio.run(make_reward(f"scorer:{file}:red")([""], prompts=["a"], images=videos))
    assert (raised.value.row, raised.value.column) == (1, "images")


@pytest.mark.slow  # for the import of TRL
def test_trl_hands_every_column_of_the_data_set_to_a_reward_by_its_name():
    """TRL's own method, so videos and sources need no adapter there."""
    trainer = pytest.importorskip("trl").GRPOTrainer
    seen = {}

    def reward(completions, prompts, videos, sources, **others):
        seen.update(videos=videos, sources=sources)
        return [1.0, None]

    rows = [{"prompt": "a", "videos": "1.mp4", "sources": ["1.png"]}, {"prompt": "b", "videos": [picture(0)], "sources": []}]
    names = {
        "environments": None,
        "state": SimpleNamespace(global_step=0),
        "_log_completion_extra": None,
        "_log_metric": None,
        "args": SimpleNamespace(report_to=[]),
    }
    device = SimpleNamespace(device="cpu", is_main_process=False)
    own = {"reward_funcs": [reward], "reward_processing_classes": [None], "reward_func_names": ["mine"], "accelerator": device}
    calculate = inspect.unwrap(trainer._calculate_rewards)
    from accelerate import PartialState

    PartialState()
    paid = calculate(SimpleNamespace(**names, **own), rows, ["a", "b"], ["", ""], [[], []])
    assert seen == {name: [row[name] for row in rows] for name in ("videos", "sources")}
    assert paid[:, 0].isnan().tolist() == [False, True]


BROKEN, FATAL = -1, 200
SHADES = st.integers(BROKEN, 30) | st.just(FATAL)
ROWS = st.lists(
    st.tuples(SHADES, st.lists(st.integers(BROKEN, 30), max_size=3), st.none() | st.integers(BROKEN, 30)), max_size=9
)


def shade(value):
    return b"no picture" if value == BROKEN else picture(value)


def told_of(result, sources, mask, prompt):
    return float(
        int("".join(f"{value + 1:02d}" for value in (result, *sources, 99 if mask is None else mask))) % 99_991 + len(prompt)
    )


@given(ROWS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_what_lies_beside_a_result_stays_with_its_row_however_rows_are_shuffled_dropped_and_batched(rows, batch, random):
    def code(images, prompts, sources=None, masks=None):
        reds = [image.getpixel((0, 0))[0] for image in images]
        if FATAL in reds:
            raise ValueError("cannot look at that")
        return [
            told_of(red, [each.getpixel((0, 0))[0] for each in beside], mask and mask.getpixel((0, 0))[0], prompt)
            for red, beside, mask, prompt in zip(reds, sources, masks, prompts, strict=True)
        ]

    code.batch = batch
    code.version = "1"
    reward = ScorerReward(checked_scorer(code))
    for _ in range(2):
        columns = {
            "images": [shade(result) for result, _, _ in rows],
            "sources": [[shade(each) for each in sources] for _, sources, _ in rows],
            "masks": [None if mask is None else shade(mask) for _, _, mask in rows],
            "prompts": ["p" * result for result, _, _ in rows],
        }
        paid = asyncio.run(each_paid(reward, [""] * len(rows), columns))
        for worth, (result, sources, mask) in zip(paid, rows, strict=True):
            if BROKEN in (result, *sources, mask) or result == FATAL:
                assert isinstance(worth, Unscored)
            else:
                assert worth == told_of(result, sources, mask, "p" * result)
        random.shuffle(rows)

"""A reward model, and a generator that learns from votes, killed thirty times at any moment, end with the same bytes."""

import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from real_kills import ended, killed_often
from test_image_training import preferring, saved_pipeline, votes_in
from test_reward_model import asked, drawn_world
from tiny_clip import save_tiny_clip

from salon_train.image_policy.stage import train_image_policy
from salon_train.reward_model.stage import train_reward_model


def reward_model(within: Path, name: str) -> None:
    configuration = asked(within, within / name, backbone={"rank": 2}, loss="davidson")
    train_reward_model(configuration.model_copy(update={"checkpoints": type(configuration.checkpoints)(every=5)}))


def generator(within: Path, name: str) -> None:
    os.chdir(within)
    configuration = preferring(within / "parts" / "saved", name)
    train_image_policy(configuration.model_copy(update={"image": configuration.image.model_copy(update={"steps": 16})}))


def killed_as_whole(train: Callable[[Path, str], None], within: Path, files: Sequence[str]) -> None:
    """Train ``whole``, and ``killed`` with thirty kills; both have the same files."""
    assert ended(train, (within, "other"))  # the first run also waits for imports
    start = time.monotonic()
    assert ended(train, (within, "whole"))
    longest = time.monotonic() - start

    def same() -> None:
        for each in files:
            assert (within / "killed" / each).read_bytes() == (within / "whole" / each).read_bytes(), each

    def again() -> None:
        same()
        shutil.rmtree(within / "killed")

    killed_often(train, (within, "killed"), kills=30, longest_s=longest, again=again)
    same()


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_a_reward_model_is_killed_thirty_times(tmp_path: Path) -> None:
    save_tiny_clip(tmp_path / "clip")
    drawn_world(tmp_path, 480)
    names = ("model/model.safetensors", "model/head.safetensors", "model/reward_model.json", "held_out.jsonl")
    killed_as_whole(reward_model, tmp_path, [f"reward-model/{each}" for each in names])


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_a_generator_that_learns_from_votes_is_killed_thirty_times(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    saved_pipeline(tmp_path / "parts")
    (tmp_path / "held_out.txt").write_text("a black star\n")
    votes_in(tmp_path)
    names = ("model/pytorch_lora_weights.safetensors", "pictures/step-000000.png", "pictures/step-000016.png")
    killed_as_whole(generator, tmp_path, [f"image/{each}" for each in names])

"""A run that was killed goes on with the same prompts and ends with the weights of one that was not, bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from salon_taxonomy.errors import InputError
from salon_train.configuration import read_configuration
from salon_train.run.checkpoints import declare_whole, remove_unfinished, undamaged, whole_checkpoints
from salon_train.run.events import read_log

# Completions are sampled for two optimizer steps and learned from twice, so checkpoint 2 and 3 lie between generations.
SETTINGS = """
[grpo]
steps = 5
batch = 16
device_batch = 8
generation_batch = 32
iterations = 2
generations = 2
longest = 4
learning_rate = 1e-3
schedule = "linear"
[checkpoints]
every = 1
keep = 2
[degeneration]
invalid_answers = 0
"""
COMMAND = (sys.executable, "-c", "from salon_console import main; main()", "train", "grpo")


def weights(run: Path) -> dict[str, object]:
    from safetensors.torch import load_file

    return dict(load_file(run / "grpo/model/model.safetensors"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_run_ends_with_the_weights_of_one_that_was_not(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from salon_train.assessor import train_grpo

    monkeypatch.syspath_prepend(str(training_ground))
    whole, killed = (written(run, reward="own_rewards:varied", more=SETTINGS) for run in ("unbroken", "broken"))
    evaluated = {"evaluation.every": 2, "run.threads": 1}
    train_grpo(read_configuration(whole, changes=evaluated))

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(training_ground), *sys.path])
    log = training_ground / "broken/grpo/log.jsonl"
    settings = [word for key, value in evaluated.items() for word in ("--set", f"{key}={value}")]
    child = subprocess.Popen([*COMMAND, str(killed), *settings], env=environment, stdout=subprocess.DEVNULL)
    try:
        while child.poll() is None and not (log.exists() and '"learned", "step": 3,' in log.read_text()):
            time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    saved = [checkpoint.step for checkpoint in whole_checkpoints(log.parent)]
    assert saved
    assert saved[-1] in (2, 3, 4)
    on = train_grpo(read_configuration(killed, changes=evaluated))

    assert on.resumed_from == saved[-1]
    first, second = weights(training_ground / "unbroken"), weights(training_ground / "broken")
    assert first.keys() == second.keys()
    start = dict(_loaded(training_ground / "tiny"))
    assert any(not torch.equal(first[name], start[name]) for name in first if name in start)  # it learned something
    for name, value in first.items():
        assert torch.equal(value, second[name]), name
    assert numbers(training_ground / "unbroken") == numbers(training_ground / "broken")


def numbers(run: Path) -> dict[object, tuple[object, ...]]:
    """Loss, gradient and mean reward of every step; what was done twice counts as it was done last."""
    rows = [row for row in read_log(run / "grpo/log.jsonl") if row["what"] == "learned"]
    return {row["step"]: (row["loss"], row["grad_norm"], row.get("rewards/varied/mean")) for row in rows}


def _loaded(folder: Path) -> dict[str, object]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


def checkpoint(folder: Path, step: int, *, whole: bool) -> Path:
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    (path / "trainer_state.json").write_text("{}")
    if whole:
        declare_whole(path, step, keep=99)
    return path


def test_a_checkpoint_that_a_kill_cut_off_does_not_count_and_is_removed(tmp_path: Path) -> None:
    checkpoint(tmp_path, 2, whole=True)
    checkpoint(tmp_path, 10, whole=True)
    checkpoint(tmp_path, 12, whole=False)
    (tmp_path / "checkpoint-x").mkdir()
    assert [each.step for each in whole_checkpoints(tmp_path)] == [2, 10]
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint-2", "checkpoint-10", "checkpoint-x"}


def test_older_checkpoints_go_only_when_a_newer_one_is_whole(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        checkpoint(tmp_path, step, whole=True)
    last = checkpoint(tmp_path, 4, whole=False)
    assert len(whole_checkpoints(tmp_path)) == 3
    declare_whole(last, 4, keep=2)
    assert [each.step for each in whole_checkpoints(tmp_path)] == [3, 4]
    told = json.loads((last / "whole.json").read_text())
    assert (told["step"], told["processes"], told["bytes"]) == (4, 1, {"trainer_state.json": 2})
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("left", ["", "{", "[]", None])
def test_a_checkpoint_whose_files_are_not_as_they_were_written_is_passed_over(tmp_path: Path, left: str | None) -> None:
    older, newer = (checkpoint(tmp_path, step, whole=True) for step in (1, 2))
    if left is None:  # the power went: the note is there, and of a file only the beginning
        (newer / "trainer_state.json").write_text("")
    else:
        (newer / "whole.json").write_text(left)
    assert [each.step for each in whole_checkpoints(tmp_path)] == [1]
    (older / "trainer_state.json").unlink()
    assert whole_checkpoints(tmp_path) == []


def flipped(file: Path) -> None:
    """One bit of a file is another one; its size is the same."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.timeout(900)
def test_a_bit_flip_in_any_file_of_a_checkpoint_is_found_before_it_is_trained_from(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from salon_train.assessor import train_grpo

    monkeypatch.syspath_prepend(str(training_ground))
    brief = {"run.threads": 1, "grpo.steps": 2}
    file = written("flipped", reward="own_rewards:varied", more=SETTINGS)
    train_grpo(read_configuration(file, changes=brief))
    run = training_ground / "flipped/grpo"
    older, newer = (checkpoint.folder for checkpoint in whole_checkpoints(run))
    for each in sorted(path for path in newer.rglob("*") if path.is_file()):
        copy = run.parent / "copy"
        shutil.copytree(newer, copy / newer.name)
        shutil.copytree(older, copy / older.name)
        flipped(copy / newer.name / each.relative_to(newer))
        found, passed = undamaged(copy)
        assert found is not None and found.folder.name == older.name, each.name
        if each.name != "whole.json":  # a note that is no JSON any more does not count as one
            assert len(passed) == 1 and each.name in passed[0]
        shutil.rmtree(copy)

    weights_file = next(newer.glob("*.safetensors"))
    flipped(weights_file)
    (run / "finished.json").unlink()
    done = train_grpo(read_configuration(file, changes=brief))
    assert done.resumed_from == int(older.name.removeprefix("checkpoint-"))
    assert any(weights_file.name in str(row.get("note")) for row in read_log(run / "log.jsonl"))

    (run / "finished.json").unlink()
    for checkpoint in whole_checkpoints(run):
        flipped(next(checkpoint.folder.glob("*.safetensors")))
    with pytest.raises(InputError, match=r"no checkpoint can be continued from: \S+.safetensors is not as it was written"):
        train_grpo(read_configuration(file, changes=brief))


def test_the_hooks_that_salon_takes_hold_of_are_still_there() -> None:
    import inspect

    from transformers import Trainer
    from trl import GRPOTrainer, SFTTrainer

    for name in ("_save_checkpoint", "_load_from_checkpoint", "_load_optimizer_and_scheduler", "_get_grad_norm"):
        assert callable(getattr(Trainer, name)), name
    assert list(inspect.signature(GRPOTrainer._calculate_rewards).parameters) == [
        "self", "inputs", "prompts", "completions", "completion_ids_list"
    ]  # fmt: skip
    assert "_buffered_inputs" in inspect.getsource(GRPOTrainer._prepare_inputs)
    assert "self._step" in inspect.getsource(GRPOTrainer.training_step)
    for trainer in (GRPOTrainer, SFTTrainer):
        assert callable(trainer._get_train_sampler)
        assert callable(trainer._send_telemetry)

"""Run one arm of a study of small image policies: learn, measure, and continue from a checkpoint.

    FOLDER/study.json      the settings; a folder contains one study
    STEM.checkpoint        while an arm runs; the caller writes its own files of a finished arm, and then removes this one

Everything runs on one thread, so results do not depend on the number of threads.
"""

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from time import process_time
from typing import Any

import torch

from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole
from salon_train.image_policy.training import PolicyLearner

Measure = Callable[[int, float | None], Mapping[str, Any]]
"""Measures the policy: steps that are done, and the mean reward since the measurement before, None without any."""


def claim_folder(folder: Path, settings: Any) -> None:
    """Write the settings of a study into its folder.

    Args:
        folder: of the study; made where it is missing.
        settings: a dataclass.

    Raises:
        InputError: the folder contains a study with other settings.
    """
    note, text = folder / "study.json", json.dumps(asdict(settings), indent=1) + "\n"
    if not note.exists():
        write_whole(note, text, parents=True)
    elif note.read_text(encoding="utf-8") != text:
        hint = "Name a new folder, or give the options that it was begun with (--quick among them)."
        raise InputError("the folder contains a study with other settings", source=note, hint=hint)


def run_arm(
    learner: PolicyLearner,
    stem: Path,
    *,
    steps: int,
    every: int,
    measure: Measure,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[list[dict[str, Any]], float]:
    """Learn to the end, and measure before the first step, every few steps and after the last one.

    Args:
        learner: at its beginning.
        stem: the checkpoint is this path with the suffix ``.checkpoint``.
        steps: of the arm.
        every: steps between two measurements, and three times those between two checkpoints.
        measure: returns numbers that JSON can express.
        progress: called with the number of steps that are done.

    Returns:
        The measurements, and the processor seconds of learning and measuring.

    Raises:
        InputError: the checkpoint cannot be read.
    """
    checkpoint = stem.with_suffix(".checkpoint")
    state: dict[str, Any] = {"step": 0, "points": [], "paid": [], "cpu_s": 0.0}
    if checkpoint.exists():
        state = _read_checkpoint(checkpoint)
        learner.restore(state["learner"])
    began = process_time() - state["cpu_s"]
    points, paid = list(state["points"]) or [dict(measure(0, None))], list(state["paid"])
    for number in range(state["step"], steps):
        paid.append(learner.step(number).get("reward"))
        done = number + 1
        progress(done)
        if done % every == 0 or done == steps:
            rewards = [each for each in paid if each is not None]
            points.append(dict(measure(done, sum(rewards) / len(rewards) if rewards else None)))
            paid = []
        if done % max(1, every // 3) == 0 and done < steps:
            state = {"step": done, "points": points, "paid": paid, "learner": learner.state()}
            _write_checkpoint(checkpoint, state | {"cpu_s": process_time() - began})
    return points, round(process_time() - began, 1)


def _write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    stream = BytesIO()
    torch.save(state, stream)
    write_whole(path, stream.getvalue(), parents=True)


def _read_checkpoint(path: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        problem = f"cannot be read ({type(error).__name__})"
        raise InputError(problem, source=path, hint="Remove it to run the arm from its beginning.") from error
    return state

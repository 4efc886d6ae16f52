"""Callbacks around TRL's training loop: events for watchers, evaluation on held-out pictures, nothing on the console."""

import logging
import math
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

from salon_train.configuration.schema import StageConfiguration
from salon_train.run.events import TrainingEvent, TrainingWatcher

_UNWANTED = ("total_flos", "num_tokens", "epoch", "step_time")


class WatcherCallback(TrainerCallback):
    """Pass what was learned and saved on to a watcher, on the main process."""

    def __init__(self, watcher: TrainingWatcher, *, resumed: bool) -> None:
        self._watcher = watcher
        self._resumed = resumed

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The first step is next."""
        self._tell("resumed" if self._resumed else "started", state)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        """Numbers of the last steps."""
        numbers = {name: _plain(value) for name, value in (logs or {}).items() if name not in _UNWANTED}
        if "train_runtime" not in numbers:
            self._tell("learned", state, numbers)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A checkpoint is whole."""
        self._tell("saved", state)

    def _tell(self, what: str, state: Any, facts: Mapping[str, Any] | None = None) -> None:
        if state.is_world_process_zero:
            self._watcher.happened(TrainingEvent(what, state.global_step, state.max_steps, facts or {}))


class HeldOutEvaluation(TrainerCallback):
    """Evaluates before the first step, every so many steps, and after the last; draws nothing from any generator.

    Args:
        evaluate: what is measured; called on every process.
        watcher: told on the main process.
        every: optimizer steps; None: only at both ends.
        at_start: also before the first step.
    """

    def __init__(
        self, evaluate: Callable[[], Mapping[str, float | None]], watcher: TrainingWatcher, *, every: int | None, at_start: bool
    ) -> None:
        self._evaluate = evaluate
        self._watcher = watcher
        self._every = every
        self._at_start = at_start
        self._last: int | None = None
        self.latest: Mapping[str, float | None] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Before the first step of a run that begins."""
        if self._at_start and state.global_step == 0:
            self._now(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Every so many steps, before a checkpoint is written."""
        if self._every is not None and state.global_step % self._every == 0:
            self._now(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After the last step."""
        if self._last != state.global_step:
            self._now(state)

    def _now(self, state: Any) -> None:
        with unmoved_generators():
            self.latest = self._evaluate()
        self._last = state.global_step
        if state.is_world_process_zero:
            self._watcher.happened(TrainingEvent("evaluated", state.global_step, state.max_steps, self.latest))


@contextmanager
def unmoved_generators() -> Iterator[None]:
    """Python's, NumPy's and torch's generators are afterwards as they were before."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


@contextmanager
def quiet() -> Iterator[None]:
    """Libraries say nothing on the console: Salon's own log and bar do. Errors are raised all the same."""
    import datasets
    import transformers

    console: Any = transformers.logging  # transformers leaves it untyped
    verbosity, bars = console.get_verbosity(), datasets.are_progress_bars_disabled()
    loading_bars = console.is_progress_bar_enabled()  # false within another quiet
    names = ("trl", "accelerate", "peft", "torch", "httpx")
    levels = {name: logging.getLogger(name).level for name in names}
    console.set_verbosity_error()
    console.disable_progress_bar()
    datasets.disable_progress_bars()
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        console.set_verbosity(verbosity)
        if loading_bars:
            console.enable_progress_bar()
        if not bars:
            datasets.enable_progress_bars()
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def open_project(configuration: StageConfiguration, stage: str) -> None:
    """Begin a run of Weights & Biases in the configured project; the first process does, before training."""
    if configuration.log.to == "wandb":
        name = f"{Path(configuration.run.folder).name}-{stage}"
        import_module("wandb").init(project=configuration.log.project, name=name)


def report_evaluation(trainer: Any, numbers: Mapping[str, float | None]) -> None:
    """Send what was measured on held-out pictures, as ``eval/…``; an undefined number is left out."""
    readers = import_module("transformers.integrations")
    logs = {f"eval_{name}": value for name, value in numbers.items() if value is not None}
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, (readers.TensorBoardCallback, readers.WandbCallback)):
            callback.on_log(trainer.args, trainer.state, trainer.control, logs=logs, model=trainer.model)


def _plain(value: Any) -> float | int | str | None:
    """Return a number for JSON; None for a non-finite one."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None

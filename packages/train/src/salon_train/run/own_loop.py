"""Train by a loop of Salon's own, without TRL: begin or continue, log, evaluate, write checkpoints and the result."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch

from salon_train.configuration.schema import RunConfiguration
from salon_train.run.callbacks import quiet
from salon_train.run.checkpoints import Checkpoint, declare_whole, remove_unfinished, writing
from salon_train.run.events import Fact, LogFile, TrainingEvent, TrainingWatcher, TrainingWatchers
from salon_train.run.folder import RunFolder, Stage
from salon_train.run.processes import Processes
from salon_train.run.stage import Trained, begun, first_and_last, logged_end

C = TypeVar("C", bound=RunConfiguration)
STATE = "state.pt"


class OwnLoop(ABC, Generic[C]):
    """One run: what learns, and its folder.

    Args:
        configuration: of the run.
        folder: held by this process.
        watchers: receive the events.

    Attributes:
        memory: what to do where the device has no memory left.
        notes: a sentence about each row that is left out.
        step: optimizer steps that are done.
        steps: optimizer steps of the whole stage.
        every: steps from one evaluation to the next.
    """

    memory: ClassVar[str]
    steps: int
    every: int

    def __init__(self, configuration: C, folder: RunFolder, watchers: TrainingWatchers) -> None:
        self.configuration, self.folder, self.watchers = configuration, folder, watchers
        self.notes: list[str] = []
        self.step = 0

    @abstractmethod
    def restore(self, folder: Path) -> None:
        """Continue from a checkpoint."""

    @abstractmethod
    def learn(self, number: int) -> Mapping[str, Fact]:
        """Update once, and return what is logged of it."""

    @abstractmethod
    def evaluate(self) -> Mapping[str, float | None]:
        """Measure what is held out; empty without any."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what :meth:`restore` reads."""

    @abstractmethod
    def save_model(self, folder: Path, numbers: Mapping[str, float | None]) -> None:
        """Write the result."""

    def train(self, checkpoint: Checkpoint | None, passed: Sequence[str]) -> Trained:
        """Train to the end.

        Args:
            checkpoint: to continue from; None: begin.
            passed: a sentence about each damaged checkpoint.
        """
        if checkpoint is not None:
            self.restore(checkpoint.folder)
            self.step = checkpoint.step
        self.folder.begin(self.configuration)
        for note in (*passed, *self.notes):
            self.log("noted", {"note": note})
        self.log("started" if checkpoint is None else "resumed")
        numbers: Mapping[str, float | None] = {}
        with logged_end(
            self.watchers,
            lambda: (self.step, self.steps),
            memory=self.memory,
            unreadable="What was whole before stays; the same command continues.",
        ):
            if checkpoint is None:
                numbers = self.evaluate()
            for number in range(self.step, self.steps):
                facts = self.learn(number)
                self.step = number + 1
                self.log("learned", facts)
                if self.step % self.every == 0 or self.step == self.steps:
                    numbers = self.evaluate()
                if self.step % self.configuration.checkpoints.every == 0 and self.step < self.steps:
                    self._write_checkpoint()
            with writing(self.folder.model):
                self.save_model(self.folder.model, numbers)
                self.folder.finish({"steps": self.steps, "evaluation": dict(numbers)})
            self.log("finished")
        resumed = None if checkpoint is None else checkpoint.step
        return Trained(self.folder.model, self.steps, resumed, numbers, False, *first_and_last(self.folder))

    def _write_checkpoint(self) -> None:
        path = self.folder.path / f"checkpoint-{self.step}"
        with writing(path):
            remove_unfinished(self.folder.path)
            path.mkdir()
            self.save(path)
            declare_whole(path, self.step, keep=self.configuration.checkpoints.keep)
        self.log("saved")

    def log(self, what: str, facts: Mapping[str, Any] | None = None) -> None:
        """Send an event to the watchers; a number that is not finite is null."""
        numbers: dict[str, Fact] = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in (facts or {}).items()
        }
        self.watchers.happened(TrainingEvent(what, self.step, self.steps, numbers))


def train_by(
    loop: Callable[[C, RunFolder, TrainingWatchers], OwnLoop[C]],
    configuration: C,
    stage: Stage,
    *,
    device: str,
    watcher: TrainingWatcher,
    again: bool,
) -> Trained:
    """Train a stage from the beginning or the last checkpoint to the end; a finished one is left as it is.

    Args:
        loop: makes what learns.
        configuration: of the run.
        stage: its name.
        device: of torch; on ``cpu`` everything runs on one thread.
        watcher: receives the events, beside the log file.
        again: remove what the run has done before, and begin again.

    Raises:
        InputError: a setting, an input or the folder cannot be used.
        IncompleteError: training ended early; the folder keeps what was whole.
    """
    folder = RunFolder.of(configuration, stage)
    with ExitStack() as kept, quiet():
        stands = begun(kept, folder, configuration, Processes.of({}), again)
        if stands.finished is not None:
            facts = stands.finished
            return Trained(folder.model, facts["steps"], None, facts["evaluation"], True, *first_and_last(folder))
        kept.enter_context(one_thread() if device == "cpu" else nullcontext())
        run = loop(configuration, folder, TrainingWatchers([LogFile(folder.log), watcher]))
        return run.train(stands.checkpoint, stands.passed)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: sums of floats depend on how they are shared out."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

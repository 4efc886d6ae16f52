"""The events of a training run, as values; display is elsewhere."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol, TypeAlias

Fact: TypeAlias = "float | int | str | bool | Mapping[str, Fact] | Sequence[Fact] | None"


@dataclass(frozen=True, slots=True)
class TrainingEvent:
    """One moment.

    Attributes:
        what: ``noted`` (something about the data), ``started``, ``resumed``, ``learned`` (numbers of the steps since the last
            such event), ``evaluated``, ``saved``, ``watched`` (what the monitors say of a generation batch), ``warned`` (one
            of them begins to), ``degenerated`` (given up, also by a monitor), ``stopped`` (by anything else: Ctrl-C, no
            memory, an error) or ``finished``.
        step: optimizer steps done.
        steps: of the whole run.
        facts: numbers and words by name; None where there is no number.
    """

    what: str
    step: int
    steps: int
    facts: Mapping[str, Fact] = field(default_factory=dict)


class TrainingWatcher(Protocol):
    """An observer of events. Called between steps: it must be quick."""

    def happened(self, event: TrainingEvent) -> None:
        """Something happened."""


class NoTrainingWatcher:
    """Ignore every event."""

    def happened(self, event: TrainingEvent) -> None:
        """Ignore the event."""


NO_WATCHER: Final = NoTrainingWatcher()
"""For runs without an observer; the log file is written all the same."""


@dataclass(slots=True)
class TrainingWatchers:
    """Tells several, in their order; more may join at any time."""

    all: list[TrainingWatcher]

    def happened(self, event: TrainingEvent) -> None:
        """Tell each."""
        for watcher in tuple(self.all):
            watcher.happened(event)


class LogFile:
    """Append one JSON object per event to a file; a resumed run appends ``resumed`` and repeats the steps.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
        >>> LogFile(path).happened(TrainingEvent("learned", 3, 10, {"loss": 0.5}))
        >>> [(row["what"], row["step"], row["loss"]) for row in read_log(path)]
        [('learned', 3, 0.5)]
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()

    def happened(self, event: TrainingEvent) -> None:
        """Write the line."""
        seconds = round(time.monotonic() - self._began, 3)
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        row = {"what": event.what, "step": event.step, "steps": event.steps, "at": at, "seconds": seconds, **event.facts}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False, default=str) + "\n")


def read_log(path: Path) -> list[dict[str, Fact]]:
    """Return the rows of a log file; a last line that a kill cut off is left out.

    After a kill, rows of steps that were done again are there twice; the later one is what the weights come from.
    """
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows

"""What an engine carries: tasks as plain values, and their results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from salon_taxonomy.digest import Digestible


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One stage on one shard or on all, as plain values that any engine can carry to another process.

    Attributes:
        folder: the data set.
        where: the stage's ``module:name``; ``name`` and ``parameters`` complete it.
        shard: the shard's name; ``rows`` its length.
        inputs: ``part → columns`` that the stage reads from other stages' parts.
        output: the part to write, below the folder.
        every: of a stage over the whole data set: of each shard its name, rows, inputs and part; None for a part that exists.
    """

    folder: str
    where: str
    name: str
    parameters: Mapping[str, Digestible]
    shard: str
    rows: int
    inputs: Mapping[str, Sequence[str]]
    output: str
    every: Sequence[tuple[str, int, Mapping[str, Sequence[str]], str | None]] = ()


@dataclass(frozen=True, slots=True)
class Spent:
    """What one part took to make.

    Attributes:
        seconds: of the work itself, wall-clock time.
        overhead: seconds from giving the task to its answer that were not work; where ``started``, also the process starting
            and importing the stage.
        started: a worker process was started for the task.
        calls: different questions that the part's answers rest on; those already in the journal count.
        replayed: of these, answered from the journal.
        prompt_tokens: of these questions, as reported by the judge; 0 for a judge that reports none.
        completion_tokens: of their replies, likewise.
        cost_usd: of their replies; None where one has no price.
    """

    seconds: float = 0.0
    overhead: float = 0.0
    started: bool = False
    calls: int = 0
    replayed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How a task ended: the receipt's counts, or an error; and what it took."""

    task: ShardTask
    counts: dict[str, int] = field(default_factory=dict)
    error: str | None = None
    spent: Spent = Spent()


class Engine(Protocol):
    """Runs tasks in any order and yields each task's result once."""

    def __call__(self, tasks: Sequence[ShardTask], workers: int) -> Iterator[TaskResult]:
        """Run tasks with so many workers."""

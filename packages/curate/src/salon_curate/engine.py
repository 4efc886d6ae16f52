"""Engines: who runs tasks. An engine is given the names of shards and gets counts back; Salon moves the bytes.

The embedded engine starts worker processes and needs nothing else. A worker that dies is replaced and its shard is tried
again, at most three times; then the shard is set aside, and the run continues.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from salon_curate.stages import stage_named
from salon_curate.tasks import ShardTask, Spent, TaskResult
from salon_taxonomy.errors import SalonError, StorageError

ATTEMPTS: Final = 3
_TICK: Final = 1.0
_ENVIRONMENT: Final = ("POLARS_MAX_THREADS=1", "MALLOC_MMAP_THRESHOLD_=16777216", "MALLOC_TRIM_THRESHOLD_=67108864")
"""Of a worker: one thread of polars, and memory that glibc keeps. Else each picture's arrays are mapped and cleared again: 544
page faults and about a third of the processor time of ``look``."""


def inline(tasks: Sequence[ShardTask], workers: int = 1) -> Iterator[TaskResult]:
    """Run tasks in this process, one after another."""
    for task in tasks:
        yield outcome_of(task, answer_to(task))


def answer_to(task: ShardTask) -> dict[str, Any]:
    """Work on a task and return its answer as plain values, which a worker of any engine sends back."""
    try:
        stage = stage_named(task.where, task.name, task.parameters)  # its imports belong to the start of the worker
        began = time.monotonic()
        counts = stage.work(task)
    except SalonError as error:
        return {"error": str(error), "kind": type(error).__name__}
    return {"counts": counts, "seconds": time.monotonic() - began}


def outcome_of(task: ShardTask, answer: Mapping[str, Any]) -> TaskResult:
    """Return the outcome that an answer describes.

    Raises:
        StorageError: the part could not be written.
    """
    if answer.get("kind") == StorageError.__name__:
        raise StorageError(answer["error"])
    return TaskResult(task, answer.get("counts", {}), answer.get("error"), Spent(answer.get("seconds", 0.0)))


def embedded(tasks: Sequence[ShardTask], workers: int) -> Iterator[TaskResult]:
    """Run tasks in worker processes of this machine.

    Raises:
        StorageError: a part cannot be written; the workers are ended, and finished parts are kept.
    """
    waiting = deque((task, 1) for task in tasks)
    busy: dict[_Worker, _GivenTask] = {}
    idle: list[_Worker] = []
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or busy:
                while waiting and len(busy) < workers:
                    began, started = time.monotonic(), not idle
                    worker = idle.pop() if idle else _Worker()
                    task, attempt = waiting.popleft()
                    busy[worker] = _GivenTask(task, attempt, began, started)
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
                    worker.give(task)
                for chosen, _ in selector.select(_TICK):
                    worker = chosen.data
                    selector.unregister(chosen.fileobj)
                    assignment = busy.pop(worker)
                    answer = worker.answer()
                    if answer is not None:
                        idle.append(worker)
                        yield assignment.result(answer)
                        continue
                    why = worker.end()
                    if assignment.attempt < ATTEMPTS:
                        waiting.append((assignment.task, assignment.attempt + 1))
                        continue
                    problem = f"its worker died {assignment.attempt} times ({why}); set aside"
                    yield TaskResult(assignment.task, error=f"shard {assignment.task.shard}: {problem}")
        finally:
            for worker in (*idle, *busy):
                worker.end()


@dataclass(frozen=True, slots=True)
class _GivenTask:
    """A task that a worker has: its attempt, when it was given, and whether the worker was started for it."""

    task: ShardTask
    attempt: int
    began: float
    started: bool

    def result(self, answer: Mapping[str, Any]) -> TaskResult:
        """Return the result of the worker's answer, with what the task took beside its work."""
        outcome = outcome_of(self.task, answer)
        overhead = max(0.0, time.monotonic() - self.began - outcome.spent.seconds)
        return replace(outcome, spent=replace(outcome.spent, overhead=overhead, started=self.started))


class _Worker:
    """One worker process with its pipes."""

    def __init__(self) -> None:
        command = ["/usr/bin/env", *_ENVIRONMENT, sys.executable, "-m", "salon_curate.worker", str(os.getpid())]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("a process that was started with pipes has them")
        self._tasks, self.answers = self._process.stdin, self._process.stdout

    def give(self, task: ShardTask) -> None:
        """Send a task; a worker that is dead already is noticed when its answer is read."""
        with suppress(OSError):
            self._tasks.write(json.dumps(asdict(task)) + "\n")
            self._tasks.flush()

    def answer(self) -> dict[str, Any] | None:
        """Return the answer; None when the worker died."""
        try:
            answer: dict[str, Any] = json.loads(self.answers.readline())
        except ValueError:
            return None
        return answer

    def end(self) -> str:
        """End the process and return how it ended."""
        self._process.kill()
        for pipe in (self._tasks, self.answers):
            with suppress(OSError):
                pipe.close()
        status = self._process.wait()
        return f"signal {-status}" if status < 0 else f"exit {status}"

"""Engines: who runs tasks. An engine is given the names of shards and gets counts back; Salon moves the bytes.

The embedded engine starts worker processes and needs nothing else. A worker that dies is replaced and its shard is tried
again, at most three times; then the shard is set aside, and the run continues.
"""

import json
import os
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Protocol

from salon_curate.errors import StorageError
from salon_curate.stages import Task, work_on
from salon_taxonomy.errors import SalonError

ATTEMPTS: Final = 3
_TICK: Final = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended: the receipt's counts, or an error."""

    task: Task
    counts: dict[str, int] = field(default_factory=dict)
    error: str | None = None


class Engine(Protocol):
    """Runs tasks in any order and yields each task's outcome once."""

    def __call__(self, tasks: Sequence[Task], workers: int) -> Iterator[Outcome]:
        """Run tasks with so many workers."""


def inline(tasks: Sequence[Task], workers: int = 1) -> Iterator[Outcome]:
    """Run tasks in this process, one after another."""
    for task in tasks:
        try:
            yield Outcome(task, work_on(task))
        except StorageError:
            raise
        except SalonError as error:
            yield Outcome(task, error=str(error))


def embedded(tasks: Sequence[Task], workers: int) -> Iterator[Outcome]:
    """Run tasks in worker processes of this machine.

    Raises:
        StorageError: a part cannot be written; the workers are ended, and finished parts are kept.
    """
    waiting = deque((task, 1) for task in tasks)
    busy: dict[_Worker, tuple[Task, int]] = {}
    idle: list[_Worker] = []
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or busy:
                while waiting and len(busy) < workers:
                    worker = idle.pop() if idle else _Worker()
                    task, attempt = waiting.popleft()
                    busy[worker] = (task, attempt)
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
                    worker.give(task)
                for chosen, _ in selector.select(_TICK):
                    worker = chosen.data
                    selector.unregister(chosen.fileobj)
                    task, attempt = busy.pop(worker)
                    found = worker.outcome()
                    if found is None:
                        why = worker.end()
                        if attempt < ATTEMPTS:
                            waiting.append((task, attempt + 1))
                        else:
                            yield Outcome(task, error=f"shard {task.shard}: its worker died {attempt} times ({why}); set aside")
                        continue
                    idle.append(worker)
                    if found.get("kind") == StorageError.__name__:
                        raise StorageError(found["error"])
                    yield Outcome(task, found.get("counts", {}), found.get("error"))
        finally:
            for worker in (*idle, *busy):
                worker.end()


class _Worker:
    """One worker process with its pipes."""

    def __init__(self) -> None:
        # One thread of polars per worker; set for the child alone.
        command = ["/usr/bin/env", "POLARS_MAX_THREADS=1", sys.executable, "-m", "salon_curate.worker", str(os.getpid())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603

    def give(self, task: Task) -> None:
        """Send a task; a worker that is dead already is noticed when its answer is read."""
        try:
            self.process.stdin.write(json.dumps(asdict(task)) + "\n")  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]
        except OSError:
            return

    def outcome(self) -> dict[str, Any] | None:
        """Return the answer; None when the worker died."""
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            return None
        return answer

    def end(self) -> str:
        """End the process and return how it ended."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()  # type: ignore[union-attr]
            except OSError:
                continue
        status = self.process.wait()
        return f"signal {-status}" if status < 0 else f"exit {status}"

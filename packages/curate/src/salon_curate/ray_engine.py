"""Engines by name, and the one for a cluster: Ray carries the names of shards, Salon moves the bytes.

Ray is not imported before it is chosen.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from typing import Final

from salon_curate.engine import answer_to, embedded, inline, outcome_of
from salon_curate.tasks import Engine, ShardTask, TaskResult
from salon_taxonomy.errors import InputError

_WITHOUT_UV_RUN: Final = "RAY_ENABLE_UV_RUN_RUNTIME_ENV"
"""Below ``uv run``, Ray copies the project and starts every worker with ``uv run`` in the copy: 43 s for a test of 12 s,
and no answer at all where the copy has to be built first. Workers on this machine need this environment, not a copy."""


def engine_named(name: str) -> Engine:
    """Return an engine: embedded, inline, or ray where it is installed.

    Raises:
        InputError: there is no such engine, or its package is missing.
    """
    if name not in ENGINES:
        raise InputError("there is no such engine:", column="engine", value=name, allowed=list(ENGINES))
    if name == "ray" and find_spec(name) is None:
        hint = "In a clone of Salon: uv pip install './packages/curate[ray]'"
        raise InputError("its package is not installed:", column="engine", value=name, hint=hint)
    return ENGINES[name]


def ray(tasks: Sequence[ShardTask], workers: int) -> Iterator[TaskResult]:
    """Run tasks on the Ray cluster that this process is connected to, or on a local one with ``workers`` processes.

    Ray tries a task again, up to three times, when its worker dies.

    Raises:
        StorageError: a part cannot be written.
    """
    os.environ.setdefault(_WITHOUT_UV_RUN, "0")
    import ray as library

    if not library.is_initialized():
        library.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    remote = library.remote(num_cpus=1, max_retries=2)(_answer)
    running = {remote.remote(json.dumps(asdict(task))): task for task in tasks}
    while running:
        ready, _ = library.wait(list(running), num_returns=1)
        task = running.pop(ready[0])
        try:
            yield outcome_of(task, json.loads(library.get(ready[0])))
        except library.exceptions.WorkerCrashedError as error:
            yield TaskResult(task, error=f"shard {task.shard}: its worker died ({error}); set aside")


def _answer(task: str) -> str:
    return json.dumps(answer_to(ShardTask(**json.loads(task))))


ENGINES: Final[dict[str, Engine]] = {"embedded": embedded, "inline": inline, "ray": ray}

"""Engines by name, and those of other packages: Ray and Daft carry the names of shards, Salon moves the bytes.

Neither package is imported before it is chosen.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from salon_curate.engine import Engine, TaskResult, answer_to, embedded, inline, outcome_of
from salon_curate.stages import ShardTask
from salon_taxonomy.errors import InputError

_WITHOUT_UV_RUN: Final = "RAY_ENABLE_UV_RUN_RUNTIME_ENV"
"""Below ``uv run``, Ray copies the project and starts every worker with ``uv run`` in the copy: 43 s for a test of 12 s,
and no answer at all where the copy has to be built first. Workers on this machine need this environment, not a copy."""

_DAFT: Final = "daft"
"""Installed by the user. It is no extra, because it holds pyarrow below 26, and the workspace has one lock."""


def engine_named(name: str) -> Engine:
    """Return an engine: embedded, inline, or one whose package is installed (ray, daft).

    Raises:
        InputError: there is no such engine, or its package is missing.
    """
    if name not in ENGINES:
        raise InputError("there is no such engine:", column="engine", value=name, allowed=list(ENGINES))
    if name in _PACKAGES and find_spec(name) is None:
        hint = f"Install it with: pip install {_PACKAGES[name]}"
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


def daft(tasks: Sequence[ShardTask], workers: int) -> Iterator[TaskResult]:
    """Run tasks as one Daft query, ``workers`` rows at a time in processes of their own.

    Raises:
        StorageError: a part cannot be written.
    """
    library = import_module(_DAFT)

    def answer(self: object, task: str) -> str:
        return _answer(task)

    method = library.method(return_dtype=library.DataType.string())(answer)
    worker = library.cls(use_process=True, max_concurrency=workers)(type("Worker", (), {"answer": method}))
    frame = library.from_pydict({"task": [json.dumps(asdict(task)) for task in tasks]})
    answers = frame.with_column("answer", worker().answer(frame["task"])).to_pydict()
    by_task = dict(zip(answers["task"], answers["answer"], strict=True))
    for task in tasks:
        yield outcome_of(task, json.loads(by_task[json.dumps(asdict(task))]))


def _answer(task: str) -> str:
    return json.dumps(answer_to(ShardTask(**json.loads(task))))


_PACKAGES: Final = {"ray": "'salon-curate[ray]'", "daft": "daft"}
ENGINES: Final[dict[str, Engine]] = {"embedded": embedded, "inline": inline, "ray": ray, "daft": daft}

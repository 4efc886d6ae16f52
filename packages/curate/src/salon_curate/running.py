"""Run a pipeline's stages over a data set, report where it stands, and verify what is stored."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from salon_curate.costs import record_cost
from salon_curate.dataset import DataSet, Shard
from salon_curate.engine import embedded
from salon_curate.selection import wrong_copies
from salon_curate.stages import Stage, expected_parts
from salon_curate.tasks import Engine, ShardTask
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class StageStatus:
    """Where a stage stands: shards done and in all, rows done."""

    stage: str
    version: str
    done: int
    shards: int
    rows: int

    @property
    def complete(self) -> bool:
        """Return whether every shard has its part."""
        return self.done == self.shards


@dataclass(slots=True)
class StageProgress:
    """How far one run of a stage has come; ``pictures_per_second`` and ``eta_seconds`` are of this run."""

    stage: str
    done: int
    total: int
    rows: int
    rows_total: int
    problems: int
    seconds: float

    @property
    def pictures_per_second(self) -> float:
        """Return the rate since the stage was started."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta_seconds(self) -> float | None:
        """Return the time that the rest will take at this rate; None before the first shard is done."""
        return (self.rows_total - self.rows) * self.seconds / self.rows if self.rows else None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did: parts made and kept, rows with a problem, and shards set aside with the reason."""

    made: int
    kept: int
    problems: int
    set_aside: tuple[str, ...]
    stopped: str | None = None


def run(
    dataset: DataSet,
    stages: Sequence[Stage],
    *,
    workers: int = 1,
    engine: Engine = embedded,
    shards: range | None = None,
    watch: Callable[[StageProgress], None] | None = None,
    on_start: Callable[[int, int], None] | None = None,
) -> RunResult:
    """Make every missing part, stage after stage; parts that exist are kept.

    Args:
        dataset: an open data set.
        stages: in order; a stage reads columns of the shard and of stages before it.
        workers: processes of the engine.
        engine: see :mod:`~salon_curate.engine`.
        shards: only these, by place; default: all. Several processes may work on one data set at once, each on its own.
        watch: called after each shard.
        on_start: called with how many parts exist, and how many there will be.

    Raises:
        InputError: the data set has no pictures, a shard has changed, or the pipeline contradicts itself.
        StorageError: another process works on one of the shards, or a part cannot be written; what is finished is kept.
    """
    if not dataset.shards:
        raise InputError(
            "the data set has no pictures", source=dataset.folder, hint=f"salon curate import {dataset.folder} SOURCE"
        )
    wanted = shards or range(len(dataset.shards))
    with dataset.working_on(wanted):
        return _made(dataset, stages, wanted, engine, workers, watch, on_start)


def _made(
    dataset: DataSet,
    stages: Sequence[Stage],
    wanted: range,
    engine: Engine,
    workers: int,
    watch: Callable[[StageProgress], None] | None,
    on_start: Callable[[int, int], None] | None,
) -> RunResult:
    """Make every missing part of some shards, which this process holds."""
    expected = expected_parts(dataset, stages)
    dataset.refuse_changed()
    if on_start is not None:
        names = {stage.name: parts_present(dataset, stage) for stage in stages}
        have = sum(Path(expected[name][number][0]).name in there for name, there in names.items() for number in wanted)
        on_start(have, len(stages) * len(wanted))
    parts = kept = problems = 0
    aside: list[str] = []
    stopped = None
    for stage in stages:
        present = parts_present(dataset, stage)
        tasks: list[ShardTask] = []
        for number in wanted:
            part, inputs = expected[stage.name][number]
            if Path(part).name in present:
                kept += 1
                continue
            if any(not (dataset.folder / each).exists() for each in inputs):
                continue  # the shard was set aside by an earlier stage
            shard = dataset.shards[number]
            tasks.append(
                ShardTask(str(dataset.folder), stage.where, stage.name, stage.parameters, shard.name, shard.rows, inputs, part)
            )
        if not tasks:
            continue
        progress = StageProgress(stage.name, 0, len(tasks), 0, sum(task.rows for task in tasks), 0, 0.0)
        began = time.monotonic()
        for outcome in stage.results(dataset, expected[stage.name], tasks, engine, workers):
            progress.done += 1
            progress.rows += outcome.task.rows
            progress.seconds = time.monotonic() - began
            if outcome.error is not None:
                aside.append(outcome.error)
            else:
                record_cost(dataset, stage, outcome)
                parts += 1
                problems += outcome.counts.get("problems", 0)
                progress.problems += outcome.counts.get("problems", 0)
            if watch is not None:
                watch(progress)
        if stage.stopped is not None:
            stopped = stage.stopped
            break
    return RunResult(parts, kept, problems, tuple(aside), stopped)


def parts_present(dataset: DataSet, stage: Stage) -> set[str]:
    """Return the names of the files in a stage's folder."""
    folder = dataset.folder / stage.folder
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def status(dataset: DataSet, stages: Sequence[Stage]) -> list[StageStatus]:
    """Return where every stage stands, in order."""
    expected = expected_parts(dataset, stages)
    statuses = []
    for stage in stages:
        present = parts_present(dataset, stage)
        parts = zip(dataset.shards, expected[stage.name], strict=True)
        done = [shard for shard, part in parts if Path(part.path).name in present]
        statuses.append(
            StageStatus(stage.name, stage.version, len(done), len(dataset.shards), sum(shard.rows for shard in done))
        )
    return statuses


def verify(dataset: DataSet, stages: Sequence[Stage]) -> list[str]:
    """Read everything that the manifest and the pipeline name, and return what is wrong, a sentence each.

    Shards are hashed; parts must be readable, with the shard's keys in order, the stage's columns, a receipt of their stage,
    and the bytes that the receipt was written for. Copies of columns in ``cache/`` are compared with what they copy.
    """
    wrong = []
    keys = {}
    for shard in dataset.shards:
        path = dataset.shard_path(shard.name)
        try:
            if file_sha256(path) == shard.sha256:
                keys[shard.name] = dataset.keys(shard)
            else:
                wrong.append(f"{path}: has changed since it was written")
        except FileNotFoundError:
            wrong.append(f"{path}: is missing")
        except OSError as error:
            wrong.append(f"{path}: cannot be read ({error.strerror})")
    expected = expected_parts(dataset, stages)
    for stage in stages:
        for shard, part in zip(dataset.shards, expected[stage.name], strict=True):
            path = dataset.folder / part.path
            if shard.name in keys and (path.exists() or path.is_symlink()):
                wrong += [f"{path}: {problem}" for problem in _wrong_part(path, stage, shard, keys[shard.name])]
    return wrong + wrong_copies(dataset, stages)


def _wrong_part(path: Path, stage: Stage, shard: Shard, keys: "pl.Series") -> list[str]:
    """Return what is wrong with a part of a shard that is as it was written."""
    import polars as pl

    problem = stage.part_problem(path, shard)
    if problem is not None:
        return [problem]
    try:
        part = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        return [f"cannot be read ({error})"]
    if dict(part.schema) != stage.columns:
        return ["its columns are not those of the stage"]
    return [] if part["key"].equals(keys) else [f"its keys are not those of shard {shard.name}"]

"""What parts took to make: ``costs.jsonl``, one line for each part that a run made; plans and simulations read it."""

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from salon_curate.dataset import DataSet
from salon_curate.files import append_line
from salon_curate.stages import Stage
from salon_curate.tasks import Spent, TaskResult
from salon_taxonomy.errors import StorageError

COSTS: Final = "costs.jsonl"


@dataclass(frozen=True, slots=True)
class PartCost:
    """What one part took: see :class:`~salon_curate.tasks.Spent`; and the bytes that were read and written for it."""

    rows: int
    bytes_read: int
    bytes_written: int
    spent: Spent

    def quantity(self, name: str) -> float | None:
        """Return a quantity of :data:`~salon_curate.planning.QUANTITIES`; None where it was not measured.

        The seconds of a part whose replies came from the journal are no measurement of a judge.
        """
        if name == "seconds":
            return None if self.spent.replayed else self.spent.seconds + (0.0 if self.spent.started else self.spent.overhead)
        value: float | None = getattr(self, name) if name.startswith("bytes") else getattr(self.spent, name)
        return value


def record_cost(dataset: DataSet, stage: Stage, outcome: TaskResult) -> None:
    """Append what a stage's part took to ``costs.jsonl``.

    Raises:
        StorageError: the file cannot be written.
    """
    task, path = outcome.task, dataset.folder / COSTS
    shard = dataset.shard_path(task.shard)
    sources = [dataset.folder / each for each in task.inputs] + ([shard] if "image" in stage.reads else [])
    try:
        line = {
            "stage": stage.identity,
            "shard": task.shard,
            "rows": task.rows,
            "bytes_read": sum(each.stat().st_size for each in sources),
            "bytes_written": (dataset.folder / task.output).stat().st_size,
            "spent": asdict(outcome.spent),
        }
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            append_line(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageError.of(error, path) from error


def recorded_costs(dataset: DataSet) -> dict[tuple[str, str], PartCost]:
    """Return the last recorded cost by a stage's identity and a shard's name.

    A line that was cut off is left out. Where the journal had a part's replies, its seconds are those of the time before.
    """
    costs: dict[tuple[str, str], PartCost] = {}
    path = dataset.folder / COSTS
    for raw in path.read_bytes().splitlines() if path.exists() else ():
        try:
            line: dict[str, Any] = json.loads(raw)
            cost = PartCost(line["rows"], line["bytes_read"], line["bytes_written"], Spent(**line["spent"]))
            before = costs.get((line["stage"], line["shard"]))
            if cost.spent.replayed and before is not None:
                timed = {name: getattr(before.spent, name) for name in ("seconds", "overhead", "started", "replayed")}
                cost = replace(cost, spent=replace(cost.spent, **timed))
            costs[line["stage"], line["shard"]] = cost
        except (ValueError, KeyError, TypeError):
            continue
    return costs

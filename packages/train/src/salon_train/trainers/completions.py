"""What a run sampled, as JSON Lines that ``salon reward audit`` reads: ``FOLDER/grpo/completions.jsonl``.

One line per kept completion: ``step``, ``example_id``, ``bucket``, ``completion``, ``truth``, ``reward`` (the weighted sum),
``rewards`` (by name), ``completion_tokens``. One line per evaluation: ``step`` and ``held_out``, the macro F1.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_train.trainers.events import TrainingEvent
from salon_train.trainers.rollouts import evenly

if TYPE_CHECKING:
    from salon_train.trainers.policy import SampledCompletions


class CompletionsFile:
    """Appends to the file; a listener of a trainer (:meth:`keep`) and a watcher of events (:meth:`happened`) at once.

    What a killed run had written after its last checkpoint is removed first: it is sampled again.

    Args:
        path: of the file.
        most: completions of each generation batch, evenly over its groups.
        resumed: the step of the checkpoint that the run goes on from; None: it begins, and so does the file.
    """

    def __init__(self, path: Path, *, most: int, resumed: int | None) -> None:
        self._path = path
        self._most = most
        _cut(path, resumed)

    def keep(self, sampled: "SampledCompletions") -> None:
        """Write some completions of a generation batch."""
        rows = []
        for place in evenly(len(sampled.completions), self._most):
            each = sampled.completions[place]
            row: dict[str, Any] = {"step": sampled.step, "example_id": each.example_id or None, "bucket": each.bucket or None}
            row |= {"completion": each.text, "truth": each.truth, "reward": each.total, "rewards": dict(each.rewards)}
            rows.append(row | {"completion_tokens": each.tokens})
        self._append(rows)

    def happened(self, event: TrainingEvent) -> None:
        """Write the metric of an evaluation; an undefined one is no line."""
        value = event.facts.get("f1_macro") if event.what == "evaluated" else None
        if value is not None:
            self._append([{"step": event.step, "held_out": value}])

    def _append(self, rows: list[dict[str, Any]]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _cut(path: Path, resumed: int | None) -> None:
    """Leave what stood in the file when the checkpoint was written."""
    if not path.is_file():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue  # the end of the file, or a line that a kill cut off
        if resumed is not None and _stands(row, resumed):
            kept.append(f"{line}\n")
    part = path.with_suffix(".part")
    part.write_text("".join(kept), encoding="utf-8")
    part.replace(path)


def _stands(row: Mapping[str, Any], resumed: int) -> bool:
    """A checkpoint is written after the evaluation of its step, and before the step's completions are sampled."""
    step: int = row["step"]
    return step < resumed or (step == resumed and "held_out" in row)

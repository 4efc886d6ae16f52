"""What a run sampled, as JSON Lines that ``salon reward audit`` reads: ``FOLDER/grpo/completions.jsonl``.

One line per kept completion: ``step``, ``group_id``, ``example_id``, ``bucket``, ``completion``, ``truth``, ``reward`` (the
weighted sum), ``rewards`` (by name, and their terms as ``NAME/TERM``), ``completion_tokens``. One line per evaluation: ``step``
and ``held_out``, the metric that the monitors hold against the reward.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_rewards.line_files import file_lines, json_lines
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole
from salon_train.run.events import TrainingEvent
from salon_train.run.rollouts import evenly

if TYPE_CHECKING:
    from salon_train.run.completion_parsing import SampledCompletions


class CompletionsFile:
    """Appends to the file; a listener of a trainer (:meth:`keep`) and a watcher of events (:meth:`happened`) at once.

    What a killed run had written after its last checkpoint is removed first: it is sampled again.

    Args:
        path: of the file.
        most: completions of each generation batch, evenly over its groups.
        metric: of an evaluation, by name.
        resumed: the step of the checkpoint that the run continues from; None: it begins, and so does the file.
    """

    def __init__(self, path: Path, *, most: int, metric: str, resumed: int | None) -> None:
        self._path = path
        self._most = most
        self._metric = metric
        _cut(path, resumed)

    def keep(self, sampled: "SampledCompletions") -> None:
        """Write some completions of a generation batch."""
        rows = []
        for number in evenly(len(sampled.completions), self._most):
            completion = sampled.completions[number]
            row: dict[str, Any] = {"step": sampled.step, "group_id": f"{sampled.step}/{completion.group}"}
            row |= {"example_id": completion.example_id or None, "bucket": completion.bucket or None}
            row |= {"completion": completion.text, "truth": completion.truth, "reward": completion.total}
            row |= {"rewards": {**completion.rewards, **completion.terms}}
            rows.append(row | {"completion_tokens": completion.tokens})
        self._append(rows)

    def happened(self, event: TrainingEvent) -> None:
        """Write the metric of an evaluation; an undefined one is no line."""
        value = event.facts.get(self._metric) if event.what == "evaluated" else None
        if value is not None:
            self._append([{"step": event.step, "held_out": value}])

    def _append(self, rows: list[dict[str, Any]]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _cut(path: Path, resumed: int | None) -> None:
    """Cut the file back to the lines that it had when the checkpoint was written.

    Raises:
        InputError: for a line that this file never wrote, unless it is the last one and a kill cut it off.
    """
    if resumed is None:
        path.unlink(missing_ok=True)
        return
    if not path.is_file():
        return
    *whole, _ = file_lines(path)  # after the last line's end comes nothing, or what a kill cut off
    rows = json_lines(whole, path)
    kept = [whole[number - 1] + b"\n" for number, row in rows if _precedes(row, resumed, path, number)]
    write_whole(path, b"".join(kept))


def _precedes(row: Mapping[str, Any], resumed: int, path: Path, line: int) -> bool:
    """Whether a row was written before the checkpoint: after the evaluation of its step, and before the step is sampled."""
    step = row.get("step")
    if not isinstance(step, int):
        hint = "Remove the file, or the line, to go on without it."
        raise InputError("must be a whole number", source=path, line=line, column="step", value=step, hint=hint)
    return step < resumed or (step == resumed and "held_out" in row)

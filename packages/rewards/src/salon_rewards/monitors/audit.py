"""Run the monitors over the log of a finished run, from its first step to its last."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from salon_rewards.line_files import file_lines, json_lines, shown
from salon_rewards.monitors.monitor_set import MonitorBoard, Watched
from salon_rewards.monitors.reading import Alarm, Reading
from salon_taxonomy.errors import InputError

_COLUMNS: Final = ("truth", "matches", "reward", "example_id", "completion_tokens")


@dataclass(slots=True)
class LoggedStep:
    """The rows of one step.

    Attributes:
        step: the step.
        completions: what the policy wrote.
        columns: what the log says beside each completion, by column; None where a row leaves it out.
        held_out: the metric on held-out pictures, if this step evaluated it.
        rows: lines of the completions in the file, from 1.
    """

    step: int
    completions: list[object] = field(default_factory=list)
    columns: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    held_out: float | None = None
    rows: list[int] = field(default_factory=list)


def read_log(path: Path | str, *, reward_column: str = "reward", held_out_column: str = "held_out") -> list[LoggedStep]:
    r"""Return the steps of a JSON Lines file (gzipped or not; ``-`` is standard input), in order of their numbers.

    Each line is an object. ``step`` must be there; ``completion`` (text, or messages), ``truth`` (for R³ also ``matches``),
    ``reward``, ``example_id`` and ``completion_tokens`` speak of one completion, ``held_out`` of the step. A line without
    ``completion`` may bring ``held_out`` alone. Other keys are left out. A column that is named, and no row has, is refused.

    Raises:
        InputError: for a file that cannot be read, a line that is no JSON object, a value that its column does not allow, two
            different held-out values of one step, a column that no row has, or a log without any completion.

    Example:
        >>> import tempfile
        >>> log = Path(tempfile.mkdtemp()) / "run.jsonl"
        >>> _ = log.write_text('{"step": 1, "completion": "Fine.", "reward": 0.5}\n{"step": 1, "held_out": 0.8}\n')
        >>> [step] = read_log(log)
        >>> step.completions, step.columns["reward"], step.held_out
        (['Fine.'], [0.5], 0.8)
    """
    source = shown(path)
    steps: dict[int, LoggedStep] = {}
    keys: set[str] = set()
    for line, row in json_lines(file_lines(Path(path)), source):
        keys.update(row)
        step = row.get("step")
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            hint = None if "step" in row else f"The row has: {', '.join(sorted(row)) or 'nothing'}."
            raise InputError(
                "must be a whole number of 0 or more", source=source, line=line, column="step", value=step, hint=hint
            )
        logged = steps.setdefault(step, LoggedStep(step))
        held_out = row.get(held_out_column)
        if held_out is not None:
            if isinstance(held_out, bool) or not isinstance(held_out, int | float) or not math.isfinite(held_out):
                raise InputError("must be a number", source=source, line=line, column=held_out_column, value=held_out)
            if logged.held_out is not None and logged.held_out != held_out:
                problem = f"step {step} has another value already, {logged.held_out!r};"
                raise InputError(problem, source=source, line=line, column=held_out_column, value=held_out)
            logged.held_out = float(held_out)
        completion = row.get("completion")
        if completion is None:
            if held_out is None:
                hint = f"The row has: {', '.join(sorted(row))}."
                raise InputError("is missing", source=source, line=line, column="completion", hint=hint)
            continue
        logged.completions.append(completion)
        logged.rows.append(line)
        for name in _COLUMNS:
            logged.columns[name].append(row.get({"reward": reward_column}.get(name, name)))
    if not any(logged.completions for logged in steps.values()):
        raise InputError("holds no completion", source=source)
    for column, usual in ((reward_column, "reward"), (held_out_column, "held_out")):
        if column not in keys and column != usual:
            raise InputError("no row has this column", source=source, column=column, allowed=sorted(keys))
    return [steps[step] for step in sorted(steps)]


@dataclass(frozen=True, slots=True)
class MonitorHistory:
    """One monitor over a run.

    Attributes:
        name: the monitor's.
        readings: one per step.
    """

    name: str
    readings: tuple[Reading, ...]

    @property
    def _had(self) -> tuple[Reading, ...]:
        return tuple(item for item in self.readings if item.value is not None)

    @property
    def first(self) -> Reading | None:
        """The first reading with a value."""
        return next(iter(self._had), None)

    @property
    def last(self) -> Reading | None:
        """The last reading with a value."""
        return next(iter(self._had[::-1]), None)

    @property
    def worst(self) -> Reading | None:
        """The reading with the gravest verdict; of several, the one that went furthest."""
        return max(self._had, key=_gravity, default=None)

    @property
    def warned(self) -> Reading | None:
        """The first reading that warns or stops."""
        return next((item for item in self.readings if item.verdict in (Alarm.WARN, Alarm.STOP)), None)

    @property
    def alarmed(self) -> Reading | None:
        """The first reading as grave as the worst one; None where none warns or stops."""
        worst = self.worst
        if worst is None or worst.verdict is Alarm.OK:
            return None
        return next(item for item in self.readings if item.verdict is worst.verdict)

    @property
    def why_none(self) -> str:
        """Why there is no reading at all; empty where there is one."""
        return "" if self._had or not self.readings else self.readings[-1].detail


@dataclass(frozen=True, slots=True)
class Audit:
    """A run as its monitors saw it.

    Attributes:
        steps: what they said of each step.
    """

    steps: tuple[Watched, ...]

    @property
    def completions(self) -> int:
        """How many completions the log holds."""
        return sum(seen.completions for seen in self.steps)

    @property
    def unreadable(self) -> int:
        """How many of them no grammar takes."""
        return sum(seen.unreadable for seen in self.steps)

    @property
    def verdict(self) -> Alarm:
        """The gravest verdict of any monitor at any step."""
        return max((seen.verdict for seen in self.steps), key=lambda alarm: alarm.severity, default=Alarm.OK)

    @property
    def histories(self) -> tuple[MonitorHistory, ...]:
        """The same by monitor."""
        by_monitor = zip(*(seen.readings for seen in self.steps), strict=True)
        return tuple(MonitorHistory(readings[0].name, readings) for readings in by_monitor)


def audit(steps: Iterable[LoggedStep], board: MonitorBoard, *, source: str | None = None) -> Audit:
    """Show the steps of a log to a board that has seen none yet.

    Raises:
        InputError: for a value that its column does not allow; the message names the line where the log knows it.

    Example:
        >>> from salon_rewards.monitors import watch
        >>> columns = {name: [None] * 40 for name in _COLUMNS}
        >>> found = audit([LoggedStep(7, ["???"] * 40, columns, rows=list(range(1, 41)))], watch())
        >>> str(found.verdict), [history.name for history in found.histories if history.alarmed]
        ('stop', ['unreadable'])
    """
    seen = []
    for logged in steps:
        columns = {name: values if any(v is not None for v in values) else None for name, values in logged.columns.items()}
        if columns["example_id"] is not None and None in columns["example_id"]:
            lines = zip(columns["example_id"], logged.rows, strict=True)
            columns["example_id"] = [f"line {line}" if name is None else name for name, line in lines]
        try:
            seen.append(board.look(logged.completions, step=logged.step, held_out=logged.held_out, **columns))  # type: ignore[arg-type]
        except InputError as error:
            if error.row is None:
                raise
            column = "completion" if error.column == "completions" else error.column
            raise error.at(source=source, line=logged.rows[error.row - 1], column=column) from None
    return Audit(tuple(seen))


def _gravity(reading: Reading) -> tuple[int, float]:
    severity = 0 if reading.verdict is None else reading.verdict.severity
    value = reading.value or 0.0
    return severity, 1 / value if reading.downwards and value > 0 else value

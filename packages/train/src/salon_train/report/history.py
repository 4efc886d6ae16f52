"""What one stage's ``log.jsonl`` tells: curves over steps, what the monitors said, where it was resumed, how it ended.

After a kill, rows of steps that were done again are in the log twice; only those that the weights come from are kept.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from salon_taxonomy.answers.strict_json import Json
from salon_taxonomy.errors import InputError
from salon_train.report.log_lines import LogLine, LogLines

HELD_OUT: Final = "held_out/"
"""Curves of evaluations on held-out pictures begin with this."""
MONITOR: Final = "monitor/"
"""Curves of monitors' readings begin with this."""
_NO_FACTS: Final = frozenset({"what", "step", "steps", "at", "seconds", "verdict"})
_REASONS: Final = {
    "equal_rewards": "the completions of every group earned the same, so nothing was learned",
    "invalid_answers": "no completion could be read as an answer",
    "unscored": "no reward scored any completion",
    "loss": "the loss was no number",
    "gradient": "the gradient was no number",
}
_ENDED: Final = re.compile(r"^ended at step \d+: ")
"""How a run's own sentence begins; the steps stand before it here."""


class State(StrEnum):
    """How a stage stands."""

    FINISHED = "finished"
    ENDED = "ended"
    """It was given up: it degenerated, or a monitor said stop."""
    UNFINISHED = "unfinished"
    """The log has no end: the run continues, or was killed."""
    EMPTY = "empty"
    """Nothing is logged yet."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A monitor began to warn, or to say stop.

    Attributes:
        step: at which.
        monitor: its name.
        verdict: ``warn`` or ``stop``.
        value, threshold: its number and what it was held against; None where the log does not say.
        detail: in its own words.
    """

    step: int
    monitor: str
    verdict: str
    value: float | None
    threshold: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that a curve may turn at.

    Attributes:
        step: optimizer steps that had been done.
        what: ``resumed``, ``begun again`` or ``ended``.
        words: a sentence.
    """

    step: int
    what: str
    words: str


@dataclass(slots=True)
class History:
    """One stage.

    Attributes:
        stage: its name.
        path: of its log.
        state: how it stands.
        step: optimizer steps done, as far as the log goes.
        steps: of the whole stage; None where the log does not say.
        at: when the last line was written.
        seconds: that it took, over all calls, with the steps that were done again.
        reason: why it was ended, in one word or two; empty where it was not.
        words: why it was ended, as the run said it; empty where it was not, or did not say.
        moments: in the order of the log.
        warned: those that the weights come from.
        alarms: verdicts ``warn`` and ``stop`` by monitor and step.
        curves: numbers by name and step; None where there was none.
        torn: lines of which something was cut off.
    """

    stage: str
    path: Path
    state: State = State.EMPTY
    step: int = 0
    steps: int | None = None
    at: datetime | None = None
    seconds: float = 0.0
    reason: str = ""
    words: str = ""
    moments: list[Moment] = field(default_factory=list)
    warned: list[Warned] = field(default_factory=list)
    alarms: dict[str, dict[int, str]] = field(default_factory=dict)
    curves: dict[str, dict[int, float | None]] = field(default_factory=dict)
    torn: list[int] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """How the stage stands, in a sentence or two."""
        of = f"{self.step:,}" if self.steps is None else f"{self.step:,} of {self.steps:,}"
        when = "" if self.at is None else f" ({self.at:%Y-%m-%d %H:%M} UTC)"
        if self.state is State.FINISHED:
            return f"Finished: {of} steps{when}."
        if self.state is State.ENDED:
            return f"Given up after {of} steps{when}: {_ENDED.sub('', self.words) or self._why()}"
        if self.state is State.EMPTY:
            return "Nothing is logged yet."
        return f"Not finished: {of} steps{when}. It is still running, or was killed; then the same command goes on."

    def _why(self) -> str:
        """For logs that hold the reason alone."""
        monitor = self.reason.removeprefix("monitor ")
        if monitor == self.reason:
            return f"{_REASONS.get(self.reason, self.reason or 'the log does not say why')}."
        value = self.curves.get(MONITOR + monitor, {}).get(self.step)
        verdict = self.alarms.get(monitor, {}).get(self.step, "stop")
        return f"the monitor {monitor} says {verdict}{'' if value is None else f' at {value:.4g}'}."


def read_history(path: Path, stage: str) -> History:
    """Read a log, also one that is being written.

    Args:
        path: of ``log.jsonl``.
        stage: whose it is.

    Raises:
        InputError: it cannot be read, or a line is not one of a training log; it names the line.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
        >>> rows = ["started", "learned", "learned", "resumed", "learned"]
        >>> steps = zip(rows, (0, 1, 2, 1, 2), strict=True)
        >>> lines = [f'{{"what": "{what}", "step": {step}, "loss": {10 - place}}}' for place, (what, step) in enumerate(steps)]
        >>> _ = path.write_text("\\n".join(lines) + "\\n")
        >>> history = read_history(path, "sft")
        >>> history.curves["loss"], [moment.words for moment in history.moments]
        ({1: 9.0, 2: 6.0}, ['Resumed at step 1; 1 step was done again.'])
    """
    history = History(stage, path)
    lines = LogLines(path, first="what")
    call = 0.0
    for line in lines:
        what = line.values.get("what")
        if not isinstance(what, str):
            raise InputError("must be a word", source=path, line=line.number, key="what", value=what)
        seconds = number(line.values.get("seconds")) or 0.0
        if what in ("started", "resumed"):
            history.seconds += call
            call = 0.0
            _begun(history, what, line.step)
        else:
            call = max(call, seconds)
            _happened(history, what, line)
        if history.state is State.EMPTY:
            history.state = State.UNFINISHED
        history.step = max(history.step, line.step)
        steps = line.values.get("steps")
        if isinstance(steps, int) and not isinstance(steps, bool) and steps >= 0:
            history.steps = steps
        history.at = _time(line.values.get("at")) or history.at
    history.seconds += call
    history.torn = lines.torn
    return history


def number(value: Json) -> float | None:
    """Return a finite number; None for anything else.

    Example:
        >>> number(3), number(True), number("3")
        (3.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _happened(history: History, what: str, line: LogLine) -> None:
    values, step = line.values, line.step
    if what == "watched" and "readings" in values:
        _watched(history, values, step)
    elif what in ("learned", "evaluated", "watched"):
        prefix = {"learned": "", "evaluated": HELD_OUT, "watched": MONITOR}[what]
        for name, value in values.items():  # logs of earlier versions have two keys for each monitor
            if what == "watched" and name.endswith("/verdict"):
                if value in ("warn", "stop"):
                    history.alarms.setdefault(name.removesuffix("/verdict"), {})[step] = str(value)
            elif name not in _NO_FACTS and (value is None or number(value) is not None):
                history.curves.setdefault(prefix + name, {})[step] = number(value)
    elif what == "warned":
        history.warned.append(
            Warned(
                step,
                text_of(values.get("monitor")),
                text_of(values.get("verdict")),
                number(values.get("value")),
                number(values.get("threshold")),
                text_of(values.get("detail")),
            )
        )
    elif what == "finished":
        history.state = State.FINISHED
    elif what in ("degenerated", "stopped"):
        history.state, history.reason, history.words = State.ENDED, text_of(values.get("reason")), text_of(values.get("said"))
        history.step = step
        history.moments.append(Moment(step, "ended", history.sentence))


def _watched(history: History, values: Mapping[str, object], step: int) -> None:
    """What the monitors said of a generation batch: ``readings``, one object for each."""
    readings = values.get("readings")
    for reading in readings if isinstance(readings, list) else ():
        name = reading.get("monitor") if isinstance(reading, dict) else None
        if not isinstance(name, str):
            continue
        history.curves.setdefault(MONITOR + name, {})[step] = number(reading.get("value"))
        if reading.get("verdict") in ("warn", "stop"):
            history.alarms.setdefault(name, {})[step] = str(reading["verdict"])


def _begun(history: History, what: str, step: int) -> None:
    """Begin a call: the log's steps after the checkpoint are repeated."""
    before = history.state
    again = max(0, history.step - step) if what == "resumed" else history.step
    if what == "started":
        step = -1
    for name, curve in history.curves.items():
        # At a checkpoint's step it was learned, evaluated, saved; completions of that step are sampled, and watched, after it.
        last = step - 1 if name.startswith(MONITOR) else step
        for lost in [each for each in curve if each > last]:
            del curve[lost]
    history.curves = {name: curve for name, curve in history.curves.items() if curve}
    history.alarms = {
        name: {at: verdict for at, verdict in verdicts.items() if at < step} for name, verdicts in history.alarms.items()
    }
    history.warned = [each for each in history.warned if each.step < step]
    history.moments = [each for each in history.moments if each.what != "resumed" or each.step <= step]
    history.state, history.reason, history.words, history.step = State.UNFINISHED, "", "", max(step, 0)
    if before is not State.EMPTY:
        done = f"{again:,} {'step was' if again == 1 else 'steps were'} done again" if again else "no step was done again"
        kind, how = ("resumed", "Resumed") if what == "resumed" else ("begun again", "Begun again")
        history.moments.append(Moment(max(step, 0), kind, f"{how} at step {max(step, 0):,}; {done}."))
    elif what == "resumed":
        history.moments.append(Moment(step, "resumed", f"Resumed at step {step:,}; the log before it is not here."))


def text_of(value: Json) -> str:
    """Return a value as text; empty for null."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def _time(value: Json) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return None if moment is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def last_value(curve: Mapping[int, float | None]) -> float | None:
    """Return the last number of a curve; None where it has none.

    Example:
        >>> last_value({1: 0.5, 2: 0.25, 3: None})
        0.25
    """
    return next((value for _, value in sorted(curve.items(), reverse=True) if value is not None), None)

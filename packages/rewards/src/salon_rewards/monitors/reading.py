"""What a monitor says of one step: a number, the threshold it is held against, and whether to go on.

A missing number is None, and so is its verdict; neither is ever 0 or ``ok`` for want of completions.
"""

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Protocol

from salon_rewards.monitors.batch import StepBatch
from salon_taxonomy.errors import InputError


class Alarm(StrEnum):
    """What follows from a reading. The caller acts: no monitor ends a run by itself."""

    OK = "ok"
    """Nothing to see."""
    WARN = "warn"
    """Look at some completions."""
    STOP = "stop"
    """The policy has been lost to this shortcut; what is trained from here on is worth nothing."""

    @property
    def severity(self) -> int:
        """0 for ok, 1 for warn, 2 for stop."""
        return tuple(Alarm).index(self)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which value on a monitor warns, and from which on it says stop.

    Args:
        warn: a finite number.
        stop: at least ``warn``; infinity for a monitor that only warns.

    Raises:
        InputError: for anything else.
    """

    warn: float
    stop: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.warn):
            raise InputError("a threshold must be a finite number", column="warn", value=self.warn)
        if not self.stop >= self.warn:
            raise InputError("must not be below 'warn'", column="stop", value=self.stop)

    def alarm(self, value: float) -> Alarm:
        """Return what a value says by itself."""
        return Alarm.STOP if value >= self.stop else Alarm.WARN if value >= self.warn else Alarm.OK


@dataclass(frozen=True, slots=True)
class Reading:
    """One monitor's view of one step.

    Attributes:
        name: the monitor's.
        step: the optimizer's step that the completions belong to.
        value: the monitor's number, in the unit that the monitor states; None where it is missing.
        threshold: what the value is held against: the limit of ``stop`` where that was crossed, otherwise that of ``warn``.
        verdict: ok, warn or stop; None exactly where the value is None.
        samples: completions that the value rests on (for a divergence: evaluations).
        unreadable: completions of this step that say nothing to this monitor: no grammar takes them, or a part is missing.
        detail: what the value was compared with, or why it is missing; for people.
        downwards: the threshold is crossed by falling below it.
    """

    name: str
    step: int
    value: float | None
    threshold: float
    verdict: Alarm | None
    samples: int
    unreadable: int
    detail: str = ""
    downwards: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return asdict(self) | {"verdict": None if self.verdict is None else str(self.verdict)}


class Monitor(Protocol):
    """Looks at one step after another, in order. Small and picklable, so that a resumed run continues watching."""

    name: str

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        ...


def reading(
    name: str,
    batch: StepBatch,
    value: float,
    thresholds: Thresholds,
    *,
    samples: int,
    unreadable: int,
    sure: bool = True,
    detail: str = "",
) -> Reading:
    """Return a reading whose verdict follows from its value; where the evidence is weak (``sure`` is false) it is ok."""
    alarm = thresholds.alarm(value) if sure else Alarm.OK
    threshold = thresholds.stop if alarm is Alarm.STOP else thresholds.warn
    return Reading(name, batch.step, value, threshold, alarm, samples, unreadable, detail)


def no_reading(
    name: str, batch: StepBatch, thresholds: Thresholds, detail: str, *, samples: int = 0, unreadable: int = 0
) -> Reading:
    """Return a reading without a value, and why."""
    return Reading(name, batch.step, None, thresholds.warn, None, samples, unreadable, detail)

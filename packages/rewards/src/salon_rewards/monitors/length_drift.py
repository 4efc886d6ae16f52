"""Length drift: completions of the same kind that grow or shrink away from the run's beginning.

What a reward teaches that pays for words, or one under which short answers are the safe ones. Lengths are compared within one
verdict, as "normal" takes fewer words: a policy that merely changes its verdicts does not drift.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from salon_rewards.monitors.batch import ReadCompletion, StepBatch
from salon_rewards.monitors.confidence import Z
from salon_rewards.monitors.pool import MINIMUM, WINDOW, Grouped, Pool
from salon_rewards.monitors.reading import Alarm, Reading, Thresholds, no_reading
from salon_taxonomy.answers import MagicMirrorAnswer
from salon_taxonomy.errors import InputError

BASELINE_STEPS: Final = 10
"""Steps that make the baseline: with 64 completions each, a median that is known to a few percent."""
_UNREADABLE: Final = "unreadable"
_SPREAD_OF_MEDIAN: Final = 1.2533 * 1.4826
"""The standard error of a median, in median absolute deviations over the root of the count (normal distribution)."""


class _Drift(NamedTuple):
    kind: str
    ratio: float
    samples: int
    sure: bool


class LengthDrift:
    """The median length of completions over that of the run's first steps, per verdict; the verdict that drifted most counts.

    Completions that cannot be read are compared with all of the baseline together, so that a policy which writes until it is
    cut off is seen. An alarm also needs the change of the median to be above what its standard error explains. Longer and
    shorter are held against the same factor: where the value is below 1, the thresholds are 1/warn and 1/stop.

    Args:
        warn: 1.5: half as long again, or two thirds.
        stop: 3: three times as long, or a third.
        baseline_steps: how many of the first steps make the baseline; until then there is no reading.
        minimum: completions of one verdict that a reading needs.
        window: steps that may be pooled to have them.

    Raises:
        InputError: for thresholds of 1 or less, or no baseline.

    Example:
        >>> monitor = LengthDrift(baseline_steps=1)
        >>> steps = [StepBatch.read(["?" * length] * 64, step=step) for step, length in enumerate((100, 200))]
        >>> [monitor.look(step).value for step in steps]
        [None, 2.0]
    """

    name = "length_drift"

    def __init__(
        self,
        warn: float = 1.5,
        stop: float = 3.0,
        *,
        baseline_steps: int = BASELINE_STEPS,
        minimum: int = MINIMUM,
        window: int = WINDOW,
    ) -> None:
        if not warn > 1:
            raise InputError("must be above 1", column="warn", value=warn)
        if baseline_steps < 1:
            raise InputError("must be 1 or more", column="baseline_steps", value=baseline_steps)
        self.thresholds = Thresholds(warn, stop)
        self.baseline_steps = baseline_steps
        self._minimum, self._window = minimum, window
        self._seen = 0
        self._lengths: dict[str, list[int]] = {}
        self._pools: dict[str, Pool[int]] = {}

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        kinds: dict[str, list[Grouped[int]]] = {}
        for completion in batch.completions:
            kinds.setdefault(_kind(completion), []).append(((batch.step, completion.group), completion.length))
        unreadable = len(kinds.get(_UNREADABLE, ()))
        if self._seen < self.baseline_steps:
            self._seen += bool(batch.completions)
            for kind, lengths in kinds.items():
                self._lengths.setdefault(kind, []).extend(length for _, length in lengths)
            why = f"step {self._seen} of the {self.baseline_steps} that make the baseline"
            return no_reading(self.name, batch, self.thresholds, why, unreadable=unreadable)
        for kind in kinds:
            self._pools.setdefault(kind, Pool(self._minimum, self._window))
        drifts = [
            drift
            for kind, pool in self._pools.items()
            if (drift := self._drift(kind, pool, pool.add(kinds.get(kind, ())))) is not None
        ]
        if not drifts:
            why = f"no verdict has {self._minimum} completions both now and in the baseline"
            return no_reading(self.name, batch, self.thresholds, why, unreadable=unreadable)
        worst = max(drifts, key=lambda drift: (drift.sure, _factor(drift.ratio)))
        alarm = self.thresholds.alarm(_factor(worst.ratio)) if worst.sure else Alarm.OK
        limit = self.thresholds.stop if alarm is Alarm.STOP else self.thresholds.warn
        return Reading(
            self.name,
            batch.step,
            worst.ratio,
            1 / limit if worst.ratio < 1 else limit,
            alarm,
            worst.samples,
            unreadable,
            f"{worst.kind}: {worst.ratio:.2f} times the median length of the first {self.baseline_steps} steps",
            downwards=worst.ratio < 1,
        )

    def _drift(self, kind: str, pool: Pool[int], pooled: Sequence[Grouped[int]]) -> _Drift | None:
        """Return how far one kind of completion has drifted; None where there are too few, now or then."""
        if kind == _UNREADABLE:
            then = [length for lengths in self._lengths.values() for length in lengths]
        else:
            then = self._lengths.get(kind, [])
        now = [length for _, length in pooled]
        if not pool.enough(pooled) or len(then) < self._minimum:
            return None
        before, after = max(median(then), 1), max(median(now), 1)
        spread = sum((_deviation(part) * _SPREAD_OF_MEDIAN) ** 2 / len(part) for part in (then, now))
        return _Drift(kind, after / before, len(now), abs(after - before) > Z * math.sqrt(spread))


def _kind(completion: ReadCompletion) -> str:
    if completion.answer is None:
        return _UNREADABLE
    if isinstance(completion.answer, MagicMirrorAnswer):
        return "normal" if completion.answer.normal else "artifact"
    return "matching" if completion.answer.matches else "not matching"


def _deviation(lengths: Sequence[int]) -> float:
    middle = median(lengths)
    return median([abs(length - middle) for length in lengths])


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio)

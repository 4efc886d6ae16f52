"""Pool the newest steps until they contain enough completions for a reading."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from statistics import fmean
from typing import Generic, TypeAlias, TypeVar

from salon_rewards.monitors.batch import StepBatch
from salon_rewards.monitors.confidence import wilson_lower
from salon_rewards.monitors.reading import Reading, Thresholds, no_reading, reading
from salon_taxonomy.errors import InputError

T = TypeVar("T")
Grouped: TypeAlias = tuple[Hashable, T]
"""Something seen, and the picture that it was seen on."""

MINIMUM = 32
"""Completions that a reading rests on at least: a rate of one in ten then shows with probability 0.97."""
PICTURES = 24
"""Pictures that are wanted: from so many on, Wilson's interval tells a share of 0.8 from one of 0.5."""
WINDOW = 10
"""Steps that may be put together at most; what lies further back is another policy's."""


class Pool(Generic[T]):
    """What was seen in the newest steps: as many as hold ``minimum`` completions of ``PICTURES`` pictures, at most ``window``.

    Raises:
        InputError: for a minimum or window below 1.

    Example:
        >>> pool = Pool(minimum=3, window=4)
        >>> steps = [pool.add([((step, picture), 1) for picture in range(9)]) for step in range(5)]
        >>> [len(step) for step in steps]
        [9, 18, 27, 27, 27]
    """

    def __init__(self, minimum: int = MINIMUM, window: int = WINDOW) -> None:
        for name, value in (("minimum", minimum), ("window", window)):
            if value < 1:
                raise InputError("must be 1 or more", column=name, value=value)
        self.minimum = minimum
        self._steps: deque[Sequence[Grouped[T]]] = deque(maxlen=window)

    def add(self, members: Sequence[Grouped[T]]) -> list[Grouped[T]]:
        """Add a step's items, each with its picture; all that count now, oldest first."""
        self._steps.append(members)
        pooled: list[Sequence[Grouped[T]]] = []
        pictures: set[Hashable] = set()
        count = 0
        for step in reversed(self._steps):
            pooled.append(step)
            pictures.update(picture for picture, _ in step)
            count += len(step)
            if count >= self.minimum and len(pictures) >= PICTURES:
                break
        while len(self._steps) > len(pooled):
            self._steps.popleft()
        return [item for step in reversed(pooled) for item in step]

    def enough(self, members: Sequence[Grouped[T]]) -> bool:
        """Return whether so many items carry a reading. Fewer pictures than wanted do; a share of them is then less sure."""
        return len(members) >= self.minimum

    def shortfall(self, members: Sequence[object], what: str) -> str:
        """Return why there is no reading."""
        return f"{len(members)} {what}, {self.minimum} are needed"


class PooledMonitor(Generic[T]):
    """Base of the monitors that pool the newest steps.

    Args:
        warn: the value from which on it warns; None: the monitor's own.
        stop: the value from which on it says stop; None: the monitor's own.
        minimum: completions that a reading needs.
        window: steps that may be pooled to have them.
    """

    name: str
    own: Thresholds
    """The monitor's own thresholds."""

    def __init__(
        self, warn: float | None = None, stop: float | None = None, *, minimum: int = MINIMUM, window: int = WINDOW
    ) -> None:
        self.thresholds = Thresholds(self.own.warn if warn is None else warn, self.own.stop if stop is None else stop)
        self._pool: Pool[T] = Pool(minimum, window)

    def _reading(
        self, batch: StepBatch, value: float, *, samples: int, unreadable: int, sure: bool = True, detail: str = ""
    ) -> Reading:
        facts = {"samples": samples, "unreadable": unreadable}
        return reading(self.name, batch, value, self.thresholds, **facts, sure=sure, detail=detail)

    def _none(self, batch: StepBatch, why: str, *, samples: int = 0, unreadable: int = 0) -> Reading:
        return no_reading(self.name, batch, self.thresholds, why, samples=samples, unreadable=unreadable)

    def _detected(
        self,
        batch: StepBatch,
        looked_at: Sequence[Grouped[T]],
        *,
        what: str,
        false_positive_rate: float,
        unreadable: int,
        detail: Callable[[float, Sequence[T]], str],
    ) -> Reading:
        """Return the reading of a step: the share, 0 to 1, of completions in which a fallible detector fires.

        An alarm also needs the lower end of Wilson's interval, over pictures, to be above its false positive rate.

        Args:
            batch: the step.
            looked_at: what the detector says of each completion, with its picture; what is false counts as nothing found.
            what: is looked at, for a reading that has too little of it.
            false_positive_rate: how often the detector fires where nothing is wrong, 0 to 1.
            unreadable: completions of the step that say nothing to this monitor.
            detail: the reading's words, from the share and what the detector says of all that are pooled.
        """
        pooled = self._pool.add(looked_at)
        if not self._pool.enough(pooled):
            return self._none(batch, self._pool.shortfall(pooled, what), samples=len(pooled), unreadable=unreadable)
        members = [each for _, each in pooled]
        share = fmean(bool(each) for each in members)
        sure = wilson_lower(share, len({picture for picture, _ in pooled})) > false_positive_rate
        return self._reading(batch, share, samples=len(pooled), unreadable=unreadable, sure=sure, detail=detail(share, members))

"""Monitors of the pictures of ``salon train image``: does the policy game its reward?

step's pictures ─┬─► grids, blur, saturation_drift, contrast_drift, diversity_loss, repeated_layout, watermarks, wandering_marks
                 │   against the first steps
measurements ────┼─► reference_drift    against the pictures of the same noise before the first step
rewards ─────────┴─► reward_metric_divergence    the reward rises while that of the prompts held out falls

Every number is 0 where nothing has changed and larger the worse it is; ``docs/monitors.md`` has the thresholds and what they
were measured on.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final

from salon_rewards.monitors import AnswerForm, Reading, RewardMetricDivergence, StepBatch, Thresholds, Watched
from salon_rewards.monitors.reading import no_reading, reading
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import MonitorsSection
from salon_train.image_policy.picture_measures import (
    Pictures,
    contrast,
    grids,
    likeness,
    marks,
    saturation,
    sharpness,
    variety,
    wandering,
)
from salon_train.run.monitor_hook import RunWatch

BASELINE: Final = 10
"""Steps that the others are compared with."""
WINDOW: Final = 5
"""Steps whose mean is compared."""
_FEWEST: Final = 8
_SURE: Final = 4.0
"""Standard errors by which a change must be larger than what the first steps explain."""
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class PictureBatch:
    """What one step drew.

    Attributes:
        pictures: shape (pictures, 3, height, width), values from 0 to 1.
        prompts: of the pictures.
        numbers: the step, its rewards (None where missing) and the measurement before it.
        drift: of the measurement before it from the one before the first step (:func:`drift`); None without one.
    """

    pictures: Pictures
    prompts: Sequence[str]
    numbers: StepBatch
    drift: float | None = None


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a monitor measures a step, and what it makes of the mean now and the mean of the first steps."""

    measure: Callable[[Pictures, Sequence[str]], float | None]
    change: Callable[[float, float], float]
    warn: float
    stop: float


def _ratio(now: float, before: float) -> float:
    return math.log2((now + _TINY) / (before + _TINY))


def _way_to_one(now: float, before: float) -> float:
    return (now - before) / max(1 - before, _TINY)


PICTURE_MONITORS: Final = MappingProxyType(
    {
        "grids": _Kind(grids, _way_to_one, 0.2, 0.5),
        "blur": _Kind(sharpness, lambda now, before: -_ratio(now, before), 0.5, 1.0),
        "saturation_drift": _Kind(saturation, lambda now, before: abs(now - before), 0.1, 0.2),
        "contrast_drift": _Kind(contrast, lambda now, before: abs(_ratio(now, before)), 0.5, 1.0),
        "diversity_loss": _Kind(variety, lambda now, before: 1 - now / max(before, _TINY), 0.4, 0.7),
        "repeated_layout": _Kind(likeness, _way_to_one, 0.3, 0.6),
        "watermarks": _Kind(marks, _way_to_one, 0.2, 0.5),
        "wandering_marks": _Kind(wandering, _way_to_one, 0.1, 0.3),
    }
)
"""Monitors of a step's pictures by name."""


class PictureMonitor:
    """Compares a number of the last five steps' pictures with that of the first ten.

    An alarm needs a change above the threshold that is also larger than four of its standard errors, by the differences between
    neighbours of the first steps: a policy that games from its first step makes these steps drift, not differ. A step with
    fewer than eight pictures, or whose number is missing, is left out; without enough steps there is no value.

    Args:
        name: of ``PICTURE_MONITORS``.
        warn, stop: None: its own.

    Example:
        >>> import numpy as np
        >>> monitor = PictureMonitor("saturation_drift")
        >>> grey = np.full((8, 3, 4, 4), 0.5, np.float32)
        >>> red = grey * np.array([2, 1, 1], np.float32)[:, None, None]
        >>> steps = [(number, grey if number < 12 else red) for number in range(20)]
        >>> batches = [PictureBatch(drawn, ["a"] * 8, StepBatch(n, AnswerForm.R3, ())) for n, drawn in steps]
        >>> [None if (seen := monitor.look(batch)).value is None else str(seen.verdict) for batch in batches][13:]
        [None, 'stop', 'stop', 'stop', 'stop', 'stop', 'stop']
    """

    def __init__(self, name: str, warn: float | None = None, stop: float | None = None) -> None:
        kind = PICTURE_MONITORS[name]
        self.name = name
        self.thresholds = Thresholds(kind.warn if warn is None else warn, kind.stop if stop is None else stop)
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=WINDOW)

    def look(self, batch: PictureBatch) -> Reading:
        """Return the reading of one step."""
        kind, count = PICTURE_MONITORS[self.name], len(batch.pictures)
        value = kind.measure(batch.pictures, batch.prompts) if count >= _FEWEST else None
        if value is not None and math.isfinite(value):
            (self._first if len(self._first) < BASELINE else self._last).append(value)
        if len(self._last) < WINDOW:
            why = f"{len(self._first) + len(self._last)} steps of the {BASELINE + WINDOW} that a comparison needs"
            return no_reading(self.name, batch.numbers, self.thresholds, why, samples=count)
        now, before = fmean(self._last), fmean(self._first)
        error = _spread(self._first) * math.sqrt(1 / BASELINE + 1 / WINDOW)
        return reading(
            self.name,
            batch.numbers,
            kind.change(now, before),
            self.thresholds,
            samples=WINDOW * count,
            unreadable=0,
            sure=abs(now - before) > _SURE * error,
            detail=f"{now:.3g} in the last {WINDOW} steps, {before:.3g} in the first {BASELINE}",
        )


class ReferenceDrift:
    """:func:`drift` of the last measurement from the one before the first step; between measurements the last stands.

    Args:
        warn: 1: pictures have changed as much as if their noise were another.
        stop: 1.5.
    """

    name = "reference_drift"

    def __init__(self, warn: float = 1.0, stop: float = 1.5) -> None:
        self.thresholds = Thresholds(warn, stop)
        self._last: float | None = None

    def look(self, batch: PictureBatch) -> Reading:
        """Return the reading of one step."""
        self._last = self._last if batch.drift is None else batch.drift
        if self._last is None:
            return no_reading(self.name, batch.numbers, self.thresholds, "no measurement after the first step")
        detail = "1 is the distance between two pictures of a prompt before the first step"
        return reading(self.name, batch.numbers, self._last, self.thresholds, samples=1, unreadable=0, detail=detail)


class HeldOutDivergence:
    """:class:`RewardMetricDivergence` in the reward's own unit: any fall counts that chance explains once in a thousand."""

    name = RewardMetricDivergence.name

    def __init__(self, warn: float = 0.0, stop: float = 0.0) -> None:
        self._inner = RewardMetricDivergence(warn, stop, warn_chance=1e-3, stop_chance=2e-4)

    @property
    def thresholds(self) -> Thresholds:
        """From which fall on it warns, and from which on it says stop."""
        return self._inner.thresholds

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds) -> None:
        self._inner.thresholds = thresholds

    def look(self, batch: PictureBatch) -> Reading:
        """Return the reading of one step."""
        return self._inner.look(batch.numbers)


class PictureBoard:
    """Runs the monitors over one step after another. Picklable.

    Args:
        section: which monitors, and thresholds in place of theirs; None: all, with their own.

    Raises:
        InputError: for a monitor that does not exist, or thresholds that are not allowed.

    Example:
        >>> [monitor.name for monitor in PictureBoard(MonitorsSection(which=("blur", "grids"))).monitors]
        ['blur', 'grids']
    """

    apart: float | None = None
    """:func:`drift` of the last measurement."""

    def __init__(self, section: MonitorsSection | None = None) -> None:
        section = section or MonitorsSection()
        builders: dict[str, Callable[..., Any]] = {name: _builder(name) for name in PICTURE_MONITORS}
        builders |= {kind.name: kind for kind in (ReferenceDrift, HeldOutDivergence)}
        for key, names in (("which", section.which or ()), ("thresholds", section.thresholds)):
            for name in names:
                if name not in builders:
                    raise InputError("unknown monitor", key=f"monitors.{key}", value=name, allowed=builders)
        self.monitors: tuple[Any, ...] = tuple(
            builders[name](*section.thresholds.get(name, ())) for name in section.which or builders
        )

    def look(self, batch: PictureBatch) -> Watched:
        """Return what all monitors say of one step's pictures."""
        readings = tuple(monitor.look(batch) for monitor in self.monitors)
        missing = sum(reward is None for reward in batch.numbers.rewards)
        return Watched(batch.numbers.step, readings, len(batch.pictures), missing)


class PictureWatch(RunWatch):
    """Shows a board what a run draws; arguments as for :class:`~salon_train.run.monitor_hook.RunWatch`."""

    look_at = "what it draws (the folder pictures)"
    go_on = "leave out --set monitors.on_stop=stop"

    def drawn(self, pictures: Pictures, prompts: Sequence[str], rewards: Sequence[float], step: int) -> None:
        """Look at a step's pictures and rewards, NaN where missing.

        Raises:
            DegeneratedError: a monitor says stop, and the configuration ends the run.
        """
        evaluated, self._evaluated = dict(self._evaluated), []
        paid = tuple(reward if math.isfinite(reward) else None for reward in rewards)
        numbers = StepBatch(step, AnswerForm.MAGICMIRROR, (), paid, evaluated.get(step))
        self._report(self._board.look(PictureBatch(pictures, prompts, numbers, self._board.apart)))

    def measured(self, apart: float | None) -> None:
        """Keep the :func:`drift` of a measurement until the next pictures."""
        self._board.apart = apart


def _builder(name: str) -> Callable[..., PictureMonitor]:
    return lambda *thresholds: PictureMonitor(name, *thresholds)


def _spread(series: Sequence[float]) -> float:
    """Return the standard deviation of a series about its trend, from the differences of neighbours (von Neumann 1941)."""
    return math.sqrt(fmean((after - before) ** 2 for before, after in pairwise(series)) / 2)

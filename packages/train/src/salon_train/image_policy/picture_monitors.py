"""Monitors of the pictures of ``salon train image``: does the policy game its reward?

step's pictures ─┬─► grids, blur, saturation_drift, contrast_drift, diversity_loss, repeated_layout   against the first steps
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

import numpy as np
from numpy.typing import NDArray

from salon_rewards.monitors import AnswerForm, Reading, RewardMetricDivergence, StepBatch, Thresholds, Watched
from salon_rewards.monitors.reading import no_reading, reading
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import MonitorsSection
from salon_train.run.monitor_hook import RunWatch

Pictures = NDArray[np.float32]

BASELINE: Final = 10
"""Steps that the others are compared with."""
WINDOW: Final = 5
"""Steps whose mean is compared."""
_FEWEST: Final = 8
_SURE: Final = 4.0
"""Standard errors by which a change must be larger than what the first steps explain."""
_CROP: Final = 256
_SIDE: Final = 32
_LAYOUT: Final = 8
_FINE: Final = 0.25
"""Cycles per pixel from which a frequency is high."""
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


def grids(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the share of high-frequency power in the strongest hundredth of frequencies, 0 to 1: a mean.

    Power is that of the grey picture less its mean over 3 by 3 pixels; a regular pattern has its power in few frequencies,
    which need not be the same in all pictures.

    Example:
        >>> noise = np.random.default_rng(0).random((8, 3, 32, 32), np.float32)
        >>> grid = noise + np.tile(np.eye(2, dtype=np.float32), (16, 16))
        >>> grids(noise, []) < 0.1 < 0.5 < grids(grid, [])
        True
    """
    grey = _grey(_middle(pictures))
    residual = grey - _mean_of_nine(grey)
    down, across = (np.abs(np.fft.fftfreq(side)) for side in residual.shape[1:])
    fine = np.maximum(down[:, None], across[None, :]) >= _FINE
    power = np.sort(np.abs(np.fft.fft2(residual)[:, fine]) ** 2, axis=1)
    strongest = power[:, -max(2, power.shape[1] // 100) :].sum(1)
    return float((strongest / (power.sum(1) + _TINY)).mean())


def sharpness(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the mean over pictures of what 3 by 3 pixels do not explain: variance of the residual over that of the grey.

    Example:
        >>> sharp = np.random.default_rng(0).random((8, 3, 32, 32), np.float32)
        >>> sharpness(np.full((8, 3, 32, 32), 0.5, np.float32), []), sharpness(sharp, []) > 0.5
        (0.0, True)
    """
    grey = _grey(_middle(pictures))
    residual = grey - _mean_of_nine(grey)
    return float((residual.var((1, 2)) / (grey.var((1, 2)) + _TINY)).mean())


def saturation(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the mean of the largest channel less the smallest, 0 (grey) to 1.

    Example:
        >>> saturation(np.array([[1.0, 0.5, 0.0]], np.float32).reshape(1, 3, 1, 1), [])
        1.0
    """
    return float((pictures.max(1) - pictures.min(1)).mean())


def contrast(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the mean over pictures of the standard deviation of grey values, 0 to 0.5.

    Example:
        >>> contrast(np.array([0.0, 1.0] * 3, np.float32).reshape(1, 3, 1, 2), [])
        0.5
    """
    return float(_grey(pictures).std((1, 2)).mean())


def variety(pictures: Pictures, prompts: Sequence[str]) -> float | None:
    """Return the mean difference between two pictures of one prompt in 32 by 32 cells, 0 to 1; None without two of a prompt.

    Example:
        >>> two = np.stack([np.zeros((3, 4, 4), np.float32), np.ones((3, 4, 4), np.float32)])
        >>> variety(two, ["a", "a"]), variety(two, ["a", "b"])
        (1.0, None)
    """
    cells = _cells(pictures, _SIDE).reshape(len(pictures), -1)
    means = []
    for own in _owned(prompts):
        count = len(own)
        if count > 1:
            means.append(sum(np.abs(cells[own] - cells[one]).mean(1).sum() for one in own) / (count * (count - 1)))
    return float(np.mean(means)) if means else None


def likeness(pictures: Pictures, prompts: Sequence[str]) -> float | None:
    """Return the mean correlation of the 8 by 8 grey layouts of two pictures of different prompts, -1 to 1; None of one prompt.

    Example:
        >>> half = np.repeat(np.array([0.0, 1.0], np.float32), 4)
        >>> picture = np.tile(half, (3, 8, 1))
        >>> round(likeness(np.stack([picture, picture]), ["a", "b"]), 3), likeness(np.stack([picture, 1 - picture]), ["a", "a"])
        (1.0, None)
    """
    layouts = _cells(_grey(pictures)[:, None], _LAYOUT).reshape(len(pictures), -1)
    layouts = layouts - layouts.mean(1, keepdims=True)
    layouts = layouts / np.maximum(np.linalg.norm(layouts, axis=1, keepdims=True), _TINY)
    groups = [(len(own), float((layouts[own].sum(0) ** 2).sum())) for own in _owned(prompts)]
    pairs = len(pictures) ** 2 - sum(count**2 for count, _ in groups)
    alike = float((layouts.sum(0) ** 2).sum()) - sum(square for _, square in groups)
    return alike / pairs if pairs else None


def drift(pictures: Pictures, first: Pictures, prompts: Sequence[str]) -> float | None:
    """Return how far pictures are from those of the same noise and prompts before the first step.

    Returns:
        The mean difference over that between two first pictures of one prompt: 0 for no change, 1 where a picture has changed
        as much as if its noise were another. None without two first pictures of a prompt that differ.

    Example:
        >>> first = np.random.default_rng(0).random((8, 3, 16, 16), np.float32)
        >>> drift(first, first, ["a"] * 8), round(drift(first[::-1], first, ["a"] * 8), 1)
        (0.0, 1.0)
    """
    apart = variety(first, prompts)
    if apart is None or apart < _TINY:
        return None
    return float(np.abs(_cells(pictures, _SIDE) - _cells(first, _SIDE)).mean()) / apart


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
        self._heard(self._board.look(PictureBatch(pictures, prompts, numbers, self._board.apart)))

    def measured(self, apart: float | None) -> None:
        """Keep the :func:`drift` of a measurement until the next pictures."""
        self._board.apart = apart


def _builder(name: str) -> Callable[..., PictureMonitor]:
    return lambda *thresholds: PictureMonitor(name, *thresholds)


def _spread(series: Sequence[float]) -> float:
    """Return the standard deviation of a series about its trend, from the differences of neighbours (von Neumann 1941)."""
    return math.sqrt(fmean((after - before) ** 2 for before, after in pairwise(series)) / 2)


def _grey(pictures: Pictures) -> Pictures:
    grey: Pictures = pictures.mean(1)
    return grey


def _middle(pictures: Pictures) -> Pictures:
    """Return at most 256 by 256 pixels of the middle: fine patterns are lost when a picture is made smaller."""
    height, width = pictures.shape[-2:]
    top, left = max(0, (height - _CROP) // 2), max(0, (width - _CROP) // 2)
    return pictures[..., top : top + _CROP, left : left + _CROP]


def _mean_of_nine(grey: Pictures) -> Pictures:
    """Return the mean of each pixel and its eight neighbours, edges repeated."""
    padded = np.pad(grey, ((0, 0), (1, 1), (1, 1)), mode="edge")
    height, width = grey.shape[1:]
    shifted = [padded[:, down : down + height, across : across + width] for down in range(3) for across in range(3)]
    mean: Pictures = np.mean(shifted, axis=0, dtype=np.float32)
    return mean


def _cells(pictures: Pictures, side: int) -> Pictures:
    """Return the means of cells, of which there are at most ``side`` by ``side``; what is over at the edges is cut off."""
    count, channels, height, width = pictures.shape
    down, across = min(side, height), min(side, width)
    whole = pictures[:, :, : height // down * down, : width // across * across]
    cells: Pictures = whole.reshape(count, channels, down, height // down, across, width // across).mean((3, 5))
    return cells


def _owned(prompts: Sequence[str]) -> list[list[int]]:
    """Return the places of each prompt's pictures."""
    places: dict[str, list[int]] = {}
    for place, prompt in enumerate(prompts):
        places.setdefault(prompt, []).append(place)
    return list(places.values())

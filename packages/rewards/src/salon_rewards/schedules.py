"""Weights that change while a policy trains: constant, in steps, or in a straight line."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

from salon_taxonomy.errors import InputError


@runtime_checkable
class Schedule(Protocol):
    """A weight by the trainer's step, which counts from 0."""

    def at(self, step: int) -> float:
        """Return the weight at a step."""


@dataclass(frozen=True)
class Linear:
    """From ``start`` until ``first`` in a straight line to ``end`` at ``last``, and then no further.

    Raises:
        InputError: for weights that are not finite, or when ``last`` does not lie behind ``first``.

    Example:
        >>> ramp = Linear(0.0, 1.0, first=100, last=200)
        >>> [ramp.at(step) for step in (0, 100, 150, 300)]
        [0.0, 0.0, 0.5, 1.0]
    """

    start: float
    end: float
    first: int = 0
    last: int = 1

    def __post_init__(self) -> None:
        _finite("start", self.start)
        _finite("end", self.end)
        if not 0 <= self.first < self.last:
            problem = f"must lie behind the first step, {self.first}, and that at 0 or later"
            raise InputError(problem, column="last", value=self.last)

    def at(self, step: int) -> float:
        """Return the weight at a step."""
        share = min(max((step - self.first) / (self.last - self.first), 0.0), 1.0)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class Steps:
    """One weight after the other: pairs of the step from which it counts, and the weight.

    Raises:
        InputError: when the first does not begin at step 0, steps do not rise, or a weight is not finite.

    Example:
        >>> stages = Steps(((0, 1.0), (100, 0.25)))
        >>> stages.at(99), stages.at(100)
        (1.0, 0.25)
    """

    weights: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple((int(step), float(weight)) for step, weight in self.weights))
        steps = [step for step, _ in self.weights]
        if not steps or steps[0] != 0 or any(later <= earlier for earlier, later in pairwise(steps)):
            raise InputError("must begin at step 0 and rise", column="weights", value=steps)
        for _, weight in self.weights:
            _finite("weights", weight)

    def at(self, step: int) -> float:
        """Return the weight at a step."""
        return next(weight for begins, weight in reversed(self.weights) if begins <= max(step, 0))


def _finite(name: str, weight: float) -> None:
    if not float("-inf") < weight < float("inf"):
        raise InputError("a weight must be a finite number", column=name, value=weight)

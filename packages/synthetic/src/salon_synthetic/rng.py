"""Seeded random draws with a fixed sequence: built on the one method of ``random`` that guarantees its sequence.

Python guarantees the sequence of ``Random.random()`` for a seed, but not that of ``choice``, ``shuffle`` or ``gauss``; so
those are written here.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

_T = TypeVar("_T")


class Rng:
    """Draws that depend on a name and nothing else.

    Args:
        name: what is drawn, for instance ``"7/42"``: equal names give equal draws.

    Example:
        >>> Rng("7/42").uniform(0, 1) == Rng("7/42").uniform(0, 1)
        True
        >>> Rng("7/42").fork("colours").integer(1, 6)
        6
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._random = Random(name)  # noqa: S311 - pictures, not secrets

    def fork(self, part: str) -> "Rng":
        """Return draws of their own for one part, so that what is drawn elsewhere does not change it."""
        return Rng(f"{self.name}/{part}")

    def uniform(self, low: float, high: float) -> float:
        """Return a number from ``low`` to ``high``."""
        return low + (high - low) * self._random.random()

    def around(self, middle: float, most: float) -> float:
        """Return a number at most ``most`` away from ``middle``."""
        return middle + most * (2 * self._random.random() - 1)

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """Return True in ``share`` of all draws."""
        return self._random.random() < share

    def choice(self, options: Sequence[_T], weights: Sequence[float] | None = None) -> _T:
        """Return one of several, each as likely as its weight says; equally likely without weights."""
        if weights is None:
            return options[int(self._random.random() * len(options))]
        rest = self._random.random() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            rest -= weight
            if rest < 0:
                return option
        return options[-1]

    def sample(self, options: Sequence[_T], count: int) -> list[_T]:
        """``count`` different ones of several, in the order drawn."""
        left = list(options)
        return [left.pop(int(self._random.random() * len(left))) for _ in range(count)]

    def noise(self, count: int) -> bytes:
        """``count`` bytes, each value equally likely."""
        return self._random.getrandbits(8 * count).to_bytes(count, "little")

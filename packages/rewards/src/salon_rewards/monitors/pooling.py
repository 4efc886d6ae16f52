"""The newest steps that together hold enough completions: a step of eight says little, ten such steps say something."""

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from salon_taxonomy.errors import InputError

T = TypeVar("T")

MINIMUM = 32
"""Completions that a share rests on at least: a rate of one in ten then shows with probability 0.97."""
WINDOW = 10
"""Steps that may be put together at most; what lies further back is another policy's."""


class Pool(Generic[T]):
    """What was seen in the newest steps: no more of them than needed for ``minimum`` items, and never over ``window``.

    Raises:
        InputError: for a minimum or window below 1.

    Example:
        >>> pool = Pool(minimum=3, window=2)
        >>> pool.add([1]), pool.add([2, 3]), pool.add([4]), pool.add([5, 6, 7])
        ([1], [1, 2, 3], [2, 3, 4], [5, 6, 7])
    """

    def __init__(self, minimum: int = MINIMUM, window: int = WINDOW) -> None:
        for name, value in (("minimum", minimum), ("window", window)):
            if value < 1:
                raise InputError("must be 1 or more", column=name, value=value)
        self.minimum = minimum
        self._steps: deque[Sequence[T]] = deque(maxlen=window)

    def add(self, items: Sequence[T]) -> list[T]:
        """Add a step's items; all that count now, oldest first. Fewer than ``minimum``: not enough for a reading."""
        self._steps.append(items)
        while sum(map(len, self._steps)) - len(self._steps[0]) >= self.minimum:
            self._steps.popleft()
        return [item for step in self._steps for item in step]

    def enough(self, items: Sequence[T]) -> bool:
        """Whether so many items carry a reading."""
        return len(items) >= self.minimum

    def wanting(self, items: Sequence[T], what: str) -> str:
        """Why there is no reading."""
        return f"{len(items)} {what}, {self.minimum} are needed"

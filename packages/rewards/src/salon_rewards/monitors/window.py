"""The newest steps that together hold enough completions: a step of eight says little, ten such steps say something."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

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

    def add(self, items: Sequence[Grouped[T]]) -> list[Grouped[T]]:
        """Add a step's items, each with its picture; all that count now, oldest first."""
        self._steps.append(items)
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

    def enough(self, items: Sequence[Grouped[T]]) -> bool:
        """Whether so many items carry a reading. Fewer pictures than wanted do; a share of them is then less sure."""
        return len(items) >= self.minimum

    def wanting(self, items: Sequence[object], what: str) -> str:
        """Why there is no reading."""
        return f"{len(items)} {what}, {self.minimum} are needed"

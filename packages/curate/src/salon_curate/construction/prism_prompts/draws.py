"""Draws that depend on a name alone: the same on every machine and in every version of Python."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of draws.

    Args:
        name: streams of the same name are the same.

    Example:
        >>> Draws("a").pick("xyz") == Draws("a").pick("xyz")
        True
        >>> sorted(Draws("b").sample("xyz", 3))
        ['x', 'y', 'z']
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._place = 0

    def pick(self, pool: Sequence[T]) -> T:
        """Return one entry of a pool, each as likely as any other."""
        return pool[self._number() % len(pool)]

    def sample(self, pool: Sequence[T], number: int) -> list[T]:
        """Return different places of a pool, in the order in which they were drawn; ``number`` is at most its length."""
        rest = list(pool)
        return [rest.pop(self._number() % len(rest)) for _ in range(number)]

    def _number(self) -> int:
        """Return a number below 2^128: for pools of thousands the remainder is as good as uniform."""
        self._place += 1
        return int.from_bytes(hashlib.sha256(f"{self._name}/{self._place}".encode()).digest()[:16], "big")

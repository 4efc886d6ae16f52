"""When a video is looked at: the times of an exact rate, thinned evenly to what a judge takes. Plain arithmetic, no decoder."""

import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_SLACK = 1e-6  # of one step: time stamps are rounded


def times_at(frames_per_second: float, duration_s: float) -> list[float]:
    """0, 1/rate, 2/rate, … seconds, as long as the video lasts; at least the first.

    Example:
        >>> times_at(5, 1.0), len(times_at(5, 10.0)), times_at(2, 0.0)
        ([0.0, 0.2, 0.4, 0.6, 0.8], 50, [0.0])
    """
    count = max(1, math.ceil(duration_s * frames_per_second - _SLACK))
    return [number / frames_per_second for number in range(count)]


def thinned(items: Sequence[T], most: int | None) -> list[T]:
    """Return at most so many items, evenly spread, with the first and the last; for one, the middle.

    Example:
        >>> thinned(range(11), 3), thinned(range(10), 4), thinned(range(5), 1), thinned(range(3), None)
        ([0, 5, 10], [0, 3, 6, 9], [2], [0, 1, 2])
    """
    count = len(items)
    if most is None or count <= most:
        return list(items)
    if most == 1:
        return [items[(count - 1) // 2]]
    return [items[round(place * (count - 1) / (most - 1))] for place in range(most)]

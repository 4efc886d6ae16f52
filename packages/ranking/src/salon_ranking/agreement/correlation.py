"""Do two lists order, or scale, the same things alike? Pearson's r, Spearman's ρ and Kendall's τ-b.

Every function takes two sequences or arrays of equal length n and returns a float in [-1, 1]; a list whose values are all the
same has no correlation and raises :class:`UndefinedError`. NaN is refused: leave the pair out in both lists. SciPy is the
oracle of the tests. A million pairs take about a second, in memory that grows with n alone.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_ranking.agreement._numbers import Floats, numbers, pair
from salon_ranking.agreement.errors import UndefinedError


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Return Pearson's r: covariance over the product of the standard deviations.

    Raises:
        AgreementError: unequal lengths, or a value that is no finite number.
        UndefinedError: fewer than two pairs, or a constant list.

    Example:
        >>> round(pearson([1, 2, 3, 4], [1, 3, 2, 4]), 3)
        0.8
    """
    x, y = pair(first, second)
    _varied(x, "first")
    _varied(y, "second")
    return _cosine(_standardized(x), _standardized(y))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's ρ: Pearson's r of the mid-ranks. Errors as :func:`pearson`.

    Example:
        >>> round(spearman([10, 20, 30, 400], [1, 3, 2, 4]), 3)
        0.8
    """
    x, y = pair(first, second)
    _varied(x, "first")
    _varied(y, "second")
    middle = (len(x) + 1) / 2
    return _cosine(mid_ranks(x) - middle, mid_ranks(y) - middle)


def kendall(first: ArrayLike, second: ArrayLike) -> float:
    """Return Kendall's τ-b.

    It is (concordant - discordant) / √(pairs untied in the first · pairs untied in the second).

    O(n log n): discordant pairs are inversions of the second list once the first is sorted (Knight 1966,
    doi:10.1080/01621459.1966.10480879). Errors as :func:`pearson`.

    Example:
        >>> round(kendall([1, 2, 3, 4], [1, 3, 2, 4]), 3)
        0.667
    """
    x, y = pair(first, second)
    _varied(x, "first")
    _varied(y, "second")
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    heights, frequency = np.unique(y, return_inverse=True, return_counts=True)[1:]
    new_x = np.concatenate(([True], x[1:] != x[:-1]))
    new_both = new_x | np.concatenate(([True], y[1:] != y[:-1]))
    every = math.comb(len(x), 2)
    untied_x, untied_y = every - _tied(new_x), every - _pairs(frequency)
    discordant = inversions(heights)
    # Of all pairs, those tied in the first, in the second or in both are neither concordant nor discordant.
    untied = untied_x + untied_y - every + _tied(new_both)
    return _bounded((untied - 2 * discordant) / math.sqrt(untied_x * untied_y))


def mid_ranks(values: ArrayLike) -> Floats:
    """Return ranks from 1, smallest first; equal values share the mean of their places. Shape (n,).

    Example:
        >>> mid_ranks([0.3, 0.1, 0.3]).tolist()
        [2.5, 1.0, 2.5]
    """
    array = numbers(values, "values")
    _, index, frequency = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(frequency)
    return np.asarray((last - (frequency - 1) / 2.0)[index], dtype=np.float64)


def inversions(heights: NDArray[np.integer]) -> int:
    """Count pairs i < j with ``heights[i] > heights[j]``; heights are integers of 0 or more, best without gaps.

    A radix sort from the highest bit down. Within a group that agrees in all higher bits, every 1 that stands before
    a 0 is an inversion; then the group is split, keeping its order.

    Example:
        >>> inversions(np.array([2, 0, 1, 1]))
        3
    """
    if len(heights) == 0:
        return 0
    current = heights.astype(np.int64)
    bits = int(current.max()).bit_length()
    starts = np.concatenate(([0], np.cumsum(np.bincount(current, minlength=1 << bits))))  # of each height, once sorted
    total = 0
    for bit in reversed(range(bits)):
        prefix = current >> bit
        is_one = (prefix & 1).astype(bool)
        ones_before = np.concatenate(([0], np.cumsum(is_one)))
        group = starts[(prefix >> 1) << (bit + 1)]  # where the group of each element begins
        ones_in_group = ones_before[:-1] - ones_before[group]
        total += int(ones_in_group[~is_one].sum())
        target = np.arange(len(current)) - ones_in_group
        target[is_one] = (starts[prefix << bit] + ones_in_group)[is_one]
        moved = np.empty_like(current)
        moved[target] = current
        current = moved
    return total


def _cosine(x: Floats, y: Floats) -> float:
    """Return Pearson's r of values whose mean is 0 already."""
    return _bounded(float(x @ y) / math.sqrt(float(x @ x) * float(y @ y)))


def _standardized(values: Floats) -> Floats:
    """Centred and scaled to at most 1, so that squares neither overflow nor vanish."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    return np.asarray(centred / np.abs(centred).max())


def _varied(values: Floats, name: str) -> None:
    if values.min() == values.max():
        raise UndefinedError("all values are the same, so nothing correlates with them:", source=name, value=float(values[0]))


def _tied(is_new: NDArray[np.bool_]) -> int:
    """Count pairs within runs, where a run begins at every True."""
    begins = np.flatnonzero(is_new)
    return _pairs(np.diff(np.append(begins, len(is_new))))


def _pairs(frequency: NDArray[np.integer]) -> int:
    return int((frequency.astype(np.int64) * (frequency.astype(np.int64) - 1) // 2).sum())


def _bounded(value: float) -> float:
    """Rounding must not carry a coefficient beyond 1."""
    return max(-1.0, min(1.0, value))

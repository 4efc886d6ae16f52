"""Pearson, Spearman and Kendall coefficients of two short lists, in plain Python.

The lists are columns of printed tables (``published/rules.py``) and ratings of the models that two benchmarks share
(``agreement.py``), some twenty values; importing SciPy for them would take longer than all the rest. SciPy is the oracle
in the tests.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from math import factorial, prod, sqrt
from statistics import correlation


def pearson(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's r, in [-1, 1].

    Raises:
        statistics.StatisticsError: for fewer than two pairs, or a constant list.
    """
    return correlation(first, second)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's ρ: Pearson's r of the mid-ranks.

    Example:
        >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4]), 3)
        0.8
    """
    return correlation(_mid_ranks(first), _mid_ranks(second))


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's τ-b: (concordant − discordant) / √(pairs untied in the first · pairs untied in the second).

    Example:
        >>> round(kendall([1, 2, 3, 4], [1, 3, 2, 4]), 3)
        0.667
    """
    score = untied_first = untied_second = 0
    for (a, x), (b, y) in combinations(zip(first, second, strict=True), 2):
        sign_first, sign_second = (a > b) - (a < b), (x > y) - (x < y)
        score += sign_first * sign_second
        untied_first += sign_first != 0
        untied_second += sign_second != 0
    return score / sqrt(untied_first * untied_second)


def tie_breaks(values: Sequence[float], limit: int) -> Iterator[list[float]]:
    """The values as dense ranks, once for every way to order equal ones; only as they stand when there are over ``limit``.

    Example:
        >>> list(tie_breaks([0.9, 0.9, 0.8], 10))
        [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]]
    """
    groups = {value: [i for i, other in enumerate(values) if other == value] for value in sorted(set(values))}
    if prod(factorial(len(members)) for members in groups.values()) > limit:
        yield list(values)
        return
    for orders in product(*(permutations(members) for members in groups.values())):
        places = [0.0] * len(values)
        for place, index in enumerate(index for order in orders for index in order):
            places[index] = float(place)
        yield places


def _mid_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of their places."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in map(float, values)]

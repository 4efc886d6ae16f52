"""How sure a share, a mean or a trend is: what keeps a small batch from ringing the bell.

Samples of one picture resemble each other, so evidence counts pictures, not completions. Trends look at all pairs of points, so
one outlier makes none. Sources: H. B. Mann, "Nonparametric tests against trend" (1945); P. K. Sen, "Estimates of the regression
coefficient based on Kendall's tau" (1968).
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from statistics import fmean, median, stdev

Z = 2.576
"""One-sided 0.005: a run of 200 steps whose policy sits exactly on the baseline crosses it about once."""
FEWEST_GROUPS = 4
"""Of fewer pictures a mean has no spread worth the name."""


def wilson_lower(share: float, trials: int, z: float = Z) -> float:
    """Return the lower end of Wilson's interval for a share of so many independent trials; 0 for no trials.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927).

    Args:
        share: successes over trials, 0 to 1; need not be a whole number of successes.
        trials: how many independent trials, here pictures.
        z: how many standard errors.

    Example:
        >>> wilson_lower(1.0, 4) < 0.5 < wilson_lower(1.0, 8)
        True
    """
    if not trials:
        return 0.0
    square = z * z
    middle = share + square / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    return max(0.0, (middle - spread) / (1 + square / trials))


def mean_lower(values: Iterable[tuple[Hashable, float]], z: float = Z) -> float:
    """Return the lower end of a mean over groups, from their spread; minus infinity for too few groups.

    Args:
        values: pairs of a group and a number.
        z: how many standard errors.

    Example:
        >>> mean_lower([("a", 2.0), ("b", 2.0), ("c", 2.0), ("d", 2.0)])
        2.0
    """
    groups: dict[Hashable, list[float]] = {}
    for group, value in values:
        groups.setdefault(group, []).append(value)
    if len(groups) < FEWEST_GROUPS:
        return -math.inf
    means = [fmean(group) for group in groups.values()]
    return fmean(means) - z * stdev(means) / math.sqrt(len(means))


def theil_sen(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return the median slope over all pairs of points with different ``x``; None without such a pair.

    Example:
        >>> theil_sen([0, 1, 2, 3, 4, 5], [0.0, 1.0, 2.0, 3.0, 4.0, 90.0])
        1.0
    """
    slopes = [(y[j] - y[i]) / (x[j] - x[i]) for i, j in combinations(range(len(x)), 2) if x[j] != x[i]]
    return median(slopes) if slopes else None


def rising_probability(series: Sequence[float]) -> float:
    """Return the chance that a series without trend rises at least as clearly as this one.

    One-sided Mann–Kendall, exact: among all orders of these values, which may hold ties.

    Example:
        >>> rising_probability([1, 2, 3, 4, 5]) == 1 / 120
        True
        >>> rising_probability([5, 4, 3, 2, 1])
        1.0
        >>> rising_probability([1, 2, 3, 3]) == 1 / 12
        True
    """
    orders = list(_inversions(len(series)))
    for times in Counter(series).values():  # equal values change places without a new order
        alike = _inversions(times)
        for k in range(len(orders) - len(alike) + 1):
            orders[k] -= sum(alike[j] * orders[k - j] for j in range(1, min(k, len(alike) - 1) + 1))
        del orders[len(orders) - len(alike) + 1 :]
    falls = sum(later < earlier for earlier, later in combinations(series, 2))
    return sum(orders[: falls + 1]) / sum(orders)


@lru_cache
def _inversions(count: int) -> tuple[int, ...]:
    """Return how many permutations of so many things have 0, 1, 2, … inversions."""
    if count <= 1:
        return (1,)
    fewer = _inversions(count - 1)
    return tuple(sum(fewer[max(0, k - count + 1) : k + 1]) for k in range(count * (count - 1) // 2 + 1))

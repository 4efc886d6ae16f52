"""Does a series rise or fall: Mann and Kendall's test with its exact distribution, and Theil and Sen's slope.

Both look at all pairs of points, so one outlier does not make a trend. Sources: H. B. Mann, "Nonparametric tests against
trend" (1945); P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau" (1968).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import factorial
from statistics import median


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

    One-sided Mann–Kendall; 1 for fewer than two values. The distribution is exact for values that all differ; ties count as
    neither rise nor fall, which makes the test a little too careful.

    Example:
        >>> rising_probability([1, 2, 3, 4, 5]) == 1 / 120
        True
        >>> rising_probability([5, 4, 3, 2, 1])
        1.0
    """
    count = len(series)
    if count < 2:
        return 1.0
    score = sum((later > earlier) - (later < earlier) for earlier, later in combinations(series, 2))
    pairs = count * (count - 1) // 2
    # S = pairs − 2·inversions, so S ≥ score exactly where there are at most (pairs − score) / 2 inversions.
    most = (pairs - score) // 2
    return sum(_inversions(count)[: most + 1]) / factorial(count)


@lru_cache
def _inversions(count: int) -> tuple[int, ...]:
    """How many permutations of so many things have 0, 1, 2, … inversions."""
    if count <= 1:
        return (1,)
    fewer = _inversions(count - 1)
    return tuple(sum(fewer[max(0, k - count + 1) : k + 1]) for k in range(count * (count - 1) // 2 + 1))

"""Shares of yes among yes and no: Wilson's interval, and the exact test that it is one half. NumPy alone."""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_ranking.options import Confidence, checked, shaped

Floats = NDArray[np.float64]


@checked
@shaped(successes="n", trials="n")
def wilson_interval(successes: ArrayLike, trials: ArrayLike, confidence: Confidence = 0.95) -> tuple[Floats, Floats]:
    """Return Wilson's score interval of shares (Wilson 1927, doi:10.1080/01621459.1927.10502953); NaN without trials.

    Example:
        >>> low, high = wilson_interval([8], [10])
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.49], [0.943])
    """
    n = np.asarray(trials, dtype=np.float64)
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.asarray(successes, dtype=np.float64) / n
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At a share of 0 or 1 the end is that share; rounding must not make it 1e-17.
    low, high = np.where(share == 0.0, 0.0, centre - half), np.where(share == 1.0, 1.0, centre + half)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


@shaped(heads="n", tosses="n")
def sign_test(heads: ArrayLike, tosses: ArrayLike) -> Floats:
    """Return two-sided exact p-values of a fair coin, shape (n,); 1 without tosses.

    Example:
        >>> sign_test([8, 5, 0], [10, 10, 0]).round(4).tolist()
        [0.1094, 1.0, 1.0]
    """
    n, k = np.asarray(tosses, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n.max(initial=0) + 1)))))
    p_values = np.ones(len(n))
    for number, (all_, few) in enumerate(zip(n, np.minimum(k, n - k), strict=True)):
        i = np.arange(few + 1)
        terms = log_factorial[all_] - log_factorial[i] - log_factorial[all_ - i] - all_ * np.log(2.0)
        p_values[number] = min(1.0, 2.0 * float(np.exp(terms).sum()))
    return p_values


@lru_cache(maxsize=1024)  # of few changes the same counts come again and again
def highest_share(count: int, trials: int, level: float) -> float:
    """Return the largest share of which as few as ``count`` of ``trials`` are no rarer than ``level``.

    That is Clopper and Pearson's one-sided upper end (1934, doi:10.1093/biomet/26.4.404), by bisection.

    Example:
        >>> round(highest_share(0, 100, 0.05), 4), round(highest_share(1, 200, 0.05), 4), highest_share(3, 3, 0.05)
        (0.0295, 0.0235, 1.0)
    """
    if count >= trials:
        return 1.0
    numbers = np.arange(count + 1)
    ways = np.array([math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in numbers])
    low, high = count / trials, 1.0
    for _ in range(60):
        share = 0.5 * (low + high)
        if np.exp(ways + numbers * math.log(share) + (trials - numbers) * math.log1p(-share)).sum() > level:
            low = share
        else:
            high = share
    return high

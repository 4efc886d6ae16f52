"""Means and shares with their intervals, and the one resampling function of all suites."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_ranking.uncertainty.proportions import wilson_interval
from salon_ranking.uncertainty.quantiles import percentile_interval

Floats = NDArray[np.float64]
Ends = tuple[float | None, float | None]
CONFIDENCE: Final = 0.95
REPLICATES: Final = 1000


def share_with_wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float | None, Ends]:
    """Return a share with Wilson's score interval (Wilson 1927); None without a trial.

    Example:
        >>> share, (low, high) = share_with_wilson(8, 10)
        >>> share, round(low, 3), round(high, 3)
        (0.8, 0.49, 0.943)
    """
    if not trials:
        return None, (None, None)
    low, high = wilson_interval([successes], [trials], confidence)
    return successes / trials, (float(low[0]), float(high[0]))


def mean_with_interval(
    values: Sequence[float], *, replicates: int = REPLICATES, confidence: float = CONFIDENCE, seed: int = 0
) -> tuple[float | None, Ends]:
    """Return a mean with the percentile interval of a bootstrap; no interval from fewer than two values.

    The values are sorted first, so the draws do not depend on the order in which replies came.

    Args:
        values: finite numbers.
        replicates: of the bootstrap; 0 makes no interval.
        confidence: of the interval, between 0 and 1.
        seed: of the draws.

    Example:
        >>> mean_with_interval([1.0, 1.0, 1.0]), mean_with_interval([2.0])
        ((1.0, (1.0, 1.0)), (2.0, (None, None)))
    """
    if not len(values):
        return None, (None, None)
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or not replicates:
        return mean, (None, None)
    random, table = np.random.default_rng(seed), np.sort(np.asarray(values, dtype=np.float64))
    means = np.array([table[random.integers(0, len(table), len(table))].mean() for _ in range(replicates)])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return mean, (float(low), float(high))


def resampled_sums(
    columns: Floats,
    replicates: int,
    seed: int | Sequence[int],
    strata: NDArray[np.int64] | None = None,
    *,
    count: int = 1,
) -> Floats:
    """Add up columns over units drawn with replacement within their stratum.

    Args:
        columns: shape (units, …).
        replicates: how many resamples.
        seed: of the draws.
        strata: shape (units,), from 0; None puts all units into one.
        count: how many strata there are.

    Returns:
        Shape (replicates, strata, …); 0 for a stratum without units. The sums are added in one fixed order, so they do not
        depend on the number of threads.

    Example:
        >>> resampled_sums(np.ones((3, 2)), 2, 0).tolist()
        [[[3.0, 3.0]], [[3.0, 3.0]]]
    """
    random = np.random.default_rng(seed)
    where = np.zeros(len(columns), dtype=np.int64) if strata is None else strata
    flat = columns.reshape(len(columns), math.prod(columns.shape[1:]))
    drawn = np.zeros((replicates, count, flat.shape[1]))
    for place in np.unique(where):
        inside = flat[where == place].astype(np.float64)
        times = random.multinomial(len(inside), np.full(len(inside), 1 / len(inside)), size=replicates)
        drawn[:, place] = np.einsum("rp,pc->rc", times.astype(np.float64), inside)
    return drawn.reshape(replicates, count, *columns.shape[1:])


def percentile_ends(replicates: Floats, confidence: float = CONFIDENCE) -> Ends:
    """Return the percentile interval of one number; None for an end that is not defined.

    Args:
        replicates: shape (replicates,); NaN where a replicate has no value.
    """
    low, high, _ = percentile_interval(replicates[:, None], confidence)
    return _known(low[0]), _known(high[0])


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)

"""Shares with their intervals, and the one resampling function of all suites; means: :mod:`salon_ranking.uncertainty.means`."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_ranking.uncertainty.means import CONFIDENCE, Ends, Floats
from salon_ranking.uncertainty.proportions import wilson_interval

REPLICATES: Final = 1000
"""Draws of a bootstrap."""


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
    for cluster in np.unique(where):
        inside = flat[where == cluster].astype(np.float64)
        times = random.multinomial(len(inside), np.full(len(inside), 1 / len(inside)), size=replicates)
        drawn[:, cluster] = np.einsum("rp,pc->rc", times.astype(np.float64), inside)
    return drawn.reshape(replicates, count, *columns.shape[1:])

"""Intervals of a statistic of sums, by a bootstrap that draws whole clusters."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_ranking.uncertainty.means import Ends
from salon_ranking.uncertainty.quantiles import expanded_interval

Floats = NDArray[np.float64]
_REPLICATES: Final = 1000
_MOST: Final = 4_000_000
"""Clusters times replicates that are drawn at once."""


def cluster_interval(sums: Floats, statistic: Callable[[Floats], Floats], confidence: float, *, seed: int = 0) -> Ends:
    """Return the expanded percentile interval of a statistic, as of other bootstraps; (None, None) of too few clusters.

    Args:
        sums: what the statistic is made of, of each cluster, shape (clusters, m).
        statistic: of the sums of all clusters, shape (replicates, m) to (replicates,); NaN where it is not defined.
        confidence: of the interval.
        seed: of 1,000 draws, each of as many clusters as there are, with repetition.

    Example:
        >>> sums = np.array([[number % 3, 2.0] for number in range(30)])
        >>> [round(end, 2) for end in cluster_interval(sums, lambda total: total[:, 0] / total[:, 1], 0.95)]
        [0.35, 0.67]
    """
    clusters = len(sums)
    random = np.random.default_rng(seed)
    block = max(_MOST // max(clusters, 1), 1)
    values = []
    for start in range(0, _REPLICATES if clusters > 1 else 0, block):
        times = random.multinomial(clusters, np.full(clusters, 1.0 / clusters), size=min(block, _REPLICATES - start))
        values.append(statistic(times @ sums))
    if not values:
        return None, None
    drawn, estimate = np.concatenate(values)[:, None], statistic(sums.sum(axis=0)[None])
    (low,), (high,) = expanded_interval(drawn, estimate, clusters, confidence)
    if np.isnan(low + high):
        return None, None
    return float(low), float(high)

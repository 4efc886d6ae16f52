"""Percentile intervals of a statistic of sums, by drawing whole clusters."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_ranking.uncertainty.means import Ends

Floats = NDArray[np.float64]
_REPLICATES: Final = 1000
_MOST: Final = 4_000_000
"""Clusters times replicates that are drawn at once."""


def cluster_interval(
    sums: Floats, statistic: Callable[[Floats], Floats], confidence: float, *, replicates: int = _REPLICATES, seed: int = 0
) -> Ends:
    """Return the percentile interval of a statistic; (None, None) of fewer than two clusters.

    Args:
        sums: what the statistic is made of, of each cluster, shape (clusters, m).
        statistic: of the sums of all clusters, shape (replicates, m) to (replicates,); NaN where it is not defined.
        confidence: of the interval.
        replicates: each of as many clusters as there are, drawn with repetition.
        seed: of the draws.

    Example:
        >>> sums = np.array([[1.0, 2.0], [0.0, 2.0], [2.0, 2.0], [1.0, 2.0]])
        >>> [round(end, 3) for end in cluster_interval(sums, lambda total: total[:, 0] / total[:, 1], 0.9)]
        [0.25, 0.75]
    """
    clusters = len(sums)
    if clusters < 2:
        return None, None
    random = np.random.default_rng(seed)
    block = max(_MOST // clusters, 1)
    values = []
    for start in range(0, replicates, block):
        times = random.multinomial(clusters, np.full(clusters, 1.0 / clusters), size=min(block, replicates - start))
        values.append(statistic(times @ sums))
    drawn = np.concatenate(values)
    if np.isnan(drawn).all():
        return None, None
    low, high = np.nanquantile(drawn, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return float(low), float(high)

"""Intervals from replicates."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def percentile_interval(replicates: Floats, confidence: float) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """The percentile interval of every column (Efron & Tibshirani 1993, chapter 13).

    Args:
        replicates: shape (replicates, models); NaN is left out.
        confidence: between 0 and 1, both excluded.

    Returns:
        Lower ends, upper ends (linear between order statistics; NaN for a column without values) and how many
        replicates each column had, shape (models,) each.

    Example:
        >>> low, high, used = percentile_interval(np.arange(101.0)[:, None], 0.9)
        >>> low.round(9).tolist(), high.round(9).tolist(), used.tolist()
        ([5.0], [95.0], [101])
    """
    ordered = np.sort(replicates, axis=0)  # NaN comes last
    used = np.count_nonzero(~np.isnan(ordered), axis=0)
    tail = (1.0 - confidence) / 2.0
    return _quantile(ordered, used, tail), _quantile(ordered, used, 1.0 - tail), used


def _quantile(ordered: Floats, used: NDArray[np.int64], share: float) -> Floats:
    if not len(ordered):
        return np.full(ordered.shape[1], np.nan)
    position = share * np.maximum(used - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(used - 1, 0))
    columns = np.arange(ordered.shape[1])
    low, high = ordered[below, columns], ordered[above, columns]
    # Written so that equal ends give exactly that value: a baseline's interval has no width.
    value: Floats = low + (high - low) * (position - below)
    return value

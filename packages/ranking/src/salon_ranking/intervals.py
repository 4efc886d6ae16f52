"""Intervals from replicates."""

from statistics import NormalDist

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


def bca_interval(
    replicates: Floats, estimate: Floats, acceleration: Floats, confidence: float
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """The bias-corrected and accelerated interval of every column (Efron 1987, doi:10.1080/01621459.1987.10478410).

    Args:
        replicates: shape (replicates, models); NaN is left out.
        estimate: from all battles, shape (models,).
        acceleration: skewness of the influences over 6, shape (models,).
        confidence: between 0 and 1, both excluded.

    Returns:
        As :func:`percentile_interval`. Replicates equal to the estimate count half to the bias; a column whose replicates all
        lie on one side of it is treated as if half a replicate lay on the other.

    Example:
        >>> drawn = np.arange(101.0)[:, None]
        >>> low, high, _ = bca_interval(drawn, np.array([50.0]), np.array([0.0]), 0.9)
        >>> low.round(6).tolist(), high.round(6).tolist()  # neither bias nor skewness: the percentile interval
        ([5.0], [95.0])
    """
    normal = NormalDist()
    ordered = np.sort(replicates, axis=0)
    used = np.count_nonzero(~np.isnan(ordered), axis=0)
    below = (replicates < estimate).sum(axis=0) + 0.5 * (replicates == estimate).sum(axis=0)
    number = np.maximum(used, 1)
    share = np.clip(below / number, 0.5 / number, 1.0 - 0.5 / number)
    bias = np.array([normal.inv_cdf(float(value)) for value in share])
    ends = []
    for tail in ((1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0):
        shifted = bias + normal.inv_cdf(tail)
        room = 1.0 - acceleration * shifted
        # Beyond the pole of the formula the quantile is the outermost one.
        point = np.where(room > 0.0, bias + shifted / np.where(room > 0.0, room, 1.0), np.copysign(np.inf, shifted))
        level = np.array([normal.cdf(float(value)) for value in point])
        ends.append(_quantile(ordered, used, level))
    return ends[0], ends[1], used


def _quantile(ordered: Floats, used: NDArray[np.int64], share: float | Floats) -> Floats:
    if not len(ordered):
        return np.full(ordered.shape[1], np.nan)
    position = np.asarray(share * np.maximum(used - 1, 0))
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(used - 1, 0))
    columns = np.arange(ordered.shape[1])
    low, high = ordered[below, columns], ordered[above, columns]
    # Written so that equal ends give exactly that value: a baseline's interval has no width.
    value: Floats = low + (high - low) * (position - below)
    return value

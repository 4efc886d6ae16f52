"""Means and ratios with their intervals by Student's t over units."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_ranking.uncertainty.quantiles import least_units
from salon_ranking.uncertainty.student import two_sided_quantile

Floats = NDArray[np.float64]
Ends = tuple[float | None, float | None]
CONFIDENCE: Final = 0.95


def mean_with_interval(
    values: Sequence[float], confidence: float = CONFIDENCE, *, within: tuple[float, float] | None = None
) -> tuple[float | None, Ends]:
    """Return a mean with its interval by Student's t; no interval of fewer than five values, or of equal ones.

    Args:
        values: finite numbers.
        confidence: of the interval, between 0 and 1.
        within: the range of the numbers, where the interval is cut off.

    Example:
        >>> mean, (low, high) = mean_with_interval([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> mean, round(low, 2), round(high, 2)
        (3.0, 1.04, 4.96)
        >>> mean_with_interval([1.0] * 9), mean_with_interval([1.0, 2.0])
        ((1.0, (None, None)), (1.5, (None, None)))
    """
    return ratio_with_interval(np.column_stack([values, np.ones(len(values))]), confidence=confidence, within=within)


def ratio_with_interval(
    sums: Floats,
    strata: NDArray[np.int64] | None = None,
    *,
    confidence: float = CONFIDENCE,
    within: tuple[float, float] | None = None,
) -> tuple[float | None, Ends]:
    """Return the sum of values over the number of rows, with its interval by Student's t over units.

    Args:
        sums: shape (units, 2): the values of each unit added up, and how many rows it has, at least 1.
        strata: shape (units,); then the mean of the ratios of all strata. None: one stratum.
        confidence: of the interval, between 0 and 1.
        within: the range of the values, where the interval is cut off.

    Returns:
        None for the interval where a stratum has a single unit, which says nothing about others; of fewer units, less the
        strata, than :func:`least_units` less one; and where the units do not vary.

    Example:
        >>> ratio_with_interval(np.array([[2.0, 2.0], [1.0, 2.0]]))[0]
        0.75
    """
    if not len(sums):
        return None, (None, None)
    of = np.zeros(len(sums), dtype=np.int64) if strata is None else strata
    ratios, variances, freedom = [], [], []
    for number in np.unique(of):
        own = sums[of == number]
        order = np.lexsort(own.T)  # so that the mean does not depend on the order in which replies came
        total, rows = (math.fsum(column) for column in own[order].T)
        ratios.append(total / rows)
        if len(own) < 2:
            freedom.append(math.nan)
            variances.append(math.nan)
            continue
        # A unit of many rows draws the ratio to itself: CR2 and its degrees of freedom, as for clusters of votes.
        share = own[order, 1] / rows
        rest, pull = own[order, 0] - total / rows * own[order, 1], share**2 / (1.0 - share)
        freedom.append(1.0 / (math.fsum(share**2) + math.fsum(pull) ** 2 - math.fsum(pull**2)))
        variances.append(math.fsum(rest**2 / (1.0 - share)) / rows**2)
    mean, error = math.fsum(ratios) / len(ratios), math.sqrt(math.fsum(variances)) / len(ratios)
    size = float(np.abs(sums[:, 0] / sums[:, 1]).max())
    if not error > 1e-9 * size or len(sums) - len(ratios) + 1 < least_units(confidence, clustered=True):
        return mean, (None, None)
    degrees = sum(variances) ** 2 / sum(v**2 / n for v, n in zip(variances, freedom, strict=True))
    reach = two_sided_quantile(1.0 - confidence, degrees) * error
    least, most = within or (-math.inf, math.inf)
    return mean, (max(mean - reach, least), min(mean + reach, most))

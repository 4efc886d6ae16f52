"""Intervals from replicates.

A replicate in which a value is not known counts beyond both ends: nothing says on which side it lies. An end that would lie
among such replicates, or beyond all replicates, is NaN.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from salon_ranking.options import Confidence, checked, shaped
from salon_ranking.uncertainty.student import two_sided_quantile

Floats = NDArray[np.float64]

_NO_WIDTH = 1e-9
"""Beside the size of what is estimated; an interval that is narrower has no width."""


def least_replicates(tail: float) -> int:
    """Return the fewest replicates whose quantile ``tail`` lies among them: (B + 1) · tail ≥ 1.

    Davison & Hinkley 1997, Bootstrap Methods and their Application, section 5.2.1.

    Example:
        >>> least_replicates(0.025), least_replicates(0.005)
        (39, 199)
    """
    return math.ceil(1.0 / tail - 1.0 - 1e-6)


def least_units(confidence: Confidence, *, clustered: bool) -> int:
    """Return the fewest battles or clusters whose resamples reach as far as an interval.

    The outermost resample, of one unit over and over, has probability G^-G; a quantile farther out is not among them.

    Example:
        >>> least_units(0.95, clustered=False), least_units(0.95, clustered=True)
        (4, 5)
    """
    units = 2
    while True:
        degrees = units - 1.0 if clustered else math.inf
        if units**-units <= NormalDist().cdf(-two_sided_quantile(1.0 - confidence, degrees)):
            return units
        units += 1


def small_sample(units: int, confidence: Confidence, strata: int = 1) -> tuple[float, float]:
    """Return what draws of few units lack: a factor of their deviations, and Student's t.

    Draws with replacement vary by (n - 1)/n of what samples do. Both are NaN of fewer than :func:`least_units` in one stratum,
    and of as few degrees of freedom in several.

    Example:
        >>> [round(value, 6) for value in small_sample(5, 0.95)], small_sample(4, 0.95)
        ([1.118034, 2.776445], (nan, nan))
    """
    degrees = units - strata
    if degrees + 1 < least_units(confidence, clustered=True):
        return math.nan, math.nan
    return math.sqrt(units / degrees), two_sided_quantile(1.0 - confidence, float(degrees))


def standard_interval(
    replicates: Floats, estimate: Floats, units: int, confidence: Confidence, strata: int = 1
) -> tuple[Floats, Floats]:
    """Return estimate ± t · standard error of every column, the error being that of its replicates.

    For means, differences and ratios, which also under heavy ties vary as Student's t (Efron & Tibshirani 1993, chapter 12).

    Args:
        replicates: shape (replicates, columns); NaN where one has no value.
        estimate: shape (columns,).
        units: how many were drawn from, in all strata together.

    Returns:
        Both ends; NaN of too few units, without any variation, and where more replicates have no value than one tail holds.
    """
    factor, reach = small_sample(units, confidence, strata)
    known = np.count_nonzero(~np.isnan(replicates), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = replicates - np.nansum(replicates, axis=0) / known
        error = factor * np.sqrt(np.nansum(centred**2, axis=0) / (known - 1))
        size = np.maximum(np.abs(estimate), np.nanmax(np.abs(replicates), axis=0, initial=0.0))
    absent = len(replicates) - known > (1.0 - confidence) / 2.0 * (len(replicates) - 1)
    error = np.where((error <= _NO_WIDTH * size) | absent | (known < 2), np.nan, error)
    return estimate - reach * error, estimate + reach * error


def expanded_interval(replicates: Floats, estimate: Floats, units: int, confidence: Confidence) -> tuple[Floats, Floats]:
    """Return percentiles as far out as Student's t, of deviations √(n/(n - 1)) as large (Hesterberg 2015).

    For statistics with a skewed distribution, as coefficients of agreement. Arguments and result as :func:`standard_interval`;
    also NaN where replicates are too few for the quantile.
    """
    factor, reach = small_sample(units, confidence)
    if math.isnan(factor):
        none = np.full(len(estimate), np.nan)
        return none, none.copy()
    level = 1.0 - 2.0 * NormalDist().cdf(-reach)
    low, high, _ = percentile_interval(estimate + factor * (replicates - estimate), level)
    narrow = high - low <= _NO_WIDTH * np.maximum(np.abs(low), np.abs(high))
    return np.where(narrow, np.nan, low), np.where(narrow, np.nan, high)


@checked
@shaped(replicates="rm")
def percentile_interval(replicates: Floats, confidence: Confidence) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return the percentile interval of every column (Efron & Tibshirani 1993, chapter 13).

    Args:
        replicates: shape (replicates, models); NaN counts beyond both ends.
        confidence: between 0 and 1, both excluded.

    Returns:
        Lower ends, upper ends (linear between order statistics; NaN where the replicates are too few, or too few of them are
        known) and how many replicates each column had, shape (models,) each.

    Example:
        >>> low, high, used = percentile_interval(np.arange(101.0)[:, None], 0.9)
        >>> low.round(9).tolist(), high.round(9).tolist(), used.tolist()
        ([5.0], [95.0], [101])
    """
    ordered = np.sort(replicates, axis=0)  # NaN comes last
    used = np.count_nonzero(~np.isnan(ordered), axis=0)
    tail = np.full(len(used), (1.0 - confidence) / 2.0)
    return _lower(ordered, used, tail), _upper(ordered, used, tail), used


@checked
@shaped(replicates="rm", estimate="m", acceleration="m")
def bca_interval(
    replicates: Floats, estimate: Floats, acceleration: Floats, confidence: Confidence
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return the bias-corrected and accelerated interval of every column (Efron 1987, doi:10.1080/01621459.1987.10478410).

    Args:
        replicates: shape (replicates, models); NaN counts beyond both ends.
        estimate: from all battles, shape (models,).
        acceleration: skewness of the influences over 6, shape (models,).
        confidence: between 0 and 1, both excluded.

    Returns:
        As :func:`percentile_interval`; an end whose corrected quantile lies beyond the replicates is NaN. Replicates equal to
        the estimate count half to the bias; a column whose replicates all lie on one side of it is treated as if half a
        replicate lay on the other.

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
        ends.append(np.array([normal.cdf(float(value)) for value in point]))
    return _lower(ordered, used, ends[0]), _upper(ordered, used, 1.0 - ends[1]), used


def _lower(ordered: Floats, used: NDArray[np.int64], tail: Floats) -> Floats:
    """Return the quantile ``tail`` of every column, with the replicates that are not known below all others."""
    return _order_statistic(ordered, used, tail * (len(ordered) - 1) - (len(ordered) - used), tail)


def _upper(ordered: Floats, used: NDArray[np.int64], tail: Floats) -> Floats:
    """Return the quantile 1 - ``tail`` of every column, with the replicates that are not known above all others."""
    return _order_statistic(ordered, used, (1.0 - tail) * (len(ordered) - 1), tail)


def _order_statistic(ordered: Floats, used: NDArray[np.int64], position: Floats, tail: Floats) -> Floats:
    """Linear between order statistics; NaN outside of the known ones, and where the replicates are too few for ``tail``."""
    reach = np.round(position, 9)  # 0.05 of 40 is 2, whatever (1 - 0.9) / 2 is in binary
    known = (reach >= 0.0) & (reach <= used - 1) & (tail * (len(ordered) + 1) >= 1.0 - 1e-6)
    position = np.where(known, np.clip(position, 0.0, used - 1), 0.0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(used - 1, 0))
    columns = np.flatnonzero(known)
    value = np.full(len(used), np.nan)
    low, high = ordered[below[columns], columns], ordered[above[columns], columns]
    # Written so that equal ends give exactly that value: a baseline's interval has no width.
    value[columns] = low + (high - low) * (position - below)[columns]
    return value

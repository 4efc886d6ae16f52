"""Student's t distribution, for intervals whose standard error comes from few clusters.

Tails by the continued fraction of the incomplete beta function (Lentz's method; DLMF 8.17.22), quantiles by Newton's method; no
SciPy needed. ``math.inf`` degrees of freedom is the normal distribution.
"""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NORMAL_FROM = 1e6
_TINY = 1e-300


def two_sided_tail(ratio: Floats, degrees: float | Floats) -> Floats:
    """P(|T| > ratio) for ratios of 0 or more, of any shape; NaN for NaN, and without degrees of freedom.

    Args:
        degrees: of all ratios, or of each.

    Example:
        >>> two_sided_tail(np.array([0.0, 2.228]), 10.0).round(3).tolist()
        [1.0, 0.05]
        >>> two_sided_tail(np.array([12.706, 1.96]), np.array([1.0, math.inf])).round(3).tolist()
        [0.05, 0.05]
    """
    ratio, degrees = np.broadcast_arrays(np.asarray(ratio, dtype=np.float64), np.asarray(degrees, dtype=np.float64))
    tail = np.where(np.isnan(ratio) | ~(degrees > 0.0), np.nan, 0.0)
    known = np.isfinite(ratio) & (degrees > 0.0)
    normal, student = known & (degrees >= _NORMAL_FROM), known & (degrees < _NORMAL_FROM)
    tail[normal] = [math.erfc(value / math.sqrt(2.0)) for value in ratio[normal]]
    tail[student] = _half_beta(degrees[student], np.square(ratio[student]))
    return tail


@lru_cache(maxsize=1024)  # a board asks for the same few values again and again
def two_sided_quantile(tail: float, degrees: float) -> float:
    """Return the value that |T| exceeds with probability ``tail`` (between 0 and 1).

    Example:
        >>> round(two_sided_quantile(0.05, 10.0), 3), round(two_sided_quantile(0.05, math.inf), 3)
        (2.228, 1.96)
    """
    return float(two_sided_quantiles(tail, np.array([degrees]))[0])


def two_sided_quantiles(tail: float, degrees: Floats) -> Floats:
    """:func:`two_sided_quantile` for each of several degrees of freedom, of any shape; NaN for NaN.

    Example:
        >>> two_sided_quantiles(0.05, np.array([1.0, math.inf, math.nan])).round(2).tolist()
        [12.71, 1.96, nan]
    """
    normal = -NormalDist().inv_cdf(max(tail / 2.0, _TINY))
    # Cornish and Fisher's expansion where it holds; else the normal quantile. The tail is convex: Newton's first step leads to
    # the near side of the quantile, no later one overshoots, and t is never nearer than the normal.
    nearer = np.where(degrees >= 3.0, degrees, np.inf)
    first, second = (normal**3 + normal) / 4.0, (5.0 * normal**5 + 16.0 * normal**3 + 3.0 * normal) / 96.0
    value = np.where(degrees > 0.0, normal + first / nearer + second / nearer**2, np.nan)
    left = (degrees > 0.0) & (degrees < _NORMAL_FROM)
    begins = True
    while left.any():
        missing = two_sided_tail(value[left], degrees[left]) - tail
        reached = value[left] + missing / (2.0 * _density(value[left], degrees[left]))
        reached = np.maximum(reached, normal if begins else value[left])
        moved, begins = reached - value[left], False
        value[left] = reached
        left[left] = np.abs(moved) > 1e-13 * (1.0 + reached)
    return value


def _density(value: Floats, degrees: Floats) -> Floats:
    scale = _log_gamma((degrees + 1.0) / 2.0) - _log_gamma(degrees / 2.0) - 0.5 * np.log(degrees * math.pi)
    density: Floats = np.exp(scale - (degrees + 1.0) / 2.0 * np.log1p(value * value / degrees))
    return density


def _log_gamma(values: Floats) -> Floats:
    return np.array([math.lgamma(value) for value in values])


def _half_beta(degrees: Floats, square: Floats) -> Floats:
    """I_x(degrees/2, 1/2) with x = degrees / (degrees + square): the two-sided tail."""
    x = degrees / (degrees + square)
    swapped = x > (degrees / 2.0 + 1.0) / (degrees / 2.0 + 2.5)  # where the fraction of the other tail converges sooner
    a, b = np.where(swapped, 0.5, degrees / 2.0), np.where(swapped, degrees / 2.0, 0.5)
    z = np.where(swapped, square / (degrees + square), x)
    scale = _log_gamma(degrees / 2.0 + 0.5) - _log_gamma(degrees / 2.0) - math.lgamma(0.5)
    with np.errstate(divide="ignore"):
        front = np.exp(scale + a * np.log(z) + b * np.log1p(-z)) / a
    part = front * _fraction(a, b, z)
    value: Floats = np.where(swapped, 1.0 - part, part)
    return value


def _fraction(a: Floats, b: Floats, z: Floats) -> Floats:
    c, d = np.ones_like(z), 1.0 / _away(1.0 - (a + b) * z / (a + 1.0))
    value, left = d, np.ones(z.shape, dtype=np.bool_)  # each stops on its own, so that none depends on its company
    for step in range(1, 10_000):
        even = step * (b - step) * z / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * z / ((a + 2 * step) * (a + 2 * step + 1))
        change = np.ones_like(z)
        for term in (even, odd):
            d = 1.0 / _away(1.0 + term * d)
            c = _away(1.0 + term / c)
            change = change * c * d
        value = np.where(left, value * change, value)
        left &= np.abs(change - 1.0) >= 1e-15
        if not left.any():
            break
    return value


def _away(values: Floats) -> Floats:
    """Away from 0."""
    return np.where(np.abs(values) < _TINY, _TINY, values)

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


def two_sided_tail(ratio: Floats, degrees: float) -> Floats:
    """P(|T| > ratio) for ratios of 0 or more, of any shape; NaN for NaN.

    Example:
        >>> two_sided_tail(np.array([0.0, 2.228]), 10.0).round(3).tolist()
        [1.0, 0.05]
        >>> two_sided_tail(np.array([1.96]), math.inf).round(3).tolist()
        [0.05]
    """
    if degrees >= _NORMAL_FROM:
        return np.array([math.erfc(value / math.sqrt(2.0)) for value in ratio.ravel()]).reshape(ratio.shape)
    known = np.isfinite(ratio)
    tail = np.where(np.isnan(ratio), np.nan, 0.0)
    tail[known] = _half_beta(degrees, np.square(ratio[known]))
    return tail


@lru_cache(maxsize=1024)  # a board asks for the same few values again and again
def two_sided_quantile(tail: float, degrees: float) -> float:
    """Return the value that |T| exceeds with probability ``tail`` (between 0 and 1).

    Example:
        >>> round(two_sided_quantile(0.05, 10.0), 3), round(two_sided_quantile(0.05, math.inf), 3)
        (2.228, 1.96)
    """
    normal = -NormalDist().inv_cdf(max(tail / 2.0, _TINY))
    if degrees >= _NORMAL_FROM:
        return normal
    # The tail is convex and t is farther out than the normal: Newton's method from there never overshoots.
    value, step = normal, 1.0
    while step > 1e-13 * (1.0 + value):
        missing = float(two_sided_tail(np.array([value]), degrees)[0]) - tail
        step = missing / (2.0 * _density(value, degrees))
        value += max(step, 0.0)
    return value


def _density(value: float, degrees: float) -> float:
    scale = math.lgamma((degrees + 1.0) / 2.0) - math.lgamma(degrees / 2.0) - 0.5 * math.log(degrees * math.pi)
    return math.exp(scale - (degrees + 1.0) / 2.0 * math.log1p(value * value / degrees))


def _half_beta(degrees: float, square: Floats) -> Floats:
    """I_x(degrees/2, 1/2) with x = degrees / (degrees + square): the two-sided tail."""
    x = degrees / (degrees + square)
    swapped = x > (degrees / 2.0 + 1.0) / (degrees / 2.0 + 2.5)  # where the fraction of the other tail converges sooner
    a, b = np.where(swapped, 0.5, degrees / 2.0), np.where(swapped, degrees / 2.0, 0.5)
    z = np.where(swapped, square / (degrees + square), x)
    scale = math.lgamma(degrees / 2.0 + 0.5) - math.lgamma(degrees / 2.0) - math.lgamma(0.5)
    with np.errstate(divide="ignore"):
        front = np.exp(scale + a * np.log(z) + b * np.log1p(-z)) / a
    part = front * _fraction(a, b, z)
    value: Floats = np.where(swapped, 1.0 - part, part)
    return value


def _fraction(a: Floats, b: Floats, z: Floats) -> Floats:
    c, d = np.ones_like(z), 1.0 / _away(1.0 - (a + b) * z / (a + 1.0))
    value = d
    for step in range(1, 10_000):
        even = step * (b - step) * z / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * z / ((a + 2 * step) * (a + 2 * step + 1))
        change = np.ones_like(z)
        for term in (even, odd):
            d = 1.0 / _away(1.0 + term * d)
            c = _away(1.0 + term / c)
            change = change * c * d
        value = value * change
        if np.all(np.abs(change - 1.0) < 1e-15):
            break
    return value


def _away(values: Floats) -> Floats:
    """Away from 0."""
    return np.where(np.abs(values) < _TINY, _TINY, values)

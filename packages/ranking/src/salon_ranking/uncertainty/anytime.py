"""Intervals that hold at every look: the asymptotic confidence sequence of Waudby-Smith et al. (arXiv:2103.06476).

A 95% interval misses in 5% of studies if it is looked at once. Looking every few votes, and stopping when an interval excludes
0, errs far more often. With n independent units (battles, or clusters) and ρ chosen beforehand, the interval

    estimate ± s · √((nρ² + 1) / (nρ²) · ln((nρ² + 1) / α²)),      s the standard error

contains the truth at all n with probability 1 - α, as the n of the first look grows. ρ is such that the interval is narrowest
at :data:`NARROWEST` units, where it is 1.55 times as wide as one that is looked at once, and 1.65 times at ten times as many.
With few degrees of freedom it reaches as far out on Student's t as this does on the normal distribution.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_ranking.uncertainty.student import two_sided_quantiles, two_sided_tail

Floats = NDArray[np.float64]

LEAST_UNITS: Final = 20
"""Battles or clusters before which there is no such interval."""
NARROWEST: Final = {False: 300, True: 60}
"""Units at which the interval is narrowest, of battles and of clusters (True)."""
_LEAST_TAIL: Final = 1e-300


@dataclass(frozen=True)
class Anytime:
    """A confidence sequence at one look.

    Attributes:
        units: how many battles or clusters there are now.
        clustered: whether the units are clusters.
        confidence: that all intervals of all looks contain the truth.

    Example:
        >>> look = Anytime(300, False, 0.95)
        >>> round(look.reach, 3), look.tails(np.array([1.96, 4.0]), np.inf).round(4).tolist()
        (3.035, [0.5429, 0.0025])
    """

    units: float
    clustered: bool
    confidence: float

    @property
    def spread(self) -> float:
        """nρ²."""
        twice = -2.0 * math.log1p(-self.confidence)
        return self.units * (twice + math.log1p(twice)) / NARROWEST[self.clustered]

    @property
    def reach(self) -> float:
        """How many standard errors the interval reaches, where degrees of freedom are many."""
        grown = self.spread + 1.0
        return math.sqrt(grown / self.spread * (math.log1p(self.spread) - 2.0 * math.log1p(-self.confidence)))

    def reaches(self, degrees: Floats) -> Floats:
        """Return :attr:`reach` for each of several degrees of freedom; NaN for NaN."""
        tail = max(math.erfc(self.reach / math.sqrt(2.0)), _LEAST_TAIL)
        return two_sided_quantiles(tail, degrees)

    def tails(self, ratio: Floats, degrees: float | Floats) -> Floats:
        """Return p-values that may be looked at at any time: the least α whose interval excludes 0.

        Args:
            ratio: estimates in standard errors, 0 or more.
            degrees: of freedom, of all or of each.
        """
        once = two_sided_tail(ratio, degrees)
        known = ~np.isnan(once)
        normal = np.array([-NormalDist().inv_cdf(max(tail / 2.0, _LEAST_TAIL)) for tail in once[known]])
        grown = self.spread + 1.0
        once[known] = np.minimum(math.sqrt(grown) * np.exp(-0.5 * np.square(normal) * self.spread / grown), 1.0)
        return once

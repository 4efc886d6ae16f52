"""Means over seeds with their intervals, for the studies of assessors and refiners."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from salon_ranking.uncertainty.student import two_sided_quantile


@dataclass(frozen=True, slots=True)
class SeedMean:
    """A mean over seeds.

    Attributes:
        mean: NaN without any seed.
        low, high: 95 % interval by Student's t, as wide as so few seeds make it; NaN for one seed.
        seeds: how many had a number.
    """

    mean: float
    low: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "SeedMean":
        """From one value per seed.

        Example:
            >>> estimate = SeedMean.of([0.2, 0.3, 0.4])
            >>> round(estimate.mean, 3), round(estimate.low, 3), round(estimate.high, 3)
            (0.3, 0.052, 0.548)
        """
        if not values:
            return cls(math.nan, math.nan, math.nan, 0)
        middle = mean(values)
        if len(values) == 1:
            return cls(middle, math.nan, math.nan, 1)
        room = two_sided_quantile(0.05, len(values) - 1) * stdev(values) / math.sqrt(len(values))
        return cls(middle, middle - room, middle + room, len(values))

    @property
    def half_width(self) -> float:
        """Half of the interval's width; NaN for fewer than two seeds."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        """As tables print it."""
        if not self.seeds:
            return "–"
        if math.isnan(self.low):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

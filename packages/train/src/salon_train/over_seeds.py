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
        low, high: 95 % interval by Student's t, as wide as so few seeds make it, within the range of the values; NaN for
            one seed.
        seeds: how many had a number.
    """

    mean: float
    low: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float], *, differences: bool = False) -> "SeedMean":
        """Return the mean of one share, rate or F1 per seed; its interval ends at 0 and 1.

        Args:
            values: one per seed, between 0 and 1.
            differences: the values are differences of shares, between -1 and 1.

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
        lowest = -1.0 if differences else 0.0
        return cls(middle, max(middle - room, min(lowest, *values)), min(middle + room, max(1.0, *values)), len(values))

    def text(self, form: str = ".3f") -> str:
        """Return the mean with its interval, each number in a format; a dash without any seed."""
        if not self.seeds:
            return "–"
        mean, low, high = (format(value, form) for value in (self.mean, self.low, self.high))
        return mean if math.isnan(self.low) else f"{mean} [{low}, {high}]"

    def __str__(self) -> str:
        """Return the mean with its interval as tables print it."""
        return self.text()

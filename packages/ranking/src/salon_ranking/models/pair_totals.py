"""Every pair of models that met, with the totals of its battles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon_ranking.battles import Battles

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairTotals:
    """One entry per pair, in ascending order; counts are sums of weights, seen from the first model.

    Attributes:
        outcomes: wins, losses and ties, shape (3, pairs).
        squares: the sum of squared weights.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    outcomes: Floats
    squares: Floats

    @property
    def matches(self) -> Floats:
        """Sum of weights."""
        total: Floats = self.outcomes.sum(axis=0)
        return total

    @property
    def score(self) -> Floats:
        """Wins plus half the ties of the first model."""
        won: Floats = self.outcomes[0] + 0.5 * self.outcomes[2]
        return won


def pair_totals(battles: Battles) -> PairTotals:
    """Sum the cells of every pair."""
    first, second, outcome, _, count, weight = battles.cells.columns()
    key = first.astype(np.int64) * len(battles.models) + second
    pairs, index = np.unique(key, return_inverse=True)
    outcomes = np.zeros((3, len(pairs)))
    np.add.at(outcomes, (outcome, index), count * weight)
    squares: Floats = np.bincount(index, weights=count * weight**2, minlength=len(pairs)).astype(np.float64)
    return PairTotals(pairs // len(battles.models), pairs % len(battles.models), outcomes, squares)

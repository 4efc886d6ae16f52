"""Covariance and replicates of battles clustered in two ways at once, by prompt and by rater.

With V₁, V₂ the covariances clustered by each column and V₁₂ by their crossings,

    C = V₁ + V₂ - V₁₂

(Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136). C need not be positive definite. No direction can truly be
much less variable than independent crossings would make it, so in the metric of V₁₂ eigenvalues below ``FLOOR`` are raised
to it (Cameron, Gelbach and Miller raise those below 0 to 0, which would call some differences certain).

The pigeonhole bootstrap (Owen 2007, doi:10.1214/07-AOAS122) draws both columns and lets a battle count as often as the
product of both draws. To first order that has the covariance P = V₁ + V₂ + V₁₂: three times too much where neither column
has an effect. So the deviations of its replicates are carried over by the linear map that turns P into C and moves them the
least (the optimal transport between normal distributions: Olkin & Pukelsheim 1982, doi:10.1016/0024-3795(82)90112-4),

    T = P^(-1/2) (P^(1/2) C P^(1/2))^(1/2) P^(-1/2),

which keeps the skewness of the draws. One map serves ratings, all differences and all ranks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FLOOR = 0.5
"""The least that a two-way variance may be, as a share of that of independent crossings."""
_NOTHING = 1e-11


@dataclass(frozen=True, eq=False)
class TwoWay:
    """Three covariances of the same parameters, shape (n, n) each, and the values of both columns and their crossings.

    Each is multiplied by G/(G - 1) for its ``counts`` G (Liang & Zeger 1986).
    """

    by_first: Floats
    by_second: Floats
    by_crossing: Floats
    counts: tuple[int, int, int]

    @property
    def covariance(self) -> Floats:
        """C, with its floor; NaN where a column has one value."""
        if not (np.isfinite(self.by_first).all() and np.isfinite(self.by_second).all()):
            return np.full_like(self.by_first, np.nan)
        root, inverse = _roots(self.by_crossing)
        matrix: Floats = root @ self._target(inverse) @ root.T
        return 0.5 * (matrix + matrix.T)

    def carried_over(self, replicates: Floats, estimate: Floats, strengths: int) -> Floats:
        """Pigeonhole replicates, shape (replicates, n), with T applied to their deviations from the estimate.

        The first ``strengths`` parameters are known up to a constant, so that their deviations are centred. What is NaN
        stays NaN and counts as no deviation for the others.
        """
        known = ~np.isnan(replicates)
        deviation = np.where(known, replicates - estimate, 0.0)
        number = np.maximum(known[:, :strengths].sum(axis=1, keepdims=True), 1)
        mean = deviation[:, :strengths].sum(axis=1, keepdims=True) / number
        deviation[:, :strengths] = np.where(known[:, :strengths], deviation[:, :strengths] - mean, 0.0)
        moved = estimate + deviation @ self._map(strengths).T
        return np.where(known, moved, np.nan)

    def _target(self, inverse: Floats) -> Floats:
        """C among the whitened crossings."""
        whole = self.by_first + self.by_second - self.by_crossing
        values, vectors = np.linalg.eigh(symmetric(inverse.T @ whole @ inverse))
        target: Floats = (vectors * np.maximum(values, FLOOR)) @ vectors.T
        return target

    def _map(self, strengths: int) -> Floats:
        size = len(self.by_crossing)
        centre = np.eye(size)
        centre[:strengths, :strengths] -= 1.0 / strengths
        root, inverse = _roots(centre @ self.by_crossing @ centre)
        # With multinomial draws of G values, their counts have the variance 1 - 1/G.
        first, second, crossing = (1.0 - 1.0 / count for count in self.counts)
        drawn = first * second * (self.by_first + self.by_second) + crossing * self.by_crossing
        half, back = _square_roots(symmetric(inverse.T @ drawn @ inverse))
        middle, _ = _square_roots(symmetric(half @ self._target(inverse) @ half))
        rest = np.eye(size) - root @ inverse.T  # what the crossings say nothing about stays as it was drawn
        carried: Floats = root @ back @ middle @ back @ inverse.T + rest
        return carried


def _roots(matrix: Floats) -> tuple[Floats, Floats]:
    """R and S with R Rᵀ = matrix and Sᵀ matrix S = I, shape (n, rank)."""
    values, vectors = np.linalg.eigh(symmetric(matrix))
    kept = values > _NOTHING * values.max(initial=0.0)
    root = np.sqrt(values[kept])
    return vectors[:, kept] * root, vectors[:, kept] / root


def _square_roots(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the positive square root of a positive definite matrix, and its inverse."""
    values, vectors = np.linalg.eigh(matrix)
    root = np.sqrt(np.maximum(values, _NOTHING * values.max(initial=0.0)))
    return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T


def symmetric(matrix: NDArray[np.floating]) -> Floats:
    """Return the matrix made exactly symmetric."""
    mean: Floats = np.asarray(0.5 * (matrix + matrix.T), dtype=np.float64)
    return mean

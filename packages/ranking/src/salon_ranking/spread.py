"""How far the ratings of one league may lie from the truth: by resampling, or by a covariance.

A :class:`Spread` answers for every kind of interval alike: intervals of ratings, standard errors of differences, and how large
the largest of all studentized differences gets, which simultaneous statements need.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from salon_ranking.intervals import bca_interval, percentile_interval

Floats = NDArray[np.float64]
Interval: TypeAlias = Literal["percentile", "bca", "sandwich"]
"""Quantiles of replicates; the same, corrected for bias and skewness; or normal, from an analytic covariance."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The uncertainty of one league. Everything is in units of log-strength (θ), for ``n`` models.

    Attributes:
        members: the league's models, as numbers into all models, shape (n,).
        base: position of the baseline among them.
        estimate: θ, the fit to all battles, shape (n,).
        replicates: θ of each replicate, shape (replicates, n), NaN where there is none; None for a sandwich.
        acceleration: shape (n,), of the difference to the baseline; None unless for BCa.
        covariance: shape (n, n); None unless for a sandwich.
        degenerate: replicates without a finite estimate.
        unconverged: replicates whose fit did not reach the tolerance.
    """

    members: NDArray[np.int64]
    base: int
    estimate: Floats
    replicates: Floats | None = None
    acceleration: Floats | None = None
    covariance: Floats | None = None
    degenerate: int = 0
    unconverged: int = 0

    def interval(self, confidence: float) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Ends of the intervals of θ - θ_base, and the replicates used for each; shape (n,) each.

        The baseline's interval has no width. Without replicates, or with a covariance that is not known, ends are NaN.
        """
        centre = self.estimate - self.estimate[self.base]
        if self.replicates is None:
            reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * self.difference_errors()[self.base]
            return centre - reach, centre + reach, np.zeros(len(centre), dtype=np.int64)
        relative = self.replicates - self.replicates[:, [self.base]]
        if self.acceleration is not None:
            return bca_interval(relative, centre, self.acceleration, confidence)
        return percentile_interval(relative, confidence)

    def difference_interval(self, model: int, confidence: float) -> tuple[Floats, Floats]:
        """Ends of the intervals of θ_model - θ, one by one, shape (n,): percentile of the replicates, or normal."""
        if self.replicates is None:
            reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * self.difference_errors()[model]
            centre = self.estimate[model] - self.estimate
            return centre - reach, centre + reach
        low, high, _ = percentile_interval(self.replicates[:, [model]] - self.replicates, confidence)
        return low, high

    def difference_errors(self) -> Floats:
        """Standard errors of θ_i - θ_j, shape (n, n); NaN for a pair that shares fewer than two replicates."""
        if self.covariance is not None:
            variances = np.diag(self.covariance)
            squared = variances[:, None] + variances[None, :] - 2.0 * self.covariance
            np.fill_diagonal(squared, 0.0 * variances)  # rounding aside, it is 0 where it is known
            errors: Floats = np.sqrt(np.maximum(squared, 0.0))
            return errors
        drawn = np.empty((0, len(self.estimate))) if self.replicates is None else self.replicates
        errors = np.full((len(self.estimate), len(self.estimate)), np.nan)
        for model in range(len(self.estimate)):
            errors[model] = _deviation(drawn[:, [model]] - drawn)
        return errors

    def critical_value(self, confidence: float, draws: int, seed: int) -> float:
        """The quantile of max over pairs of |(θ*_i - θ*_j) - (θ_i - θ_j)| / se_ij; NaN when nothing is known.

        θ* are the replicates; for a sandwich, ``draws`` normal vectors with its covariance.
        """
        errors = self.difference_errors()
        drawn = self._deviations(draws, seed)
        largest = np.full(len(drawn), -np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            for model in range(len(self.estimate) - 1):
                gaps = np.abs(drawn[:, [model]] - drawn[:, model + 1 :]) / errors[model, model + 1 :]
                largest = np.fmax(largest, np.fmax.reduce(gaps, axis=1))
        known = largest[np.isfinite(largest)]
        return float(np.quantile(known, confidence)) if known.size else float("nan")

    def _deviations(self, draws: int, seed: int) -> Floats:
        if self.replicates is not None:
            return self.replicates - self.estimate
        if self.covariance is None or not np.isfinite(self.covariance).all():
            return np.empty((0, len(self.estimate)))
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal: Floats = np.random.default_rng(seed).standard_normal((draws, len(values)))
        return np.asarray(normal @ root.T)


def _deviation(values: Floats) -> Floats:
    """Standard deviation of every column, NaN left out; NaN for fewer than two values."""
    count = np.count_nonzero(~np.isnan(values), axis=0)
    mean = np.nansum(values, axis=0) / np.maximum(count, 1)
    squares = np.nansum((values - mean) ** 2, axis=0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)


def rank_intervals(spread: Spread, confidence: float, draws: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Best and worst rank of every model, which hold all true ranks at once with probability ``confidence``.

    All differences get simultaneous intervals, θ_i - θ_j ± c·se_ij, with c the quantile of the largest studentized
    difference; as many models as are certainly above i, plus one, is its best rank, and as many as are not certainly below
    it is its worst (Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006). A pair without a standard error is
    certain of nothing.

    Returns:
        Two arrays of shape (n,), from 1 to n.

    Example:
        >>> apart = Spread(np.arange(3), 2, np.array([5.0, 0.1, 0.0]), covariance=np.eye(3))
        >>> [ends.tolist() for ends in rank_intervals(apart, 0.95, draws=1000, seed=0)]
        [[1, 2, 2], [1, 3, 3]]
    """
    reach = np.nan_to_num(spread.critical_value(confidence, draws, seed) * spread.difference_errors(), nan=np.inf)
    gaps = spread.estimate[:, None] - spread.estimate[None, :]
    below = gaps > reach  # [i, j]: j is certainly below i
    np.fill_diagonal(below, False)
    return 1 + below.sum(axis=0), len(gaps) - below.sum(axis=1)

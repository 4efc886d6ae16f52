"""How intervals shrink with matches: their width at fractions of the battles, by the sandwich formula.

The covariance of Bradley-Terry strengths at the answer is A⁻¹BA⁻¹, A the curvature Σ w p(1 - p) and B the spread of the
scores Σ w² (s - p)², both on the difference of the two models; with clusters, B sums the scores of a cluster first (Huber
1967; White 1982; Liang & Zeger 1986). One fit per fraction and no resampling, so it is quick.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.bradley_terry import MAX_ITERATIONS, POINTS_PER_UNIT, TOLERANCE
from salon_ranking.errors import OptionError, UnknownModelError

Floats = NDArray[np.float64]

MOST_MODELS = 1000
"""Models that the dense covariance is made for."""
FRACTIONS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
_MOST_CLUSTER_SCORES = 1 << 27
_SCORE = np.array([1.0, 0.0, 0.5])
_MENU = [0, 1, 2]


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells as columns, with how many of each cell's battles are kept."""

    models: int
    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    outcome: NDArray[np.uint8]
    cluster: NDArray[np.uint32]
    weight: Floats
    count: NDArray[np.int64]

    def fit(self, prior_ties: float) -> Floats | None:
        """θ; None when it would not be finite, or a model is left without a battle."""
        kept = self.count > 0
        if len(np.union1d(self.first[kept], self.second[kept])) < self.models:
            return None
        aggregator = _core.Aggregator()
        first, second = (np.ascontiguousarray(column[kept]) for column in (self.first, self.second))
        aggregator.add(first, second, self.outcome[kept].astype(np.uint32), _MENU, (self.count * self.weight)[kept])
        cells = aggregator.finish(self.models, np.arange(self.models, dtype=np.uint32))
        if prior_ties == 0.0 and cells.components().any():
            return None
        return _core.fit(cells, prior_ties, TOLERANCE, MAX_ITERATIONS).log_strengths


def convergence(
    battles: Battles,
    *,
    baseline: str,
    confidence: float = 0.95,
    by_cluster: bool = False,
    prior_ties: float = 0.0,
    seed: int = 0,
    fractions: tuple[float, ...] = FRACTIONS,
) -> pl.DataFrame:
    """Widths of the models' intervals at fractions of the battles, each a random part of the next larger one.

    Args:
        baseline: the model whose rating is fixed; it has no interval.
        by_cluster: take whole clusters (``battles.cluster_by``), and let scores within one depend on each other.
        fractions: ascending, above 0 and at most 1.

    Returns:
        One row per fraction with a finite fit: ``fraction``, ``battles``, ``matches_per_model``, and ``mean_width`` and
        ``widest`` of the intervals, in Elo points. Empty for one model or more than ``MOST_MODELS``.

    Raises:
        OptionError: an argument is outside its range, or ``by_cluster`` without clusters.
        UnknownModelError: the baseline has no battle.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 400, "model_b": ["y"] * 400, "winner": ["model_a", "model_b"] * 200})
        >>> convergence(Battles.from_frame(votes), baseline="y", fractions=(1.0,))["widest"].round(1).to_list()
        [68.1]
    """
    _check(battles, baseline, confidence, by_cluster, fractions)
    models = len(battles.models)
    rows: list[tuple[float, int, float, float, float]] = []
    if 2 <= models <= MOST_MODELS:
        first, second, outcome, cluster, count, weight = battles.cells.columns()
        cells = _Cells(models, first, second, outcome, cluster, weight, count.astype(np.int64))
        base = battles.models.index(baseline)
        random, larger = np.random.default_rng(seed), 1.0
        for fraction in sorted(fractions, reverse=True):
            cells = _thinned(cells, fraction / larger, random, by_cluster)
            larger = fraction
            theta = cells.fit(prior_ties)
            if theta is None:
                break  # and smaller parts have even less to go by
            widths = np.delete(interval_widths(_covariance(cells, theta, by_cluster, prior_ties), base, confidence), base)
            kept = int(cells.count.sum())
            rows.append((fraction, kept, 2.0 * kept / models, float(widths.mean()), float(widths.max())))
    columns = {"fraction": pl.Float64, "battles": pl.Int64, "matches_per_model": pl.Float64}
    return pl.DataFrame(rows[::-1], schema={**columns, "mean_width": pl.Float64, "widest": pl.Float64}, orient="row")


def interval_widths(covariance: Floats, baseline: int, confidence: float) -> Floats:
    """Widths in Elo points of normal intervals of every rating with the baseline's fixed; 0 for the baseline.

    Example:
        >>> interval_widths(np.eye(2) * 0.01, 1, 0.95).round(1).tolist()
        [96.3, 0.0]
    """
    variance = np.diag(covariance) + covariance[baseline, baseline] - 2.0 * covariance[baseline]
    quantile = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
    widths: Floats = 2.0 * quantile * POINTS_PER_UNIT * np.sqrt(np.maximum(variance, 0.0))
    return widths


def sandwich(curvature: Floats, spread: Floats, prior: Floats) -> Floats:
    """A⁻¹BA⁻¹ of Laplacians A and B given by their pairs; shapes (models, models), symmetric, zero diagonals.

    Args:
        curvature: per pair, Σ w p(1 - p).
        spread: per pair, Σ w² (s - p)²; or, when its diagonal is not zero, B itself.
        prior: additions to A's diagonal, shape (models,).
    """
    bread = bread_of(curvature, prior)
    meat = spread if np.diag(spread).any() else laplacian(spread)
    return bread @ meat @ bread


def laplacian(pairs: Floats) -> Floats:
    """The matrix whose off-diagonal entries are ``-pairs`` and whose rows sum to 0."""
    matrix: Floats = np.diag(pairs.sum(axis=1)) - pairs
    return matrix


def bread_of(curvature: Floats, prior: Floats) -> Floats:
    """The inverse of A; without a prior, its inverse on differences (a multiple of the matrix of ones is added first)."""
    matrix = laplacian(curvature) + np.diag(prior)
    if not prior.any():
        matrix = matrix + np.trace(matrix) / len(matrix) ** 2
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _covariance(cells: _Cells, theta: Floats, by_cluster: bool, prior_ties: float) -> Floats:
    models = cells.models
    p = 1.0 / (1.0 + np.exp(theta[cells.second] - theta[cells.first]))
    matches = cells.count * cells.weight
    score = cells.weight * (_SCORE[cells.outcome] - p)

    def by_pair(values: Floats) -> Floats:
        pairs = np.bincount(cells.first.astype(np.int64) * models + cells.second, values, models * models)
        square = pairs.astype(np.float64).reshape(models, models)
        return square + square.T

    against = 1.0 / (1.0 + np.exp(-theta))
    prior = prior_ties * against * (1.0 - against)
    if by_cluster:
        clusters = int(cells.cluster.max(initial=0)) + 1
        sums = np.zeros(clusters * models)
        for model, sign in ((cells.first, 1.0), (cells.second, -1.0)):
            at = cells.cluster.astype(np.int64) * models + model
            sums += np.bincount(at, sign * cells.count * score, clusters * models)
        scores = sums.reshape(clusters, models)
        spread: Floats = scores.T @ scores
    else:
        spread = by_pair(cells.count * score**2)
    return sandwich(by_pair(matches * p * (1.0 - p)), spread, prior)


def _thinned(cells: _Cells, share: float, random: np.random.Generator, by_cluster: bool) -> _Cells:
    if share >= 1.0:
        return cells
    if by_cluster:
        kept = random.random(int(cells.cluster.max(initial=0)) + 1) < share
        count = np.where(kept[cells.cluster], cells.count, 0)
    else:
        count = random.binomial(cells.count, share)
    return _Cells(cells.models, cells.first, cells.second, cells.outcome, cells.cluster, cells.weight, count)


def _check(battles: Battles, baseline: str, confidence: float, by_cluster: bool, fractions: tuple[float, ...]) -> None:
    if baseline not in battles.models:
        raise UnknownModelError("unknown baseline", source=battles.source, value=baseline, allowed=battles.models)
    if not 0.0 < confidence < 1.0:
        raise OptionError("confidence must lie between 0 and 1, not", value=confidence)
    if not fractions or not all(0.0 < fraction <= 1.0 for fraction in fractions):
        raise OptionError("fractions must lie above 0 and be at most 1, not", value=fractions)
    if by_cluster and battles.cluster_by is None:
        raise OptionError("there is nothing to cluster by", source=battles.source, hint="Name the column: cluster_by=…")
    if by_cluster and battles.cells.clusters * len(battles.models) > _MOST_CLUSTER_SCORES:
        raise OptionError(f"clusters x models must stay below {_MOST_CLUSTER_SCORES:,}", source=battles.source)

"""How intervals shrink with matches: their width at fractions of the battles, by the sandwich formula.

One fit per fraction and no resampling, so it is quick; the formula is in ``sandwich.py``.
"""

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.bradley_terry import MAX_ITERATIONS, POINTS_PER_UNIT, TOLERANCE, Estimator
from salon_ranking.errors import OptionError, UnknownModelError, UnratableError
from salon_ranking.options import takes_battles
from salon_ranking.sandwich import assembled, degrees_of_freedom, groups_of, inverse_information, prior_curvature
from salon_ranking.student import two_sided_quantile

__all__ = ["convergence"]

Floats = NDArray[np.float64]

MOST_MODELS = 1000
"""Models that the dense covariance is made for."""
FRACTIONS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


@takes_battles
def convergence(
    battles: Battles,
    *,
    baseline: str,
    confidence: float = 0.95,
    by_cluster: bool | None = None,
    prior_ties: float = 0.0,
    seed: int = 0,
    fractions: tuple[float, ...] = FRACTIONS,
    estimator: Estimator = "maximum-likelihood",
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
        [68.2]
    """
    by_cluster = battles.is_clustered(by_cluster)
    _check(battles, baseline, confidence, fractions)
    models = len(battles.models)
    rows: list[tuple[float, int, float, float, float]] = []
    if 2 <= models <= MOST_MODELS:
        cells = battles.cells
        base = battles.models.index(baseline)
        random, larger = np.random.default_rng(seed), 1.0
        for fraction in sorted(fractions, reverse=True):
            cells = _thinned(cells, fraction / larger, random, by_cluster)
            larger = fraction
            theta = _fitted(cells, prior_ties, estimator)
            if theta is None:
                break  # and smaller parts have even less to go by
            try:
                matrix, degrees = _covariance(cells, theta, by_cluster, prior_ties)
            except UnratableError:
                break
            widths = np.delete(interval_widths(matrix, base, confidence, degrees), base)
            kept = cells.battles
            rows.append((fraction, kept, 2.0 * kept / models, float(widths.mean()), float(widths.max())))
    columns = {"fraction": pl.Float64, "battles": pl.Int64, "matches_per_model": pl.Float64}
    return pl.DataFrame(rows[::-1], schema={**columns, "mean_width": pl.Float64, "widest": pl.Float64}, orient="row")


def interval_widths(covariance: Floats, baseline: int, confidence: float, degrees: float = math.inf) -> Floats:
    """Widths in Elo points of intervals of every rating with the baseline's fixed; 0 for the baseline.

    ``degrees`` of freedom of Student's t; infinite for the normal distribution.

    Example:
        >>> interval_widths(np.eye(2) * 0.01, 1, 0.95).round(1).tolist()
        [96.3, 0.0]
    """
    variance = np.diag(covariance) + covariance[baseline, baseline] - 2.0 * covariance[baseline]
    quantile = two_sided_quantile(1.0 - confidence, degrees)
    widths: Floats = 2.0 * quantile * POINTS_PER_UNIT * np.sqrt(np.maximum(variance, 0.0))
    return widths


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


def _fitted(cells: _core.Cells, prior_ties: float, estimator: Estimator) -> Floats | None:
    """θ; None when it would not be finite, or a model is left without a battle."""
    if not cells.records()[0].all() or (prior_ties == 0.0 and cells.components().any()):
        return None
    if estimator == "firth":
        return _core.fit_firth(cells, TOLERANCE, MAX_ITERATIONS).log_strengths
    return _core.fit(cells, prior_ties, TOLERANCE, MAX_ITERATIONS).log_strengths


def _covariance(cells: _core.Cells, theta: Floats, by_cluster: bool, prior_ties: float) -> tuple[Floats, float]:
    """The sandwich of a part of the battles, and its degrees of freedom, by the clusters that are left."""
    present = np.unique(cells.columns()[3]) if by_cluster else np.empty(0, dtype=np.uint32)
    groups = groups_of(cells) if by_cluster else ()
    counts = tuple(len(np.unique(group[present])) for group in groups)
    bread = inverse_information(cells, theta, prior_ties)
    products = [_core.score_products(cells, theta, group) for group in groups or (None,)]
    matrix = assembled(bread, products, counts, prior_curvature(theta, prior_ties), cells.battles)
    return matrix, degrees_of_freedom(counts)


def _thinned(cells: _core.Cells, share: float, random: np.random.Generator, by_cluster: bool) -> _core.Cells:
    if share >= 1.0:
        return cells
    _, _, _, cluster, count, _ = cells.columns()
    if by_cluster:
        kept = random.random(cells.clusters) < share
        return _core.recounted(cells, np.where(kept[cluster], count, np.uint64(0)))
    return _core.recounted(cells, random.binomial(count.astype(np.int64), share).astype(np.uint64))


def _check(battles: Battles, baseline: str, confidence: float, fractions: tuple[float, ...]) -> None:
    if baseline not in battles.models:
        raise UnknownModelError("unknown baseline", source=battles.source, value=baseline, allowed=battles.models)
    if not 0.0 < confidence < 1.0:
        raise OptionError("confidence must lie between 0 and 1, not", value=confidence)
    if not fractions or not all(0.0 < fraction <= 1.0 for fraction in fractions):
        raise OptionError("fractions must lie above 0 and be at most 1, not", value=fractions)

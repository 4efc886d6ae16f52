"""How intervals shrink with matches: their width at fractions of the battles, by the sandwich formula.

One fit per fraction and no resampling, so it is quick; the formula is in ``uncertainty/sandwich.py``.
"""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError, UnknownModelError, UnratableError
from salon_ranking.models.likelihood import Likelihood, PairLikelihood
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ratings import POINTS_PER_UNIT
from salon_ranking.models.ties import TieLikelihood
from salon_ranking.options import Seed, with_options
from salon_ranking.uncertainty.options import CoverageOptions
from salon_ranking.uncertainty.sandwich import sandwich
from salon_ranking.uncertainty.student import two_sided_quantiles

__all__ = ["convergence"]

Floats = NDArray[np.float64]

MOST_MODELS = 1000
"""Models that the dense covariance is made for."""
FRACTIONS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


@dataclass(frozen=True, kw_only=True)
class ConvergenceOptions(FitOptions, CoverageOptions):
    """A model, its baseline, and parts of the battles.

    Attributes:
        seed: of the random parts.
        fractions: ascending, above 0 and at most 1.
    """

    seed: Seed = 0
    fractions: tuple[float, ...] = FRACTIONS

    def check(self) -> None:
        """Check combinations of options.

        Raises:
            OptionError: there are covariates, or a fraction is outside its range.
        """
        super().check()
        if self.covariates:
            raise OptionError("fractions of the battles are for models without covariates, not", value=self.covariates)
        if not self.fractions or not all(0.0 < fraction <= 1.0 for fraction in self.fractions):
            raise OptionError("fractions must lie above 0 and be at most 1, not", value=self.fractions)


@with_options(ConvergenceOptions)
def convergence(battles: Battles, options: ConvergenceOptions) -> pl.DataFrame:
    """Return widths of the models' intervals at fractions of the battles, each a random part of the next larger one.

    The keywords are the fields of :class:`ConvergenceOptions`; a ``baseline`` must be named, and has no interval. Of clusters,
    whole ones are taken.

    Returns:
        One row per fraction with a finite fit: ``fraction``, ``battles``, ``matches_per_model``, and ``mean_width`` and
        ``widest`` of the intervals, in Elo points. Empty for one model or more than ``MOST_MODELS``.

    Raises:
        OptionError: an argument is outside its range, or ``cluster`` without clusters.
        UnknownModelError: the baseline has no battle.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 400, "model_b": ["y"] * 400, "winner": ["model_a", "model_b"] * 200})
        >>> convergence(Battles.from_frame(votes), baseline="y", fractions=(1.0,))["widest"].round(1).to_list()
        [68.2]
    """
    return interval_widths_by_size(battles, options)


def interval_widths_by_size(battles: Battles, options: ConvergenceOptions) -> pl.DataFrame:
    """Return the widths of ``options``, as :func:`convergence`."""
    baseline, clustered = options.baseline, battles.is_clustered(options.cluster)
    if baseline not in battles.models:
        raise UnknownModelError("unknown baseline", source=battles.source, value=baseline, allowed=battles.models)
    models = len(battles.models)
    rows: list[tuple[float, int, float, float, float]] = []
    if 2 <= models <= MOST_MODELS:
        cells = battles.cells
        base = battles.models.index(baseline)
        random, larger = np.random.default_rng(options.seed), 1.0
        for fraction in sorted(options.fractions, reverse=True):
            cells = _thinned(cells, fraction / larger, random, clustered)
            larger = fraction
            widths = _widths(cells, options, base, options.confidence, clustered)
            if widths is None:
                break  # and smaller parts have even less to go by
            rows.append((fraction, cells.battles, 2.0 * cells.battles / models, float(widths.mean()), float(widths.max())))
    columns = {"fraction": pl.Float64, "battles": pl.Int64, "matches_per_model": pl.Float64}
    return pl.DataFrame(rows[::-1], schema={**columns, "mean_width": pl.Float64, "widest": pl.Float64}, orient="row")


def interval_widths(covariance: Floats, baseline: int, confidence: float, degrees: float | Floats = math.inf) -> Floats:
    """Return widths in Elo points of intervals of every rating with the baseline's fixed; 0 for the baseline.

    ``degrees`` of freedom of Student's t, of all or of each; infinite for the normal distribution.

    Example:
        >>> interval_widths(np.eye(2) * 0.01, 1, 0.95).round(1).tolist()
        [96.3, 0.0]
    """
    variance = np.diag(covariance) + covariance[baseline, baseline] - 2.0 * covariance[baseline]
    quantile = two_sided_quantiles(1.0 - confidence, np.broadcast_to(degrees, variance.shape))
    widths: Floats = 2.0 * quantile * POINTS_PER_UNIT * np.sqrt(np.maximum(variance, 0.0))
    return widths


def laplacian(pairs: Floats) -> Floats:
    """Return the matrix whose off-diagonal entries are ``-pairs`` and whose rows sum to 0."""
    matrix: Floats = np.diag(pairs.sum(axis=1)) - pairs
    return matrix


def bread_of(curvature: Floats, prior: Floats) -> Floats:
    """Return the inverse of the curvature; without a prior, its inverse on differences."""
    matrix = laplacian(curvature) + np.diag(prior)
    if not prior.any():
        matrix = matrix + np.trace(matrix) / len(matrix) ** 2
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _widths(cells: _core.Cells, options: FitOptions, base: int, confidence: float, by_cluster: bool) -> Floats | None:
    """Return the widths of all intervals but the baseline's; None when not every model has a finite rating and interval."""
    if not cells.records()[0].all() or (options.prior_ties == 0.0 and cells.components().any()):
        return None
    if by_cluster:
        cells = _renumbered(cells)
    kind = PairLikelihood if options.ties == "half" else TieLikelihood
    likelihood: Likelihood = kind(cells, options, by_cluster)
    try:
        if isinstance(likelihood, TieLikelihood):
            likelihood.check("a part of the battles")
        values = likelihood.fit().values
        estimate = sandwich(likelihood, values)
    except UnratableError:
        return None
    others = np.delete(np.arange(cells.models), base)
    matrix = estimate.covariance[: cells.models, : cells.models]
    if not np.isfinite(matrix).all():
        return None
    degrees = estimate.degrees_between(others, np.full(len(others), base))
    return np.delete(interval_widths(matrix, base, confidence, np.insert(degrees, base, np.inf)), base)


def _renumbered(cells: _core.Cells) -> _core.Cells:
    """Return the same cells with the clusters that still have battles numbered from 0."""
    crossing = _core.crossing(cells)
    _, present, part = _core.parts(cells, np.zeros(cells.clusters, dtype=np.uint32), True)[0]
    if crossing is None:
        return part
    first, second = (np.unique(column[present], return_inverse=True)[1].astype(np.uint32) for column in crossing)
    return _core.crossed(part, first, second)


def _thinned(cells: _core.Cells, share: float, random: np.random.Generator, by_cluster: bool) -> _core.Cells:
    if share >= 1.0:
        return cells
    _, _, _, cluster, count, _ = cells.columns()
    if by_cluster:
        kept = random.random(cells.clusters) < share
        return _core.recounted(cells, np.where(kept[cluster], count, np.uint64(0)))
    return _core.recounted(cells, random.binomial(count.astype(np.int64), share).astype(np.uint64))

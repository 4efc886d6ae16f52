"""Sandwich covariances of any model's parameters, and the accelerations of BCa intervals: both without resampling.

With H the curvature of the log-likelihood at the estimate (a prior included) and s the score of a battle, its slope in all
parameters,

    V = H⁻¹ (Σ s sᵀ) H⁻¹

(Huber 1967; White 1982, doi:10.2307/1912526). Clustered, the sum runs over clusters, and s is the sum of a cluster's scores
(Liang & Zeger 1986, doi:10.1093/biomet/73.1.13), after its residuals are multiplied by (I - P)^(-1/2), P the cluster's part of
the hat matrix: the fit follows a cluster that knows much (CR2: Bell & McCaffrey 2002; Pustejovsky & Tipton 2018,
doi:10.1080/07350015.2016.1247004). Each contrast has Satterthwaite's degrees of freedom: few where few clusters hold what is
known of it. The core has the formulas (``cluster_sandwich.rs``). Battles whose weights differ are clusters of one. Two columns:
``two_way.py``. It is one policy for small samples, for ratings, tie models, covariates and the weights of dimensions
alike (``docs/intervals.md``, "Small samples").

A prior is no observation: its curvature Λ adds to H, and to the middle what it would vary by if it were
right, which is Λ again. Where battles are few V is then the curvature's inverse, the covariance of the posterior; without that
term a model known by its prior alone would look certain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.errors import UnratableError
from salon_ranking.models.likelihood import Codes, Floats, Groups, Likelihood, RowScores, ScoreSums, cluster_groups
from salon_ranking.options import workers
from salon_ranking.uncertainty.two_way import TwoWay, symmetric

Integers = NDArray[np.int64]

_NUMBERS_AT_ONCE = 1 << 23
_WORST_CONDITION = 1e13
_APART = 1e-7
"""Units of log-odds that equals may be apart by rounding."""


def inverse_curvature(scores: ScoreSums, prior: Floats, models: int) -> Floats:
    """Return H⁻¹, shape (n + k, n + k).

    Without a prior it is a pseudo-inverse, as strengths are known up to a constant.

    Args:
        prior: Λ, shape (n + k,).
        models: n.

    Raises:
        UnratableError: the curvature cannot be inverted: some weights are too small beside the others, or some chances too
            close to 1, for the precision of numbers.
    """
    return inverse_of(scores.curvature(), prior, models)


def inverse_of(curvature: Floats, prior: Floats, models: int) -> Floats:
    """Return H⁻¹ of the curvature without its prior, as :func:`inverse_curvature`."""
    curvature = curvature + np.diag(prior)
    ones = np.zeros_like(curvature)
    ones[:models, :models] = 1.0 / models
    lift = float(np.trace(curvature)) / len(curvature) if not prior[:models].any() else 0.0
    inverse = _inverse(curvature + lift * ones)
    return symmetric(inverse - ones / lift if lift else inverse)


@dataclass(frozen=True, eq=False)
class Clustering:
    """One grouping of a fit's rows into clusters.

    Attributes:
        rows: scores and curvature.
        group: the cluster of each row.
        clusters: how many there are.
        bread: H⁻¹, shape (n + k, n + k).
        prior: Λ, shape (n + k,).
    """

    rows: RowScores
    group: Codes
    bread: Floats
    prior: Floats

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return int(self.group.max(initial=0)) + 1

    @cached_property
    def _design(self) -> tuple[Codes, Codes, Floats, Floats, Codes]:
        first, second, along, further = self.rows.roots()
        return first, second, along, further, np.tile(self.group, len(first) // max(len(self.group), 1))

    def covariance(self) -> Floats:
        """Return the covariance by CR2, without the prior's part; NaN of one cluster."""
        if self.clusters < 2:
            return np.full_like(self.bread, np.nan)
        middle = _core.corrected_products(self.rows.models, self.rows.rows, self._design, self.group, self.bread, self.prior)
        return symmetric(self.bread @ middle @ self.bread)

    def degrees(self, reaches: Floats) -> Floats:
        """Return the degrees of freedom of contrasts c, given as rows H⁻¹c."""
        degrees = [np.empty(0)]
        step = max(_NUMBERS_AT_ONCE // max(len(self.bread), 1), 1)
        for start in range(0, len(reaches), step):
            part = np.ascontiguousarray(reaches[start : start + step])
            arguments = (self.rows.models, self._design, self.clusters, self.bread, self.prior, part, workers(None))
            degrees.append(_core.contrast_degrees(*arguments))
        return np.concatenate(degrees)


@dataclass(frozen=True, eq=False)
class Sandwich:
    """A sandwich covariance and its degrees of freedom.

    Attributes:
        covariance: of all parameters, shape (n + k, n + k); NaN of one cluster.
        bread: H⁻¹, of the same shape.
        columns: the clusters, by one column or by two; none where battles are independent and weigh the same.
    """

    covariance: Floats
    bread: Floats
    columns: tuple[Clustering, ...] = ()

    def degrees(self, contrasts: Floats) -> Floats:
        """Return Satterthwaite's degrees of freedom of contrasts, shape (contrasts,).

        Infinite without clusters; of two columns the smaller ones. NaN for a contrast that cannot be estimated without one of
        the clusters.

        Args:
            contrasts: one per row, shape (contrasts, n + k).
        """
        return self._degrees(contrasts @ self.bread)

    def degrees_between(self, first: Integers, second: Integers) -> Floats:
        """Return the same of differences of parameters, given by number; -1 is the fixed 0."""
        padded = np.vstack([self.bread, np.zeros(len(self.bread))])
        return self._degrees(padded[first] - padded[second])

    def _degrees(self, reaches: Floats) -> Floats:
        least = np.full(len(reaches), np.inf)
        for column in self.columns:
            least = np.minimum(least, column.degrees(reaches))
        return least


def sandwich(likelihood: Likelihood, values: Floats) -> Sandwich:
    """Return the sandwich covariance of all parameters.

    Args:
        values: the fit to all battles: θ, then the further parameters.
    """
    bread, scores, prior = _bread(likelihood, values)
    groups, weights, unit = likelihood.row_groups, likelihood.weights, likelihood.unit
    if groups:
        return clustered(scores.by_row(), groups, bread, prior)
    if len(weights) and weights.min() < weights.max():
        rows = scores.by_row() if unit is not None else scores.by_row().repeated()
        return clustered(rows, (np.arange(len(rows.bend), dtype=np.uint32) if unit is None else unit,), bread, prior)
    return independent(scores.products(unit), independent_votes(likelihood), bread, prior, likelihood.cells.models)


def independent_votes(likelihood: Likelihood) -> int:
    """Return the number of battles, or of rankings."""
    return likelihood.cells.battles if likelihood.unit is None else counts_of([likelihood.unit])[0]


def independent(products: Floats, battles: float, bread: Floats, prior: Floats, models: int) -> Sandwich:
    """Return the sandwich of independent battles of one weight, by HC1.

    Args:
        products: sums of products of their scores, shape (n + k, n + k).
        battles: how many there are.
        models: n; 0 for a model without strengths.
    """
    factor = correction(battles, free_parameters(bread, prior, models))
    return Sandwich(symmetric(factor * (bread @ products @ bread) + (bread * prior) @ bread), bread)


def clustered(rows: RowScores, groups: Groups, bread: Floats, prior: Floats) -> Sandwich:
    """Return the sandwich of rows in clusters, by CR2.

    Args:
        groups: of the rows: by one column, or by two and their crossings.
    """
    if len(groups) and (np.diff(groups[0].astype(np.int64)) < 0).any():  # rows of a cluster side by side: quicker to read
        order = np.argsort(groups[0], kind="stable")
        rows, groups = rows.taken(order), tuple(np.ascontiguousarray(group[order]) for group in groups)
    ways = [Clustering(rows, group, bread, prior) for group in groups]
    parts = [way.covariance() for way in ways]
    matrix = parts[0]
    if len(ways) == 3:
        matrix = TwoWay(parts[0], parts[1], parts[2], (ways[0].clusters, ways[1].clusters, ways[2].clusters)).covariance
    return Sandwich(symmetric(matrix + (bread * prior) @ bread), bread, tuple(ways[:2]))


def two_way(likelihood: Likelihood, values: Floats) -> TwoWay:
    """Return the three covariances of battles in two columns of clusters, as resamples vary."""
    bread, scores, _ = _bread(likelihood, values)
    groups = likelihood.groups
    counts = counts_of(groups)
    parts = [
        symmetric(correction(count, 1) * (bread @ scores.products(group) @ bread))
        for group, count in zip(groups, counts, strict=True)
    ]
    return TwoWay(parts[0], parts[1], parts[2], (counts[0], counts[1], counts[2]))


def accelerations(likelihood: Likelihood, values: Floats, base: int) -> Floats:
    """Return Σ l³ / (6 (Σ l²)^{3/2}) of every parameter, shape (n + k,); 0 for the baseline.

    l = the influence of a battle, or a cluster, on θ - θ_base or on a further parameter: the infinitesimal jackknife of
    Efron 1987 (doi:10.1080/01621459.1987.10478410, section 6), which differs from leaving each out and fitting again by terms
    of order 1/n.
    """
    bread, scores, _ = _bread(likelihood, values)
    kernel, models = bread.copy(), likelihood.cells.models
    kernel[:, :models] -= bread[:, [base]]
    kernel = np.ascontiguousarray(kernel)
    group = likelihood.groups[0] if likelihood.groups else None
    squares = np.einsum("im,ij,jm->m", kernel, scores.products(group), kernel, optimize=True)
    cubes = scores.third_moments(kernel, group)
    known = squares > 0.0
    return np.where(known, cubes / np.where(known, 6.0 * np.abs(squares) ** 1.5, 1.0), 0.0)


def _bread(likelihood: Likelihood, values: Floats) -> tuple[Floats, ScoreSums, Floats]:
    """Return H⁻¹, the scores at the estimate, and Λ."""
    scores, prior = likelihood.at(values), prior_of(likelihood, values)
    return inverse_curvature(scores, prior, likelihood.cells.models), scores, prior


def models_of_one_cluster(cells: _core.Cells) -> NDArray[np.bool_]:
    """Return which models have all battles in one cluster (of two columns: of either), shape (models,).

    A model's scores sum to 0 over its battles, and so over its only cluster: a sandwich would find no variation at all.
    """
    first, second, _, cluster = cells.columns()[:4]
    alone = np.zeros(cells.models, dtype=np.bool_)
    for group in cluster_groups(cells)[:2]:
        own, seen = group[cluster], np.zeros(cells.models, dtype=np.uint32)
        differs = np.zeros(cells.models, dtype=np.bool_)
        for side in (first, second):
            seen[side] = own
        for side in (first, second):
            differs[side[own != seen[side]]] = True
        alone |= ~differs
    return alone


def still_models(likelihood: Likelihood, values: Floats) -> NDArray[np.bool_]:
    """Return the models whose battles are all ties between equals: residuals of 0 say nothing of chance; shape (n,)."""
    _, wins, ties, losses = likelihood.cells.records()
    still: NDArray[np.bool_] = (wins == 0.0) & (losses == 0.0) & (ties > 0.0)
    if not still.any():
        return still
    first, second, log_odds = likelihood.log_odds(values)
    for side in (first, second):
        still &= np.bincount(side, np.abs(log_odds) > _APART, len(still)) == 0
    return still


def counts_of(groups: Sequence[NDArray[np.uint32]]) -> tuple[int, ...]:
    """Return how many groups each grouping has."""
    return tuple(int(group.max(initial=0)) + 1 for group in groups)


def degrees_of_freedom(counts: Sequence[int]) -> float:
    """Return the degrees of freedom of an error.

    With clusters, their number less one (of two columns, the rarer one's); else infinite.

    Cameron & Miller 2015, doi:10.3368/jhr.50.2.317, sections VI.D and V.A.
    """
    return max(min(counts[:2]) - 1.0, 1.0) if counts else math.inf


def correction(units: float, parameters: float) -> float:
    """Return the factor n/(n - k) of a covariance from few units.

    NaN where there are no more units than parameters.

    Of n independent battles, k is the number of fitted parameters (HC1: MacKinnon & White 1985,
    doi:10.1016/0304-4076(85)90158-7). Of n clusters, k is 1 (Liang & Zeger 1986): how many battles each holds says nothing
    about how much is known.

    Example:
        >>> correction(20, 1), correction(1, 1)
        (1.0526315789473684, nan)
    """
    return units / (units - parameters) if units > parameters + 1e-9 else math.nan


def free_parameters(bread: Floats, prior: Floats, models: int) -> float:
    """Return the number of parameters of a fit.

    Strengths without a prior count one less, as they are known up to a constant.

    With a prior, the effective number, the trace of H⁻¹(H - Λ) (Hastie & Tibshirani 1990, section 3.5).
    """
    known = len(bread) - (1.0 if models and not prior[:models].any() else 0.0)
    return known - float(np.diag(bread) @ prior)


def prior_of(likelihood: Likelihood, values: Floats) -> Floats:
    """Return Λ, shape (n + k,): what prior and ridge add to the diagonal of the curvature."""
    models = likelihood.cells.models
    further = np.full(likelihood.size, likelihood.options.ridge)
    return np.append(prior_curvature(values[:models], likelihood.options.prior_ties), further)


def prior_curvature(log_strengths: Floats, prior_ties: float) -> Floats:
    """Return what a prior of drawn battles adds to the diagonal of the curvature, one per model."""
    share = 0.5 * (1.0 + np.tanh(0.5 * log_strengths))
    added: Floats = prior_ties * share * (1.0 - share)
    return added


def _inverse(matrix: Floats) -> NDArray[np.floating]:
    hint = "Take percentile intervals, or give every model a few drawn battles (--prior-ties 1)."
    error = UnratableError("the battles say too little about some models for an analytic interval", hint=hint)
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise error from None
    # The condition number in the 1-norm; written so that NaN is refused too.
    if not np.linalg.norm(matrix, 1) * np.linalg.norm(inverse, 1) < _WORST_CONDITION:
        raise error
    return inverse

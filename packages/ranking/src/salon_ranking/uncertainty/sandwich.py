"""Sandwich covariances of any model's parameters, and the accelerations of BCa intervals: both without resampling.

With H the curvature of the log-likelihood at the estimate (a prior included) and s the score of a battle, its slope in all
parameters,

    V = H⁻¹ (Σ s sᵀ) H⁻¹

(Huber 1967; White 1982, doi:10.2307/1912526). Clustered, the sum runs over clusters, and s is the sum of a cluster's scores
(Liang & Zeger 1986, doi:10.1093/biomet/73.1.13). Two columns: ``two_way.py``. :func:`correction` and
:func:`degrees_of_freedom` are the one policy for small samples, for ratings, tie models, covariates, the weights of
dimensions and mean opinion scores alike (``docs/intervals.md``, "Small samples").

A prior is no observation: its curvature Λ adds to H, and to the middle what it would vary by if it were
right, which is Λ again. Where battles are few V is then the curvature's inverse, the covariance of the posterior; without that
term a model known by its prior alone would look certain.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.errors import UnratableError
from salon_ranking.models.likelihood import Floats, Likelihood, ScoreSums, cluster_groups
from salon_ranking.uncertainty.two_way import TwoWay

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
    curvature = scores.curvature() + np.diag(prior)
    ones = np.zeros_like(curvature)
    ones[:models, :models] = 1.0 / models
    lift = float(np.trace(curvature)) / len(curvature) if not prior[:models].any() else 0.0
    inverse = _inverse(curvature + lift * ones)
    return _symmetric(inverse - ones / lift if lift else inverse)


def covariance(likelihood: Likelihood, values: Floats) -> Floats:
    """Return the sandwich covariance of all parameters, shape (n + k, n + k).

    NaN when all battles are in one cluster.

    Args:
        values: the fit to all battles: θ, then the further parameters.
    """
    bread, scores, prior = _bread(likelihood, values)
    groups = likelihood.groups
    products = [scores.products(group) for group in groups or (None,)]
    return assembled(bread, products, counts_of(groups), prior, likelihood.cells.models, likelihood.cells.battles)


def two_way(likelihood: Likelihood, values: Floats) -> TwoWay:
    """Return the three covariances of battles in two columns of clusters."""
    bread, scores, _ = _bread(likelihood, values)
    groups = likelihood.groups
    return three_ways(bread, [scores.products(group) for group in groups], counts_of(groups))


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


def assembled(
    bread: Floats, products: Sequence[Floats], counts: Sequence[int], prior: Floats, models: int, battles: float
) -> Floats:
    """Return the covariance from sums of products of scores.

    The products are of battles (no counts), of one grouping, or of two and their crossings.

    Args:
        bread: H⁻¹, shape (n + k, n + k).
        products: of the same shape, one per grouping; one without.
        counts: groups of each grouping; empty without.
        prior: Λ, shape (n + k,).
        models: n; 0 for a model without strengths.
        battles: how many there are.
    """
    from_prior = (bread * prior) @ bread
    if len(counts) == 3:
        return _symmetric(three_ways(bread, products, counts).covariance + from_prior)
    factor = correction(counts[0], 1) if counts else correction(battles, free_parameters(bread, prior, models))
    return _symmetric(factor * (bread @ products[0] @ bread) + from_prior)


def three_ways(bread: Floats, products: Sequence[Floats], counts: Sequence[int]) -> TwoWay:
    """Covariances by the first column, the second, and the crossings."""
    parts = [
        _symmetric(correction(count, 1) * (bread @ product @ bread)) for product, count in zip(products, counts, strict=True)
    ]
    return TwoWay(parts[0], parts[1], parts[2], (counts[0], counts[1], counts[2]))


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


def _symmetric(matrix: NDArray[np.floating]) -> Floats:
    """Rounding aside, what it is already."""
    mean: Floats = np.asarray(0.5 * (matrix + matrix.T), dtype=np.float64)
    return mean

"""Sandwich covariances of log-strengths, and the accelerations of BCa intervals: both from influences, without resampling.

With H the curvature of the log-likelihood at the estimate (a prior included) and s the score of a battle, w(y - p)(e_i - e_j),

    V = H⁻¹ (Σ s sᵀ) H⁻¹

(Huber 1967; White 1982, doi:10.2307/1912526). Clustered, the sum runs over clusters, s is the sum of a cluster's scores,
and the middle is multiplied by G/(G - 1) for G clusters (Liang & Zeger 1986, doi:10.1093/biomet/73.1.13). For two columns,
V = V₁ + V₂ - V₁₂, with V₁₂ by their crossings (Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136); where that has
negative eigenvalues, they are set to 0, as the authors advise. ``reference_uncertainty.py`` is the readable twin.
"""

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.errors import OptionError, UnratableError

Floats = NDArray[np.float64]

MOST_MODELS = 4096
"""Models of one league up to which square matrices are made."""
_WORST_CONDITION = 1e13


def check_size(models: int, what: str) -> None:
    """Refuse a matrix that would not fit.

    Raises:
        OptionError: there are more than ``MOST_MODELS`` models.
    """
    if models > MOST_MODELS:
        problem = f"{what} need a matrix of models x models; that is for at most {MOST_MODELS:,} models, not"
        raise OptionError(problem, value=models, hint="Rate with percentile intervals, or rank fewer models.")


def inverse_information(cells: _core.Cells, log_strengths: Floats, prior_ties: float) -> Floats:
    """H⁻¹, shape (models, models); without a prior the pseudo-inverse, as only differences of log-strengths are known.

    Raises:
        UnratableError: the curvature cannot be inverted: some weights are too small beside the others, or some chances too
            close to 1, for the precision of numbers.
    """
    information = _core.information(cells, log_strengths, prior_ties)
    ones = np.full_like(information, 1.0 / len(information))
    lift = float(np.trace(information)) / len(information) if prior_ties == 0.0 else 0.0
    inverse = _inverse(information + lift * ones)
    return _symmetric(inverse - ones / lift if lift else inverse)


def covariance(cells: _core.Cells, log_strengths: Floats, prior_ties: float, clustered: bool) -> Floats:
    """The sandwich covariance of log-strengths, shape (models, models); NaN when all battles lie in one cluster.

    A prior is no observation: it adds to H alone. Where it outweighs a model's battles, V is far too small for that model.

    Args:
        log_strengths: the fit to all battles, shape (models,).
        clustered: by the cells' clusters, by both columns where they are crossings; else by single battles.
    """
    bread = inverse_information(cells, log_strengths, prior_ties)
    if not clustered:
        return bread @ _core.score_products(cells, log_strengths) @ bread
    groupings = [np.arange(cells.clusters, dtype=np.uint32)]
    crossing = _core.crossing(cells)
    if crossing is not None:
        groupings = [*crossing, *groupings]
    middles = [_middle(cells, log_strengths, group) for group in groupings]
    if crossing is None:
        return _symmetric(bread @ middles[0] @ bread)
    return _without_negative(bread @ (middles[0] + middles[1] - middles[2]) @ bread)


def accelerations(cells: _core.Cells, log_strengths: Floats, prior_ties: float, base: int, clustered: bool) -> Floats:
    """Σ l³ / (6 (Σ l²)^{3/2}) of every model's rating, shape (models,); 0 for the baseline.

    l = the influence of a battle, or a cluster, on θ - θ_base: the infinitesimal jackknife of Efron 1987
    (doi:10.1080/01621459.1987.10478410, section 6), which differs from leaving each out and fitting again by terms of
    order 1/n.
    """
    inverse = inverse_information(cells, log_strengths, prior_ties)
    kernel = np.ascontiguousarray(inverse - inverse[:, [base]])
    group = np.arange(cells.clusters, dtype=np.uint32) if clustered else None
    squares = np.einsum("im,ij,jm->m", kernel, _core.score_products(cells, log_strengths, group), kernel, optimize=True)
    cubes = _core.third_moments(cells, log_strengths, kernel, group)
    known = squares > 0.0
    return np.where(known, cubes / np.where(known, 6.0 * np.abs(squares) ** 1.5, 1.0), 0.0)


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


def _middle(cells: _core.Cells, log_strengths: Floats, group: NDArray[np.uint32]) -> Floats:
    count = int(group.max(initial=0)) + 1
    factor = count / (count - 1) if count > 1 else np.nan
    return factor * _core.score_products(cells, log_strengths, group)


def _without_negative(matrix: Floats) -> Floats:
    if not np.isfinite(matrix).all():
        return matrix
    values, vectors = np.linalg.eigh(_symmetric(matrix))
    return _symmetric((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _symmetric(matrix: NDArray[np.floating]) -> Floats:
    """Rounding aside, what it is already."""
    mean: Floats = np.asarray(0.5 * (matrix + matrix.T), dtype=np.float64)
    return mean

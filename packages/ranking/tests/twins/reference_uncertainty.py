"""The readable twin of the Rust pieces behind sandwich intervals, BCa accelerations and contributions of prompts.

One row per battle and dense matrices. Tests hold it against the core; nothing else uses it.
"""

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from twins import reference

Floats = NDArray[np.float64]

_SCORE = np.array([1.0, 0.0, 0.5])


def scores(cells: _core.Cells, log_strengths: Floats) -> tuple[Floats, NDArray[np.uint32]]:
    """The score vector w(y - p)(e_i - e_j) of every battle, shape (battles, models), and its cluster, shape (battles,)."""
    first, second, outcome, cluster, count, weight = cells.columns()
    p = 1.0 / (1.0 + np.exp(log_strengths[second] - log_strengths[first]))
    rows = np.arange(len(count))
    score = np.zeros((len(count), cells.models))
    score[rows, first] = weight * (_SCORE[outcome] - p)
    score[rows, second] = -score[rows, first]
    repeats = count.astype(np.int64)
    return np.repeat(score, repeats, axis=0), np.repeat(cluster, repeats)


def information(cells: _core.Cells, log_strengths: Floats, prior_ties: float) -> Floats:
    """As ``_core.information``."""
    first, second, _, _, count, weight = cells.columns()
    edges = np.eye(cells.models)[first] - np.eye(cells.models)[second]
    p = 1.0 / (1.0 + np.exp(log_strengths[second] - log_strengths[first]))
    prior = 1.0 / (1.0 + np.exp(-log_strengths))
    curvature: Floats = (edges.T * (count * weight * p * (1.0 - p))) @ edges
    return curvature + np.diag(prior_ties * prior * (1.0 - prior))


def score_products(cells: _core.Cells, log_strengths: Floats, group: NDArray[np.uint32] | None) -> Floats:
    """As ``_core.score_products``."""
    summed = grouped_scores(cells, log_strengths, group)
    return summed.T @ summed


def grouped_scores(cells: _core.Cells, log_strengths: Floats, group: NDArray[np.uint32] | None) -> Floats:
    """Scores summed by group of clusters, shape (groups, models); single battles' without groups."""
    score, cluster = scores(cells, log_strengths)
    if group is None:
        return score
    summed = np.zeros((int(group.max()) + 1, cells.models))
    np.add.at(summed, group[cluster], score)
    return summed


def two_way_covariance(cells: _core.Cells, log_strengths: Floats, bread: Floats) -> Floats:
    """As ``sandwich.covariance`` of crossed clusters without a prior, where V₁ + V₂ - V₁₂ needs no floor: one term per pair of
    battles that share a value of either column.
    """
    score, cluster = scores(cells, log_strengths)
    crossing = _core.crossing(cells)
    if crossing is None:
        raise ValueError("the clusters are no crossings")
    columns = (*crossing, np.arange(cells.clusters, dtype=np.uint32))
    middle = np.zeros((cells.models, cells.models))
    for column, sign in zip(columns, (1.0, 1.0, -1.0), strict=True):
        value = np.asarray(column)[cluster]
        together = (value[:, None] == value[None, :]).astype(np.float64)
        count = int(np.max(column)) + 1
        middle += sign * count / (count - 1) * score.T @ together @ score
    return bread @ middle @ bread


def largest_gaps(deviations: Floats, inverse: Floats) -> Floats:
    """As ``_core.largest_gaps``."""
    gaps = (deviations[:, :, None] - deviations[:, None, :]) * inverse
    counted = (inverse > 0.0) & ~np.eye(len(inverse), dtype=bool) & ~np.isnan(gaps)
    largest: Floats = np.where(counted, gaps, -np.inf).max(axis=(1, 2))
    return largest


def contributions(cells: _core.Cells, prior_ties: float, tolerance: float, max_iterations: int) -> Floats:
    """As ``_core.contributions``: one fit from scratch per cluster, shape (clusters, models)."""
    first, second, outcome, cluster, count, weight = cells.columns()
    fitted = []
    for number in range(cells.clusters):
        result = np.where(cluster == number, outcome, np.uint8(2))
        score = reference.score_matrix(cells.models, first, second, result, count * weight)
        fitted.append(reference.fit_matrix(score, prior_ties, tolerance, max_iterations).log_strengths)
    return np.array(fitted).reshape(cells.clusters, cells.models)

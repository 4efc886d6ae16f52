"""Readable twins of the Rust core for the uncertainty of models with further parameters, under the core's own names.

Dense arrays, one row per battle or group; every replicate is fitted from scratch. The draws are the core's, so that both give
the same replicates up to rounding. Tests hold the two together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from twins import reference_parameters
from twins.reference import is_strongly_connected, joined_to, score_matrix

Floats = NDArray[np.float64]
Codes = NDArray[np.uint32]
ScoreRows = tuple[Codes, Codes, Floats, Floats, Floats]

_CERTAIN = 20.0


@dataclass(frozen=True, eq=False)
class Replicates:
    """As ``_core.Replicates``."""

    log_strengths: Floats
    degenerate: int
    unconverged: int


def parameter_products(models: int, scores: ScoreRows, group: Codes | None = None) -> Floats:
    """As ``_core.parameter_products``."""
    rows, count = _dense(models, scores)
    if group is None:
        return (rows.T * count) @ rows
    summed = _summed(rows * count[:, None], group)
    return summed.T @ summed


def parameter_third_moments(models: int, scores: ScoreRows, kernel: Floats, group: Codes | None = None) -> Floats:
    """As ``_core.parameter_third_moments``."""
    rows, count = _dense(models, scores)
    if group is None:
        return np.asarray(count @ (rows @ kernel) ** 3)
    cubes: Floats = ((_summed(rows * count[:, None], group) @ kernel) ** 3).sum(axis=0)
    return cubes


def bootstrap_ties(
    cells: _core.Cells,
    model: str,
    baseline: int,
    replicates: int,
    seed: int,
    by_cluster: bool,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
) -> Replicates:
    """As ``_core.bootstrap_ties``."""
    first, second, outcome, cluster, count, weight = _columns(cells, by_cluster)
    groups: list[Codes] = []
    if by_cluster:
        crossing = _core.crossing(cells)
        groups = [cluster] if crossing is None else [np.ascontiguousarray(column[cluster]) for column in crossing]
    models, endings = cells.models, _Endings(replicates, cells.models + 1)
    for index in range(replicates):
        times = _core.resampled_rows(count, groups, seed, index)
        kept = times > 0.0
        score = score_matrix(models, first, second, outcome, times * weight)
        decided = bool((outcome[kept] != 2).any())
        if not decided or (prior_ties == 0.0 and not _has_finite_answer(score, first, second, outcome, kept)):
            endings.degenerate += 1
            continue
        columns = (first[kept], second[kept], outcome[kept], times[kept], weight[kept])
        found = reference_parameters.fit_tie_rows(models, columns, model, prior_ties, tolerance, max_iterations)
        values = np.append(found.log_strengths, np.exp(found.tie))
        endings.add(index, values, joined_to(baseline, score), found.converged)
    return endings.replicates()


def bootstrap_contextual(
    rows: tuple[Codes, Codes, Floats, Floats, Floats, Floats],
    models: int,
    groups: list[Codes],
    baseline: int,
    replicates: int,
    seed: int,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    ridge: float,
) -> Replicates:
    """As ``_core.bootstrap_contextual``."""
    first, second, score, count, weight, covariates = rows
    endings = _Endings(replicates, models + covariates.shape[1])
    for index in range(replicates):
        times = _core.resampled_rows(count.astype(np.uint64), groups, seed, index)
        kept = times > 0.0
        total = np.zeros((models, models))
        np.add.at(total, (first, second), times * weight * score)
        np.add.at(total, (second, first), times * weight * (1.0 - score))
        if prior_ties == 0.0 and not is_strongly_connected(total):
            endings.degenerate += 1
            continue
        chosen = (first[kept], second[kept], score[kept], times[kept], weight[kept], covariates[kept])
        found = reference_parameters.fit_contextual(models, chosen, prior_ties, tolerance, max_iterations, ridge)
        if not found.converged and found.largest_log_odds > _CERTAIN:
            endings.degenerate += 1
            continue
        values = np.append(found.log_strengths, found.coefficients)
        endings.add(index, values, joined_to(baseline, total), found.converged)
    return endings.replicates()


class _Endings:
    """Replicates as they come in."""

    def __init__(self, replicates: int, width: int) -> None:
        self.values = np.full((replicates, width), np.nan)
        self.degenerate = self.unconverged = 0

    def add(self, index: int, values: Floats, joined: NDArray[np.bool_], converged: bool) -> None:
        self.values[index] = values
        self.values[index, : len(joined)][~joined] = np.nan
        self.unconverged += not converged

    def replicates(self) -> Replicates:
        return Replicates(self.values, self.degenerate, self.unconverged)


def _columns(cells: _core.Cells, by_cluster: bool) -> tuple[Codes, Codes, NDArray[np.uint8], Codes, NDArray[np.uint64], Floats]:
    """The cells; without clusters, those that differ in nothing else are one."""
    first, second, outcome, cluster, count, weight = cells.columns()
    if by_cluster or not cells.clusters:
        return first, second, outcome, cluster, count, weight
    alike, place = np.unique(np.column_stack([first, second, outcome, weight]), axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), count.astype(np.float64)).astype(np.uint64)
    ends = [np.ascontiguousarray(alike[:, column]).astype(np.uint32) for column in (0, 1)]
    return ends[0], ends[1], alike[:, 2].astype(np.uint8), np.zeros(len(alike), dtype=np.uint32), total, alike[:, 3].copy()


def _has_finite_answer(score: Floats, first: Codes, second: Codes, outcome: NDArray[np.uint8], kept: NDArray[np.bool_]) -> bool:
    """Whether everybody is joined by wins both ways, and, where there are ties, some cycle has more wins than ties."""
    if not is_strongly_connected(score):
        return False
    tie, win, loss = (kept & (outcome == kind) for kind in (2, 0, 1))
    if not tie.any():
        return True
    length = np.full(score.shape, np.inf)
    length[first[tie], second[tie]] = length[second[tie], first[tie]] = 1.0
    length[first[win], second[win]] = -1.0
    length[second[loss], first[loss]] = -1.0
    for middle in range(len(length)):  # Floyd and Warshall: a way back to the start that is shorter than none
        length = np.maximum(np.minimum(length, length[:, [middle]] + length[[middle], :]), -1e9)
    return bool((np.diag(length) < 0.0).any())


def _dense(models: int, scores: ScoreRows) -> tuple[Floats, Floats]:
    first, second, slope, further, count = scores
    rows = np.zeros((len(slope), models))
    rows[np.arange(len(slope)), first] = slope
    rows[np.arange(len(slope)), second] = -slope
    return np.column_stack([rows, further]), count


def _summed(rows: Floats, group: Codes) -> Floats:
    summed = np.zeros((int(group.max(initial=0)) + 1, rows.shape[1]))
    np.add.at(summed, group, rows)
    return summed

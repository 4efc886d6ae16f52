"""The readable twin of the Rust core: Bradley-Terry by Newton's method in NumPy.

It shares no code and no trick with the core: dense matrices, one line per formula. Tests hold the two together to 1e-9
in win probability.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core

Floats = NDArray[np.float64]

_SCORE = np.array([1.0, 0.0, 0.5])  # of the first model, for: it won, it lost, a tie
_FULL_STEP = 1e-6  # below this a step is not shortened: the likelihood is flat to rounding


@dataclass(frozen=True, eq=False)
class Fit:
    """As ``_core.Fit``."""

    log_strengths: Floats
    iterations: int
    converged: bool
    gradient_norm: float


@dataclass(frozen=True, eq=False)
class Replicates:
    """As ``_core.Replicates``."""

    log_strengths: Floats
    degenerate: int
    unconverged: int


def fit(cells: _core.Cells, prior_ties: float, tolerance: float, max_iterations: int) -> Fit:
    """As ``_core.fit``."""
    first, second, outcome, _, count, weight = cells.columns()
    return fit_matrix(score_matrix(cells.models, first, second, outcome, count * weight), prior_ties, tolerance, max_iterations)


def fit_firth(cells: _core.Cells, tolerance: float, max_iterations: int) -> Fit:
    """As ``_core.fit_firth``."""
    first, second, outcome, _, count, weight = cells.columns()
    return fit_firth_matrix(score_matrix(cells.models, first, second, outcome, count * weight), tolerance, max_iterations)


def bootstrap(
    cells: _core.Cells,
    baseline: int,
    replicates: int,
    seed: int,
    by_cluster: bool,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    firth: bool = False,
) -> Replicates:
    """As ``_core.bootstrap``, with NumPy's random numbers: the same distribution, other draws."""
    first, second, outcome, cluster, count, weight = cells.columns()
    random = np.random.default_rng(seed)
    log_strengths = np.full((replicates, cells.models), np.nan)
    degenerate = unconverged = 0
    for row in log_strengths:
        if by_cluster:
            drawn = _times_drawn(cells, random)[cluster] * count
        else:
            drawn = random.multinomial(cells.battles, count / cells.battles)
        score = score_matrix(cells.models, first, second, outcome, drawn * weight)
        if firth:
            joined = joined_to(baseline, score)
            if not joined[baseline]:
                degenerate += 1
                continue
            reduced = fit_firth_matrix(score[np.ix_(joined, joined)], tolerance, max_iterations)
            row[joined], unconverged = reduced.log_strengths, unconverged + (not reduced.converged)
            continue
        if prior_ties == 0.0 and not is_strongly_connected(score):
            degenerate += 1
            continue
        fitted = fit_matrix(score, prior_ties, tolerance, max_iterations)
        unconverged += not fitted.converged
        row[:] = np.where(joined_to(baseline, score), fitted.log_strengths, np.nan)
    return Replicates(log_strengths, degenerate, unconverged)


def _times_drawn(cells: _core.Cells, random: np.random.Generator) -> NDArray[np.int64]:
    """How often each cluster is drawn; crossings as often as the product of their two values (Owen 2007)."""
    crossing = _core.crossing(cells)
    columns = crossing or (np.arange(cells.clusters),)
    times = np.ones(cells.clusters, dtype=np.int64)
    for column in columns:
        size = int(column.max()) + 1
        times *= random.multinomial(size, np.full(size, 1.0 / size))[column]
    return times


def is_strongly_connected(score: Floats) -> bool:
    """Whether every model with a battle reaches every other along wins and ties (so a finite estimate exists)."""
    present = (score + score.T).sum(axis=1) > 0
    reach = (score[np.ix_(present, present)] > 0) | np.eye(int(present.sum()), dtype=bool)
    for _ in range(len(reach).bit_length()):
        reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
    return bool(reach.all())


def joined_to(baseline: int, score: Floats) -> NDArray[np.bool_]:
    """Which models a chain of battles joins to the baseline, whoever won them; nobody when it has no battle."""
    met: NDArray[np.bool_] = (score + score.T) > 0
    joined: NDArray[np.bool_] = met[baseline]
    for _ in range(len(met)):
        joined = np.logical_or(joined, met[joined].any(axis=0))
    return joined


def score_matrix(
    models: int, first: NDArray[np.uint32], second: NDArray[np.uint32], outcome: NDArray[np.uint8], weight: Floats
) -> Floats:
    """S[i, j]: wins of i over j plus half the ties, by weight; shape (models, models)."""
    score = np.zeros((models, models))
    np.add.at(score, (first, second), weight * _SCORE[outcome])
    np.add.at(score, (second, first), weight * (1.0 - _SCORE[outcome]))
    return score


def fit_matrix(score: Floats, prior_ties: float, tolerance: float, max_iterations: int) -> Fit:
    """Maximise the likelihood of a score matrix; models without battles keep θ = 0."""
    theta = np.zeros(len(score))
    matches = score + score.T
    present = matches.sum(axis=1) > 0
    iteration, converged = 0, False
    while iteration < max_iterations and not converged:
        expected = _logistic(theta[:, None] - theta[None, :])
        against_prior = _logistic(theta)
        gradient = (score - matches * expected).sum(axis=1) + prior_ties * (0.5 - against_prior)
        curvature = matches * expected * (1.0 - expected)
        hessian = np.diag(curvature.sum(axis=1)) - curvature + np.diag(prior_ties * against_prior * (1.0 - against_prior))
        step = np.linalg.pinv(hessian, rcond=1e-13, hermitian=True) @ gradient
        step *= _shortening(theta, step, score, prior_ties)
        theta = theta + np.where(present, step, 0.0)
        if prior_ties == 0.0:
            theta = np.where(present, theta - theta[present].mean(), 0.0)
        iteration, converged = iteration + 1, bool(np.ptp(step) <= tolerance)
    expected = _logistic(theta[:, None] - theta[None, :])
    residual = (score - matches * expected).sum(axis=1) + prior_ties * (0.5 - _logistic(theta))
    per_match = np.abs(residual[present]) / matches.sum(axis=1)[present]
    return Fit(theta, iteration, converged, float(per_match.max(initial=0.0)))


def fit_firth_matrix(score: Floats, tolerance: float, max_iterations: int) -> Fit:
    """Maximise the likelihood times the root of the determinant of its curvature (Firth 1993); all models are connected.

    The gradient is that of the likelihood plus Σ h (1/2 - p) (e_i - e_j), h the leverage of each pair.
    """
    size, matches = len(score), score + score.T
    theta, iteration, converged = np.zeros(size), 0, False
    residual = np.zeros(size)
    while iteration < max_iterations and not converged:
        expected = _logistic(theta[:, None] - theta[None, :])
        variance = expected * (1.0 - expected)
        inverse = np.linalg.pinv(_laplacian(matches * variance), rcond=1e-13, hermitian=True)
        own = np.diag(inverse)
        leverage = matches * variance * (own[:, None] + own[None, :] - 2.0 * inverse)
        residual = (score - matches * expected + leverage * (0.5 - expected)).sum(axis=1)
        step = np.linalg.pinv(_laplacian((matches + leverage) * variance), rcond=1e-13, hermitian=True) @ residual
        reach, length = float(np.ptp(step)), 1.0
        here = penalised_likelihood(theta, score)
        while reach > _FULL_STEP and penalised_likelihood(theta + length * step, score) < here - 1e-12 * abs(here):
            length /= 2.0
        theta = theta + length * step
        theta -= theta.mean()
        iteration, converged = iteration + 1, reach <= tolerance
    return Fit(theta, iteration, converged, float((np.abs(residual) / matches.sum(axis=1)).max(initial=0.0)))


def penalised_likelihood(theta: Floats, score: Floats) -> float:
    """ln of the likelihood times the root of the determinant of its curvature among the differences of strengths."""
    expected = _logistic(theta[:, None] - theta[None, :])
    curvature = _laplacian((score + score.T) * expected * (1.0 - expected))
    _, determinant = np.linalg.slogdet(curvature[1:, 1:])
    return log_likelihood(theta, score, 0.0) + 0.5 * float(determinant)


def _laplacian(pairs: Floats) -> Floats:
    matrix: Floats = np.diag(pairs.sum(axis=1)) - pairs
    return matrix


def log_likelihood(theta: Floats, score: Floats, prior_ties: float) -> float:
    """Σ S[i, j] ln P(i beats j), with the prior's drawn battles."""
    pairs = -np.logaddexp(0.0, theta[None, :] - theta[:, None])
    prior = -0.5 * (np.logaddexp(0.0, -theta) + np.logaddexp(0.0, theta))
    return float((score * pairs).sum() + prior_ties * prior.sum())


def _shortening(theta: Floats, step: Floats, score: Floats, prior_ties: float) -> float:
    """Halve the step until it does not lower the likelihood."""
    if np.ptp(step) < _FULL_STEP:
        return 1.0
    here, length = log_likelihood(theta, score, prior_ties), 1.0
    while log_likelihood(theta + length * step, score, prior_ties) < here - 1e-12 * abs(here):
        length /= 2.0
    return length


def _logistic(value: Floats) -> Floats:
    probability: Floats = 0.5 * (1.0 + np.tanh(0.5 * value))
    return probability

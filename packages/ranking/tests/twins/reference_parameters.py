"""Readable twins of the Rust core for models with further parameters: dense Newton in NumPy, one line per formula.

They share no code and no trick with the core; the terms of the tie models have a test of their own. Strengths and further
parameters are in one vector; constraints are left to the pseudo-inverse. Tests compare twins and core.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.models.ties import davidson, rao_kupper

Floats = NDArray[np.float64]
Curve = Callable[[Floats], tuple[float, Floats, Floats]]
"""Parameters to log-likelihood, gradient and negative Hessian."""

TieRows = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8], Floats, Floats]

_FULL_STEP = 1e-6


@dataclass(frozen=True, eq=False)
class TieFit:
    """As ``_core.TieFit``; with the covariance of all parameters, the tie parameter last (if there is one)."""

    log_strengths: Floats
    tie: float
    tie_variance: float
    iterations: int
    converged: bool
    gradient_norm: float
    log_likelihood: float
    covariance: Floats


@dataclass(frozen=True, eq=False)
class ContextualFit:
    """As ``_core.ContextualFit``; with the covariance of all parameters, strengths first."""

    log_strengths: Floats
    coefficients: Floats
    iterations: int
    converged: bool
    determined: bool
    largest_log_odds: float
    gradient_norm: float
    log_likelihood: float
    all_covariance: Floats

    @property
    def covariance(self) -> Floats:
        """Of the coefficients."""
        count = len(self.log_strengths)
        return self.all_covariance[count:, count:]


def fit_ties(cells: _core.Cells, model: str, prior_ties: float, tolerance: float, max_iterations: int) -> TieFit:
    """As ``_core.fit_ties``."""
    first, second, outcome, _, count, weight = cells.columns()
    columns = (first, second, outcome, count.astype(np.float64), weight)
    return fit_tie_rows(cells.models, columns, model, prior_ties, tolerance, max_iterations)


def fit_tie_rows(models: int, columns: TieRows, model: str, prior_ties: float, tolerance: float, max_iterations: int) -> TieFit:
    """As :func:`fit_ties`, of rows: first and second model, outcome (0, 1 or 2), battles and the weight of each."""
    first, second, outcome, count, weight = columns
    mass = count * weight
    tied = bool((outcome == 2).any())
    gaps = _signs(models, first, second)
    fixed = -np.inf if model == "davidson" else 0.0
    terms = davidson if model == "davidson" else rao_kupper

    def parts(x: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        return terms(gaps @ x[:models], float(x[models]) if tied else fixed, outcome)

    def curve(x: Floats) -> tuple[float, Floats, Floats]:
        value, in_d, in_t, dd, dt, tt = parts(x)
        total, gradient, hessian = _prior(x[:models], prior_ties)
        total += float(mass @ value)
        gradient = gradient + gaps.T @ (mass * in_d)
        hessian = hessian + gaps.T @ ((mass * dd)[:, None] * gaps)
        if not tied:
            return total, gradient, hessian
        border = (gaps.T @ (mass * dt))[:, None]
        whole = np.block([[hessian, border], [border.T, np.array([[mass @ tt]])]])
        return total, np.append(gradient, mass @ in_t), whole

    share = float(mass[outcome == 2].sum() / mass.sum())
    odds = 2 * share / (1 - share) if model == "davidson" else (1 + share) / (1 - share)
    lowest = 0.0 if model != "davidson" and tied else -np.inf
    x, iterations, converged = _maximise(
        curve, np.append(np.zeros(models), np.log([odds] * tied)), models, prior_ties, lowest, tolerance, max_iterations
    )
    value, in_d, in_t, *_ = parts(x)
    scores = np.column_stack([gaps * in_d[:, None], in_t[:, None]])[:, : len(x)]
    bread = np.linalg.pinv(curve(x)[2], rcond=1e-13, hermitian=True)
    middle = scores.T @ ((count * weight**2)[:, None] * scores)
    middle[:models, :models] += _prior(x[:models], prior_ties)[2]
    covariance = bread @ middle @ bread
    return TieFit(
        log_strengths=x[:models],
        tie=float(x[models]) if tied else fixed,
        tie_variance=float(covariance[models, models]) if tied else np.nan,
        iterations=iterations,
        converged=converged,
        gradient_norm=float(np.abs(curve(x)[1][:models] / (np.abs(gaps).T @ mass).clip(1e-300)).max()),
        log_likelihood=float(mass @ value),
        covariance=covariance,
    )


def fit_contextual(
    models: int,
    rows: tuple[NDArray[np.uint32], NDArray[np.uint32], Floats, Floats, Floats, Floats],
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    ridge: float = 0.0,
) -> ContextualFit:
    """As ``_core.fit_contextual``."""
    first, second, score, count, weight, covariates = rows
    mass = count * weight
    design = np.column_stack([_signs(models, first, second), covariates])

    def curve(x: Floats) -> tuple[float, Floats, Floats]:
        log_odds = design @ x
        p = _logistic(log_odds)
        value, slope, bend = _prior(x[:models], prior_ties)
        gradient = design.T @ (mass * (score - p))
        hessian = design.T @ ((mass * p * (1 - p))[:, None] * design)
        gradient[:models] += slope
        hessian[:models, :models] += bend
        gradient[models:] -= ridge * x[models:]
        hessian[models:, models:] += ridge * np.eye(len(x) - models)
        value -= 0.5 * ridge * float(x[models:] @ x[models:])
        return value + _log_likelihood(log_odds, score, mass), gradient, hessian

    start = np.zeros(design.shape[1])
    x, iterations, converged = _maximise(curve, start, models, prior_ties, -np.inf, tolerance, max_iterations)
    log_odds = design @ x
    residuals = weight * (score - _logistic(log_odds))
    bread = np.linalg.pinv(curve(x)[2], rcond=1e-13, hermitian=True)
    middle = design.T @ ((count * residuals**2)[:, None] * design)
    middle[:models, :models] += _prior(x[:models], prior_ties)[2]
    return ContextualFit(
        log_strengths=x[:models],
        coefficients=x[models:],
        iterations=iterations,
        converged=converged,
        determined=True,
        largest_log_odds=float(np.abs(log_odds).max()),
        gradient_norm=float(np.abs(curve(x)[1]).max() / mass.sum()),
        log_likelihood=_log_likelihood(log_odds, score, mass),
        all_covariance=bread @ middle @ bread,
    )


def online_elo(
    models: int,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    score: Floats,
    k: float,
    base: float,
    scale: float,
    initial: float,
) -> Floats:
    """As ``_core.OnlineElo``: the ratings after all battles, in a plain loop."""
    ratings = np.full(models, initial)
    for a, b, got in zip(first, second, score, strict=True):
        change = k * (got - 1.0 / (1.0 + base ** ((ratings[b] - ratings[a]) / scale)))
        ratings[a] += change
        ratings[b] -= change
    return ratings


def _maximise(
    curve: Curve, start: Floats, models: int, prior_ties: float, lowest: float, tolerance: float, max_iterations: int
) -> tuple[Floats, int, bool]:
    """Newton's method; a step is halved until it does not lower the likelihood or pass the lowest tie parameter."""
    x, iteration, converged = start, 0, False
    while iteration < max_iterations and not converged:
        here, gradient, hessian = curve(x)
        step = np.linalg.pinv(hessian, rcond=1e-13, hermitian=True) @ gradient
        reach = max(float(np.ptp(step[:models])), float(np.abs(step[models:]).max(initial=0.0)))
        while np.any(x[models:] + step[models:] <= lowest) or (
            reach >= _FULL_STEP and curve(x + step)[0] < here - 1e-12 * abs(here)
        ):
            step = step / 2.0
        x = x + step
        if prior_ties == 0.0:
            x[:models] -= x[:models].mean()
        iteration, converged = iteration + 1, reach <= tolerance
    return x, iteration, converged


def _prior(theta: Floats, prior_ties: float) -> tuple[float, Floats, Floats]:
    """Value, gradient and negative Hessian of the prior on strengths."""
    p = _logistic(theta)
    value = -0.5 * float((np.logaddexp(0.0, theta) + np.logaddexp(0.0, -theta)).sum())
    return prior_ties * value, prior_ties * (0.5 - p), np.diag(prior_ties * p * (1 - p))


def _signs(models: int, first: NDArray[np.uint32], second: NDArray[np.uint32]) -> Floats:
    """One row per battle: 1 for its first model, -1 for its second."""
    signs = np.zeros((len(first), models))
    signs[np.arange(len(first)), first] = 1.0
    signs[np.arange(len(first)), second] = -1.0
    return signs


def _log_likelihood(log_odds: Floats, score: Floats, mass: Floats) -> float:
    return float(mass @ (score * log_odds - np.logaddexp(0.0, log_odds)))


def _logistic(value: Floats) -> Floats:
    probability: Floats = 0.5 * (1.0 + np.tanh(0.5 * value))
    return probability

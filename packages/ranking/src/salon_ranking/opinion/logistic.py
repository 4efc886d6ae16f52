"""Logistic regression without an intercept for votes that may be ties, with sandwich covariance.

The outcome of a row is 1, 0 or ½. A ½ enters the likelihood as half a win and half a loss of the same row; the score of
the row, x·(½ - p), stays one independent contribution to the covariance, so that a tie is not taken for two votes.

Newton's method on the normal equations: statsmodels' GLM gives the same numbers (it is the tests' oracle) eight times
slower on a million rows, and goes on in silence when the estimate is infinite.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon_ranking.models.likelihood import RowScores
from salon_ranking.opinion.errors import CollinearityError, SeparationError, TooFewBattlesError
from salon_ranking.options import shaped
from salon_ranking.uncertainty.sandwich import Sandwich, clustered, independent

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROWS_PER_TERM = 10
"""Fewer rows per term make estimates and intervals unreliable (Peduzzi et al. 1996, doi:10.1016/S0895-4356(96)00236-3)."""
_MAX_ITERATIONS = 60
_TOLERANCE = 1e-9
_DEPENDENT = 1e-10


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """An estimate, shape (terms,), its sandwich, and the Newton steps that it took."""

    estimate: Floats
    sandwich: Sandwich
    iterations: int

    @property
    def covariance(self) -> Floats:
        """Of the estimate, shape (terms, terms)."""
        return self.sandwich.covariance[1:, 1:]


def degrees_of(fit: LogisticFit, contrasts: Floats) -> Floats:
    """Return the degrees of freedom of combinations of a fit's terms, one per row, shape (combinations,); NaN: not known."""
    return fit.sandwich.degrees(np.column_stack([np.zeros(len(contrasts)), contrasts]))


@shaped(x="nk", y="n", clusters="n", weight="n")
def fit_logistic(
    x: Floats, y: Floats, terms: Sequence[str], clusters: Integers | None = None, weight: Floats | None = None
) -> LogisticFit:
    """Maximise the weighted likelihood; the covariance is a sandwich, by rows or by clusters.

    Small samples are corrected for as everywhere (``salon_ranking.uncertainty.sandwich``).

    Args:
        x: shape (rows, terms).
        y: shape (rows,), each 0, ½ or 1.
        terms: what errors call the columns of ``x``.
        clusters: shape (rows,), numbers from 0; rows of one cluster may depend on each other.
        weight: shape (rows,), positive; by default 1.

    Raises:
        TooFewBattlesError: fewer than ten rows per term, or no more clusters than terms.
        CollinearityError: a column is a combination of others, or zero.
        SeparationError: the likelihood has no maximum.

    Example:
        >>> x = np.tile([[1.0], [-1.0]], (20, 1))
        >>> y = np.repeat([1.0, 0.0, 1.0, 1.0], 10)
        >>> fit = fit_logistic(x, y, ["gap"])
        >>> fit.estimate.round(6).tolist(), fit.covariance.shape
        ([0.0], (1, 1))
    """
    _check(x, terms, clusters)
    mass = np.ones(len(y)) if weight is None else weight
    estimate, likelihood = np.zeros(x.shape[1]), -math.inf
    for iteration in range(1, _MAX_ITERATIONS + 1):
        p = win_probability(x @ estimate)
        information = (x * (mass * p * (1.0 - p))[:, None]).T @ x
        try:
            step = np.linalg.solve(information, x.T @ (mass * (y - p)))
        except np.linalg.LinAlgError:
            break
        for _ in range(30):
            reached = _log_likelihood(x @ (estimate + step), y, mass)
            if reached >= likelihood - 1e-9 * abs(likelihood):
                break
            step = step / 2.0
        estimate, likelihood = estimate + step, reached
        if np.abs(step).max() <= _TOLERANCE * max(1.0, np.abs(estimate).max()):
            return LogisticFit(estimate, _sandwich(x, y, mass, estimate, clusters), iteration)
    raise _separated(estimate, terms)


def win_probability(logit: Floats) -> Floats:
    """1 / (1 + e^-logit), without overflow."""
    value: Floats = 0.5 * (1.0 + np.tanh(0.5 * logit))
    return value


def _log_likelihood(logit: Floats, y: Floats, mass: Floats) -> float:
    return float(mass @ (y * logit - np.logaddexp(0.0, logit)))


def _check(x: Floats, terms: Sequence[str], clusters: Integers | None) -> None:
    rows, columns = x.shape
    needed = ROWS_PER_TERM * columns
    if rows < needed:
        hint = f"{columns} terms need {needed} votes or more; without interactions fewer terms are fitted."
        raise TooFewBattlesError("too few votes with ratings:", value=rows, hint=hint)
    if clusters is not None and len(np.unique(clusters)) <= columns:
        hint = f"There must be more clusters than terms ({columns})."
        raise TooFewBattlesError("too few clusters:", value=len(np.unique(clusters)), hint=hint)
    size = np.sqrt((x * x).sum(axis=0))
    if (size == 0.0).any():
        named = ", ".join(terms[int(number)] for number in np.flatnonzero(size == 0.0))
        raise CollinearityError("the two sides never differ in", value=named, hint="Leave that dimension out of the ratings.")
    scaled = x / size
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    if values[0] < _DEPENDENT * values[-1]:
        named = ", ".join(terms[int(number)] for number in np.flatnonzero(np.abs(vectors[:, 0]) > 0.05))
        hint = "Leave one of the dimensions out, or fit without interactions."
        raise CollinearityError("these terms determine each other:", value=named, hint=hint)


def _separated(estimate: Floats, terms: Sequence[str]) -> SeparationError:
    large = np.flatnonzero(np.abs(estimate) > 0.1 * np.abs(estimate).max())
    hint = "More votes, in particular upsets, make the weights finite; fewer terms (no interactions) may do, too."
    return SeparationError(
        "every vote is predicted without error, so the weights are infinite, by",
        value=", ".join(terms[int(n)] for n in large),
        hint=hint,
    )


def _sandwich(x: Floats, y: Floats, mass: Floats, estimate: Floats, clusters: Integers | None) -> Sandwich:
    """Return the sandwich, by rows or by clusters."""
    rows, columns = x.shape
    p = win_probability(x @ estimate)
    bend = mass * p * (1.0 - p)
    # The core's rows are battles: here of one model with itself, of which they say nothing.
    codes, none, border = np.zeros(rows, dtype=np.uint32), np.zeros(rows), bend[:, None] * x
    scores = np.ascontiguousarray(np.column_stack([none, x * (mass * (y - p))[:, None]])[:, 1:])
    row_scores = RowScores(1, (codes, codes, none, scores, np.ones(rows)), bend, border, x.T @ border)
    bread = np.zeros((columns + 1, columns + 1))
    bread[1:, 1:] = np.linalg.inv(row_scores.corner)
    prior = np.zeros(columns + 1)
    if clusters is not None:
        group = np.unique(clusters, return_inverse=True)[1].astype(np.uint32)
        return clustered(row_scores, (group,), bread, prior)
    if mass.min() < mass.max():
        return clustered(row_scores, (np.arange(rows, dtype=np.uint32),), bread, prior)
    return independent(row_scores.products(None), rows, bread, prior, 1)

"""Bradley-Terry with a tie parameter: Davidson 1970 and Rao & Kupper 1967, by maximum likelihood.

With d = θ_i - θ_j:

- Davidson (doi:10.1080/01621459.1970.10481082): P(win) : P(loss) : P(tie) = e^(d/2) : e^(-d/2) : ν, with ν ≥ 0.
- Rao and Kupper (doi:10.1080/01621459.1967.10482901): P(win) = 1/(1 + κ e^-d), P(loss) = 1/(1 + κ e^d), P(tie) the rest,
  with κ ≥ 1.

Both are plain Bradley-Terry when ν = 0 or κ = 1, which is the estimate when there are no ties.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.errors import UnratableError
from salon_ranking.models.likelihood import (
    Codes,
    DrawnValues,
    DrawPlan,
    Floats,
    Groups,
    LeagueFit,
    Replicates,
    RowScores,
    cluster_groups,
)
from salon_ranking.models.options import FitOptions

TieModel: TypeAlias = Literal["davidson", "rao-kupper"]


TIE_EDGES = {"davidson": 0.0, "rao-kupper": 1.0}
"""The value of each tie parameter at which a tie has probability 0."""


class Chances(NamedTuple):
    """Probabilities of the three outcomes of a battle, for its first model; they add up to 1."""

    win: float
    tie: float
    loss: float


@dataclass(frozen=True, eq=False)
class TieLikelihood:
    """Strengths and, where there are ties, a tie parameter.

    It is ν ≥ 0 of Davidson, or κ ≥ 1 of Rao and Kupper.
    """

    cells: _core.Cells
    options: FitOptions
    clustered: bool = False

    unit = None

    @property
    def model(self) -> TieModel:
        """The tie model's name."""
        return "davidson" if self.options.ties == "davidson" else "rao-kupper"

    @cached_property
    def size(self) -> int:
        """1; 0 when there are no ties."""
        return int(self.cells.records()[2].any())

    @property
    def groups(self) -> Groups:
        """Groups of the rows."""
        cluster = self.cells.columns()[3] if self.clustered else None
        return () if cluster is None else tuple(np.ascontiguousarray(group[cluster]) for group in cluster_groups(self.cells))

    @property
    def row_groups(self) -> Groups:
        """As ``Likelihood.row_groups``."""
        return self.groups

    @property
    def weights(self) -> Floats:
        """As ``Likelihood.weights``."""
        return self.cells.columns()[5]

    def tie_parameter(self, values: Floats) -> float:
        """Return ν or κ; without ties the value at which a tie has probability 0."""
        return float(values[-1]) if self.size else TIE_EDGES[self.model]

    def fit(self, start: Floats | None = None) -> LeagueFit:
        """As ``Likelihood.fit``; ``start`` is not used."""
        how = self.options
        solution = _core.fit_ties(self.cells, self.model, how.prior_ties, how.tolerance, how.max_iterations)
        values = np.append(solution.log_strengths, [math.exp(solution.tie)] * self.size)
        return LeagueFit(values, solution.converged, solution.iterations, solution.gradient_norm)

    def at(self, values: Floats) -> RowScores:
        """As ``Likelihood.at``, in the tie parameter itself (not in its logarithm)."""
        first, second, _, _, count, weight = self.cells.columns()
        _, in_d, in_t, dd, dt, tt = self._terms(values)
        mass, size = count * weight, self.size
        per_unit = 1.0 / values[-1] if size else 0.0
        further = np.ascontiguousarray((weight * in_t * per_unit)[:, None][:, :size])
        rows = (first, second, weight * in_d, further, count.astype(np.float64))
        border = np.ascontiguousarray((mass * dt * per_unit)[:, None][:, :size])
        bends = mass * tt * per_unit**2
        corner = np.array([[bends.sum()]])[:size, :size]
        return RowScores(self.cells.models, rows, mass * dd, border, corner, bends if size else None)

    def draw(self, values: Floats, plan: DrawPlan) -> Replicates:
        """As ``Likelihood.draw``."""
        how = self.options
        drawn = _core.bootstrap_ties(
            self.cells,
            self.model,
            np.ascontiguousarray(values[: self.cells.models]),
            _logarithm(self.tie_parameter(values)),
            plan.base,
            plan.replicates,
            plan.seed,
            self.clustered,
            plan.threads,
            how.prior_ties,
            how.tolerance,
            how.max_iterations,
            plan.progress,
        )
        kept = np.ascontiguousarray(drawn.log_strengths[:, : len(values)])
        return DrawnValues(kept, drawn.degenerate, drawn.unconverged)

    def log_odds(self, values: Floats) -> tuple[Codes, Codes, Floats]:
        """As ``Likelihood.log_odds``."""
        first, second = self.cells.columns()[:2]
        return first, second, values[first] - values[second]

    def log_likelihood(self, values: Floats) -> float:
        """As ``Likelihood.log_likelihood``."""
        *_, count, weight = self.cells.columns()
        return float((count * weight) @ self._terms(values)[0])

    def slopes(self, gap: Floats, outcome: int, values: Floats) -> tuple[Floats, Floats, tuple[Floats, Floats, Floats]]:
        """Return the slopes of one battle's log-probability in θ_first - θ_second and in the tie parameter, and its curvature.

        Args:
            gap: differences of log-strengths, of any shape.
            outcome: 0, a win of the first; 1, a loss; 2, a tie.
        """
        terms = davidson if self.model == "davidson" else rao_kupper
        outcomes = np.full(gap.size, outcome, dtype=np.uint8)
        slopes = terms(gap.ravel(), _logarithm(self.tie_parameter(values)), outcomes)
        _, in_d, in_t, dd, dt, tt = (np.broadcast_to(part, gap.size).reshape(gap.shape) for part in slopes)
        per_unit = 1.0 / values[-1]
        return in_d, in_t * per_unit, (dd, dt * per_unit, tt * per_unit**2)

    def check(self, source: str) -> None:
        """Check that a finite tie parameter exists.

        Raises:
            UnratableError: the likelihood grows with the tie parameter without bound.
        """
        _, wins, ties, _ = self.cells.records()
        hint = "Count ties as half wins (salon votes rank without --ties)"
        if not wins.any():
            raise UnratableError("every battle is a tie, so no tie model has a finite answer", source=source, hint=f"{hint}.")
        if self.options.prior_ties == 0.0 and ties.any() and not _core.has_decisive_cycle(self.cells):
            problem = "no cycle of models has more wins than ties, so that a tie parameter without bound fits best"
            raise UnratableError(problem, source=source, hint=f"{hint}, or give a prior (--prior-ties 1).")

    def _terms(self, values: Floats) -> "Terms":
        first, second, outcome = self.cells.columns()[:3]
        terms = davidson if self.model == "davidson" else rao_kupper
        return terms(values[first] - values[second], _logarithm(self.tie_parameter(values)), outcome)


Terms: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""Log-probability of each outcome, its slopes in d and t, and its negative second derivatives dd, dt, tt."""


def _logarithm(tie: float) -> float:
    return math.log(tie) if tie > 0.0 else -math.inf


def outcome_chances(model: TieModel, gap: Floats, tie: float) -> tuple[Floats, Floats, Floats]:
    """Return P(win), P(tie), P(loss) of the first model, for differences of log-strengths of any shape.

    Example:
        >>> [part.round(3).tolist() for part in outcome_chances("rao-kupper", np.array([0.0]), 2.0)]
        [[0.333], [0.333], [0.333]]
    """
    if model == "davidson":
        top = np.abs(gap) / 2.0
        won, lost, tied = np.exp(gap / 2.0 - top), np.exp(-gap / 2.0 - top), tie * np.exp(-top)
        total = won + lost + tied
        return won / total, tied / total, lost / total
    won = 0.5 * (1.0 + np.tanh(0.5 * (gap - math.log(tie))))
    lost = 0.5 * (1.0 + np.tanh(0.5 * (-gap - math.log(tie))))
    return won, won * lost * (tie * tie - 1.0), lost


def davidson(d: Floats, t: float, outcome: NDArray[np.uint8]) -> Terms:
    """Return the terms of Davidson's model, d = θ_first - θ_second, t = ln ν; outcome 2 is a tie."""
    utility = np.stack([d / 2, -d / 2, np.full_like(d, t)])
    log_p = utility - np.logaddexp.reduce(utility, axis=0)
    p = np.exp(log_p)
    mean = (p[0] - p[1]) / 2
    own = np.array([0.5, -0.5, 0.0])[outcome]
    value = np.take_along_axis(log_p, outcome[None].astype(np.int64), axis=0)[0]
    return value, own - mean, (outcome == 2) - p[2], (p[0] + p[1]) / 4 - mean**2, -mean * p[2], p[2] * (1 - p[2])


def rao_kupper(d: Floats, t: float, outcome: NDArray[np.uint8]) -> Terms:
    """Return the terms of Rao and Kupper's model, t = ln κ, with P(tie) = σ(d+t) - σ(d-t)."""
    upper, lower = _logistic(d + t), _logistic(d - t)
    f_upper, f_lower = upper * (1 - upper), lower * (1 - lower)  # densities
    g_upper, g_lower = f_upper * (1 - 2 * upper), f_lower * (1 - 2 * lower)  # their slopes
    tie = outcome == 2
    p = np.choose(outcome, [lower, 1 - upper, upper - lower])
    p_d = np.choose(outcome, [f_lower, -f_upper, f_upper - f_lower])
    p_t = np.choose(outcome, [-f_lower, -f_upper, f_upper + f_lower])
    p_dd = np.choose(outcome, [g_lower, -g_upper, g_upper - g_lower])
    p_dt = np.choose(outcome, [-g_lower, -g_upper, g_upper + g_lower])
    p_tt = np.where(tie, g_upper - g_lower, p_dd)
    return np.log(p), p_d / p, p_t / p, (p_d / p) ** 2 - p_dd / p, p_d * p_t / p**2 - p_dt / p, (p_t / p) ** 2 - p_tt / p


def _logistic(value: Floats) -> Floats:
    probability: Floats = 0.5 * (1.0 + np.tanh(0.5 * value))
    return probability

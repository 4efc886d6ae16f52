"""What every model gives to the fit and to its uncertainty: strengths, then k further parameters.

=================  ======================================  ===========================================
model              further parameters                      class
=================  ======================================  ===========================================
Bradley-Terry      none (k = 0)                            :class:`PairLikelihood`, from totals of pairs
Davidson           ν, none when there are no ties          ``models.ties.TieLikelihood``
Rao-Kupper         κ, none when there are no ties          ``models.ties.TieLikelihood``
covariates         one coefficient per term                ``models.covariates.CovariateLikelihood``
Plackett-Luce      none (k = 0)                            ``models.ranking_likelihood.RankingLikelihood``
=================  ======================================  ===========================================

The likelihood is that of one league, the models that can be compared with each other. It is fitted (:meth:`Likelihood.fit`),
resampled (:meth:`Likelihood.draw`), and gives the slopes and the curvature of its battles (:meth:`Likelihood.at`), from which
``uncertainty.sandwich`` makes covariances. No other place depends on the model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.errors import OptionError
from salon_ranking.models.options import FitOptions

Floats = NDArray[np.float64]
Codes = NDArray[np.uint32]
Groups: TypeAlias = tuple[Codes, ...]
"""How battles are grouped into clusters: not at all; by one column; or by the first, the second, and their crossings."""
ScoreRows: TypeAlias = tuple[Codes, Codes, Floats, Floats, Floats]
"""First and second model, slope of one battle in θ_first - θ_second, slopes in the further parameters (rows, k), battles."""
Roots: TypeAlias = tuple[Codes, Codes, Floats, Floats]
"""First and second model, and the entries of rows z whose squares z zᵀ are the curvature: in θ_first - θ_second, and in the
further parameters (rows, k). Where a battle has several, the first row of all battles comes first, then the second."""


_SCORE = np.array([1.0, 0.0, 0.5])
"""What the first model gets from a win, a loss and a tie."""
MOST_MODELS = 4096
"""Models of one league up to which square matrices are made."""


@dataclass(frozen=True, eq=False)
class LeagueFit:
    """A fit of one league.

    Attributes:
        values: θ, then the further parameters, shape (n + k,).
        gradient_norm: largest slope of the log-likelihood per match.
    """

    values: Floats
    converged: bool
    iterations: int
    gradient_norm: float


@dataclass(frozen=True)
class DrawPlan:
    """How replicates are drawn.

    Attributes:
        base: the model that a chain of battles must join to others, as a position in the league.
        progress: called now and then with the number of replicates that are done.
    """

    base: int
    replicates: int
    seed: int
    threads: int
    progress: Callable[[int], object] | None = None


class Replicates(Protocol):
    """Fits of resampled battles: one row per replicate, NaN for models that no chain of battles joins to the base."""

    @property
    def log_strengths(self) -> Floats: ...
    @property
    def degenerate(self) -> int: ...
    @property
    def unconverged(self) -> int: ...


@dataclass(frozen=True, eq=False)
class DrawnValues:
    """Replicates as :class:`Replicates`."""

    log_strengths: Floats
    degenerate: int
    unconverged: int


class ScoreSums(Protocol):
    """Slopes and curvature of a league's log-likelihood, without its prior; ``group`` is one of ``Likelihood.groups``."""

    def curvature(self) -> Floats:
        """Return the negative Hessian, shape (n + k, n + k)."""

    def products(self, group: Codes | None) -> Floats:
        """Return Σ s sᵀ over battles or groups, shape (n + k, n + k)."""

    def third_moments(self, kernel: Floats, group: Codes | None) -> Floats:
        """Return Σ (kernelᵀ s)³ over battles or groups, one per column of ``kernel`` (n + k, columns)."""

    def by_row(self) -> "RowScores":
        """Return the same with an array entry per kind of battle."""


class Likelihood(Protocol):
    """The likelihood of one league."""

    @property
    def cells(self) -> _core.Cells: ...
    @property
    def options(self) -> FitOptions: ...
    @property
    def groups(self) -> Groups: ...

    @property
    def row_groups(self) -> Groups:
        """The same, of the rows of :meth:`ScoreSums.by_row`."""

    @property
    def unit(self) -> Codes | None:
        """The ranking of each of these rows; None: a row holds battles, each independent of the others."""

    @property
    def weights(self) -> Floats:
        """The weight of a battle of each row."""

    @property
    def size(self) -> int:
        """Number of further parameters."""

    def fit(self, start: Floats | None = None) -> LeagueFit:
        """Maximise it, from given log-strengths where the model can."""

    def at(self, values: Floats) -> ScoreSums:
        """Return slopes and curvature at parameters, shape (n + k,)."""

    def draw(self, values: Floats, plan: DrawPlan) -> Replicates:
        """Resample and fit, from the fit to all battles."""

    def log_odds(self, values: Floats) -> tuple[Codes, Codes, Floats]:
        """Return first and second model of rows of battles, and the fitted log-odds of the first among equals in ties."""

    def log_likelihood(self, values: Floats) -> float:
        """Return the weighted log-likelihood, without its prior."""


@dataclass(frozen=True, eq=False)
class PairScores:
    """:class:`ScoreSums` of plain Bradley-Terry, summed by the core without an array per battle."""

    cells: _core.Cells
    values: Floats

    def curvature(self) -> Floats:
        """As :meth:`ScoreSums.curvature`."""
        return _core.information(self.cells, self.values, 0.0)

    def products(self, group: Codes | None) -> Floats:
        """As :meth:`ScoreSums.products`."""
        return _core.score_products(self.cells, self.values, group)

    def third_moments(self, kernel: Floats, group: Codes | None) -> Floats:
        """As :meth:`ScoreSums.third_moments`."""
        return _core.third_moments(self.cells, self.values, kernel, group)

    def by_row(self) -> "RowScores":
        """As :meth:`ScoreSums.by_row`."""
        first, second, outcome, _, count, weight = self.cells.columns()
        share = 0.5 * (1.0 + np.tanh(0.5 * (self.values[first] - self.values[second])))
        none = np.empty((len(first), 0))
        rows = (first, second, weight * (_SCORE[outcome] - share), none, count.astype(np.float64))
        return RowScores(self.cells.models, rows, count * weight * share * (1.0 - share), none, np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class RowScores:
    """:class:`ScoreSums` from one row per kind of battle.

    Attributes:
        rows: slopes, with the weights in them.
        bend: negative second derivative of each row in θ_first - θ_second, shape (rows,).
        border: mixed with the further parameters, shape (rows, k).
        corner: summed, in the further parameters, shape (k, k).
        bends: second derivatives of each row in the tie parameter, shape (rows,); None: the rows are one-dimensional, with the
            slopes in the further parameters in proportion.
    """

    models: int
    rows: ScoreRows
    bend: Floats
    border: Floats
    corner: Floats
    bends: Floats | None = None

    def curvature(self) -> Floats:
        """As :meth:`ScoreSums.curvature`."""
        first, second, models, size = *self.rows[:2], self.models, len(self.corner)
        met = np.bincount(first.astype(np.int64) * models + second, self.bend, models * models).reshape(models, models)
        matrix = np.zeros((models + size, models + size))
        matrix[:models, :models] = np.diag((met + met.T).sum(axis=1)) - met - met.T
        for column in range(size):
            mixed = np.bincount(first, self.border[:, column], models) - np.bincount(second, self.border[:, column], models)
            matrix[:models, models + column] = matrix[models + column, :models] = mixed
        matrix[models:, models:] = self.corner
        return matrix

    def products(self, group: Codes | None) -> Floats:
        """As :meth:`ScoreSums.products`."""
        return _core.parameter_products(self.models, self.rows, group)

    def third_moments(self, kernel: Floats, group: Codes | None) -> Floats:
        """As :meth:`ScoreSums.third_moments`."""
        return _core.parameter_third_moments(self.models, self.rows, kernel, group)

    def by_row(self) -> "RowScores":
        """As :meth:`ScoreSums.by_row`."""
        return self

    def repeated(self) -> "RowScores":
        """Return the same with a row per battle."""
        count = self.rows[4]
        one = RowScores(
            self.models,
            (*self.rows[:4], np.ones(len(count))),
            self.bend / count,
            self.border / count[:, None],
            self.corner,
            None if self.bends is None else self.bends / count,
        )
        return one.taken(np.repeat(np.arange(len(count)), count.astype(np.int64)))

    def taken(self, order: NDArray[np.int64]) -> "RowScores":
        """Return the rows of these numbers, in this order."""
        first, second, slope, further, count = self.rows
        rows = first[order], second[order], slope[order], np.ascontiguousarray(further[order]), count[order]
        bends = None if self.bends is None else self.bends[order]
        border = np.ascontiguousarray(self.border[order])
        return RowScores(self.models, rows, self.bend[order], border, self.corner, bends)

    def roots(self) -> Roots:
        """Return rows whose squares add up to the curvature: one per row, with a tie parameter two."""
        first, second = self.rows[:2]
        along = np.sqrt(self.bend)
        beside = self.border / np.where(along > 0.0, along, 1.0)[:, None]
        if self.bends is None:
            return first, second, along, np.ascontiguousarray(beside)
        rest = np.sqrt(np.maximum(self.bends[:, None] - beside**2, 0.0))
        further = np.ascontiguousarray(np.concatenate([beside, rest]))
        return np.tile(first, 2), np.tile(second, 2), np.append(along, np.zeros_like(along)), further


@dataclass(frozen=True, eq=False)
class PairLikelihood:
    """Plain Bradley-Terry, a tie half a win; by maximum likelihood or with Firth's bias reduction."""

    cells: _core.Cells
    options: FitOptions
    clustered: bool = False

    size = 0
    unit = None

    @property
    def groups(self) -> Groups:
        """Groups of the cells' clusters."""
        return cluster_groups(self.cells) if self.clustered else ()

    @property
    def row_groups(self) -> Groups:
        """As :attr:`Likelihood.row_groups`."""
        cluster = self.cells.columns()[3] if self.clustered else None
        return () if cluster is None else tuple(np.ascontiguousarray(group[cluster]) for group in self.groups)

    @property
    def weights(self) -> Floats:
        """As :attr:`Likelihood.weights`."""
        return self.cells.columns()[5]

    def fit(self, start: Floats | None = None) -> LeagueFit:
        """As :meth:`Likelihood.fit`."""
        tolerance, most, prior = self.options.tolerance, self.options.max_iterations, self.options.prior_ties
        if self.options.estimator == "firth":
            solution = _core.fit_firth(self.cells, tolerance, most, start)
        elif start is not None:
            solution = _core.fit_from(self.cells, start, prior, tolerance, most)
        else:
            solution = _core.fit(self.cells, prior, tolerance, most)
        return LeagueFit(solution.log_strengths, solution.converged, solution.iterations, solution.gradient_norm)

    def at(self, values: Floats) -> PairScores:
        """As :meth:`Likelihood.at`."""
        return PairScores(self.cells, np.ascontiguousarray(values))

    def draw(self, values: Floats, plan: DrawPlan) -> Replicates:
        """As :meth:`Likelihood.draw`."""
        return _core.bootstrap(
            self.cells,
            np.ascontiguousarray(values),
            plan.base,
            plan.replicates,
            plan.seed,
            self.clustered,
            plan.threads,
            self.options.prior_ties,
            self.options.tolerance,
            self.options.max_iterations,
            plan.progress,
            self.options.estimator == "firth",
        )

    def log_odds(self, values: Floats) -> tuple[Codes, Codes, Floats]:
        """As :meth:`Likelihood.log_odds`."""
        first, second = self.cells.columns()[:2]
        return first, second, values[first] - values[second]

    def log_likelihood(self, values: Floats) -> float:
        """As :meth:`Likelihood.log_likelihood`."""
        return _core.log_likelihood(self.cells, np.ascontiguousarray(values))


def cluster_groups(cells: _core.Cells) -> Groups:
    """Return the groups of the cells' clusters: themselves, or the values of both columns and the crossings."""
    crossing = _core.crossing(cells)
    own = np.arange(cells.clusters, dtype=np.uint32)
    return (own,) if crossing is None else (*crossing, own)


def check_size(models: int, what: str) -> None:
    """Check that a square matrix of models fits in memory.

    Raises:
        OptionError: there are more than ``MOST_MODELS`` models.
    """
    if models > MOST_MODELS:
        problem = f"{what} need a matrix of models x models; that is for at most {MOST_MODELS:,} models, not"
        raise OptionError(problem, value=models, hint="Rate with percentile intervals, or rank fewer models.")

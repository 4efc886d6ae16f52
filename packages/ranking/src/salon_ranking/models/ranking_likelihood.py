"""The likelihood of rankings by Plackett and Luce.

Each place in turn is taken by one of the models that are left, with a chance in proportion to exp(θ): Plackett 1975
(doi:10.2307/2346567), Luce 1959. A ranking of two is a battle of Bradley-Terry. A tie is half a win for each, as in a battle:
the log-likelihood of models on equal places is the mean of those of all their orders. The maximum exists if, however all models
are split into two groups, a ranking has a model of each group ahead of one of the other, or tied with it (Hunter 2004,
doi:10.1214/aos/1079120141, assumption 1). The pairs that rankings compare show that, as battles do.

The core gives one row per pair of a ranking (``plackett_luce.rs``), whose slopes and curvature add up to those of the ranking;
``uncertainty.sandwich`` sums rows of a ranking, or of a cluster, before it squares them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.battles.rankings import Orders
from salon_ranking.errors import OptionError
from salon_ranking.models.likelihood import Codes, DrawPlan, Floats, Groups, LeagueFit, Replicates, RowScores
from salon_ranking.models.options import FitOptions


@dataclass(frozen=True, eq=False)
class RankingLikelihood:
    """Plackett-Luce of one league.

    Attributes:
        cells: the pairs that rankings compare, as battles.
        orders: the rankings of the league's models.
    """

    cells: _core.Cells
    options: FitOptions
    orders: Orders
    clustered: bool = False

    size = 0

    @property
    def groups(self) -> Groups:
        """Groups of the rankings: clusters of each column, and their crossings."""
        return self.orders.groups if self.clustered else ()

    @property
    def row_groups(self) -> Groups:
        """As ``Likelihood.row_groups``."""
        return tuple(np.ascontiguousarray(group[self.unit]) for group in self.groups)

    @cached_property
    def unit(self) -> Codes:
        """The ranking of each row."""
        return self._rows(np.zeros(self.cells.models))[5]

    @property
    def weights(self) -> Floats:
        """As ``Likelihood.weights``."""
        return self.orders.weight[self.unit]

    def fit(self, start: Floats | None = None) -> LeagueFit:
        """As ``Likelihood.fit``."""
        how, models = self.options, self.cells.models
        begin = np.zeros(models) if start is None else np.ascontiguousarray(start)
        solution = _core.fit_rankings(models, self._arrays, begin, how.prior_ties, how.tolerance, how.max_iterations)
        return LeagueFit(solution.log_strengths, solution.converged, solution.iterations, solution.gradient_norm)

    def at(self, values: Floats) -> RowScores:
        """As ``Likelihood.at``."""
        _, first, second, slope, bend, _ = self._rows(values)
        none = np.empty((len(first), 0))
        rows = (first, second, slope, none, np.ones(len(first)))
        return RowScores(self.cells.models, rows, bend, none, np.empty((0, 0)))

    def draw(self, values: Floats, plan: DrawPlan) -> Replicates:
        """Raise an error: rankings are not resampled.

        Raises:
            OptionError: always; :meth:`IntervalOptions.check_for` refuses such intervals before.
        """
        raise OptionError("rankings are not resampled; intervals must be sandwich or anytime")

    def log_odds(self, values: Floats) -> tuple[Codes, Codes, Floats]:
        """As ``Likelihood.log_odds``."""
        _, first, second, *_ = self._rows(values)
        return first, second, values[first] - values[second]

    def log_likelihood(self, values: Floats) -> float:
        """As ``Likelihood.log_likelihood``."""
        return self._rows(values)[0]

    @property
    def _arrays(self) -> tuple[NDArray[np.uint64], Codes, Codes, Floats]:
        return self.orders.start, self.orders.model, self.orders.place, self.orders.weight

    def _rows(self, values: Floats) -> tuple[float, Codes, Codes, Floats, Floats, Codes]:
        return _core.ranking_rows(self.cells.models, self._arrays, np.ascontiguousarray(values))


def check_options(battles: Battles, options: FitOptions) -> None:
    """Check that rankings can be rated with these options.

    Raises:
        OptionError: names the first that is for battles alone.
    """
    if battles.orders is None:
        return
    if not options.is_plain or options.estimator != "maximum-likelihood":
        hint = "Leave out --ties, --covariate and --estimator firth."
        raise OptionError(
            "rankings are rated by Plackett-Luce, without tie models, covariates and Firth's estimator",
            source=battles.source,
            hint=hint,
        )

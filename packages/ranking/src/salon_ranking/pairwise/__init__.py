"""Models of paired comparisons beyond plain Bradley-Terry.

    fit_ties(battles, "davidson")                    a parameter for ties; "rao-kupper" likewise
    settle_both_bad(battles, "own")                  what a both_bad means
    fit_contextual(battles, ["length_a,length_b"])   ratings at equal covariates; position bias
    online_elo("votes.parquet", k=4, orders=100)     Elo battle by battle, averaged over random orders
    Arena().update(monday).update(tuesday).fitted()  a league that grows, fitted from where the last fit ended
    goodness_of_fit(battles, ratings)                deviance and pairs that surprise; cycle_report(battles)
    win_rates(battles, ratings)                      observed and predicted, pair by pair; as_matrix(rates)
    alternative_scores(battles, "pagerank")          and "newman", "rank-centrality"

Formulas and sources: ``docs/tie-models.md``, ``docs/contextual.md``, ``docs/online-elo.md``
(with ``Arena``),
``docs/diagnostics.md``.
"""

from salon_ranking.pairwise.alternatives import Scores, alternative_scores
from salon_ranking.pairwise.arena import Arena
from salon_ranking.pairwise.both_bad import acceptability, settle_both_bad
from salon_ranking.pairwise.contextual import ContextualRatings, PositionBias, fit_contextual
from salon_ranking.pairwise.covariates import Covariate
from salon_ranking.pairwise.diagnostics import CycleReport, GoodnessOfFit, cycle_report, goodness_of_fit
from salon_ranking.pairwise.errors import (
    CovariateCollinearityError,
    CovariateError,
    CovariateSeparationError,
    OrderError,
)
from salon_ranking.pairwise.matrices import as_matrix, win_rates
from salon_ranking.pairwise.online import OnlineElo, online_elo
from salon_ranking.pairwise.rating_intervals import RatingIntervals
from salon_ranking.pairwise.ties import Chances, TieRatings, fit_ties

__all__ = [
    "Arena",
    "Chances",
    "ContextualRatings",
    "Covariate",
    "CovariateCollinearityError",
    "CovariateError",
    "CovariateSeparationError",
    "CycleReport",
    "GoodnessOfFit",
    "OnlineElo",
    "OrderError",
    "PositionBias",
    "RatingIntervals",
    "Scores",
    "TieRatings",
    "acceptability",
    "alternative_scores",
    "as_matrix",
    "cycle_report",
    "fit_contextual",
    "fit_ties",
    "goodness_of_fit",
    "online_elo",
    "settle_both_bad",
    "win_rates",
]

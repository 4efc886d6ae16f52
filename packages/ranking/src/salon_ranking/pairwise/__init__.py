"""Models of paired comparisons beyond plain Bradley-Terry.

    fit_ties(battles, "davidson")                    a parameter for ties; "rao-kupper" likewise
    settle_both_bad(battles, "own")                  what a both_bad means
    fit_contextual(battles, ["length_a,length_b"])   ratings at equal covariates; position bias
    online_elo("votes.parquet", k=4, orders=100)     Elo battle by battle, averaged over random orders
    Arena().update(monday).update(tuesday).fitted()  a league that grows, fitted from where the last fit ended

Formulas and sources: ``docs/tie-models.md``, ``docs/contextual.md``, ``docs/online-elo.md``
(with ``Arena``).
"""

from salon_ranking.pairwise.acceptability import acceptability, settle_both_bad
from salon_ranking.pairwise.arena import Arena
from salon_ranking.pairwise.contextual import ContextualRatings, PositionBias, fit_contextual
from salon_ranking.pairwise.covariates import Covariate
from salon_ranking.pairwise.errors import (
    CovariateCollinearityError,
    CovariateError,
    CovariateSeparationError,
    OrderError,
)
from salon_ranking.pairwise.online import OnlineElo, online_elo
from salon_ranking.pairwise.ties import Chances, TieRatings, fit_ties

__all__ = [
    "Arena",
    "Chances",
    "ContextualRatings",
    "Covariate",
    "CovariateCollinearityError",
    "CovariateError",
    "CovariateSeparationError",
    "OnlineElo",
    "OrderError",
    "PositionBias",
    "TieRatings",
    "acceptability",
    "fit_contextual",
    "fit_ties",
    "online_elo",
    "settle_both_bad",
]

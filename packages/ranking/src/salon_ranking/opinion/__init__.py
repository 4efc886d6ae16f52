"""Absolute marks and what they are worth in battles: mean opinion scores, dimension weights, test points.

    ratings = MosRatings.read("ratings.parquet")              # who gave which mark to which picture
    summary = summarise(ratings)                           # scores, comparisons, stability, raters
    weights = dimension_weights(Battles.read("votes.parquet"), ratings, persona="mode")
    shares = Checks.read("checks.csv").shares()        # yes/no checks per capability

Formulas and sources: ``docs/mos.md``, ``docs/weights.md``.
"""

from salon_ranking.opinion.checks import Checks, wide_shares
from salon_ranking.opinion.design import Marks, Terms, standardized_marks
from salon_ranking.opinion.dimension_correlation import dimension_correlations
from salon_ranking.opinion.errors import (
    CheckError,
    CollinearityError,
    RatingError,
    SeparationError,
    TooFewBattlesError,
    WeightsError,
)
from salon_ranking.opinion.logistic import LogisticFit, fit_logistic
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.opinion.scores import mean_opinion_scores
from salon_ranking.opinion.significance import paired_comparisons
from salon_ranking.opinion.stability import self_comparison
from salon_ranking.opinion.summary import MosSummary, summarise
from salon_ranking.opinion.weights import Weights, dimension_weights
from salon_ranking.uncertainty.multiple_testing import benjamini_hochberg, holm
from salon_ranking.uncertainty.proportions import wilson_interval

__all__ = [
    "CheckError",
    "Checks",
    "CollinearityError",
    "LogisticFit",
    "Marks",
    "MosRatings",
    "MosSummary",
    "RatingError",
    "SeparationError",
    "Terms",
    "TooFewBattlesError",
    "Weights",
    "WeightsError",
    "benjamini_hochberg",
    "dimension_correlations",
    "dimension_weights",
    "fit_logistic",
    "holm",
    "mean_opinion_scores",
    "paired_comparisons",
    "self_comparison",
    "standardized_marks",
    "summarise",
    "wide_shares",
    "wilson_interval",
]

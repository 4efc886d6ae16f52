"""Leaderboards from paired comparisons: ratings on the Elo scale with intervals.

    battles = Battles.read("votes.parquet")        # or Battles.from_frame(frame)
    board = rank(battles, baseline="some-model")   # Bradley-Terry with percentile bootstrap intervals
    board = rank(battles, ties="davidson")         # a parameter for ties; "rao-kupper" likewise
    board = rank(battles, covariates=["length_a,length_b"])   # ratings at equal covariates; position bias
    board.table                                    # one row per model

``fit`` gives ratings without intervals, ``rank_by`` one leaderboard per scenario, label or rater, ``compare`` sets boards
side by side. ``differences``, ``listing`` and ``explain`` take any board; ``goodness_of_fit``, ``cycle_report`` and
``win_rates`` compare a fit with its battles. ``settle_both_bad`` defines how both_bad counts; ``online_elo``
is another method; ``GrowingLeague`` adds battles later; ``correct_ratings`` corrects a judge by people,
``correct_means`` its scores; ``draw_for_people`` draws what they vote on; ``preference_pairs`` makes preference data of votes.
The numeric core is written in Rust (``_core``).
Formulas and sources: ``docs/ranking.md``, ``docs/intervals.md``, ``docs/groups.md``, ``docs/tie-models.md``,
``docs/contextual.md``, ``docs/diagnostics.md``, ``docs/online-elo.md``.

Names are imported on first use (PEP 562), as polars alone takes a third of a second.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_ranking.battles import Battles
    from salon_ranking.correction.drawing import draw_for_people
    from salon_ranking.correction.means import CorrectedMeans, correct_means
    from salon_ranking.correction.ratings import CorrectedRatings, correct_ratings
    from salon_ranking.diagnostics.both_bad import acceptability, settle_both_bad
    from salon_ranking.diagnostics.goodness_of_fit import CycleReport, GoodnessOfFit, cycle_report, goodness_of_fit
    from salon_ranking.diagnostics.prediction import LogLoss, log_loss, predict
    from salon_ranking.diagnostics.win_rates import as_matrix, win_rates
    from salon_ranking.errors import (
        BattleError,
        CovariateCollinearityError,
        CovariateError,
        CovariateSeparationError,
        MissingExtraError,
        OptionError,
        OrderError,
        RankingError,
        UnknownModelError,
        UnratableError,
    )
    from salon_ranking.leaderboard.board import NOT_GIVEN, Leaderboard
    from salon_ranking.leaderboard.comparison import VoteComparison, compare, compare_votes
    from salon_ranking.leaderboard.contributions import Contributions, contributions
    from salon_ranking.leaderboard.differences import Differences, differences
    from salon_ranking.leaderboard.explanation import explain
    from salon_ranking.leaderboard.group_comparison import GroupComparison, compare_groups
    from salon_ranking.leaderboard.groups import groups_of, rank_by
    from salon_ranking.leaderboard.listing import listing, match_effects
    from salon_ranking.leaderboard.options import ComparisonOptions, ContributionOptions, EstimateOptions, RankOptions
    from salon_ranking.leaderboard.ranking import rank
    from salon_ranking.models.covariates import Covariate
    from salon_ranking.models.growing_league import GrowingLeague
    from salon_ranking.models.online_elo import OnlineElo, online_elo
    from salon_ranking.models.options import FitOptions
    from salon_ranking.models.ratings import Ratings, fit
    from salon_ranking.models.ties import Chances
    from salon_ranking.preferences import PreferencePairs, preference_pairs, released_rows, trl_rows
    from salon_ranking.uncertainty.multiple_testing import benjamini_hochberg, holm
    from salon_ranking.uncertainty.options import IntervalOptions
    from salon_ranking.uncertainty.quantiles import bca_interval, percentile_interval

__all__ = [
    "NOT_GIVEN",
    "BattleError",
    "Battles",
    "Chances",
    "ComparisonOptions",
    "ContributionOptions",
    "Contributions",
    "CorrectedMeans",
    "CorrectedRatings",
    "Covariate",
    "CovariateCollinearityError",
    "CovariateError",
    "CovariateSeparationError",
    "CycleReport",
    "Differences",
    "EstimateOptions",
    "FitOptions",
    "GoodnessOfFit",
    "GroupComparison",
    "GrowingLeague",
    "IntervalOptions",
    "Leaderboard",
    "LogLoss",
    "MissingExtraError",
    "OnlineElo",
    "OptionError",
    "OrderError",
    "PreferencePairs",
    "RankOptions",
    "RankingError",
    "Ratings",
    "UnknownModelError",
    "UnratableError",
    "VoteComparison",
    "acceptability",
    "as_matrix",
    "bca_interval",
    "benjamini_hochberg",
    "compare",
    "compare_groups",
    "compare_votes",
    "contributions",
    "correct_means",
    "correct_ratings",
    "cycle_report",
    "differences",
    "draw_for_people",
    "explain",
    "fit",
    "goodness_of_fit",
    "groups_of",
    "holm",
    "listing",
    "log_loss",
    "match_effects",
    "online_elo",
    "percentile_interval",
    "predict",
    "preference_pairs",
    "rank",
    "rank_by",
    "released_rows",
    "settle_both_bad",
    "trl_rows",
    "win_rates",
]

_BY_MODULE = {
    "battles": "Battles",
    "preferences": "PreferencePairs preference_pairs released_rows trl_rows",
    "correction.drawing": "draw_for_people",
    "correction.means": "CorrectedMeans correct_means",
    "correction.ratings": "CorrectedRatings correct_ratings",
    "diagnostics.both_bad": "acceptability settle_both_bad",
    "diagnostics.goodness_of_fit": "CycleReport GoodnessOfFit cycle_report goodness_of_fit",
    "diagnostics.prediction": "LogLoss log_loss predict",
    "diagnostics.win_rates": "as_matrix win_rates",
    "errors": (
        "BattleError CovariateCollinearityError CovariateError CovariateSeparationError MissingExtraError "
        "OptionError OrderError RankingError UnknownModelError UnratableError"
    ),
    "leaderboard.board": "NOT_GIVEN Leaderboard",
    "leaderboard.comparison": "VoteComparison compare compare_votes",
    "leaderboard.contributions": "Contributions contributions",
    "leaderboard.differences": "Differences differences",
    "leaderboard.explanation": "explain",
    "leaderboard.group_comparison": "GroupComparison compare_groups",
    "leaderboard.groups": "groups_of rank_by",
    "leaderboard.listing": "listing match_effects",
    "leaderboard.options": "ComparisonOptions ContributionOptions EstimateOptions RankOptions",
    "leaderboard.ranking": "rank",
    "models.growing_league": "GrowingLeague",
    "models.covariates": "Covariate",
    "models.online_elo": "OnlineElo online_elo",
    "models.options": "FitOptions",
    "models.ratings": "Ratings fit",
    "models.ties": "Chances",
    "uncertainty.multiple_testing": "benjamini_hochberg holm",
    "uncertainty.options": "IntervalOptions",
    "uncertainty.quantiles": "bca_interval percentile_interval",
}
__getattr__, __dir__ = lazy_names(globals(), {module: tuple(names.split()) for module, names in _BY_MODULE.items()})

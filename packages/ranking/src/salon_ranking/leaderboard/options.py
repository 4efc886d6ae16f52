"""The options of leaderboards and of the analyses that fit the same model with the same kind of interval."""

from dataclasses import dataclass, replace
from typing import TypeVar

from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.models.likelihood import MOST_MODELS
from salon_ranking.models.options import FitOptions
from salon_ranking.options import WorkOptions
from salon_ranking.uncertainty.options import CoverageOptions, IntervalOptions

EstimateT = TypeVar("EstimateT", bound="EstimateOptions")


@dataclass(frozen=True, kw_only=True)
class EstimateOptions(FitOptions, IntervalOptions):
    """A model with intervals."""

    def check(self) -> None:
        """Check combinations of options.

        Raises:
            OptionError: as :meth:`FitOptions.check`; or BCa intervals of Firth's estimator.
        """
        super().check()
        if self.interval == "bca" and self.estimator == "firth":
            hint = "Take percentile or sandwich intervals: Firth's estimator has no bias left to correct for."
            raise OptionError("Firth's estimator has no intervals of the kind", value=self.interval, hint=hint)


@dataclass(frozen=True, kw_only=True)
class RankOptions(EstimateOptions):
    """A model with intervals and a table of ranks.

    Attributes:
        ranks: add the columns ``rank_low`` and ``rank_high``, simultaneous intervals of the ranks.
    """

    ranks: bool = False


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(FitOptions, CoverageOptions):
    """A model for two sets of votes."""

    def check(self) -> None:
        """Check combinations of options.

        Raises:
            OptionError: as :meth:`FitOptions.check`; or a baseline, or components rated each by itself.
        """
        super().check()
        if self.baseline is not None:
            raise OptionError("ratings are compared beside their mean, without a baseline, not", value=self.baseline)
        if self.components != "refuse":
            problem = "models of separate components cannot be compared; components must be refuse, not"
            raise OptionError(problem, value=self.components)


@dataclass(frozen=True, kw_only=True)
class ContributionOptions(FitOptions, WorkOptions):
    """Plain Bradley-Terry, of which contributions are known.

    Attributes:
        column: a prompt, as in MEF, or any other column: a rater, a day.
    """

    column: str = "prompt_id"

    def check(self) -> None:
        """Check combinations of options.

        Raises:
            OptionError: the model is not plain Bradley-Terry by maximum likelihood.
        """
        super().check()
        if not self.is_plain or self.estimator != "maximum-likelihood":
            hint = "Leave out tie models, covariates and Firth's estimator."
            raise OptionError("contributions of prompts are for plain Bradley-Terry by maximum likelihood", hint=hint)


def settled_options(options: EstimateT, battles: Battles) -> EstimateT:
    """Return options with the kind of interval and the clusters that these battles have.

    The kind that is not named is percentile, or a sandwich for rankings and slow refits; 0 replicates are no intervals.

    Raises:
        OptionError: as :meth:`IntervalOptions.check_for`.
    """
    is_quick = options.is_plain and options.estimator == "maximum-likelihood" and battles.orders is None
    default = is_quick or len(battles.models) > MOST_MODELS or options.replicates == 0
    kind = options.interval or ("percentile" if default else "sandwich")
    settled = replace(options, interval=kind, cluster=battles.is_clustered(options.cluster))
    settled.check_for(battles)
    return settled

"""The options of intervals: their kind, coverage, replicates and clusters."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.errors import OptionError
from salon_ranking.models.likelihood import check_size
from salon_ranking.options import Confidence, Options, Replicates, Seed, WorkOptions

Interval: TypeAlias = Literal["percentile", "bca", "sandwich", "anytime"]
"""Quantiles of replicates; the same, corrected for bias and skewness; analytic; or analytic, for every look."""

MOST_NUMBERS = 1 << 29


@dataclass(frozen=True, kw_only=True)
class CoverageOptions(Options):
    """The coverage of intervals, and whether clusters are resampled.

    Attributes:
        confidence: the intervals' coverage, between 0 and 1.
        cluster: battles with the same value of ``battles.cluster_by`` are one cluster, resampled as a whole (of two columns,
            the values of both), or summed in a sandwich. None: where such a column was declared; False: never, and the header
            reports it.
    """

    confidence: Confidence = 0.95
    cluster: bool | None = None


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(CoverageOptions, WorkOptions):
    """The kind of intervals, their replicates and seed.

    Attributes:
        interval: ``"percentile"``; ``"bca"``, corrected for bias and skewness; ``"sandwich"``, analytic, without draws;
            ``"anytime"``, a sandwich whose intervals hold at every look (``anytime.py``). None: percentile for plain
            Bradley-Terry by maximum likelihood; for the others, whose refits are slow, and for rankings, sandwich.
        replicates: 0 for no intervals.
        seed: of the replicates, from 0 to 2⁶³-1.
    """

    interval: Interval | None = None
    replicates: Replicates = 1000
    seed: Seed = 0

    @property
    def kind(self) -> Interval:
        """The kind of the intervals, where it is named or settled."""
        return self.interval or "percentile"

    @property
    def clustered(self) -> bool:
        """Whether clusters are used; known once options are settled."""
        return bool(self.cluster)

    @property
    def is_wanted(self) -> bool:
        """Whether there are to be intervals."""
        return self.is_analytic or self.replicates > 0

    @property
    def is_analytic(self) -> bool:
        """Whether intervals come from a covariance, without draws."""
        return self.interval in ("sandwich", "anytime")

    def check_for(self, battles: Battles) -> None:
        """Check that such intervals can be made for these battles.

        Raises:
            OptionError: names the first option that does not fit.
        """
        columns = cluster_columns(battles.cluster_by) if self.cluster else ()
        if battles.orders is not None and self.is_wanted and not self.is_analytic:
            allowed = ["sandwich", "anytime"]
            raise OptionError("rankings have no intervals of the kind", value=self.kind, allowed=allowed)
        if self.interval == "bca" and len(columns) == 2:
            raise OptionError("BCa intervals are for one column of clusters, not", value=" and ".join(columns))
        if self.kind != "percentile":
            check_size(len(battles.models), f"{self.interval} intervals")
        elif len(columns) == 2:
            check_size(len(battles.models), "intervals clustered by two columns")
        if self.replicates * len(battles.models) > MOST_NUMBERS:
            most = MOST_NUMBERS // len(battles.models)
            problem = (
                f"replicates x models must stay below {MOST_NUMBERS:,}; with {len(battles.models):,} models that is at most"
            )
            raise OptionError(problem, value=most)

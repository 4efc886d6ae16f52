"""Anchors: pairs whose answer is known, slipped among the others. Who misses them does not look.

An answer is as expected when it is the expected one, or any kind of tie where ``tie`` was expected. A rater is flagged when
even the upper end of the Wilson interval of the share lies below ``anchor_share`` (MEF, section 5.1.2).
"""

import polars as pl

from salon_ranking.raters.check import CheckResult, RaterCheck, Row
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.votes import TIES, Votes
from salon_ranking.uncertainty.proportions import wilson_interval

NAME = RaterReason.MISSED_ANCHORS


def answered_anchors(votes: Votes) -> pl.DataFrame:
    """Return anchors with an expected answer; where no column says which are anchors, every battle with an expected answer."""
    expected = pl.col("expected_winner").is_not_null()
    return votes.frame.filter(expected & pl.col("is_anchor") if "is_anchor" in votes.given else expected)


def missed_anchors(votes: Votes, policy: RaterPolicy) -> CheckResult:
    """Return the share of anchors that each rater answered as expected."""
    why_not = votes.lacks("expected_winner")
    anchors = answered_anchors(votes)
    if why_not or not len(anchors):
        return CheckResult(None, why_not or "no anchor with an expected answer")
    met = (pl.col("winner") == pl.col("expected_winner")) | (
        (pl.col("expected_winner") == "tie") & pl.col("winner").is_in(TIES)
    )
    counted = anchors.group_by("rater_id").agg(anchors=pl.len(), anchors_met=met.sum())
    low, high = wilson_interval(counted["anchors_met"], counted["anchors"], policy.confidence)
    share, enough = pl.col("anchors_met") / pl.col("anchors"), pl.col("anchors") >= policy.anchor_minimum
    return CheckResult(
        counted.with_columns(
            pl.when(enough).then(pl.Series(high) < policy.anchor_share).alias(NAME),
            share.alias(f"{NAME}_value"),
            pl.lit(policy.anchor_share).alias(f"{NAME}_threshold"),
            pl.Series("anchors_low", low),
            pl.Series("anchors_high", high),
        )
    )


def _explain(row: Row, policy: RaterPolicy) -> str:
    share, high = row[f"{NAME}_value"], row["anchors_high"]
    met = f"{row['anchors_met']} of {row['anchors']} anchors as expected"
    return f"{met} ({share:.0%}, at most {high:.0%}; wanted {policy.anchor_share:.0%})"


CHECK = RaterCheck(
    NAME,
    missed_anchors,
    {"anchors": pl.Int64(), "anchors_met": pl.Int64(), "anchors_low": pl.Float64(), "anchors_high": pl.Float64()},
    _explain,
)

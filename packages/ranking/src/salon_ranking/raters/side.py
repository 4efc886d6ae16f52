"""Side: who prefers one side of the screen looks at the screen and not at the pictures.

Sides are drawn at random, so an attentive rater's decisive answers fall left as often as right. Flagged: the exact two-sided
binomial test, Holm-corrected over all raters, is below ``side_alpha`` and the share of left is ``side_excess`` or more away
from one half (with thousands of answers a harmless leaning is significant too).
"""

import polars as pl

from salon_ranking.raters.check import CheckResult, RaterCheck, Row
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.votes import TIES, Votes, option
from salon_ranking.uncertainty.multiple_testing import holm
from salon_ranking.uncertainty.proportions import sign_test
from salon_taxonomy.enums import Side

NAME = RaterReason.ONE_SIDED


def one_sided(votes: Votes, policy: RaterPolicy) -> CheckResult:
    """Return each rater's share of left among decisive answers."""
    why_not = votes.lacks("side_a_shown")
    decisive = votes.frame.filter(~pl.col("winner").is_in(TIES) & pl.col("side_a_shown").is_not_null())
    if why_not:
        return CheckResult(None, f"{why_not}; add it with left in every row if model_a was always on the left")
    if not len(decisive):
        return CheckResult(None, "no decisive answer whose side is known")
    left = option() == Side.LEFT.value
    counted = decisive.group_by("rater_id").agg(decisive=pl.len(), left=left.sum()).sort("rater_id")
    corrected = holm(sign_test(counted["left"], counted["decisive"]))
    share = pl.col("left") / pl.col("decisive")
    excess = (share - 0.5).abs()
    return CheckResult(
        counted.with_columns(
            ((pl.Series(corrected) < policy.side_alpha) & (excess >= policy.side_excess)).alias(NAME),
            excess.alias(f"{NAME}_value"),
            pl.lit(policy.side_excess).alias(f"{NAME}_threshold"),
            left_share=share,
            side_p=pl.Series(corrected),
        )
    )


def _explain(row: Row, policy: RaterPolicy) -> str:
    left = row["left_share"]
    side, share = ("left", left) if left > 0.5 else ("right", 1.0 - left)
    return f"{side} in {share:.0%} of {row['decisive']} decisive answers (corrected p {max(row['side_p'], 1e-99):.1g})"


CHECK = RaterCheck(NAME, one_sided, {"decisive": pl.Int64(), "left_share": pl.Float64(), "side_p": pl.Float64()}, _explain)

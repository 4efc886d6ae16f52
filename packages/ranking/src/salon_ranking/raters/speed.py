"""Flag raters who answer far faster than their cohort.

A rater's speed is the mean logarithm of the seconds from start to answer; a cohort is all raters of one mode (experts, the
public, judges). Flagged: more than ``speed_sigmas`` standard deviations below the cohort's mean (MEF, section 5.1.2),
and at most ``speed_ratio`` of its typical time. Mean and deviation are over raters, by default as median and median absolute
deviation, so that many bots cannot make themselves the norm; a rater in several cohorts is judged in the one where they
stand out most.
"""

import polars as pl

from salon_ranking.raters.check import CheckResult, RaterCheck, Row
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.votes import Votes

NAME = RaterReason.TOO_FAST
SHORTEST_SECONDS = 0.1
"""Shorter times count as this one, so that an answer in the same instant has a logarithm."""
_DIGITS = 9
"""Sums in another order differ in the last digits; results must not."""
_MAD_TO_SIGMA = 1.4826
_SMALLEST_SIGMA = 0.05
"""A cohort's deviation counts as at least 5%, so that equal times divide by something."""


def too_fast(votes: Votes, policy: RaterPolicy) -> CheckResult:
    """Return each rater's typical time against the cohort's."""
    why_not = votes.lacks("started_at", "answered_at")
    if why_not:
        return CheckResult(None, why_not)
    seconds = (pl.col("answered_at") - pl.col("started_at")).dt.total_microseconds() / 1e6
    timed = votes.frame.select("rater_id", pl.col("mode").alias("cohort"), seconds.alias("seconds")).drop_nulls("seconds")
    log = pl.col("seconds").clip(lower_bound=SHORTEST_SECONDS).log()
    raters = timed.group_by("rater_id", "cohort").agg(speed=log.mean().round(_DIGITS), timed_answers=pl.len())
    raters = raters.filter(pl.col("timed_answers") >= policy.speed_minimum)
    if not len(raters):
        return CheckResult(None, f"no rater with {policy.speed_minimum} timed answers")
    cohorts = raters.group_by("cohort").agg(_centre(policy), _sigma(policy), cohort_raters=pl.len())
    placed = raters.join(cohorts, on="cohort", nulls_equal=True)
    below = (pl.col("centre") - pl.col("speed")) / pl.col("sigma").clip(lower_bound=_SMALLEST_SIGMA)
    slow_enough = (pl.col("speed") - pl.col("centre")).exp() > policy.speed_ratio
    decided = pl.col("cohort_raters") >= policy.speed_cohort
    value = f"{NAME}_value"
    lines = placed.with_columns(below.round(_DIGITS).alias(value)).with_columns(
        pl.when(decided).then((pl.col(value) > policy.speed_sigmas) & ~slow_enough).alias(NAME),
        pl.when(decided).then(pl.col(value)).alias(value),
        pl.lit(policy.speed_sigmas).alias(f"{NAME}_threshold"),
        typical_seconds=pl.col("speed").exp(),
        cohort_seconds=pl.col("centre").exp().round(_DIGITS),
        speed_cohort=pl.col("cohort"),
    )
    worst = lines.sort(NAME, value, "cohort", descending=[True, True, False], nulls_last=True)
    return CheckResult(worst.unique("rater_id", keep="first", maintain_order=True))


def _centre(policy: RaterPolicy) -> pl.Expr:
    speed = pl.col("speed")
    return (speed.median() if policy.speed_scale == "robust" else speed.mean()).alias("centre")


def _sigma(policy: RaterPolicy) -> pl.Expr:
    speed = pl.col("speed")
    if policy.speed_scale == "classic":
        return speed.std().fill_null(0.0).alias("sigma")
    return (_MAD_TO_SIGMA * (speed - speed.median()).abs().median()).alias("sigma")


def _explain(row: Row, policy: RaterPolicy) -> str:
    cohort = f"the {row['speed_cohort']} cohort" if row["speed_cohort"] else "the cohort"
    times = f"typically {row['typical_seconds']:.1f} s where {cohort} takes {row['cohort_seconds']:.1f} s"
    return f"{times}: {row[f'{NAME}_value']:.1f} σ below (limit {policy.speed_sigmas:g})"


CHECK = RaterCheck(
    NAME,
    too_fast,
    {
        "timed_answers": pl.Int64(),
        "typical_seconds": pl.Float64(),
        "cohort_seconds": pl.Float64(),
        "speed_cohort": pl.String(),
    },
    _explain,
)

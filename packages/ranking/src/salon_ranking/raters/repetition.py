"""Repetition: the same option on the screen, dozens of times in a row (MEF, section 5.1.2).

Answers are taken in the order of ``answered_at``, those without a time after them in the order given. A decisive answer
whose side of the screen is not known ends a run and is in none.
"""

import math

import polars as pl

from salon_ranking.raters.check import CheckResult, RaterCheck, Row
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.votes import Votes, option

NAME = RaterReason.REPEATED_OPTION


def repeated_option(votes: Votes, policy: RaterPolicy) -> CheckResult:
    """Return each rater's longest run of one option; of several options, the run that is longest for its threshold."""
    in_order = votes.frame.sort("rater_id", "answered_at", "row", nulls_last=True).select(
        "rater_id", option().alias("run_option")
    )
    known = in_order.with_columns(run=pl.struct("rater_id", "run_option").rle_id()).drop_nulls("run_option")
    no_sides = votes.lacks("side_a_shown") if in_order["run_option"].null_count() else None
    if not len(known):
        return CheckResult(None, no_sides or "no answer whose side of the screen is known")
    runs = known.group_by("run", maintain_order=True).agg(pl.first("rater_id", "run_option"), length=pl.len())
    longest = runs.sort("length", descending=True, maintain_order=True)
    longest = longest.unique(["rater_id", "run_option"], keep="first", maintain_order=True)
    lines = longest.join(_shares(known), on=["rater_id", "run_option"], how="left", maintain_order="left")
    lines = lines.with_columns(_threshold(policy))
    worst = (pl.col("length") / pl.col(f"{NAME}_threshold")).alias("worst")
    lines = lines.sort(worst, descending=True, maintain_order=True).unique("rater_id", keep="first", maintain_order=True)
    return CheckResult(
        lines.with_columns(
            (pl.col("length") >= pl.col(f"{NAME}_threshold")).alias(NAME),
            pl.col("length").cast(pl.Float64).alias(f"{NAME}_value"),
        ),
        f"of left and right: {no_sides}" if no_sides else None,
    )


def _shares(known: pl.DataFrame) -> pl.DataFrame:
    """Per rater and option: the rater's ``answers``, and the option's ``share`` among those of all others (½ without)."""
    per = known.group_by("rater_id", "run_option").agg(own=pl.len())
    per = per.with_columns(answers=pl.col("own").sum().over("rater_id"), everyone=pl.col("own").sum().over("run_option"))
    others = per["own"].sum() - pl.col("answers")
    share = pl.when(others > 0).then((pl.col("everyone") - pl.col("own")) / others).otherwise(0.5)
    return per.select("rater_id", "run_option", "answers", share.alias("share"))


def _threshold(policy: RaterPolicy) -> pl.Expr:
    """Return the fixed length, or the least L with answers · share^L below the probability."""
    if policy.run_length is not None:
        return pl.lit(float(policy.run_length)).alias(f"{NAME}_threshold")
    share = pl.col("share").clip(0.01, 0.95)
    least = (math.log(policy.run_probability) - pl.col("answers").log()) / share.log()
    return least.ceil().clip(lower_bound=2.0).alias(f"{NAME}_threshold")


def _explain(row: Row, policy: RaterPolicy) -> str:
    times = f"{row['run_option']} {row[f'{NAME}_value']:.0f} times in a row"
    return f"{times} (limit {row[f'{NAME}_threshold']:.0f})"


CHECK = RaterCheck(NAME, repeated_option, {"run_option": pl.String()}, _explain)

"""Consensus: who answers otherwise than everybody who saw the same.

``majority``: per pair of pictures (the prompt, the two models, and the two generations where they are given) the most
frequent answer of the *other* raters, all ties being one answer; equal counts decide nothing. How often even attentive
raters agree depends on how close the models are, so the threshold is relative: half way (``consensus_skill``) from the
rater's chance agreement to that of the median rater, as κ. ``model``: the favourite by Bradley-Terry ratings of all battles
with one drawn battle per model as prior; decisive answers only; half way from a coin to what the ratings promise.

Anchors are left out. Flagged: even the upper end of the Wilson interval of the agreement lies below the threshold.
"""

import polars as pl

from salon_ranking.models.ratings import fit
from salon_ranking.raters.check import CheckResult, RaterCheck, Row
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.votes import TIES, Votes, oriented, pair_columns
from salon_ranking.uncertainty.proportions import wilson_interval

NAME = RaterReason.AGAINST_CONSENSUS
PRIOR_TIES = 1.0
"""Drawn battles per model, so that every model has a rating."""
_DIGITS = 9
"""Sums in another order differ in the last digits; results must not."""
_ANSWERS = ("first", "second", "tie")
_THING = ["prompt_id", "first", "second", "first_made", "second_made"]


def against_consensus(votes: Votes, policy: RaterPolicy) -> CheckResult:
    """Return how often each rater answered as the consensus does."""
    rows = votes.frame.filter(~pl.col("is_anchor")).with_columns(*pair_columns(), answer=oriented("winner"))
    if policy.consensus == "model":
        return _against_model(votes, rows, policy)
    why_not = votes.lacks("prompt_id")
    return CheckResult(None, why_not) if why_not else _against_majority(rows, policy)


def _against_majority(rows: pl.DataFrame, policy: RaterPolicy) -> CheckResult:
    answer = pl.when(pl.col("answer").is_in(TIES)).then(pl.lit("tie")).otherwise(pl.col("answer")).alias("answer")
    asked = rows.drop_nulls("prompt_id").select("rater_id", *_THING, answer)
    # Things by number: joins on one integer are many times faster than on five texts.
    asked = asked.with_columns(thing=pl.struct(_THING).rank("dense"))
    counts = [(pl.col("answer") == name).sum().cast(pl.Int64).alias(f"all_{name}") for name in _ANSWERS]
    everyone = asked.group_by("thing").agg(counts)
    own = asked.group_by("rater_id", "thing").agg(
        (pl.col("answer") == name).sum().cast(pl.Int64).alias(name) for name in _ANSWERS
    )
    others = own.join(everyone, on="thing").with_columns(
        (pl.col(f"all_{name}") - pl.col(name)).alias(f"all_{name}") for name in _ANSWERS
    )
    columns = [pl.col(f"all_{name}") for name in _ANSWERS]
    most = pl.max_horizontal(columns)
    alone = pl.sum_horizontal(column == most for column in columns) == 1
    enough = pl.sum_horizontal(columns) >= policy.consensus_others
    agreed = pl.sum_horizontal(pl.when(pl.col(f"all_{name}") == most).then(pl.col(name)).otherwise(0) for name in _ANSWERS)
    decided = others.filter(alone & enough)
    if not len(decided):
        return CheckResult(None, f"no pair of pictures with a majority of {policy.consensus_others} other answers")
    answers = pl.sum_horizontal(_ANSWERS)
    majority = {f"majority_{name}": (answers * (pl.col(f"all_{name}") == most)).sum() for name in _ANSWERS}
    own_sums = [pl.col(name).sum() for name in _ANSWERS]
    per_rater = decided.group_by("rater_id").agg(*own_sums, shared=answers.sum(), agreed=agreed.sum(), **majority)
    return _judged(per_rater.with_columns(_relative_threshold(policy)), policy)


def _relative_threshold(policy: RaterPolicy) -> pl.Expr:
    """Return the agreement of a rater whose κ with the majority is ``consensus_skill`` times the median's."""
    met_by_chance = pl.sum_horizontal(pl.col(name) * pl.col(f"majority_{name}") for name in _ANSWERS)
    chance = met_by_chance / (pl.col("shared") * pl.col("shared"))
    kappa = (pl.col("agreed") / pl.col("shared") - chance) / (1.0 - chance)
    counted = (pl.col("shared") >= policy.consensus_minimum) & (chance < 1.0)
    usual = kappa.filter(counted).median().fill_null(0.0)
    return (chance + policy.consensus_skill * usual * (1.0 - chance)).round(_DIGITS).alias("threshold")


def _against_model(votes: Votes, rows: pl.DataFrame, policy: RaterPolicy) -> CheckResult:
    ratings = fit(votes.battles, prior_ties=PRIOR_TIES)
    strengths = pl.DataFrame({"model": ratings.models, "strength": ratings.log_strengths})
    decisive = rows.filter(pl.col("answer").is_in(["first", "second"]))
    placed = decisive.join(strengths, left_on="first", right_on="model").join(
        strengths, left_on="second", right_on="model", suffix="_second"
    )
    lead = pl.col("strength") - pl.col("strength_second")
    placed = placed.with_columns(lead=lead).filter(pl.col("lead") != 0.0)
    promised = 1.0 / (1.0 + (-pl.col("lead").abs()).exp())
    agreed = (pl.col("lead") > 0.0) == (pl.col("answer") == "first")
    threshold = (0.5 + policy.consensus_skill * (promised.mean() - 0.5)).round(_DIGITS)
    per_rater = placed.group_by("rater_id").agg(shared=pl.len(), agreed=agreed.sum(), threshold=threshold)
    if not len(per_rater):
        return CheckResult(None, "no decisive answer between models of different ratings")
    return _judged(per_rater, policy)


def _judged(per_rater: pl.DataFrame, policy: RaterPolicy) -> CheckResult:
    low, high = wilson_interval(per_rater["agreed"], per_rater["shared"], policy.confidence)
    enough = pl.col("shared") >= policy.consensus_minimum
    return CheckResult(
        per_rater.with_columns(consensus_low=pl.Series(low), consensus_high=pl.Series(high)).with_columns(
            pl.when(enough).then(pl.col("consensus_high") < pl.col("threshold")).alias(NAME),
            (pl.col("agreed") / pl.col("shared")).alias(f"{NAME}_value"),
            pl.col("threshold").alias(f"{NAME}_threshold"),
        )
    )


def _explain(row: Row, policy: RaterPolicy) -> str:
    whom = "majority of the others" if policy.consensus == "majority" else "favourite by the ratings"
    share, high, wanted = row[f"{NAME}_value"], row["consensus_high"], row[f"{NAME}_threshold"]
    return f"agrees with the {whom} in {share:.0%} of {row['shared']} answers (at most {high:.0%}; wanted {wanted:.0%})"


CHECK = RaterCheck(
    NAME,
    against_consensus,
    {"shared": pl.Int64(), "consensus_low": pl.Float64(), "consensus_high": pl.Float64()},
    _explain,
)

"""Qualification: an expert must know the answers that the panel has agreed upon.

At least 85% agreement and Cohen's κ above 0.8 (MEF, section 5.1.2: "Kappa > 0.8"). Outcomes are compared as first
model, second model, both good, both bad or tie, where the first model is the one whose name comes first; so it does not
matter who was called A.
"""

import polars as pl

from salon_ranking.agreement import UndefinedError, cohen_kappa
from salon_ranking.errors import BattleError
from salon_ranking.files import Frame, as_lazy, reading
from salon_ranking.raters.check import CheckResult, RaterCheck, Row
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.votes import Votes, oriented, pair_columns

NAME = RaterReason.UNQUALIFIED
_PAIR = ["prompt_id", "first", "second"]
_MADE = ["first_made", "second_made"]


def qualify(votes: Votes, reference: Frame, policy: RaterPolicy | None = None) -> pl.DataFrame:
    """Compare the answers of each rater with the reference answers.

    Args:
        reference: one row per answer: ``prompt_id``, ``model_a``, ``model_b``, ``winner``, and ``generation_a`` and
            ``generation_b`` where a pair of models was shown with several pictures. A rater who answered one of them
            several times is compared every time.

    Returns:
        One row per rater with such an answer, in ascending order: ``rater_id``, ``reference_answers``, ``agreement``,
        ``kappa`` (null where it does not exist: everything in one category), ``qualified`` (null likewise, when the
        agreement would do).

    Raises:
        BattleError: the reference or the votes lack a column, or the reference answers something twice.

    Example:
        >>> columns = {"prompt_id": ["p", "q"], "model_a": ["x", "x"], "model_b": ["y", "y"]}
        >>> known = pl.DataFrame({**columns, "winner": ["model_a", "tie"]})
        >>> votes = Votes.from_frame(known.with_columns(rater_id=pl.lit("r")))
        >>> qualify(votes, known).rows()
        [('r', 2, 1.0, 1.0, True)]
    """
    policy = policy or RaterPolicy()
    compared = _compared(votes, reference)
    rows = []
    for (rater,), part in sorted(compared.partition_by("rater_id", as_dict=True).items(), key=lambda pair: str(pair[0][0])):
        answers, expected = part["answer"].to_list(), part["expected"].to_list()
        agreement = sum(a == b for a, b in zip(answers, expected, strict=True)) / len(part)
        try:
            kappa = cohen_kappa(answers, expected)
        except UndefinedError:
            kappa = None
        enough = agreement >= policy.qualification_share
        qualified = (None if kappa is None else kappa > policy.qualification_kappa) if enough else False
        rows.append((rater, len(part), agreement, kappa, qualified))
    numbers = {"reference_answers": pl.Int64, "agreement": pl.Float64, "kappa": pl.Float64}
    return pl.DataFrame(rows, schema={"rater_id": pl.String, **numbers, "qualified": pl.Boolean}, orient="row")


def qualification_check(reference: Frame) -> RaterCheck:
    """Return the check that experts know the reference answers; without a column ``mode``, all raters are experts."""

    def unqualified(votes: Votes, policy: RaterPolicy) -> CheckResult:
        experts = votes.frame.filter(pl.col("mode") == "expert" if "mode" in votes.given else pl.lit(True))
        failed = qualify(votes, reference, policy).filter(pl.col("rater_id").is_in(experts["rater_id"].unique().to_list()))
        if not len(failed):
            return CheckResult(None, "no expert answered anything of the reference")
        return CheckResult(
            failed.with_columns(
                (~pl.col("qualified")).alias(NAME),
                pl.col("agreement").alias(f"{NAME}_value"),
                pl.lit(policy.qualification_share).alias(f"{NAME}_threshold"),
            )
        )

    return RaterCheck(NAME, unqualified, {"reference_answers": pl.Int64(), "kappa": pl.Float64()}, _explain)


def _compared(votes: Votes, reference: Frame) -> pl.DataFrame:
    """Return votes on something the reference knows: ``rater_id``, ``answer``, ``expected``."""
    lacking = votes.lacks("prompt_id")
    if lacking:
        raise BattleError(f"reference answers cannot be found: {lacking}", source=votes.source)
    with reading("reference"):
        rows = as_lazy(reference, "reference").collect()
    if "prompt_id" not in rows.columns:
        raise BattleError("missing column", source="reference", value="prompt_id", found=rows.columns)
    known = Votes.from_frame(rows.with_columns(rater_id=pl.lit("reference")), source="reference")
    key = [*_PAIR, *(_MADE if {"generation_a", "generation_b"} <= known.given else [])]
    answers = known.frame.select("row", *pair_columns(), "prompt_id", oriented("winner").alias("expected"))
    twice = answers.filter(~pl.struct(key).is_first_distinct())
    if len(twice):
        problem = "the same pair is answered twice:"
        raise BattleError(problem, source="reference", row=twice["row"][0], column="prompt_id", value=twice["prompt_id"][0])
    asked = votes.frame.select("rater_id", "prompt_id", *pair_columns(), oriented("winner").alias("answer"))
    return asked.join(answers.select(*key, "expected"), on=key, nulls_equal=True).select("rater_id", "answer", "expected")


def _explain(row: Row, policy: RaterPolicy) -> str:
    agreed = f"agrees with {row[f'{NAME}_value']:.0%} of {row['reference_answers']} reference answers"
    kappa = "none" if row["kappa"] is None else f"{row['kappa']:.2f}"
    wanted = f"wanted {policy.qualification_share:.0%} and above {policy.qualification_kappa:g}"
    return f"{agreed}, κ {kappa} ({wanted})"

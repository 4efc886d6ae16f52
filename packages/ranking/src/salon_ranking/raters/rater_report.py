"""All checks together: one row per rater, and the reason for every flag.

Nothing is deleted: a flag is a finding. ``exclusion.py`` leaves flagged raters out of a leaderboard and counts them.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import polars as pl

from salon_console.numbers import counted
from salon_ranking.errors import OptionError
from salon_ranking.files import Frame, json_text
from salon_ranking.raters import anchors, consensus, repetition, side, speed
from salon_ranking.raters.anchors import answered_anchors
from salon_ranking.raters.check import RaterCheck
from salon_ranking.raters.flags import FINDINGS, Flags
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.qualification import qualification_check
from salon_ranking.raters.votes import Votes

CHECKS = (anchors.CHECK, speed.CHECK, repetition.CHECK, side.CHECK, consensus.CHECK)
"""Checks that need the battles alone, in the order of reports."""


@dataclass(frozen=True, eq=False)
class RaterReport:
    """What is known about every rater.

    Attributes:
        table: one row per rater, flagged ones first, then by id: ``rater_id``, ``modes`` (joined by commas; null: not
            given), ``battles``, ``flagged``, ``reasons`` (a list, empty when not flagged), ``explanation`` (else null), and
            per check ``<reason>`` (flagged or not; null: too little to decide), ``<reason>_value``, ``<reason>_threshold`` and
            details. Values and thresholds: shares; standard deviations below the cohort; the length of a run; the
            distance of the share of left from one half.
        findings: one row per flag: ``rater_id``, ``reason``, ``value``, ``threshold``, ``explanation``; for the store.
        policy: the thresholds.
        source: where the battles came from.
        battles: number of battles.
        anchor_rate: share of battles that are anchors with an expected answer.
        not_checked: pairs of a check that could not be made for any rater, or not of all answers, and why.
        remarks: what the header says of how the battles were read: rows left out, a condition.
    """

    table: pl.DataFrame
    findings: pl.DataFrame
    policy: RaterPolicy
    source: str
    battles: int
    anchor_rate: float
    not_checked: tuple[tuple[RaterReason, str], ...]
    remarks: tuple[str, ...] = ()

    @cached_property
    def flagged(self) -> tuple[str, ...]:
        """The ids of flagged raters, in ascending order."""
        return tuple(sorted(self.table.filter("flagged")["rater_id"].to_list()))

    @cached_property
    def flags(self) -> Flags:
        """The flags alone, with the key of this report."""
        skipped = tuple((str(reason), why) for reason, why in self.not_checked)
        return Flags(self.findings, self.source, json.dumps(asdict(self.policy), sort_keys=True), skipped)

    def records(self) -> pl.DataFrame:
        """Return rows for the result store's ``rater_flags``, one per flag."""
        return self.flags.records(self.table)

    @property
    def header(self) -> str:
        """One or two sentences on what was looked at, and what could not be."""
        count = len(self.flagged)
        left = int(self.table.filter("flagged")["battles"].sum())
        parts = [f"{self.source}: {counted(self.battles, 'battle')} by {counted(self.table.height, 'rater')}"]
        parts.append(f"{count:,} flagged, with {counted(left, 'battle')} ({left / self.battles:.1%})")
        if RaterReason.AGAINST_CONSENSUS in self.policy.checks:
            parts.append(f"consensus: {self.policy.consensus}")
        if 0.0 < self.anchor_rate < self.policy.anchor_wanted / 2.0:
            parts.append(f"only {self.anchor_rate:.1%} of battles are anchors ({self.policy.anchor_wanted:.0%} wanted)")
        parts += [f"not checked: {reason} ({why})" for reason, why in self.not_checked]
        parts += self.remarks
        return "; ".join(parts) + "."


def check_raters(
    battles: Votes | Frame,
    policy: RaterPolicy | None = None,
    *,
    reference: Frame | None = None,
) -> RaterReport:
    """Look at every rater by every check that the columns allow.

    Args:
        battles: columns of the record ``Battle``; ``rater_id``, ``model_a``, ``model_b`` and ``winner`` must be there. A check
            whose columns are missing is not made, and says so in ``not_checked``.
        reference: answers that experts must know; see :func:`qualify`. None: no rater is examined.

    Raises:
        BattleError: as :meth:`Votes.from_frame`, and :func:`qualify` for the reference.

    Example:
        >>> rows = {"rater_id": ["lazy"] * 30 + ["keen"] * 4, "model_a": ["x"] * 34, "model_b": ["y"] * 34}
        >>> battles = pl.DataFrame({**rows, "winner": ["model_a"] * 34, "side_a_shown": ["left"] * 30 + ["left", "right"] * 2})
        >>> report = check_raters(battles)
        >>> report.flagged, report.findings["reason"].to_list()
        (('lazy',), ['repeated_option', 'one_sided'])
    """
    policy = policy or RaterPolicy()
    votes = battles if isinstance(battles, Votes) else Votes.from_frame(battles)
    checks = [check for check in CHECKS if check.reason in policy.checks]
    if reference is not None and RaterReason.UNQUALIFIED in policy.checks:
        checks.append(qualification_check(reference))
    if not checks:
        raise OptionError("there is no check to make", allowed=RaterReason)
    table, not_checked = _base(votes), []
    for check in checks:
        outcome = check.run(votes, policy)
        if outcome.frame is None or outcome.why_not:
            not_checked.append((check.reason, outcome.why_not or ""))
        if outcome.frame is None:
            absent = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in check.columns.items()]
            table = table.with_columns(absent)
        else:
            typed = [pl.col(name).cast(dtype) for name, dtype in check.columns.items()]
            table = table.join(outcome.frame.select("rater_id", *typed), on="rater_id", how="left")
    findings = _findings(table, checks, policy)
    return RaterReport(
        table=_ordered(table, findings),
        findings=findings,
        policy=policy,
        source=votes.source,
        battles=len(votes.frame),
        anchor_rate=len(answered_anchors(votes)) / len(votes.frame),
        not_checked=tuple(not_checked),
        remarks=votes.battles.remarks,
    )


def _base(votes: Votes) -> pl.DataFrame:
    modes = pl.col("mode").drop_nulls().unique().sort().str.join(", ")
    rows = votes.frame.group_by("rater_id").agg(modes.alias("modes"), battles=pl.len().cast(pl.Int64))
    return rows.with_columns(pl.when(pl.col("modes") != "").then("modes").alias("modes")).sort("rater_id")


def _findings(table: pl.DataFrame, checks: Sequence[RaterCheck], policy: RaterPolicy) -> pl.DataFrame:
    rows = []
    for check in checks:
        for row in table.filter(pl.col(check.reason)).iter_rows(named=True):
            numbers = (row[f"{check.reason}_value"], row[f"{check.reason}_threshold"])
            rows.append((row["rater_id"], str(check.reason), *numbers, check.explain(row, policy)))
    return pl.DataFrame(rows, schema=FINDINGS, orient="row").sort("rater_id", maintain_order=True)


def _ordered(table: pl.DataFrame, findings: pl.DataFrame) -> pl.DataFrame:
    why = findings.group_by("rater_id", maintain_order=True).agg(
        reasons=pl.col("reason"), explanation=pl.col("explanation").str.join("; ")
    )
    whole = table.join(why, on="rater_id", how="left").with_columns(
        flagged=pl.col("reasons").is_not_null(), reasons=pl.col("reasons").fill_null(pl.lit([], dtype=pl.List(pl.String)))
    )
    front = ["rater_id", "modes", "battles", "flagged", "reasons", "explanation"]
    return whole.select(*front, pl.all().exclude(front)).sort("flagged", "rater_id", descending=[True, False])


def to_csv(report: RaterReport) -> str:
    """Return the table as CSV; reasons are joined by spaces, names stay as they are."""
    return report.table.with_columns(pl.col("reasons").list.join(" ")).write_csv()


def to_json(report: RaterReport) -> str:
    """Return a JSON object: how the report was made, one row per rater, one finding per flag. Null is what is not known."""
    document = {
        "source": report.source,
        "battles": report.battles,
        "anchor_rate": report.anchor_rate,
        "flagged": list(report.flagged),
        "not_checked": {str(reason): why for reason, why in report.not_checked},
        "policy": asdict(report.policy),
        "raters": report.table.to_dicts(),
        "findings": report.findings.to_dicts(),
    }
    return json_text(document)

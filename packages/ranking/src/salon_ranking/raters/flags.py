"""Flagged raters with their reasons, from a report or a file, as a leaderboard needs them."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from salon_ranking.errors import BattleError
from salon_ranking.files import read_table
from salon_taxonomy.digest import digest

FINDINGS = {
    "rater_id": pl.String,
    "reason": pl.String,
    "value": pl.Float64,
    "threshold": pl.Float64,
    "explanation": pl.String,
}
"""The columns of findings: one row per flag."""
NO_REASON = "flagged"
"""The reason where a file gives none."""
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Flags:
    """One row per reason in ``findings`` (columns as ``FINDINGS``; value and threshold are null when a file does not say).

    Attributes:
        source: what was looked at, or the file of the flags.
        policy: the thresholds as JSON text; None when they are not known.
        not_checked: checks that could not be made, or not of all answers, and why.
    """

    findings: pl.DataFrame
    source: str
    policy: str | None = None
    not_checked: tuple[tuple[str, str], ...] = ()

    @cached_property
    def flagged(self) -> tuple[str, ...]:
        """The ids of flagged raters, in ascending order."""
        return tuple(sorted(self.findings["rater_id"].unique().to_list()))

    @cached_property
    def report_id(self) -> str:
        """A digest of the findings and the thresholds: the same raters flagged for the same reasons keep the same key."""
        rows = self.findings.select("rater_id", "reason", pl.col("value", "threshold").round(_DIGITS)).sort(
            "rater_id", "reason"
        )
        policy = None if self.policy is None else json.loads(self.policy)
        return digest("rater_report", {"policy": policy, "findings": [list(row) for row in rows.iter_rows()]})

    def records(self, battles: pl.DataFrame) -> pl.DataFrame:
        """Return rows for the result store's ``rater_flags``.

        Args:
            battles: columns ``rater_id`` and ``battles``: how many each rater has; who is not there has none.
        """
        counts = battles.select("rater_id", pl.col("battles").cast(pl.Int64))
        rows = self.findings.join(counts, on="rater_id", how="left", maintain_order="left")
        return rows.select(
            pl.lit(self.report_id).alias("report_id"),
            *FINDINGS,
            pl.col("battles").fill_null(0),
            pl.lit(self.policy, dtype=pl.String).alias("policy"),
            pl.lit(self.source).alias("source"),
        )


def read_flags(path: Path) -> Flags:
    """Read who is flagged from a table of raters: what ``salon votes raters --output`` wrote, or one made by hand.

    Columns: ``rater_id``; ``flagged`` (true, false, 1, 0, yes or no; blank is false); where given, ``reasons`` (a list, or
    words separated by spaces) or ``reason`` (text), ``explanation``, ``<reason>_value`` and ``<reason>_threshold``. What
    counts is ``flagged``: who looked into a case may take a flag away there.

    Raises:
        BattleError: the file cannot be read, a column is missing, or a row has no rater or neither true nor false.
    """
    frame = read_table(path, "rater_flags", BattleError)
    for name in ("rater_id", "flagged"):
        if name not in frame.columns:
            hint = "`salon votes raters INPUT --output raters.csv` writes such a table."
            raise BattleError("missing column", source=path, value=name, found=frame.columns, hint=hint)
    text = frame.with_columns(pl.col("rater_id", "flagged").cast(pl.String))
    word = pl.col("flagged").fill_null("").str.strip_chars().str.to_lowercase()
    truth = text.select(word.replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)).to_series()
    unnamed = text.select(pl.col("rater_id").fill_null("").str.strip_chars() == "").to_series()
    for wrong, column, problem in ((unnamed, "rater_id", "no rater"), (truth.is_null(), "flagged", "neither true nor false:")):
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            raise BattleError(problem, source=path, row=row + 1, column=column, value=text[column][row], allowed=None)
    return Flags(_findings(text.filter(truth)), str(path))


def _findings(flagged: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for row in flagged.iter_rows(named=True):
        for reason in _reasons(row):
            numbers = (_number(row.get(f"{reason}_{name}")) for name in ("value", "threshold"))
            rows.append((row["rater_id"], reason, *numbers, row.get("explanation")))
    return (
        pl.DataFrame(rows, schema=FINDINGS, orient="row")
        .unique(["rater_id", "reason"], keep="first")
        .sort("rater_id", "reason")
    )


def _reasons(row: dict[str, object]) -> list[str]:
    reasons = row.get("reasons")
    if isinstance(reasons, list):
        return [str(reason) for reason in reasons] or [NO_REASON]
    if isinstance(reasons, str) and reasons.strip():
        return reasons.split()
    single = row.get("reason")
    return [single.strip()] if isinstance(single, str) and single.strip() else [NO_REASON]


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None

"""Leave flagged raters out of a leaderboard: filtered, counted, and written down; never deleted."""

from dataclasses import dataclass

import polars as pl

from salon_ranking.errors import BattleError
from salon_ranking.raters.rater_report import RaterReport


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Battles without those of flagged raters.

    Attributes:
        kept: the battles of all other raters, unread if the battles were; for ``Battles.from_frame``.
        left_out: one row per reason, and ``(any)`` first: ``reason``, ``raters``, ``battles``. A rater with several reasons
            counts in each, in ``(any)`` once.
        why: one row per flag, for the store: ``rater_id``, ``reason``, ``value``, ``threshold``.
    """

    kept: pl.LazyFrame
    left_out: pl.DataFrame
    why: pl.DataFrame

    @property
    def header(self) -> str:
        """One sentence for the head of a leaderboard."""
        total, *reasons = self.left_out.iter_rows(named=True)
        if not total["raters"]:
            return "No rater was flagged."
        counts = ", ".join(f"{row['battles']:,} {row['reason']}" for row in reasons)
        return f"{total['battles']:,} battles of {total['raters']:,} flagged raters left out ({counts})."


def exclude_flagged(battles: pl.DataFrame | pl.LazyFrame, report: RaterReport, *, source: str = "battles") -> Exclusion:
    """Leave out the battles of the raters that a report flags.

    Raises:
        BattleError: the battles have no column ``rater_id``.

    Example:
        >>> rows = {"rater_id": ["lazy"] * 30 + ["keen"] * 4, "model_a": ["x"] * 34, "model_b": ["y"] * 34}
        >>> battles = pl.DataFrame({**rows, "winner": ["model_a"] * 34, "side_a_shown": ["left"] * 30 + ["left", "right"] * 2})
        >>> from salon_ranking.raters import check_raters
        >>> excluded = exclude_flagged(battles, check_raters(battles))
        >>> excluded.kept.collect().height, excluded.left_out.row(0)
        (4, ('(any)', 1, 30))
    """
    lazy = battles.lazy()
    names = lazy.collect_schema().names()
    if "rater_id" not in names:
        raise BattleError("missing column", source=source, value="rater_id", allowed=names)
    rater = pl.col("rater_id").cast(pl.String)
    flagged = report.table.filter("flagged").select("rater_id", "reasons")
    counts = lazy.select(rater).filter(rater.is_in(list(report.flagged))).group_by("rater_id").len("battles").collect()
    each = flagged.join(counts, on="rater_id", how="left").with_columns(pl.col("battles").fill_null(0).cast(pl.Int64))
    total = each.select(pl.lit("(any)").alias("reason"), raters=pl.len().cast(pl.Int64), battles=pl.col("battles").sum())
    by_reason = each.explode("reasons").group_by(pl.col("reasons").alias("reason"))
    reasons = by_reason.agg(raters=pl.len().cast(pl.Int64), battles=pl.col("battles").sum())
    return Exclusion(
        kept=lazy.filter(~rater.is_in(list(report.flagged))),
        left_out=pl.concat([total, reasons.sort("reason")]),
        why=report.findings.select("rater_id", "reason", "value", "threshold"),
    )

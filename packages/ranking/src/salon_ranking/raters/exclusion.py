"""Leave flagged raters out of a leaderboard: filtered, counted, and written down; never deleted."""

from dataclasses import dataclass

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.errors import BattleError
from salon_ranking.files import Frame, as_lazy, reading
from salon_ranking.leaderboard.excluded import ExcludedRaters, ReasonCount
from salon_ranking.raters.flags import Flags
from salon_ranking.raters.rater_report import RaterReport


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Battles without those of flagged raters.

    Attributes:
        kept: the battles of all other raters, unread if the battles were; for ``Battles.from_frame``.
        left_out: one row per reason, and ``(any)`` first: ``reason``, ``raters``, ``battles``. A rater with several reasons
            counts in each, in ``(any)`` once.
        why: one row per flag: ``rater_id``, ``reason``, ``value``, ``threshold``.
        counts: the same counts as values, for a leaderboard's ``excluded``.
        records: one row per flag for the result store's ``rater_flags``.
    """

    kept: pl.LazyFrame
    left_out: pl.DataFrame
    why: pl.DataFrame
    counts: ExcludedRaters
    records: pl.DataFrame

    @property
    def header(self) -> str:
        """One sentence for the head of a leaderboard."""
        return self.counts.sentence

    def battles(self, whole: Battles) -> Battles:
        """Return the battles that are kept, under the name of the whole and with its clusters and weights.

        Raises:
            BattleError: nothing is kept.
        """
        rest = whole.with_rows(self.kept)
        if rest.count == 0:
            hint = "`salon votes raters` says why; rank without --exclude-flagged."
            raise BattleError("every battle is a flagged rater's", source=whole.source, hint=hint)
        return rest


def exclude_flagged(battles: Frame, report: RaterReport | Flags, *, source: str = "battles") -> Exclusion:
    """Leave out the battles of the raters that a report, or a table that was read (``read_flags``), flags.

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
    lazy = as_lazy(battles, source)
    names = lazy.collect_schema().names()
    if "rater_id" not in names:
        raise BattleError("missing column", source=source, value="rater_id", found=names)
    rater = pl.col("rater_id").cast(pl.String)
    flags = report.flags if isinstance(report, RaterReport) else report
    is_flagged = rater.is_in(list(flags.flagged)).fill_null(False)
    with reading(source):
        counts = lazy.select(rater).filter(is_flagged).group_by("rater_id").len("battles").collect(engine="streaming")
    records = flags.records(counts)
    by_rater = records.unique("rater_id")
    total = by_rater.select(pl.lit("(any)").alias("reason"), raters=pl.len().cast(pl.Int64), battles=pl.col("battles").sum())
    by_reason = records.group_by("reason").agg(raters=pl.len().cast(pl.Int64), battles=pl.col("battles").sum()).sort("reason")
    excluded = ExcludedRaters(
        report_id=flags.report_id,
        raters=int(total["raters"][0]),
        battles=int(total["battles"][0]),
        reasons=tuple(ReasonCount(*row) for row in by_reason.iter_rows()),
        not_checked=flags.not_checked,
    )
    return Exclusion(
        kept=lazy.filter(~is_flagged),
        left_out=pl.concat([total, by_reason]),
        why=flags.findings.select("rater_id", "reason", "value", "threshold"),
        counts=excluded,
        records=records,
    )

"""Test points: the share of yes/no checks that a model's pictures pass, per capability, with Wilson intervals.

A check asks one thing of one picture, such as whether the prompted number of objects is there; it is fully met or not
(MEF paper, section 6.3, appendix D and Table 8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from salon_ranking.battles.vote_formats import with_model_names, with_our_columns
from salon_ranking.errors import OptionError
from salon_ranking.files import Frame, as_lazy, read_table
from salon_ranking.opinion.errors import CheckError
from salon_ranking.options import Confidence, checked
from salon_ranking.table_checks import CheckedTable
from salon_ranking.uncertainty.proportions import wilson_interval

_SPELLINGS = {
    "model": ("model", "subject_model"),
    "test_point": ("test_point", "capability", "dimension"),
    "satisfied": ("satisfied", "value"),
}
_ANSWERS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass(frozen=True, eq=False)
class Checks:
    """Checked answers. Build with :meth:`from_frame` or :meth:`read`.

    Attributes:
        source: what errors and headers call it: a path, or ``"checks"``.
        frame: ``model``, ``test_point`` (text) and ``satisfied`` (true, false; null: no answer).
        unscored: how often each reason prevented an answer.
        remarks: merged names of models.
    """

    source: str
    frame: pl.DataFrame
    unscored: dict[str, int]
    remarks: tuple[str, ...] = ()

    @property
    def header(self) -> str:
        """A sentence on what was counted, and what could not be."""
        scored = self.frame["satisfied"].count()
        why = f" ({', '.join(f'{count:,} {reason}' for reason, count in self.unscored.items())})" if self.unscored else ""
        parts = [f"{self.source}: {scored:,} checks scored, {self.frame.height - scored:,} unscored{why}", *self.remarks]
        return f"{'; '.join(parts)}; Wilson intervals."

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        task: str | None = None,
        source: str = "checks",
        columns: Mapping[str, str] | None = None,
        names: Mapping[str, str] | Literal["merge"] | None = None,
    ) -> "Checks":
        """Check the rows of a frame with ``model``, ``test_point`` and ``satisfied``: true, false, 1 or 0.

        The columns of a store's ``scores`` will do, too: ``subject_model``, ``dimension``, ``value``. A null answer is refused
        unless the column ``unscored_reason`` gives the reason; such rows are counted, never as a failure.

        Args:
            frame: the answers.
            task: keep only the rows whose column ``task`` has this value.
            source: what errors call the table.
            columns, names: see :meth:`MosRatings.from_frame`.

        Raises:
            CheckError: no rows, a missing column, or the first row without a name or with another answer.

        Example:
            >>> frame = pl.DataFrame({"model": ["x", "x"], "test_point": ["Text", "Text"], "satisfied": [True, False]})
            >>> Checks.from_frame(frame).shares()["share"].to_list()
            [0.5, 0.5]
        """
        lazy = with_our_columns(as_lazy(frame, source, CheckError), columns or {}, source, CheckError)
        table = _renamed(CheckedTable(_of_task(lazy.collect(), task, source), source, CheckError))
        spelled, remarks = with_model_names(table.frame, names)
        table = replace(table, frame=spelled)
        if table.frame.is_empty():
            raise CheckError("holds no checks" if task is None else "holds no checks of the task", source=source, value=task)
        table = table.with_names(["model", "test_point"])
        answers = _answers(table)
        table.refuse_wrong()
        reasons: dict[str, int] = {}
        if "unscored_reason" in table.frame.columns:
            without = table.frame.filter(answers.is_null()).group_by(pl.col("unscored_reason").cast(pl.String)).len()
            reasons = dict(without.sort(["len", "unscored_reason"], descending=[True, False]).iter_rows())
        return cls(source, table.frame.select("model", "test_point", satisfied=answers), reasons, remarks)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        task: str | None = None,
        columns: Mapping[str, str] | None = None,
        names: Mapping[str, str] | Literal["merge"] | None = None,
    ) -> "Checks":
        """Read a CSV, JSON Lines or Parquet file, or the table ``scores`` of a result store (a directory).

        Raises:
            CheckError: the file cannot be read, or as :meth:`from_frame`.
        """
        frame = read_table(path, "scores", CheckError)
        return cls.from_frame(frame, task=task, source=str(path), columns=columns, names=names)

    @checked
    def shares(self, *, confidence: Confidence = 0.95) -> pl.DataFrame:
        """Return the share of satisfied checks of every model at every test point, and over all of them.

        The interval takes checks for independent; several checks of one picture, or several answers to one check, make it
        too narrow.

        Returns:
            Columns ``model``, ``test_point`` (null: all checks pooled, so that frequent test points count more), ``satisfied``,
            ``checks``, ``unscored``, ``share``, ``ci_low``, ``ci_high`` (null where no check was answered). Test points
            are in the order of their first appearance, models by their pooled share, best first.

        Raises:
            OptionError: ``confidence`` is not between 0 and 1.
        """
        if not 0.0 < confidence < 1.0:
            raise OptionError("must lie between 0 and 1:", key="confidence", value=confidence)
        answer = pl.col("satisfied")
        counts = [
            answer.sum().cast(pl.Int64),
            answer.count().cast(pl.Int64).alias("checks"),
            answer.null_count().cast(pl.Int64).alias("unscored"),
        ]
        by_point = self.frame.group_by("model", "test_point", maintain_order=True).agg(counts)
        pooled = self.frame.group_by("model").agg(pl.lit(None, pl.String).alias("test_point"), *counts)
        table = pl.concat([pooled, by_point]).with_columns(share=pl.when(pl.col("checks") > 0).then(answer / pl.col("checks")))
        low, high = wilson_interval(table["satisfied"].to_numpy(), table["checks"].to_numpy(), confidence)
        table = table.with_columns(ci_low=pl.Series(low).fill_nan(None), ci_high=pl.Series(high).fill_nan(None))
        points = {name: number for number, name in enumerate(by_point["test_point"].unique(maintain_order=True))}
        best = table.filter(pl.col("test_point").is_null()).sort(["share", "model"], descending=[True, False], nulls_last=True)
        models = {name: number for number, name in enumerate(best["model"])}
        order = [
            pl.col("test_point").replace_strict(points, default=-1, return_dtype=pl.Int64),
            pl.col("model").replace_strict(models, return_dtype=pl.Int64),
        ]
        columns = ["model", "test_point", "satisfied", "checks", "unscored", "share", "ci_low", "ci_high"]
        return table.sort(order).select(columns)


def wide_shares(shares: pl.DataFrame) -> pl.DataFrame:
    """Test points as rows (``all checks`` first), models as columns, shares in the cells."""
    named = shares.with_columns(pl.col("test_point").fill_null("all checks"))
    return named.pivot(on="model", index="test_point", values="share", maintain_order=True)


def _of_task(frame: pl.DataFrame, task: str | None, source: str) -> pl.DataFrame:
    if task is None:
        return frame
    if "task" not in frame.columns:
        raise CheckError("missing column", source=source, value="task", found=frame.columns)
    CheckedTable(frame, source, CheckError).one_value_per_row("task")
    return frame.filter(pl.col("task").cast(pl.String) == task)


def _renamed(table: CheckedTable) -> CheckedTable:
    """Return the three columns under their own names, whichever spelling they have."""
    renamed = {}
    for name, spellings in _SPELLINGS.items():
        columns = [spelling for spelling in spellings if spelling in table.frame.columns]
        if not columns:
            raise CheckError("missing column", source=table.source, value=name, found=table.frame.columns)
        renamed[name] = pl.col(columns[0])
    reason = [name for name in ("unscored_reason",) if name in table.frame.columns]
    return CheckedTable(table.frame.select(*reason, **renamed), table.source, CheckError)


def _answers(table: CheckedTable) -> pl.Series:
    """Return every answer as true, false or null."""
    satisfied = table.frame["satisfied"]
    if satisfied.dtype.is_nested() or satisfied.dtype.is_temporal():
        raise CheckError(
            "must hold true, false, 1 or 0, not", source=table.source, column="satisfied", value=str(satisfied.dtype)
        )
    text = satisfied.cast(pl.String).str.strip_chars().str.to_lowercase()
    answers = text.replace_strict(_ANSWERS, default=None, return_dtype=pl.Boolean)
    absent = text.is_null() | (text == "")
    table.note(answers.is_null() & ~absent, "is neither true nor false:", "satisfied", allowed=_names(_ANSWERS))
    if "unscored_reason" not in table.frame.columns:
        table.note(absent, "is not given", "satisfied", allowed=_names(_ANSWERS))
        return answers
    table.one_value_per_row("unscored_reason")
    reason = table.frame["unscored_reason"].cast(pl.String).str.strip_chars().fill_null("")
    table.note(absent & (reason == ""), "is missing without an unscored_reason", "satisfied")
    table.note(~absent & (reason != ""), "is given although there is an answer:", "unscored_reason")
    return answers


def _names(answers: dict[str, bool]) -> Sequence[str]:
    return [name for name in answers if "." not in name]

"""Leave rows out of a table of votes before it is checked: by a condition, without a winner, or as copies of others."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import polars as pl

from salon_console.numbers import counted
from salon_ranking.battles.encoding import numbered
from salon_ranking.battles.repeated_ids import ID, repeated_rows, row_count
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import reading

NoWinner: TypeAlias = Literal["refuse", "leave_out"]
Copies: TypeAlias = Literal["refuse", "first"]
_IDS = re.compile(r"((vote|battle|question|comparison|match|answer|annotation|record|submission|conversation)_?)?(uu)?id")
_REQUIRED = {"model_a", "model_b", "winner"}
_MOST_REPEATED = 0.1
"""The share of rows up to which a column of ids with repeated values is taken for one whose rows were copied."""


@dataclass(frozen=True)
class RowSelection:
    """Which rows of a table of votes are read.

    Attributes:
        where: an SQL condition over the columns as the file names them, such as ``category = 'text'``; None: all rows.
        no_winner: what to do with rows without a winner.
        copies: what to do with rows that equal another with the same id in every column: refuse them, or keep the first.
    """

    where: str | None = None
    no_winner: NoWinner = "refuse"
    copies: Copies = "refuse"

    def __post_init__(self) -> None:
        for name, value, allowed in (("no_winner", self.no_winner, NoWinner), ("copies", self.copies, Copies)):
            if value not in get_args(allowed):
                raise OptionError(f"unknown handling of {name}", value=value, allowed=get_args(allowed))
        if not (self.where is None or isinstance(self.where, str)):
            raise OptionError("where must be text, not", value=self.where)

    def matching(self, frame: pl.LazyFrame, source: str) -> tuple[pl.LazyFrame, tuple[str, ...]]:
        """Return the rows that meet the condition, with their numbers in the file, and how many they are.

        Raises:
            BattleError: the condition is no SQL, names a missing column, or no row meets it.

        Example:
            >>> votes = pl.LazyFrame({"mode": ["expert", "public"], "winner": ["tie", "tie"]})
            >>> RowSelection(where="mode = 'expert'").matching(votes, "votes.csv")[1]
            ("where mode = 'expert': 1 of 2 rows",)
        """
        if self.where is None:
            return frame, ()
        with reading(source):
            names = frame.collect_schema().names()
        try:
            kept = numbered(frame).filter(pl.sql_expr(self.where))
            rows = row_count(kept)
        except pl.exceptions.PolarsError as problem:
            hint = (
                f"Columns: {', '.join(names)}. Text stands in 'single quotes', as in \"category = 'text'\"; "
                "numbers of a text file are compared by CAST(column AS DOUBLE) > 1."
            )
            reason = str(problem).splitlines()[0].split(";")[0]
            raise BattleError(f"where {self.where} cannot be used: {reason}", source=source, hint=hint) from problem
        if not rows:
            raise BattleError("no row meets the condition", source=source, value=self.where)
        return kept, (f"where {self.where}: {rows:,} of {counted(row_count(frame), 'row')}",)

    def usable(self, frame: pl.LazyFrame, ids: str | None, source: str) -> tuple[pl.LazyFrame, tuple[str, ...]]:
        """Return the rows with Salon's columns that are to be checked, and how many were left out as what.

        Raises:
            BattleError: copies are to be left out, and the column of ids is missing.

        Example:
            >>> votes = pl.LazyFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["tie", "tie"]})
            >>> RowSelection(copies="first").usable(votes, "battle_id", "votes.csv")
            Traceback (most recent call last):
            ...
            salon_ranking.errors.BattleError: votes.csv: exact copies cannot be left out: missing column 'battle_id'
            Columns: model_a, model_b, winner. Name that of the ids (--columns NAME=battle_id), or ...
        """
        remarks: list[str] = []
        with reading(source):
            names = frame.collect_schema().names()
        if self.copies == "first" and ids is not None and ids not in names and set(names) >= _REQUIRED:
            hint = (
                f"Columns: {', '.join(names)}. Name that of the ids (--columns NAME={ids}), or count equal rows, which without "
                "ids may be two votes."
            )
            raise BattleError("exact copies cannot be left out: missing column", source=source, value=ids, hint=hint)
        with reading(source):
            if self.no_winner == "leave_out" and "winner" in names:
                blank = pl.col("winner").cast(pl.String).str.strip_chars().fill_null("") == ""
                missing = row_count(frame.filter(blank))
                if missing:
                    frame = numbered(frame).filter(~blank)
                    remarks.append(f"{counted(missing, 'row')} without a winner left out")
            if self.copies == "first" and ids in names:
                repeated = repeated_rows(frame, ids, row_count(frame))
                copies = repeated.filter(~pl.struct(pl.exclude("__row")).is_first_distinct())["__row"]
                if len(copies):
                    frame = numbered(frame).filter(~pl.col("__row").is_in(copies.implode()))
                    remarks.append(f"{len(copies):,} exact {'copy' if len(copies) == 1 else 'copies'} left out")
        return frame, tuple(remarks)


def unnamed_ids(frame: pl.LazyFrame, ids: str | None, rows: int, source: str) -> Iterable[str]:
    """Yield a warning where votes have no ``battle_id`` and a column that looks like one has a value in two rows."""
    with reading(source):
        names = frame.collect_schema().names()
        if ids != ID or ID in names:
            return
        for name in names:
            if _IDS.fullmatch(name.strip().lower()) and not frame.collect_schema()[name].is_nested():
                repeated = repeated_rows(frame.select(name), name, rows)
                copies = repeated.height - repeated[name].n_unique()
                if 0 < copies <= _MOST_REPEATED * rows:
                    what = f"{counted(copies, 'row')} with a value of {name!r} that another row has"
                    yield f"WARNING: {what}; if it tells votes apart, name it battle_id (--columns {name}=battle_id)"
                return

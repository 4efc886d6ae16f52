"""Check the rows of tables: every kind of mistake is found, and one error names them all."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import polars as pl

from salon_ranking.errors import RankingError, Wrong

E = TypeVar("E", bound=RankingError)
TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
"""Text that is read as a truth value, in lower case."""


def truth_of(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return the truth values of a column of truth values, numbers or text; null for other values."""
    if dtype == pl.Boolean:
        return pl.col(column)
    text = pl.col(column).cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.replace_strict(TRUTH, default=None, return_dtype=pl.Boolean)


class RowCheck(NamedTuple):
    """One kind of mistake that rows may have: where ``wrong`` is true; null is not.

    ``shown`` is the column whose value an error shows; by default ``column``.
    """

    column: str
    problem: str
    wrong: pl.Expr
    allowed: Sequence[object] | None = None
    hint: str | None = None
    shown: str | None = None


def wrong_rows(frame: pl.LazyFrame, checks: Sequence[RowCheck]) -> list[Wrong]:
    """Return every kind of mistake that rows have, each with its first row and their number.

    Args:
        frame: the rows, each with its number from 1 in ``__row``.

    Example:
        >>> rows = pl.LazyFrame({"__row": [1, 2, 3], "model": ["x", "", ""]})
        >>> wrong_rows(rows, [RowCheck("model", "is blank:", pl.col("model") == "")])
        [Wrong(problem='is blank:', row=2, rows=2, column='model', value='', allowed=None, hint=None)]
    """
    numbers = [
        each
        for place, check in enumerate(checks)
        for wrong in [check.wrong.fill_null(False)]
        for each in (
            wrong.sum().alias(f"rows {place}"),
            pl.col("__row").filter(wrong).first().alias(f"first {place}"),
            pl.col(check.shown or check.column).filter(wrong).first().alias(f"value {place}"),
        )
    ]
    counts = frame.select(numbers).collect().row(0, named=True)
    return [
        Wrong(check.problem, counts[f"first {place}"], rows, check.column, counts[f"value {place}"], check.allowed, check.hint)
        for place, check in enumerate(checks)
        if (rows := counts[f"rows {place}"])
    ]


def all_wrong(wrong: Sequence[Wrong], source: str, error: type[E]) -> E:
    """Return one error for all kinds of mistakes, each with its first row and its number of rows.

    Example:
        >>> found = [Wrong("no winner", 4, 2, "winner"), Wrong("no model name", 3, 1, "model_a")]
        >>> from salon_ranking.errors import BattleError
        >>> print(all_wrong(found, "votes.csv", BattleError))
        votes.csv, row 3, column 'model_a': no model name
        Also row 4, column 'winner': no winner (2 such rows).
    """
    first, *others = sorted(wrong, key=lambda one: one.row)
    words = [first.hint] if first.hint else []
    if first.rows > 1:
        words.append(f"There are {first.rows:,} such rows.")
    for one in others:
        rows = "" if one.rows == 1 else f" ({one.rows:,} such rows)"
        message = error(one.problem, row=one.row, column=one.column, value=one.value)
        words.append(f"Also {message}{rows}.")
    whole = error(
        first.problem,
        source=source,
        row=first.row,
        column=first.column,
        value=first.value,
        allowed=first.allowed,
        hint="\n".join(words) or None,
    )
    whole.wrong = tuple(wrong)
    return whole


@dataclass(frozen=True)
class CheckedTable:
    """A frame, what errors call it, and which error they are; ``found`` collects the kinds of wrong rows."""

    frame: pl.DataFrame
    source: str
    error: type[RankingError]
    found: list[Wrong] = field(default_factory=list)

    def require(self, columns: Sequence[str], advice: str = "") -> None:
        """Refuse a frame in which a column is missing; ``advice`` ends the hint."""
        missing = [name for name in columns if name not in self.frame.columns]
        if missing:
            more = f"Missing too: {', '.join(map(repr, missing[1:]))}." if missing[1:] else ""
            hint = f"{more} {advice}".strip() or None
            raise self.error("missing column", source=self.source, value=missing[0], found=self.frame.columns, hint=hint)

    def one_value_per_row(self, column: str) -> None:
        """Refuse a column of lists or structs where a word is wanted."""
        if self.frame.schema[column].is_nested():
            raise self.error("must hold text, not", source=self.source, column=column, value=str(self.frame.schema[column]))

    def note(
        self,
        wrong: pl.Expr | pl.Series,
        problem: str,
        column: str,
        *,
        allowed: Sequence[object] | None = None,
        hint: str | None = None,
    ) -> None:
        """Note the rows where ``wrong`` is true (null is not); the offending value is that of ``column``."""
        frame = self.frame.with_columns(__wrong=wrong).with_row_index("__row", offset=1)
        self.found.extend(wrong_rows(frame.lazy(), [RowCheck(column, problem, pl.col("__wrong"), allowed, hint)]))

    def refuse_wrong(self) -> None:
        """Raise one error for all kinds of wrong rows that were noted."""
        if self.found:
            raise all_wrong(self.found, self.source, self.error)

    def with_names(self, columns: Sequence[str]) -> "CheckedTable":
        """Return the table with ``columns`` as text; note rows where one is null or blank.

        Integers are accepted as names; other types (lists, floats, times) are not.
        """
        self.require(columns)
        for name in columns:
            dtype = self.frame.schema[name]
            text = dtype == pl.String or dtype == pl.Categorical or dtype == pl.Enum or dtype == pl.Null
            if not text and not dtype.is_integer():
                raise self.error("must hold names, not", source=self.source, column=name, value=str(dtype))
        table = replace(self, frame=self.frame.with_columns(pl.col(columns).cast(pl.String)))
        for name in columns:
            table.note(pl.col(name).is_null(), "is not given", name)
            table.note(pl.col(name).str.strip_chars() == "", "is blank:", name)
        return table

    def with_numbers(self, columns: Sequence[str], *, nullable: bool = False) -> "CheckedTable":
        """Return the table with ``columns`` as finite floats; note other values, and blanks unless ``nullable``."""
        self.require(columns)
        for name in columns:
            dtype = self.frame.schema[name]
            if not (dtype.is_numeric() or dtype in (pl.String, pl.Null, pl.Boolean)):
                raise self.error("must hold numbers, not", source=self.source, column=name, value=str(dtype))
        numbers = self.frame.select(pl.col(columns).cast(pl.Float64, strict=False))
        for name in columns:
            column, number = self.frame[name], numbers[name]
            absent = absent_values(column)
            if not nullable:
                self.note(absent, "is not given", name)
            self.note(number.is_null() & ~absent, "is no number:", name)
            self.note(~number.is_finite(), "is not finite:", name)
        usable = numbers.with_columns(pl.when(pl.all().is_finite()).then(pl.all()))
        return replace(self, frame=self.frame.with_columns(usable))


def named(text: pl.Expr) -> pl.Expr:
    """Return names; null where they are blank."""
    return pl.when(text.str.strip_chars() != "").then(text)


def absent_values(column: pl.Series) -> pl.Series:
    """Return where a column is null or blank."""
    return column.is_null() | (column.str.strip_chars() == "" if column.dtype == pl.String else False)

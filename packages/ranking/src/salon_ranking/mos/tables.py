"""Tables of ratings, checks and prompts: read from files or stores, and checked row by row.

They come from where battles come from (``sources``): a CSV file is text until a column is needed as something else, and a
directory is offered to the entry points ``salon.sources``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from salon_ranking._index import reading
from salon_ranking.errors import RankingError, Wrong
from salon_ranking.files import Check, all_wrong, scan, wrong_rows


@dataclass(frozen=True)
class Table:
    """A frame, what errors call it, and which error they are; ``found`` collects the kinds of wrong rows."""

    frame: pl.DataFrame
    source: str
    error: type[RankingError]
    found: list[Wrong] = field(default_factory=list)

    def require(self, columns: Sequence[str]) -> None:
        """Refuse a frame in which a column is missing."""
        missing = [name for name in columns if name not in self.frame.columns]
        if missing:
            hint = f"Missing too: {', '.join(map(repr, missing[1:]))}." if missing[1:] else None
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
        self.found.extend(wrong_rows(frame.lazy(), [Check(column, problem, pl.col("__wrong"), allowed, hint)]))

    def refuse_wrong(self) -> None:
        """Raise one error for all kinds of wrong rows that were noted."""
        if self.found:
            raise all_wrong(self.found, self.source, self.error)

    def with_names(self, columns: Sequence[str]) -> "Table":
        """The same with ``columns`` as text; rows where one is null or blank are noted.

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

    def with_numbers(self, columns: Sequence[str], *, nullable: bool = False) -> "Table":
        """The same with ``columns`` as finite floats, null where there is none; noted, but for blanks if ``nullable``."""
        self.require(columns)
        for name in columns:
            dtype = self.frame.schema[name]
            if not (dtype.is_numeric() or dtype in (pl.String, pl.Null, pl.Boolean)):
                raise self.error("must hold numbers, not", source=self.source, column=name, value=str(dtype))
        numbers = self.frame.select(pl.col(columns).cast(pl.Float64, strict=False))
        for name in columns:
            given, number = self.frame[name], numbers[name]
            absent = absent_values(given)
            if not nullable:
                self.note(absent, "is not given", name)
            self.note(number.is_null() & ~absent, "is no number:", name)
            self.note(~number.is_finite(), "is not finite:", name)
        usable = numbers.with_columns(pl.when(pl.all().is_finite()).then(pl.all()))
        return replace(self, frame=self.frame.with_columns(usable))


def absent_values(given: pl.Series) -> pl.Series:
    """Return where a column is null or blank."""
    return given.is_null() | (given.str.strip_chars() == "" if given.dtype == pl.String else False)


def read_table(path: str | Path, table: str, error: type[RankingError]) -> pl.DataFrame:
    """The rows of a file, a folder or pattern of files of one kind, or the table named ``table`` of a result store.

    Raises:
        error: nothing is there, the ending is unknown, the file cannot be read, or no package knows the directory.
    """
    with reading(str(path), error):
        return scan(path, table, error).collect()

"""Check a whole frame against its table: columns, types, nulls, limits, allowed values, rules between columns.

Everything is checked on whole columns; only when something is wrong is the first offending row looked for. The same
limits bind single records (``salon_taxonomy.records``).
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from salon_store.errors import RowError
from salon_store.schemas import Column, TableSchema
from salon_taxonomy.records import TABLES, Record

_MEANING = {
    pl.String: "text",
    pl.Float64: "a number",
    pl.Int64: "a whole number",
    pl.Boolean: "true or false",
    pl.Datetime: "a time with its zone",
    pl.List: "a list of texts",
}
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
"""The times that Python has values for."""
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def checked(frame: pl.DataFrame, schema: TableSchema, *, source: str | Path | None = None) -> pl.DataFrame:
    """Return the frame with exactly the table's columns and types, or an error that names the first thing wrong.

    Columns that may be left out are filled with their default. Types are widened where nothing is lost (any integer
    to 64 bits, any number to a float, any zone to UTC); times finer than a microsecond are cut off there.

    Args:
        frame: the rows; the order of its columns does not matter.
        schema: the table they are for.
        source: the file they come from, for error messages.

    Raises:
        RowError: for a missing or unknown column, a wrong type, a null in a column that needs a value, NaN or an
            infinity, a value outside its limits or vocabulary, or a broken rule between columns.
    """
    for name in frame.columns:
        if name not in schema.columns:
            raise RowError("there is no such column", table=schema.name, source=source, column=name, allowed=schema.columns)
    for name, column in schema.columns.items():
        if column.required and name not in frame.columns:
            raise RowError(
                "this column is missing",
                table=schema.name,
                source=source,
                column=name,
                hint=f"`salon store schema {schema.name}` shows the columns of the table.",
            )
    height = frame.height
    conformed = pl.DataFrame(
        [
            _typed(frame[name], column, schema, source) if name in frame.columns else _filled(name, column, height)
            for name, column in schema.columns.items()
        ]
    )
    _refuse_broken_rows(conformed, schema, source)
    return conformed


def frame_of(records: Iterable[Record], schema: TableSchema) -> pl.DataFrame:
    """Convert records of one table to a frame of its schema.

    The records' own checks were made when they were built.

    Raises:
        RowError: for a record of another table, or a number that does not fit 64 bits.
    """
    rows = list(records)
    expected = TABLES[schema.name]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, expected):
            raise RowError(
                "this is no record of the table", table=schema.name, row=number, value=row, allowed=[expected.__name__]
            )
    return pl.DataFrame(
        [_series(name, [_plain(getattr(row, name)) for row in rows], column, schema) for name, column in schema.columns.items()]
    )


def _series(name: str, values: list[object], column: Column, schema: TableSchema) -> pl.Series:
    if column.dtype == pl.Int64:
        for number, value in enumerate(values, start=1):
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise RowError("this number does not fit 64 bits", table=schema.name, row=number, column=name, value=value)
    return pl.Series(name, values, dtype=column.dtype)


def _plain(value: object) -> object:
    """Return the value as polars wants it: texts without an enum's class, lists, times in UTC."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _filled(name: str, column: Column, height: int) -> pl.Series:
    default = list(column.default) if isinstance(column.default, tuple) else column.default
    return pl.Series(name, [default], dtype=column.dtype).new_from_index(0, height)


def _typed(series: pl.Series, column: Column, schema: TableSchema, source: str | Path | None) -> pl.Series:
    """Return the series in the column's type; refuses what would change a value."""
    if series.dtype == column.dtype:
        return series
    if not _may_become(series.dtype, column.dtype):
        row = _first(series.is_not_null())
        naive = isinstance(series.dtype, pl.Datetime) and column.dtype.base_type() == pl.Datetime
        actual = "a time without a zone" if naive else str(series.dtype)
        raise RowError(
            f"expected {_MEANING[column.dtype.base_type()]}, got {actual}",
            table=schema.name,
            source=source,
            row=None if row is None else row + 1,
            column=series.name,
            value=None if row is None else _shown(series, row),
        )
    typed = series.cast(column.dtype, strict=False)
    lost = _first(typed.is_null() & series.is_not_null())
    if lost is not None:
        raise RowError(
            "this value does not fit the column",
            table=schema.name,
            source=source,
            row=lost + 1,
            column=series.name,
            value=_shown(series, lost),
        )
    return typed


def _may_become(dtype: pl.DataType, wanted: pl.DataType) -> bool:
    if dtype == pl.Null:
        return True
    if wanted == pl.String:
        return dtype in _TEXTS
    if wanted == pl.Int64:
        return dtype.is_integer()
    if wanted == pl.Float64:
        return dtype.is_numeric()
    if wanted.base_type() == pl.Datetime:
        return isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    if wanted.base_type() == pl.List and isinstance(dtype, pl.List | pl.Array):
        return dtype.inner in (*_TEXTS, pl.Null)
    return False


def _refuse_broken_rows(frame: pl.DataFrame, schema: TableSchema, source: str | Path | None) -> None:
    checks = [(name, *check) for name, column in schema.columns.items() for check in _limits(name, column)]
    checks += [(rule.column, rule.problem, rule.broken, None) for rule in schema.rules]
    any_rows = frame.select(broken.any().alias(str(place)) for place, (_, _, broken, _) in enumerate(checks)).row(0)
    for (name, problem, broken, allowed), any_broken in zip(checks, any_rows, strict=True):
        if any_broken:
            row = _first(frame.select(broken.alias("broken")).to_series())
            raise RowError(
                problem,
                table=schema.name,
                source=source,
                row=None if row is None else row + 1,
                column=name,
                value=None if row is None else _shown(frame[name], row),
                allowed=allowed,
            )


def _limits(name: str, column: Column) -> Iterator[tuple[str, pl.Expr, tuple[str, ...] | None]]:
    """Yield everything that one column alone demands: the problem, where it shows, the allowed values."""
    here = pl.col(name)
    if not column.nullable:
        yield "a value is needed here, not null", here.is_null(), None
    if column.dtype.base_type() == pl.Datetime:
        yield "expected a time between the years 1 and 9999, got", ~here.is_between(_FIRST, _LAST), None
    if column.dtype == pl.Float64:
        yield "a finite number is needed here, not", ~here.is_finite(), None
    if column.allowed is not None:
        yield "unknown value", ~here.is_in(column.allowed), column.allowed
    if column.pattern is not None:
        yield "expected 64 lower-case hex digits, got", ~here.str.contains(column.pattern), None
    if column.dtype == pl.List(pl.String):
        yield "the list holds a null:", here.list.eval(pl.element().is_null()).list.any(), None
        lengths = here.list.eval(pl.element().str.len_chars())
        shortest, longest, what = lengths.list.min(), lengths.list.max(), "expected texts of"
    else:
        shortest = longest = here.str.len_chars()
        what = "expected a text of"
    if column.shortest is not None:
        yield f"{what} at least {column.shortest} character, got", shortest < column.shortest, None
    if column.longest is not None:
        yield f"{what} at most {column.longest} characters, got", longest > column.longest, None
    if column.at_least is not None:
        yield f"expected at least {column.at_least:g}, got", here < column.at_least, None
    if column.above is not None:
        yield f"expected more than {column.above:g}, got", here <= column.above, None
    if column.at_most is not None:
        yield f"expected at most {column.at_most:g}, got", here > column.at_most, None
    if column.below is not None:
        yield f"expected less than {column.below:g}, got", here >= column.below, None


def _shown(series: pl.Series, row: int) -> object:
    """Return a value for an error: lists as lists; times that Python has no value for as counts of their unit."""
    if isinstance(series.dtype, pl.List | pl.Array):
        return series.slice(row, 1).to_list()[0]
    if isinstance(series.dtype, pl.Datetime) and series.is_not_null()[row] and not series.dt.year().is_between(1, 9999)[row]:
        return f"{series.cast(pl.Int64)[row]} {series.dtype.time_unit}"
    return series[row]


def _first(broken: pl.Series) -> int | None:
    """Return the 0-based row of the first True; nulls count as False."""
    return broken.fill_null(False).arg_max() if broken.any() else None

"""Rows from csv, jsonl and parquet files, each cell turned into its column's type or refused with its place.

Nothing is guessed: the table's schema says what a column holds. In a csv file an empty cell is null, or the column's
default where null is not allowed; a list is a JSON array or texts separated by ``;``; a time is ISO 8601 with its zone.
"""

import csv
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from salon_console.table_files import FORMULA
from salon_store.checks import checked, frame_of
from salon_store.errors import DuplicateKeyError, RowError
from salon_store.schemas import Column, TableSchema, table_schema
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import TABLES, Record

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")
_LINES_PER_BATCH = 20_000
_BOOLEANS = {"true": True, "false": False}


def read_rows(path: Path, table: str, *, on_bytes: Callable[[int], None] | None = None) -> pl.DataFrame:
    """Return all rows of a file as a frame of the table's schema; nothing is written.

    Args:
        path: a file whose suffix says what it is.
        table: the table that the rows are for.
        on_bytes: told how many more bytes of the file have been read.

    Raises:
        RowError: for the first row that does not fit the table: file, row or line, column, value.
        InputError: for a file that is missing, of another kind, or broken.
    """
    schema = table_schema(table)
    readers = {".csv": _from_csv, ".jsonl": _from_lines, ".ndjson": _from_lines, ".parquet": _from_parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError("this kind of file cannot be imported", source=path, value=path.suffix, allowed=SUFFIXES)
    try:
        return reader(path, schema, on_bytes or _nobody)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", source=path) from error


def joined(frames: Sequence[tuple[Path, pl.DataFrame]], table: str) -> pl.DataFrame:
    """Return the rows of several files, one after the other, for a single append."""
    return pl.concat([frame for _, frame in frames]) if frames else table_schema(table).empty()


def located(error: DuplicateKeyError, frames: Sequence[tuple[Path, pl.DataFrame]]) -> DuplicateKeyError:
    """Return the error about a row of joined frames, with the file and the row in that file."""
    row = error.row or 1
    for path, frame in frames:
        if row <= frame.height:
            return DuplicateKeyError(
                error.problem,
                table=error.table,
                source=path,
                row=row,
                column=error.column,
                value=error.value,
                hint="`--on-duplicate skip` leaves out rows whose key already stands.",
            )
        row -= frame.height
    return error


def _nobody(_: int) -> None:
    """Ignore the progress."""


def _from_parquet(path: Path, schema: TableSchema, on_bytes: Callable[[int], None]) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"this is no readable Parquet file ({str(error).splitlines()[0]})", source=path) from error
    on_bytes(path.stat().st_size)
    return checked(frame, schema, source=path)


def _from_lines(path: Path, schema: TableSchema, on_bytes: Callable[[int], None]) -> pl.DataFrame:
    record = TABLES[schema.name]
    frames = [schema.empty()]
    batch: list[tuple[int, Record]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            on_bytes(len(line))
            if line.strip():
                batch.append((number, _record(line, record, schema, path, number)))
            if len(batch) == _LINES_PER_BATCH:
                frames.append(_framed(batch, schema, path))
                batch = []
    return pl.concat([*frames, _framed(batch, schema, path)])


def _framed(batch: Sequence[tuple[int, Record]], schema: TableSchema, path: Path) -> pl.DataFrame:
    try:
        return checked(frame_of([record for _, record in batch], schema), schema, source=path)
    except RowError as error:
        line = None if error.row is None else batch[error.row - 1][0]
        raise RowError(
            error.problem, table=schema.name, source=path, line=line, column=error.column, value=error.value
        ) from error


def _record(line: bytes, record: type[Record], schema: TableSchema, path: Path, number: int) -> Record:
    try:
        return record.model_validate_json(line, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        column = ".".join(str(item) for item in first["loc"]) or None
        value = None if first["type"] == "missing" or column is None else first["input"]
        raise RowError(
            first["msg"][:1].lower() + first["msg"][1:], table=schema.name, source=path, line=number, column=column, value=value
        ) from error


def _from_csv(path: Path, schema: TableSchema, on_bytes: Callable[[int], None]) -> pl.DataFrame:
    header = _header(path)
    for number, name in enumerate(header):
        if name in header[:number]:
            raise RowError("this column occurs twice in the header", table=schema.name, source=path, column=name)
    try:
        texts = pl.read_csv(path, infer_schema=False, glob=False, raise_if_empty=False, truncate_ragged_lines=False)
    except pl.exceptions.PolarsError as error:
        raise _broken_csv(path, len(header), str(error).splitlines()[0]) from error
    on_bytes(path.stat().st_size)
    # as csv_text; the sign is looked for first, since the pattern costs a third of the whole reading
    escaped = pl.all().str.starts_with("'")
    texts = texts.with_columns(pl.when(escaped).then(pl.all().str.replace(f"^'({FORMULA})", "$1")).otherwise(pl.all()))
    typed = [
        _from_texts(texts[name], schema.columns[name], schema, path) if name in schema.columns else texts[name]
        for name in texts.columns
    ]
    frame = checked(pl.DataFrame(typed), schema, source=path)
    if texts.width and texts[texts.columns[-1]].has_nulls():
        _refuse_short_rows(path, len(header), texts.height)
    return frame


def _refuse_short_rows(path: Path, width: int, rows: int) -> None:
    """Refuse a row with fewer cells than the header, which the quick reader fills up with nulls.

    Raises:
        InputError: for the first such row.
    """
    content = path.read_bytes()  # no row is short where the commas are as many as those of whole rows
    if b'"' not in content and content.count(b",") == (width - 1) * (rows + 1):
        return
    with path.open(newline="", encoding="utf-8-sig") as file, suppress(csv.Error):
        lines = csv.reader(file)
        next(lines, None)
        for number, cells in enumerate(lines, start=1):
            if len(cells) < width:
                raise InputError(f"expected {width} cells, got {len(cells)}", source=path, row=number, line=lines.line_num)


def _header(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        try:
            return next(csv.reader(file), [])
        except csv.Error as error:
            raise InputError(f"this is no readable csv file ({error})", source=path) from error


def _broken_csv(path: Path, width: int, detail: str) -> InputError:
    """Find the first row that has too many cells, or is not UTF-8, after the quick reader has given up."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            next(rows, None)
            for number, cells in enumerate(rows, start=1):
                if len(cells) > width:
                    return InputError(f"expected {width} cells, got {len(cells)}", source=path, row=number, line=rows.line_num)
    except UnicodeDecodeError as error:
        return InputError(f"byte {error.start} is not UTF-8", source=path)
    except csv.Error as error:
        return InputError(f"this is no readable csv file ({error})", source=path)
    return InputError(f"this is no readable csv file ({detail})", source=path)


def _from_texts(texts: pl.Series, column: Column, schema: TableSchema, path: Path) -> pl.Series:
    """Return a csv column in its type; every cell that is not empty must mean something."""
    kind = column.dtype.base_type()
    if kind == pl.String:
        typed = texts
    elif kind in (pl.Int64, pl.Float64):
        typed = texts.str.strip_chars().cast(column.dtype, strict=False)
    else:
        typed = _one_by_one(texts, column, schema, path)
    lost = typed.is_null() & texts.is_not_null()
    if lost.any():
        row = int(lost.arg_max() or 0)
        raise _misread(texts, row, column, schema, path)
    if isinstance(column.default, str | int | float):
        return typed.fill_null(column.default)
    return typed


def _one_by_one(texts: pl.Series, column: Column, schema: TableSchema, path: Path) -> pl.Series:
    read = {pl.Boolean: _boolean, pl.Datetime: _instant, pl.List: _list}[column.dtype.base_type()]
    meanings: dict[str | None, object] = {None: [] if column.dtype.base_type() == pl.List else None}
    values = []
    for row, text in enumerate(texts):
        if text not in meanings:
            try:
                meanings[text] = read(text)
            except ValueError as error:
                raise _misread(texts, row, column, schema, path, str(error)) from error
        values.append(meanings[text])
    return pl.Series(texts.name, values, dtype=column.dtype)


def _misread(
    texts: pl.Series, row: int, column: Column, schema: TableSchema, path: Path, expected: str | None = None
) -> RowError:
    expected = expected or ("a whole number" if column.dtype == pl.Int64 else "a number")
    return RowError(
        f"expected {expected}, got", table=schema.name, source=path, row=row + 1, column=texts.name, value=texts[row]
    )


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


def _instant(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("a time such as 2026-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError("a time with its zone, such as 2026-01-31T12:00:00Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time between the years 1 and 9999") from None


def _list(text: str) -> list[str]:
    if not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(";")]
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("a JSON array, or texts separated by ;") from None
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise ValueError("a JSON array of texts")
    return values

"""Rows of a user's table, whatever kind of file it is: JSON, JSON Lines, CSV or Parquet.

Every fault of the file is an ``InputError`` that names file, row or line, column and value; no content of it raises
anything else. The readers of the rows give the columns their meaning.

Two ways to read: :func:`table_rows` stops at the first bad row (tables that people write for Salon); :func:`usable_rows` and
:func:`unique_rows` leave bad rows out and say which and why (files that others released, where one bad row among
thousands must not cost the others).
"""

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from salon_console.table_files import csv_text
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError, missing_path, refuse_device

T = TypeVar("T")
U = TypeVar("U")

TABLE_ENDINGS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")
"""The kinds of file that :func:`table_rows` reads."""

_BATCH_ROWS = 8192
_MOST_NAMES = 12
_LONGEST_NAME = 40
_MOST_KINDS = 8
_MOST_RANGES = 20


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row and its position.

    Attributes:
        source: the file.
        number: 1-based, among the data rows.
        cells: the columns as the file holds them; a CSV file holds texts alone.
    """

    source: Path
    number: int
    cells: Mapping[str, Any]

    def text(self, column: str, *, allowed: tuple[str, ...] | None = None) -> str:
        """Return a cell that must hold text, and not only white space; white space around it is taken off.

        Raises:
            InputError: when the column is missing, or holds no text, or none of ``allowed``.

        Example:
            >>> TableRow(Path("a.csv"), 1, {"subject": " a cat "}).text("subject")
            'a cat'
        """
        value = self.cells.get(column)
        if column not in self.cells:
            raise self.missing(column)
        if not isinstance(value, str) or not value.strip():
            raise InputError("must hold text, not", source=self.source, row=self.number, column=column, value=_named(value))
        if not value.isascii() and without_surrogates(value) != value:
            raise self.problem("holds half a surrogate pair, which no encoding can carry:", column, value=value)
        if allowed is not None and value.strip() not in allowed:
            raise self.problem("unknown value", column, value=value, allowed=allowed)
        return value.strip()

    def optional_text(self, column: str) -> str | None:
        """Return a cell as :meth:`text` does; None where the column is missing, null or blank."""
        value = self.cells.get(column)
        return None if value is None or (isinstance(value, str) and not value.strip()) else self.text(column)

    def missing(self, column: str) -> InputError:
        """Return the error for a column that the row needs and does not have; its hint names those it has.

        Example:
            >>> print(TableRow(Path("a.csv"), 1, {"x": "1"}).missing("subject"))
            a.csv, row 1, column 'subject': the column is missing
            Add it, or rename a column: the row has 'x'.
        """
        named = [repr(str(name)[:_LONGEST_NAME]) for name in list(self.cells)[:_MOST_NAMES]]
        more = len(self.cells) - len(named)
        has = (", ".join(named) + (f" and {more} more" if more else "")) or "no column"
        return self.problem("the column is missing", column, hint=f"Add it, or rename a column: the row has {has}.")

    def problem(
        self,
        problem: str,
        column: str,
        *,
        value: object = None,
        allowed: tuple[str, ...] | None = None,
        hint: str | None = None,
    ) -> InputError:
        """Return the error that says what is wrong with one cell of this row."""
        return InputError(problem, source=self.source, row=self.number, column=column, value=value, allowed=allowed, hint=hint)


@dataclass(frozen=True, slots=True)
class BadRow:
    """One row that cannot be used.

    Attributes:
        number: 1-based, among the data rows.
        error: what is wrong with it, and where.
    """

    number: int
    error: InputError


class UsableRows(list[T]):
    """The usable rows of a file, in its order.

    Attributes:
        source: the file or folder.
        left_out: the rows that cannot be used, in the file's order.

    Example:
        >>> from salon_taxonomy.errors import InputError
        >>> bad = [BadRow(n, InputError("unknown task", row=n, column="task", value="x")) for n in (2, 4, 5, 6)]
        >>> for sentence in UsableRows(Path("rows.jsonl"), ["a", "b"], bad).remarks():
        ...     print(sentence)
        4 of 6 rows of rows.jsonl cannot be used and are left out:
        rows 2, 4-6: column 'task': unknown task 'x'
    """

    def __init__(self, source: Path, usable: Iterable[T] = (), left_out: Iterable[BadRow] = ()) -> None:
        super().__init__(usable)
        self.source = source
        self.left_out = tuple(left_out)

    def map(self, make: Callable[[T], U]) -> "UsableRows[U]":
        """Apply a function to each usable row; the rows left out stay listed."""
        return UsableRows(self.source, map(make, self), self.left_out)

    def remarks(self) -> tuple[str, ...]:
        """Return the number of rows left out, and a line per kind of problem with its rows."""
        if not self.left_out:
            return ()
        bad, whole = len(self.left_out), len(self) + len(self.left_out)
        verb = "cannot be used and is left out" if bad == 1 else "cannot be used and are left out"
        kinds: dict[tuple[object, ...], list[BadRow]] = {}
        for bad_row in self.left_out:
            name = Path(bad_row.error.source or self.source).name
            kinds.setdefault((name, bad_row.error.column, bad_row.error.problem), []).append(bad_row)
        several = len({kind[0] for kind in kinds}) > 1
        lines = [_kind_of_problem(f"{kind[0]}, " if several else "", rows) for kind, rows in kinds.items()]
        more = [f"… and {len(lines) - _MOST_KINDS} more kinds of problems"] if len(lines) > _MOST_KINDS else []
        return (f"{bad:,} of {whole:,} rows of {self.source.name} {verb}:", *lines[:_MOST_KINDS], *more)


def _kind_of_problem(where: str, rows: list[BadRow]) -> str:
    """Return one line for rows with the same problem: ``rows 2, 4-6: column 'task': unknown task 'x'``."""
    runs = [[row for _, row in run] for _, run in groupby(enumerate(each.number for each in rows), lambda at: at[1] - at[0])]
    ranges = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    more = f" and {len(runs) - _MOST_RANGES} more places" if len(runs) > _MOST_RANGES else ""
    error = rows[0].error
    words = InputError(error.problem, column=error.column, key=error.key, value=error.value, allowed=error.allowed)
    return f"{where}row{'s' if len(rows) > 1 else ''} {', '.join(ranges[:_MOST_RANGES])}{more}: {words}"


def table_rows(path: Path) -> Iterator[TableRow]:
    """Read a table row by row; only ``.json`` is in memory as a whole.

    Raises:
        InputError: the file is missing or unreadable, its ending is unknown, or a row of it is no row.
    """
    for row in _scanned(path):
        if isinstance(row, BadRow):
            raise row.error
        yield row


def read_each(path: Path, read: Callable[[TableRow], T]) -> Iterator[tuple[int, T] | BadRow]:
    """Yield the number of each row with its result of ``read``, or why it cannot be used.

    Raises:
        InputError: the file itself cannot be read: it is missing, its ending is unknown, or it breaks off.
    """
    return _each(_scanned(path), read)


def _each(rows: Iterable[TableRow | BadRow], read: Callable[[TableRow], T]) -> Iterator[tuple[int, T] | BadRow]:
    for row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        try:
            yield row.number, read(row)
        except InputError as error:
            yield BadRow(row.number, error)


def _scanned(path: Path) -> Iterator[TableRow | BadRow]:
    ending = path.suffix.lower()
    if ending not in TABLE_ENDINGS:
        hint = "Write it as a table: a header with the names of its columns, then the rows."
        raise InputError("unknown kind of file", source=path, value=path.suffix, allowed=TABLE_ENDINGS, hint=hint)
    refuse_device(path)
    try:
        if ending == ".parquet":
            yield from _parquet(path)
        else:
            wrong_bytes = "strict" if ending == ".json" else "surrogateescape"  # in the others, they cost their row only
            newline = "" if ending == ".csv" else None
            with path.open(encoding="utf-8-sig", newline=newline, errors=wrong_bytes) as file:
                yield from _READERS[ending](path, file)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", source=path, value=error.object[error.start : error.start + 8]) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", source=path) from error


def usable_rows(source: Path, rows: Iterable[tuple[int, T] | BadRow], *, what: str = "row") -> UsableRows[T]:
    """Collect what :func:`read_each` yields.

    Raises:
        InputError: no row can be used, or the file has no row.
    """
    usable: list[T] = []
    left_out: list[BadRow] = []
    for row in rows:
        if isinstance(row, BadRow):
            left_out.append(row)
        else:
            usable.append(row[1])
    if usable:
        return UsableRows(source, usable, left_out)
    if left_out:
        raise left_out[0].error
    raise InputError(f"there is no {what} in the file", source=source)


def unique_rows(
    path: Path,
    read: Callable[[TableRow], T],
    id_of: Callable[[T], str],
    column: str,
    *,
    what: str = "row",
    rows: Iterable[TableRow] | None = None,
) -> UsableRows[T]:
    """Read every usable row of a table as something with an id of its own, in the table's order.

    Args:
        path: the table.
        read: makes something of a row.
        id_of: its id.
        column: where the id stands, for the message.
        what: a row holds, for the message about a table without any.
        rows: of the table; None: read them.

    Returns:
        The rows; one that ``read`` refuses, or whose id an earlier row has, is left out and named.

    Raises:
        InputError: the file cannot be read, or none of its rows can be used.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "ids.csv"
        >>> _ = path.write_text("id\\na\\nb\\na\\n")
        >>> found = unique_rows(path, lambda row: row.text("id"), str, "id")
        >>> found, found.remarks()[1]
        (['a', 'b'], "row 3: column 'id': is the id of row 1 already: 'a'")
    """
    numbers: dict[str, int] = {}

    def first_of_its_id(row: TableRow) -> T:
        record = read(row)
        name = id_of(record)
        if name in numbers:
            raise row.problem(f"is the id of row {numbers[name]} already:", column, value=name)
        numbers[name] = row.number
        return record

    scanned = _scanned(path) if rows is None else rows
    return usable_rows(path, _each(scanned, first_of_its_id), what=what)


def _json(path: Path, file: Any) -> Iterator[TableRow | BadRow]:
    rows = _loaded(file.read(), path)
    if not isinstance(rows, list):
        raise InputError("must hold a JSON array of objects, not", source=path, value=_named(rows))
    for number, row in enumerate(rows, 1):
        try:
            yield TableRow(path, number, _object(row, path, row=number))
        except InputError as error:
            yield BadRow(number, error)


def _json_lines(path: Path, file: Any) -> Iterator[TableRow | BadRow]:
    number = 0
    for line, text in enumerate(file, 1):
        if text.strip():
            number += 1
            try:
                _check_bytes(text, path, line=line)
                yield TableRow(path, number, _object(_loaded(text, path, line=line), path, line=line))
            except InputError as error:
                yield BadRow(number, error)


def _csv(path: Path, file: Any) -> Iterator[TableRow | BadRow]:
    reader = csv.DictReader(file, strict=True)
    number = 0
    while True:
        number += 1
        try:
            if number == 1:
                _refuse_twice(path, reader.fieldnames or ())
            row = next(reader, None)
        except csv.Error as error:
            problem = InputError(f"is no CSV ({error})", source=path, line=reader.line_num)
            if "end of data" in str(error) or reader.line_num <= 1:  # an open quotation mark, or a broken header
                raise problem from error
            yield BadRow(number, problem)
            continue
        if row is None:
            return
        if None in row or None in row.values():
            cells = f"{len(reader.fieldnames or ())} columns"
            problem = InputError("has another number of cells than the header:", source=path, row=number, value=cells)
            yield BadRow(number, problem)
            continue
        try:
            _check_bytes("".join(row.values()), path, row=number)
            yield TableRow(path, number, {name: csv_text(cell) for name, cell in row.items()})
        except InputError as error:
            yield BadRow(number, error)


def _refuse_twice(path: Path, names: Sequence[str]) -> None:
    """Refuse a header that names a column twice, of which only the last would be read.

    Raises:
        InputError: it does; columns without a name may be several.
    """
    twice = next((name for place, name in enumerate(names) if name.strip() and name in names[:place]), None)
    if twice is not None:
        hint = "Rename one of them, or take it out."
        raise InputError("the header has the column twice:", source=path, line=1, column=twice, value=twice, hint=hint)


def _parquet(path: Path) -> Iterator[TableRow | BadRow]:
    import polars as pl

    if not path.is_file():
        raise missing_path(path)
    try:
        number = 0
        for batch in pl.scan_parquet(path, glob=False).collect_batches(maintain_order=True, chunk_size=_BATCH_ROWS):
            for cells in batch.iter_rows(named=True):
                number += 1
                yield TableRow(path, number, cells)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError("is no Parquet file:", source=path, value=reason) from error


_READERS = {".json": _json, ".jsonl": _json_lines, ".ndjson": _json_lines, ".csv": _csv}


def _check_bytes(text: str, path: Path, *, row: int | None = None, line: int | None = None) -> None:
    """Refuse a row whose bytes are not UTF-8; they arrive as single surrogates."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            wrong = text[error.start : error.start + 8].encode("utf-8", "surrogateescape")[:8]
            raise InputError("is not UTF-8", source=path, row=row, line=line, value=wrong) from error


def _loaded(text: str, path: Path, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InputError("is nested too deeply", source=path, line=line) from error
    except ValueError as error:
        raise InputError(f"is no JSON ({error})", source=path, line=line) from error


def _object(value: Any, path: Path, *, row: int | None = None, line: int | None = None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError("must be a JSON object, not", source=path, value=_named(value), row=row, line=line)
    return value


def _named(value: object) -> object:
    """Return a value for a message: nested ones by their kind, so that a message stays short and always possible."""
    return f"{type(value).__name__}" if isinstance(value, list | dict) else "nothing" if value is None else value


def finite_number(row: TableRow, column: str) -> float:
    """Return a cell that must hold a finite number; a text that reads as one counts.

    Raises:
        InputError: when the column is missing or holds none.

    Example:
        >>> from pathlib import Path
        >>> finite_number(TableRow(Path("a.csv"), 1, {"score": "9.5"}), "score")
        9.5
    """
    if column not in row.cells:
        raise row.missing(column)
    value = row.cells[column]
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise row.problem("must be a finite number, not", column, value=value)
    return number

"""Rows of a user's table, whatever kind of file it is: JSON, JSON Lines, CSV or Parquet.

Every fault of the file is an ``InputError`` that names file, row or line, column and value; nothing else is ever raised for
what stands in it. What the columns mean is for whoever reads the rows.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError

T = TypeVar("T")

TABLE_ENDINGS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")
"""The kinds of file that :func:`table_rows` reads."""

_BATCH_ROWS = 8192
_MOST_NAMES = 12
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row, and where it stands.

    Attributes:
        source: the file.
        number: 1-based, among the data rows.
        cells: the columns as the file holds them; a CSV file holds texts alone.
    """

    source: Path
    number: int
    cells: Mapping[str, Any]

    def text(self, column: str, *, allowed: tuple[str, ...] | None = None) -> str:
        """A cell that must hold text, and not only white space; white space around it is taken off.

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
        """As :meth:`text`; None where the column is missing, null or blank."""
        value = self.cells.get(column)
        return None if value is None or (isinstance(value, str) and not value.strip()) else self.text(column)

    def missing(self, column: str) -> InputError:
        """The error for a column that the row needs and does not have; its hint names those it has.

        Example:
            >>> print(TableRow(Path("a.csv"), 1, {"x": "1"}).missing("subject"))
            a.csv, row 1, column 'subject': the column is missing
            The row has 'x'.
        """
        named = [repr(str(name)[:_LONGEST_NAME]) for name in list(self.cells)[:_MOST_NAMES]]
        more = len(self.cells) - len(named)
        has = ", ".join(named) + (f" and {more} more" if more else "")
        return self.problem("the column is missing", column, hint=f"The row has {has or 'no column'}.")

    def problem(
        self,
        problem: str,
        column: str,
        *,
        value: object = None,
        allowed: tuple[str, ...] | None = None,
        hint: str | None = None,
    ) -> InputError:
        """The error that says what is wrong with one cell of this row."""
        return InputError(problem, source=self.source, row=self.number, column=column, value=value, allowed=allowed, hint=hint)


def table_rows(path: Path) -> Iterator[TableRow]:
    """Read a table row by row; the whole of it is in memory only where its kind asks for that (``.json``).

    Raises:
        InputError: the file is missing or unreadable, its ending is unknown, or a row of it is no row.
    """
    ending = path.suffix.lower()
    if ending not in TABLE_ENDINGS:
        raise InputError("unknown kind of file", source=path, value=path.suffix, allowed=TABLE_ENDINGS)
    try:
        if ending == ".parquet":
            yield from _parquet(path)
        else:
            with path.open(encoding="utf-8-sig", newline="" if ending == ".csv" else None) as file:
                yield from _READERS[ending](path, file)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", source=path, value=error.object[error.start : error.start + 8]) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", source=path) from error


def unique_rows(
    path: Path, read: Callable[[TableRow], T], id_of: Callable[[T], str], column: str, *, what: str = "row"
) -> list[T]:
    """Every row of a table as something that has an id of its own, in the table's order.

    Args:
        path: the table.
        read: makes something of a row.
        id_of: its id.
        column: where the id stands, for the message.
        what: a row holds, for the message about a table without any.

    Raises:
        InputError: as for :func:`table_rows` and ``read``; an id stands twice, or there is no row.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "ids.csv"
        >>> _ = path.write_text("id\\na\\nb\\n")
        >>> unique_rows(path, lambda row: row.text("id"), str, "id")
        ['a', 'b']
    """
    made: list[T] = []
    numbers: dict[str, int] = {}
    for row in table_rows(path):
        found = read(row)
        name = id_of(found)
        if name in numbers:
            raise row.problem(f"is the id of row {numbers[name]} already:", column, value=name)
        numbers[name] = row.number
        made.append(found)
    if not made:
        raise InputError(f"there is no {what} in the file", source=path)
    return made


def _json(path: Path, file: Any) -> Iterator[TableRow]:
    rows = _loaded(file.read(), path)
    if not isinstance(rows, list):
        raise InputError("must hold a JSON array of objects, not", source=path, value=_named(rows))
    for number, row in enumerate(rows, 1):
        yield TableRow(path, number, _object(row, path, row=number))


def _json_lines(path: Path, file: Any) -> Iterator[TableRow]:
    number = 0
    for line, text in enumerate(file, 1):
        if text.strip():
            number += 1
            yield TableRow(path, number, _object(_loaded(text, path, line=line), path, line=line))


def _csv(path: Path, file: Any) -> Iterator[TableRow]:
    reader = csv.DictReader(file, strict=True)
    try:
        for number, row in enumerate(reader, 1):
            if None in row or None in row.values():
                cells = f"{len(reader.fieldnames or ())} columns"
                raise InputError("has another number of cells than the header:", source=path, row=number, value=cells)
            yield TableRow(path, number, row)
    except csv.Error as error:
        raise InputError(f"is no CSV ({error})", source=path, line=reader.line_num) from error


def _parquet(path: Path) -> Iterator[TableRow]:
    import polars as pl

    if not path.is_file():
        raise InputError("there is no such file", source=path)
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


def _loaded(text: str, path: Path, line: int | None = None) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InputError("is nested too deeply", source=path, line=line) from error
    except ValueError as error:
        raise InputError(f"is no JSON ({error})", source=path, line=line) from error


def _object(found: Any, path: Path, *, row: int | None = None, line: int | None = None) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise InputError("must be a JSON object, not", source=path, value=_named(found), row=row, line=line)
    return found


def _named(value: object) -> object:
    """A value for a message: nested ones by their kind, so that a message stays short and always possible."""
    return f"{type(value).__name__}" if isinstance(value, list | dict) else "nothing" if value is None else value

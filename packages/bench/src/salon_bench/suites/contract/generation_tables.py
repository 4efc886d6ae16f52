"""Tables that say which file was made for which prompt: CSV, JSON lines or Parquet, checked cell by cell."""

import csv
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from salon_taxonomy.errors import InputError

Row: TypeAlias = Mapping[str, object]

_NEEDED = ("prompt_id", "path")
_MOST_SAMPLES = 1_000_000_000
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")
_LONGEST_ID = 200  # as ``records.Key``


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table of generations.

    Attributes:
        prompt_id: whose picture.
        path: the file, with the table's folder in front unless it is absolute.
        root: the folder that the file must lie in.
        model: None when the table has no such column.
        sample: from 0.
    """

    prompt_id: str
    path: Path
    root: Path
    model: str | None
    sample: int


def read_table(source: Path, *, absolute_paths: bool = False) -> Iterator[TableRow]:
    """The rows of a table, in order.

    Raises:
        InputError: while iterating, for the first thing that is wrong, with row (counted without a header) and column.
    """
    reader = _READERS.get(source.suffix.lower())
    if reader is None:
        hint = "Give a folder of pictures or a table of paths."
        raise InputError("unknown kind of table", source=source, value=source.suffix, allowed=ENDINGS, hint=hint)
    folder = source.parent
    for number, row in enumerate(reader(source), start=1):
        where = _Where(source, number)
        prompt_id = _text(row, "prompt_id", where)
        if len(prompt_id) > _LONGEST_ID:
            raise where.wrong(f"an id has at most {_LONGEST_ID} characters", "prompt_id", prompt_id)
        path, root = _located(_text(row, "path", where), folder, where, absolute_paths=absolute_paths)
        yield TableRow(prompt_id, path, root, _text(row, "model", where) if "model" in row else None, _sample(row, where))


@dataclass(frozen=True, slots=True)
class _Where:
    source: Path
    row: int

    def wrong(self, problem: str, column: str, value: object = None, hint: str | None = None) -> InputError:
        return InputError(problem, source=self.source, row=self.row, column=column, value=value, hint=hint)


def _text(row: Row, column: str, where: _Where) -> str:
    """A cell as text; a whole number counts as its digits, since ids often are numbers."""
    value = row.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None or value == "":
        raise where.wrong("is missing or empty", column)
    if not isinstance(value, str):
        raise where.wrong("must be a text", column, value)
    if _IMPOSSIBLE.search(value):
        raise where.wrong("holds a character that no file name or id can have", column, value)
    return value


def _sample(row: Row, where: _Where) -> int:
    value = row.get("sample")
    if value is None or value == "":
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < len(str(_MOST_SAMPLES)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST_SAMPLES:
        raise where.wrong("must be a whole number from 0", "sample", value)
    return value


def _located(text: str, folder: Path, where: _Where, *, absolute_paths: bool) -> tuple[Path, Path]:
    """The path of a file, and the folder that it must lie in."""
    if "://" in text:
        raise where.wrong("is an address, not a file", "path", text, "Download the pictures and name the files.")
    if text.startswith(os.sep):
        if not absolute_paths:
            hint = "Name files from the table's own folder, or allow absolute paths."
            raise where.wrong("absolute paths are not allowed:", "path", text, hint)
        path = Path(text)
        return path, path.parent
    plain = os.path.normpath(text) if ".." in text or text == "." else text
    if plain in ("..", ".") or plain.startswith(f"..{os.sep}"):
        raise where.wrong("leads out of the table's folder, or to it:", "path", text)
    return Path(folder, text), folder


# ------------------------------------------------------------------------------------------------------------- the kinds


def _csv(source: Path) -> Iterator[Row]:
    try:
        with source.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            _check_columns(header, source)
            for number, cells in enumerate(reader, start=1):
                if not cells:
                    continue
                if len(cells) != len(header):
                    problem = f"the row has {len(cells)} cells, the header {len(header)}"
                    raise InputError(problem, source=source, row=number, line=reader.line_num)
                yield dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"not CSV ({error})", source=source, line=reader.line_num) from error
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(source, error) from error


def _check_columns(header: list[str], source: Path) -> None:
    for column in _NEEDED:
        if column not in header:
            raise InputError("the table has no column", source=source, value=column, found=header)
    for column in (*_NEEDED, "model", "sample"):
        if header.count(column) > 1:
            raise InputError("the table has a column twice:", source=source, value=column)


def _json_lines(source: Path) -> Iterator[Row]:
    number = 0
    try:
        with source.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise InputError("each line must be a JSON object", source=source, line=number, value=row)
                yield row
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"not a line of JSON ({error})", source=source, line=number) from error
    except (OSError, UnicodeDecodeError, ValueError) as error:  # ValueError: an integer of thousands of digits
        raise _unreadable(source, error) from error


def _parquet(source: Path) -> Iterator[Row]:
    import polars as pl

    try:
        columns = list(pl.read_parquet_schema(source))
        _check_columns(columns, source)
        wanted = [name for name in (*_NEEDED, "model", "sample") if name in columns]
        frame: Any = pl.read_parquet(source, columns=wanted)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(source, error) from error
    yield from frame.iter_rows(named=True)


def _unreadable(source: Path, error: Exception) -> InputError:
    return InputError(f"the table cannot be read ({str(error).splitlines()[0] if str(error) else error})", source=source)


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
ENDINGS = tuple(_READERS)
"""The endings of tables that are read."""

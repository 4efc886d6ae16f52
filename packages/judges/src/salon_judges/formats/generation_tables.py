"""Tables that say which file was made for which prompt: CSV, JSON lines or Parquet, checked cell by cell."""

import csv
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from salon_console.hub_files import SCHEME, fetch_beside, hub_file
from salon_console.table_rows import TABLE_ENDINGS, table_rows
from salon_taxonomy.errors import InputError

Row: TypeAlias = Mapping[str, object]

_NEEDED = ("prompt_id", "path")
_MOST_SAMPLES = 1_000_000_000
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")
_LONGEST_ID = 200  # as ``records.Key``


@dataclass(frozen=True, slots=True)
class GeneratedRow:
    """One row of a table of generations.

    Attributes:
        prompt_id: whose picture.
        path: the file, with the table's folder in front unless it is absolute.
        root: the folder that the file must lie in.
        model: None when the table has no such column.
        sample: from 0.
        turn: of an editing conversation, from 1; None where the table has none.
        seconds, memory_mb, settings: as of ``records.Generation``; None where the table has none.
        sha256: of the file when it was made; None where the table has none.
    """

    prompt_id: str
    path: Path
    root: Path
    model: str | None
    sample: int
    turn: int | None = None
    seconds: float | None = None
    memory_mb: float | None = None
    settings: str | None = None
    sha256: str | None = None


def read_table(source: Path, *, absolute_paths: bool = False) -> Iterator[GeneratedRow]:
    """Yield the rows of a table, in order.

    Raises:
        InputError: while iterating, for the first thing that is wrong, with row (counted without a header) and column.
    """
    if source.suffix.lower() not in TABLE_ENDINGS:
        hint = "Give a folder of pictures or a table of paths."
        raise InputError("unknown kind of table", source=source, value=source.suffix, allowed=TABLE_ENDINGS, hint=hint)
    if source.suffix.lower() == ".csv":
        _check_header(source)
    for record in table_rows(source):
        row, where = record.cells, _Where(source, record.number)
        prompt_id = _text(row, "prompt_id", where)
        if len(prompt_id) > _LONGEST_ID:
            raise where.wrong(f"an id has at most {_LONGEST_ID} characters", "prompt_id", prompt_id)
        text = _text(row, "path", where)
        path, root = located(text, source, record.number, "path", absolute_paths=absolute_paths)
        model = _text(row, "model", where) if "model" in row else None
        seconds, memory_mb = (_positive(row, name, where) for name in ("seconds", "memory_mb"))
        settings, sha256 = (None if row.get(name) in (None, "") else _text(row, name, where) for name in ("settings", "sha256"))
        sample, turn = _whole(row, "sample", 0, where), _whole(row, "turn", 1, where)
        yield GeneratedRow(prompt_id, path, root, model, sample or 0, turn, seconds, memory_mb, settings, sha256)


@dataclass(frozen=True, slots=True)
class _Where:
    source: Path
    row: int

    def wrong(self, problem: str, column: str, value: object = None, hint: str | None = None) -> InputError:
        return InputError(problem, source=self.source, row=self.row, column=column, value=value, hint=hint)


def _text(row: Row, column: str, where: _Where) -> str:
    """Return a cell as text; a whole number counts as its digits, since ids often are numbers."""
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


def _positive(row: Row, column: str, where: _Where) -> float | None:
    """Return a number from 0; None for an empty cell."""
    value = row.get(column)
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise where.wrong("must be a number from 0", column, value)
    return number


def _whole(row: Row, column: str, least: int, where: _Where) -> int | None:
    """Return a whole number; None for an empty cell."""
    value = row.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < len(str(_MOST_SAMPLES)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < _MOST_SAMPLES:
        raise where.wrong(f"must be a whole number from {least}", column, value)
    return value


def located(text: str, table: Path, row: int, column: str, *, absolute_paths: bool = False) -> tuple[Path, Path]:
    """Return the path of a file that a cell names, and the folder that it must lie in.

    Args:
        text: the cell; relative names start at the table's folder. ``hf://`` addresses, and names in a table that was
            fetched from there, are fetched (:mod:`salon_console.hub_files`).
        table: the table.
        row: of the cell, from 1.
        column: of the cell.
        absolute_paths: whether the cell may name a file anywhere.

    Raises:
        InputError: it is another address, the hub does not give it, it is absolute though that is not allowed, or leads out
            of the table's folder.

    Example:
        >>> located("a/1.png", Path("set/pairs.csv"), 1, "picture_a")
        (PosixPath('set/a/1.png'), PosixPath('set'))
    """
    where = _Where(table, row)
    if text.startswith(SCHEME) and Path(text).suffix:
        copy = hub_file(text)
        return copy, copy.parent
    if "://" in text:
        raise where.wrong("is an address, not a file", column, text, "Download the pictures and name the files.")
    if text.startswith(os.sep):
        if not absolute_paths:
            hint = "Name files from the table's own folder, or allow absolute paths."
            raise where.wrong("absolute paths are not allowed:", column, text, hint)
        path = Path(text)
        return path, path.parent
    plain = os.path.normpath(text) if ".." in text or text == "." else text
    if plain in ("..", ".") or plain.startswith(f"..{os.sep}"):
        raise where.wrong("leads out of the table's folder, or to it:", column, text)
    path = Path(table.parent, text)
    fetch_beside(path)
    return path, table.parent


def _check_header(source: Path) -> None:
    """Refuse a CSV file without a needed column, or with one twice.

    Raises:
        InputError: names the column.
    """
    try:
        with source.open(encoding="utf-8-sig", newline="", errors="replace") as file:
            header = next(csv.reader(file), [])
    except (OSError, csv.Error):
        return  # table_rows reports it
    for column in _NEEDED:
        if column not in header:
            raise InputError("the table has no column", source=source, value=column, found=header)
    for column in (*_NEEDED, "model", "sample"):
        if header.count(column) > 1:
            raise InputError("the table has a column twice:", source=source, value=column)

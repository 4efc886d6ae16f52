"""A query's result as csv, json or parquet."""

import json
from collections.abc import Mapping
from datetime import date, time
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl
import polars.selectors as cs

from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole

Format: TypeAlias = Literal["table", "csv", "json", "parquet"]
_FORMATS: tuple[Format, ...] = ("table", "csv", "json", "parquet")
_BY_SUFFIX: dict[str, Format] = {".csv": "csv", ".json": "json", ".parquet": "parquet"}


def format_of(chosen: str | None, output: Path | None) -> Format:
    """The format that was asked for, or the one that the output file's suffix says, or a table.

    Raises:
        InputError: for a suffix that says nothing, or a table that should go into a file.

    Example:
        >>> format_of(None, Path("battles.parquet"))
        'parquet'
    """
    found = chosen or (_BY_SUFFIX.get(output.suffix.lower()) if output else "table")
    if found not in _FORMATS:
        raise InputError("this suffix does not say the format", source=output, allowed=_BY_SUFFIX, hint="Add --format.")
    if found == "table" and output is not None:
        raise InputError("a table is for the screen", source=output, allowed=("csv", "json", "parquet"))
    return found


def encoded(frame: pl.DataFrame, form: Format) -> bytes:
    """Encode the frame as a file: times in ISO 8601, lists in csv as JSON arrays, json as an array.

    Raises:
        InputError: when Parquet has no such type.
    """
    out = BytesIO()
    if form == "parquet":
        try:
            frame.write_parquet(out)
        except pl.exceptions.PolarsError as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"the result cannot be written as Parquet: {problem}", hint="CAST it to VARCHAR.") from error
    elif form == "json":
        spelled = _spelled(frame, cs.temporal() | cs.decimal() | cs.binary())
        if any(kind.is_nested() for kind in spelled.dtypes):
            out.write(json.dumps(_plain(spelled.to_dicts()), ensure_ascii=False, separators=(",", ":")).encode())
        else:
            spelled.write_json(out)
        out.write(b"\n")
    else:
        _spelled(frame, cs.nested() | cs.temporal() | cs.binary()).write_csv(out)
    return out.getvalue()


def write_file(frame: pl.DataFrame, form: Format, path: Path) -> None:
    """Write the frame to ``path``, which holds either all of it or what it held before.

    Raises:
        InputError: when the file cannot be written.
    """
    write_whole(path, encoded(frame, form), flushed=True)


def _spelled(frame: pl.DataFrame, columns: cs.Selector) -> pl.DataFrame:
    """The chosen columns as text."""
    return frame.with_columns(_text(frame[name]) for name in frame.select(columns).columns)


def _text(series: pl.Series) -> pl.Series:
    kind = series.dtype
    if kind.base_type() == pl.Datetime:
        return series.dt.to_string("iso:strict")
    if kind.is_temporal() or kind.is_decimal():
        return series.cast(pl.String)
    if kind == pl.Binary:
        return series.bin.encode("hex")
    return pl.Series(series.name, [_json(value) for value in series], dtype=pl.String)


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: object) -> object:
    """Convert a value to JSON's types: keys and times to text, bytes to hex digits, non-finite numbers to null."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | pl.Series):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int) else str(value)

"""Where battles come from: files by their ending, directories through whoever knows them.

A directory is offered to the functions of the entry-point group ``salon.sources``, each
``(path, table) -> LazyFrame | None``; so a result store can be ranked although this package knows no store.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeAlias

import polars as pl

from salon_ranking._index import reading
from salon_ranking.errors import BattleError

Source: TypeAlias = Callable[[Path, str], pl.LazyFrame | None]

GROUP = "salon.sources"
_TABLE = "battles"


def _csv(path: Path) -> pl.LazyFrame:
    return pl.scan_csv(path, infer_schema=False)


def _json_lines(path: Path) -> pl.LazyFrame:
    return pl.scan_ndjson(path, infer_schema_length=None)


_READERS: dict[str, Callable[[Path], pl.LazyFrame]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": pl.scan_parquet,
}


def scan(path: Path) -> pl.LazyFrame:
    """The battles at ``path``, unread.

    In CSV files every column is text until it is needed as something else, so a model may be called ``007``.

    Raises:
        BattleError: nothing is there, the ending is unknown, or no installed package knows the directory.
    """
    if path.is_dir():
        return _scan_directory(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        hint = "Give a file with one of these endings, or the directory of a result store."
        raise BattleError("unknown kind of file", source=path, value=path.suffix, allowed=_READERS, hint=hint)
    if not path.exists():
        raise BattleError("there is no such file", source=path)
    with reading(str(path)):
        return reader(path)


def _scan_directory(path: Path) -> pl.LazyFrame:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        source: Source = entry.load()
        frame = source(path, _TABLE)
        if frame is not None:
            return frame
    hint = "A result store has a store.json in it, and is read by the package salon-store; `salon store init` makes a new one."
    raise BattleError("this directory is no result store", source=path, hint=hint)

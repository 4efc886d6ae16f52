"""Where battles and other tables come from: files by their ending, many by a pattern, directories through who knows them.

A directory is offered to the functions of the entry-point group ``salon.sources``, each
``(path, table) -> LazyFrame | None``; so a result store can be ranked although this package knows no store. One that nobody
knows is taken as a folder of files of one kind. Files are read one after the other, row group by row group.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeAlias

import polars as pl

from salon_ranking._index import reading
from salon_ranking.errors import BattleError, RankingError

Source: TypeAlias = Callable[[Path, str], pl.LazyFrame | None]

GROUP = "salon.sources"


def _csv(paths: list[Path]) -> pl.LazyFrame:
    return pl.scan_csv(paths, infer_schema=False, glob=False)


def _json_lines(paths: list[Path]) -> pl.LazyFrame:
    return pl.scan_ndjson(paths, infer_schema_length=None)


def _parquet(paths: list[Path]) -> pl.LazyFrame:
    return pl.scan_parquet(paths, glob=False, extra_columns="ignore")


_READERS: dict[str, Callable[[list[Path]], pl.LazyFrame]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}


def scan(path: Path, table: str = "battles", error: type[RankingError] = BattleError) -> pl.LazyFrame:
    """The rows at ``path``, unread: a file, a directory, or a pattern such as ``votes/2026-*.parquet`` in its last part.

    In CSV files every column is text until it is needed as something else, so a model may be called ``007``.

    Args:
        table: what to take from the directory of a result store.

    Raises:
        error: nothing is there, the ending is unknown, or no installed package knows the directory.
    """
    if path.is_dir():
        return _scan_directory(path, table, error)
    if not path.exists() and _is_pattern(path.name):
        found = sorted(file for file in path.parent.glob(path.name) if file.is_file())
        if not found:
            raise error("no file has such a name", source=path)
        return _scan_files(found, path, error)
    return _scan_files([path], path, error)


def _scan_files(paths: list[Path], source: Path, error: type[RankingError]) -> pl.LazyFrame:
    """All rows of files of one kind, in the order of the names."""
    endings = sorted({path.suffix.lower() for path in paths})
    if len(endings) > 1:
        hint = "Name those of one kind by a pattern, such as 'votes/*.parquet'."
        raise error("files of several kinds cannot be read as one:", source=source, value=endings, hint=hint)
    reader = _READERS.get(endings[0])
    if reader is None:
        hint = "Give a file with one of these endings, a folder of such files, or the directory of a result store."
        raise error("unknown kind of file", source=source, value=endings[0], allowed=_READERS, hint=hint)
    if not all(path.exists() for path in paths):
        raise error("there is no such file", source=source)
    with reading(str(source), error):
        return reader(paths)


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _scan_directory(path: Path, table: str, error: type[RankingError]) -> pl.LazyFrame:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        source: Source = entry.load()
        frame = source(path, table)
        if frame is not None:
            return frame
    files = [file for file in path.iterdir() if file.suffix.lower() in _READERS and file.name[0] not in "._"]
    if files:
        return _scan_files(sorted(files), path, error)
    hint = "A result store has a store.json in it, and is read by the package salon-store; `salon store init` makes a new one."
    raise error(f"this directory is no result store and holds no files of {table}", source=path, hint=hint)

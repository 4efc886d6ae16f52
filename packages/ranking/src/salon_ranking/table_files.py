"""Files that are replaced whole or not at all: written beside the old one, then renamed over it."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from salon_ranking.errors import OptionError

TABLE_ENDINGS = (".csv", ".parquet", ".json")
"""The kinds of file that :func:`write_table` makes."""


def check_path(path: Path, endings: Collection[str], what: str = "output") -> None:
    """Refuse a path that nothing could be written to, before any work is done for it.

    Raises:
        OptionError: the ending is not among ``endings``, or the folder does not exist.
    """
    if path.suffix not in endings:
        raise OptionError(f"unknown kind of {what}", source=path, value=path.suffix, allowed=endings)
    if not path.absolute().parent.is_dir():
        raise OptionError("there is no such folder", source=path.absolute().parent)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file that takes the place of ``path`` when the block is left without an error, and is deleted otherwise.

    Raises:
        OptionError: it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise OptionError("cannot be written:", source=path, value=error.strerror or str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def write_frame(frame: pl.DataFrame, file: Path, ending: str) -> None:
    """Write a frame as .csv, .parquet, .json or .jsonl."""
    writers: dict[str, Callable[[Path], object]] = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".json": frame.write_json,
        ".jsonl": frame.write_ndjson,
    }
    writers[ending](file)


def check_table_path(path: Path) -> None:
    """Refuse a path that :func:`write_table` would not know how to write, before any work is done for it.

    Raises:
        OptionError: the ending is unknown, or the folder does not exist.
    """
    check_path(path, TABLE_ENDINGS)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a frame to a file whose ending says what it will be; an existing file is replaced whole or not at all.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
    """
    check_table_path(path)
    with replacing(path) as unfinished:
        write_frame(table, unfinished, path.suffix)

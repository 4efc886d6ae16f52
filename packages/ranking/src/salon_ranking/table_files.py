"""Tables for programs: one frame into a CSV, Parquet or JSON file."""

from pathlib import Path

import polars as pl

from salon_ranking.errors import OptionError

TABLE_ENDINGS = (".csv", ".parquet", ".json")
"""The kinds of file that :func:`write_table` makes."""


def check_table_path(path: Path) -> None:
    """Refuse a path that :func:`write_table` would not know how to write, before any work is done for it.

    Raises:
        OptionError: the ending is unknown, or the folder does not exist.
    """
    if path.suffix not in TABLE_ENDINGS:
        raise OptionError("unknown kind of output", source=path, value=path.suffix, allowed=TABLE_ENDINGS)
    if not path.absolute().parent.is_dir():
        raise OptionError("there is no such folder", source=path.absolute().parent)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a frame to a file whose ending says what it will be; an existing file is replaced whole or not at all.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
    """
    check_table_path(path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if path.suffix == ".csv":
            table.write_csv(unfinished)
        elif path.suffix == ".parquet":
            table.write_parquet(unfinished)
        else:
            table.write_json(unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise OptionError("cannot be written:", source=path, value=error.strerror or str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)

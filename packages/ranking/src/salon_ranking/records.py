"""Leaderboards as rows for a result store's table ``leaderboards``, in a file that ``salon store import`` takes."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from salon_ranking.errors import OptionError
from salon_ranking.leaderboard import Leaderboard

ENDINGS = (".csv", ".parquet", ".jsonl")
"""The kinds of file that a store imports."""


def check_records(path: Path) -> None:
    """Refuse a path that :func:`write_records` would not know how to write.

    Raises:
        OptionError: the ending is unknown, or the folder does not exist.
    """
    if path.suffix not in ENDINGS:
        raise OptionError("unknown kind of records", source=path, value=path.suffix, allowed=ENDINGS)
    if not path.absolute().parent.is_dir():
        raise OptionError("there is no such folder", source=path.absolute().parent)


def write_records(boards: Sequence[Leaderboard], path: Path, *, board: str = "overall") -> int:
    """Write ``Leaderboard.records`` of all boards to one file; how many rows. An existing file is replaced whole.

    Args:
        board: what the store will call them all; groups are told apart by the column ``group``.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
    """
    check_records(path)
    rows = pl.concat([one.records(board) for one in boards])
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if path.suffix == ".csv":
            rows.write_csv(unfinished)
        elif path.suffix == ".parquet":
            rows.write_parquet(unfinished)
        else:
            rows.write_ndjson(unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise OptionError("cannot be written:", source=path, value=error.strerror or str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return rows.height

"""Leaderboards as rows for a result store's table ``leaderboards``, in a file that ``salon store import`` takes."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.table_files import check_path, replacing, write_frame

ENDINGS = (".csv", ".parquet", ".jsonl")
"""The kinds of file that a store imports."""


def check_records(path: Path) -> None:
    """Refuse a path that :func:`write_records` would not know how to write.

    Raises:
        OptionError: the ending is unknown, or the folder does not exist.
    """
    check_path(path, ENDINGS, "records")


def write_records(boards: Sequence[Leaderboard], path: Path, *, board: str = "overall") -> int:
    """Write ``Leaderboard.records`` of all boards to one file; how many rows. An existing file is replaced whole.

    Args:
        board: what the store will call them all; groups differ in the column ``group``.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
    """
    check_records(path)
    rows = pl.concat([one.records(board) for one in boards])
    with replacing(path) as unfinished:
        write_frame(rows, unfinished, path.suffix)
    return rows.height

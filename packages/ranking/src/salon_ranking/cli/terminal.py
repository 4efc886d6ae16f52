"""Leaderboards and scores as tables for a terminal."""

import polars as pl

from salon_console import numbers
from salon_console.table_files import Table

MOST_SHOWN = 200
"""Rows of a table on the screen; ``--format csv`` and files have all."""


def more_rows(height: int, what: str = "model") -> str | None:
    """Return the line beneath a table that has more rows than are shown; None when all are.

    Args:
        height: of the table.
        what: a row is about.

    Example:
        >>> more_rows(1_000)
        '800 more models: all with --format csv, or in a file with --output'
        >>> more_rows(200)
    """
    left = height - MOST_SHOWN
    return f"{numbers.counted(left, f'more {what}')}: all with --format csv, or in a file with --output" if left > 0 else None


def scores_table(table: pl.DataFrame) -> Table:
    """Return the ratings of online Elo."""
    heads = ("rank", "model", "rating", "spread", "matches", "win rate")
    rows = [
        (
            str(row["rank"]),
            row["model"],
            numbers.rating(row["rating"]),
            numbers.points(row["spread"]),
            numbers.count(row["matches"]),
            numbers.share(row["win_rate"]),
        )
        for row in table.iter_rows(named=True)
    ]
    return Table(heads, rows, frozenset(heads) - {"model"})

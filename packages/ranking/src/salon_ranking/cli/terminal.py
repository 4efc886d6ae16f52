"""Leaderboards and scores as tables for a terminal."""

from typing import TYPE_CHECKING

import polars as pl

from salon_ranking import numbers
from salon_ranking.cli.output import grid
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.listing import listing_cells

if TYPE_CHECKING:
    from rich.table import Table

MOST_SHOWN = 200
"""Rows of a table on the screen; ``--format csv`` and files have all."""


def more_rows(height: int) -> str | None:
    """Return the line beneath a table that has more rows than are shown; None when all are.

    Example:
        >>> more_rows(1_000)
        '800 more models: all with --format csv, or in a file with --output'
        >>> more_rows(200)
    """
    left = height - MOST_SHOWN
    return f"{numbers.counted(left, 'more model')}: all with --format csv, or in a file with --output" if left > 0 else None


def board_table(board: Leaderboard) -> "Table":
    """Return one row per model, the first ``MOST_SHOWN``, with columns for components, ranks and listing where there are."""
    several = board.components > 1
    with_ranks, with_listing = "rank_low" in board.table.columns, "listed" in board.table.columns
    heads = (
        *(["group"] if several else []),
        "rank",
        "model",
        "Elo",
        f"{100 * board.confidence:.4g} % CI",
        *(["ranks"] if with_ranks else []),
        "matches",
        "win rate",
        *(["width", "one match", "listed"] if with_listing else []),
    )
    rows = [
        (
            *([None if row["component"] is None else str(row["component"] + 1)] if several else []),
            str(row["rank"]),
            row["model"],
            numbers.rating(row["rating"]),
            numbers.interval(row["ci_low"], row["ci_high"]),
            *([numbers.interval(row["rank_low"], row["rank_high"])] if with_ranks else []),
            numbers.count(row["matches"]),
            numbers.share(row["win_rate"]),
            *(listing_cells(row) if with_listing else []),
        )
        for row in board.table.head(MOST_SHOWN).iter_rows(named=True)
    ]
    return grid(heads, rows, left={"model"})


def comparison_table(compared: pl.DataFrame) -> "Table":
    """Return boards side by side, as :func:`salon_ranking.compare` has them."""
    rows = [
        [
            value if name == "model" else numbers.change(value) if name.startswith("change ") else numbers.rating(value)
            for name, value in row.items()
        ]
        for row in compared.head(MOST_SHOWN).iter_rows(named=True)
    ]
    return grid(compared.columns, rows, left={"model"})


def scores_table(table: pl.DataFrame) -> "Table":
    """Return the ratings of online Elo."""
    heads = ("rank", "model", "rating", "spread", "matches", "win rate")
    rows = [
        (
            str(row["rank"]),
            row["model"],
            numbers.rating(row["rating"]),
            None if row["spread"] is None else f"{row['spread']:.1f}",
            numbers.count(row["matches"]),
            numbers.share(row["win_rate"]),
        )
        for row in table.iter_rows(named=True)
    ]
    return grid(heads, rows, left={"model"})


def value_table(table: pl.DataFrame) -> "Table":
    """Return any table, its numbers to four digits."""
    heads = [name.replace("_", " ") for name in table.columns]
    left = {head for head, dtype in zip(heads, table.dtypes, strict=True) if not dtype.is_numeric()}
    return grid(heads, [[_cell(value) for value in row] for row in table.iter_rows()], left=left)


def _cell(value: object) -> str | None:
    return f"{value:.4g}" if isinstance(value, float) else None if value is None else str(value)

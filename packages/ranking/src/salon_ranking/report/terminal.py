"""Leaderboards as tables for a terminal: text of strangers stays text, and nothing in it can act on the terminal."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from rich.markup import escape
from rich.table import Table

from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.report import numbers
from salon_taxonomy.visible_text import visible

MOST_SHOWN = 200
"""Rows of a table on the screen; ``--format csv`` and files have all."""


def more_rows(height: int) -> str | None:
    """The line beneath a table that has more rows than are shown; None when all are.

    Example:
        >>> more_rows(1_000)
        '800 more models: all with --format csv, or in a file with --output'
        >>> more_rows(200)
    """
    left = height - MOST_SHOWN
    return f"{numbers.counted(left, 'more model')}: all with --format csv, or in a file with --output" if left > 0 else None


def plain(text: str) -> str:
    """Return the text as rich shows it literally: no markup, nothing that a terminal acts on."""
    return escape(visible(text))


def board_table(board: Leaderboard) -> Table:
    """One row per model, the first ``MOST_SHOWN``; columns for components, ranks and listing where the board has them."""
    table = Table(box=None)
    several = board.components > 1
    with_ranks, with_listing = "rank_low" in board.table.columns, "listed" in board.table.columns
    for heading in (
        *(["group"] if several else []),
        "rank",
        "model",
        "Elo",
        f"{100 * board.confidence:.4g} % CI",
        *(["ranks"] if with_ranks else []),
        "matches",
        "win rate",
        *(["width", "one match", "listed"] if with_listing else []),
    ):
        table.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    for row in board.table.head(MOST_SHOWN).iter_rows(named=True):
        table.add_row(
            *([numbers.MISSING if row["component"] is None else str(row["component"] + 1)] if several else []),
            str(row["rank"]),
            plain(row["model"]),
            numbers.rating(row["rating"]),
            numbers.interval(row["ci_low"], row["ci_high"]),
            *([numbers.interval(row["rank_low"], row["rank_high"])] if with_ranks else []),
            numbers.count(row["matches"]),
            numbers.share(row["win_rate"]),
            *(listing_cells(row) if with_listing else []),
        )
    return table


def listing_cells(row: Mapping[str, Any]) -> list[str]:
    """Width, effect of one match, and whether the model is listed or how many matches are missing."""
    missing = row["matches_needed"]
    verdict = (
        "yes" if row["listed"] else "no" if missing is None else f"no: about {numbers.counted(missing, 'more match', 'es')}"
    )
    return [numbers.points(row["width"]), numbers.points(row["match_effect"]), verdict]


def comparison_table(compared: pl.DataFrame) -> Table:
    """Boards side by side, as :func:`salon_ranking.compare` has them."""
    shown = Table(box=None)
    for column in compared.columns:
        shown.add_column(plain(column), justify="left" if column == "model" else "right", overflow="fold")
    for row in compared.head(MOST_SHOWN).iter_rows(named=True):
        cells = [
            value if name == "model" else numbers.change(value) if name.startswith("change ") else numbers.rating(value)
            for name, value in row.items()
        ]
        shown.add_row(*map(plain, cells))
    return shown

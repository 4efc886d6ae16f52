"""Leaderboards for programs: one table of several boards, and JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from salon_ranking.files import json_text
from salon_ranking.leaderboard.board import Leaderboard

if TYPE_CHECKING:
    from salon_ranking.leaderboard.analyses import Analyses


def combined(boards: Sequence[Leaderboard]) -> pl.DataFrame:
    """Return all tables in one, with the column ``group`` in front (null: all battles).

    Where flagged raters were looked for, every row also says how many battles of how many of them are not in the board,
    and which report flagged them: ``excluded_battles``, ``excluded_raters``, ``excluded_by``.
    """
    tables = [_with_excluded(board).select(pl.lit(board.group, dtype=pl.String).alias("group"), pl.all()) for board in boards]
    return pl.concat(tables) if tables else pl.DataFrame()


def _with_excluded(board: Leaderboard) -> pl.DataFrame:
    if board.excluded is None:
        return board.table
    return board.table.with_columns(
        excluded_battles=pl.lit(board.excluded.battles, dtype=pl.Int64),
        excluded_raters=pl.lit(board.excluded.raters, dtype=pl.Int64),
        excluded_by=pl.lit(board.excluded.report_id),
    )


def to_json(boards: Sequence[Leaderboard], analyses: "Sequence[Analyses]" = ()) -> str:
    """Return a JSON array with one object per board: how it was made, rows, parameters, analyses. Null is what is not known."""
    documents = [
        {
            **board.made(),
            "rows": board.table.to_dicts(),
            "parameters": board.parameters.to_dicts(),
            "position_bias": board.position_bias.to_dicts(),
            **({} if beside is None else beside.document()),
        }
        for board, beside in zip(boards, analyses or (None,) * len(boards), strict=True)
    ]
    return json_text(documents)

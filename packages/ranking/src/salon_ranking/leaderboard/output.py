"""Leaderboards for programs: CSV, Parquet, JSON, and a page for people in HTML."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from salon_ranking.errors import MissingExtraError, OptionError
from salon_ranking.leaderboard.board import Leaderboard

if TYPE_CHECKING:
    from salon_ranking.battles import Battles
    from salon_ranking.leaderboard.further import Further
    from salon_ranking.raters.rater_report import RaterReport

ENDINGS = (".csv", ".parquet", ".json", ".html")
"""The kinds of file that :func:`write` makes."""


@dataclass(frozen=True, eq=False)
class Background:
    """What a page or a document says beside the boards; None (or nothing) is what there is not.

    Attributes:
        battles: all battles behind the boards; a page shows win rates and convergence with them.
        further: one for each board.
        raters: a report about the raters, or a table with one row per rater.
    """

    battles: "Battles | None" = None
    further: "Sequence[Further]" = ()
    raters: "RaterReport | Path | None" = None


def combined(boards: Sequence[Leaderboard]) -> pl.DataFrame:
    """All tables in one, with the column ``group`` in front (null: all battles).

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


def to_json(boards: Sequence[Leaderboard], further: "Sequence[Further]" = ()) -> str:
    """Return a JSON array with one object per board: how it was made, rows, parameters, analyses. Null is what is not known."""
    documents = [
        {
            **board.made(),
            "rows": board.table.to_dicts(),
            "parameters": board.parameters.to_dicts(),
            "position_bias": board.position_bias.to_dicts(),
            **({} if beside is None else beside.document()),
        }
        for board, beside in zip(boards, further or (None,) * len(boards), strict=True)
    ]
    return json.dumps(documents, indent=2, ensure_ascii=False, allow_nan=False)


def write(boards: Sequence[Leaderboard], path: Path, *, title: str, background: Background | None = None) -> None:
    """Write boards to a file of the kind of its ending; an existing file is replaced whole or not at all.

    Args:
        background: what a page (.html) or a document (.json) says beside the boards.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
        MissingExtraError: an HTML page is wanted and the extra ``salon-ranking[report]`` is not installed.
    """
    check_ending(path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if path.suffix == ".csv":
            combined(boards).write_csv(unfinished)
        elif path.suffix == ".parquet":
            combined(boards).write_parquet(unfinished)
        else:
            behind = background or Background()
            text = to_json(boards, behind.further) if path.suffix == ".json" else _page(boards, title, behind)
            unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise OptionError("cannot be written:", source=path, value=error.strerror or str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def check_ending(path: Path) -> None:
    """Refuse a path that :func:`write` would not know how to write, before any work is done for it.

    Raises:
        OptionError: the ending is unknown, or the folder does not exist.
    """
    if path.suffix not in ENDINGS:
        raise OptionError("unknown kind of output", source=path, value=path.suffix, allowed=ENDINGS)
    if not path.absolute().parent.is_dir():
        raise OptionError("there is no such folder", source=path.absolute().parent)


def _page(boards: Sequence[Leaderboard], title: str, background: Background) -> str:
    try:
        from salon_ranking.report.leaderboard import leaderboard_page
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("salon_"):  # not an extra: our own mistake
            raise
        hint = "Install it: pip install 'salon-ranking[report]'"
        raise MissingExtraError("an HTML page needs the extra 'report', which lacks", value=error.name, hint=hint) from error
    return leaderboard_page(
        boards, title=title, battles=background.battles, raters=background.raters, further=background.further
    )

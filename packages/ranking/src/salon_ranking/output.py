"""Leaderboards for programs: CSV, Parquet, JSON, and a page for people in HTML."""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.errors import MissingExtraError, OptionError
from salon_ranking.leaderboard import Leaderboard

ENDINGS = (".csv", ".parquet", ".json", ".html")
"""The kinds of file that :func:`write` makes."""


def combined(boards: Sequence[Leaderboard]) -> pl.DataFrame:
    """All tables in one, with the column ``group`` in front (null: all battles)."""
    tables = [board.table.select(pl.lit(board.group, dtype=pl.String).alias("group"), pl.all()) for board in boards]
    return pl.concat(tables) if tables else pl.DataFrame()


def to_json(boards: Sequence[Leaderboard]) -> str:
    """A JSON array with one object per board: how it was made, and its rows. Null is what is not known."""
    made = [field.name for field in fields(Leaderboard) if field.name != "table"]
    documents = [
        {**{name: getattr(board, name) for name in made}, "ci_method": board.ci_method, "rows": board.table.to_dicts()}
        for board in boards
    ]
    return json.dumps(documents, indent=2, ensure_ascii=False, allow_nan=False)


def write(
    boards: Sequence[Leaderboard], path: Path, *, title: str, battles: Battles | None = None, raters: Path | None = None
) -> None:
    """Write boards to a file whose ending says what it will be; an existing file is replaced whole or not at all.

    Args:
        battles: all battles behind the boards, for a page that shows win rates and convergence.
        raters: a table of raters, for the same page.

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
            text = to_json(boards) if path.suffix == ".json" else _page(boards, title, battles, raters)
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


def _page(boards: Sequence[Leaderboard], title: str, battles: Battles | None, raters: Path | None) -> str:
    try:
        from salon_ranking.report.leaderboard import leaderboard_page
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("salon_"):  # not an extra: our own mistake
            raise
        hint = "Install it: pip install 'salon-ranking[report]'"
        raise MissingExtraError("an HTML page needs the extra 'report', which lacks", value=error.name, hint=hint) from error
    return leaderboard_page(boards, title=title, battles=battles, raters=raters)

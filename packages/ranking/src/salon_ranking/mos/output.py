"""Scores, weights and test points for programs (CSV, Parquet, JSON) and for people (a page in HTML)."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from salon_ranking.extras import drawing
from salon_ranking.leaderboard.output import check_ending
from salon_ranking.mos.checks import Checks
from salon_ranking.mos.summary import MosSummary
from salon_ranking.mos.weights import Weights
from salon_ranking.table_files import replacing, write_frame


def to_json(result: MosSummary | Weights | Checks, *, confidence: float = 0.95) -> str:
    """One JSON object: every table as an array of rows, and how they were made. Null is what is not known."""
    if isinstance(result, Checks):
        document: dict[str, Any] = {
            "source": result.source,
            "confidence": confidence,
            "unscored": result.unscored,
            "shares": result.shares(confidence=confidence).to_dicts(),
        }
    else:
        document = {field.name: _plain(getattr(result, field.name)) for field in fields(result)}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: object) -> object:
    return value.to_dicts() if isinstance(value, pl.DataFrame) else value


def write(path: Path, *, table: pl.DataFrame, text: Callable[[], str], page: Callable[[], str]) -> None:
    """Write a result to a file whose ending says what it will be; an existing file is replaced whole or not at all.

    Args:
        table: what a .csv or .parquet file will hold.
        text: makes the content of a .json file.
        page: makes that of an .html file.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
        MissingExtraError: an HTML page is wanted and the extra ``salon-ranking[report]`` is not installed.
    """
    check_ending(path)
    with replacing(path) as unfinished:
        if path.suffix in (".csv", ".parquet"):
            write_frame(table, unfinished, path.suffix)
        else:
            unfinished.write_text(text() if path.suffix == ".json" else page(), encoding="utf-8")


def html(result: MosSummary | Weights | Checks, *, title: str, confidence: float = 0.95) -> str:
    """The page of a result.

    Raises:
        MissingExtraError: the extra ``salon-ranking[report]`` is not installed.
    """
    with drawing("an HTML page needs"):
        from salon_ranking.report import mos_page
    if isinstance(result, MosSummary):
        return mos_page.mos_page(result, title=title)
    if isinstance(result, Weights):
        return mos_page.weights_page(result, title=title)
    return mos_page.checks_page(result, title=title, confidence=confidence)

"""Scores, weights and test points for programs (CSV, Parquet, JSON) and for people (a page in HTML)."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from salon_ranking.errors import MissingExtraError, OptionError
from salon_ranking.mos.checks import Checks
from salon_ranking.mos.summary import MosSummary
from salon_ranking.mos.weights import Weights
from salon_ranking.output import check_ending


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
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if path.suffix == ".csv":
            table.write_csv(unfinished)
        elif path.suffix == ".parquet":
            table.write_parquet(unfinished)
        else:
            unfinished.write_text(text() if path.suffix == ".json" else page(), encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise OptionError("cannot be written:", source=path, value=error.strerror or str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def html(result: MosSummary | Weights | Checks, *, title: str, confidence: float = 0.95) -> str:
    """The page of a result.

    Raises:
        MissingExtraError: the extra ``salon-ranking[report]`` is not installed.
    """
    try:
        from salon_ranking.report import mos_page
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("salon_"):  # not an extra: our own mistake
            raise
        hint = "Install it: pip install 'salon-ranking[report]'"
        raise MissingExtraError("an HTML page needs the extra 'report', which lacks", value=error.name, hint=hint) from error
    if isinstance(result, MosSummary):
        return mos_page.mos_page(result, title=title)
    if isinstance(result, Weights):
        return mos_page.weights_page(result, title=title)
    return mos_page.checks_page(result, title=title, confidence=confidence)

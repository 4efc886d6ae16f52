"""Rater reports for programs: CSV, Parquet, JSON, and a page for people in HTML."""

import json
from dataclasses import asdict
from pathlib import Path

import polars as pl

from salon_ranking.errors import OptionError
from salon_ranking.extras import drawing
from salon_ranking.leaderboard.output import check_ending
from salon_ranking.raters.rater_report import RaterReport
from salon_ranking.table_files import replacing


def to_csv(report: RaterReport) -> str:
    """The table; reasons are joined by spaces, names stay as they are."""
    return report.table.with_columns(pl.col("reasons").list.join(" ")).write_csv()


def to_json(report: RaterReport) -> str:
    """One JSON object: how the report was made, one row per rater, one finding per flag. Null is what is not known."""
    document = {
        "source": report.source,
        "battles": report.battles,
        "anchor_rate": report.anchor_rate,
        "flagged": list(report.flagged),
        "not_checked": {str(reason): why for reason, why in report.not_checked},
        "policy": asdict(report.policy),
        "raters": report.table.to_dicts(),
        "findings": report.findings.to_dicts(),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def write(report: RaterReport, path: Path) -> None:
    """Write a report to a file whose ending says what it will be; an existing file is replaced whole or not at all.

    Raises:
        OptionError: the ending is unknown, the folder does not exist, or the file cannot be written.
        MissingExtraError: an HTML page is wanted and the extra ``salon-ranking[report]`` is not installed.
    """
    check_ending(path)
    makers = {".csv": to_csv, ".json": to_json, ".html": _page}
    with replacing(path) as unfinished:
        if path.suffix == ".parquet":
            report.table.write_parquet(unfinished)
        else:
            unfinished.write_text(makers[path.suffix](report), encoding="utf-8")


def write_audit(sample: pl.DataFrame, path: Path) -> None:
    """Write the battles to be judged again as CSV: their rows, with lists joined by spaces.

    Raises:
        OptionError: as :func:`check_audit`, or the file cannot be written.
    """
    check_audit(path)
    lists = [name for name, dtype in sample.schema.items() if dtype == pl.List(pl.String)]
    try:
        with replacing(path) as unfinished:
            sample.with_columns(pl.col(name).list.join(" ") for name in lists).write_csv(unfinished)
    except pl.exceptions.ComputeError as error:  # a column that CSV cannot hold
        raise OptionError("cannot be written as CSV:", source=path, value=str(error)) from error


def check_audit(path: Path) -> None:
    """Refuse a path that :func:`write_audit` would not write to, before any work is done for it.

    Raises:
        OptionError: the path does not end in .csv, or the folder does not exist.
    """
    if path.suffix != ".csv":
        raise OptionError("the sample is written as CSV, not", source=path, value=path.suffix, allowed=[".csv"])
    check_ending(path)


def _page(report: RaterReport) -> str:
    with drawing("an HTML page needs"):
        from salon_ranking.report.raters_page import raters_page
    return raters_page(report)

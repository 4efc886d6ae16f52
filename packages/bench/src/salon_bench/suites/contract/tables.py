"""The table in which a suite reports its numbers; :class:`~salon_bench.suites.contract.suite.Summary` explains the columns."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import polars as pl

from salon_bench.suites.contract.metrics import mean_with_interval
from salon_bench.suites.contract.suite import Summary

SUMMARY_COLUMNS: Final = {
    "metric": pl.String,
    "group": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "scored": pl.Int64,
    "unscored": pl.Int64,
}

Line: TypeAlias = dict[str, str | float | int | None]
"""One row of the table."""


def line(
    metric: str,
    group: str | None,
    value: float | None,
    ends: tuple[float | None, float | None] = (None, None),
    *,
    scored: int,
    unscored: int,
) -> Line:
    """Return one row of the table."""
    counts: Line = {"scored": scored, "unscored": unscored}
    return {"metric": metric, "group": group, "value": value, "ci_low": ends[0], "ci_high": ends[1], **counts}


def summary_of(lines: Iterable[Line | Sequence[object]], notes: Iterable[str] = ()) -> Summary:
    """Return the rows, as mappings or in the order of the columns, as the summary of a suite.

    Example:
        >>> summary_of([line("accuracy", None, 0.5, scored=2, unscored=0)]).table.columns == list(SUMMARY_COLUMNS)
        True
    """
    return Summary(pl.DataFrame(list(lines), schema=SUMMARY_COLUMNS, orient="row"), tuple(notes))


def mean_lines(scores: pl.DataFrame) -> list[Line]:
    """Return the mean of every dimension over all tasks, and per task where there are several, with bootstrap intervals."""
    lines = []
    several = scores["task"].n_unique() > 1
    for dimension in scores["dimension"].unique().sort():
        mine = scores.filter(pl.col("dimension") == dimension)
        groups = [None, *mine["task"].unique().sort()] if several else [None]
        for group in groups:
            values = mine["value"] if group is None else mine.filter(pl.col("task") == group)["value"]
            known = values.drop_nulls().to_list()
            mean, ends = mean_with_interval(known)
            lines.append(line(dimension, group, mean, ends, scored=len(known), unscored=len(values) - len(known)))
    return lines


def reasons_sentence(scores: pl.DataFrame, words: str) -> list[str]:
    """Return the sentence that counts the missing verdicts by reason, most frequent first; empty for none.

    Args:
        scores: rows of scores.
        words: the beginning of the sentence.
    """
    missing = scores.filter(pl.col("value").is_null()).drop_nulls("unscored_reason")
    counted = missing.group_by("unscored_reason").len().sort(["len", "unscored_reason"], descending=[True, False])
    listed = ", ".join(f"{count} {reason}" for reason, count in counted.iter_rows())
    return [f"{words}: {listed}."] if listed else []

"""The table in which a suite reports its numbers; :class:`~salon_bench.suites.contract.suite.Summary` explains the columns."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import polars as pl

from salon_bench.suites.contract.metrics import share_with_wilson
from salon_bench.suites.contract.suite import Summary
from salon_ranking.uncertainty.means import CONFIDENCE, Ends, mean_with_interval, ratio_with_interval
from salon_ranking.uncertainty.quantiles import least_units

SUMMARY_COLUMNS: Final = {
    "metric": pl.String,
    "group": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "scored": pl.Int64,
    "unscored": pl.Int64,
}

SEVERAL_GROUPS: Final = " | "
"""Between the names of a task that counts in several groups."""

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


Estimate: TypeAlias = Callable[[str, pl.DataFrame], tuple[float | None, Ends]]
"""Makes the mean and the interval of a dimension from its rows that have a value."""


def interval_over_rows(dimension: str, known: pl.DataFrame) -> tuple[float | None, Ends]:
    """Return the mean with an interval by Student's t over rows."""
    return mean_with_interval(known["value"].to_list())


_WHOLE: Final = pl.col("value").is_in([0.0, 1.0])
"""A panel's mean of yes and no is neither."""


def interval_over_prompts(
    dimension: str,
    known: pl.DataFrame,
    *,
    shares: Collection[str] = (),
    spans: Mapping[str, tuple[float, float] | None] | None = None,
    confidence: float = CONFIDENCE,
    none: bool = False,
) -> tuple[float | None, Ends]:
    """Return the mean of the rows with an interval for other prompts of the same kind.

    Wilson's for a share with one row per prompt, else by Student's t over prompts; none of fewer than five, or of equal values.

    Args:
        dimension: of the rows.
        known: its rows with a value; columns ``prompt_id``, ``value``, and maybe ``weight``: how often each counts.
        shares: the dimensions whose values are 0 or 1.
        spans: the lowest and highest possible value of other dimensions, where their intervals end.
        confidence: of the interval.
        none: make no interval.
    """
    if not known.height:
        return None, (None, None)
    weighed = known if "weight" in known.columns else known.with_columns(weight=pl.lit(1.0))
    weighed = weighed.select("prompt_id", "weight", value=pl.col("value") * pl.col("weight"))
    by_prompt = weighed.group_by("prompt_id").agg(pl.col("value", "weight").sum()).sort("prompt_id")
    alike = weighed["weight"].n_unique() == 1
    if dimension in shares and by_prompt.height == known.height and alike and known.select(_WHOLE.all()).item() and not none:
        return share_with_wilson(round(known["value"].sum()), known.height, confidence)
    sums = by_prompt.select("value", "weight").to_numpy().astype(np.float64)
    within = (0.0, 1.0) if dimension in shares else (spans or {}).get(dimension)
    ends = (None, None) if none else ratio_with_interval(sums, confidence=confidence, within=within)[1]
    return math.fsum(weighed["value"]) / math.fsum(weighed["weight"]), ends


def words_of_intervals(scores: pl.DataFrame, shares: Collection[str], confidence: float = CONFIDENCE) -> list[str]:
    """Return the sentences about how :func:`interval_over_prompts` makes its intervals."""
    known = scores.drop_nulls("value")
    rows = known.group_by("dimension", "prompt_id").len()
    several = set(rows.filter(pl.col("len") > 1)["dimension"]) | set(known.filter(~_WHOLE)["dimension"])
    mine = set(scores["dimension"])
    wilson = (mine & set(shares)) - several
    words = []
    if wilson:
        words.append(f"{confidence:.0%} intervals of shares: Wilson's score interval.")
    if mine - wilson:
        what = "intervals" if not wilson else "other intervals" if mine & set(shares) - wilson else "intervals of means"
        least = least_units(confidence, clustered=True)
        words.append(f"{confidence:.0%} {what}: Student's t over prompts; none from fewer than {least} or from equal values.")
    return words


def mean_lines(scores: pl.DataFrame, estimate: Estimate = interval_over_rows) -> list[Line]:
    """Return the mean of every dimension over all tasks, and per task where there are several, with its interval.

    A task of several names (:data:`SEVERAL_GROUPS`) counts in the group of each.
    """
    lines = []
    grouped = scores.with_columns(groups=pl.col("task").str.split(SEVERAL_GROUPS))
    several = grouped["groups"].explode().n_unique() > 1
    for dimension in scores["dimension"].unique().sort():
        mine = grouped.filter(pl.col("dimension") == dimension)
        groups = [None, *mine["groups"].explode().unique().sort()] if several else [None]
        for group in groups:
            rows = mine if group is None else mine.filter(pl.col("groups").list.contains(group))
            known = rows.drop_nulls("value")
            mean, ends = estimate(dimension, known)
            lines.append(line(dimension, group, mean, ends, scored=known.height, unscored=rows.height - known.height))
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

"""What the ledger's sources print of the same thing: how often do they agree, and is self-reported higher?"""

import polars as pl

from salon_published.ledger import EQUAL
from salon_ranking.uncertainty.means import ratio_with_interval

_SAME = ("task", "benchmark", "track", "model")
_OF_EACH = ("judge", "date", "source", "value", "reported")


def repeated_numbers(scores: pl.DataFrame) -> pl.DataFrame:
    """Return every two numbers that two sources print of one model on one track of one benchmark.

    Args:
        scores: the frame of :func:`salon_published.ledger.ledger_scores`.

    Returns:
        One row per pair, the older source first: ``task``, ``benchmark``, ``track``, ``model``, ``source``, ``other_source``,
        ``value``, ``other_value``, ``reported``, ``other_reported``, ``difference`` (the newer less the older, in shares of the
        largest number of the track) and ``equal`` (by no more than :data:`salon_published.ledger.EQUAL`).
    """
    scale = pl.col("value").abs().max().over("benchmark", "track")
    one = scores.select(*_SAME, *_OF_EACH, "direction", scale=scale)
    other = scores.select(*_SAME, *(pl.col(name).alias(f"other_{name}") for name in _OF_EACH))
    is_older = pl.format("{} {}", "date", "source") < pl.format("{} {}", "other_date", "other_source")
    is_one_judge = (pl.col("judge") == pl.col("other_judge")).fill_null(True)
    pairs = one.join(other, on=list(_SAME)).filter(pl.col("source") != pl.col("other_source"), is_older, is_one_judge)
    difference = (pl.col("other_value") - pl.col("value")) / pl.col("scale")
    return (
        pairs.with_columns(difference=difference, equal=difference.abs() <= EQUAL)
        .drop("scale", "judge", "other_judge", "other_date", "date")
        .sort(*_SAME, "source", "other_source")
    )


def agreement_of_sources(scores: pl.DataFrame) -> pl.DataFrame:
    """Return for each benchmark that two sources print of the same models how often their numbers are equal.

    Returns:
        One row per task and benchmark, most pairs first: ``pairs``, ``equal`` (a share), ``ci_low`` and ``ci_high`` (95% by
        Student's t over pairs of sources; null below five of them), and ``median`` (of the absolute differences of the pairs
        that are not equal, in shares of the scale; null where all are).
    """
    rows = []
    for (task, benchmark), pairs in repeated_numbers(scores).group_by("task", "benchmark", maintain_order=True):
        sums = pairs.group_by("source", "other_source").agg(pl.col("equal").sum().cast(pl.Float64), pl.len().cast(pl.Float64))
        share, (low, high) = ratio_with_interval(sums.select("equal", "len").to_numpy(), within=(0.0, 1.0))
        median = pairs.filter(~pl.col("equal"))["difference"].abs().median()
        rows.append((task, benchmark, pairs.height, share, low, high, median))
    schema = {"task": pl.String, "benchmark": pl.String, "pairs": pl.Int64}
    schema |= dict.fromkeys(("equal", "ci_low", "ci_high", "median"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row").sort("pairs", "benchmark", descending=[True, False])


def lead_of_self_reports(scores: pl.DataFrame) -> pl.DataFrame:
    """Return by how much makers' numbers of their own models exceed the numbers that others print of them.

    Returns:
        One row per task that has such pairs: ``pairs``, ``sources`` (makers' sources among them), ``lead`` (in shares of the
        scale, positive where the maker's number is better), ``ci_low`` and ``ci_high`` (95% by Student's t over the makers'
        sources; null below five of them).
    """
    pairs = repeated_numbers(scores.filter(pl.col("direction") != "none"))
    sign = pl.when(pl.col("direction") == "higher").then(1.0).otherwise(-1.0)
    is_first, is_second = pl.col("reported") == "self", pl.col("other_reported") == "self"
    own = pairs.filter(is_first != is_second).with_columns(
        lead=pl.col("difference") * sign * pl.when(is_second).then(1.0).otherwise(-1.0),
        maker=pl.when(is_second).then("other_source").otherwise("source"),
    )
    rows = []
    for (task,), group in own.group_by("task", maintain_order=True):
        sums = group.group_by("maker").agg(pl.col("lead").sum(), pl.len().cast(pl.Float64))
        lead, (low, high) = ratio_with_interval(sums.select("lead", "len").to_numpy())
        rows.append((task, group.height, sums.height, lead, low, high))
    schema = {"task": pl.String, "pairs": pl.Int64, "sources": pl.Int64}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(("lead", "ci_low", "ci_high"), pl.Float64), orient="row")

"""What the ledger says of itself: do sources agree, do judges, is self-reported higher, what still separates the best?"""

import polars as pl

from salon_published.ledger import EQUAL
from salon_ranking.uncertainty.means import CONFIDENCE, mean_with_interval, ratio_with_interval
from salon_ranking.uncertainty.quantiles import least_units
from salon_ranking.uncertainty.student import two_sided_quantile

_SAME = ("task", "benchmark", "track", "model")
_OF_EACH = ("judge", "date", "source", "value", "reported")


def repeated_numbers(scores: pl.DataFrame) -> pl.DataFrame:
    """Return every two numbers that two sources print of one model on one track of one benchmark.

    Args:
        scores: the frame of :func:`salon_published.ledger.ledger_scores`.

    Returns:
        One row per pair, the older source first: ``task``, ``benchmark``, ``track``, ``model``, ``source``, ``other_source``,
        ``value``, ``other_value``, ``reported``, ``other_reported``, ``kinds`` (both in the order of the alphabet),
        ``difference`` (the newer less the older, in shares of the largest number of the track) and ``equal`` (by no more than
        :data:`salon_published.ledger.EQUAL`).
    """
    scale = pl.col("value").abs().max().over("benchmark", "track")
    one = scores.select(*_SAME, *_OF_EACH, "direction", scale=scale)
    other = scores.select(*_SAME, *(pl.col(name).alias(f"other_{name}") for name in _OF_EACH))
    is_older = pl.format("{} {}", "date", "source") < pl.format("{} {}", "other_date", "other_source")
    is_one_judge = (pl.col("judge") == pl.col("other_judge")).fill_null(True)
    pairs = one.join(other, on=list(_SAME)).filter(pl.col("source") != pl.col("other_source"), is_older, is_one_judge)
    difference = (pl.col("other_value") - pl.col("value")) / pl.col("scale")
    return (
        pairs.with_columns(
            kinds=pl.concat_list("reported", "other_reported").list.sort().list.join(" and "),
            difference=difference,
            equal=difference.abs() <= EQUAL,
        )
        .drop("scale", "judge", "other_judge", "other_date", "date")
        .sort(*_SAME, "source", "other_source")
    )


def agreement_of_sources(scores: pl.DataFrame, *, by: str = "benchmark") -> pl.DataFrame:
    """Return how often the numbers that two sources print of the same models are equal, by benchmark or by kinds of sources.

    Args:
        scores: the frame of :func:`salon_published.ledger.ledger_scores`.
        by: ``benchmark``, or ``kinds``: who reports both numbers, as :func:`repeated_numbers` has it.

    Returns:
        One row per task and benchmark or kinds, most pairs first: ``pairs``, ``equal`` (a share), ``ci_low`` and ``ci_high``
        (95% by Student's t over pairs of sources; null below five of them), and ``median`` (of the absolute differences of the
        pairs that are not equal, in shares of the scale; null where all are).
    """
    rows = []
    for (task, name), pairs in repeated_numbers(scores).group_by("task", by, maintain_order=True):
        sums = pairs.group_by("source", "other_source").agg(pl.col("equal").sum().cast(pl.Float64), pl.len().cast(pl.Float64))
        share, (low, high) = ratio_with_interval(sums.select("equal", "len").to_numpy(), within=(0.0, 1.0))
        median = pairs.filter(~pl.col("equal"))["difference"].abs().median()
        rows.append((task, name, pairs.height, share, low, high, median))
    schema = {"task": pl.String, by: pl.String, "pairs": pl.Int64}
    schema |= dict.fromkeys(("equal", "ci_low", "ci_high", "median"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row").sort("pairs", by, "task", descending=[True, False, False])


def agreement_of_judges(scores: pl.DataFrame) -> pl.DataFrame:
    """Return how far two judges, or two versions of one, differ about the same models on the same tracks.

    Returns:
        One row per task, benchmark and two judges, in the order of the alphabet: ``judge``, ``other_judge``, ``pairs`` of
        numbers, ``models``, ``difference`` (mean of the other judge's number less the first's, in shares of the largest number
        of a named judge on the track) with ``ci_low`` and ``ci_high`` (95% by Student's t over models), and ``spearman`` (mean
        over tracks of the correlation of the two orders of models) with ``spearman_low`` and ``spearman_high`` (by tracks).
        Intervals are null below five models or tracks.
    """
    scale = pl.col("value").abs().max().over("benchmark", "track")
    one = scores.drop_nulls("judge").select(*_SAME, "judge", "value", scale=scale)
    other = one.select(*_SAME, other_judge="judge", other_value="value")
    difference = (pl.col("other_value") - pl.col("value")) / pl.col("scale")
    pairs = one.join(other, on=list(_SAME)).filter(pl.col("judge") < pl.col("other_judge")).with_columns(difference=difference)
    keys = ("task", "benchmark", "judge", "other_judge")
    rows = []
    for judges, group in pairs.sort(*_SAME, *keys).group_by(*keys, maintain_order=True):
        sums = group.group_by("model").agg(pl.col("difference").sum(), pl.len().cast(pl.Float64))
        mean, ends = ratio_with_interval(sums.select("difference", "len").to_numpy())
        ranks = group.with_columns(pl.col("value", "other_value").round(9).rank().over("track"))
        tracks = ranks.group_by("track").agg(pl.corr("value", "other_value")).drop_nans("value").drop_nulls("value")
        order, order_ends = mean_with_interval(tracks.sort("track")["value"].to_list(), within=(-1.0, 1.0))
        rows.append((*judges, group.height, sums.height, mean, *ends, order, *order_ends))
    schema = dict.fromkeys(keys, pl.String) | {"pairs": pl.Int64, "models": pl.Int64}
    names = ("difference", "ci_low", "ci_high", "spearman", "spearman_low", "spearman_high")
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(names, pl.Float64), orient="row").sort(*keys)


def separation_of_best(scores: pl.DataFrame) -> pl.DataFrame:
    """Return how far the best and the tenth best generator lie apart on the overall number of each benchmark.

    Returns:
        One row per task, benchmark and overall number that more than ten generators have and of which more is better, the
        smallest gap first: ``judge`` (null where the sources name no two of them), ``models``, ``best``, ``tenth``, ``gap`` (in
        shares of the best), ``noise`` (the root mean square of the differences between two sources that print different numbers
        of one model there), ``pairs`` of sources behind it, and ``ci_low`` and ``ci_high``: the gap plus and minus the noise
        times Student's t (95%) over these pairs of sources; null below five of them. A gap whose interval has 0 no longer
        separates the best ten.
    """
    keys = ("task", "benchmark", "track", "judge")
    is_overall = pl.col("overall") | (pl.col("track") == "overall")
    judges = pl.col("judge").drop_nulls().n_unique().over("task", "benchmark", "track")
    overall = scores.filter(is_overall, kind="generator", direction="higher").with_columns(
        judge=pl.when(judges > 1).then("judge")
    )
    best = pl.col("value").sort(descending=True)
    best_and_tenth = (
        overall.group_by(*keys, "model")
        .agg(pl.col("value").max())
        .group_by(*keys)
        .agg(models=pl.len(), best=best.first(), tenth=best.get(9, null_on_oob=True))
        .filter(pl.col("models") > 10, pl.col("best") > 0)
    )
    noise = (
        repeated_numbers(overall)
        .filter(~pl.col("equal"))
        .group_by("task", "benchmark", "track")
        .agg(noise=(pl.col("difference") ** 2).mean().sqrt(), pairs=pl.struct("source", "other_source").n_unique())
    )
    gaps = best_and_tenth.with_columns(gap=(pl.col("best") - pl.col("tenth")) / pl.col("best")).join(
        noise, on=["task", "benchmark", "track"], how="left"
    )
    least = least_units(CONFIDENCE, clustered=True)
    reach = [
        noise * two_sided_quantile(1.0 - CONFIDENCE, pairs - 1.0) if pairs is not None and pairs >= least else None
        for noise, pairs in gaps.select("noise", "pairs").iter_rows()
    ]
    ends = pl.Series(reach, dtype=pl.Float64)
    whole = gaps.with_columns(pl.col("pairs").fill_null(0), ci_low=pl.col("gap") - ends, ci_high=pl.col("gap") + ends)
    return whole.sort("gap", *keys)


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

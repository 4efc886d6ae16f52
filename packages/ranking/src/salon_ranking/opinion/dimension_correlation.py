"""Whether raters keep the dimensions apart: Pearson's r between dimensions, per rater (MEF paper, Table 3)."""

from itertools import combinations
from typing import Annotated

import polars as pl

from salon_ranking.errors import OptionError
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.options import Range, checked

WANTED_BELOW = 0.3
"""The MEF paper's limit: an expert whose marks in two dimensions correlate less keeps them apart."""


@checked
def dimension_correlations(ratings: MosRatings, *, limit: Annotated[float, Range(0, 1)] = WANTED_BELOW) -> pl.DataFrame:
    """Return Pearson's r of every rater's marks in every two dimensions, over generations that have both.

    A rater's repeated marks of one generation are averaged first. Correlation comes from the pictures too: good models are
    better in everything, so a flag asks for a look at the rater, it is no verdict.

    Returns:
        Columns ``rater_id``, ``dimension_a``, ``dimension_b``, ``generations`` (at least 1), ``pearson`` (null: fewer than
        three generations, or the same mark everywhere), ``flagged`` (|r| is ``limit`` or more; null where r is).

    Raises:
        OptionError: ``limit`` lies outside 0 … 1.
    """
    if not 0.0 < limit <= 1.0:
        raise OptionError("must lie above 0 and not above 1:", key="limit", value=limit)
    names = ratings.dimensions
    columns = [f"mark {number}" for number in range(len(names))]  # a dimension may be called like another column
    marks = [
        pl.col("value").filter(pl.col("dimension") == name).mean().alias(c) for name, c in zip(names, columns, strict=True)
    ]
    wide = ratings.scored.group_by("rater_id", "generation_id").agg(marks)
    frames = [_SCHEMA.to_frame()]
    for a, b in combinations(range(len(names)), 2):
        both = wide.drop_nulls([columns[a], columns[b]])
        x, y = pl.col(columns[a]), pl.col(columns[b])
        tellable = (pl.len() >= 3) & (x.n_unique() > 1) & (y.n_unique() > 1)
        grouped = both.group_by("rater_id").agg(
            generations=pl.len().cast(pl.Int64), pearson=pl.when(tellable).then(pl.corr(x, y)).fill_nan(None)
        )
        pair = grouped.with_columns(dimension_a=pl.lit(names[a]), dimension_b=pl.lit(names[b]))
        frames.append(pair.with_columns(flagged=pl.col("pearson").abs() >= limit).select(_SCHEMA.names()))
    return pl.concat(frames).sort("rater_id", maintain_order=True)


_SCHEMA = pl.Schema(
    {
        "rater_id": pl.String,
        "dimension_a": pl.String,
        "dimension_b": pl.String,
        "generations": pl.Int64,
        "pearson": pl.Float64,
        "flagged": pl.Boolean,
    }
)

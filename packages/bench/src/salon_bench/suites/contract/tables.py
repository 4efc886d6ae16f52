"""The columns of the table in which a suite reports its numbers; ``suite.Summary`` says what they mean."""

from typing import Final

import polars as pl

SUMMARY_COLUMNS: Final = {
    "metric": pl.String,
    "group": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "scored": pl.Int64,
    "unscored": pl.Int64,
}

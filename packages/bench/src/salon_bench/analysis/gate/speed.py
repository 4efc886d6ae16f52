"""Compare how long two builds take for a picture, over the same prompts."""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from salon_bench.runs.score_rows import located_run
from salon_bench.runs.view import RunView
from salon_console.table_rows import TABLE_ENDINGS
from salon_judges.formats.generation_tables import read_table
from salon_judges.formats.generations import MANIFEST
from salon_taxonomy.store_address import StoreAddress

_RESAMPLES: Final = 2_000
_LEAST: Final = 4
_SPEED: Final = dict.fromkeys(("faster", "low", "high", "base_seconds", "new_seconds"), pl.Float64) | {"prompts": pl.Int64}
_SCHEMA: Final = {"prompt_id": pl.String, "picture": pl.String, "seconds": pl.Float64}


def picture_seconds(source: str, scores: pl.DataFrame, store: StoreAddress) -> pl.DataFrame:
    """Return how long a build took for each picture: ``prompt_id``, ``picture`` and ``seconds``, as far as known.

    Args:
        source: a folder of `salon bench generate`, a run's id, or a table of scores, which has no times.
        scores: of the run.
        store: of the run.
    """
    if (Path(source) / MANIFEST).is_file():
        rows = [(row.prompt_id, str(row.path), row.seconds) for row in read_table(Path(source) / MANIFEST)]
        return pl.DataFrame(rows, _SCHEMA, orient="row").drop_nulls()
    if scores.is_empty() or source.lower().endswith(TABLE_ENDINGS):
        return pl.DataFrame(schema=_SCHEMA)
    ids = scores["generation_id"].drop_nulls().unique()
    rows_of = RunView(*located_run(source, store)).read("generations").filter(pl.col("generation_id").is_in(ids.implode()))
    return rows_of.select("prompt_id", picture="generation_id", seconds="seconds").drop_nulls().collect()


def speed(base: pl.DataFrame, new: pl.DataFrame, level: float) -> pl.DataFrame:
    """Return how many times faster the new build is: the ratio of the median prompts' seconds per picture.

    A picture that is the same file in both builds of a store has one row there, with the time of the first: it is left out.

    Args:
        base, new: from :func:`picture_seconds`.
        level: of each end of the interval, by 2,000 bootstraps of prompts.

    Returns:
        One row: ``faster``, ``low``, ``high``, ``base_seconds``, ``new_seconds``, ``prompts``; none where fewer than 4 prompts
        have times in both, or one has taken none.

    Example:
        >>> base = pl.DataFrame({"prompt_id": [*"abcd"], "picture": [*"1234"], "seconds": [2.0, 2.2, 2.0, 2.4]})
        >>> new = base.with_columns(pl.col("seconds") / 2, picture=pl.lit("other"))
        >>> speed(base, new, 0.05).select("faster", "prompts").row(0)
        (2.0, 4)
    """
    same = {*base["picture"]} & {*new["picture"]}
    own = [side.filter(~pl.col("picture").is_in(list(same))) for side in (base, new)]
    means = [side.group_by("prompt_id").agg(pl.col("seconds").mean()) for side in own]
    both = means[0].join(means[1], on="prompt_id", suffix="_new").sort("prompt_id")
    seconds = both.select("seconds", "seconds_new").to_numpy()
    if len(seconds) < _LEAST or not (seconds > 0.0).all():
        return pl.DataFrame(schema=_SPEED)
    drawn = np.random.default_rng(0).integers(0, len(seconds), (_RESAMPLES, len(seconds)))
    medians, resampled = np.median(seconds, axis=0), np.median(seconds[drawn], axis=1)
    low, high = np.quantile(resampled[:, 0] / resampled[:, 1], [level, 1.0 - level])
    row = (medians[0] / medians[1], low, high, *medians, len(seconds))
    return pl.DataFrame([row], _SPEED, orient="row")

"""Export the verdicts of runs as one table: a row per score, or a row per picture.

long    one row per score            wide    one row per picture and task, a column for each dimension
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from salon_bench.runs.status import run_status
from salon_bench.runs.view import RunView
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

_PICTURE: Final = ("run_id", "suite", "judge", "judge_version", "subject_model", "prompt_id", "generation_id", "task")


def exported(store: StoreAddress, run_ids: Sequence[str], *, wide: bool = False) -> pl.DataFrame:
    """Return the scores of runs with their pictures and labels.

    Args:
        store: the results' directory.
        run_ids: which runs; rows keep their ``judge_version``, so several versions stay apart.
        wide: one row per picture and task instead of one per score.

    Returns:
        Columns of the table ``scores``, then ``prompt`` (null where the store has no text of this suite), ``sample``, ``turn``
        (of a conversation), ``uri`` and ``sha256`` of the picture (null for a missing picture), and ``labels``: those that were
        given, in order. Wide: every dimension is a column with its value, and ``<dimension>_unscored`` holds the reason of a
        missing value; dimensions that bear the name of another column get the ending ``_score``. Rows are sorted by their keys.

    Raises:
        InputError: a run is not there, or none is named.
        SalonError: for a directory that is no store.
    """
    if not run_ids:
        raise InputError("name a run", hint="salon bench runs lists them.")
    views = [RunView(store, run_status(store, run_id)) for run_id in dict.fromkeys(run_ids)]
    scores = pl.concat([each.scores for each in views])
    labels = pl.concat([each.assessments for each in views])
    generation_columns = (
        labels.filter(pl.col("present"))
        .group_by("run_id", "generation_id")
        .agg(pl.concat_str("taxonomy", pl.lit("/"), "label").unique().sort().alias("labels"))
    )
    rows = _wide(scores) if wide else scores
    generations = views[0].read("generations").select("generation_id", "sample", "turn", "uri", "sha256").collect()
    return (
        rows.join(_texts(views), on=["run_id", "prompt_id"], how="left")
        .join(generations, on="generation_id", how="left")
        .join(generation_columns, on=["run_id", "generation_id"], how="left")
        .with_columns(pl.col("labels").fill_null([]))
        .sort([name for name in (*_PICTURE, "dimension") if name in rows.columns], nulls_last=True)
    )


def _wide(scores: pl.DataFrame) -> pl.DataFrame:
    names_used = {*_PICTURE, "prompt", "sample", "turn", "uri", "sha256", "labels"}
    columns = []
    names: dict[str, str] = {}
    for dimension in scores["dimension"].unique().sort():
        name = f"{dimension}_score" if dimension in names_used else dimension
        while name in names_used or f"{name}_unscored" in names_used:
            name += "_"
        names_used |= {name, f"{name}_unscored"}
        names[dimension] = name
        mine = pl.col("dimension") == dimension
        columns.append(pl.col("value").filter(mine).first().alias(name))
        columns.append(pl.col("unscored_reason").filter(mine).first().alias(f"{name}_unscored"))
    return scores.group_by(_PICTURE).agg(columns)


def _texts(views: Sequence[RunView]) -> pl.DataFrame:
    schema = {"run_id": pl.String, "prompt_id": pl.String, "prompt": pl.String}
    rows = [(each.run_id, prompt_id, text) for each in views for prompt_id, text in each.prompts.items()]
    return pl.DataFrame(rows, schema=schema, orient="row")

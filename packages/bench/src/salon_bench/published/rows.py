"""The published tables as rows of the result store: one run per table, one score per number about a model."""

import polars as pl

from salon_bench.published.manifest import TEXT_UNIT
from salon_bench.published.tables import cells, tables
from salon_taxonomy.verdict import Reason

_NOT_STATED = "not stated"


def run_id(table_id: str) -> str:
    """The run that a table's rows belong to.

    Example:
        >>> run_id("003:1")
        'published-003-1'
    """
    return f"published-{table_id.replace(':', '-')}"


def run_rows(version: str) -> pl.DataFrame:
    """Rows of the ``runs`` table: one per published table, ``source`` naming paper and table.

    Args:
        version: the version of Salon that imports them.
    """
    rows = [
        {
            "run_id": run_id(each.id),
            "suite": each.spec.benchmark or each.paper.title,
            "judge": each.spec.judge,
            "source": f"{each.paper.citation}: table {each.id.split(':')[1]}",
            "salon_version": version,
        }
        for each in tables()
    ]
    return pl.DataFrame(rows)


def score_rows() -> pl.DataFrame:
    """Rows of the ``scores`` table: every printed number about a model.

    ``dimension`` is the column's name, which is unique in its table; ``task`` is its track where it has one. A cell that
    the paper leaves empty has no ``value`` and the reason ``not_reported``. A judge that the paper does not name is
    ``not stated``.
    """
    titles = {each.id: each.spec.benchmark or each.paper.title for each in tables()}
    about_models = cells().filter(pl.col("model").is_not_null() & (pl.col("unit") != TEXT_UNIT))
    blank = pl.col("value").is_null()
    return about_models.select(
        pl.concat_str(pl.lit("published-"), pl.col("table").str.replace(":", "-")).alias("run_id"),
        pl.coalesce("benchmark", pl.col("table").replace_strict(titles, return_dtype=pl.String)).alias("suite"),
        pl.coalesce("track", "role").alias("task"),
        pl.col("model").alias("subject_model"),
        pl.col("column").alias("dimension"),
        "value",
        pl.when(blank).then(pl.lit(Reason.NOT_REPORTED.value)).otherwise(None).alias("unscored_reason"),
        pl.coalesce("judge", pl.lit(_NOT_STATED)).alias("judge"),
    )

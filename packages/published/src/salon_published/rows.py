"""The published tables as rows of the result store: one run per table, one score per printed number."""

import polars as pl

from salon_published.manifest import TEXT_UNIT
from salon_published.tables import cells, tables
from salon_taxonomy.verdict import Reason

_NOT_STATED = "not stated"


def run_id(table_id: str) -> str:
    """Return the run that a table's rows belong to.

    Example:
        >>> run_id("prism:1")
        'published-prism-1'
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
    """Rows of the ``scores`` table: every printed number of every table.

    ``subject_model`` is the registry's id; for a row that is no model (a label of a data set, a setting, a persona) it is what
    the row is called in the paper, and where several rows of a table are about one model (in several settings) that name
    follows the id in brackets. ``dimension`` is the column's name, which is unique in its table; ``task`` is its track where
    it has one. A cell that the paper leaves empty has no ``value`` and the reason ``not_reported``. A judge that the paper does
    not name is ``not stated``.

    Example:
        >>> supports = score_rows().filter((pl.col("run_id") == "published-magicmirror-5") & (pl.col("dimension") == "test"))
        >>> supports.filter(pl.col("subject_model") == "L2: Abnormal Human Anatomy")["value"].item()
        5645.0
    """
    titles = {each.id: each.spec.benchmark or each.paper.title for each in tables()}
    numbers = cells().filter(pl.col("unit") != TEXT_UNIT)
    blank = pl.col("value").is_null()
    rows_of_model = pl.col("row").n_unique().over("table", "model")
    name = pl.when(rows_of_model > 1).then(pl.format("{} ({})", "model", "key")).otherwise("model")
    return numbers.select(
        pl.concat_str(pl.lit("published-"), pl.col("table").str.replace(":", "-")).alias("run_id"),
        pl.coalesce("benchmark", pl.col("table").replace_strict(titles, return_dtype=pl.String)).alias("suite"),
        pl.coalesce("track", "role").alias("task"),
        pl.when(pl.col("model").is_null()).then("key").otherwise(name).alias("subject_model"),
        pl.col("column").alias("dimension"),
        "value",
        pl.when(blank).then(pl.lit(Reason.NOT_REPORTED.value)).otherwise(None).alias("unscored_reason"),
        pl.coalesce("judge", pl.lit(_NOT_STATED)).alias("judge"),
    )

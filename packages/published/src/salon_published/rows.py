"""Tables of papers and of the ledger as rows of the result store: ``published`` has all cells, ``scores`` generators' only."""

import polars as pl

from salon_published.manifest import RowKind
from salon_published.registry import model, resolve
from salon_published.tables import PublishedTable, all_cells, ledger, tables
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Mode, Winner
from salon_taxonomy.verdict import Reason

_NOT_STATED = "not stated"
_SCORE_ROLES = ("track", "detail", "overall")


def run_id(table_id: str) -> str:
    """Return the run that a table's rows belong to.

    Example:
        >>> run_id("prism:1")
        'published-prism-1'
    """
    return f"published-{table_id.replace(':', '-')}"


def run_rows(version: str) -> pl.DataFrame:
    """Rows of the ``runs`` table: one per published table that has scores of generators, ``source`` naming paper and table.

    Args:
        version: the version of Salon that imports them.
    """
    with_scores = set(_scores_of_generators()["table"])
    rows = [
        {
            "run_id": run_id(each.id),
            "suite": each.spec.benchmark,
            "judge": each.spec.judge,
            "source": f"{each.paper.citation}: table {each.id.split(':')[1]}",
            "salon_version": version,
        }
        for each in _all_tables()
        if each.id in with_scores
    ]
    return pl.DataFrame(rows)


def score_rows() -> pl.DataFrame:
    """Return rows of the ``scores`` table: every printed score of a generator on a benchmark.

    ``subject_model`` is the registry's id, ``suite`` the benchmark, ``task`` the track and ``dimension`` the column's name,
    which is unique in its table. A cell that the paper leaves empty has no ``value`` and the reason ``not_reported``. A judge
    that the paper does not name is ``not stated``. Ranks, counts, ablations, assessors, refiners and whatever a paper built on
    a generator are in :func:`published_rows` only.

    Example:
        >>> score_rows().filter(run_id="published-magicmirror-3", subject_model="flux.1-dev", task="human")["value"].item()
        46.0
    """
    return _scores_of_generators().select(
        pl.concat_str(pl.lit("published-"), pl.col("table").str.replace(":", "-")).alias("run_id"),
        pl.col("benchmark").alias("suite"),
        pl.col("track").alias("task"),
        pl.col("model").alias("subject_model"),
        pl.col("column").alias("dimension"),
        "value",
        pl.when(pl.col("value").is_null()).then(pl.lit(Reason.NOT_REPORTED.value)).otherwise(None).alias("unscored_reason"),
        pl.coalesce("judge", pl.lit(_NOT_STATED)).alias("judge"),
    )


_WINNER_OF = {
    "left_wins": Winner.MODEL_A,
    "right_wins": Winner.MODEL_B,
    "ties": Winner.TIE,
    "both_bad": Winner.BOTH_BAD,
}
"""By the columns of a table of pairs."""
_ANYBODY = "not published"
"""The rater of a vote that a source counts."""


def vote_rows() -> pl.DataFrame:
    """Return rows of the ``battles`` table: one for each vote that an arena's table counts by pair.

    ``suite`` is the arena, ``scenario`` says whether the models were named; who voted is not published.

    Example:
        >>> vote_rows().group_by("suite").len().sort("suite").rows()
        [('GenAI-Arena edit', 83), ('GenAI-Arena t2i', 1977)]
    """
    rows = []
    for sheet in ledger():
        if sheet.spec.rows is RowKind.PAIR:
            for row, (left, right, blind) in enumerate(sheet.keys):
                sides = {"model_a": resolve(left), "model_b": resolve(right)}
                for column, winner in _WINNER_OF.items():
                    for number in range(int(sheet.printed[column][row] or 0)):
                        vote = {"table": sheet.id, "left": left, "right": right, "blind": blind, "winner": winner.value}
                        facts = {"winner": winner.value, "mode": Mode.PUBLIC.value, "rater_id": _ANYBODY}
                        named = "blind" if blind == "yes" else "models named"
                        key = digest("counted-vote", {**vote, "number": number})
                        rows.append({"battle_id": key, "suite": sheet.spec.benchmark, **sides, **facts, "scenario": named})
    return pl.DataFrame(rows)


def published_rows() -> pl.DataFrame:
    """Return rows of the ``published`` table: every cell of every table, as printed.

    Example:
        >>> cell = {"table_id": "magicmirror:5", "row_name": "L2: Abnormal Human Anatomy", "column_name": "test"}
        >>> published_rows().filter(**cell).select("printed", "value", "unit", "row_kind", "column_kind").row(0)
        ('5645', 5645.0, 'count', 'counts', 'count')
    """
    papers = {each.id: each.paper.citation for each in _all_tables()}
    return _cells().select(
        pl.col("table").replace_strict(papers).alias("paper"),
        pl.col("table").alias("table_id"),
        pl.col("key").alias("row_name"),
        pl.col("column").alias("column_name"),
        "printed",
        "value",
        "unit",
        "row_kind",
        pl.col("role").alias("column_kind"),
        "model",
        "benchmark",
        "judge",
    )


def _all_tables() -> tuple[PublishedTable, ...]:
    return (*tables(), *ledger())


def _cells() -> pl.DataFrame:
    kinds = {each.id: each.spec.rows.value for each in _all_tables()}
    return all_cells().with_columns(pl.col("table").replace_strict(kinds).alias("row_kind"))


def _scores_of_generators() -> pl.DataFrame:
    numbers = _cells().filter(pl.col("role").is_in(_SCORE_ROLES), row_kind=RowKind.GENERATOR.value)
    generators = [name for name in numbers["model"].drop_nulls().unique() if model(name).kind == "generator"]
    return numbers.filter(pl.col("model").is_in(generators), pl.col("benchmark").is_not_null())

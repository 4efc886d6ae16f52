"""Derive battles from published scores: compare every two models of a track.

A paper prints a score per model and track. Each *benchmark × track × judge* is taken as one rater who compares every
pair of its models once: the better score wins, equal printed scores are a tie. The battles carry ``mode = derived``, so
they can never be mistaken for votes. ``ledger.py`` ranks them; ``tables.py`` reads the scores.
"""

import polars as pl

from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Mode, Winner

_NEEDED = ("benchmark", "track", "judge", "model", "value", "direction")
_RATER = ("benchmark", "track", "judge")


def rater_id(benchmark: str, track: str, judge: str) -> str:
    """Return the name of the rater that one judge is on one track of one benchmark.

    Example:
        >>> rater_id("PRISM-Bench", "style", "GPT-4.1")
        'PRISM-Bench / style / GPT-4.1'
    """
    return f"{benchmark} / {track} / {judge}"


def derive_battles(scores: pl.DataFrame) -> pl.DataFrame:
    """Compare every pair of models within each benchmark × track × judge.

    Args:
        scores: one row per model and rater, with the columns ``benchmark``, ``track``, ``judge``, ``model``, ``value``
            (null: the paper prints none; the row is left out) and ``direction`` (``higher`` or ``lower`` is better).

    Returns:
        Rows of the ``battles`` table, ordered by rater and models: ``model_a`` comes before ``model_b`` in the alphabet,
        ``suite`` is the benchmark, ``scenario`` the track, ``winner`` is ``model_a``, ``model_b`` or ``tie``. A rater with
        n scored models yields n (n - 1) / 2 battles. Ids are content hashes, so the same scores give the same battles.

    Raises:
        InputError: a column is missing, a direction is neither of the two, or a rater scores a model twice.

    Example:
        >>> scores = pl.DataFrame({
        ...     "benchmark": "B", "track": "t", "judge": "j", "direction": "higher",
        ...     "model": ["y", "x"], "value": [0.7, 0.4],
        ... })
        >>> derive_battles(scores).select("model_a", "model_b", "winner").row(0)
        ('x', 'y', 'model_b')
    """
    return with_ids(compared_pairs(scores))


def compared_pairs(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of :func:`derive_battles` without ids, which a board does not need and which take most of the time."""
    _refuse_bad_scores(scores)
    scored = (
        scores.lazy()
        .drop_nulls("value")
        .with_columns(merit=pl.when(pl.col("direction") == "higher").then("value").otherwise(-pl.col("value")))
    )
    left = scored.select(*_RATER, model_a="model", merit_a="merit")
    right = scored.select(*_RATER, model_b="model", merit_b="merit")
    winner = (
        pl.when(pl.col("merit_a") > pl.col("merit_b"))
        .then(pl.lit(Winner.MODEL_A.value))
        .when(pl.col("merit_a") < pl.col("merit_b"))
        .then(pl.lit(Winner.MODEL_B.value))
        .otherwise(pl.lit(Winner.TIE.value))
    )
    return (
        left.join(right, on=_RATER)
        .filter(pl.col("model_a") < pl.col("model_b"))
        .sort(*_RATER, "model_a", "model_b")
        .select(
            pl.col("benchmark").alias("suite"),
            "model_a",
            "model_b",
            winner.alias("winner"),
            pl.format("{} / {} / {}", *_RATER).alias("rater_id"),
            pl.lit(Mode.DERIVED.value).alias("mode"),
            pl.col("track").alias("scenario"),
        )
        .collect()
    )


def with_ids(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the battles of :func:`compared_pairs` with ``battle_id``, a digest of what each says."""
    texts = pairs.select(pl.concat_str("rater_id", "model_a", "model_b", "winner", separator="\x1f")).to_series()
    ids = [digest("derived-battle", text) for text in texts]
    return pairs.select(pl.Series("battle_id", ids, dtype=pl.String), pl.all())


def _refuse_bad_scores(scores: pl.DataFrame) -> None:
    for column in _NEEDED:
        if column not in scores.columns:
            raise InputError("a column is missing", source="scores", column=column, found=scores.columns)
    known = pl.col("direction").is_in(["higher", "lower"])
    is_wrong = (
        *(pl.any_horizontal(pl.col(*_RATER, "model", "direction").null_count() > 0), (~known).any()),
        pl.struct(*_RATER, "model").is_duplicated().any(),
    )
    if not scores.select(pl.any_horizontal(*is_wrong)).item():
        return
    for column in (*_RATER, "model", "direction"):
        empty = scores.with_row_index("row", offset=1).filter(pl.col(column).is_null())
        if empty.height:
            raise InputError("a value is missing", source="scores", row=empty["row"][0], column=column)
    wrong = scores.with_row_index("row", offset=1).filter(~known)
    if wrong.height:
        row = wrong.row(0, named=True)
        raise InputError(
            "unknown direction",
            source="scores",
            row=row["row"],
            column="direction",
            value=row["direction"],
            allowed=["higher", "lower"],
        )
    twice = scores.group_by(*_RATER, "model", maintain_order=True).len().filter(pl.col("len") > 1)
    if twice.height:
        row = twice.row(0, named=True)
        rater = rater_id(row["benchmark"], row["track"], row["judge"])
        raise InputError("a rater scores a model more than once", source=rater, column="model", value=row["model"])

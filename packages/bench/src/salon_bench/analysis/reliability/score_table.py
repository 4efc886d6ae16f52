"""One number for each item and model, from rows of the store: what every analysis of this package starts from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Missing: TypeAlias = Literal["leave-out", "zero"]
"""What an item without a verdict for some model does: it is left out for all of them, or counts 0 for that one."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of models on the same items, by one judge.

    Attributes:
        dimension: what was scored.
        judge: who scored.
        models: in alphabetical order.
        items: prompt ids, in alphabetical order.
        strata: what each item counts as when subsamples are drawn: its task, of several the first by name.
        values: shape (items, models), finite; more is better.
        left_out: items that are not in the table because a model has no verdict on them.
        unscored: verdicts that were missing, by model, whatever became of them.
    """

    dimension: str
    judge: str
    models: tuple[str, ...]
    items: tuple[str, ...]
    strata: tuple[str, ...]
    values: NDArray[np.float64]
    left_out: int
    unscored: Mapping[str, int]

    @property
    def means(self) -> dict[str, float]:
        """The metric of each model: the mean over the items."""
        return dict(zip(self.models, self.values.mean(axis=0).tolist(), strict=True))


def score_tables(scores: "pl.DataFrame", dimension: str, *, missing: Missing = "leave-out") -> list[ScoreTable]:
    """Return a table for each judge that scored the dimension, judges in alphabetical order.

    Several scores of one model for one item (several samples) are averaged first; one of them without a verdict leaves the
    item without one.

    Args:
        scores: rows with the columns of ``records.Score``.
        dimension: which of them.
        missing: leave out items on which a model has no verdict, or count them 0.

    Raises:
        InputError: no row has that dimension; two versions of a judge are mixed; fewer than two models or items are left.

    Example:
        >>> import polars as pl
        >>> rows = [("a", "1", 1.0), ("a", "2", 0.0), ("b", "1", 0.5), ("b", "2", None)]
        >>> frame = pl.DataFrame(rows, schema=["subject_model", "prompt_id", "value"], orient="row").with_columns(
        ...     dimension=pl.lit("match"), judge=pl.lit("j"), judge_version=pl.lit("1"), task=pl.lit("t"), run_id=pl.lit("r"))
        >>> [table] = score_tables(frame, "match", missing="zero")
        >>> table.means, dict(table.unscored)
        ({'a': 0.5, 'b': 0.25}, {'a': 0, 'b': 1})
    """
    import polars as pl

    mine = scores.filter((pl.col("dimension") == dimension) & pl.col("prompt_id").is_not_null())
    if mine.is_empty():
        allowed = sorted(scores["dimension"].unique())
        raise InputError("the runs have no scores of this dimension", column="dimension", value=dimension, allowed=allowed)
    return [
        _table(mine.filter(pl.col("judge") == judge), dimension, judge, missing) for judge in sorted(mine["judge"].unique())
    ]


def _table(rows: "pl.DataFrame", dimension: str, judge: str, missing: Missing) -> ScoreTable:
    import polars as pl

    _one_version(rows, judge)
    value = pl.when(pl.col("value").is_null().any()).then(None).otherwise(pl.col("value").sort().mean())
    by_prompt = rows.group_by("subject_model", "prompt_id").agg(value.alias("value"))
    models = sorted(by_prompt["subject_model"].unique())
    wide = by_prompt.pivot("subject_model", index="prompt_id", values="value").sort("prompt_id").select("prompt_id", *models)
    tasks = dict(rows.group_by("prompt_id").agg(pl.col("task").min()).iter_rows())
    unscored = {model: wide[model].null_count() for model in models}
    whole = wide.with_columns(pl.col(models).fill_null(0.0)) if missing == "zero" else wide.drop_nulls(models)
    if len(models) < 2 or whole.height < 2:
        counts = f"{len(models)} models and {whole.height} items with a verdict for all of them"
        hint = "Name the runs of at least two models on the same prompts; --unscored zero keeps items without a verdict."
        raise InputError(f"there are {counts} for judge", value=judge, hint=hint)
    return ScoreTable(
        dimension=dimension,
        judge=judge,
        models=tuple(models),
        items=tuple(whole["prompt_id"]),
        strata=tuple(tasks[item] for item in whole["prompt_id"]),
        values=whole.select(models).to_numpy().astype(np.float64),
        left_out=wide.height - whole.height,
        unscored=unscored,
    )


def _one_version(rows: "pl.DataFrame", judge: str) -> None:
    versions = rows["judge_version"].unique().to_list()
    if len(versions) > 1:
        runs = sorted(rows["run_id"].unique())
        hint = "Name runs of one version, or rescore the older ones."
        raise InputError(f"two versions of judge {judge!r} are mixed in the runs", value=runs, hint=hint)

"""Which judged picture each mark of people is of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.correction.pairing import Codes, Floats, groups_of, inverse_weights
from salon_ranking.errors import OptionError

_SOURCES = _PEOPLE, _JUDGE = ("the marks of people", "the scores of the judge")
_KEYS = (("generation_id",), ("prompt_id", "model"))
_ROUNDING = 1e-10
"""Beside a value; what differs less from a mean is equal to it, since sums of decimals are rounded."""


@dataclass(frozen=True, eq=False)
class Marked:
    """Pictures that a judge scored, and marks of people of some of them.

    Attributes:
        models: in ascending order.
        model: of each scored picture by number, shape (N,).
        judged: the judge's score, shape (N,).
        picture: the scored picture of each mark, shape (n,).
        people: the mark, shape (n,).
        weight: of each mark, shape (n,), mean 1: the inverse of the chance that its picture was shown to people.
        groups: clusters of the marks followed by the pictures, shape (n + N,) each: by one column, or by two and their
            crossings.
        clusters: what they are.
        matched_by: what a mark and its picture have in common.
        left_out: how many marks are of pictures that the judge did not score, and how many pictures it did not score.
    """

    models: tuple[str, ...]
    model: Codes
    judged: Floats
    picture: NDArray[np.int64]
    people: Floats
    weight: Floats
    groups: tuple[Codes, ...]
    clusters: tuple[str, ...]
    matched_by: str
    left_out: tuple[int, int]

    def counts(self, model: Codes) -> NDArray[np.int64]:
        """Return how often each model is in ``model``."""
        return np.asarray(np.bincount(model, minlength=len(self.models)), dtype=np.int64)

    def within(self, values: Floats, model: Codes, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weighted mean of each model's values, and the values less it; 0 where they differ by rounding alone."""
        size = len(self.models)
        means: Floats = np.bincount(model, weight * values, size) / np.bincount(model, weight, size)
        rest = values - means[model]
        return means, np.where(np.abs(rest) <= _ROUNDING * np.abs(values), 0.0, rest)


def marked(people: pl.DataFrame, judged: pl.DataFrame, cluster_by: Sequence[str], probability: str | None) -> Marked:
    """Match marks with pictures by ``generation_id`` where both have it in each row, else by ``prompt_id`` and ``model``.

    Raises:
        OptionError: a column is missing, a value is no finite number, a mark is of no judged picture or names another prompt or
            model than it, a picture has two scores, a model has none, a cluster or a probability is missing.
    """
    _check_values(people, _PEOPLE, may_lack=False)
    _check_values(judged, _JUDGE, may_lack=True)
    if "model" not in judged.columns or judged["model"].null_count():
        raise OptionError("each score needs a model", source=_JUDGE, column="model")
    ids = [name for name in ("generation_id", "prompt_id", "model") if name in judged.columns]
    pictures, marks = _as_text(judged, ids), _as_text(people, ids)
    key = _key(marks, pictures)
    twice = pictures.filter(pl.struct(key).is_duplicated())
    if twice.height:
        problem = "a picture has two scores; leave in one judge's, of one dimension:"
        raise OptionError(problem, source=_JUDGE, column=key[0], value=twice[key[0]][0])
    _check_ids(marks, pictures, key)
    scored = pictures.drop("battle", strict=False).drop_nulls("value").with_row_index("battle")
    models = scored["model"].unique().sort().to_list()
    silent = sorted({*pictures["model"]} - {*models})
    if silent:
        raise OptionError("the judge scored no picture of", source=_JUDGE, value=", ".join(silent[:5]))
    of_scored = marks.drop("battle", strict=False)
    of_scored = of_scored.join(scored.select(*key, "battle"), on=key, how="inner", maintain_order="left")
    cluster = tuple(cluster_by) or (("prompt_id",) if "prompt_id" in scored.columns else ())
    for column in cluster:
        _check_cluster(column, of_scored, scored)
    number = {model: place for place, model in enumerate(models)}
    return Marked(
        tuple(models),
        scored["model"].replace_strict(number, return_dtype=pl.UInt32).to_numpy(),
        scored["value"].cast(pl.Float64).to_numpy(),
        of_scored["battle"].cast(pl.Int64).to_numpy(),
        of_scored["value"].cast(pl.Float64).to_numpy(),
        inverse_weights(of_scored, probability, _PEOPLE),
        groups_of(of_scored, scored, cluster, _SOURCES),
        cluster or ("picture",),
        " and ".join(key),
        (marks.height - of_scored.height, pictures.height - scored.height),
    )


def _check_values(frame: pl.DataFrame, source: str, *, may_lack: bool) -> None:
    if "value" not in frame.columns:
        raise OptionError("no such column", source=source, column="value", allowed=frame.columns)
    if not (frame["value"].dtype.is_numeric() or frame["value"].dtype in (pl.Boolean, pl.Null)):
        raise OptionError("not numbers", source=source, column="value", value=str(frame["value"].dtype))
    wrong = frame.select("value").with_row_index("row", 1)
    wrong = wrong.filter(~pl.col("value").cast(pl.Float64).is_finite().fill_null(may_lack))
    if wrong.height:
        problem = f"row {wrong['row'][0]}: no finite number:"
        raise OptionError(problem, source=source, column="value", value=str(wrong["value"][0]))


def _as_text(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    return frame.with_columns(pl.col(name).cast(pl.String) for name in names if name in frame.columns)


def _key(marks: pl.DataFrame, pictures: pl.DataFrame) -> tuple[str, ...]:
    for key in _KEYS:
        if all({*key} <= {*frame.columns} and not any(frame[name].null_count() for name in key) for frame in (marks, pictures)):
            return key
    problem = "marks and scores are matched by generation_id, or by prompt_id and model, given in each row of both; there are"
    raise OptionError(problem, source=_PEOPLE, value=", ".join(marks.columns))


def _check_ids(marks: pl.DataFrame, pictures: pl.DataFrame, key: Sequence[str]) -> None:
    """Check that each mark is of a picture, and names no other prompt or model than it."""
    strays = marks.join(pictures, on=key, how="anti")
    if strays.height:
        what = f"{strays.height} of {marks.height} marks are of no judged picture, such as that of"
        raise OptionError(what, source=_PEOPLE, column=key[0], value=strays[key[0]][0])
    for name in {"prompt_id", "model"} & {*pictures.columns} & {*marks.columns} - {*key}:
        both = marks.select(*key, name).join(pictures.select(*key, pl.col(name).alias("of picture")), on=key)
        wrong = both.filter(pl.col(name) != pl.col("of picture"))
        if wrong.height:
            what = f"{wrong.height} of {marks.height} marks have another {name} than their picture, such as that of"
            raise OptionError(what, source=_PEOPLE, column=key[0], value=wrong[key[0]][0])


def _check_cluster(column: str, marks: pl.DataFrame, scored: pl.DataFrame) -> None:
    if column not in {*marks.columns, *scored.columns}:
        raise OptionError("neither marks nor scores have the column", value=column, allowed=sorted({*marks.columns}))
    if column not in scored.columns and marks[column].null_count():
        raise OptionError("a mark has no cluster", source=_PEOPLE, column=column)

"""Agreement statistics of frames, one row per rating or per pair.

What does not exist is null, with the reason beside it; what was left out because a value was null is counted.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import polars as pl

from salon_ranking.agreement.correlation import kendall, pearson, spearman
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.agreement.kappa import Weights, cohen_kappa
from salon_ranking.agreement.krippendorff import Alpha, Level, alpha_of_ratings
from salon_ranking.files import Frame, as_lazy
from salon_ranking.options import checked

Method: TypeAlias = Literal["pearson", "spearman", "kendall"]
METHODS: dict[Method, Callable[..., float]] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
"""The correlations by name."""


_CORRELATIONS = {"method": pl.String, "value": pl.Float64, "pairs": pl.Int64, "left_out": pl.Int64, "reason": pl.String}


@checked
def correlations(
    frame: Frame, first: str, second: str, *, by: str | None = None, methods: Sequence[Method] = ("spearman", "kendall")
) -> pl.DataFrame:
    """Return correlations of two numeric columns, in all or per group.

    Returns:
        One row per group (in ascending order; one row without ``by``) and method: the column ``by``, ``method``,
        ``value`` (null where it does not exist), ``pairs``, ``left_out`` (rows with a null or NaN), ``reason``.

    Raises:
        AgreementError: a column is missing or holds no numbers, an infinity, or an unknown method.

    Example:
        >>> frame = pl.DataFrame({"judge": [1, 2, 3, 4], "people": [1, 3, 2, None]})
        >>> correlations(frame, "judge", "people", methods=["spearman"]).rows()
        [('spearman', 0.5, 3, 1, None)]
    """
    frame = _has(frame, first, second, *([by] if by is not None else []))
    for method in methods:
        if method not in METHODS:
            raise AgreementError("unknown method", value=method, allowed=METHODS)
    if by in _CORRELATIONS:
        raise AgreementError("the result has a column of that name; rename", source="frame", column=by)
    for column in (first, second):
        if not frame.schema[column].is_numeric():
            raise AgreementError("must hold numbers, not", source="frame", column=column, value=str(frame.schema[column]))
    groups = [(None, frame)] if by is None else sorted(_groups(frame, by), key=lambda group: str(group[0]))
    rows = []
    for name, part in groups:
        both = {"x": pl.col(first), "y": pl.col(second)}
        numeric = part.select(column.cast(pl.Float64).fill_nan(None).alias(name) for name, column in both.items()).drop_nulls()
        x, y = numeric["x"].to_numpy(), numeric["y"].to_numpy()
        for method in methods:
            value, reason = _defined(METHODS[method], x, y)
            rows.append((name, method, value, len(numeric), len(part) - len(numeric), reason))
    group = by or "__group"
    table = pl.DataFrame(rows, schema={group: frame.schema[group] if by else pl.Null, **_CORRELATIONS}, orient="row")
    return table if by else table.drop(group)


@checked
def kappas(
    frame: Frame,
    *,
    thing: str,
    rater: str,
    label: str,
    weights: Weights = "none",
    categories: Sequence[str | int | float] | None = None,
) -> pl.DataFrame:
    """Return Cohen's κ of every pair of raters over the things that both labelled.

    The time grows with the square of the number of raters.

    Args:
        frame: one row per label; a rater labels a thing once. Rows with a null, NaN or blank text are left out.

    Returns:
        Columns ``rater_a``, ``rater_b``, ``things``, ``agreement`` (share of equal labels), ``kappa``, ``reason``; both
        statistics are null where they do not exist. In ascending order of the raters.

    Raises:
        AgreementError: a column is missing, a rater labelled a thing twice, or as :func:`cohen_kappa`.

    Example:
        >>> labels = pl.DataFrame({"p": [1, 1, 2, 2], "who": ["x", "y", "x", "y"], "says": ["ok", "ok", "bad", "bad"]})
        >>> kappas(labels, thing="p", rater="who", label="says").rows()
        [('x', 'y', 2, 1.0, 1.0, None)]
    """
    rows = _ratings(frame, thing, rater, label)
    by_rater = {str(name): part.select("thing", "value") for name, part in _groups(rows, "rater")}
    rows_of_pairs = []
    for one, other in combinations(sorted(by_rater), 2):
        both = by_rater[one].join(by_rater[other], on="thing", how="inner", suffix="_other")
        x, y = both["value"].to_list(), both["value_other"].to_list()

        def kappa(first: list[str], second: list[str]) -> float:
            return cohen_kappa(first, second, weights=weights, categories=categories)

        value, reason = _defined(kappa, x, y)
        same = sum(a == b for a, b in zip(x, y, strict=True)) / len(x) if x else None
        rows_of_pairs.append((one, other, len(x), same, value, reason))
    floats = {"agreement": pl.Float64, "kappa": pl.Float64}
    schema = {"rater_a": pl.String, "rater_b": pl.String, "things": pl.Int64, **floats, "reason": pl.String}
    return pl.DataFrame(rows_of_pairs, schema=schema, orient="row")


@checked
def fleiss_counts(frame: Frame, *, thing: str, label: str) -> pl.DataFrame:
    """Return how often each thing got each label: what :func:`fleiss_kappa` takes.

    Returns:
        The column ``thing`` and one column per label, both in ascending order; rows with a null, NaN or blank text are left
        out.

    Example:
        >>> labels = pl.DataFrame({"p": [1, 1, 2, 2], "says": ["ok", "bad", "ok", "ok"]})
        >>> fleiss_counts(labels, thing="p", label="says").rows()
        [(1, 1, 1), (2, 0, 2)]
    """
    frame = _has(frame, thing, label)
    rows = known_values(frame.select(pl.col(thing).alias("thing"), pl.col(label).alias("label"))).drop_nulls()
    rows = rows.with_columns(pl.col("label").cast(pl.String))
    counted = rows.group_by("thing", "label").len()
    labels = sorted(counted["label"].unique().to_list())
    table = counted.group_by("thing").agg(
        pl.col("len").filter(pl.col("label") == name).sum().cast(pl.Int64).alias(f"count of {name}") for name in labels
    )
    return table.sort("thing").rename({f"count of {name}": name for name in labels if name != "thing"})


@checked
def alpha(frame: Frame, *, thing: str, rater: str, value: str, level: Level = "nominal") -> Alpha:
    """Return Krippendorff's α of a frame with one row per rating; rows with a null, NaN or blank text are left out.

    Args:
        value: numbers for ``ordinal`` and ``interval``; anything for ``nominal``.

    Raises:
        AgreementError: a column is missing, a rater rated a thing twice, or values that are no numbers at a level that needs
            them.
        UndefinedError: as :func:`krippendorff_alpha`.

    Example:
        >>> rows = pl.DataFrame({"p": [1, 1, 2, 2], "who": ["x", "y", "x", "y"], "score": [4, 4, 2, 3]})
        >>> round(alpha(rows, thing="p", rater="who", value="score", level="interval").value, 3)
        0.727
    """
    rows = _ratings(frame, thing, rater, value)
    numeric = rows.schema["value"].is_numeric()
    if level != "nominal" and not numeric:
        problem = f"the level {level} needs numbers, not"
        raise AgreementError(problem, source="frame", column=value, value=str(rows.schema["value"]))
    values = rows["value"].cast(pl.Float64) if numeric else rows["value"].cast(pl.String).rank("dense")
    things = rows["thing"].cast(pl.String).rank("dense").to_numpy()
    return alpha_of_ratings(things, values.to_numpy(), level=level)


def known_values(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with null for NaN and for blank text: a label that is not there is none.

    Example:
        >>> known_values(pl.DataFrame({"says": ["ok", " "], "mark": [float("nan"), 2.0]})).rows()
        [('ok', None), (None, 2.0)]
    """
    blank = pl.col(pl.String).str.strip_chars() == ""
    text = pl.when(~blank).then(pl.col(pl.String))
    return frame.with_columns(text, pl.col(pl.Float32, pl.Float64).fill_nan(None))


def _ratings(frame: Frame, thing: str, rater: str, value: str) -> pl.DataFrame:
    """Return columns ``thing``, ``rater`` and ``value`` without nulls; every rater rated a thing once."""
    frame = _has(frame, thing, rater, value)
    for column in (thing, rater, value):
        if frame.schema[column].is_nested():
            raise AgreementError(
                "must hold one value per row, not", source="frame", column=column, value=str(frame.schema[column])
            )
    named = [pl.col(thing).alias("thing"), pl.col(rater).cast(pl.String).alias("rater"), pl.col(value).alias("value")]
    rows = known_values(frame.select(named)).with_row_index("row", offset=1).drop_nulls()
    twice = rows.filter(~pl.struct("thing", "rater").is_first_distinct())
    if len(twice):
        row, what, who, _ = twice.row(0)
        problem = f"rater {who!r} rated the same thing twice:"
        raise AgreementError(problem, source="frame", row=row, column=thing, value=what)
    return rows.drop("row")


def _groups(frame: pl.DataFrame, by: str) -> list[tuple[object, pl.DataFrame]]:
    return [(key[0], part) for key, part in frame.partition_by(by, as_dict=True).items()]


def _defined(statistic: Callable[..., float], *values: object) -> tuple[float | None, str | None]:
    """Return the value, or null with the reason."""
    try:
        return statistic(*values), None
    except UndefinedError as error:
        return None, error.problem.rstrip(":")


def _has(table: Frame, *columns: str) -> pl.DataFrame:
    frame = as_lazy(table, "frame", AgreementError).collect()
    for column in columns:
        if column not in frame.columns:
            raise AgreementError("missing column", source="frame", value=column, found=frame.columns)
    return frame

"""Selections: named conditions in SQL over the columns of a data set. They change no part, so a threshold is free to move.

quality = "quality_pass"                      a row is kept when every condition holds
sharp   = "sharpness >= 80"                   a null column makes the condition not hold; such rows are counted apart
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from salon_curate.dataset import DataSet, checked_name
from salon_curate.files import publish, publish_text
from salon_curate.stages import Stage, expected_parts
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import IncompleteError, InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

LIGHT: Final = ("key", "sha256", "source", "prompt", "problem")
"""Columns of the shards that a condition may name; pictures and ``meta`` are not among them."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition: its SQL, the columns it names, and its expression."""

    sql: str
    columns: tuple[str, ...]
    expression: "pl.Expr"


@cache
def predicate(sql: str) -> Predicate:
    """Read a condition in SQL.

    Raises:
        InputError: it is no SQL expression, or it names no column.

    Example:
        >>> predicate("sharpness >= 80 AND style > 6").columns
        ('sharpness', 'style')
    """
    import polars as pl

    hint = "Write a condition over columns: sharpness >= 80 AND style >= 7"
    try:
        expression = pl.sql_expr(sql)
        columns = tuple(dict.fromkeys(expression.meta.root_names()))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"is no condition in SQL ({error}):", column="where", value=sql, hint=hint) from error
    if not columns:
        raise InputError("the condition names no column:", column="where", value=sql, hint=hint)
    return Predicate(sql, columns, expression)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a set of conditions keeps.

    Attributes:
        name: of the selection.
        predicates: name → SQL.
        rows: of the data set.
        kept: rows for which every condition holds.
        by_predicate: for each condition, rows that fail it, rows where it is null, and rows that fail only it.
        mask: shape (rows,), in the order of the shards.
    """

    name: str
    predicates: Mapping[str, str]
    rows: int
    kept: int
    by_predicate: Mapping[str, tuple[int, int, int]]
    mask: "NDArray[np.bool_]"


def read_columns(dataset: DataSet, stages: Sequence[Stage], columns: Iterable[str], *, keys: bool = True) -> "pl.LazyFrame":
    """Return columns of all rows, in the order of the shards; with ``keys`` the column ``key`` first.

    Columns of one stage are kept together in ``cache/`` after their first use, so that thresholds can be tried in seconds.

    Raises:
        InputError: no stage writes a column.
        IncompleteError: a stage that writes one of them has not finished.
    """
    import polars as pl

    wanted = [name for name in dict.fromkeys(columns) if name != "key"]
    writer = {column: stage for stage in stages for column in (*stage.writes, stage.problem)}
    unknown = [name for name in wanted if name not in writer and name not in LIGHT]
    if unknown:
        raise InputError("no stage writes the column", value=unknown[0], found=[*LIGHT, *writer])
    expected = expected_parts(dataset, stages)
    light = [*(["key"] if keys else []), *(name for name in wanted if name in LIGHT)]
    frames = []
    if light:
        shards = [f"shards/{shard.name}.parquet" for shard in dataset.shards]
        frames.append(_cached(dataset, "shards", shards, list(LIGHT)).select(light))
    for stage in stages:
        own = [name for name in wanted if writer.get(name) is stage]
        if own:
            frames.append(_cached(dataset, stage.name, [part for part, _ in expected[stage.name]], None).select(own))
    return pl.concat(frames, how="horizontal")


def select(dataset: DataSet, stages: Sequence[Stage], predicates: Mapping[str, str], name: str = "selection") -> Selection:
    """Apply conditions to all rows; nothing is written.

    Raises:
        InputError: a condition is no SQL, names an unknown column, or is not true or false.
        IncompleteError: a stage has not finished.
    """
    import numpy as np

    if not predicates:
        raise InputError("a selection needs at least one condition", hint="Add --where 'sharpness >= 80'.")
    judged = _conditions(dataset, stages, predicates.values())
    failed = np.sum([~judged[sql][0] for sql in predicates.values()], axis=0)
    counts = {}
    for each, sql in predicates.items():
        holds, nulls = judged[sql]
        counts[each] = (int((~holds).sum()) - nulls, nulls, int((~holds & (failed == 1)).sum()))
    mask = failed == 0
    return Selection(name, dict(predicates), len(mask), int(mask.sum()), counts, mask)


def _conditions(
    dataset: DataSet, stages: Sequence[Stage], conditions: Iterable[str]
) -> "dict[str, tuple[NDArray[np.bool_], int]]":
    """For each condition, where it holds, shape (rows,), and for how many rows it is null."""
    import polars as pl

    read = [predicate(sql) for sql in dict.fromkeys(conditions)]
    frame = read_columns(dataset, stages, [column for each in read for column in each.columns], keys=False)
    try:
        found = frame.select(each.expression.alias(f"p{number}") for number, each in enumerate(read)).collect()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"the conditions cannot be applied ({error})", column="where") from error
    for number, each in enumerate(read):
        if found.schema[f"p{number}"] != pl.Boolean:
            raise InputError("a condition must be true or false, not a value:", column="where", value=each.sql)
    columns = [found[f"p{number}"] for number in range(len(read))]
    return {
        each.sql: (column.fill_null(value=False).to_numpy(), column.null_count())
        for each, column in zip(read, columns, strict=True)
    }


def save_selection(dataset: DataSet, stages: Sequence[Stage], selection: Selection) -> Path:
    """Write a selection's conditions, counts and kept keys below ``selections/``.

    Raises:
        StorageError: it cannot be written.
    """
    import polars as pl

    checked_name(selection.name, "selections")
    folder = dataset.folder / "selections"
    keys = read_columns(dataset, stages, []).collect()["key"].filter(pl.Series(selection.mask))
    publish(folder / f"{selection.name}.parquet", lambda path: keys.to_frame().write_parquet(path, compression="zstd"))
    document = {
        "name": selection.name, "predicates": dict(selection.predicates), "rows": selection.rows, "kept": selection.kept,
        "counts": {name: {"failed": f, "null": n, "only": o} for name, (f, n, o) in selection.by_predicate.items()},
    }  # fmt: skip
    publish_text(folder / f"{selection.name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return folder / f"{selection.name}.json"


def saved_predicates(dataset: DataSet, name: str) -> dict[str, str]:
    """Return the conditions of a saved selection.

    Raises:
        InputError: there is none of that name.
    """
    path = dataset.folder / "selections" / f"{checked_name(name, 'selections')}.json"
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["predicates"]
    except (OSError, ValueError, KeyError) as error:
        there = sorted(each.stem for each in path.parent.glob("*.json")) if path.parent.is_dir() else []
        raise InputError("there is no selection", value=name, found=there) from error
    return found


@dataclass(frozen=True, slots=True)
class Moved:
    """How two selections differ: rows that enter and leave, and how many each condition moved."""

    entered: int
    left: int
    by_predicate: Mapping[str, tuple[int, int]]
    keys: "pl.DataFrame"


def diff(dataset: DataSet, stages: Sequence[Stage], old: Mapping[str, str], new: Mapping[str, str]) -> Moved:
    """Return which rows enter and leave between two sets of conditions, and which condition decided.

    A row that leaves is counted under every new condition that it fails, one that enters under every old condition that it
    failed.

    Raises:
        InputError, IncompleteError: as :func:`select`.
    """
    import numpy as np
    import polars as pl

    judged = _conditions(dataset, stages, [*old.values(), *new.values()])
    before, after = (np.logical_and.reduce([judged[sql][0] for sql in each.values()]) for each in (old, new))
    left, entered = before & ~after, ~before & after
    moved: dict[str, tuple[int, int]] = {}
    why: dict[int, list[str]] = {}
    for place, conditions, side in ((0, old, entered), (1, new, left)):
        for name, sql in conditions.items():
            rows = np.flatnonzero(side & ~judged[sql][0]).tolist()
            if rows:
                counts = list(moved.get(name, (0, 0)))
                counts[place] += len(rows)
                moved[name] = (counts[0], counts[1])
                for row in rows:
                    why.setdefault(row, []).append(name)
    either = left | entered
    keys = read_columns(dataset, stages, []).collect()["key"].filter(pl.Series(either))
    by = [", ".join(why[row]) for row in np.flatnonzero(either).tolist()]
    frame = pl.DataFrame({"key": keys, "change": np.where(left[either], "left", "entered"), "by": by})
    return Moved(int(entered.sum()), int(left.sum()), moved, frame)


@dataclass(frozen=True, slots=True)
class YieldCurve:
    """Rows kept at each threshold of one column, the other conditions unchanged.

    Attributes:
        column: that is swept.
        thresholds: ascending; a row is kept when its value is at least the threshold.
        kept: rows at each threshold.
        low, high: Wilson's 95 % interval of kept / rows, for the share in the population that the data set was drawn from.
    """

    column: str
    rows: int
    thresholds: tuple[float, ...]
    kept: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def sweep(
    dataset: DataSet, stages: Sequence[Stage], predicates: Mapping[str, str], columns: Sequence[str], *, points: int = 90
) -> list[YieldCurve]:
    """Return the yield curve of each column: how many rows are kept at ``points`` thresholds between its extremes.

    Conditions that name the swept column are set aside while it is swept.

    Raises:
        InputError: a column is unknown or has no numbers; ``points`` is below 2.
    """
    import numpy as np

    from salon_ranking.uncertainty.proportions import wilson_interval

    if points < 2:
        raise InputError("must be 2 or more", column="points", value=points)
    frame = read_columns(dataset, stages, columns, keys=False).collect() if columns else None
    judged = _conditions(dataset, stages, predicates.values()) if predicates and columns else {}
    curves = []
    for column in columns:
        if frame is None or not frame.schema[column].is_numeric():
            raise InputError("has no numbers to sweep:", column="sweep", value=column)
        others = [holds for sql, (holds, _) in judged.items() if column not in predicate(sql).columns]
        values = frame[column].cast(float).to_numpy()
        known = ~np.isnan(values)
        if not known.any():
            raise InputError("has no values to sweep:", column="sweep", value=column)
        chosen = values[np.logical_and.reduce([known, *others])]
        grid = np.linspace(float(values[known].min()), float(values[known].max()), points)
        place = np.searchsorted(grid, chosen, side="right")  # how many thresholds a value reaches
        kept = len(chosen) - np.cumsum(np.bincount(place, minlength=points + 1))[:points]
        low, high = wilson_interval(kept, np.full(points, len(values)))
        curves.append(
            YieldCurve(
                column, len(values), tuple(grid.tolist()), tuple(kept.tolist()), tuple(low.tolist()), tuple(high.tolist())
            )
        )
    return curves


def _cached(dataset: DataSet, name: str, parts: list[str], columns: list[str] | None) -> "pl.LazyFrame":
    """The rows of many parts in one file; made at first use, named by what is in it."""
    import polars as pl

    path = dataset.folder / "cache" / f"{name}-{digest('curate cache', [*parts, *(s.sha256 for s in dataset.shards)])}.parquet"
    if not path.exists():
        missing = [part for part in parts if not (dataset.folder / part).exists()]
        if missing and columns is not None:
            hint = f"See what else is wrong: salon curate verify {dataset.folder}"
            raise InputError("a shard is missing", source=dataset.folder / missing[0], hint=hint)
        if missing:
            hint = f"Run it: salon curate run {dataset.folder}"
            raise IncompleteError(f"stage {name!r} has not finished: {len(missing)} of {len(parts)} parts are missing. {hint}")
        if not parts:
            raise InputError("the data set has no pictures", source=dataset.folder, hint="salon curate import")
        frame = pl.scan_parquet([dataset.folder / part for part in parts])
        frame = frame if columns is None else frame.select(columns)
        try:
            publish(path, lambda temporary: frame.sink_parquet(temporary, compression="zstd"))
        except pl.exceptions.PolarsError as error:
            hint = f"See which: salon curate verify {dataset.folder}"
            raise InputError(f"a shard or part of {name!r} is damaged", source=dataset.folder, hint=hint) from error
    return pl.scan_parquet(path)

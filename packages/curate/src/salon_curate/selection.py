"""Selections: named conditions in SQL over the columns of a data set. They change no part, so a threshold is free to move.

quality = "quality_pass"                      a row is kept when every condition holds
sharp   = "sharpness >= 80"                   a null column makes the condition not hold; such rows are counted apart

Rows whose file is no picture are left out, and counted under ``readable``, unless a condition names a column of problems.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_curate.dataset import DataSet, checked_name
from salon_curate.files import publish, publish_text
from salon_curate.receipts import RECEIPT, is_as_written, publish_with_receipt
from salon_curate.stages import Stage, expected_parts
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import IncompleteError, InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

LIGHT: Final = ("key", "sha256", "source", "prompt", "problem")
"""Columns of the shards that a condition may name; pictures and ``meta`` are not among them."""

READABLE: Final = "readable"
"""The condition that every selection has beside its own: the picture could be read."""
_READERS: Final = ("salon_curate.measures:look", "salon_curate.clips:watch")
_SHARDS: Final = "shards"


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
        InputError: it is no SQL expression, it names no column, or it depends on other rows (``AVG``, ``RANK``): a selection
            is given all rows and a stage 64 at once, so such a condition would have two meanings.

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
    if not _of_one_row(expression):
        hint = "Compare with a number: find it by salon curate yield --sweep COLUMN."
        raise InputError("the condition depends on other rows:", column="where", value=sql, hint=hint)
    return Predicate(sql, columns, expression)


def _of_one_row(expression: "pl.Expr") -> bool:
    """Return whether an expression's value for a row follows from that row."""
    import polars as pl

    waiting = [expression]
    while waiting:
        node = waiting.pop()
        schema = dict.fromkeys(node.meta.root_names(), pl.Float64)  # some nodes tell what they are only of typed columns
        try:
            if schema and not (node.meta.is_row_separable() and node.meta.is_length_preserving()):
                return False
        except pl.exceptions.ColumnNotFoundError:
            pass
        waiting += node.meta.pop(schema=schema)
    return True


def check_condition(sql: str, types: Mapping[str, Any]) -> None:
    """Check that a condition can be applied to columns of these types, and is true or false.

    Raises:
        InputError: it cannot, or it is a value.
    """
    import polars as pl

    read = predicate(sql)
    try:
        probe = pl.DataFrame(schema={name: types[name] for name in read.columns}).select(read.expression.alias("holds"))
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"the condition cannot be applied ({reason}):", column="where", value=sql) from error
    if probe.schema["holds"] != pl.Boolean:
        hint = "Compare it: sharpness >= 80"
        raise InputError("a condition must be true or false, not a value:", column="where", value=sql, hint=hint)


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


def problem_columns(stages: Sequence[Stage]) -> list[str]:
    """Return the columns that state why a row cannot be read: the import's, and those of ``look`` and ``watch``."""
    return ["problem", *(stage.problem for stage in stages if stage.where in _READERS)]


def readable_condition(stages: Sequence[Stage]) -> str:
    """Return the condition that a row can be read: one of ``look`` and ``watch`` has no problem with it, nor has the import.

    Example:
        >>> readable_condition([])
        'problem IS NULL'
    """
    own, *others = (f"{column} IS NULL" for column in problem_columns(stages))
    return f"{own} AND ({' OR '.join(others)})" if others[1:] else " AND ".join([own, *others])


def with_readable(stages: Sequence[Stage], predicates: Mapping[str, str]) -> dict[str, str]:
    """Return conditions with the one that the picture could be read, unless one of them names a column of problems.

    Example:
        >>> with_readable([], {"sharp": "sharpness >= 80"})
        {'sharp': 'sharpness >= 80', 'readable': 'problem IS NULL'}
        >>> with_readable([], {"broken": "problem IS NOT NULL"})
        {'broken': 'problem IS NOT NULL'}
    """
    problems = problem_columns(stages)
    if any(column in problems for sql in predicates.values() for column in predicate(sql).columns):
        return dict(predicates)
    name = READABLE
    while name in predicates:
        name += "_"
    return {**predicates, name: readable_condition(stages)}


def read_columns(
    dataset: DataSet, stages: Sequence[Stage], columns: Iterable[str], *, keys: bool = True, copies: bool = True
) -> "pl.LazyFrame":
    """Return columns of all rows, in the order of the shards; with ``keys`` the column ``key`` first.

    Columns of one stage are copied together to ``cache/`` at their first use, so that thresholds can be tried in seconds. A
    copy that is not as it was written, or whose parts have changed since, is made again.

    Args:
        dataset: an open data set.
        stages: of its pipeline.
        columns: of the shards (:data:`LIGHT`) or of stages.
        keys: whether ``key`` is read, too.
        copies: read from ``cache/``; without, from the parts themselves, each compared with its receipt.

    Raises:
        InputError: no stage writes a column, or a part is damaged.
        IncompleteError: a stage that writes one of them has not finished.
    """
    import polars as pl

    wanted = list(dict.fromkeys([*(["key"] if keys else []), *columns]))
    writer = {column: stage for stage in stages for column in (*stage.writes, stage.problem)}
    unknown = [name for name in wanted if name not in writer and name not in LIGHT]
    if unknown:
        hint = 'Add a stage that writes it to pipeline.toml (near_duplicate_of: use = "duplicates"), then: salon curate run.'
        raise InputError("no stage writes the column", value=unknown[0], found=[*LIGHT, *writer], hint=hint)
    expected = expected_parts(dataset, stages)
    read = _copied if copies else _parts_of
    light = [name for name in wanted if name in LIGHT]
    frames = []
    if light:
        frames.append(read(dataset, None, _shard_files(dataset)).select(light))
    for stage in stages:
        own = [name for name in wanted if writer.get(name) is stage]
        if own:
            frames.append(read(dataset, stage, [part.path for part in expected[stage.name]]).select(own))
    return pl.concat(frames, how="horizontal")


def select(
    dataset: DataSet,
    stages: Sequence[Stage],
    predicates: Mapping[str, str],
    name: str = "selection",
    *,
    copies: bool = True,
) -> Selection:
    """Apply conditions to all rows; nothing but copies of columns is written.

    Args:
        dataset: an open data set.
        stages: of its pipeline.
        predicates: name → condition in SQL; :func:`with_readable` adds that the picture could be read.
        name: of the selection.
        copies: as of :func:`read_columns`.

    Raises:
        InputError: a condition is no SQL, names an unknown column, or is not true or false.
        IncompleteError: a stage has not finished.
    """
    import numpy as np

    _refuse_empty(predicates)
    predicates = with_readable(stages, predicates)
    judged = _conditions(dataset, stages, predicates.values(), copies=copies)
    failed = np.sum([~judged[sql][0] for sql in predicates.values()], axis=0)
    counts = {}
    for condition, sql in predicates.items():
        holds, nulls = judged[sql][0], int(judged[sql][1].sum())
        counts[condition] = (int((~holds).sum()) - nulls, nulls, int((~holds & (failed == 1)).sum()))
    mask = failed == 0
    return Selection(name, dict(predicates), len(mask), int(mask.sum()), counts, mask)


def _refuse_empty(predicates: Mapping[str, str]) -> None:
    if not predicates:
        raise InputError("a selection needs at least one condition", hint="Add --where 'sharpness >= 80'.")


def _conditions(
    dataset: DataSet, stages: Sequence[Stage], conditions: Iterable[str], *, copies: bool = True
) -> "dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]":
    """For each condition: where it holds, and where it is null, shapes (rows,)."""
    import polars as pl

    read = [predicate(sql) for sql in dict.fromkeys(conditions)]
    frame = read_columns(dataset, stages, [column for each in read for column in each.columns], keys=False, copies=copies)
    types = frame.collect_schema()
    for condition in read:
        check_condition(condition.sql, types)
    try:
        held = frame.select(each.expression.alias(f"p{number}") for number, each in enumerate(read)).collect()
    except pl.exceptions.PolarsError as error:
        if str(error).startswith("parquet"):
            hint = f"`salon curate verify {dataset.folder}` names the file."
            raise InputError(f"a shard or a part is damaged ({error})", source=dataset.folder, hint=hint) from error
        raise InputError(f"the conditions cannot be applied ({error})", column="where") from error
    columns = [held[f"p{number}"] for number in range(len(read))]
    return {
        each.sql: (column.fill_null(value=False).to_numpy(), column.is_null().to_numpy())
        for each, column in zip(read, columns, strict=True)
    }


def state_of(dataset: DataSet, stages: Sequence[Stage], predicates: Mapping[str, str]) -> str:
    """Return a digest of conditions, of the pictures, and of the parts that the conditions read."""
    columns = {column for sql in predicates.values() for column in predicate(sql).columns}
    parts = expected_parts(dataset, stages)
    read = {each.name: [part.path for part in parts[each.name]] for each in stages if columns & {*each.writes, each.problem}}
    shards = [shard.sha256 for shard in dataset.shards]
    return digest("curate selection", {"predicates": dict(predicates), "shards": shards, "parts": read})


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


def saved_predicates(dataset: DataSet, name: str, *, others: Iterable[str] = ()) -> dict[str, str]:
    """Return the conditions of a saved selection.

    Args:
        dataset: that has it.
        name: of the selection.
        others: selections that could have been named as well, such as those of pipeline.toml.

    Raises:
        InputError: there is none of that name; names all that there are.
    """
    path = dataset.folder / "selections" / f"{checked_name(name, 'selections')}.json"
    try:
        predicates: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["predicates"]
    except (OSError, ValueError, KeyError) as error:
        there = sorted({*others, *(each.stem for each in path.parent.glob("*.json"))})
        conditions = "--where 'sharpness >= 80'" if others == {} else "--selection default"
        hint = f"Save one: salon curate select {dataset.folder} --name {name} {conditions}"
        problem = "there is no selection" if others else "there is no saved selection"
        raise InputError(problem, value=name, found=there, hint=hint) from error
    return predicates


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

    _refuse_empty(old)
    _refuse_empty(new)
    old, new = with_readable(stages, old), with_readable(stages, new)
    judged = _conditions(dataset, stages, [*old.values(), *new.values()])
    before, after = (np.logical_and.reduce([judged[sql][0] for sql in each.values()]) for each in (old, new))
    left, entered = before & ~after, ~before & after
    moved: dict[str, tuple[int, int]] = {}
    why: dict[int, list[str]] = {}
    for number, conditions, side in ((0, old, entered), (1, new, left)):
        for name, sql in conditions.items():
            rows = np.flatnonzero(side & ~judged[sql][0]).tolist()
            if rows:
                counts = list(moved.get(name, (0, 0)))
                counts[number] += len(rows)
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
        low, high: Wilson's 95% interval of kept / rows, for the share in the population that the data set was drawn from.
        unknown: rows at each threshold that no condition excludes, but of which one has no value: a stage did not ask,
            or had no answer. A curve that is flat while they grow says nothing about the pictures.
    """

    column: str
    rows: int
    thresholds: tuple[float, ...]
    kept: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    unknown: tuple[int, ...]

    @property
    def note(self) -> str:
        """A sentence on the rows of which a condition has no value; empty without such rows."""
        most = max(self.unknown)
        return f"Not known: a condition has no value for up to {most:,} more rows, as a judge was not asked." if most else ""


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
    if not columns:
        return []
    frame = read_columns(dataset, stages, columns, keys=False).collect()
    judged = _conditions(dataset, stages, with_readable(stages, predicates).values())
    curves = []
    for column in columns:
        if not frame.schema[column].is_numeric():
            raise InputError("has no numbers to sweep:", column="sweep", value=column)
        others = [state for sql, state in judged.items() if column not in predicate(sql).columns]
        values = frame[column].cast(float).to_numpy()
        known, finite = ~np.isnan(values), values[np.isfinite(values)]
        if not len(finite):
            raise InputError("has no values to sweep:", column="sweep", value=column)
        grid = np.linspace(float(finite.min()), float(finite.max()), points)
        holding = np.logical_and.reduce([known, *(holds for holds, _ in others)])
        possible = np.logical_and.reduce([known, *(holds | null for holds, null in others)])
        kept, unknown = _reaching(grid, values[holding]), _reaching(grid, values[possible & ~holding])
        low, high = wilson_interval(kept, np.full(points, len(values)))
        curves.append(YieldCurve(column, len(values), *(tuple(each.tolist()) for each in (grid, kept, low, high, unknown))))
    return curves


def _reaching(grid: "NDArray[np.float64]", values: "NDArray[np.float64]") -> "NDArray[np.int64]":
    """Return how many values are at least each threshold of an ascending grid."""
    import numpy as np

    reached = np.searchsorted(grid, values, side="right")  # how many thresholds a value reaches
    return len(values) - np.cumsum(np.bincount(reached, minlength=len(grid) + 1))[: len(grid)]


def wrong_copies(dataset: DataSet, stages: Sequence[Stage]) -> list[str]:
    """Return which copies of columns differ from what they copy, a sentence each."""
    import polars as pl

    expected = expected_parts(dataset, stages)
    sources = [
        ("shards", _shard_files(dataset)),
        *((each.name, [part.path for part in expected[each.name]]) for each in stages),
    ]
    wrong = []
    for name, files in sources:
        path, state = _copy_path(dataset, name, files), _state_of_files(dataset, files)
        if state is None or not path.exists():
            continue
        try:
            same = is_as_written(path)  # before anything of it is parsed: damage can end the process
            if same and not _is_copy_of(path, state):
                continue  # the next command that reads these columns makes it again
            start = 0
            for file in files if same else []:
                original = pl.read_parquet(dataset.folder / file, columns=list(pl.read_parquet_schema(path)), glob=False)
                same = same and original.equals(pl.scan_parquet(path, glob=False).slice(start, len(original)).collect())
                start += len(original)
            same = same and start == pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            same = False
        if not same:
            wrong.append(f"{path}: is no copy of {name!r}; delete it, the next command makes it again")
    return wrong


def _shard_files(dataset: DataSet) -> list[str]:
    return [f"shards/{shard.name}.parquet" for shard in dataset.shards]


def _copy_path(dataset: DataSet, name: str, files: Sequence[str]) -> Path:
    """Return where the copy of these files lies."""
    return dataset.folder / "cache" / f"{name}-{digest('curate cache', [*files, *(s.sha256 for s in dataset.shards)])}.parquet"


def _state_of_files(dataset: DataSet, files: Sequence[str]) -> str | None:
    """Return a digest of the sizes and times of files; None where one is missing. A file that changes needs another copy."""
    try:
        states = [(dataset.folder / file).stat() for file in files]
    except OSError:
        return None
    return digest("state of files", [[state.st_size, state.st_mtime_ns] for state in states])


def _copied(dataset: DataSet, stage: Stage | None, files: list[str]) -> "pl.LazyFrame":
    """Return the rows of a stage's parts, or of the shards, from one copy, made again if it changed."""
    import polars as pl

    name = _SHARDS if stage is None else stage.name
    path, state = _copy_path(dataset, name, files), _state_of_files(dataset, files)
    if state is not None and path.exists() and _is_whole(path, path.stat().st_mtime_ns, state):
        return pl.scan_parquet(path, glob=False)
    frame = _parts_of(dataset, stage, files)
    if state is None:  # another process has made a part that was missing
        return frame
    try:
        publish_with_receipt(path, {"copy": path.name, "of": state}, partial(frame.sink_parquet, compression="zstd"))
    except pl.exceptions.PolarsError as error:
        raise _damaged(dataset, name) from error
    return pl.scan_parquet(path, glob=False)


def _is_copy_of(path: Path, state: str) -> bool:
    """Return whether a copy of columns is as it was written, under its own name, of files in this state."""
    import polars as pl

    if not is_as_written(path):
        return False
    receipt = json.loads(pl.read_parquet_metadata(path).get(RECEIPT, "{}"))
    return (receipt.get("copy"), receipt.get("of")) == (path.name, state)


@cache
def _is_whole(path: Path, written_at: int, state: str) -> bool:
    """Return whether a copy is as it was written, of files in this state; each is hashed once in a process."""
    return _is_copy_of(path, state)


def _parts_of(dataset: DataSet, stage: Stage | None, files: list[str]) -> "pl.LazyFrame":
    """Return the rows of a stage's parts, each compared with its receipt; without a stage, the light columns of the shards."""
    import polars as pl

    missing = [file for file in files if not (dataset.folder / file).exists()]
    if missing and stage is None:
        hint = f"See what else is wrong: salon curate verify {dataset.folder}"
        raise InputError("a shard is missing", source=dataset.folder / missing[0], hint=hint)
    if stage is not None and missing:
        hint = f"Run it: salon curate run {dataset.folder}"
        unfinished = f"stage {stage.name!r} has not finished: {len(missing)} of {len(files)} parts are missing. {hint}"
        raise IncompleteError(unfinished)
    if not files:
        raise InputError("the data set has no pictures", source=dataset.folder, hint="salon curate import")
    if stage is not None:
        for file, shard in zip(files, dataset.shards, strict=True):
            if (problem := stage.part_problem(dataset.folder / file, shard)) is not None:
                hint = "Delete it; salon curate run makes it again."
                raise InputError(f"is damaged: {problem}", source=dataset.folder / file, hint=hint)
    frame = pl.scan_parquet([dataset.folder / file for file in files], glob=False)
    try:
        frame.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise _damaged(dataset, _SHARDS if stage is None else stage.name) from error
    return frame if stage is not None else frame.select(LIGHT)


def _damaged(dataset: DataSet, name: str) -> InputError:
    return InputError(
        f"a shard or part of {name!r} is damaged",
        source=dataset.folder,
        hint=f"See which: salon curate verify {dataset.folder}",
    )

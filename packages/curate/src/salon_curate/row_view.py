"""The rows of a data set in ``salon view FOLDER``: every picture with its columns, and the conditions that drop it."""

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any, Final

import polars as pl

from salon_console.row_view import RowDetail, RowTable, RowView
from salon_curate.dataset import MANIFEST, DataSet, read_rows
from salon_curate.lineage import why
from salon_curate.pipeline import PIPELINE, Pipeline
from salon_curate.selection import LIGHT, predicate, read_columns, with_readable
from salon_curate.stages import Stage, expected_parts
from salon_taxonomy.errors import InputError

KEPT: Final = "kept"
DROPPED: Final = "dropped"
_MOST_VALUES: Final = 30
"""Values of a column of texts that is offered as a filter."""
_LONGEST_VALUE: Final = 30
_MOST_CHIPS: Final = 8
_EDITED: Final = "\x1f"
"""In front of a key, which has no such character: the picture that was edited into that row's."""
_FIRST_ROWS: Final = 4


class DataSetView(RowView):
    """The pictures of a data set, in the order of its shards. It writes nothing, not even copies of columns.

    Each selection of ``pipeline.toml`` has a column ``selection_NAME``, ``kept`` or ``dropped``, and ``dropped_by_NAME`` with
    the conditions that do not hold; a selection whose stages have not finished has none.

    Args:
        folder: of the data set.
        pipeline: reads its pipeline.
    """

    def __init__(self, folder: Path, pipeline: Callable[[Path], Pipeline]) -> None:
        self.title = f"Data set {folder.name}"
        self._folder = folder
        self._pipeline = pipeline
        self._lock = Lock()
        self._read: tuple[object, RowTable] | None = None

    def rows(self) -> RowTable:
        """Return every picture with the columns of all finished stages."""
        dataset, pipeline = DataSet.open(self._folder), self._pipeline(self._folder)
        finished = _finished(dataset, pipeline.stages)
        state = [
            [(self._folder / name).stat().st_mtime_ns for name in (MANIFEST, PIPELINE)],
            [(stage.name, stage.version) for stage in finished],
        ]
        with self._lock:
            if self._read is None or self._read[0] != state:
                self._read = (state, _table(dataset, pipeline, finished))
            return self._read[1]

    def details(self, key: str) -> Sequence[RowDetail]:
        """Return the conditions with whether they hold, and every stage's values and replies."""
        pipeline = self._pipeline(self._folder)
        row = self.rows().frame.filter(pl.col("key") == key).row(0, named=True)
        details = []
        for name, conditions in pipeline.selections.items():
            dropped = row.get(f"dropped_by_{name}")
            if dropped is not None:
                lines = [
                    f"{'fails' if each in dropped else 'holds'}  {each}: {sql}"
                    for each, sql in with_readable(pipeline.stages, conditions).items()
                ]
                details.append(RowDetail(f"Selection {name}", row[f"selection_{name}"], "\n".join(lines)))
        facts = why(DataSet.open(self._folder), pipeline.stages, key)
        details.append(RowDetail("Import", f"shard {facts['shard']}, row {facts['row']}", facts["meta"] or ""))
        for stage in facts["stages"]:
            judge = f"judge {stage['judge']} {stage['judge_version']}" if "judge" in stage else ""
            about = " · ".join(filter(None, [f"version {stage['version']}", judge, _asked_when(stage)]))
            values = _text(stage["values"]) if "values" in stage else "has not finished"
            details.append(RowDetail(stage["stage"], about, values))
            for reply in stage.get("replies", ()):
                rest = " · ".join(
                    f"{name} {value}" for name, value in reply.items() if name not in ("text", "key") and value is not None
                )
                details.append(RowDetail(f"{stage['stage']}: reply", rest, str(reply.get("text") or "")))
        return details

    def picture(self, name: str) -> bytes | None:
        """Return the bytes of the picture with this key, or of the one that was edited into it."""
        column = "edited" if name.startswith(_EDITED) else "image"
        number = self.rows().frame["key"].index_of(name.removeprefix(_EDITED))
        if number is None:
            return None
        dataset = DataSet.open(self._folder)
        ends = list(accumulate(shard.rows for shard in dataset.shards))
        at = bisect_right(ends, number)
        first = ends[at - 1] if at else 0
        content = read_rows(dataset.shard_path(dataset.shards[at].name), [column], number - first, 1)[column][0]
        return content if isinstance(content, bytes) else None


def _asked_when(stage: Mapping[str, Any]) -> str:
    return f"asked when {stage['when']}" if stage.get("when") else ""


def _text(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, indent=1, default=str)


def _finished(dataset: DataSet, stages: Sequence[Stage]) -> list[Stage]:
    parts = expected_parts(dataset, stages)
    return [stage for stage in stages if all((dataset.folder / part.path).exists() for part in parts[stage.name])]


def _few_short(values: pl.Series) -> bool:
    """Return whether a column's values can be a list to choose from: few, and no sentences."""
    longest = values.cast(pl.String).str.len_chars().max()
    return isinstance(longest, int) and longest <= _LONGEST_VALUE and values.n_unique() <= _MOST_VALUES


def _has_edits(dataset: DataSet, shard: str) -> bool:
    """Return whether the rows of a shard are edits: one import has one kind, and sources are too large to read them all."""
    return read_rows(dataset.shard_path(shard), ["edited"], 0, _FIRST_ROWS)["edited"].is_not_null().any()


def _table(dataset: DataSet, pipeline: Pipeline, finished: Sequence[Stage]) -> RowTable:
    written = [(column, kind) for stage in finished for column, kind in (*stage.writes.items(), (stage.problem, pl.String))]
    names = [column for column, kind in written if kind != pl.List(pl.Binary)]  # files of clips are shown where they are rows
    frame = read_columns(dataset, pipeline.stages, [*LIGHT, *names], copies=False).collect()
    edited = [flag for shard in dataset.shards for flag in [_has_edits(dataset, shard.name)] * shard.rows]
    source = pl.struct(pl.format(_EDITED + "{}", "key").alias("id"), name=pl.lit("source"), chosen=pl.lit(value=False))
    alone = pl.struct(pl.col("key").alias("id"), name=pl.lit(""), chosen=pl.lit(value=False))
    pictures = pl.when(pl.Series(edited)).then(pl.concat_list(source, alone)).otherwise(pl.concat_list(alone))
    frame = frame.with_columns(name=pl.col("key"), text=pl.col("prompt"), pictures=pictures)
    choices: dict[str, str] = {}
    notes, named, green = [], [], {}
    for selection, conditions in pipeline.selections.items():
        every = with_readable(pipeline.stages, conditions)
        read = {name: predicate(sql) for name, sql in every.items()}
        if not all(column in frame.columns for each in read.values() for column in each.columns):
            notes.append(f"Selection {selection}: a stage that its conditions read has not finished.")
            continue
        by, which = f"dropped_by_{selection}", f"selection_{selection}"
        failing = [
            pl.when(each.expression.fill_null(value=False)).then(None).otherwise(pl.lit(name)) for name, each in read.items()
        ]
        try:
            frame = frame.with_columns(pl.concat_list(failing).list.drop_nulls().alias(by))
        except pl.exceptions.PolarsError as error:
            raise InputError(f"the conditions cannot be applied ({error})", source=PIPELINE, value=selection) from error
        frame = frame.with_columns(
            pl.when(pl.col(by).list.len() == 0).then(pl.lit(KEPT)).otherwise(pl.lit(DROPPED)).alias(which)
        )
        choices |= {which: f"Selection {selection}", by: "Dropped by"}
        green[which] = KEPT
        named += [column for each in read.values() for column in each.columns]
        notes.append(f"Selection {selection} keeps {int((frame[which] == KEPT).sum()):,} of {frame.height:,}.")
    chips = [*choices, *named]
    for column in ("source", "problem", *names):
        values = frame[column].drop_nulls()
        if column not in choices and values.dtype in (pl.String, pl.Boolean) and _few_short(values):
            choices[column] = column
    return RowTable(frame, choices, list(dict.fromkeys(chips))[:_MOST_CHIPS] or ["source"], green, notes)

"""How the runs of a store stand: which are finished, which were left, which are being worked on now."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from salon_bench.runs.checkpoint import may_have_parts
from salon_store.journal import journal_path, read_journal
from salon_store.places import place_of
from salon_store.run_names import file_stem
from salon_taxonomy.errors import InputError
from salon_taxonomy.locked_file import is_held
from salon_taxonomy.records import Record, RunEventKind
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl

_Number = TypeVar("_Number", int, float)
_SEGMENT = re.compile(r"~[0-9]+$")
"""The end of the name of a journal that holds replies and rows, not the rows that describe the run (``checkpoint.py``)."""
_COLUMNS: Final = (
    "run_id",
    "suite",
    "subject_model",
    "judge",
    "judge_version",
    "settings",
    "started_at",
    "cases_done",
    "cases_total",
    "calls",
    "detail",
)
"""What a status says as the store has it."""


class RunState(StrEnum):
    """Where a run is in its life."""

    RUNNING = "running"
    """A process is at work on it."""
    UNFINISHED = "unfinished"
    """It was stopped or killed; a resume continues."""
    FINISHED = "finished"
    """Every case has its rows."""
    IMPORTED = "imported"
    """Its rows were made elsewhere."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One run of a store. Cases are those of its latest event, calls and cost the sums over all its starts.

    ``finished``: by its latest event, also while a process works on it. ``waiting``: questions with a reply in a journal that
    is not folded yet; of a run that is running or was killed, they are in none of the other numbers. ``parts``: the shards that
    make this run together, by place; ``part_of``: the run that this shard is part of. ``models``: those under test, of which
    ``subject_model`` is the only one.
    """

    run_id: str
    suite: str
    subject_model: str | None
    judge: str | None
    judge_version: str | None
    state: RunState
    cases_done: int | None
    cases_total: int | None
    calls: int | None
    cost_usd: float | None
    started_at: datetime | None
    last_at: datetime | None
    detail: str | None
    settings: str | None
    finished: bool
    waiting: int = 0
    parts: tuple[str, ...] = ()
    part_of: str | None = None
    models: tuple[str, ...] = ()


def run_statuses(store: StoreAddress) -> list[RunStatus]:
    """Return all runs of a store, oldest first, including those in unfolded journals; runs in shards follow at the end.

    Raises:
        SalonError: for a directory that is no store.
    """
    import polars as pl

    from salon_store import ResultStore

    opened = ResultStore.open(store, create=False, read_only=True)
    journals = opened.journals_waiting()
    waiting = [_run_records(path) for path in journals if not _SEGMENT.search(path.stem)]
    replies: Counter[str] = Counter()
    for path in journals:
        replies[_SEGMENT.sub("", path.stem)] += _replies(path)
    runs, events = (
        _with_rows(opened.read(table), table, [rows[table] for rows in waiting]) for table in ("runs", "run_events")
    )
    events = events.sort("at")
    spent = events.group_by("run_id").agg(
        pl.col("calls").sum(), pl.col("cost_usd").sum(), pl.col("cost_usd").count().alias("priced")
    )
    latest = (
        events.group_by("run_id", maintain_order=True)
        .last()
        .select("run_id", "kind", "at", "cases_done", "cases_total", "detail")
    )
    joined = runs.join(latest, on="run_id", how="left").join(spent, on="run_id", how="left")
    statuses = [
        _status(store, row) for row in joined.sort("started_at", "run_id", nulls_last=False).collect().iter_rows(named=True)
    ]
    return _with_shards([replace(each, waiting=replies[file_stem(each.run_id)]) for each in statuses])


def _with_shards(statuses: list[RunStatus]) -> list[RunStatus]:
    """Return runs and shards, and the runs that shards make together."""
    groups: dict[str, dict[int, RunStatus]] = {}
    counts: dict[str, int] = {}
    for number, status in enumerate(statuses):
        if status.settings is not None and '"whole_id": "' in status.settings:
            try:
                plan = json.loads(status.settings)
                whole_id, (part, count) = str(plan["whole_id"]), map(int, plan["shard"])
            except (ValueError, KeyError, TypeError):  # a store from elsewhere: the run is shown as it is
                continue
            statuses[number] = replace(status, part_of=whole_id)
            groups.setdefault(whole_id, {})[part] = statuses[number]
            counts[whole_id] = count
    return statuses + [_together(name, counts[name], shards) for name, shards in groups.items()]


def _together(run_id: str, count: int, shards: dict[int, RunStatus]) -> RunStatus:
    """Return the run that shards make together: finished when every shard is, its numbers their sums."""
    members = [shards[place] for place in sorted(shards)]
    states = {each.state for each in members}
    finished = len(members) == count and all(each.finished for each in members)
    missing = [str(place) for place in range(1, count + 1) if place not in shards]
    state = RunState.FINISHED if finished else RunState.UNFINISHED
    begun = [each.started_at for each in members if each.started_at is not None]
    last = [each.last_at for each in members if each.last_at is not None]
    return replace(
        members[0],
        run_id=run_id,
        state=RunState.RUNNING if RunState.RUNNING in states else state,
        cases_done=_sum(each.cases_done for each in members),
        cases_total=None if missing else _sum(each.cases_total for each in members),
        calls=_sum(each.calls for each in members),
        cost_usd=_sum(each.cost_usd for each in members),
        started_at=min(begun, default=None),
        last_at=max(last, default=None),
        detail=f"shards that are not begun: {', '.join(missing)} of {count}" if missing else None,
        settings=None,
        finished=finished,
        waiting=sum(each.waiting for each in members),
        parts=tuple(each.run_id for each in members),
        part_of=None,
    )


def _sum(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum of the known numbers, None without any."""
    known = [value for value in values if value is not None]
    return sum(known[1:], start=known[0]) if known else None


def _replies(path: Path) -> int:
    """Return the number of replies in a journal, one line each."""
    try:
        return path.read_bytes().count(b',"table":"judge_calls",')
    except FileNotFoundError:  # folded meanwhile
        return 0


def _run_records(path: Path) -> dict[str, list[Record]]:
    """Return the run facts in a journal; none when it was folded meanwhile."""
    try:
        records = read_journal(path).records
    except FileNotFoundError:
        records = {}
    return {table: records.get(table, []) for table in ("runs", "run_events")}


def _with_rows(stored: "pl.LazyFrame", table: str, waiting: list[list[Record]]) -> "pl.LazyFrame":
    """Return the rows of a table and of journals, each key once."""
    import polars as pl

    from salon_store.checks import frame_of
    from salon_store.schemas import table_schema

    schema = table_schema(table)
    more = frame_of([row for rows in waiting for row in rows], schema)
    return pl.concat([stored, more.lazy()]).unique(schema.key, keep="first", maintain_order=True)


def run_status(store: StoreAddress, run_id: str) -> RunStatus:
    """Return one run.

    Raises:
        InputError: when the store has no such run; names those there are.
    """
    statuses = run_statuses(store)
    for status in statuses:
        if status.run_id == run_id:
            return status
    hint = None if statuses else "A run appears here once it was stopped or is finished."
    raise InputError("there is no run", source=store, value=run_id, allowed=[each.run_id for each in statuses], hint=hint)


def known_run(store: StoreAddress, run_id: str) -> RunStatus | None:
    """Return one run, or None for an unknown one; reads nothing when no file can contain it."""
    if not may_have_parts(store, "runs", run_id):
        return None
    return next((each for each in run_statuses(store) if each.run_id == run_id), None)


def _status(store: StoreAddress, row: dict[str, Any]) -> RunStatus:
    finished = row["kind"] == RunEventKind.FINISHED.value
    return RunStatus(
        **{name: row[name] for name in _COLUMNS},
        cost_usd=row["cost_usd"] if row["priced"] else None,
        last_at=row["at"],
        state=_state(store, row, finished=finished),
        finished=finished,
        models=_models(row),
    )


def _models(row: dict[str, Any]) -> tuple[str, ...]:
    if row["subject_model"] is not None:
        return (str(row["subject_model"]),)
    try:
        return tuple(str(name) for name, _ in json.loads(row["settings"] or "")["subjects"])
    except (ValueError, KeyError, TypeError):  # a run that no suite made
        return ()


def _state(store: StoreAddress, row: dict[str, Any], *, finished: bool) -> RunState:
    if _at_work(store, str(row["run_id"])):
        return RunState.RUNNING
    if finished:
        return RunState.FINISHED
    return RunState.UNFINISHED if row["source"] is None else RunState.IMPORTED


def _at_work(store: StoreAddress, run_id: str) -> bool:
    return is_held(journal_path(place_of(store).layout.journals, run_id))

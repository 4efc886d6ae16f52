"""How the runs of a store stand: which are finished, which were left, which are being worked on now."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.runs.checkpoint import may_have_parts
from salon_store.journal import LockedFile, journal_path, read_journal
from salon_store.places import place_of
from salon_store.run_names import file_stem
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Record, RunEventKind
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl

_SEGMENT = re.compile(r"~[0-9]+$")
"""The end of the name of a journal that holds replies and rows, not what is noted of the run (``ledger.py``)."""


class RunState(StrEnum):
    """Where a run is in its life."""

    RUNNING = "running"
    """A process is at work on it."""
    UNFINISHED = "unfinished"
    """It was stopped or killed; a resume goes on."""
    FINISHED = "finished"
    """Every case has its rows."""
    IMPORTED = "imported"
    """Its rows were made elsewhere."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One run of a store. Cases are those of its latest event, calls and cost the sums over all its starts.

    ``finished``: by its latest event, also while a process works on it. ``waiting``: questions with a reply in a journal that
    is not folded yet; of a run that is running or was killed, they are in none of the other numbers.
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


def run_statuses(store: StoreAddress) -> list[RunStatus]:
    """Return all runs of a store, oldest first, including those in unfolded journals.

    Raises:
        SalonError: for a directory that is no store.
    """
    import polars as pl

    from salon_store import ResultStore

    opened = ResultStore.open(store, create=False, read_only=True)
    journals = opened.journals_waiting()
    waiting = [_noted(path) for path in journals if not _SEGMENT.search(path.stem)]
    replies: Counter[str] = Counter()
    for path in journals:
        replies[_SEGMENT.sub("", path.stem)] += _replies(path)
    runs, events = (_with(opened.read(table), table, [rows[table] for rows in waiting]) for table in ("runs", "run_events"))
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
    found = [
        _status(store, row) for row in joined.sort("started_at", "run_id", nulls_last=False).collect().iter_rows(named=True)
    ]
    return [replace(each, waiting=replies[file_stem(each.run_id)]) for each in found]


def _replies(path: Path) -> int:
    """How many questions' replies a journal holds: a line for each."""
    try:
        return path.read_bytes().count(b',"table":"judge_calls",')
    except FileNotFoundError:  # folded meanwhile
        return 0


def _noted(path: Path) -> dict[str, list[Record]]:
    """What a journal says of its run; nothing when it was folded meanwhile."""
    try:
        found = read_journal(path).records
    except FileNotFoundError:
        found = {}
    return {table: found.get(table, []) for table in ("runs", "run_events")}


def _with(stored: "pl.LazyFrame", table: str, waiting: list[list[Record]]) -> "pl.LazyFrame":
    """The rows of a table and of journals, each key once."""
    import polars as pl

    from salon_store.checks import frame_of
    from salon_store.schemas import table_schema

    schema = table_schema(table)
    more = frame_of([row for rows in waiting for row in rows], schema)
    return pl.concat([stored, more.lazy()]).unique(schema.key, keep="first", maintain_order=True)


def run_status(store: StoreAddress, run_id: str) -> RunStatus:
    """One run.

    Raises:
        InputError: when the store has no such run; names those there are.
    """
    found = run_statuses(store)
    for each in found:
        if each.run_id == run_id:
            return each
    hint = None if found else "A run appears here once it was stopped or is finished."
    raise InputError("there is no run", source=store, value=run_id, allowed=[each.run_id for each in found], hint=hint)


def known_run(store: StoreAddress, run_id: str) -> RunStatus | None:
    """One run, or None when the store has never heard of it; reads nothing when no file can hold it."""
    if not may_have_parts(store, "runs", run_id):
        return None
    return next((each for each in run_statuses(store) if each.run_id == run_id), None)


def _status(store: StoreAddress, row: dict[str, object]) -> RunStatus:
    shown = {
        name: row[name] for name in ("run_id", "suite", "subject_model", "judge", "judge_version", "settings", "started_at")
    }
    counts = {name: row[name] for name in ("cases_done", "cases_total", "calls", "detail")}
    cost = row["cost_usd"] if row["priced"] else None
    ended = row["kind"] == RunEventKind.FINISHED.value
    state = _state(store, row, finished=ended)
    return RunStatus(**shown, **counts, cost_usd=cost, last_at=row["at"], state=state, finished=ended)  # type: ignore[arg-type]


def _state(store: StoreAddress, row: dict[str, object], *, finished: bool) -> RunState:
    if _at_work(store, str(row["run_id"])):
        return RunState.RUNNING
    if finished:
        return RunState.FINISHED
    return RunState.UNFINISHED if row["source"] is None else RunState.IMPORTED


def _at_work(store: StoreAddress, run_id: str) -> bool:
    path = journal_path(place_of(store).layout.journals, run_id)
    if not path.exists():
        return False
    file = LockedFile.opened(path, create=False)
    if file is not None:
        file.close()
    return file is None and path.exists()

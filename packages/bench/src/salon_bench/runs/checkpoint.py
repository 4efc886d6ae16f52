"""Record replies and rows of a run on the disk before they count, so that none is asked for twice.

    ask ──► reply ──► row of judge_calls in the journal ──► verdict ──► rows of the case in the journal
                          │ 16 MB: a new segment, the full one is folded into parts meanwhile
                          └ after a crash: folded, read, and given back instead of asking again

A row counts as had when the operating system has taken it: it outlives ``kill -9`` of this process. It is flushed to the
disk every second, so a power cut can cost the replies of the last second, which are then asked for again.

One journal, named as the run, is held from beginning to end: it is the run's lock. The many rows go to its *segments*,
``<run>~1``, ``<run>~2``, …, so that the memory of a run does not grow with its length.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from threading import Thread
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from salon_judges.asking.asker import StoredReply
from salon_judges.asking.stored_tokens import tokens_of
from salon_store.errors import StoreError
from salon_store.journal import Journal
from salon_store.places import place_of
from salon_store.recording import open_journal
from salon_store.run_names import file_stem, may_hold
from salon_taxonomy.locked_file import LockedFile
from salon_taxonomy.protocols import Reply, Usage
from salon_taxonomy.records import TABLES, CallStatus, Finish, Record
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl

Fold: TypeAlias = Callable[[StoreAddress], None]
"""Opens the store, which folds every journal whose writer released it: :func:`fold_here` or :func:`fold_apart`."""

_CHILD = "import sys; from salon_bench.runs.checkpoint import child; sys.exit(child(sys.argv[1]))"
SEGMENT_BYTES = 16 << 20
_POLL_SECONDS = 0.02
_TABLE_OF = {kind: table for table, kind in TABLES.items()}


class RunCheckpoint:
    """The journal of one run, open for writing, and the replies of its earlier starts.

    Not for several threads. Close it in any case: what was recorded is folded then.

    Attributes:
        replayed: the number of questions that earlier starts of the run have asked.
    """

    def __init__(
        self, store: StoreAddress, run_id: str, control: Journal, stored: Mapping[str, StoredReply], fold: Fold
    ) -> None:
        self.store = store
        self.run_id = run_id
        self.replayed = len(stored)
        self._control = control
        self._stored = stored
        self._fold = fold
        self._segment: Journal | None = None
        self._segments = 0
        self._folding: Thread | None = None
        self._failed: list[StoreError] = []

    @classmethod
    def open(cls, store: StoreAddress, run_id: str, fold: Fold, *, replies_of: str | None = None) -> Self:
        """Lock the run for this process, and read its stored replies, or those of another run.

        Raises:
            JournalInUseError: when another process is at work on this run.
            SalonError: for a directory that is no store, or cannot be written.
        """
        control = open_journal(store, run_id, alone=True)
        if control is None:  # a dead writer's
            fold(store)
            control = open_journal(store, run_id, alone=True)
            if control is None:
                raise StoreError(f"{store}: what an earlier start of run {run_id!r} left behind cannot be folded")
        try:
            if _segments_left(store, run_id):
                fold(store)
            return cls(store, run_id, control, stored_replies(store, replies_of or run_id), fold)
        except BaseException:
            control.leave()
            raise

    def known(self, call_id: str) -> StoredReply | None:
        """Return the stored reply of an earlier start to a question; None: it was never asked."""
        return self._stored.get(call_id)

    def note(self, table: str, rows: Record | Iterable[Record]) -> None:
        """Record rows about the run itself (runs, run_events, prompts)."""
        self._control.add(table, rows)

    def record(self, rows: Iterable[Record]) -> None:
        """Record rows of any tables; they outlive this process when this returns.

        Raises:
            StoreError: when the operating system refuses (a full disk), or an earlier segment could not be folded.
        """
        ordered = sorted(rows, key=lambda row: _TABLE_OF[type(row)])
        for table, group in groupby(ordered, key=lambda row: _TABLE_OF[type(row)]):
            if self._segment is None or self._segment.size >= SEGMENT_BYTES:
                self._next_segment()
            if self._segment is not None:
                self._segment.add(table, list(group))

    def sync(self) -> None:
        """Flush to the disk; may be called from another thread."""
        for journal in (self._control, self._segment):
            if journal is not None and not journal.closed:
                journal.sync()

    def close(self) -> None:
        """Release the run and fold its journal. A second call does nothing.

        Raises:
            StoreError: when folding failed; the rows are kept and folded when the store is opened next.
        """
        if self._control.closed:
            return
        written = self._control.lines > 0 or self._segment is not None
        if self._segment is not None:
            self._segment.leave()
        if self._folding is not None:
            self._folding.join()
        self._control.leave()
        if written:
            self._fold(self.store)

    def _next_segment(self) -> None:
        if self._failed:
            raise self._failed[0]
        if self._segment is not None:
            if self._folding is not None:
                self._folding.join()  # one at a time: a disk that is slower than the judge slows the run down
            self._segment.leave()
            self._folding = Thread(target=self._fold_behind, name="salon-fold", daemon=True)
            self._folding.start()
        self._segments += 1
        self._segment = open_journal(self.store, f"{self.run_id}~{self._segments}")
        if self._segment is None:
            raise StoreError(f"{self.store}: a journal of run {self.run_id!r} was left behind; resume the run")

    def _fold_behind(self) -> None:
        try:
            self._fold(self.store)
        except StoreError as error:
            self._failed.append(error)


def stored_replies(store: StoreAddress, run_id: str) -> dict[str, StoredReply]:
    """Return every question of a run in the store, by ``call_id``.

    Nothing is loaded to find out that a new run has none.
    """
    if not may_have_parts(store, "judge_calls", run_id):
        return {}
    return {row["call_id"]: _remembered(row) for row in _last_attempts(store, run_id).iter_rows(named=True)}


def may_have_parts(store: StoreAddress, table: str, run_id: str) -> bool:
    """Return whether a table has files that may contain rows of the run, judged by their names."""
    return any(may_hold(name, run_id) for name in place_of(store).listing(table))


def _last_attempts(store: StoreAddress, run_id: str) -> "pl.DataFrame":
    import polars as pl

    from salon_store import ResultStore

    calls = ResultStore.open(store, read_only=True).read("judge_calls").filter(pl.col("run_id") == run_id)
    needed = ["call_id", "attempt", "status", "finish", "response_text", "error", "http_status"]
    needed += ["prompt_tokens", "completion_tokens", "cost_usd", "tokens"]
    return calls.select(needed).sort("call_id", "attempt").unique("call_id", keep="last", maintain_order=True).collect()


def _remembered(row: Mapping[str, Any]) -> StoredReply:
    reply = Reply(
        text=str(row["response_text"] or ""),
        status=CallStatus(str(row["status"])),
        finish=Finish(str(row["finish"])) if row["finish"] else Finish.UNKNOWN,
        usage=Usage(),
        tokens=tokens_of(row["tokens"]),
        http_status=row["http_status"],
        error=None if row["error"] is None else str(row["error"]),
        cached=True,
    )
    attempts = row["attempt"]
    return StoredReply(attempts if isinstance(attempts, int) else 1, reply)


def _segments_left(store: StoreAddress, run_id: str) -> bool:
    """Return whether segments of earlier starts exist; waits for a process that is still folding one."""
    directory = place_of(store).layout.journals
    left = False
    for path in sorted(directory.glob(f"{file_stem(run_id)}~*.jsonl")):
        while True:
            file = LockedFile.opened(path, create=False)
            if file is not None:
                file.close()
                left = True
                break
            if not path.exists():
                break
            time.sleep(_POLL_SECONDS)
    return left


def fold_here(store: StoreAddress) -> None:
    """Fold the journals of a store in this process.

    Raises:
        SalonError: for a directory that is no store, or that cannot be written.
    """
    from salon_store import ResultStore

    ResultStore.open(store)


def fold_apart(store: StoreAddress) -> None:
    """Fold the journals of a store in a second process, which Ctrl-C does not reach, and wait for it.

    The libraries that read and write tables take five times the memory of asking judges and hold the interpreter while
    they work; a run that is still asking therefore folds this way.

    Raises:
        StoreError: when it fails; the journals are still there.
    """
    done = subprocess.run(  # noqa: S603  (this interpreter, a fixed program)
        [sys.executable, "-c", _CHILD, str(store)], capture_output=True, text=True, check=False, start_new_session=True
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with {done.returncode}"]
        raise StoreError(f"{store}: the rows are safe in the journal, but could not be folded into parts: {last[0]}")


def child(store: str) -> int:
    """Fold a store and return the exit code; the second process of :func:`fold_apart` calls it."""
    from salon_store import ResultStore
    from salon_taxonomy.errors import SalonError

    try:
        ResultStore.open(store)
    except SalonError as error:
        sys.stderr.write(json.dumps(str(error)) + "\n")
        return 2
    return 0

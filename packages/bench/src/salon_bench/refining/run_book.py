"""The book of a run that is no suite's: its row, its events and its ledger, opened and closed together.

Used where pictures are made (editing, refining); runs of suites have ``running/start.py`` for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from salon_bench.running.ledger import Fold, Ledger
from salon_bench.running.standing import known_run
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Run, RunEvent, RunEventKind


@dataclass(slots=True)
class RunBook:
    """One start of a run.

    Attributes:
        ledger: where replies and rows go.
        begun: an earlier start is known.
        total: how many things are to be done.
        done: how many of them are.
        calls: requests sent since this start.
    """

    ledger: Ledger
    begun: bool
    total: int
    done: int = 0
    calls: int = 0


@contextmanager
def opened_book(store: Path, row: Run, fold: Fold, total: int) -> Iterator[RunBook]:
    """Take a run for this process; whatever happens within, what was had is in the store afterwards.

    The run is finished when ``done`` reaches ``total``; else it stands as stopped, and a later start goes on.

    Raises:
        JournalInUseError: when another process is at work on the run.
        SalonError: for a directory that is no store.
    """
    ledger = Ledger.open(store, row.run_id, fold)
    try:
        before = known_run(store, row.run_id)
        if before is None:
            ledger.note("runs", row)
        book = RunBook(ledger, before is not None, total)
        at_work = before is None or not before.finished
        if at_work:
            ledger.note("run_events", _event(row.run_id, book, RunEventKind.RESUMED if before else RunEventKind.STARTED))
        try:
            yield book
        finally:
            if at_work or book.calls:
                complete = book.done >= book.total
                ledger.note("run_events", _event(row.run_id, book, RunEventKind.FINISHED if complete else RunEventKind.STOPPED))
    finally:
        ledger.close()


def _event(run_id: str, book: RunBook, kind: RunEventKind) -> RunEvent:
    at = datetime.now(UTC)
    key = digest("run_event", {"run": run_id, "kind": kind.value, "at": at})
    return RunEvent(
        event_id=key, run_id=run_id, kind=kind, at=at, cases_done=book.done, cases_total=book.total, calls=book.calls
    )

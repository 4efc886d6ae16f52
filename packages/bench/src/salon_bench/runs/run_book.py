"""The book of a run that is no suite's: its row, its events, its ledger and its limits, opened and closed together.

Used where pictures are made (editing, refining); runs of suites have ``running/start.py`` for it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from salon_bench.runs.checkpoint import Checkpoint, Fold
from salon_bench.runs.limits import Limits, Spending
from salon_bench.runs.progress import Nobody, Progress, Watcher
from salon_bench.runs.status import known_run
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Run, RunEvent, RunEventKind
from salon_taxonomy.verdict import Reason

_WATCH_SECONDS = 0.2


@dataclass(slots=True)
class RunBook:
    """One start of a run.

    Attributes:
        ledger: where replies and rows go.
        begun: an earlier start is known.
        total: how many things are to be done.
        spending: the calls of this start, questions and edits, against its limits.
        watcher: told how it goes.
        done: how many things are done.
        open: how many are not, because a call failed.
        reasons: verdicts and pictures that could not be had, by reason.
    """

    checkpoint: Checkpoint
    begun: bool
    total: int
    spending: Spending = field(default_factory=Spending)
    watcher: Watcher = field(default_factory=Nobody)
    done: int = 0
    open: int = 0
    reasons: Counter[Reason] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        """Requests sent since this start."""
        return self.spending.calls

    @property
    def stopped(self) -> str | None:
        """Why nothing more is asked; None while something may be."""
        return self.spending.stopped

    def stop(self, why: str) -> None:
        """Ask nothing more; what is in flight is waited for."""
        self.spending.stopped = self.spending.stopped or why

    def progress(self) -> Progress:
        """How far the run is."""
        spent = self.spending
        return Progress(
            done=self.done,
            open=self.open,
            total=self.total,
            calls=spent.calls,
            attempts=spent.attempts,
            cached=spent.cached,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            cost_usd=spent.cost_usd,
            reasons=Counter(self.reasons),
            seconds=spent.seconds,
        )


@contextmanager
def opened_book(
    store: Path, row: Run, fold: Fold, total: int, *, limits: Limits | None = None, watcher: Watcher | None = None
) -> Iterator[RunBook]:
    """Take a run for this process; whatever happens within, what was had is in the store afterwards.

    The run is finished when ``done`` reaches ``total``; else it stands as stopped, and a later start goes on.

    Raises:
        JournalInUseError: when another process is at work on the run.
        SalonError: for a directory that is no store.
    """
    checkpoint = Checkpoint.open(store, row.run_id, fold)
    try:
        before = known_run(store, row.run_id)
        if before is None:
            checkpoint.note("runs", row)
        book = RunBook(checkpoint, before is not None, total, Spending(limits or Limits()), watcher or Nobody())
        at_work = before is None or not before.finished
        if at_work:
            _note(row.run_id, book, RunEventKind.RESUMED if before else RunEventKind.STARTED)
        try:
            yield book
        finally:
            if at_work or book.calls:
                complete = book.done >= book.total
                _note(row.run_id, book, RunEventKind.FINISHED if complete else RunEventKind.STOPPED)
    finally:
        checkpoint.close()


@asynccontextmanager
async def watched(book: RunBook) -> AsyncIterator[None]:
    """Tell the book's watcher how it goes, every fifth of a second and at the end."""

    async def tell() -> None:
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            book.watcher.progressed(book.progress())

    ticker = asyncio.create_task(tell())
    try:
        yield
    finally:
        ticker.cancel()
        await asyncio.gather(ticker, return_exceptions=True)
        book.watcher.progressed(book.progress())


def _note(run_id: str, book: RunBook, kind: RunEventKind) -> None:
    at = datetime.now(UTC)
    event = RunEvent(
        event_id=digest("run_event", {"run": run_id, "kind": kind.value, "at": at}),
        run_id=run_id,
        kind=kind,
        at=at,
        cases_done=book.done,
        cases_total=book.total,
        calls=book.calls,
        cost_usd=book.spending.cost_usd,
        detail=book.stopped,
    )
    book.checkpoint.note("run_events", event)
    book.watcher.happened(event)

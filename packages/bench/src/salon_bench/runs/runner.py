"""Runs a suite: many cases at once, none lost, memory that does not grow with their number.

The cases come from an iterator and go as soon as they are judged; pictures are prepared in threads for a few cases more
than are being asked about. What is asked and answered stands in ``examination.py``, what is kept in ``ledger.py``.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from salon_bench.media import PictureCache
from salon_bench.runs.case_runner import AskPolicy, CaseResult, CaseRunner, StopAskingError
from salon_bench.runs.checkpoint import Checkpoint
from salon_bench.runs.limits import Limits, Spending
from salon_bench.runs.pictures import narrowed, with_pictures
from salon_bench.runs.progress import Nobody, Progress, Watcher
from salon_bench.suites.contract.suite import Case, Suite
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import TABLES, Generation, Record, RunEvent, RunEventKind
from salon_taxonomy.verdict import Reason, Unscored

_SYNC_SECONDS = 1.0
_WATCH_SECONDS = 0.2
_MOST_THREADS = 4
_AHEAD = 8
_BREATH = 64
_SHELF_BYTES = 32 << 20
_LONGEST_DETAIL = 400


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done at once.

    Attributes:
        concurrency: cases about which a judge is being asked.
        ahead: cases more whose pictures are prepared meanwhile.
        threads: that prepare pictures; None is one per processor, four at most.
    """

    concurrency: int = 32
    ahead: int = _AHEAD
    threads: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("ahead", 0)):
            if getattr(self, name) < least:
                raise InputError(f"must be {least} or more", column=name, value=getattr(self, name))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a start of a run came to.

    Attributes:
        progress: the last of its moments.
        stopped: why no more was asked before the end; None when every case was examined.
        complete: every case has its rows.
    """

    progress: Progress
    stopped: str | None

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be done."""
        return self.stopped is None and self.progress.open == 0


class Runner:
    """One start of a run. ``cases`` is called for a fresh iterator, once to count and once to work.

    Args:
        suite: what is asked.
        cases: makes the iterator over all cases.
        asking: whom, and how persistently.
        ledger: where replies and rows go.
        limits: how far to go.
        pace: how much at once.
        keep_lost: whether the rows of a case stand although a question got no reply (then it is unscored for good);
            otherwise the case stays open and a resume asks again.
        watcher: told how it goes.
        judge_settings: as the plan keeps them; they say what the judge takes of a video.
    """

    def __init__(
        self,
        suite: Suite,
        cases: Callable[[], Iterable[Case]],
        policy: AskPolicy,
        checkpoint: Checkpoint,
        *,
        limits: Limits | None = None,
        pace: Pace | None = None,
        keep_lost: bool = False,
        watcher: Watcher | None = None,
        judge_settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._suite = suite
        self._cases = cases
        self._checkpoint = checkpoint
        self._run_id = policy.context.run_id
        self._pace = pace or Pace()
        self._keep_lost = keep_lost
        self._watcher = watcher or Nobody()
        self._spending = Spending(limits or Limits())
        self._case_runner = CaseRunner(suite, policy, checkpoint, self._spending)
        self._cache = PictureCache(_SHELF_BYTES)
        self._pictures = narrowed(suite.pictures, judge_settings)
        self._gate = asyncio.Semaphore(self._pace.concurrency)
        self._reasons: Counter[Reason] = Counter()
        self._done = self._open = 0
        self._total: int | None = None
        self._stopped: str | None = None
        self._on_examined: list[Callable[[CaseResult], None]] = []

    def stop(self, why: str) -> None:
        """Ask nothing more; what is in flight is waited for. May be called at any time, from the run's own thread."""
        self._stopped = self._spending.stopped = self._stopped or why

    def on_examined(self, listener: Callable[[CaseResult], None]) -> None:
        """Tell somebody of every case that was examined to its end."""
        self._on_examined.append(listener)

    async def run(self) -> Outcome:
        """Examine every case. Whatever happens, what was had is in the ledger, and the run's end is noted there.

        Raises:
            SalonError: when the store or the suite fails; the run can be resumed.
            asyncio.CancelledError: when it was cancelled: the calls in flight are lost.
        """
        self._event(RunEventKind.RESUMED if self._checkpoint.replayed else RunEventKind.STARTED)
        threads = self._pace.threads or min(_MOST_THREADS, os.cpu_count() or 1)
        with ThreadPoolExecutor(threads, thread_name_prefix="salon-pictures") as pool:
            tickers = [asyncio.create_task(self._watch()), asyncio.create_task(self._sync(pool))]
            counting = asyncio.get_running_loop().run_in_executor(pool, self._count)
            try:
                await self._work(pool)
                await counting
            except BaseException as error:
                self.stop(_named(error))
                raise
            finally:
                for ticker in tickers:
                    ticker.cancel()
                await asyncio.gather(*tickers, return_exceptions=True)
                outcome = self._end()
        return outcome

    def _end(self) -> Outcome:
        progress = self._progress()
        outcome = Outcome(progress, self._stopped)
        detail = self._stopped or (f"{self._open} cases got no reply to a question" if self._open else None)
        self._event(RunEventKind.FINISHED if outcome.complete else RunEventKind.STOPPED, detail)
        self._watcher.progressed(progress)
        return outcome

    async def _work(self, pool: ThreadPoolExecutor) -> None:
        cases = iter(self._cases())
        workers = [asyncio.create_task(self._worker(cases, pool)) for _ in range(self._pace.concurrency + self._pace.ahead)]
        try:
            await asyncio.gather(*workers)
        except asyncio.CancelledError:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise
        except BaseException as error:
            self.stop(_named(error))
            await asyncio.gather(*workers, return_exceptions=True)  # replies in flight are paid for: they are kept
            raise

    async def _worker(self, cases: Iterator[Case], pool: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        for number, fresh in enumerate(cases):
            if self._stopped is not None:
                return
            case: Case = fresh
            generations: tuple[Generation, ...] = ()
            if fresh.pictures and fresh.problem is None:
                case, generations = await loop.run_in_executor(pool, with_pictures, fresh, self._pictures, self._cache)
            elif number % _BREATH == 0:
                await asyncio.sleep(0)  # a stretch of stored replies must not keep everybody else waiting
            async with self._gate:
                if self._stopped is not None:
                    return
                try:
                    result = await self._case_runner.examine(case)
                except StopAskingError as reached:
                    self.stop(str(reached))
                    return
            self._keep(result, generations)

    def _keep(self, result: CaseResult, generations: tuple[Generation, ...]) -> None:
        """Write down the rows of a case; those of a case that lost a question wait until it is asked again."""
        self._reasons.update(verdict.reason for verdict in result.verdicts if isinstance(verdict, Unscored))
        if result.lost and not self._keep_lost:
            self._open += 1
            return
        for table, rows in _by_table([*generations, *result.records]):
            self._checkpoint.record(table, rows)
        self._done += 1
        for listener in self._on_examined:
            listener(result)

    def _count(self) -> None:
        self._total = sum(1 for _ in self._cases())

    def _progress(self) -> Progress:
        spent = self._spending
        return Progress(
            done=self._done,
            open=self._open,
            total=self._total,
            calls=spent.calls,
            attempts=spent.attempts,
            cached=spent.cached,
            re_asked=self._case_runner.re_asked,
            extracted=self._case_runner.extracted,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            cost_usd=spent.cost_usd,
            reasons=Counter(self._reasons),
            seconds=spent.seconds,
        )

    def _event(self, kind: RunEventKind, detail: str | None = None) -> None:
        at = datetime.now(UTC)
        event = RunEvent(
            event_id=digest("run_event", {"run": self._run_id, "kind": kind.value, "at": at}),
            run_id=self._run_id,
            kind=kind,
            at=at,
            cases_done=self._done,
            cases_total=self._total or 0,
            calls=self._spending.calls,
            cost_usd=self._spending.cost_usd,
            detail=detail,
        )
        self._checkpoint.note("run_events", event)
        self._watcher.happened(event)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            self._watcher.progressed(self._progress())

    async def _sync(self, pool: ThreadPoolExecutor) -> None:
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            with suppress(ValueError):  # a segment that was closed meanwhile was flushed by that
                await asyncio.get_running_loop().run_in_executor(pool, self._checkpoint.sync)


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL]


def _by_table(records: Iterable[Record]) -> Iterator[tuple[str, list[Record]]]:
    ordered = sorted(records, key=lambda row: _TABLE_OF[type(row)])
    for table, rows in groupby(ordered, key=lambda row: _TABLE_OF[type(row)]):
        yield table, list(rows)


_TABLE_OF = {kind: table for table, kind in TABLES.items()}

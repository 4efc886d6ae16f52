"""Run a suite: many cases at once, every reply on disk before it counts, in bounded memory.

The cases come from an iterator and are dropped once they are judged; pictures are prepared in threads for a few more cases
than are being asked about. One case is judged in ``case_runner.py``; the run around them is ``session.py``.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel

from salon_bench.runs.case_runner import CaseResult, CaseRunner
from salon_bench.runs.checkpoint import Fold, fold_here
from salon_bench.runs.pictures import narrowed, with_pictures
from salon_bench.runs.plan import LoadedPlan
from salon_bench.runs.progress import Watcher
from salon_bench.runs.session import RunSession, SessionResult, opened_models, run_session
from salon_bench.suites.contract.suite import Case, RunContext
from salon_judges.asking.asker import AskPolicy, StopAskingError
from salon_judges.asking.spending import RunLimits
from salon_judges.clients.chat_reply import safe_line
from salon_judges.media import PictureCache, PicturePolicy
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge
from salon_taxonomy.records import Generation
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Unscored

_MOST_THREADS = 4
_AHEAD = 8
_YIELD_EVERY = 64
_CACHE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done at once.

    Attributes:
        concurrency: cases about which a judge is being asked.
        ahead: further cases whose pictures are prepared meanwhile.
        threads: that prepare pictures; None is one per processor, at most four.
    """

    concurrency: int = 32
    ahead: int = _AHEAD
    threads: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("ahead", 0)):
            if getattr(self, name) < least:
                raise InputError(f"must be {least} or more", column=name, value=getattr(self, name))


async def execute(
    planned: LoadedPlan,
    judge: Judge,
    store: StoreAddress,
    *,
    extractor: Judge | None = None,
    limits: RunLimits | None = None,
    pace: Pace | None = None,
    keep_lost: bool = False,
    watcher: Watcher | None = None,
    fold: Fold = fold_here,
    on_start: Callable[[RunSession], None] | None = None,
    on_result: Callable[[CaseResult], None] | None = None,
) -> SessionResult:
    """Run a plan to its end or first limit, from where it was stopped.

    Every reply is in the store afterwards.

    Args:
        planned: what to run (``plan.planned``).
        judge: the judge; an asynchronous context manager is entered and left here.
        store: the results' directory, created when it is missing.
        extractor: restates replies that cannot be parsed; the plan must name it.
        limits: on cost, tokens, calls and time.
        pace: how much at once.
        keep_lost: keep the rows of a case although a question got no reply (it is unscored for good); otherwise the case
            stays open and the next start asks again.
        watcher: receives the progress.
        fold: folds the journals into the store.
        on_start: receives the session before the first question, to be able to stop it.
        on_result: receives every case that was completed.

    Raises:
        FinishedError: every case has its rows already.
        JournalInUseError: another process works on the run.
        SalonError: the store, the suite or a question fails; the run can be resumed.
    """
    plan = planned.plan
    policy = AskPolicy(judge, plan.re_asks, extractor, decoding_seed=plan.decoding_seed)
    prompts = [item.prompt for item in planned.prompts]
    models, row = (judge, extractor), plan.row()
    with run_session(store, row, fold, prompts=prompts, limits=limits, watcher=watcher, models=models) as session:
        planned.digests.save()
        async with opened_models(*models):
            if on_start is not None:
                on_start(session)
            settings = plan.judge_settings or _own_settings(judge)
            return await run_cases(
                planned, policy, plan.context, session, settings, pace=pace, keep_lost=keep_lost, on_result=on_result
            )


def _own_settings(judge: Judge) -> Mapping[str, Any]:
    """Return the settings of a judge that was opened by a program; empty where it has none."""
    settings = getattr(judge, "settings", None)
    return settings.model_dump(mode="json") if isinstance(settings, BaseModel) else {}


async def run_cases(
    planned: LoadedPlan,
    policy: AskPolicy,
    context: RunContext,
    session: RunSession,
    judge_settings: Mapping[str, Any],
    *,
    replies_of: str | None = None,
    pace: Pace | None = None,
    keep_lost: bool = False,
    on_result: Callable[[CaseResult], None] | None = None,
) -> SessionResult:
    """Judge every case of a plan within a session; arguments as for :func:`execute` and :class:`CaseRunner`.

    Raises:
        SalonError: the store or the suite fails; the run can be resumed.
        asyncio.CancelledError: it was cancelled; the calls in flight are lost.
    """
    cases = partial(planned.suite.cases, planned.prompts, planned.generations)
    chosen = pace or Pace()
    pictures = narrowed(planned.suite.pictures, judge_settings)
    threads = chosen.threads or min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads, thread_name_prefix="salon-pictures") as pool:
        counting = asyncio.get_running_loop().run_in_executor(pool, _count, cases, session)
        case_runner = CaseRunner(planned.suite, policy, context, session, replies_of=replies_of)
        workers = _Workers(case_runner, session, pictures, pool, chosen, keep_lost=keep_lost, on_result=on_result)
        async with session.ticking():
            await workers.run(iter(cases()))
            await counting
    return session.outcome()


def _count(cases: Callable[[], Iterable[Case]], session: RunSession) -> None:
    session.total = sum(1 for _ in cases())


class _Workers:
    """Workers that share one iterator of cases; a gate limits how many of them ask at once."""

    def __init__(
        self,
        case_runner: CaseRunner,
        session: RunSession,
        pictures: PicturePolicy,
        pool: ThreadPoolExecutor,
        pace: Pace,
        *,
        keep_lost: bool,
        on_result: Callable[[CaseResult], None] | None,
    ) -> None:
        self._case_runner = case_runner
        self._session = session
        self._pictures = pictures
        self._pool = pool
        self._pace = pace
        self._keep_lost = keep_lost
        self._on_result = on_result
        self._cache = PictureCache(_CACHE_BYTES)
        self._gate = asyncio.Semaphore(pace.concurrency)

    async def run(self, cases: Iterator[Case]) -> None:
        workers = [asyncio.create_task(self._work(cases)) for _ in range(self._pace.concurrency + self._pace.ahead)]
        try:
            await asyncio.gather(*workers)
        except BaseException as error:
            self._session.fail(error)
            if isinstance(error, asyncio.CancelledError):
                for worker in workers:
                    worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)  # replies in flight are paid for: they are kept
            raise

    async def _work(self, cases: Iterator[Case]) -> None:
        loop = asyncio.get_running_loop()
        for number, fresh in enumerate(cases):
            if self._session.stopped is not None:
                return
            case: Case = fresh
            generations: tuple[Generation, ...] = ()
            if fresh.pictures and fresh.problem is None:
                case, generations = await loop.run_in_executor(self._pool, with_pictures, fresh, self._pictures, self._cache)
            elif number % _YIELD_EVERY == 0:
                await asyncio.sleep(0)  # a stretch of stored replies must not block the other workers
            async with self._gate:
                if self._session.stopped is not None:
                    return
                try:
                    result = await self._case_runner.run(case)
                except StopAskingError as reached:
                    self._session.stop(str(reached))
                    return
            self._keep(result, generations)

    def _keep(self, result: CaseResult, generations: tuple[Generation, ...]) -> None:
        """Write the rows of a case; those of a case with a lost question wait until it is asked again."""
        session = self._session
        session.reasons.update(verdict.reason for verdict in result.verdicts if isinstance(verdict, Unscored))
        if result.lost and not self._keep_lost:
            session.open += 1
            session.first_lost = session.first_lost or safe_line(result.lost[0].detail, session.models)
            return
        session.keep([*generations, *result.records])
        session.done += 1
        if self._on_result is not None:
            self._on_result(result)

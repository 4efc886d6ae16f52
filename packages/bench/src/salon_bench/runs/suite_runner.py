"""Run a suite: many cases at once, every reply on disk before it counts, in bounded memory.

The cases come from an iterator and are dropped once they are judged; pictures are prepared in threads for a few more cases
than are being asked about. :class:`CaseRunner` takes one case from its first question to its rows; the run around them is
``session.py``.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

from pydantic import BaseModel

from salon_bench.runs.checkpoint import Fold, RunCheckpoint, fold_here
from salon_bench.runs.pictures import narrowed, with_pictures
from salon_bench.runs.plan import LoadedPlan
from salon_bench.runs.progress import Watcher
from salon_bench.runs.session import RunSession, SessionResult, opened_models, run_session
from salon_bench.suites.contract.suite import Case, Examination, RunContext
from salon_judges.asking.asker import Asker, AskPolicy, Call, ReadReply, StopAskingError, StoredReply
from salon_judges.asking.inquiry import Inquiry, drive_async
from salon_judges.asking.spending import RunLimits
from salon_judges.asking.stored_tokens import tokens_text
from salon_judges.clients.chat_reply import safe_line
from salon_judges.media import PictureCache, PicturePolicy
from salon_taxonomy.answers import Parsed
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question
from salon_taxonomy.records import Finish, Generation, JudgeCall, Record
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Unscored, Verdict

_MOST_THREADS = 4
_AHEAD = 8
_YIELD_EVERY = 64
_CACHE_BYTES = 32 << 20
_OK_HTTP: Final = range(100, 600)


@dataclass(frozen=True, slots=True)
class Pace:
    """The concurrency of a run.

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


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The rows of a case, and the questions without a reply (they are asked again on resume)."""

    case: Case
    records: Sequence[Record]
    lost: tuple[Unscored, ...]
    verdicts: tuple[Verdict[Any], ...]


class Examines(Protocol):
    """The part of a suite that a case runner needs."""

    def examine(self, case: Case) -> Examination:
        """Judge one case (see :data:`~salon_bench.suites.contract.suite.Examination`)."""


class CaseRunner:
    """Examines the cases of one run; may be at work on many at once.

    Args:
        suite: whose questions are asked.
        policy: who is asked, and how often.
        context: the run and judge that rows are written for.
        session: the run.
        replies_of: the run whose stored replies are read; None: this one.
    """

    def __init__(
        self, suite: Examines, policy: AskPolicy, context: RunContext, session: RunSession, *, replies_of: str | None = None
    ) -> None:
        self._suite = suite
        self._context = context
        self._session = session
        self._replies_of = replies_of or context.run_id
        self._asker = Asker(policy, session.spending)

    async def run(self, case: Case) -> CaseResult:
        """Ask the suite's questions about a case, and return its rows.

        Raises:
            StopAskingError: when a limit was reached.
            InputError: for a suite that gives two questions of a case one name, or a question that the judge cannot take.
            StoreError: when replies cannot be written down.
        """
        case = replace(case, context=self._context)
        replies = CaseReplies(case, self._session.checkpoint, self._context, self._replies_of)
        lost: list[Unscored] = []
        verdicts: list[Verdict[Any]] = []

        async def answer(inquiry: Inquiry[Any]) -> Verdict[Any]:
            if case.problem is not None:
                verdict: Verdict[Any] = case.problem
            else:
                result = await self._asker.answer(inquiry, replies)
                verdict = result.verdict
                if result.lost and isinstance(verdict, Unscored):
                    lost.append(verdict)
            verdicts.append(verdict)
            return verdict

        records = tuple(await drive_async(self._suite.examine(case), answer) or ())
        return CaseResult(case, records, tuple(lost), tuple(verdicts))


@dataclass(frozen=True, slots=True)
class CaseReplies:
    """The replies about one case, in the journal of its run."""

    case: Case
    checkpoint: RunCheckpoint
    context: RunContext
    replies_of: str

    def key(self, call: Call) -> str:
        """Return the id of the call: a digest of run, case, step and request."""
        name: dict[str, Digestible] = {
            "run": self.replies_of,
            "case": self.case.case_id,
            "step": call.step,
            "ask": call.ask,
            "request": call.request,
        }
        return digest("judge_call", name)

    def known(self, key: str) -> StoredReply | None:
        """Return what an earlier start learned."""
        return self.checkpoint.known(key)

    def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
        """Write a row for each attempt; they outlive this process when this returns."""
        case, judged = self.case, _judged(self.case, call.question)
        numbered = enumerate(attempts, start=first)
        rows = [
            call_row(attempt, key, call, at, self.context, case.case_id, judged, shown=shown_media(case, call.question))
            for at, attempt in numbered
        ]
        self.checkpoint.record(rows)


def shown_media(case: Case, question: Question) -> str | None:
    """Return role and SHA-256 of the file of each medium of a question as JSON; None for a question without any.

    Example:
        >>> from salon_taxonomy.protocols import Media
        >>> from salon_taxonomy.records import MediaRole, Prompt
        >>> media = Media("0" * 64, uri="cup.png", role=MediaRole.SOURCE)
        >>> case = Case("1", "edits", "ours", Prompt(prompt_id="1", suite="edits", text="fill the cup"), given_media=(media,))
        >>> shown_media(case, Question((media, "Is it full?")))[:24]
        '[["source", "00000000000'
    """
    files = (*case.given, *case.pictures)
    media = (*case.given_media, *case.media)
    # a turn's result is the source of the next turn
    sums: dict[tuple[str, MediaRole | None], str | None]
    sums = {(one.sha256, MediaRole.SOURCE): file.sha256 for one, file in zip(case.media, case.pictures, strict=False)}
    sums |= {(one.sha256, one.role): file.sha256 for one, file in zip(media, files, strict=False)}
    pairs = [[one.role, sums.get((one.sha256, one.role)) or one.sha256] for one in question.media]
    return json.dumps(pairs) if pairs else None


def _judged(case: Case, question: Question) -> str | None:
    """Return the generation of the one turn whose result a question shows, or else that of the case."""
    triples = zip(case.generation_ids, case.media, case.pictures, strict=False)
    generation_ids = [name for name, one, file in triples if file.turn and any(one is each for each in question.media)]
    return generation_ids[0] if len(generation_ids) == 1 else case.generation_id


def call_row(
    attempt: ReadReply,
    call_id: str,
    call: Call,
    number: int,
    context: RunContext,
    case_id: str,
    generation_id: str | None = None,
    *,
    shown: str | None = None,
) -> JudgeCall:
    """Return the row of one attempt of a call."""
    reply, outcome = attempt
    return JudgeCall(
        call_id=call_id,
        run_id=context.run_id,
        judge=context.judge,
        judge_version=context.judge_version,
        case_id=case_id,
        generation_id=generation_id,
        step=call.step,
        request_sha256=call.request,
        attempt=number,
        status=reply.status,
        finish=None if reply.finish == Finish.UNKNOWN else reply.finish,
        cached=reply.cached,
        http_status=reply.http_status if reply.http_status in _OK_HTTP else None,
        latency_ms=reply.latency_ms,
        prompt_tokens=reply.usage.prompt_tokens,
        completion_tokens=reply.usage.completion_tokens,
        cost_usd=reply.usage.cost_usd,
        response_text=reply.text if reply.answered or reply.text else None,
        parse_status="parsed" if isinstance(outcome, Parsed) else outcome.reason.value,
        error=reply.error,
        tokens=tokens_text(reply.tokens),
        shown=shown,
    )


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
        keep_lost: keep the rows of a case although a question got no reply (it is unscored for good), unless the run is stopped
            before its end; otherwise the case stays open and the next start asks again.
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
        self._given_up: list[Sequence[Record]] = []

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
        if self._given_up and self._session.stopped is None:  # else a later start asks again, and its verdicts count
            for records in self._given_up:
                self._session.checkpoint.record(records)
            self._session.done += len(self._given_up)
            self._session.open -= len(self._given_up)
            self._session.first_lost = None

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
        """Write the rows of a case, or keep those of a case with a lost question until the run ends."""
        session = self._session
        session.reasons.update(verdict.reason for verdict in result.verdicts if isinstance(verdict, Unscored))
        if result.lost:
            session.open += 1
            session.first_lost = session.first_lost or safe_line(result.lost[0].detail, session.models)
            if not self._keep_lost:
                return
            self._given_up.append([*generations, *result.records])
        else:
            session.checkpoint.record([*generations, *result.records])
            session.done += 1
        if self._on_result is not None:
            self._on_result(result)

"""One start of a run: its lock, row, events, limits and progress. Suites, refinements and the stages of R³-Bench all use it.

run_session ──► RunSession: checkpoint (rows on disk), spending (limits), watcher (progress) ──► run_events
"""

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

from salon_bench.runs.checkpoint import Fold, RunCheckpoint
from salon_bench.runs.progress import NoWatcher, RunProgress, Watcher
from salon_bench.runs.status import RunStatus, known_run
from salon_judges.asking.spending import RunLimits, Spending
from salon_judges.clients.chat_reply import error_text
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor, Judge
from salon_taxonomy.records import Prompt, Run, RunEvent, RunEventKind, RunPrompt
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason

_WATCH_SECONDS = 0.2
_SYNC_SECONDS = 1.0
_LONGEST_DETAIL = 400
_PROMPTS_AT_ONCE = 500


class FinishedError(InputError):
    """The run is finished, so nothing is left to do. ``status`` is what the store says of it."""

    def __init__(self, status: RunStatus) -> None:
        self.status = status
        super().__init__("this run is finished", value=status.run_id)


@dataclass(frozen=True, slots=True)
class SessionResult:
    """The result of one start of a run.

    Attributes:
        progress: the last counts.
        stopped: why it ended early; None when nothing ended it.
        complete: every case has its rows.
    """

    progress: RunProgress
    stopped: str | None
    complete: bool


@dataclass(slots=True)
class RunSession:
    """One start of a run. Made by :func:`run_session`.

    Attributes:
        run_id: the run.
        checkpoint: where replies and rows go.
        status: what the store says of earlier starts; None for a new run.
        spending: the calls of this start against its limits.
        watcher: receives the progress.
        models: the judges and editors whose secrets are not stored.
        total: how many cases there are; None until they are counted.
        done: cases that have their rows, those of earlier starts included.
        open: cases with a failed call; a later start asks again.
        reasons: missing verdicts by reason.
        first_lost: why the first case with a failed call got no reply, in one line without secrets.
    """

    run_id: str
    checkpoint: RunCheckpoint
    status: RunStatus | None
    spending: Spending
    watcher: Watcher = field(default_factory=NoWatcher)
    models: tuple[Judge | Editor | None, ...] = ()
    total: int | None = None
    done: int = 0
    open: int = 0
    reasons: Counter[Reason] = field(default_factory=Counter)
    first_lost: str | None = None

    @property
    def stopped(self) -> str | None:
        """Why no further question is asked; None while questions are allowed."""
        return self.spending.stopped

    def stop(self, why: str) -> None:
        """Ask no further question; calls in flight are completed. Call it from the thread of the event loop."""
        self.spending.stopped = (self.spending.stopped or why)[:_LONGEST_DETAIL]

    def fail(self, error: BaseException) -> None:
        """Stop as :meth:`stop` does, because of an exception, whose words are stored without secrets."""
        self.stop(error_text(error, self.models))

    def progress(self) -> RunProgress:
        """Return the counts of this moment."""
        spent = self.spending
        return RunProgress(
            done=self.done,
            open=self.open,
            total=self.total,
            calls=spent.calls,
            attempts=spent.attempts,
            cached=spent.cached,
            re_asked=spent.re_asked,
            extracted=spent.extracted,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            cost_usd=spent.cost_usd,
            reasons=Counter(self.reasons),
            first_lost=self.first_lost,
            seconds=spent.seconds,
        )

    def outcome(self) -> SessionResult:
        """Return the result so far."""
        all_done = self.total is not None and self.done >= self.total
        return SessionResult(self.progress(), self.stopped, complete=all_done or (self.stopped is None and self.open == 0))

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Report progress every fifth of a second and flush the checkpoint every second, until the block ends."""
        tickers = [asyncio.create_task(self._watch()), asyncio.create_task(self._sync())]
        try:
            yield
        finally:
            for ticker in tickers:
                ticker.cancel()
            await asyncio.gather(*tickers, return_exceptions=True)

    def note_event(self, kind: RunEventKind, detail: str | None = None) -> None:
        """Write a row of ``run_events``, and pass it to the watcher."""
        at = datetime.now(UTC)
        event = RunEvent(
            event_id=digest("run_event", {"run": self.run_id, "kind": kind.value, "at": at}),
            run_id=self.run_id,
            kind=kind,
            at=at,
            cases_done=self.done,
            cases_total=self.total or 0,
            calls=self.spending.calls,
            cost_usd=self.spending.cost_usd,
            detail=detail,
        )
        self.checkpoint.note("run_events", event)
        self.watcher.happened(event)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            self.watcher.progressed(self.progress())

    async def _sync(self) -> None:
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            with suppress(ValueError):  # a segment that was closed meanwhile was flushed by that
                await asyncio.to_thread(self.checkpoint.sync)


@contextmanager
def run_session(
    store: StoreAddress,
    row: Run,
    fold: Fold,
    *,
    prompts: Iterable[Prompt] = (),
    total: int | None = None,
    limits: RunLimits | None = None,
    watcher: Watcher | None = None,
    models: Sequence[Judge | Editor | None] = (),
    repeat: bool = False,
    replies_of: str | None = None,
) -> Iterator[RunSession]:
    """Lock a run and write its row; at the end write its last event and fold its rows. A started run continues.

    Args:
        store: the results' directory, created when it is missing.
        row: the row of the run, written at its first start.
        fold: folds the journals into the store.
        prompts: rows of ``prompts``, written at the first start.
        total: how many cases there are, where that is known before.
        limits: the limits of this start.
        watcher: receives the progress.
        models: the judges and editors that are asked; their secrets are not stored.
        repeat: accept a finished run; it gets events only when calls were made.
        replies_of: the run whose stored replies are read instead of this one's.

    Raises:
        FinishedError: every case has its rows already, and ``repeat`` is false.
        JournalInUseError: another process works on the run.
        SalonError: the directory is no store.
    """
    checkpoint = RunCheckpoint.open(store, row.run_id, fold, replies_of=replies_of)
    try:
        before = known_run(store, row.run_id)
        finished = before is not None and before.finished
        if before is not None and finished and not repeat:
            raise FinishedError(before)
        if before is None:
            # The run's row last: a start that was killed before it is a first start again, and equal rows are stored once.
            _note_prompts(checkpoint, row.run_id, list(prompts))
            checkpoint.note("runs", row)
        spending = Spending(limits or RunLimits())
        session = RunSession(row.run_id, checkpoint, before, spending, watcher or NoWatcher(), tuple(models), total)
        if not finished:
            session.note_event(RunEventKind.STARTED if before is None else RunEventKind.RESUMED)
        try:
            yield session
        except BaseException as error:
            session.fail(error)
            raise
        finally:
            if not finished or session.spending.calls:
                _end(session)
            session.watcher.progressed(session.progress())
    finally:
        checkpoint.close()


def _end(session: RunSession) -> None:
    complete = session.outcome().complete
    detail = session.stopped or (f"{session.open} cases got no reply to a question" if session.open else None)
    session.note_event(RunEventKind.FINISHED if complete else RunEventKind.STOPPED, None if complete else detail)


def _note_prompts(checkpoint: RunCheckpoint, run_id: str, prompts: Sequence[Prompt]) -> None:
    """Write the prompts under the digest of their content, and which of them the run uses."""
    for first in range(0, len(prompts), _PROMPTS_AT_ONCE):
        some = [keyed_prompt(each) for each in prompts[first : first + _PROMPTS_AT_ONCE]]
        checkpoint.note("prompts", some)
        used = [RunPrompt(run_id=run_id, prompt_id=each.prompt_id, prompt_key=str(each.prompt_key)) for each in some]
        checkpoint.note("run_prompts", used)


def keyed_prompt(prompt: Prompt) -> Prompt:
    """Return a prompt with the digest of its content as its key."""
    content = prompt.model_dump(mode="json", exclude={"prompt_key"})
    return prompt.model_copy(update={"prompt_key": digest("prompt", content)})


@asynccontextmanager
async def opened_models(*models: Judge | Editor | None) -> AsyncIterator[None]:
    """Enter every judge and editor that is an asynchronous context manager, each once, and leave them at the end."""
    async with AsyncExitStack() as stack:
        for model in {id(one): one for one in models}.values():
            if isinstance(model, AbstractAsyncContextManager):
                await stack.enter_async_context(model)
        yield


def run_row(
    run_id: str,
    suite: str,
    *,
    subject: str | None,
    judge: tuple[str, str] | None,
    seed: int | None = None,
    settings: str | Mapping[str, Digestible] | None = None,
    source: str | None = None,
) -> Run:
    """Return the row of a run that starts now.

    Args:
        run_id: the run.
        suite: what is asked.
        subject: the model under test; None for several.
        judge: the judge's name and version.
        seed: of its draws.
        settings: as JSON text, or values to be written as JSON.
        source: where the rows come from, when no judge was asked.
    """
    text = settings if isinstance(settings, str | None) else json.dumps(settings, sort_keys=True, ensure_ascii=False)
    name, judge_version = judge or (None, None)
    return Run(
        run_id=run_id,
        suite=suite,
        subject_model=subject,
        judge=name,
        judge_version=judge_version,
        seed=seed,
        settings=text,
        source=source,
        salon_version=version("salon-bench"),
        started_at=datetime.now(UTC),
    )


def stop_on_signals(session: RunSession, announce: Callable[[str, int], None]) -> None:
    """Stop the session at the first SIGINT or SIGTERM, and cancel the current task at the second.

    Call it in the task that runs the session.

    Args:
        session: the run to stop.
        announce: receives a sentence for the terminal, and the number of the signal.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signals: list[str] = []

    def stop(name: str, number: int) -> None:
        signals.append(name)
        if len(signals) == 1:
            session.stop(f"stopped by {name}")
            announce("Stopping: questions in flight are completed. Ctrl-C again stops at once.", number)
        elif task is not None:
            task.cancel()

    for number, name in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")):
        loop.add_signal_handler(number, stop, name, number)

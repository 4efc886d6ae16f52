"""Starts a run, or goes on with it: takes it for this process, works, and has its rows folded into the store."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from salon_bench.runs.case_runner import AskPolicy
from salon_bench.runs.checkpoint import Checkpoint, Fold
from salon_bench.runs.folding import fold_here
from salon_bench.runs.limits import Limits
from salon_bench.runs.plan import Planned, RunPlan
from salon_bench.runs.progress import Watcher
from salon_bench.runs.runner import Outcome, Pace, Runner
from salon_bench.runs.status import RunStatus, known_run
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge
from salon_taxonomy.records import Run

_PROMPTS_AT_ONCE = 500


class FinishedError(InputError):
    """The run is finished: there is nothing to do but to look at it. ``standing`` is how it stands."""

    def __init__(self, standing: RunStatus) -> None:
        self.standing = standing
        super().__init__("this run is finished", value=standing.run_id)


async def execute(
    planned: Planned,
    judge: Judge,
    store: Path,
    *,
    extractor: Judge | None = None,
    limits: Limits | None = None,
    pace: Pace | None = None,
    keep_lost: bool = False,
    resume: bool = False,
    watcher: Watcher | None = None,
    fold: Fold = fold_here,
    on_start: Callable[[Runner], None] | None = None,
) -> Outcome:
    """Run a plan to its end, or to the first limit; everything that was had is in the store when this returns or raises.

    Args:
        planned: what to run (``plan.planned``).
        judge: whom to ask; one that is an asynchronous context manager is entered and left here.
        store: the results' directory, made when there is none.
        extractor: restates replies that cannot be read; the plan must name it.
        limits: how far to go.
        pace: how much at once.
        keep_lost: see :class:`Runner`.
        resume: go on with a run that was begun before.
        watcher: told how it goes.
        fold: who folds the journals.
        on_start: given the runner before it starts, to be able to stop it.

    Raises:
        FinishedError: when every case has its rows already.
        InputError: when the run was begun before and ``resume`` is false.
        JournalInUseError: when another process is at work on the run.
        SalonError: when the store, the suite or a question fails; the run can be resumed.
    """
    plan = planned.plan
    checkpoint = Checkpoint.open(store, plan.run_id, fold)
    try:
        before = known_run(store, plan.run_id)
        if before is not None and before.finished:
            raise FinishedError(before)
        if before is not None and not resume:
            raise InputError(
                "this run was begun before",
                value=plan.run_id,
                hint=f"Go on with it: --resume, or `salon bench resume {plan.run_id} --store {store}`.",
            )
        if before is None:
            checkpoint.note("runs", run_row(planned.plan))
            _note_prompts(checkpoint, planned)
        async with AsyncExitStack() as stack:
            for each in (judge, extractor):
                if isinstance(each, AbstractAsyncContextManager):
                    await stack.enter_async_context(each)
            runner = Runner(
                planned.suite,
                lambda: planned.suite.cases(planned.prompts, planned.generations),
                AskPolicy(judge, plan.context, plan.re_asks, extractor, decoding_seed=plan.decoding_seed),
                checkpoint,
                limits=limits,
                pace=pace,
                keep_lost=keep_lost,
                watcher=watcher,
                judge_settings=plan.judge_settings or _own_settings(judge),
            )
            if on_start is not None:
                on_start(runner)
            return await runner.run()
    finally:
        checkpoint.close()


def _own_settings(judge: Judge) -> Mapping[str, Any]:
    """What a judge that was opened by a program says of itself; nothing where it has no settings."""
    settings = getattr(judge, "settings", None)
    return settings.model_dump(mode="json") if isinstance(settings, BaseModel) else {}


def run_row(plan: RunPlan, run_id: str | None = None) -> Run:
    """The row of a run that begins now."""
    return Run(
        run_id=run_id or plan.run_id,
        suite=plan.suite,
        subject_model=plan.subjects[0].name if len(plan.subjects) == 1 else None,
        judge=plan.judge,
        judge_version=plan.judge_version,
        seed=plan.seed,
        settings=plan.settings(),
        salon_version=version("salon-bench"),
        started_at=datetime.now(UTC),
    )


def _note_prompts(checkpoint: Checkpoint, planned: Planned) -> None:
    rows = [item.prompt for item in planned.prompts]
    for first in range(0, len(rows), _PROMPTS_AT_ONCE):
        checkpoint.note("prompts", rows[first : first + _PROMPTS_AT_ONCE])

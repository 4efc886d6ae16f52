"""The open questions of a run, written into batch files; nobody is asked."""

from dataclasses import dataclass
from pathlib import Path

from salon_bench.judges.collecting import CollectingJudge
from salon_bench.judges.settings import ChatSettings
from salon_bench.judges.specification import restore_settings
from salon_bench.judges.wrapping import WrappedSettings
from salon_bench.runs.checkpoint import Fold
from salon_bench.runs.folding import fold_here
from salon_bench.runs.session import FinishedError, execute
from salon_bench.runs.view_again import planned_again, refuse_another_run, stored_plan
from salon_bench.suites.contract.suite import Suite
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import JudgeSettings


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """What became of a run that was gone on with through batch files.

    Attributes:
        complete: every case has its rows.
        open: cases with a question that waits for its reply.
        files: new request files, to be submitted.
    """

    complete: bool
    open: int
    files: tuple[Path, ...]


async def write_open_questions(
    run_id: str, store: Path, folder: Path, *, suite: Suite | None = None, fold: Fold = fold_here
) -> OpenQuestions:
    """Go on with a run: replies that the folder has become rows, open questions become requests.

    Args:
        run_id: a run whose judge stands behind a server; its version is that judge's, so its rows do not change.
        store: the results' directory.
        folder: see :class:`~salon_bench.judges.batch_folder.BatchFolder`.
        suite: the run's; None looks for it by name.
        fold: who folds the journals.

    Raises:
        InputError: when there is no such run, it cannot be gone on with, or its judge stands behind no server.
        SalonError: when the store or the suite fails.
    """
    _, plan = stored_plan(store, run_id)
    if plan.extractor_settings is not None:
        raise InputError("a run with an extractor cannot go through batch files", value=run_id)
    settings = _behind(restore_settings(plan.judge_settings))
    judge = CollectingJudge(settings, folder, plan.judge)
    again = planned_again(plan, judge, suite=suite)
    refuse_another_run(run_id, plan, again.plan)
    try:
        outcome = await execute(again, judge, store, resume=True, fold=fold)
    except FinishedError:
        return OpenQuestions(complete=True, open=0, files=())
    return OpenQuestions(outcome.complete, outcome.progress.open, tuple(judge.written))


def _behind(settings: JudgeSettings) -> ChatSettings:
    """The settings of the judge behind a server, without what is around it."""
    while isinstance(settings, WrappedSettings):
        settings = settings.judge
    if not isinstance(settings, ChatSettings):
        raise InputError("batch files are for judges behind a server", value=settings.kind)
    return settings

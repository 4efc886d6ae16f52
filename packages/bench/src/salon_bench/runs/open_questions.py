"""Write the open questions of a run into batch files; no judge is asked."""

from dataclasses import dataclass
from pathlib import Path

from salon_bench.runs.checkpoint import Fold, fold_here
from salon_bench.runs.session import FinishedError
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView, refuse_another_run
from salon_bench.suites.contract.suite import Suite
from salon_judges.clients.collecting import CollectingJudge
from salon_judges.clients.settings import ChatSettings
from salon_judges.clients.specification import restore_settings
from salon_judges.clients.wrapping import WrappedSettings
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import JudgeSettings
from salon_taxonomy.store_address import StoreAddress


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """The state of a run that continues through batch files.

    Attributes:
        complete: every case has its rows.
        open: cases with a question that waits for its reply.
        files: new request files, to be submitted.
    """

    complete: bool
    open: int
    files: tuple[Path, ...]


async def write_open_questions(
    run_id: str, store: StoreAddress, folder: Path, *, suite: Suite | None = None, fold: Fold = fold_here
) -> OpenQuestions:
    """Continue a run: replies in the folder become rows, open questions become requests.

    Args:
        run_id: a run whose judge is behind a server; its version is that judge's, so its rows do not change.
        store: the results' directory.
        folder: see :class:`~salon_judges.clients.batch_folder.BatchFolder`.
        suite: the run's; None looks for it by name.
        fold: folds the journals into the store.

    Raises:
        InputError: there is no such run, it cannot be continued, or its judge is not behind a server.
        SalonError: the store or the suite fails.
    """
    view = RunView(store, run_id)
    plan = view.plan
    if plan.extractor_settings is not None:
        raise InputError("a run with an extractor cannot go through batch files", value=run_id)
    settings = _behind(restore_settings(plan.judge_settings))
    judge = CollectingJudge(settings, folder, plan.judge)
    again = view.planned(judge, suite=suite)
    refuse_another_run(run_id, plan, again.plan)
    try:
        outcome = await execute(again, judge, store, fold=fold)
    except FinishedError:
        return OpenQuestions(complete=True, open=0, files=())
    return OpenQuestions(outcome.complete, outcome.progress.open, tuple(judge.written))


def _behind(settings: JudgeSettings) -> ChatSettings:
    """Return the settings of the judge behind a server, without what is around it."""
    while isinstance(settings, WrappedSettings):
        settings = settings.judge
    if not isinstance(settings, ChatSettings):
        raise InputError("batch files are for judges behind a server", value=settings.kind)
    return settings

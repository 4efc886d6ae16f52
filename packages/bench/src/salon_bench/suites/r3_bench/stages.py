"""Run the stages of R³-Bench; each is a run of its own and can be resumed.

reflect ──► explanations.jsonl ──► edit ──► images.jsonl        explanations and images read them
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salon_bench.runs.checkpoint import Fold, fold_here
from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.progress import Watcher
from salon_bench.runs.session import FinishedError, RunSession, SessionResult
from salon_bench.runs.suite_runner import Pace, execute
from salon_bench.runs.view import RunView
from salon_bench.suites.contract.suite import Suite, Summary
from salon_bench.suites.r3_bench.editing import said_by, write_explanations
from salon_bench.suites.r3_bench.explaining import Explaining
from salon_bench.suites.r3_bench.reflecting import Reflecting
from salon_bench.suites.r3_bench.verifying import Verifying
from salon_bench.suites.r3_bench.workspace import Workspace
from salon_judges.asking.spending import RunLimits
from salon_taxonomy.answers.reading import Fidelity
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge
from salon_taxonomy.store_address import StoreAddress

_SUITES: Mapping[str, Callable[[], Reflecting | Explaining | Verifying]] = {
    "reflect": Reflecting,
    "explanations": Explaining,
    "images": Verifying,
}


@dataclass(frozen=True, slots=True)
class StageOptions:
    """How a stage that asks a judge is run.

    Attributes:
        settings: of the judge, as JSON values, so that ``salon bench resume`` can open it again.
        re_asks: how often a reply that cannot be read is asked for again.
        limits: on cost, tokens, calls and time.
        pace: how much at once.
        keep_lost: questions without a reply are unscored for good.
        watcher: told how it goes.
        fold: who folds the journals.
        on_start: receives the session before it starts, to be able to stop it.
        fidelity: which rules read the policy's replies (stage ``reflect``): the paper's, or the released script's.
    """

    settings: Mapping[str, Any] | None = None
    re_asks: int = 1
    limits: RunLimits | None = None
    pace: Pace | None = None
    keep_lost: bool = False
    watcher: Watcher | None = None
    fold: Fold = fold_here
    on_start: Callable[[RunSession], None] | None = None
    fidelity: Fidelity = "paper"


async def run_stage(
    space: Workspace, stage: str, judge: Judge, store: StoreAddress, options: StageOptions | None = None
) -> SessionResult | None:
    """Run ``reflect``, ``explanations`` or ``images``, or resume it; a finished one makes no call.

    After ``reflect`` the rows for the later stages are left, as far as there are replies.

    Returns:
        What the start came to; None when the stage was finished before.

    Raises:
        InputError: the stage is unknown, or the stage before was not run.
        SalonError: as :func:`salon_bench.runs.suite_runner.execute`.
    """
    if stage not in _SUITES:
        raise InputError("no stage that asks a judge", value=stage, allowed=_SUITES)
    options = options or StageOptions()
    space.staged(stage)
    source = space.rows if stage == "reflect" else space.file(stage)
    pictures = space.pictures if stage == "images" and _any(space.pictures) else space.originals
    plan = planned(
        Reflecting(options.fidelity) if stage == "reflect" else _SUITES[stage](),
        [SubjectModel(space.policy, pictures)],
        judge,
        judge_settings=options.settings,
        prompts=source,
        re_asks=options.re_asks,
        digests=PictureDigests(store),
    )
    space.note(stage, plan.plan.run_id)
    try:
        outcome = await execute(
            plan,
            judge,
            store,
            limits=options.limits,
            pace=options.pace,
            keep_lost=options.keep_lost,
            watcher=options.watcher,
            fold=options.fold,
            on_start=options.on_start,
        )
    except FinishedError:
        outcome = None
    if stage == "reflect":
        run_id = plan.plan.run_id
        view = RunView(store, run_id)
        write_explanations(space, said_by(view.scores, view.assessments))
    return outcome


def stage_summaries(space: Workspace, store: StoreAddress) -> dict[str, Summary]:
    """Return the numbers of every judged stage that was run, by stage, in their order.

    Raises:
        InputError: when none was run.
    """
    summaries: dict[str, Summary] = {}
    for stage, kind in _SUITES.items():
        if stage in space.runs:
            suite: Suite = kind()
            for summary in RunView(store, space.runs[stage]).summaries(suite):
                summaries[stage] = summary.summary
    if not summaries:
        raise InputError("no stage of this folder has rows yet", source=space.folder)
    return summaries


def _any(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())

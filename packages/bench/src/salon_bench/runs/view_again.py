"""Loads the plan of a run that stands in a store, to go on with it or to read its replies again."""

from pathlib import Path

from salon_bench.runs.plan import Planned, RunPlan, planned
from salon_bench.runs.status import RunStatus, State, run_status
from salon_bench.suites.contract.registry import suite_named
from salon_bench.suites.contract.suite import Suite
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge


def stored_plan(store: Path, run_id: str) -> tuple[RunStatus, RunPlan]:
    """How a run stands, and its plan.

    Raises:
        InputError: when there is no such run, or no suite made it.
    """
    found = run_status(store, run_id)
    if found.state == State.IMPORTED:
        raise InputError("the rows of this run were made elsewhere, so it cannot be started again", value=run_id)
    return found, RunPlan.from_settings(run_id, found.settings)


def planned_again(plan: RunPlan, judge: Judge, extractor: Judge | None = None, *, suite: Suite | None = None) -> Planned:
    """The plan with prompts and pictures as they are now.

    Raises:
        InputError: when a file that it speaks of is gone or wrong.
    """
    return planned(
        suite or suite_named(plan.suite),
        plan.subjects,
        judge,
        judge_settings=plan.judge_settings,
        prompts=plan.prompts,
        seed=plan.seed,
        limit=plan.limit,
        draw=plan.draw,
        re_asks=plan.re_asks,
        extractor=extractor,
        extractor_settings=plan.extractor_settings,
    )


def refuse_another_run(run_id: str, before: RunPlan, now: RunPlan) -> None:
    """Make sure that what was loaded is still the run that was begun.

    Raises:
        InputError: names what changed: the suite, the judge, or prompts and pictures.
    """
    if now.run_id == run_id:
        return
    what = [
        words
        for words, name in (
            ("the suite (another version of it is installed)", "suite_version"),
            ("the judge", "judge_alone"),
            ("the extractor", "extractor_alone"),
            ("the prompts or the pictures", "inputs"),
        )
        if getattr(before, name) != getattr(now, name)
    ]
    raise InputError(
        f"this run cannot be gone on with, because something changed: {', '.join(what) or 'the rule of asking'}",
        value=run_id,
        hint="`salon bench run` begins a new one.",
    )

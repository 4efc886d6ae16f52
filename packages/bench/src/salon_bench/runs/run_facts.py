"""What a finished run was about, found again: the texts of its prompts, and the folders of its pictures."""

from pathlib import Path

from salon_bench.runs.plan import RunPlan
from salon_bench.runs.rescore import AbsentJudge
from salon_bench.runs.status import RunStatus
from salon_bench.runs.view_again import planned_again
from salon_store import ResultStore
from salon_taxonomy.errors import InputError


def prompt_texts(store: Path, run: RunStatus) -> dict[str, str]:
    """What the generators were told, by prompt.

    The run's own prompts where its files are still what they were; else the rows of the store, without ids that another suite
    took in it (a suite's variants, ``prism`` and ``prism-released``, share their prompts).
    """
    try:
        plan = RunPlan.from_settings(run.run_id, run.settings)
        again = planned_again(plan, AbsentJudge(plan.judge, plan.judge_alone))
    except InputError:  # imported, a panel's, or its files are gone
        again = None
    if again is not None and again.plan.inputs == plan.inputs:
        return {item.prompt.prompt_id: item.prompt.text for item in again.prompts}
    rows = ResultStore.open(store, create=False, read_only=True).read("prompts").select("prompt_id", "suite", "text").collect()
    suite = run.suite
    return {prompt_id: text for prompt_id, owner, text in rows.iter_rows() if suite == owner or suite.startswith(f"{owner}-")}


def generation_folders(run: RunStatus) -> list[Path]:
    """The folders or tables that the run judged; none for a run that was made elsewhere."""
    try:
        plan = RunPlan.from_settings(run.run_id, run.settings)
    except InputError:
        return []
    return [subject.generations for subject in plan.subjects]

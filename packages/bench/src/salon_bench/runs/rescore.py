"""Read the stored replies of a run again with the suite as it is installed now; no judge is asked.

The result is a run of its own, ``<run>+rescore-<8 digits of the version>``; the old rows stay. A question that the suite
now words differently has no stored reply: it is unscored (``abstained``), and counted. The pictures must still be where
they were, because they are part of the questions.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from salon_bench.runs.checkpoint import Fold, fold_here
from salon_bench.runs.plan import LoadedPlan, version_of
from salon_bench.runs.session import FinishedError, SessionResult, run_session
from salon_bench.runs.status import run_status
from salon_bench.runs.suite_runner import run_cases
from salon_bench.runs.view import RESCORED, RunView
from salon_bench.suites.contract.suite import RunContext
from salon_judges.asking.asker import AskPolicy
from salon_judges.clients.wrapping import AbsentJudge
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl

_KEY = ("suite", "task", "subject_model", "prompt_id", "generation_id", "dimension")
_HEX = 8


@dataclass(frozen=True, slots=True)
class Changes:
    """How the scores of two runs differ, over the rows that both have.

    Attributes:
        same: rows with the same value, or unscored in both.
        other_value: scored in both, with different values.
        now_scored: unscored before.
        now_unscored: scored before.
        gone: rows that only the first run has.
        new: rows that only the second run has.
    """

    same: int
    other_value: int
    now_scored: int
    now_unscored: int
    gone: int
    new: int

    def __str__(self) -> str:
        """Return a summary in one line."""
        parts = [f"{self.same} scores as before", f"{self.other_value} with another value", f"{self.now_scored} scored now"]
        parts += [f"{self.now_unscored} no longer scored"]
        parts += [f"{count} {name}" for name, count in (("gone", self.gone), ("new", self.new)) if count]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Rescored:
    """The run of a rescoring, its outcome, and how the scores changed."""

    run_id: str
    outcome: SessionResult
    changes: Changes


async def rescore(planned: LoadedPlan, run_id: str, store: StoreAddress, *, fold: Fold = fold_here) -> Rescored:
    """Read the replies of a run again.

    Args:
        planned: the run's plan with the suite as it is now.
        run_id: the run; of one that is the result of a rescoring, the replies of the first are read.
        store: the results' directory.
        fold: folds the journals into the store.

    Raises:
        FinishedError: this version of the suite has rescored the run before.
        InputError: the run is not finished, or was judged again after it was rescored.
        SalonError: the store or the suite fails.
    """
    first_id = run_id.partition(RESCORED)[0]
    status = run_status(store, first_id)
    if not status.finished:
        hint = f"Go on with it first: salon bench resume {first_id} --store {store}"
        raise InputError("is not finished, so replies that it still lacks would be missing:", value=first_id, hint=hint)
    plan = planned.plan
    extractor = None if plan.extractor_alone is None else AbsentJudge("extractor", plan.extractor_alone)
    policy = AskPolicy(None, plan.re_asks, extractor, decoding_seed=plan.decoding_seed)
    version = version_of(planned.suite, plan.judge_alone, policy)
    new_id = f"{first_id}{RESCORED}{version[:_HEX]}"
    context = RunContext(new_id, plan.judge, version)
    row = replace(plan, judge_version=version, suite_version=planned.suite.version).row(new_id)
    prompts = [item.prompt for item in planned.prompts]
    try:
        with run_session(store, row, fold, prompts=prompts, replies_of=first_id) as session:
            outcome = await run_cases(
                planned, policy, context, session, plan.judge_settings, replies_of=first_id, keep_lost=True
            )
    except FinishedError as error:
        if status.last_at and error.status.last_at and status.last_at > error.status.last_at:
            hint = f"Remove what was read before: salon store remove {store} {new_id}"
            raise InputError("was judged again after it was rescored:", value=first_id, hint=hint) from error
        raise
    return Rescored(new_id, outcome, changes(RunView(store, run_id).scores, RunView(store, new_id).scores))


def changes(before: "pl.DataFrame", after: "pl.DataFrame") -> Changes:
    """Compare the scores of two runs (columns of the table ``scores``)."""
    import polars as pl

    columns = [*_KEY, "value"]
    both = before.select(columns).join(after.select(columns), on=_KEY, how="inner", nulls_equal=True)
    old, new = pl.col("value"), pl.col("value_right")
    counted = both.select(
        same=(old.eq_missing(new)).sum(),
        other_value=(old != new).sum(),
        now_scored=(old.is_null() & new.is_not_null()).sum(),
        now_unscored=(old.is_not_null() & new.is_null()).sum(),
    ).row(0, named=True)
    return Changes(**counted, gone=before.height - both.height, new=after.height - both.height)

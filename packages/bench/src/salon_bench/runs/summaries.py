"""What a run came to: the suite's own numbers, for each of its subjects."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.runs.plan import RunPlan
from salon_bench.runs.status import rows_of
from salon_bench.suites.contract.suite import Suite, Summary
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_WORRYING = 0.1


@dataclass(frozen=True, slots=True)
class SubjectSummary:
    """One subject's numbers in one run, with how many of its rows are scored."""

    subject: str
    summary: Summary
    scored: int
    unscored: int


def summaries(suite: Suite, store: Path, run_id: str) -> list[SubjectSummary]:
    """The numbers of every subject that has rows in the run, subjects in alphabetical order.

    Raises:
        SalonError: for a directory that is no store, or a part of it that cannot be read.
    """
    import polars as pl

    scores, assessments = rows_of(store, "scores", run_id), rows_of(store, "assessments", run_id)
    left_out = _left_out(store, run_id)
    generations = _models(store, assessments["generation_id"].unique())
    labelled = assessments.join(generations, on="generation_id", how="left")
    found = []
    for subject in sorted(scores["subject_model"].unique()):
        mine = scores.filter(pl.col("subject_model") == subject)
        labels = labelled.filter(pl.col("model") == subject).drop("model")
        scored = mine["value"].count()
        unscored = mine.height - scored
        summary = suite.aggregate(mine, labels)
        summary = replace(summary, notes=(*summary.notes, *_warnings(scored, unscored), *left_out))
        found.append(SubjectSummary(subject, summary, scored, unscored))
    return found


def _left_out(store: Path, run_id: str) -> tuple[str, ...]:
    """What the run's plan says of rows that cannot be used; nothing for a run without a plan (an import)."""
    try:
        return next((RunPlan.from_settings(run_id, text).left_out for text in rows_of(store, "runs", run_id)["settings"]), ())
    except InputError:
        return ()


def _warnings(scored: int, unscored: int) -> tuple[str, ...]:
    """What a reader must know before believing numbers that rest on some of the pictures only."""
    if unscored and not scored:
        return ("Nothing could be scored: there are no numbers.",)
    if unscored > _WORRYING * (scored + unscored):
        share = f"{unscored / (scored + unscored):.0%}"
        return (f"{share} of the rows have no verdict: mistrust these numbers, as what could not be judged may be different.",)
    return ()


def _models(store: Path, generation_ids: "pl.Series") -> "pl.DataFrame":
    import polars as pl

    from salon_store import ResultStore

    rows = ResultStore.open(store, create=False, read_only=True).read("generations")
    wanted = rows.filter(pl.col("generation_id").is_in(generation_ids.implode()))
    return wanted.select("generation_id", "model").unique("generation_id").collect()

"""Read a run of a store: its status, plan, scores, labels, calls and prompts, each table once.

Reports, comparisons, exports, leaderboards and reliability read runs through :class:`RunView`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.runs.plan import SHARDS, LoadedPlan, RunPlan, planned
from salon_bench.runs.status import RunState, RunStatus, run_status
from salon_bench.suites.contract.registry import suite_named, written_in
from salon_bench.suites.contract.suite import Suite, Summary
from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.shown_result import ResultView, ShownResult, joined_views
from salon_console.table_files import Table
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl

_WORRYING: Final = 0.1
_ANOTHER_SUITE: Final = "the suite (another version, or its file was changed)"
_ORDERS: Final = {
    "scores": ["prompt_id", "generation_id", "task", "dimension"],
    "assessments": ["generation_id", "taxonomy", "label", "assessment_id"],
}
"""The order in which the rows of a run are read; it is independent of the order in which replies arrived."""
RESCORED: Final = "+rescore-"
"""Between the id of a run and the version with which its replies were read again."""


@dataclass(frozen=True, slots=True)
class SubjectSummary(ShownResult):
    """The numbers of one model in one run, with the counts of its rows."""

    model: str
    summary: Summary
    scored: int
    unscored: int

    def view(self) -> ResultView:
        """Return every number with its interval and counts, and a chart of the numbers that have an interval."""
        return numbers_view(f"{self.model}: {self.scored:,} rows scored, {self.unscored:,} unscored", self.summary)


def numbers_view(header: str, summary: Summary) -> ResultView:
    """Return a suite's numbers as a table, and those that have an interval as a chart."""
    rows = summary.table.to_dicts()
    columns = ("number", "of", "value", summary.interval_name, "scored", "unscored")
    cells = [
        (
            row["metric"],
            row.get("group") or "all",
            number_text(row.get("value")),
            interval_text(row.get("ci_low"), row.get("ci_high")),
            numbers.count(row.get("scored")),
            numbers.count(row.get("unscored")),
        )
        for row in rows
    ]
    return ResultView(header, Table(columns, cells, frozenset(columns[2:])), _chart(rows, summary.interval_name), summary.notes)


def _chart(rows: "Sequence[Mapping[str, Any]]", interval_name: str) -> ForestPlot | None:
    """Return a chart of the numbers that have an interval; None without such a number."""
    drawn = [
        PlotRow(
            f"{row['metric']}, {row['group']}" if row.get("group") else row["metric"],
            row["value"],
            row["ci_low"],
            row["ci_high"],
        )
        for row in rows
        if row.get("ci_low") is not None
    ]
    return ForestPlot(f"Value with its {interval_name}", drawn) if drawn else None


def number_text(value: float | None) -> str:
    """Return a number of a suite with two digits, or a dash.

    Example:
        >>> number_text(71.428), number_text(None)
        ('71.43', '–')
    """
    return numbers.MISSING if value is None else f"{value:,.2f}"


def interval_text(low: float | None, high: float | None) -> str:
    """Return both ends of an interval in brackets; empty without one."""
    return "" if low is None or high is None else f"[{low:,.2f}, {high:,.2f}]"


class RunView:
    """One run of a store, or all shards of one; every table is read when it is first used.

    Args:
        store: the results' directory.
        run: the run's id, or its status where that was read already.

    Raises:
        InputError: (at first use) the store has no such run.
        SalonError: (at first use) the directory is no store, or a part of it cannot be read.
    """

    def __init__(self, store: StoreAddress, run: str | RunStatus) -> None:
        self.store = store
        self.run_id = run if isinstance(run, str) else run.run_id
        if isinstance(run, RunStatus):
            self.status = run

    @cached_property
    def status(self) -> RunStatus:
        """State, cases, calls and cost of the run."""
        return run_status(self.store, self.run_id)

    @cached_property
    def plan(self) -> RunPlan:
        """The plan of a run that `salon bench run` started.

        Raises:
            InputError: the rows of the run were imported, or are a panel's.
        """
        if self.status.parts:
            hint = "Name one of its shards."
            raise InputError("this run is made of shards", value=self.run_id, allowed=self.status.parts, hint=hint)
        if self.status.state == RunState.IMPORTED:
            raise InputError("the rows of this run were imported, so it cannot be started again", value=self.run_id)
        return RunPlan.from_settings(self.run_id, self.status.settings)

    @cached_property
    def suite(self) -> Suite:
        """The suite of the run: the installed one of its name, or that of the file which the run names.

        Raises:
            InputError: the suite is not installed, or its file is missing, wrong, or defines another suite.
        """
        parts = [RunView(self.store, part).status for part in self.status.parts]
        named = [json.loads(each.settings or "{}").get("suite_file") for each in parts or [self.status]]
        file = next((name for name in named if name and written_in(Path(name)).is_file()), named[0])
        if file is None:
            return suite_named(self.status.suite)
        if written_in(Path(file)).resolve() != written_in(Path(file)):  # a link could lead to code of someone else's
            raise InputError("the suite file of the run is a link now; its code is not run", source=file, value=self.run_id)
        suite = suite_named(file)
        if suite.name != self.status.suite:
            raise InputError("the suite file of the run defines another suite:", source=file, value=suite.name)
        return suite

    @cached_property
    def scores(self) -> "pl.DataFrame":
        """Its rows of ``scores``, by prompt, generation, task and dimension."""
        return self.rows("scores")

    @cached_property
    def assessments(self) -> "pl.DataFrame":
        """Its rows of ``assessments``, by generation, taxonomy and label."""
        return self.rows("assessments")

    @cached_property
    def calls(self) -> "pl.DataFrame":
        """Its rows of ``judge_calls``; a rescored run has those of the run whose replies were read again."""
        import polars as pl

        if self._is_of_shards and any(RESCORED in part for part in self._ids):
            calls = pl.concat([RunView(self.store, part).calls for part in self._ids])
            return calls.with_columns(run_id=pl.lit(self.run_id))
        rows = self.rows("judge_calls")
        first, again, _ = self.run_id.partition(RESCORED)
        if rows.height or not again:
            return rows
        return RunView(self.store, first).calls.with_columns(run_id=pl.lit(self.run_id))

    @cached_property
    def prompts(self) -> Mapping[str, str]:
        """The text of every prompt of the run, by id; for an imported run, those of its suite."""
        import polars as pl

        stored = self.read("prompts").select("suite", "prompt_id", "prompt_key", "text")
        if self.run_prompts.height:
            keys = self.run_prompts["prompt_key"].unique().implode()
            stored = stored.filter(pl.col("prompt_key").is_in(keys))
        else:  # imported rows
            own = pl.col("suite") == self.status.suite
            variant = pl.lit(self.status.suite).str.starts_with(pl.col("suite") + "-")
            stored = stored.filter(own | variant)
        return dict(stored.select("prompt_id", "text").collect().iter_rows())

    @cached_property
    def run_prompts(self) -> "pl.DataFrame":
        """Its rows of ``run_prompts``: which content each prompt id has in this run."""
        return self.rows("run_prompts")

    @property
    def generation_folders(self) -> list[Path]:
        """The folders or tables that the run judged; empty for an imported run."""
        try:
            plans = [RunView(self.store, each).plan for each in self._ids] if self.status.parts else [self.plan]
        except InputError:
            return []
        return list(dict.fromkeys(model.generations for plan in plans for model in plan.subjects))

    @property
    def models(self) -> list[str]:
        """The models that have scores, in alphabetical order."""
        return sorted(self.scores["subject_model"].unique())

    def read(self, table: str) -> "pl.LazyFrame":
        """Return a whole table of the store."""
        frame: pl.LazyFrame = self._opened.read(table)
        return frame

    def rows(self, table: str) -> "pl.DataFrame":
        """Return its rows of a table; scores and assessments in a fixed order."""
        import polars as pl

        rows: pl.DataFrame = self.read(table).filter(pl.col("run_id").is_in(self._ids)).collect()
        if self._is_of_shards:
            rows = rows.with_columns(run_id=pl.lit(self.run_id))
        return rows.sort(_ORDERS[table], maintain_order=True) if table in _ORDERS else rows

    def of(self, model: str) -> "pl.DataFrame":
        """Return the scores of one model."""
        import polars as pl

        return self.scores.filter(pl.col("subject_model") == model)

    def summaries(self, suite: Suite | None = None) -> list[SubjectSummary]:
        """Return the suite's numbers for every model with scores, in alphabetical order.

        Args:
            suite: the suite; None finds it by the run's.
        """
        import polars as pl

        asked = suite or self.suite
        generations = self.read("generations").filter(
            pl.col("generation_id").is_in(self.assessments["generation_id"].unique().implode())
        )
        models = generations.select("generation_id", "model").unique("generation_id").collect()
        labelled = self.assessments.join(models, on="generation_id", how="left")
        summaries = []
        for model in self.models:
            mine = self.of(model)
            labels = labelled.filter(pl.col("model") == model).drop("model")
            scored = mine["value"].count()
            unscored = mine.height - scored
            summary = asked.aggregate(mine, labels)
            notes = (*summary.notes, *_warnings(scored, unscored), *self._left_out)
            summaries.append(SubjectSummary(model, replace(summary, notes=notes), scored, unscored))
        return summaries

    def planned(self, judge: Judge, extractor: Judge | None = None, *, suite: Suite | None = None) -> LoadedPlan:
        """Return the plan with its prompts and pictures as the files are now.

        Raises:
            InputError: a file that the plan names is missing or wrong.
        """
        plan = self.plan
        return planned(
            suite or self.suite,
            plan.subjects,
            judge,
            judge_settings=plan.judge_settings,
            prompts=plan.prompts,
            seed=plan.seed,
            limit=plan.limit,
            draw=plan.draw,
            shard=plan.shard,
            re_asks=plan.re_asks,
            extractor=extractor,
            extractor_settings=plan.extractor_settings,
            digests=PictureDigests(self.store),
        )

    @property
    def _is_of_shards(self) -> bool:
        """Whether its rows are those of several shards."""
        return self._ids != [self.run_id]

    @cached_property
    def _ids(self) -> list[str]:
        """The runs whose rows these are: its shards, or itself (then its status need not be read)."""
        return list(self.status.parts) or [self.run_id] if SHARDS in self.run_id else [self.run_id]

    @cached_property
    def _opened(self) -> Any:
        from salon_store import ResultStore

        return ResultStore.open(self.store, create=False, read_only=True)

    @property
    def _left_out(self) -> tuple[str, ...]:
        """The plan's sentences about unusable rows of the prompt file; empty without a plan."""
        for text in self.rows("runs")["settings"]:
            try:
                return RunPlan.from_settings(self.run_id, text).left_out
            except InputError:
                return ()
        return ()


def run_numbers(store: StoreAddress, run_ids: Sequence[str]) -> "tuple[ResultView, pl.DataFrame]":
    """Return the suites' numbers of every model of several runs, as they are shown and as values.

    Raises:
        InputError: no run is named, or one has no scores or is of a suite that is not installed.
        SalonError: for a directory that is no store.
    """
    import polars as pl

    if not run_ids:
        raise InputError("name a run", hint="salon bench runs lists them.")
    summaries = [(run_id, each) for run_id in dict.fromkeys(run_ids) for each in RunView(store, run_id).summaries()]
    if not summaries:
        raise InputError("the run holds no scores yet", value=run_ids[0], hint="salon bench runs says how far it is.")
    several = len(set(run_ids)) > 1
    names = [f"{each.model} ({run_id})" if several else each.model for run_id, each in summaries]
    values = [
        each.summary.table.select(pl.lit(run_id).alias("run_id"), pl.lit(each.model).alias("model"), pl.all())
        for run_id, each in summaries
    ]
    return joined_views([each.view() for _, each in summaries], names, "model"), pl.concat(values, how="diagonal_relaxed")


def refuse_another_suite(run_id: str, before: RunPlan, suite: Suite) -> None:
    """Check that a suite is the version that a run was started with.

    Raises:
        InputError: it is another version.
    """
    if suite.version != before.suite_version:
        raise _changed(run_id, [_ANOTHER_SUITE])


def refuse_another_run(run_id: str, before: RunPlan, now: RunPlan) -> None:
    """Check that a plan which was loaded again is still the run that was started.

    Raises:
        InputError: names what changed: the suite, the judge, or prompts and pictures.
    """
    if now.run_id == run_id:
        return
    what = [
        words
        for words, name in (
            (_ANOTHER_SUITE, "suite_version"),
            ("the judge", "judge_alone"),
            ("the extractor", "extractor_alone"),
            ("the prompts or the pictures", "inputs"),
        )
        if getattr(before, name) != getattr(now, name)
    ]
    raise _changed(run_id, what)


def _changed(run_id: str, what: Sequence[str]) -> InputError:
    return InputError(
        f"this run cannot be continued, because something changed: {', '.join(what) or 'the rule of asking'}",
        value=run_id,
        hint="`salon bench run` starts a new one.",
    )


def _warnings(scored: int, unscored: int) -> tuple[str, ...]:
    """Return a warning about numbers that rest on a part of the pictures only."""
    if unscored and not scored:
        return ("No row could be scored: there are no numbers.",)
    if unscored > _WORRYING * (scored + unscored):
        share = f"{unscored / (scored + unscored):.0%}"
        return (f"{share} of the rows have no verdict: mistrust these numbers, as what could not be judged may be different.",)
    return ()

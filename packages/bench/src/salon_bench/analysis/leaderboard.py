"""Leaderboards of a suite: the suite's own numbers for all its finished runs, one board for every judge and version.

Runs under different judge versions are never in one board. The shards of a run count as one, once all of them are finished.
Where a model was judged several times under one version, its latest run counts. These numbers are no ratings, so they are not
rows of the store's table ``leaderboards`` (which is about battles: matches, win rates); they can be computed again from
``scores`` at any time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from salon_bench.runs.status import RunState, RunStatus, run_statuses
from salon_bench.runs.view import RunView, SubjectSummary, interval_text, number_text
from salon_bench.suites.contract.suite import Suite
from salon_bench.suites.contract.tables import SUMMARY_COLUMNS
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import MISSING, counted
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

_FIRST_CHOICES: Final = ("overall", "average")
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Entry:
    """A model's line: the run that counts, its numbers, and the prompts that they are about."""

    run_id: str
    model: str
    numbers: SubjectSummary
    prompts: frozenset[str]


@dataclass(frozen=True, slots=True)
class SuiteBoard(ShownResult):
    """One board: all its numbers were judged by one version.

    Attributes:
        suite: the suite's name.
        judge: the judge's name.
        judge_version: of judge, suite and rule of asking.
        metric: the metric that ranks, higher is better.
        entries: best first; those without the metric last.
        notes: what the reader must know: other prompts, older runs, older versions, and how the suite made its intervals.
    """

    suite: str
    judge: str
    judge_version: str
    metric: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]

    def view(self) -> ResultView:
        """Return the short table (rank, model, ranking number, other numbers, counts) and a chart of the ranking number."""
        others = [name for name in self.metrics() if name != self.metric]
        columns = ("rank", "model", self.metric, "interval", *others, "scored", "unscored")
        rows, points = [], []
        for rank, entry in zip(self.ranks(), self.entries, strict=True):
            value, *ends = (number(entry, self.metric, column) for column in ("value", "ci_low", "ci_high"))
            points.append(PlotRow(entry.model, value, *ends))
            rows.append(
                (
                    MISSING if rank is None else str(rank),
                    entry.model,
                    number_text(value),
                    interval_text(*ends),
                    *(number_text(number(entry, name, "value")) for name in others),
                    f"{entry.numbers.scored:,}",
                    f"{entry.numbers.unscored:,}",
                )
            )
        header = f"{self.suite}, judged by {self.judge}, version {self.judge_version}; {self.metric}: higher is better."
        table = Table(columns, rows, frozenset(columns) - {"model"})
        return ResultView(header, table, ForestPlot(self.metric, points), self.notes)

    def table(self) -> pl.DataFrame:
        """Return one row per model and number, best model first.

        Columns: ``suite``, ``judge``, ``judge_version``, ``rank`` (of the model; null without the ranking metric),
        ``model``, ``run_id``, ``metric``, ``group``, ``value``, ``ci_low``, ``ci_high``, ``scored``, ``unscored``.
        """
        ranks = self.ranks()
        frames = [
            each.numbers.summary.table.select(
                pl.lit(self.suite).alias("suite"),
                pl.lit(self.judge).alias("judge"),
                pl.lit(self.judge_version).alias("judge_version"),
                pl.lit(rank, dtype=pl.Int64).alias("rank"),
                pl.lit(each.model).alias("model"),
                pl.lit(each.run_id).alias("run_id"),
                *(_column(each.numbers.summary.table, name, dtype) for name, dtype in SUMMARY_COLUMNS.items()),
            )
            for rank, each in zip(ranks, self.entries, strict=True)
        ]
        return pl.concat(frames)

    def ranks(self) -> list[int | None]:
        """Return the rank of every entry; equal values share the best, an entry without the metric has none."""
        values = [number(each, self.metric, "value") for each in self.entries]
        return [None if value is None else 1 + sum(v is not None and v > value for v in values) for value in values]

    def metrics(self) -> list[str]:
        """Return the metrics about everything (no group), in the suite's order."""
        metrics: dict[str, None] = {}
        for entry in self.entries:
            metrics.update(dict.fromkeys(row["metric"] for row in _rows(entry) if row.get("group") is None))
        return list(metrics)


def number(entry: Entry, metric: str, column: str, group: str | None = None) -> Any:
    """Return one cell of an entry's numbers; None for a missing one."""
    for row in _rows(entry):
        if row["metric"] == metric and row.get("group") == group:
            return row.get(column)
    return None


def leaderboards(
    store: StoreAddress, suite: Suite, *, metric: str | None = None, judge: str | None = None, all_versions: bool = False
) -> list[SuiteBoard]:
    """Return the boards of a suite, one for every judge, from its newest version; the most recent board first.

    Args:
        store: the results' directory.
        suite: whose runs.
        metric: ranks the models; default: ``overall``, ``average``, or the suite's first number about everything.
        judge: whose runs alone; default: those of all judges.
        all_versions: older judge versions too, each on a board of its own.

    Raises:
        InputError: no run of the suite is finished, the judge has judged none, or no number bears that name.
        SalonError: for a directory that is no store.
    """
    every = run_statuses(store)
    runs = [each for each in every if each.suite == suite.name]
    done = [each for each in runs if each.state in (RunState.FINISHED, RunState.IMPORTED) and each.part_of is None]
    if not done:
        raise InputError(
            "no run of the suite is finished",
            source=store,
            value=suite.name,
            allowed=sorted({each.suite for each in every}) or None,
            hint=f"{len(runs)} are begun: salon bench runs --store {store}" if runs else "salon bench run starts one.",
        )
    judges = sorted({each.judge or "" for each in done})
    if judge is not None and judge not in judges:
        raise InputError("no finished run of the suite has the judge", source=store, value=judge, allowed=judges)
    done = [each for each in done if judge in (None, each.judge)]
    newest: dict[tuple[str, str], datetime] = {}
    for run in done:
        key = (run.judge or "", run.judge_version or "")
        newest[key] = max(newest.get(key, _LONG_AGO), run.started_at or _LONG_AGO)
    boards = []
    for name, version in sorted(newest, key=lambda key: (newest[key], key), reverse=True):
        later = [v for j, v in newest if j == name and (newest[name, v], v) > (newest[name, version], version)]
        if later and not all_versions:
            continue
        members = [each for each in done if (each.judge or "", each.judge_version or "") == (name, version)]
        older = sum(j == name for j, _ in newest) - 1
        boards.append(_board(store, suite, name, version, members, metric, 0 if all_versions else older))
    return boards


def _board(
    store: StoreAddress, suite: Suite, judge: str, version: str, members: Sequence[RunStatus], metric: str | None, older: int
) -> SuiteBoard:
    latest: dict[str, Entry] = {}
    repeated = 0
    for run in sorted(members, key=lambda one: (one.started_at or _LONG_AGO, one.run_id)):
        view = RunView(store, run)
        for summary in view.summaries(suite):
            repeated += summary.model in latest
            mine = view.of(summary.model)["prompt_id"].drop_nulls()
            latest[summary.model] = Entry(run.run_id, summary.model, summary, frozenset(mine))
    entries = list(latest.values())
    chosen = _ranking_metric(entries, metric)
    entries.sort(key=lambda one: (_merit(one, chosen), one.model))
    return SuiteBoard(suite.name, judge, version, chosen, tuple(entries), tuple(_notes(entries, repeated, older)))


def _merit(entry: Entry, metric: str) -> float:
    value = number(entry, metric, "value")
    return float("inf") if value is None else -float(value)


def _ranking_metric(entries: Sequence[Entry], wanted: str | None) -> str:
    names = list(dict.fromkeys(row["metric"] for each in entries for row in _rows(each) if row.get("group") is None))
    if wanted is not None and wanted not in names:
        raise InputError("the suite has no such number about everything", value=wanted, allowed=names)
    if wanted is not None:
        return wanted
    return next((name for name in _FIRST_CHOICES if name in names), names[0] if names else "")


def _notes(entries: Sequence[Entry], repeated: int, older: int) -> list[str]:
    notes = []
    if len({each.prompts for each in entries}) > 1:
        shared = frozenset.intersection(*(each.prompts for each in entries))
        notes.append(
            f"The models were judged on different prompts ({len(shared)} are common to all): their order may be the "
            "prompts'. `salon results compare` pairs two of them prompt by prompt."
        )
    if repeated:
        notes.append(f"{counted(repeated, 'older result')} of the same model and version left out; the latest run counts.")
    if older:
        notes.append(
            f"{counted(older, 'older version')} of this judge not shown; --all-versions shows each as a board of its own."
        )
    return notes


def _rows(entry: Entry) -> list[dict[str, Any]]:
    return entry.numbers.summary.table.to_dicts()


def _column(table: pl.DataFrame, name: str, dtype: Any) -> pl.Expr:
    return (pl.col(name) if name in table.columns else pl.lit(None)).cast(dtype).alias(name)

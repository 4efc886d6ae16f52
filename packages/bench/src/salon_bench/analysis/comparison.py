"""What a comparison of two runs says: its sides, its differences with their intervals, and the prompts that changed most."""

from dataclasses import dataclass
from typing import Final

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import MISSING
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table

GAP_COLUMNS: Final = ("Dimension", "Of", "A", "B", "A − B", "Interval", "Paired", "Only A / B", "Unscored A / B")
"""The names of the cells of :func:`gap_cells`."""


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of the two: a model in a run, under one judge version."""

    run_id: str
    suite: str
    model: str
    judge: str
    judge_version: str

    def __str__(self) -> str:
        """Return model, judge and the judge's version."""
        return f"{self.model}, judged by {self.judge} {self.judge_version}"


@dataclass(frozen=True, slots=True)
class Gap:
    """One dimension in one category, A less B.

    Attributes:
        dimension: as in ``scores``.
        category: the task; None: all of them, each prompt counted once with its mean over tasks that both sides scored.
        mean_a, mean_b: over the paired prompts; None without any.
        difference: of these means; None without any.
        ci_low, ci_high: of the difference; None for fewer than two paired prompts or without replicates.
        paired: prompts that are scored on both sides.
        only_a, only_b: prompts that are scored on that side alone; they are in no difference.
        neither: prompts that have rows, but a score on no side, or on either side in other tasks.
        unscored_a, unscored_b: rows without a score.
    """

    dimension: str
    category: str | None
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    paired: int
    only_a: int
    only_b: int
    neither: int
    unscored_a: int
    unscored_b: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0; False without an interval."""
        return self.ci_low is not None and self.ci_high is not None and (self.ci_low > 0.0 or self.ci_high < 0.0)


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One number about a prompt that differs between the sides; means over the samples of each."""

    category: str
    dimension: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class ChangedPrompt:
    """A prompt on which the two sides part.

    Attributes:
        prompt_id: which.
        categories: the tasks in which they part.
        text: what the generators were told; None when the store does not have it.
        moves: the dimensions that differ, the largest first.
        size: the differences added up, each in parts of the range that its dimension has over both sides; from 0.
        balance: the same with signs; above 0: A is higher.
        generations_a, generations_b: what was judged on either side.
    """

    prompt_id: str
    categories: tuple[str, ...]
    text: str | None
    moves: tuple[ScoreChange, ...]
    size: float
    balance: float
    generations_a: tuple[str, ...]
    generations_b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison(ShownResult):
    """The differences of two sides, and how they were estimated.

    ``gaps``: every dimension over all prompts, then by category for those that have several. ``changes``: the biggest first.
    ``notes``: sentences for people, among them that judge versions differ.
    """

    a: ComparedSide
    b: ComparedSide
    gaps: tuple[Gap, ...]
    changes: tuple[ChangedPrompt, ...]
    changed: int
    prompts: int
    confidence: float
    replicates: int
    seed: int
    notes: tuple[str, ...]

    @property
    def across_versions(self) -> bool:
        """Whether the two sides were judged by different judges or versions."""
        return (self.a.judge, self.a.judge_version) != (self.b.judge, self.b.judge_version)

    def view(self) -> ResultView:
        """Return the differences as a table, and those with an interval as a chart."""
        points = [
            PlotRow(f"{gap.dimension}, {gap.category or 'all'}", gap.difference, gap.ci_low, gap.ci_high)
            for gap in self.gaps
            if gap.difference is not None
        ]
        header = f"A: {self.a} (run {self.a.run_id}). B: {self.b} (run {self.b.run_id}). {self.prompts:,} prompts."
        table = Table(GAP_COLUMNS, [gap_cells(gap) for gap in self.gaps], frozenset(GAP_COLUMNS[2:]), "Differences")
        return ResultView(header, table, ForestPlot("A − B", points, 0.0), self.notes)


def gap_cells(gap: Gap) -> list[str]:
    """Return one row of the table of differences, as text."""
    ends = "" if gap.ci_low is None or gap.ci_high is None else f"[{gap.ci_low:+.3f}, {gap.ci_high:+.3f}]"
    return [
        gap.dimension,
        gap.category or "all",
        _number(gap.mean_a),
        _number(gap.mean_b),
        MISSING if gap.difference is None else f"{gap.difference:+.3f}",
        ends,
        f"{gap.paired:,}",
        f"{gap.only_a:,} / {gap.only_b:,}",
        f"{gap.unscored_a:,} / {gap.unscored_b:,}",
    ]


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"

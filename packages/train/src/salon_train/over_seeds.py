"""What the studies of assessors, refiners and image policies share: means over seeds, progress of seeds, curves over seeds."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Self

from salon_ranking.uncertainty.student import two_sided_quantile

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from salon_console.page import Figure


@dataclass(frozen=True, slots=True)
class SeedMean:
    """A mean over seeds.

    Attributes:
        mean: NaN without any seed.
        low, high: 95% interval by Student's t, as wide as so few seeds make it, within the range of the values; NaN for
            one seed.
        seeds: how many had a number.
    """

    mean: float
    low: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float], *, differences: bool = False) -> "SeedMean":
        """Return the mean of one share, rate or F1 per seed; its interval ends at 0 and 1.

        Args:
            values: one per seed, between 0 and 1.
            differences: the values are differences of shares, between -1 and 1.

        Example:
            >>> estimate = SeedMean.of([0.2, 0.3, 0.4])
            >>> round(estimate.mean, 3), round(estimate.low, 3), round(estimate.high, 3)
            (0.3, 0.052, 0.548)
        """
        if not values:
            return cls(math.nan, math.nan, math.nan, 0)
        middle = mean(values)
        if len(values) == 1:
            return cls(middle, math.nan, math.nan, 1)
        room = two_sided_quantile(0.05, len(values) - 1) * stdev(values) / math.sqrt(len(values))
        lowest = -1.0 if differences else 0.0
        return cls(middle, max(middle - room, min(lowest, *values)), min(middle + room, max(1.0, *values)), len(values))

    def text(self, form: str = ".3f") -> str:
        """Return the mean with its interval, each number in a format; a dash without any seed."""
        if not self.seeds:
            return "–"
        mean, low, high = (format(value, form) for value in (self.mean, self.low, self.high))
        return mean if math.isnan(self.low) else f"{mean} [{low}, {high}]"

    def __str__(self) -> str:
        """Return the mean with its interval as tables print it."""
        return self.text()


@dataclass(frozen=True, slots=True)
class SeedProgress:
    """Progress of one stage of one seed.

    Attributes:
        seed: which.
        doing: the stage, in words.
        step: optimizer steps that are done.
        steps: of the whole stage.
    """

    seed: int
    doing: str
    step: int
    steps: int


Tell = Callable[["str | SeedProgress"], object]
"""Called with a line about what begins, and with the progress of each stage."""


class SeedBars:
    """Show a progress bar for each seed on a terminal, and print each line of text.

    Args:
        console: where.
    """

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._console = console
        self._tasks: dict[int, TaskID] = {}

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._bar.stop()

    def __call__(self, told: "str | SeedProgress") -> None:
        if isinstance(told, str):
            self._console.print(told, highlight=False)
            return
        task = self._tasks.get(told.seed)
        if task is None:
            task = self._tasks[told.seed] = self._bar.add_task("")
        self._bar.update(task, description=f"seed {told.seed}: {told.doing}", completed=told.step, total=told.steps)


def curve_over_seeds(
    points: Sequence[Mapping[str, Any]], words: str, *, learning: str, share: bool = True, caption: str = ""
) -> "Figure":
    """Draw a number against steps: a thin line for each seed, a thick one for the mean of each arm.

    Args:
        points: ``arm``, ``seed``, ``step`` and ``value`` of each measurement.
        words: the name of the number.
        learning: the name of what the steps are of.
        share: the number is a share, and its axis goes from 0 to 1; else it fits the values.
        caption: more to say about the number, with a space in front.
    """
    import polars as pl

    from salon_console.line_chart import Curve, LegendEntry, LineChart
    from salon_console.page import Figure, Table

    rows = pl.DataFrame(list(points))
    arms = {arm: number % 8 for number, arm in enumerate(rows["arm"].unique(maintain_order=True))}
    lines = [
        Curve(str(seed), dict(of.select("step", "value").iter_rows()), arms[arm], thin=True)
        for (arm, seed), of in rows.group_by("arm", "seed", maintain_order=True)
    ]
    means = rows.group_by("arm", "step", maintain_order=True).agg(pl.col("value").mean())
    lines += [Curve(arm, dict(means.filter(arm=arm).select("step", "value").iter_rows()), arms[arm]) for arm in arms]
    keys = [LegendEntry(arm, colour) for arm, colour in arms.items()]
    chart = LineChart(words, lines, keys if len(arms) > 1 else [], across=f"Steps of {learning}")
    table = rows.group_by("arm", "step", maintain_order=True).agg(pl.col("value").mean().round(3), pl.len().alias("seeds"))
    cells = [[str(cell) for cell in row] for row in table.rows()]
    numbers = Table((learning, "Step", "Mean", "Seeds"), cells, frozenset({"Step", "Mean", "Seeds"}))
    return Figure(chart, f"{words}: thin lines are seeds, thick ones their mean.{caption}", numbers)

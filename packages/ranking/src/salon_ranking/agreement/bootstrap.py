"""Is one system better than another on the same items? The paired bootstrap of a difference.

Both systems are resampled with the *same* items in every replicate, so what makes an item hard for both cancels
(R³-Refiner, appendix C.3: B = 1000, 95% interval of the difference). Means are resampled by the Rust core, one random
stream per replicate: the same seed gives the same interval, bit for bit, on any number of threads, and the same items for
every system, pair and metric. The core's readable twin is ``tests/twins/reference_resampling.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking import _core
from salon_ranking.agreement._numbers import Floats, numbers
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.options import Confidence, Range, Seed, Threads, checked, workers
from salon_ranking.uncertainty.quantiles import standard_interval

Unscored: TypeAlias = Literal["refuse", "pairwise"]
"""What NaN among scores does: it is an error, or leaves the item out of the pairs of that system."""

Metric = Callable[[Floats], float]
"""From the values of a resample, shape (items,) or (items, columns), to one number; NaN where it does not exist."""

Drawn: TypeAlias = Annotated[int, Range(1, 2**31 - 1)]
"""Replicates of a bootstrap that cannot do without."""


@dataclass(frozen=True, slots=True)
class Difference(ShownResult):
    """The difference of two systems on the same items, first less second, and how it was made.

    Attributes:
        value: the difference on all items; never a mean of replicates.
        ci_low, ci_high: value ± t · standard error of the replicates. NaN of fewer than five items (at 95%), where all differ
            by the same, and where too many replicates have no value.
        items: items that both systems have.
        degenerate: replicates in which the metric did not exist; they are in no interval.
        first, second: what the systems are called.
    """

    value: float
    ci_low: float
    ci_high: float
    items: int
    confidence: float
    replicates: int
    seed: int
    degenerate: int = 0
    first: str = "first"
    second: str = "second"

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0; False without an interval."""
        return self.ci_low > 0.0 or self.ci_high < 0.0

    def view(self) -> ResultView:
        """Return the difference with its interval as a table and a chart."""
        how = f"{100 * self.confidence:.4g}% interval: paired bootstrap with Student's t, {self.replicates:,} replicates, seed"
        columns = ("first", "second", "difference", "low", "high", "items")
        values = (self.value, self.ci_low, self.ci_high)
        row = (self.first, self.second, *(f"{value:.4g}" for value in values), f"{self.items:,}")
        chart = ForestPlot("Difference", [PlotRow(f"{self.first} − {self.second}", *values)], 0.0)
        return ResultView(f"{how} {self.seed}.", Table(columns, [row], frozenset(columns[2:])), chart)


@checked
def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    *,
    metric: Metric | None = None,
    replicates: Drawn = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Difference:
    """Return the difference of a metric between two systems, with its paired bootstrap interval (``docs/intervals.md``).

    Args:
        first, second: shape (items,), the same items in the same order; with a ``metric`` also (items, columns), such as
            true positives, false positives and false negatives for an F1.
        metric: default: the mean. It is given the drawn items in their order, each as often as it was drawn.

    Raises:
        AgreementError: the shapes differ, or a value is no finite number.
        UndefinedError: fewer than two items.
        OptionError: replicates, confidence or seed are outside their range.

    Example:
        >>> better = paired_bootstrap([1.0, 0.8, 0.9, 0.7, 0.8], [0.5, 0.4, 0.3, 0.2, 0.4])
        >>> round(better.value, 2), better.significant
        (0.48, True)
    """
    dimensions = 1 if metric is None else min(max(np.ndim(np.asarray(first, dtype=object)), 1), 2)
    x, y = numbers(first, "first", dimensions=dimensions), numbers(second, "second", dimensions=dimensions)
    if x.shape != y.shape:
        raise AgreementError("the systems have different items or columns:", value=(x.shape, y.shape))
    _enough(len(x))
    if metric is None:
        drawn = _core.paired_differences(np.stack([x, y], axis=1), replicates, seed, workers(None))[:, 0]
        value = float((x - y).mean())
    else:
        places = np.arange(len(x))
        rows = (np.repeat(places, _core.drawn_items(len(x), seed, each).astype(np.int64)) for each in range(replicates))
        drawn = np.array([metric(x[row]) - metric(y[row]) for row in rows], dtype=np.float64)
        value = float(metric(x) - metric(y))
    low, high = standard_interval(drawn[:, None], np.array([value]), len(x), confidence)
    lost = int(np.isnan(drawn).sum())
    return Difference(value, float(low[0]), float(high[0]), len(x), confidence, replicates, seed, degenerate=lost)


@checked
def compare_all(
    scores: ArrayLike,
    systems: Sequence[str] | None = None,
    *,
    replicates: Drawn = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    unscored: Unscored = "refuse",
    threads: Threads | None = None,
) -> tuple[Difference, ...]:
    """Return the differences of the means of every pair of systems; all pairs share the resampled items.

    Args:
        scores: shape (items, systems).
        systems: their names; default ``"0"``, ``"1"``, …
        unscored: NaN is an item that a system has no score on. ``"refuse"`` takes none; with ``"pairwise"`` each pair is
            compared on the items that both have, and replicates without any are ``degenerate``.
        threads: by default all processors that this process may use; the result does not depend on it.

    Returns:
        One difference per pair (i, j) with i < j, in that order. Their intervals are not corrected for their number.

    Raises:
        AgreementError: as :func:`paired_bootstrap`.
        UndefinedError: also for a pair with fewer than two common items.

    Example:
        >>> [(d.first, d.second, d.value) for d in compare_all([[1.0, 0.5], [0.5, 0.0]], ["a", "b"])]
        [('a', 'b', 0.5)]
    """
    number = workers(threads)
    table, names = score_table(scores, systems, unscored=unscored)
    _enough(len(table))
    pairs = list(combinations(range(table.shape[1]), 2))
    if not pairs:
        return ()
    common = [table[:, one] - table[:, other] for one, other in pairs]
    common = [each[~np.isnan(each)] for each in common]
    for units in common:
        _enough(len(units))
    drawn = _core.paired_differences(np.ascontiguousarray(table), replicates, seed, number)
    values = [float(each.mean()) for each in common]
    ends = [
        standard_interval(drawn[:, [number]], np.array([values[number]]), len(each), confidence)
        for number, each in enumerate(common)
    ]
    return tuple(
        Difference(
            value=values[number],
            ci_low=float(ends[number][0][0]),
            ci_high=float(ends[number][1][0]),
            items=len(common[number]),
            confidence=confidence,
            replicates=replicates,
            seed=seed,
            degenerate=int(np.isnan(drawn[:, number]).sum()),
            first=names[one],
            second=names[other],
        )
        for number, (one, other) in enumerate(pairs)
    )


def score_table(
    scores: ArrayLike, systems: Sequence[str] | None, *, unscored: Unscored = "refuse"
) -> tuple[Floats, tuple[str, ...]]:
    """Return the scores as an array (items, systems), and one name per system.

    Raises:
        AgreementError: not a table of finite numbers (or NaN where that is allowed), or another number of names.
    """
    table = numbers(scores, "scores", dimensions=2, missing=unscored == "pairwise")
    names = tuple(systems) if systems is not None else tuple(str(number) for number in range(table.shape[1]))
    if len(names) != table.shape[1]:
        raise AgreementError(f"{table.shape[1]} systems need as many names, not", value=len(names))
    return table, names


def _enough(units: int) -> None:
    if units < 2:
        raise UndefinedError("at least two items are needed, not", value=units)

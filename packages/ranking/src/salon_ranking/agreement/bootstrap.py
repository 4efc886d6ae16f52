"""Is one system better than another on the same items? The paired bootstrap of a difference.

Both systems are resampled with the *same* items in every replicate, so what makes an item hard for both cancels
(R³-Refiner, 002, appendix C.3: B = 1000, 95 % interval of the difference). Work is done in fixed chunks by one random
stream: the same seed gives the same interval on any machine and number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from salon_ranking.agreement._numbers import Floats, numbers
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.errors import OptionError
from salon_ranking.intervals import percentile_interval

Metric = Callable[[Floats], float]
"""From the values of a resample, shape (items,) or (items, columns), to one number; NaN where it does not exist."""

_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two systems on the same items, first less second, and how it was made.

    Attributes:
        value: the difference on all items; never a mean of replicates.
        ci_low, ci_high: percentile interval; NaN when no replicate had a value.
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


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    *,
    metric: Metric | None = None,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Difference:
    """The difference of a metric between two systems, with its paired bootstrap interval.

    Args:
        first, second: shape (items,), the same items in the same order; with a ``metric`` also (items, columns), such as
            true positives, false positives and false negatives for an F1.
        metric: default: the mean.

    Raises:
        AgreementError: the shapes differ, or a value is no finite number.
        UndefinedError: fewer than two items.
        OptionError: replicates, confidence or seed are outside their range.

    Example:
        >>> better = paired_bootstrap([1.0, 0.8, 0.9, 0.7], [0.5, 0.4, 0.3, 0.2])
        >>> round(better.value, 2), better.significant
        (0.5, True)
    """
    _check(replicates, confidence, seed)
    dimensions = 1 if metric is None else min(max(np.ndim(np.asarray(first, dtype=object)), 1), 2)
    x, y = numbers(first, "first", dimensions=dimensions), numbers(second, "second", dimensions=dimensions)
    if x.shape != y.shape:
        raise AgreementError("the systems have different items or columns:", value=(x.shape, y.shape))
    _enough(len(x))
    if metric is None:
        drawn = _resampled_means((x - y)[:, None], replicates, seed)[:, 0]
        value = float((x - y).mean())
    else:
        random = np.random.default_rng(seed)
        rows = (random.integers(0, len(x), len(x)) for _ in range(replicates))
        drawn = np.array([metric(x[row]) - metric(y[row]) for row in rows], dtype=np.float64)
        value = float(metric(x) - metric(y))
    low, high, used = percentile_interval(drawn[:, None], confidence)
    ends = (float(low[0]), float(high[0]))
    return Difference(value, *ends, len(x), confidence, replicates, seed, degenerate=replicates - int(used[0]))


def compare_all(
    scores: ArrayLike,
    systems: Sequence[str] | None = None,
    *,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Difference, ...]:
    """The differences of the means of every pair of systems; all pairs share the resampled items.

    Args:
        scores: shape (items, systems).
        systems: their names; default ``"0"``, ``"1"``, …

    Returns:
        One difference per pair (i, j) with i < j, in that order. Their intervals are not corrected for their number.

    Raises:
        As :func:`paired_bootstrap`.

    Example:
        >>> [(d.first, d.second, d.value) for d in compare_all([[1.0, 0.5], [0.5, 0.0]], ["a", "b"])]
        [('a', 'b', 0.5)]
    """
    _check(replicates, confidence, seed)
    table, names = score_table(scores, systems)
    _enough(len(table))
    drawn, means = _resampled_means(table, replicates, seed), table.mean(axis=0)
    found = []
    for one, other in combinations(range(table.shape[1]), 2):
        low, high, _ = percentile_interval((drawn[:, one] - drawn[:, other])[:, None], confidence)
        found.append(
            Difference(
                value=float(means[one] - means[other]),
                ci_low=float(low[0]),
                ci_high=float(high[0]),
                items=len(table),
                confidence=confidence,
                replicates=replicates,
                seed=seed,
                first=names[one],
                second=names[other],
            )
        )
    return tuple(found)


def score_table(scores: ArrayLike, systems: Sequence[str] | None) -> tuple[Floats, tuple[str, ...]]:
    """The scores as an array (items, systems), and one name per system.

    Raises:
        AgreementError: not a table of finite numbers, or another number of names.
    """
    table = numbers(scores, "scores", dimensions=2)
    names = tuple(systems) if systems is not None else tuple(str(number) for number in range(table.shape[1]))
    if len(names) != table.shape[1]:
        raise AgreementError(f"{table.shape[1]} systems need as many names, not", value=len(names))
    return table, names


def _resampled_means(table: Floats, replicates: int, seed: int) -> Floats:
    """Means of the columns over items drawn with replacement; shape (replicates, columns)."""
    random = np.random.default_rng(seed)
    items, columns = table.shape
    drawn = np.empty((replicates, columns))
    step = max(1, _CHUNK // items)
    for begin in range(0, replicates, step):
        rows = random.integers(0, items, (min(step, replicates - begin), items))
        for column in range(columns):
            drawn[begin : begin + len(rows), column] = table[:, column][rows].mean(axis=1)
    return drawn


def _enough(items: int) -> None:
    if items < 2:
        raise UndefinedError("at least two items are needed, not", value=items)


def _check(replicates: int, confidence: float, seed: int) -> None:
    if replicates < 1:
        raise OptionError("replicates must be 1 or more, not", value=replicates)
    if not 0.0 < confidence < 1.0:
        raise OptionError("confidence must lie between 0 and 1, not", value=confidence)
    if seed < 0:
        raise OptionError("seed must be 0 or more, not", value=seed)

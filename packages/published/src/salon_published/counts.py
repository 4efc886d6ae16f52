"""Whole numbers behind printed percentages and rates.

A rate over a set of known size is a ratio of whole numbers; few such ratios round to the printed digits, often one.
"""

from collections.abc import Iterable

from salon_published.rounding import Quantity

_SLACK = 1e-9


def share_counts(percentage: Quantity, sizes: Iterable[int]) -> list[tuple[int, int]]:
    """Return all (k, n) with n among ``sizes`` and 100·k/n printed as ``percentage``; nearest k first within each n.

    When no whole k fits any size, the nearest k of the first size: a wrong figure must not stop a check.

    Example:
        >>> share_counts(Quantity(83.70, 0.005), range(100, 89, -1))
        [(77, 92)]
    """
    tried = list(sizes)
    counts = []
    for size in tried:
        lowest = max(0, int(percentage.low * size / 100) - 1)
        fits = [
            (hits, size)
            for hits in range(lowest, min(size, int(percentage.high * size / 100) + 1) + 1)
            if abs(100 * hits / size - percentage.value) <= percentage.half + _SLACK
        ]
        counts += sorted(fits, key=lambda pair: abs(100 * pair[0] / pair[1] - percentage.value))
    return counts or [(round(percentage.value * tried[0] / 100), tried[0])]


def labelled_counts(precision: Quantity, recall: Quantity, support: int) -> list[tuple[int, int]]:
    """Return all (TP, TP + FP) that give the printed precision and recall over ``support`` positives; the nearest first.

    Rates are fractions from 0 to 1. When nothing fits (which would be a misprint), the nearest pair alone.

    Example:
        >>> labelled_counts(Quantity(0.8957, 0.00005), Quantity(0.6177, 0.00005), 5645)
        [(3487, 3893)]
    """
    nearest_hits = round(recall.value * support)
    fits = []
    for hits in range(max(0, int(recall.low * support)), min(support, int(recall.high * support) + 1) + 1):
        if abs(hits / support - recall.value) > recall.half + _SLACK:
            continue
        for flagged in _flagged(hits, precision):
            gap = abs(hits / flagged - precision.value) + abs(hits / support - recall.value)
            fits.append((gap, (hits, flagged)))
    if not fits:
        return [(nearest_hits, max(1, round(nearest_hits / (precision.value or 1.0))))]
    return [pair for _, pair in sorted(fits)]


def _flagged(hits: int, precision: Quantity) -> list[int]:
    """Return the whole numbers of flagged items that give the printed precision."""
    if hits == 0 or precision.low <= 0:
        return [max(1, hits)]
    first, last = int(hits / precision.high) - 1, int(hits / precision.low) + 1
    return [n for n in range(max(1, first), last + 1) if abs(hits / n - precision.value) <= precision.half + _SLACK]

"""The formulas by which a printed cell follows from other printed cells.

Two kinds. A *row rule* makes one value from a few numbers (and, for some, weights). A *column rule* makes one value
from whole columns and says something about one place in them. Every rule also says how far the rounding of its inputs
lets the result move. ``RULES`` is the list that manifests choose from; formulas that a paper states cite it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from salon_published.counts import labelled_counts, share_counts
from salon_published.rounding import Quantity, Recomputed
from salon_published.tie_breaks import tie_breaks
from salon_ranking.agreement import kendall, pearson, spearman

Quantities: TypeAlias = Sequence[Quantity]
RowFunction: TypeAlias = Callable[[Quantities, Quantities], Recomputed]
"""(inputs, weights) → value. ``weights`` is empty for rules that take none."""
ColumnFunction: TypeAlias = Callable[[Sequence[Quantities], int], Recomputed]
"""(columns of equal length, place of the cell in them, from 0) → value."""

_MOST_TIE_BREAKS = 150


@dataclass(frozen=True, slots=True)
class RowFormula:
    """A formula over a few numbers. ``derives`` is False when it only tests whether a printed value is possible."""

    formula: RowFunction
    derives: bool


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """A formula over whole columns. ``derives`` as for :class:`RowFormula`."""

    formula: ColumnFunction
    derives: bool


Rule: TypeAlias = RowFormula | ColumnRule


def _increasing(formula: Callable[[Sequence[float]], float], of: Quantities) -> Recomputed:
    """Evaluate a formula that grows with each input."""
    plain = formula([item.value for item in of])
    return Recomputed(plain, formula([item.low for item in of]), formula([item.high for item in of]))


def same(of: Quantities, weights: Quantities) -> Recomputed:
    """Return the same number, printed in another place."""
    return _increasing(lambda values: values[0], of)


def mean(of: Quantities, weights: Quantities) -> Recomputed:
    """Arithmetic mean. Macro averages (MagicMirror, Eq. 9), level and track averages are such means."""
    return _increasing(lambda values: sum(values) / len(values), of)


def total(of: Quantities, weights: Quantities) -> Recomputed:
    """Sum."""
    return _increasing(sum, of)


def difference(of: Quantities, weights: Quantities) -> Recomputed:
    """Return first minus second."""
    first, second = of
    return Recomputed(first.value - second.value, first.low - second.high, first.high - second.low)


def percentage(of: Quantities, weights: Quantities) -> Recomputed:
    """100 · first / second, for a second that is positive."""
    first, second = of
    return Recomputed(
        100 * first.value / second.value,
        100 * min(first.low / second.low, first.low / second.high),
        100 * max(first.high / second.low, first.high / second.high),
    )


def weighted_mean(of: Quantities, weights: Quantities) -> Recomputed:
    """Σ wᵢ·xᵢ / Σ wᵢ with positive weights; rounded weights (shares in whole percent) are moved within their rounding."""

    def average(values: Sequence[float], by: Sequence[float]) -> float:
        return sum(value * weight for value, weight in zip(values, by, strict=True)) / sum(by)

    # Linear-fractional in each weight, so the extremes lie where every weight is at one of its ends.
    corners = list(product(*({weight.low, weight.high} for weight in weights)))
    return Recomputed(
        average([item.value for item in of], [weight.value for weight in weights]),
        min(average([item.low for item in of], corner) for corner in corners),
        max(average([item.high for item in of], corner) for corner in corners),
    )


def f1(of: Quantities, weights: Quantities) -> Recomputed:
    """Return harmonic mean of precision and recall: 2PR / (P + R), 0 when both are 0 (MagicMirror, Eq. 8)."""
    return _increasing(lambda pair: _f1(pair[0], pair[1]), of)


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def pooled_accuracy(of: Quantities, weights: Quantities) -> Recomputed:
    """Pool percentages of right answers over sets of known sizes: 100 · Σ kᵢ / Σ nᵢ.

    Artifact-Bench, Table 2, prints such averages.

    ``weights`` are the sizes nᵢ; kᵢ is the whole number whose percentage is printed.
    """
    sizes = [round(weight.value) for weight in weights]
    counts = [share_counts(item, [size]) for item, size in zip(of, sizes, strict=True)]
    return _first_of([100 * sum(hits for hits, _ in choice) / sum(sizes) for choice in product(*counts)])


def pooled_share(of: Quantities, weights: Quantities) -> Recomputed:
    """Pool percentages as ``pooled_accuracy`` does, with unknown nᵢ from 90 to 100% of the weights.

    Some items dropped out (MagicMirror, appendix A.7).

    The plain value takes the largest sizes that are possible.
    """
    return _first_of([100 * hits / size for hits, size in _pools(of, weights)])


def possible_share(of: Quantities, weights: Quantities) -> Recomputed:
    """Test whether 100 · k / N is possible for a whole k.

    N is the number of items of the other inputs.

    The first input is the printed percentage itself; the others are percentages over parts of the N items, whose sizes
    are found as in ``pooled_share``.
    """
    printed, parts = of[0], of[1:]
    sizes = {size for _, size in _pools(parts, weights)}
    nearest = min((100 * round(printed.value * size / 100) / size for size in sizes), key=lambda x: abs(x - printed.value))
    return Recomputed(None, nearest, nearest)


def share_size(of: Quantities, weights: Quantities) -> Recomputed:
    """Return the largest n up to the weight for which some 100 · k / n is the printed percentage."""
    most = round(weights[0].value)
    return _first_of([float(size) for _, size in share_counts(of[0], range(most, most // 2, -1))])


def _first_of(options: Sequence[float]) -> Recomputed:
    """Return the first option is the plain value, any other is possible."""
    return Recomputed(options[0], min(options), max(options), tuple(dict.fromkeys(options)))


def _pools(of: Quantities, weights: Quantities) -> list[tuple[int, int]]:
    """Return every (Σ kᵢ, Σ nᵢ) that the printed percentages allow; the one with the largest sizes first."""
    options = []
    for quantity, weight in zip(of, weights, strict=True):
        most = round(weight.value)
        options.append(share_counts(quantity, range(most, round(0.9 * most) - 1, -1)))
    return [(sum(k for k, _ in choice), sum(n for _, n in choice)) for choice in product(*options)]


def micro_precision(of: Quantities, weights: Quantities) -> Recomputed:
    """Σ TP / Σ (TP + FP) over labels (MagicMirror, Eq. 10); inputs are P₁, R₁, P₂, R₂, …, weights the supports."""
    return _micro(of, weights, lambda hits, flagged, support: hits / flagged)


def micro_recall(of: Quantities, weights: Quantities) -> Recomputed:
    """Σ TP / Σ (TP + FN) over labels (MagicMirror, Eq. 10); inputs are P₁, R₁, P₂, R₂, …, weights the supports."""
    return _micro(of, weights, lambda hits, flagged, support: hits / support)


def micro_f1(of: Quantities, weights: Quantities) -> Recomputed:
    """Compute micro F1 = 2 Σ TP / (Σ (TP + FP) + Σ (TP + FN)).

    Inputs are P₁, R₁, P₂, R₂, … of the labels, weights the supports.
    """
    return _micro(of, weights, lambda hits, flagged, support: 2 * hits / (flagged + support))


def _micro(of: Quantities, weights: Quantities, formula: Callable[[int, int, int], float]) -> Recomputed:
    supports = [round(weight.value) for weight in weights]
    pairs = zip(of[::2], of[1::2], supports, strict=True)
    options = [labelled_counts(precision, recall, support) for precision, recall, support in pairs]
    whole = sum(supports)
    values = [formula(sum(hit for hit, _ in pick), sum(flagged for _, flagged in pick), whole) for pick in product(*options)]
    return _first_of(values)


def between(of: Quantities, weights: Quantities) -> Recomputed:
    """Return whether the value lies between the smallest and the largest input, as a mean with unknown weights must."""
    return Recomputed(None, min(item.low for item in of), max(item.high for item in of))


def at_most(of: Quantities, weights: Quantities) -> Recomputed:
    """Test whether the value is at most the sum of the inputs, as for a union."""
    return Recomputed(None, float("-inf"), sum(item.high for item in of))


def rank(columns: Sequence[Quantities], row: int) -> Recomputed:
    """Rank from the highest value down, 1 for the best, equal values share the better rank ("1224")."""
    (column,) = columns
    own = column[row]
    others = [item for index, item in enumerate(column) if index != row]
    return Recomputed(
        1.0 + sum(item.value > own.value for item in others),
        1.0 + sum(item.low >= own.high and item.value > own.value for item in others),
        1.0 + sum(item.high > own.low for item in others),
    )


def rank_order(columns: Sequence[Quantities], row: int) -> Recomputed:
    """Whether a rank of a longer list fits: no better than any higher-scored row's, no worse than any lower-scored one's.

    The columns are the scores and the printed ranks; it is for tables that print part of a list, with its ranks.
    """
    scores, ranks = columns
    own = scores[row].value
    above = [there.value for score, there in zip(scores, ranks, strict=True) if score.value > own]
    below = [there.value for score, there in zip(scores, ranks, strict=True) if score.value < own]
    return Recomputed(None, max(above, default=1.0), min(below, default=float("inf")))


def spearman_rho(columns: Sequence[Quantities], row: int) -> Recomputed:
    """Spearman's ρ of two columns: Pearson's r of mid-ranks; equal printed values may have been unequal before rounding."""
    return _ranked(spearman, columns)


def kendall_tau(columns: Sequence[Quantities], row: int) -> Recomputed:
    """Kendall's τ-b of two columns; equal printed values may have been unequal before rounding."""
    return _ranked(kendall, columns)


def pearson_r(columns: Sequence[Quantities], row: int) -> Recomputed:
    """Pearson's r of two columns, to first order in the rounding of each input."""
    first, second = ([item.value for item in column] for column in columns)
    plain = pearson(first, second)
    reach = 0.0
    for index, (x, y) in enumerate(zip(*columns, strict=True)):
        if x.half:
            reach += abs(pearson([*first[:index], x.high, *first[index + 1 :]], second) - plain)
        if y.half:
            reach += abs(pearson(first, [*second[:index], y.high, *second[index + 1 :]]) - plain)
    return Recomputed(plain, plain - reach, plain + reach)


def _ranked(coefficient: Callable[[Sequence[float], Sequence[float]], float], columns: Sequence[Quantities]) -> Recomputed:
    first, second = ([item.value for item in column] for column in columns)
    plain = coefficient(first, second)
    orders = [(a, b) for a in tie_breaks(first, _MOST_TIE_BREAKS) for b in tie_breaks(second, _MOST_TIE_BREAKS)]
    values = [plain] + [coefficient(a, b) for a, b in orders[:_MOST_TIE_BREAKS]]
    return Recomputed(plain, min(values), max(values))


_DERIVING = (
    *(same, mean, total, difference, percentage, weighted_mean, f1),
    *(pooled_accuracy, pooled_share, share_size, micro_precision, micro_recall, micro_f1),
)
_TESTING = (possible_share, between, at_most)
_DERIVING_COLUMNS = (rank, spearman_rho, kendall_tau, pearson_r)

RULES: dict[str, Rule] = {
    **{formula.__name__: RowFormula(formula, derives=True) for formula in _DERIVING},
    **{formula.__name__: RowFormula(formula, derives=False) for formula in _TESTING},
    **{formula.__name__: ColumnRule(formula, derives=True) for formula in _DERIVING_COLUMNS},
    rank_order.__name__: ColumnRule(rank_order, derives=False),
}
"""Every rule that a manifest may name."""

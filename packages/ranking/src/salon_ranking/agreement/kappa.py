"""Do raters choose the same categories, beyond what chance would bring? Cohen's κ for two, Fleiss' κ for several.

Both are 1 for full agreement, 0 for what chance explains, negative below. When chance alone already explains full agreement
(everybody always chose one category) κ does not exist and :class:`UndefinedError` is raised.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_ranking.agreement._numbers import Floats, numbers
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.options import checked

Weights: TypeAlias = Literal["none", "linear", "quadratic"]


@checked
def cohen_kappa(
    first: Sequence[Hashable] | NDArray[Any],
    second: Sequence[Hashable] | NDArray[Any],
    *,
    weights: Weights = "none",
    categories: Sequence[Hashable] | None = None,
) -> float:
    """Return Cohen's κ of two raters who labelled the same things in the same order.

    κ = 1 - Σ w·observed / Σ w·expected, where w is 1 off the diagonal (``none``), or the distance of two categories in
    their order (``linear``), or its square (``quadratic``) (Cohen 1960, doi:10.1177/001316446002000104; 1968,
    doi:10.1037/h0026256).

    Args:
        first, second: n labels each: texts, numbers, truth values. None and NaN are refused.
        categories: the scale from low to high. Weights need it for labels that are not numbers; a category that neither
            used still counts as a step. Default: the labels that occur, numbers in ascending order.

    Raises:
        AgreementError: unequal lengths, a label outside ``categories``, weights without an order.
        UndefinedError: no labels, or both raters used one and the same category throughout.

    Example:
        >>> cohen_kappa(["cat", "cat", "dog", "dog"], ["cat", "cat", "dog", "cat"])
        0.5
        >>> cohen_kappa([1, 2, 3, 3], [1, 2, 3, 2], weights="quadratic")
        0.8
    """
    one, other = list(first), list(second)
    if len(one) != len(other):
        raise AgreementError("the raters labelled different numbers of things:", value=(len(one), len(other)))
    if not one:
        raise UndefinedError("nothing was labelled by both raters")
    scale = places_of((one, other), categories, ordered=weights != "none")
    codes = [np.array([scale[label] for label in labels]) for labels in (one, other)]
    observed = np.bincount(codes[0] * len(scale) + codes[1], minlength=len(scale) ** 2).reshape(len(scale), len(scale))
    return kappa_of_table(observed, weights=weights)


@checked
def kappa_of_table(observed: ArrayLike, *, weights: Weights = "none") -> float:
    """Return Cohen's κ of a square table of counts.

    Rows are the first rater's categories in order, columns the second's.

    Raises:
        AgreementError: the table is not square, or holds negative or non-finite counts.
        UndefinedError: the table is empty, or all counts are in one cell of the diagonal.

    Example:
        >>> round(kappa_of_table([[20, 5], [10, 15]]), 3)
        0.4
    """
    table = _counts(observed)
    if table.shape[0] != table.shape[1]:
        raise AgreementError("the table must be square, not", value=table.shape)
    total = table.sum()
    if total == 0:
        raise UndefinedError("nothing was labelled by both raters")
    steps = np.abs(np.subtract.outer(np.arange(len(table)), np.arange(len(table)))).astype(np.float64)
    cost = {"none": (steps > 0).astype(np.float64), "linear": steps, "quadratic": steps**2}[weights]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    chance = float((cost * expected).sum())
    if chance == 0.0:
        raise UndefinedError("both raters used one and the same category throughout, so chance explains everything")
    return 1.0 - float((cost * table).sum()) / chance


def fleiss_kappa(counts: ArrayLike) -> float:
    """Fleiss' κ of several raters (Fleiss 1971, doi:10.1037/h0031619).

    Args:
        counts: shape (things, categories): how many raters put each thing into each category. Every thing has the same
            number of raters, at least two; they need not be the same persons.

    Raises:
        AgreementError: negative counts, or things with different numbers of raters (Krippendorff's α takes those).
        UndefinedError: no things, fewer than two raters each, or one category only.

    Example:
        >>> fleiss_kappa([[3, 0], [0, 3], [3, 0], [0, 3]])
        1.0
    """
    table = _counts(counts)
    raters = table.sum(axis=1)
    if table.size == 0 or not raters.any():
        raise UndefinedError("nothing was labelled")
    uneven = np.flatnonzero(raters != raters[0])
    if len(uneven):
        hint = "Krippendorff's alpha takes things with different numbers of raters: krippendorff_alpha."
        row = int(uneven[0]) + 1
        problem = f"every thing needs the same number of raters ({raters[0]:g}), not"
        raise AgreementError(problem, source="counts", row=row, value=float(raters[row - 1]), hint=hint)
    size = float(raters[0])
    if size < 2:
        raise UndefinedError("at least two raters per thing are needed, not", value=size)
    shares = table.sum(axis=0) / table.sum()
    chance = float((shares**2).sum())
    if np.count_nonzero(shares) == 1:
        raise UndefinedError("only one category was ever used, so chance explains everything")
    observed = float(((table * (table - 1)).sum(axis=1) / (size * (size - 1))).mean())
    return (observed - chance) / (1.0 - chance)


def _counts(table: ArrayLike) -> Floats:
    counts = numbers(table, "counts", dimensions=2)
    if (counts < 0).any():
        row = int(np.argwhere(counts < 0)[0][0])
        raise AgreementError("a count is negative:", source="counts", row=row + 1, value=float(counts.min()))
    return counts


def places_of(raters: tuple[list[Any], list[Any]], categories: Sequence[Hashable] | None, *, ordered: bool) -> dict[Any, int]:
    """Return the position of every category of two raters' labels."""
    for name, labels in zip(("first", "second"), raters, strict=True):
        for row, label in enumerate(labels, 1):
            if label is None or label != label:
                hint = "Leave out what one of the two did not label."
                raise AgreementError("no label", source=name, row=row, hint=hint)
            if categories is not None and label not in categories:
                raise AgreementError("unknown category", source=name, row=row, value=label, allowed=categories)
    if categories is not None:
        return {label: place for place, label in enumerate(dict.fromkeys(categories))}
    used = {label for labels in raters for label in labels}
    if all(isinstance(label, int | float | np.number | np.bool_) for label in used):
        return {label: place for place, label in enumerate(sorted(used))}
    if ordered:
        raise AgreementError("weights need the order of the categories", hint="Give them from low to high: categories=[…]")
    return {label: place for place, label in enumerate(used)}

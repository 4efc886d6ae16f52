"""Precision, recall and F1 from counts, and their macro and micro averages (MagicMirror, Equations 6 to 10)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon_taxonomy.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How often a label was right, given too much, and missed; single numbers, or arrays of one shape (replicates).

    Attributes:
        true_positives, false_positives, false_negatives: the counts.

    Example:
        >>> counts = LabelCounts(30, 10, 20)
        >>> float(counts.precision), float(counts.recall), round(float(counts.f1), 4)
        (0.75, 0.6, 0.6667)
    """

    true_positives: Floats | int
    false_positives: Floats | int
    false_negatives: Floats | int

    @property
    def support(self) -> Floats | int:
        """Images that have the label in truth."""
        return self.true_positives + self.false_negatives

    @property
    def flagged(self) -> Floats | int:
        """Images that the assessor gave the label."""
        return self.true_positives + self.false_positives

    @property
    def precision(self) -> Floats:
        """TP / (TP + FP); NaN where the label was never given."""
        return _ratio(self.true_positives, self.flagged)

    @property
    def recall(self) -> Floats:
        """TP / (TP + FN); NaN where no image has the label."""
        return _ratio(self.true_positives, self.support)

    @property
    def f1(self) -> Floats:
        """F1, 2 TP / (2 TP + FP + FN); NaN where the label is neither true nor predicted."""
        return _ratio(2 * np.asarray(self.true_positives), np.asarray(self.flagged) + self.support)


@dataclass(frozen=True, slots=True)
class Averages:
    """Precision, recall and F1 of several labels together, each a number or an array of one shape."""

    precision: Floats
    recall: Floats
    f1: Floats


def macro(labels: Sequence[LabelCounts]) -> Averages:
    """Return the means of the labels' own values (Equation 9), F1 included.

    A label that no image has is left out. A label that some image has and that was never given has precision 0 here.
    """
    weight = np.array([np.asarray(label.support) > 0 for label in labels], dtype=np.float64)
    total = weight.sum(axis=0)

    def mean(values: Sequence[Floats]) -> Floats:
        return _ratio((np.nan_to_num(np.array(values), nan=0.0) * weight).sum(axis=0), total)

    return Averages(
        mean([label.precision for label in labels]),
        mean([label.recall for label in labels]),
        mean([label.f1 for label in labels]),
    )


def micro(labels: Sequence[LabelCounts]) -> Averages:
    """Return the values of the pooled counts (Equation 10)."""
    pooled = LabelCounts(
        sum(np.asarray(label.true_positives) for label in labels),
        sum(np.asarray(label.false_positives) for label in labels),
        sum(np.asarray(label.false_negatives) for label in labels),
    )
    return Averages(pooled.precision, pooled.recall, pooled.f1)


def counts_behind(precision: float, recall: float, support: int) -> LabelCounts:
    """Return the counts behind a printed precision and recall, given the label's support.

    With four printed digits and a few thousand images the number of true positives is exact; that of false positives is
    exact where precision is not small (for 0.1028 and 80 true positives it is sure to within one).

    Args:
        precision: from 0 to 1; 0 is taken as no image flagged.
        recall: from 0 to 1.
        support: images that have the label.

    Raises:
        InputError: a value is outside its range.

    Example:
        >>> counts_behind(0.3665, 0.4621, 3004)
        LabelCounts(true_positives=1388, false_positives=2399, false_negatives=1616)
    """
    for name, value in (("precision", precision), ("recall", recall)):
        if not 0 <= value <= 1:
            raise InputError("must lie between 0 and 1", column=name, value=value)
    if support < 0:
        raise InputError("must be 0 or more", column="support", value=support)
    hits = round(recall * support)
    flagged = round(hits / precision) if precision > 0 else hits
    return LabelCounts(hits, flagged - hits, support - hits)


def _ratio(part: Floats | int, whole: Floats | int) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64))

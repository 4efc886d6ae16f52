"""Accuracy as Artifact-Bench counts it: per task and level, ``Avg`` over levels, ``Total`` over all (Table 2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from salon_bench.suites.contract.metrics import share_with_wilson
from salon_judges.formats.artifact_bench import QuestionLevel, QuestionTask
from salon_ranking.uncertainty.proportions import wilson_interval


@dataclass(frozen=True, slots=True)
class AccuracyCounts:
    """Counts of the questions of one task and level.

    Attributes:
        right: answered rightly.
        answered: replies that hold an answer.
        invalid: replies from which no answer could be taken (empty, refused, cut off, off the menu): they count as wrong.
        left_out: questions without a reply, or with a video that cannot be read: they are not counted.
    """

    right: int = 0
    answered: int = 0
    invalid: int = 0
    left_out: int = 0

    @property
    def counted(self) -> int:
        """Questions in the denominator: answered or invalid."""
        return self.answered + self.invalid

    @property
    def percent(self) -> float | None:
        """100 · right / counted; None where nothing counts."""
        return 100 * self.right / self.counted if self.counted else None

    def __add__(self, other: "AccuracyCounts") -> "AccuracyCounts":
        """Return the sum of both."""
        return AccuracyCounts(*(getattr(self, name) + getattr(other, name) for name in AccuracyCounts.__slots__))


Tallies: TypeAlias = Mapping[tuple[QuestionTask, QuestionLevel], AccuracyCounts]
"""Counts of every task and level that has questions."""


def average(tallies: Tallies, task: QuestionTask) -> float | None:
    """Return ``Avg`` of a task, the mean of its levels' accuracies in percent; None if a level has none.

    Example:
        >>> aid = QuestionTask.AID
        >>> tallies = {(aid, QuestionLevel.L1): AccuracyCounts(1, 2), (aid, QuestionLevel.L2): AccuracyCounts(0, 4)}
        >>> average(tallies, aid), total(tallies)
        (25.0, 16.666666666666668)
    """
    values = [tally.percent for (each, _), tally in tallies.items() if each is task]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def total(tallies: Tallies) -> float | None:
    """Return ``Total``: right answers of all tasks and levels over all questions that count, in percent; None without any."""
    return sum(tallies.values(), AccuracyCounts()).percent


def falls_with_difficulty(tallies: Tallies, task: QuestionTask) -> bool | None:
    """Return whether the accuracy falls from level to level; None unless all three have a value.

    Example:
        >>> levels = zip(QuestionLevel, (AccuracyCounts(9, 10), AccuracyCounts(5, 10), AccuracyCounts(6, 10)), strict=True)
        >>> falls_with_difficulty({(QuestionTask.RVAC, level): tally for level, tally in levels}, QuestionTask.RVAC)
        False
    """
    values = [tallies.get((task, level), AccuracyCounts()).percent for level in QuestionLevel]
    known = [value for value in values if value is not None]
    return None if len(known) < len(values) else known == sorted(known, reverse=True)


def interval(tally: AccuracyCounts) -> tuple[float | None, float | None]:
    """Wilson's 95% interval of the accuracy, in percent."""
    low, high = share_with_wilson(tally.right, tally.counted)[1]
    return None if low is None else round(100 * low, 9), None if high is None else round(100 * high, 9)


def average_interval(tallies: Tallies, task: QuestionTask) -> tuple[float | None, float | None]:
    """Return the 95% interval of ``Avg``, in percent.

    The distances of the levels' Wilson intervals to the value are combined as independent ones (the method of
    variance estimates recovery, Zou and Donner 2008, doi:10.1002/sim.3095).
    """
    value = average(tallies, task)
    levels = [tally for (each, _), tally in tallies.items() if each is task]
    if value is None:
        return None, None
    right, counted = [tally.right for tally in levels], [tally.counted for tally in levels]
    shares = np.divide(right, counted)
    low, high = wilson_interval(right, counted)
    down, up = (100 * float(np.sqrt(np.sum((shares - end) ** 2))) / len(levels) for end in (low, high))
    return round(value - down, 9), round(value + up, 9)

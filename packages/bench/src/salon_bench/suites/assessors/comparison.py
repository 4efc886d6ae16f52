"""Is one assessor better than another on the same images? Differences of their scores, by the paired bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from salon_bench.suites.assessors.evaluation import (
    METRICS,
    Invalid,
    check_options,
    drawn_times,
    label_counts,
    lines_of,
    matrices_of,
    outcomes_by_pattern,
)
from salon_ranking.uncertainty.quantiles import expanded_interval
from salon_taxonomy.answers import MagicMirrorAnswer, Outcome
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class AssessorComparison:
    """Differences, first less second.

    Attributes:
        table: one row per label, average and metric: ``level``, ``label``, ``metric``, ``first``, ``second``, ``difference``,
            ``ci_low``, ``ci_high`` (null where undefined), ``significant`` (whether the interval leaves out 0).
        images: with truth.
        replicates, confidence, seed: of the bootstrap. Both assessors are resampled with the same images.
    """

    table: "pl.DataFrame"
    images: int
    replicates: int
    confidence: float
    seed: int


def compare(
    truth: Sequence[MagicMirrorAnswer],
    first: Sequence[Outcome[MagicMirrorAnswer]],
    second: Sequence[Outcome[MagicMirrorAnswer]],
    *,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> AssessorComparison:
    """Compare two assessors on the same images. Answers that cannot be read count as giving no label, for both alike.

    Args:
        truth: the labels of people.
        first, second: the assessors' answers, in the order of the truth.
        replicates: at least 1.
        confidence, seed: of the intervals, which are not corrected for their number.

    Raises:
        InputError: the lengths differ, there is no image, or an option is outside its range.

    Example:
        >>> from salon_taxonomy.answers import Parsed
        >>> normal, wrong = MagicMirrorAnswer(True), MagicMirrorAnswer(False)
        >>> result = compare([wrong] * 8, [Parsed(wrong)] * 8, [Parsed(normal)] * 8, replicates=50)
        >>> result.table.row(1, named=True)["metric"], result.table.row(1, named=True)["difference"]
        ('recall', 1.0)
    """
    import polars as pl

    check_options(replicates, confidence, seed)
    if replicates < 1:
        raise InputError("must be 1 or more", column="replicates", value=replicates)
    true, one = matrices_of(truth, first, Invalid.NOTHING)
    _, other = matrices_of(truth, second, Invalid.NOTHING)
    (true, one, other), times = outcomes_by_pattern(true, one, other)
    drawn = drawn_times(times, replicates, seed)
    lines = zip(lines_of(label_counts(true, one, times)), lines_of(label_counts(true, other, times)), strict=True)
    replicated = zip(lines_of(label_counts(true, one, drawn)), lines_of(label_counts(true, other, drawn)), strict=True)
    rows = []
    for (one_line, other_line), (one_drawn, other_drawn) in zip(lines, replicated, strict=True):
        for metric in METRICS:
            a, b = (float(getattr(line[2], metric)) for line in (one_line, other_line))
            gaps = getattr(one_drawn[2], metric) - getattr(other_drawn[2], metric)
            low, high = expanded_interval(gaps[:, None], np.array([a - b]), int(times.sum()), confidence)
            ends = (float(low[0]), float(high[0]))
            rows.append((str(one_line[0]), one_line[1], metric, a, b, a - b, *ends, ends[0] > 0 or ends[1] < 0))
    names = ("first", "second", "difference", "ci_low", "ci_high")
    schema = {"level": pl.String, "label": pl.String, "metric": pl.String, **dict.fromkeys(names, pl.Float64)}
    table = pl.DataFrame(rows, schema={**schema, "significant": pl.Boolean}, orient="row").with_columns(
        pl.col(names).fill_nan(None)
    )
    return AssessorComparison(table, len(truth), replicates, confidence, seed)

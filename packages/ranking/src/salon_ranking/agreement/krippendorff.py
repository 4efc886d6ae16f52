"""Krippendorff's α: agreement of any number of raters who each rated only some of the things.

α = 1 - D_observed / D_expected (Krippendorff, *Content Analysis*, 4th ed., chapter 12; the worked example of *Computing
Krippendorff's Alpha-Reliability* is a test). A thing rated once can be paired with nothing and is left out.

The difference of two values is 0 or 1 (nominal), the square of their distance (interval), or the square of the distance of
their mid-ranks among all paired values (ordinal): Krippendorff's ordinal metric, Σ n_g from c to k less (n_c + n_k)/2, is
just that distance. So no table of all pairs of values is needed, and a million ratings take well under a second.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.agreement._numbers import Floats, numbers
from salon_ranking.agreement.correlation import mid_ranks
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.options import shaped

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


@dataclass(frozen=True, slots=True)
class Alpha(ShownResult):
    """Krippendorff's α and what it stands on.

    Attributes:
        value: 1 for full agreement, 0 for chance, negative below.
        level: how values differ: ``nominal``, ``ordinal`` or ``interval``.
        things: things with at least two ratings.
        ratings: ratings of those things.
        left_out: ratings of things that were rated once.
    """

    value: float
    level: Level
    things: int
    ratings: int
    left_out: int

    def view(self) -> ResultView:
        """Return α with its counts as a table."""
        columns = ("statistic", "value", "things", "ratings", "left out")
        row = ("Krippendorff's α", f"{self.value:.4g}", f"{self.things:,}", f"{self.ratings:,}", f"{self.left_out:,}")
        header = f"Level {self.level}; a thing that was rated once is left out."
        return ResultView(header, Table(columns, [row], frozenset(columns[1:])))


def krippendorff_alpha(ratings: ArrayLike, *, level: Level = "nominal") -> float:
    """Return Krippendorff's α of a table of ratings.

    Args:
        ratings: shape (raters, things), numbers; NaN or None where a rater did not rate a thing. Categories are numbered by
            the caller, in any order for ``nominal``.

    Raises:
        AgreementError: not a table of numbers, an infinity, or an unknown level.
        UndefinedError: no thing was rated twice, or all paired values are the same.

    Example:
        >>> nan = float("nan")
        >>> round(krippendorff_alpha([[1, 2, 3, nan], [1, 2, 3, 4], [1, 3, 3, 4]], level="ordinal"), 3)
        0.92
    """
    table = numbers(ratings, "ratings", dimensions=2, missing=True)
    known = ~np.isnan(table)
    unit = np.broadcast_to(np.arange(table.shape[1]), table.shape)
    return alpha_of_ratings(unit[known], table[known], level=level).value


@shaped(things="n")
def alpha_of_ratings(things: NDArray[np.integer], values: ArrayLike, *, level: Level = "nominal") -> Alpha:
    """Return Krippendorff's α of a list of ratings, one per rating and not per rater.

    Args:
        things: shape (n,): the number of the rated thing; any numbers.
        values: shape (n,): the ratings.

    Raises:
        AgreementError, UndefinedError: as :func:`krippendorff_alpha`.

    Example:
        >>> alpha = alpha_of_ratings(np.array([0, 0, 1, 1, 2]), [1, 1, 2, 2, 2])
        >>> alpha.value, alpha.things, alpha.left_out
        (1.0, 2, 1)
    """
    array = numbers(values, "values")
    if level not in LEVELS:
        raise AgreementError("unknown level", value=level, allowed=LEVELS)
    if len(things) != len(array):
        raise AgreementError("things and values have different lengths:", value=(len(things), len(array)))
    _, number, frequency = np.unique(things, return_inverse=True, return_counts=True)
    paired = frequency[number] > 1
    if not paired.any():
        raise UndefinedError("nothing was rated twice, so there is no agreement to measure")
    kept = array[paired]
    if kept.min() == kept.max():
        raise UndefinedError("all paired ratings are the same, so chance explains everything:", value=float(kept[0]))
    unit = np.unique(number[paired], return_inverse=True)[1]
    raters = np.bincount(unit).astype(np.float64)
    within, overall = _nominal(unit, kept, raters) if level == "nominal" else _squared(unit, kept, raters, level)
    total = len(kept)
    observed = float((within / (raters - 1)).sum()) / total
    expected = overall / (total * (total - 1.0))
    counted = {"things": len(raters), "ratings": total, "left_out": len(array) - total}
    return Alpha(value=1.0 - observed / expected, level=level, **counted)


def _nominal(unit: NDArray[np.integer], values: Floats, raters: Floats) -> tuple[Floats, float]:
    """Return ordered pairs of unequal values, within each thing and in all."""
    _, code, overall = np.unique(values, return_inverse=True, return_counts=True)
    cell, frequency = np.unique(unit * len(overall) + code, return_counts=True)
    same = np.bincount(cell // len(overall), weights=frequency.astype(np.float64) ** 2, minlength=len(raters))
    return raters**2 - same, float(len(values)) ** 2 - float((overall.astype(np.float64) ** 2).sum())


def _squared(unit: NDArray[np.integer], values: Floats, raters: Floats, level: Level) -> tuple[Floats, float]:
    """Return sums of squared distances over ordered pairs, within each thing and in all."""
    scale = mid_ranks(values) if level == "ordinal" else values / np.abs(values).max()
    scale = scale - scale.mean()
    means = np.bincount(unit, weights=scale) / raters
    spread = np.bincount(unit, weights=(scale - means[unit]) ** 2)
    return 2.0 * raters * spread, 2.0 * len(scale) * float((scale**2).sum())

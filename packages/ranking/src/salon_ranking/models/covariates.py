"""Covariates of battles: their columns as numbers, and Bradley-Terry strengths at equal covariates.

ln odds(a beats b) = θ_a - θ_b + x·β, ties as half wins, fitted jointly by maximum likelihood. This is the "style control"
of arena leaderboards (Li, Angelopoulos and Chiang 2024, "Does style matter?").

A *pair* of columns ``x_a,x_b`` describes the two sides, and their difference is taken; a single column describes the battle,
and its coefficient is an advantage of model_a.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.errors import CovariateError
from salon_ranking.options import checked

Floats = NDArray[np.float64]

MOST_CATEGORIES = 50
"""A column of text with more different values than this is taken for numbers with something wrong among them."""
POSITION = "side_a_shown"
"""The column that says on which side model_a was shown: ``left`` or ``right``."""
SHOWN_LEFT = "shown on the left"
"""The term that it makes."""
_SIDES = ("left", "right")


@dataclass(frozen=True)
class Covariate:
    """A column of the battles, or a pair of columns of which the difference is meant.

    Example:
        >>> Covariate.parse("length_a, length_b")
        Covariate(column='length_a', other='length_b')
        >>> Covariate.parse("side_a_shown").name
        'side_a_shown'
    """

    column: str
    other: str | None = None

    @classmethod
    @checked
    def parse(cls, text: str) -> "Covariate":
        """Read ``column`` or ``column_a,column_b``.

        Raises:
            CovariateError: neither one nor two names.
        """
        names = [name.strip() for name in text.split(",")]
        if len(names) > 2 or not all(names):
            raise CovariateError("a covariate is a column, or a pair like length_a,length_b; not", value=text)
        return cls(*names)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.column if self.other is None else f"{self.column} - {self.other}"

    @property
    def text(self) -> str:
        """The form that :meth:`parse` reads."""
        return ",".join(self.columns)

    @property
    def columns(self) -> list[str]:
        """The columns that it needs."""
        return [self.column] if self.other is None else [self.column, self.other]


@dataclass(frozen=True)
class Term:
    """One column of the design: a covariate, or one category of it.

    Attributes:
        category: the value that the term is 1 for; None: the covariate holds numbers, or sides of the screen.
        scale: what numbers are divided by; 1 for categories.
    """

    name: str
    covariate: Covariate
    category: str | None = None
    scale: float = 1.0

    @property
    def is_category(self) -> bool:
        """Whether the term has few values, so that alike battles can be counted."""
        return self.category is not None or self.covariate.columns == [POSITION]

    def values(self, frame: pl.DataFrame, source: str) -> Floats:
        """Return the term of each battle, shape (battles,).

        Raises:
            CovariateError: a value is missing or not finite, a side is neither left nor right, or text where the term holds
                numbers.
        """
        series = [_complete(frame, column, source) for column in self.covariate.columns]
        if self.covariate.columns == [POSITION]:
            return _sides(frame, series[0], source)
        if self.category is not None:
            has = [(one.cast(pl.String) == self.category).to_numpy() * 1.0 for one in series]
        else:
            has = []
            for one in series:
                numeric = _numbers(one, source)
                if numeric is None:
                    raise CovariateError("must hold numbers, as in the fit", source=source, column=one.name)
                has.append(numeric)
        return (has[0] if len(has) == 1 else has[0] - has[1]) / self.scale


def terms_of(frame: pl.DataFrame, covariate: Covariate, source: str, standardize: bool) -> list[Term]:
    """Return the columns of the design that a covariate makes.

    - Numbers: one term, the value or the difference; with ``standardize`` divided by its standard deviation (not centred:
      a constant would be an advantage of model_a).
    - ``side_a_shown``: one term, 1 where model_a was on the left and -1 where it was on the right.
    - Categories of the battle: one term each, 1 in battles of that category: there is no other constant.
    - Categories of both sides: one term each, has_a - has_b; but the most frequent one is what they are compared with.

    Raises:
        CovariateError: a value is missing or not finite; a side is neither left nor right; or a column of text has too many
            different values.
    """
    series = [_complete(frame, column, source) for column in covariate.columns]
    if covariate.columns == [POSITION]:
        _sides(frame, series[0], source)
        return [Term(SHOWN_LEFT, covariate)]
    if all(_numbers(one, source) is not None for one in series):
        spread = float(Term(covariate.name, covariate).values(frame, source).std())
        return [Term(covariate.name, covariate, scale=spread if standardize and spread > 0.0 else 1.0)]
    return _categories([one.cast(pl.String) for one in series], covariate, source)


def _sides(frame: pl.DataFrame, series: pl.Series, source: str) -> Floats:
    sides = series.cast(pl.String)
    if (wrong := ~sides.is_in(_SIDES)).any():
        row = int(wrong.arg_max() or 0)
        at = int(frame["__row"][row])
        raise CovariateError("unknown side", source=source, row=at, column=POSITION, value=sides[row], allowed=_SIDES)
    return np.where((sides == "left").to_numpy(), 1.0, -1.0)


def _complete(frame: pl.DataFrame, column: str, source: str) -> pl.Series:
    series = frame[column]
    if series.null_count():
        row = int(series.is_null().arg_max() or 0)
        hint = "Fill in the value, or leave the battle out."
        raise CovariateError("no value", source=source, row=int(frame["__row"][row]), column=column, hint=hint)
    return series


def _numbers(series: pl.Series, source: str) -> Floats | None:
    """Return the column as numbers; None when it holds something else."""
    if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.String)):
        return None
    cast = series.cast(pl.Float64, strict=False)
    if cast.null_count():
        return None
    if not cast.is_finite().all():
        raise CovariateError("not a finite number", source=source, column=series.name)
    return cast.to_numpy()


def _categories(series: Sequence[pl.Series], covariate: Covariate, source: str) -> list[Term]:
    counts = pl.concat([one.alias("value") for one in series]).value_counts().sort("count", "value", descending=[True, False])
    names: list[str] = counts["value"].to_list()
    if len(names) > MOST_CATEGORIES:
        problem = f"not numbers, and too many different values for categories (at most {MOST_CATEGORIES}):"
        raise CovariateError(problem, source=source, column=series[0].name, value=len(names))
    if len(series) == 1:
        return [Term(f"{covariate.name}={name}", covariate, name) for name in sorted(names)]
    reference, *others = names
    return [Term(f"{covariate.name}: {name} against {reference}", covariate, name) for name in sorted(others)]

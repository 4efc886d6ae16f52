"""The errors of ``salon_ranking``.

SalonError
└── InputError
    └── RankingError             the root of this package
        ├── BattleError          a file, column or row of battles is wrong
        ├── UnratableError       the battles have no finite ratings; names the models at fault
        ├── UnknownModelError    a model was named that has no battle
        ├── OptionError          an argument is outside its range
        ├── OrderError           battles are not in the order of their time
        ├── CovariateError       a covariate's column is missing or incomplete
        │   ├── CovariateCollinearityError   it is determined by the models that met, or by other covariates
        │   └── CovariateSeparationError     it predicts battles without error: its coefficient is infinite
        └── MissingExtraError    an optional part of the package is not installed
"""

from collections.abc import Sequence
from dataclasses import dataclass

from salon_taxonomy.errors import InputError


@dataclass(frozen=True)
class Wrong:
    """One kind of mistake in the rows of a table, with its first row and its number of rows."""

    problem: str
    row: int
    rows: int
    column: str | None = None
    value: object = None
    allowed: Sequence[object] | None = None
    hint: str | None = None


class RankingError(InputError):
    """The root of everything that ``salon_ranking`` raises on purpose.

    ``wrong`` holds every kind of mistake in the rows of a table, where that is the reason.
    """

    wrong: tuple[Wrong, ...] = ()


class BattleError(RankingError):
    """A file, column or row of battles is wrong. Rows count from 1 and leave out a header."""


class UnratableError(RankingError):
    """There are too few votes yet: no finite ratings exist.

    Some models won all or lost all of their battles against the rest, or never met it.

    ``groups`` are the strongly connected components of the graph of wins, largest first, each a tuple of names.
    """

    groups: tuple[tuple[str, ...], ...] = ()


class UnknownModelError(RankingError):
    """A model was named that has no battle here."""


class OptionError(RankingError):
    """An argument is outside its range."""


class MissingExtraError(RankingError):
    """An optional part of the package is not installed."""


class CovariateError(RankingError):
    """A covariate's column is missing, incomplete, or of no use."""


class CovariateCollinearityError(CovariateError):
    """A covariate is determined by the models that met, or is a combination of other covariates."""


class CovariateSeparationError(CovariateError):
    """Covariates and strengths predict some battles without error, so no finite coefficients exist."""


class OrderError(RankingError):
    """A time is missing, cannot be read, or lies before that of the battle above it. Rows count from 1, without a header."""

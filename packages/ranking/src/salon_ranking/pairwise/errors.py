"""What a user of ``salon_ranking.pairwise`` can get wrong, beside the errors of ``salon_ranking`` itself.

RankingError
├── CovariateError                 a covariate's column is missing, incomplete, or of no use
│   ├── CovariateCollinearityError it is determined by the models that met, or by other covariates
│   └── CovariateSeparationError   covariates predict battles without error: their coefficients are infinite
└── OrderError                     battles do not stand in the order of their time
"""

from salon_ranking.errors import RankingError


class CovariateError(RankingError):
    """A covariate's column is missing, incomplete, or of no use."""


class CovariateCollinearityError(CovariateError):
    """A covariate is determined by the models that met, or is a combination of other covariates."""


class CovariateSeparationError(CovariateError):
    """Covariates and strengths predict some battles without error, so no finite coefficients exist."""


class OrderError(RankingError):
    """A time is missing, is no time, or lies before that of the battle above it. Rows count from 1, without a header."""

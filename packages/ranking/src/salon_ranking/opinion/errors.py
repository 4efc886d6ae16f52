"""What a user of ``salon_ranking.opinion`` can get wrong.

RankingError
├── RatingError                  a file, column or row of ratings is wrong
├── CheckError                   a file, column or row of test-point checks is wrong
└── WeightsError                 votes and ratings do not determine the weights
    ├── TooFewBattlesError       fewer usable votes than the regression has need of
    ├── CollinearityError        a dimension is constant, or the terms are not independent
    └── SeparationError          some combination of terms predicts every vote: the estimate is infinite
"""

from salon_ranking.errors import RankingError


class RatingError(RankingError):
    """A file, column or row of ratings is wrong. Rows count from 1 and leave out a header."""


class CheckError(RankingError):
    """A file, column or row of test-point checks is wrong. Rows count from 1 and leave out a header."""


class WeightsError(RankingError):
    """Votes and ratings do not determine the weights of the dimensions."""


class TooFewBattlesError(WeightsError):
    """Fewer usable votes than the regression has need of."""


class CollinearityError(WeightsError):
    """A dimension is constant, or some terms of the regression are a combination of others."""


class SeparationError(WeightsError):
    """Some combination of the terms predicts every vote, so the likelihood has no maximum."""

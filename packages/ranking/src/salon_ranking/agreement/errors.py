"""What can be wrong with values that are to be compared.

RankingError
└── AgreementError        the values cannot be compared: unequal lengths, not numbers, not finite
    └── UndefinedError    the values are fine, but the statistic does not exist for them
"""

from salon_ranking.errors import RankingError


class AgreementError(RankingError):
    """The values cannot be compared: unequal lengths, not numbers, not finite, an unknown category."""


class UndefinedError(AgreementError):
    """The statistic does not exist for these values.

    There are fewer than two, all are equal, or no two raters rated the same thing.

    It is never 0 or 1 instead. Functions on frames write null, and this error's ``problem`` beside it.
    """

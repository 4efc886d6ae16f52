"""Positive resampling: normal pictures of what often goes wrong, drawn right, are shown more often among normal ones.

Without them an assessor learns that whatever has hands is an artifact (paper 000, section 3.1; ablation in Tables 4 and 6).
The paper gives no factor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from salon_taxonomy.errors import InputError

_LARGEST_FACTOR = 1_000


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often a hard positive is drawn for each time that an ordinary normal picture is.

    Attributes:
        factor: at least 1, which is no resampling; exact for fractions: 2.5 is two and three times in turn.

    Raises:
        InputError: below 1, above 1,000, or no number.

    Example:
        >>> [Resampling(2.5).copies(cycle) for cycle in range(4)]
        [2, 3, 2, 3]
        >>> round(Resampling(3).share([True, False, False, False]), 3)
        0.5
    """

    factor: Fraction | float | int

    def __post_init__(self) -> None:
        if not isinstance(self.factor, int | float | Fraction) or not 1 <= self.factor <= _LARGEST_FACTOR:
            raise InputError(f"must lie between 1 and {_LARGEST_FACTOR:,}", column="positive_factor", value=self.factor)

    @property
    def exact(self) -> Fraction:
        """The factor as a fraction, read from its shortest decimal form: 1.1 is 11/10."""
        return self.factor if isinstance(self.factor, Fraction) else Fraction(str(self.factor))

    def copies(self, cycle: int) -> int:
        """How often a hard positive stands in the cycle of that number (from 0); the first n cycles hold ⌊n·factor⌋."""
        return int((cycle + 1) * self.exact) - int(cycle * self.exact)

    def share(self, hard: Sequence[bool]) -> float:
        """The part of the normal pictures drawn that are hard positives, in the long run, from 0 to 1.

        Args:
            hard: of every normal picture, whether it is one.

        Returns:
            NaN without pictures.
        """
        weight = self.exact * sum(hard)
        total = weight + len(hard) - sum(hard)
        return float(weight / total) if total else float("nan")

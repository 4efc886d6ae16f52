"""Printed numbers: what a rounded figure may have been before it was rounded, and whether two figures agree.

A paper prints ``0.45`` and means some number from 0.445 to 0.455. A value recomputed from such figures is therefore
known only within an interval. :class:`Quantity` is one printed number with its rounding, :class:`Recomputed` is what a
rule makes of several, and :func:`compare` says how that agrees with what the paper prints.
"""

from dataclasses import dataclass
from enum import StrEnum

_SLACK = 1e-9
"""Relative slack for binary floating point: 47.45 is not exactly representable, and a tie may round either way."""


class MatchWithPrinted(StrEnum):
    """How a recomputed value agrees with the printed one. The value is what reports show."""

    EXACT = "exact"
    """Recomputed from the printed inputs as they stand, the value rounds to the printed digits."""
    WITHIN_ROUNDING = "within rounding"
    """Some choice of the inputs within their own rounding gives the printed digits."""
    CONSISTENT = "consistent"
    """The paper prints too little to recompute the cell; what it prints allows the value."""
    DISAGREES = "disagrees"
    """No choice of the inputs within their rounding gives the printed digits."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One printed number: ``value`` ± ``half``, where ``half`` is half a unit of its last printed digit.

    Counts and ranks are not rounded: their ``half`` is 0.
    """

    value: float
    half: float = 0.0

    @property
    def low(self) -> float:
        """The smallest number that is printed like this."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The largest number that is printed like this."""
        return self.value + self.half


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a rule makes of printed inputs.

    ``plain`` is the value from the inputs as they are printed, or None when they only bound it; ``low`` and ``high``
    are the smallest and largest value that inputs within their rounding allow (both ends belong to it). Where whole
    numbers stand behind the inputs, ``options`` lists the finitely many values that are possible; else it is empty.
    """

    plain: float | None
    low: float
    high: float
    options: tuple[float, ...] = ()

    def ends(self) -> tuple[float | None, float, float]:
        """Return plain value, low end, high end."""
        return self.plain, self.low, self.high


def decimals(printed: str) -> int:
    """Return how many digits stand after the decimal point.

    Example:
        >>> decimals("90.30"), decimals("+0.09"), decimals("1205")
        (2, 2, 0)
    """
    return len(printed.partition(".")[2])


def quantity(printed: str, *, exact: bool = False) -> Quantity:
    """Return the printed number with its rounding; ``exact`` for counts and ranks.

    Raises:
        ValueError: when the text is no number.

    Example:
        >>> quantity("0.45")
        Quantity(value=0.45, half=0.005)
    """
    return Quantity(float(printed), 0.0 if exact else 0.5 * 10 ** -decimals(printed))


def compare(printed: Quantity, recomputed: Recomputed) -> MatchWithPrinted:
    """Return how the recomputed value agrees with the printed one; a tie may be rounded either way.

    Example:
        >>> compare(Quantity(47.5, 0.05), Recomputed(plain=47.45, low=47.4, high=47.5)).value
        'exact'
    """
    slack = _SLACK * max(1.0, abs(printed.value))
    if recomputed.plain is not None and abs(recomputed.plain - printed.value) <= printed.half + slack:
        return MatchWithPrinted.EXACT
    reach = [(option, option) for option in recomputed.options] or [(recomputed.low, recomputed.high)]
    if any(low - slack <= printed.high and printed.low <= high + slack for low, high in reach):
        return MatchWithPrinted.CONSISTENT if recomputed.plain is None else MatchWithPrinted.WITHIN_ROUNDING
    return MatchWithPrinted.DISAGREES

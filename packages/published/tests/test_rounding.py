"""Printed digits as intervals, and the four ways in which a recomputed value can agree with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_published.rounding import MatchWithPrinted, Quantity, Recomputed, compare, decimals, quantity


@pytest.mark.parametrize(
    ("printed", "digits"), [("90.30", 2), ("0.27", 2), ("1159", 0), ("+0.050", 3), ("-0.4", 1), ("100.", 0)]
)
def test_trailing_zeros_count_as_decimals(printed: str, digits: int) -> None:
    assert decimals(printed) == digits


def test_a_printed_number_reaches_half_a_unit_of_its_last_digit() -> None:
    assert quantity("0.45") == Quantity(0.45, 0.005)
    assert (quantity("1205").low, quantity("1205").high) == (1204.5, 1205.5)
    assert quantity("3004", exact=True) == Quantity(3004.0, 0.0)


@pytest.mark.parametrize(
    ("printed", "recomputed", "expected"),
    [
        ("47.5", Recomputed(47.45, 47.4, 47.5), MatchWithPrinted.EXACT),  # a tie, rounded up
        ("56.9", Recomputed(56.95, 56.9, 57.0), MatchWithPrinted.EXACT),  # the same tie, rounded down
        ("47.5", Recomputed(47.44, 47.39, 47.49), MatchWithPrinted.WITHIN_ROUNDING),
        ("47.5", Recomputed(47.3, 47.25, 47.35), MatchWithPrinted.DISAGREES),
        ("8", Recomputed(None, 7.0, 9.0), MatchWithPrinted.CONSISTENT),
        ("8", Recomputed(None, 12.0, 9.0), MatchWithPrinted.DISAGREES),  # nothing fits
        ("46.00", Recomputed(46.33, 45.17, 46.33, (46.33, 45.76, 45.17)), MatchWithPrinted.DISAGREES),  # between two options
        ("45.76", Recomputed(46.33, 45.17, 46.33, (46.33, 45.76, 45.17)), MatchWithPrinted.WITHIN_ROUNDING),
    ],
)
def test_agreement_follows_from_digits_and_reach(printed: str, recomputed: Recomputed, expected: MatchWithPrinted) -> None:
    exact = printed == "8"
    assert compare(quantity(printed, exact=exact), recomputed) is expected


@given(st.floats(-1e4, 1e4), st.integers(0, 4))
def test_a_number_always_agrees_with_its_own_rounding(value: float, digits: int) -> None:
    assert compare(quantity(f"{value:.{digits}f}"), Recomputed(value, value, value)) is MatchWithPrinted.EXACT

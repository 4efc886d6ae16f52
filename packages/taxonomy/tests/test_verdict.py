"""A verdict is had or it is not, and a tally says how often and why not."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy.verdict import Reason, Scored, Unscored, tally

verdicts = st.lists(st.builds(Scored, st.floats()) | st.builds(Unscored, st.sampled_from(Reason)))


def test_a_tally_prints_what_every_table_shows():
    counted = tally([Scored(1), Unscored(Reason.TIMEOUT), Scored(0), Unscored(Reason.EMPTY), Unscored(Reason.TIMEOUT)])
    assert str(counted) == "2 scored, 3 unscored (2 timeout, 1 empty)"


def test_a_tally_of_nothing_is_two_zeros():
    assert str(tally([])) == "0 scored, 0 unscored"


def test_equal_counts_come_in_alphabetical_order():
    reasons = [Reason.TIMEOUT, Reason.EMPTY, Reason.OFF_MENU]
    assert [reason for reason, _ in tally(Unscored(reason) for reason in reasons).reasons] == sorted(reasons)


@given(given_verdicts=verdicts)
def test_every_verdict_is_counted_once(given_verdicts):
    counted = tally(given_verdicts)
    assert counted.scored + counted.unscored == len(given_verdicts)
    assert sum(count for _, count in counted.reasons) == counted.unscored
    assert [count for _, count in counted.reasons] == sorted((count for _, count in counted.reasons), reverse=True)


def test_a_falsy_value_is_a_verdict_like_any_other():
    assert tally([Scored(0.0), Scored(False), Scored(None), Scored("")]).scored == 4


def test_a_verdict_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Scored(1).value = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Unscored(Reason.EMPTY).reason = Reason.TIMEOUT  # type: ignore[misc]


def test_the_values_of_reasons_are_a_promise_because_tables_hold_them():
    assert [str(reason) for reason in Reason] == [
        "empty", "refused", "truncated", "malformed", "off_menu",
        "timeout", "unreachable", "rejected", "bad_media", "not_reported", "abstained",
    ]  # fmt: skip

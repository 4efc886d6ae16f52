"""When a server is asked again, and how long that takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_judges.clients.retry import RETRIED_STATUSES, Backoff, retry_after_s


@given(call=st.integers(0, 1000), attempt=st.integers(1, 10_000))
def test_a_wait_lies_between_nothing_and_the_doubling_bound(call: int, attempt: int) -> None:
    wait = Backoff(0.5, 60, seed=3).wait_s(call, attempt)
    assert 0 <= wait <= min(60, 0.5 * 2.0 ** min(attempt - 1, 60))


def test_waits_spread_over_the_whole_range_and_come_again_with_their_seed() -> None:
    waits = [Backoff(1, 60, seed=1).wait_s(call, 4) for call in range(400)]
    assert waits == [Backoff(1, 60, seed=1).wait_s(call, 4) for call in range(400)]
    assert min(waits) < 0.2
    assert max(waits) > 7.8
    assert abs(sum(waits) / 400 - 4) < 0.5
    assert waits != [Backoff(1, 60, seed=2).wait_s(call, 4) for call in range(400)]


def test_retry_after_is_the_least_that_is_waited() -> None:
    assert all(9 <= Backoff(0.5, 60).wait_s(call, 1, 9.0) <= 9.5 for call in range(50))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": " 0.5 "}, 0.5),
        ({"Retry-After-Ms": "250", "Retry-After": "3"}, 0.25),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 20.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:00:00 GMT"}, 0.0),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "9" * 400}, None),
        ({"Retry-After": "Wed, 99 Foo 2015"}, None),
        ({"Retry-After": "Wed, 21 Oct 99999999999 07:28:00 GMT"}, None),
        ({"Retry-After": ""}, None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, wall_s=1445412460.0) == seconds


@given(st.text(max_size=60))
def test_no_header_raises(text: str) -> None:
    found = retry_after_s({"Retry-After": text, "Retry-After-Ms": text}, 0.0)
    assert found is None or found >= 0


def test_the_statuses_that_another_attempt_may_mend() -> None:
    assert {408, 409, 425, 429, 500, 502, 503, 504, 529} <= RETRIED_STATUSES
    assert not RETRIED_STATUSES & {200, 301, 400, 401, 403, 404, 413, 422}

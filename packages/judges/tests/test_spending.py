"""Limits of asking: what is counted, when it ends, and what is left for the next."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_judges.asking.spending import RunLimits, Spending
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply, Usage
from salon_taxonomy.records import CallStatus

counts = st.none() | st.integers(0, 1000)
usages = st.builds(Usage, counts, counts, st.none() | st.integers(0, 64).map(lambda cents: cents / 64))
failed = st.builds(Reply, st.just(""), st.sampled_from([CallStatus.TIMEOUT, CallStatus.UNREACHABLE]), usage=usages)
answers = st.builds(Reply, st.just("x"), usage=usages, cached=st.booleans(), earlier=st.lists(failed, max_size=2).map(tuple))
replies = st.lists(answers | failed, max_size=6)


def spent(heard: list[Reply], limits: RunLimits | None = None) -> Spending:
    spending = Spending(limits or RunLimits(), clock=lambda: 0.0)
    for reply in heard:
        assert spending.begin_call() is None or limits
        spending.end_call(reply)
    return spending


@given(replies)
def test_every_attempt_of_every_reply_is_counted(heard):
    spending = spent(heard)
    attempts = [each for reply in heard for each in (*reply.earlier, reply)]
    costs = [each.usage.cost_usd for each in attempts if each.usage.cost_usd is not None]
    paid = [reply for reply in heard if reply.text and not reply.cached]
    assert spending.calls == len(heard)
    assert spending.attempts == len(attempts)
    assert spending.cached == sum(each.cached for each in attempts)
    assert spending.prompt_tokens == sum(each.usage.prompt_tokens or 0 for each in attempts)
    assert spending.completion_tokens == sum(each.usage.completion_tokens or 0 for each in attempts)
    assert spending.cost_usd == (sum(costs) if costs else None)
    assert spending.unpriced == sum(reply.usage.cost_usd is None for reply in paid)
    assert spending.uncounted == sum(None in (reply.usage.prompt_tokens, reply.usage.completion_tokens) for reply in paid)


@given(replies, replies)
def test_what_two_runs_spent_is_what_one_would_have(first, second):
    together, alone = spent(first), spent(first + second)
    together.add(spent(second))
    for name in ("calls", "attempts", "prompt_tokens", "completion_tokens", "cost_usd"):
        assert getattr(together, name) == getattr(alone, name)


PRICED = Reply("x", usage=Usage(3, 4, 0.25))
LIMITS = {"calls": (2, 2), "tokens": (14, 2), "cost_usd": (0.5, 2)}


@for_each("name", LIMITS)
def test_a_limit_stops_exactly_where_it_is_reached_and_what_is_left_reaches_it_too(name):
    most, allowed = LIMITS[name]
    spending = Spending(RunLimits(**{name: most}), clock=lambda: 0.0)
    for number in range(allowed):
        left = spending.left()
        assert getattr(left, name) == most - number * most / allowed
        assert [getattr(left, other) for other in ("calls", "tokens", "cost_usd", "seconds") if other != name] == [None] * 3
        assert spending.begin_call() is None, number
        spending.end_call(PRICED)
    assert f"{most:g}" in spending.begin_call()
    assert spending.calls == allowed, "a call that was refused is none"


def test_a_deadline_passes_on_the_clock_and_less_time_is_left():
    now = [100.0]
    spending = Spending(RunLimits(seconds=10), clock=lambda: now[0])
    for passed, left in ((0.0, 10.0), (4.0, 6.0), (9.5, 0.5)):
        now[0] = 100.0 + passed
        assert (spending.refusal(), spending.left().seconds) == (None, left)
    now[0] = 110.0
    assert spending.refusal() == "the deadline of 10 s has passed"
    assert 0 < spending.left().seconds <= 0.001, "a limit is above 0"


@for_each(
    ("limits", "usage", "words"),
    [
        (RunLimits(tokens=100), Usage(3, None, 1.0), "reports no tokens"),
        (RunLimits(tokens=100), Usage(None, 3, 1.0), "reports no tokens"),
        (RunLimits(cost_usd=100), Usage(3, 4, None), "reports no cost"),
    ],
)
def test_a_limit_that_cannot_be_measured_stops_at_the_first_paid_reply(limits, usage, words):
    for reply, stops in ((Reply("x", usage=usage), True), (Reply("x", usage=usage, cached=True), False)):
        assert (words in (spent([reply], limits).refusal() or "")) == stops
    assert spent([Reply("", CallStatus.TIMEOUT, usage=usage)], limits).refusal() is None


def test_a_stop_comes_before_every_limit():
    spending = Spending(RunLimits(calls=1), stopped="a signal")
    assert (spending.begin_call(), spending.calls) == ("a signal", 0)


@for_each("wrong", [0, -1, math.inf, math.nan])
def test_a_limit_that_allows_nothing_is_refused(wrong):
    for name in ("calls", "tokens", "cost_usd", "seconds"):
        with pytest.raises(InputError, match="above 0"):
            RunLimits(**{name: wrong})

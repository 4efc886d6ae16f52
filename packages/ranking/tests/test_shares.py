"""Wilson and the sign test, with SciPy and statsmodels as oracles."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from salon_ranking.uncertainty.proportions import sign_test, wilson_interval


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95, 0.99]))
def test_wilson_and_the_sign_test_are_what_others_say(case, confidence):
    heads, tosses = case
    low, high = wilson_interval([heads], [tosses], confidence)
    expected = proportion_confint(heads, tosses, alpha=1 - confidence, method="wilson")
    assert (low[0], high[0]) == pytest.approx(expected, abs=1e-9)
    assert sign_test([heads], [tosses])[0] == pytest.approx(stats.binomtest(heads, tosses).pvalue, rel=1e-7, abs=1e-280)


@given(st.floats(1e-3, 1e6), st.floats(0.5, 0.999))
def test_an_interval_of_nothing_begins_at_0_and_one_of_everything_ends_at_1(tosses, confidence):
    low, high = wilson_interval([0.0, tosses], [tosses, tosses], confidence)
    assert (low[0], high[1]) == (0.0, 1.0)
    assert 0.0 < high[0] <= 1.0
    assert 0.0 <= low[1] < 1.0


def test_no_trials_have_no_interval():
    low, high = wilson_interval([0], [0])
    assert math.isnan(low[0])
    assert math.isnan(high[0])


def test_no_tosses_have_no_p_value():
    assert sign_test([], []).tolist() == []

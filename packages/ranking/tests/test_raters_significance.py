"""Wilson, the sign test and Holm, with SciPy, statsmodels and the step-down definition as oracles."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from salon_ranking.raters.significance import holm, sign_test, wilson_interval


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95, 0.99]))
def test_wilson_and_the_sign_test_are_what_others_say(case, confidence):
    heads, tosses = case
    low, high = wilson_interval([heads], [tosses], confidence)
    expected = proportion_confint(heads, tosses, alpha=1 - confidence, method="wilson")
    assert (low[0], high[0]) == pytest.approx(expected, abs=1e-9)
    assert sign_test([heads], [tosses])[0] == pytest.approx(stats.binomtest(heads, tosses).pvalue, rel=1e-7, abs=1e-290)


def test_no_trials_have_no_interval():
    low, high = wilson_interval([0], [0])
    assert math.isnan(low[0])
    assert math.isnan(high[0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_rejects_what_stepping_down_rejects(p_values):
    adjusted, level = holm(p_values), 0.05
    rejected, ordered = set(), sorted(range(len(p_values)), key=p_values.__getitem__)
    for step, place in enumerate(ordered):
        if p_values[place] * (len(p_values) - step) > level:
            break
        rejected.add(place)
    assert {place for place in ordered if adjusted[place] <= level} == rejected


def test_nothing_is_corrected_to_nothing():
    assert holm(np.array([])).tolist() == []
    assert sign_test([], []).tolist() == []

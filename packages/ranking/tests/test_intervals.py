"""Percentile intervals of replicates."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_ranking import percentile_interval
from salon_ranking.uncertainty.quantiles import least_replicates, least_units, small_sample, standard_interval


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_intervals_are_numpys_quantiles_where_the_replicates_reach_as_far(values: list[float], confidence: float):
    low, high, used = percentile_interval(np.array(values)[:, None], confidence)
    expected = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    if len(values) < least_replicates((1 - confidence) / 2):
        expected = np.full(2, np.nan)
    assert np.allclose([low[0], high[0]], expected, rtol=1e-12, atol=1e-6, equal_nan=True)
    assert used.tolist() == [len(values)]


@given(st.lists(st.floats(-9, 9), min_size=39, max_size=60), st.integers(0, 6), st.integers(0, 3))
def test_what_is_not_known_counts_beyond_both_ends(values: list[float], missing: int, kind: int):
    """A replicate without a value may be anything: an interval holds what any values in their places would give."""
    column = np.array(values)[:, None]
    column[:missing] = np.nan
    filled = np.where(np.isnan(column), (-99.0, 99.0, 0.0, float(values[0]))[kind], column)
    found = (percentile_interval(one, 0.9) for one in (column, filled))
    (low, high, used), (filled_low, filled_high, _) = found
    assert used[0] == len(values) - missing
    assert not low[0] > filled_low[0] + 1e-9
    assert not high[0] < filled_high[0] - 1e-9
    assert np.isnan(low[0]) == np.isnan(high[0]) == (missing > 0.05 * (len(values) - 1) + 1e-9)


def test_no_replicates_give_no_interval():
    low, _, used = percentile_interval(np.empty((0, 2)), 0.95)
    assert np.isnan(low).all()
    assert used.tolist() == [0, 0]


def test_a_standard_interval_is_students_with_the_replicates_own_error() -> None:
    replicates = np.random.default_rng(0).normal(size=(41, 3)) * [1.0, 1e-14, 2.0] + [0.0, 5.0, 1.0]
    for units, strata, confidence in ((12, 1, 0.9), (40, 4, 0.95)):
        low, high = standard_interval(replicates, np.array([0.1, 5.0, 1.0]), units, confidence, strata)
        reach = scipy.stats.t.ppf((1 + confidence) / 2, units - strata) * np.sqrt(units / (units - strata))
        for column, estimate in ((0, 0.1), (2, 1.0)):
            half = reach * replicates[:, column].std(ddof=1)
            assert [low[column], high[column]] == pytest.approx([estimate - half, estimate + half])
        assert np.isnan([low[1], high[1]]).all(), "no variation, no interval"


@for_each(("missing", "known"), [(0, True), (1, True), (2, False)])
def test_an_interval_is_missing_where_more_replicates_have_no_value_than_one_tail_holds(missing: int, known: bool) -> None:
    replicates = np.random.default_rng(1).normal(size=(41, 1))  # a tail of 2.5% of 40 steps holds one
    replicates[:missing] = np.nan
    low, high = standard_interval(replicates, np.zeros(1), 20, 0.95)
    assert [not math.isnan(low[0]), not math.isnan(high[0])] == [known, known]


def test_of_too_few_units_or_a_single_replicate_there_is_no_interval() -> None:
    replicates = np.random.default_rng(2).normal(size=(41, 1))
    few = least_units(0.9, clustered=True)
    for units, known in ((few - 1, False), (few, True)):
        assert math.isnan(small_sample(units, 0.9)[0]) != known
        assert math.isnan(standard_interval(replicates, np.zeros(1), units, 0.9)[0][0]) != known
    assert math.isnan(small_sample(few + 1, 0.9, 2)[0]) is False and math.isnan(small_sample(few, 0.9, 2)[0])
    assert math.isnan(standard_interval(replicates[:1], np.zeros(1), 20, 0.9)[0][0])

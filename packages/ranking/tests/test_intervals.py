"""Percentile intervals of replicates."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from salon_ranking import percentile_interval
from salon_ranking.uncertainty.quantiles import least_replicates


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

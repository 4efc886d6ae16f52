"""Percentile intervals of replicates."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from salon_ranking import percentile_interval


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_intervals_are_numpys_quantiles(values: list[float], confidence: float):
    low, high, used = percentile_interval(np.array(values)[:, None], confidence)
    expected = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    assert np.allclose([low[0], high[0]], expected, rtol=1e-12, atol=1e-6)
    assert used.tolist() == [len(values)]


def test_missing_replicates_are_left_out_per_column():
    replicates = np.array([[1.0, np.nan, np.nan], [2.0, 5.0, np.nan], [3.0, np.nan, np.nan]])
    low, high, used = percentile_interval(replicates, 0.9)
    assert used.tolist() == [3, 1, 0]
    assert (low[1], high[1]) == (5.0, 5.0)
    assert np.isnan([low[2], high[2]]).all()


def test_no_replicates_give_no_interval():
    low, _, used = percentile_interval(np.empty((0, 2)), 0.95)
    assert np.isnan(low).all()
    assert used.tolist() == [0, 0]

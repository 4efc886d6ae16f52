"""Pearson, Spearman and Kendall: hand-worked cases, SciPy as oracle, and what has no correlation."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from for_each import for_each
from salon_ranking.agreement import AgreementError, UndefinedError, kendall, mid_ranks, pearson, spearman
from salon_ranking.agreement.correlation import inversions

ALL = [pearson, spearman, kendall]
small = st.integers(-3, 3)
wide = st.floats(-1e6, 1e6, width=32)
pairs = st.one_of(
    st.lists(st.tuples(small, small), min_size=2, max_size=60), st.lists(st.tuples(wide, wide), min_size=2, max_size=60)
)


def test_a_case_worked_by_hand():
    # Ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4. Pairs: 5 concordant, 0 discordant, one tied in the first list.
    x, y = [10, 20, 20, 30], [1, 3, 2, 4]
    assert kendall(x, y) == pytest.approx(5 / (5 * 6) ** 0.5)
    assert spearman(x, y) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert pearson(x, y) == pytest.approx(30 / (200 * 5) ** 0.5)


@pytest.mark.parametrize("statistic", ALL)
def test_the_same_order_is_exactly_one_and_the_reverse_minus_one(statistic):
    assert statistic([1, 2, 4, 8], [2, 4, 8, 16]) == 1.0
    assert statistic([1, 2, 4, 8], [-1, -2, -4, -8]) == -1.0


@given(pairs)
def test_every_coefficient_is_what_scipy_says(values):
    x, y = (np.array(column, dtype=float) for column in zip(*values, strict=True))
    if x.min() == x.max() or y.min() == y.max():
        for statistic in ALL:
            with pytest.raises(UndefinedError, match="all values are the same"):
                statistic(x, y)
        return
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
    a, b = ([Fraction(float(v)) for v in column] for column in (x, y))
    a, b = ([v - sum(column) / len(column) for v in column] for column in (a, b))
    product, square_a, square_b = (float(sum(p * q for p, q in zip(*two, strict=True))) for two in ((a, b), (a, a), (b, b)))
    assert pearson(x, y) == pytest.approx(product / (square_a * square_b) ** 0.5, abs=1e-5)


@given(st.lists(wide, max_size=40))
def test_mid_ranks_are_what_scipy_says(values):
    assert mid_ranks(values).tolist() == stats.rankdata(values).tolist()


@given(st.lists(st.integers(0, 40), max_size=60))
def test_inversions_are_the_pairs_out_of_order(heights):
    counted = sum(heights[i] > heights[j] for i in range(len(heights)) for j in range(i + 1, len(heights)))
    assert inversions(np.array(heights, dtype=np.int64)) == counted


def test_large_lists_with_and_without_ties_agree_with_scipy():
    random = np.random.default_rng(7)
    for x, y in (random.normal(size=(2, 20_000)), random.integers(0, 9, (2, 20_000))):
        assert kendall(x, y + x) == pytest.approx(stats.kendalltau(x, y + x).statistic, abs=1e-12)


def test_very_large_and_very_small_values_neither_overflow_nor_vanish():
    assert pearson([1e308, -1e308, 0], [1e-308, -1e-308, 0]) == pytest.approx(1.0)
    assert pearson([5e-324, 0.0, 0.0], [1.0, 0.0, 0.0]) == pytest.approx(1.0)


@pytest.mark.parametrize("statistic", ALL)
def test_sequences_arrays_and_series_are_all_taken(statistic):
    expected = statistic([1, 2, 3], [1, 3, 2])
    assert statistic(np.array([1, 2, 3]), (1.0, 3.0, 2.0)) == expected
    assert statistic(pl.Series([1, 2, 3]), pl.Series([1, 3, 2])) == expected


@for_each("statistic", ALL)
@for_each(
    ("first", "second", "message"),
    [
        ([1, 2], [1, 2, 3], "different lengths"),
        ([1, float("nan")], [1, 2], "first, row 2: not a finite number"),
        ([1, 2], [None, 2], "second, row 1: not a finite number"),
        ([1, float("inf")], [1, 2], "not a finite number"),
        (["1", "2"], [1, 2], "must be numbers"),
        ([1, "2"], [1, 2], "must be numbers"),
        ([[1, 2], [3]], [1, 2], "must be numbers"),
        ([[1, 2]], [1, 2], "dimension"),
        (3, [1, 2], "dimension"),
        ([object(), 1], [1, 2], "must be numbers"),
    ],
)
def test_what_is_no_list_of_numbers_is_refused_by_name(statistic, first, second, message):
    with pytest.raises(AgreementError, match=message):
        statistic(first, second)


@pytest.mark.parametrize("statistic", ALL)
@pytest.mark.parametrize("values", [[], [1]])
def test_fewer_than_two_pairs_have_no_correlation(statistic, values):
    with pytest.raises(UndefinedError, match="at least two pairs"):
        statistic(values, values)

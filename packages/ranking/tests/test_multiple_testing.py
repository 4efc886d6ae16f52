"""Corrections for many tests, with the step-down and step-up definitions as oracles."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_ranking import benjamini_hochberg, holm, opinion


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_is_the_step_down_rule(p_values: list[float]):
    corrected = holm(np.array(p_values, dtype=float))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    largest = 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        assert corrected[number] == pytest.approx(largest)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_only_raises_p_and_keeps_their_order(p: list[float]):
    raw = np.array(p)
    adjusted = holm(raw)
    assert (adjusted >= raw).all() and (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0).all()
    assert adjusted.min() == pytest.approx(min(1.0, raw.min() * len(raw)))


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
    assert holm([]).tolist() == []


def test_what_is_no_test_counts_in_no_correction():
    corrected = holm([0.01, math.nan, 0.02]).tolist()
    assert corrected[::2] == [0.02, 0.02]
    assert math.isnan(corrected[1])


def test_scores_and_differences_are_corrected_by_the_same_function():
    assert opinion.holm is holm


# --- Benjamini and Hochberg


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from([0.01, 0.05, 0.2]))
def test_benjamini_hochberg_rejects_what_stepping_up_rejects(p_values: list[float], level: float):
    adjusted = benjamini_hochberg(p_values)
    ordered = sorted(range(len(p_values)), key=p_values.__getitem__)
    last = max(
        (n for n, place in enumerate(ordered, 1) if p_values[place] * len(p_values) / n <= level * (1 - 1e-12)), default=0
    )
    assert {*ordered[:last]} <= {number for number, value in enumerate(adjusted) if value <= level}
    surely_not = [place for n, place in enumerate(ordered, 1) if n > last and adjusted[place] <= level * (1 - 1e-9)]
    assert not surely_not
    assert (adjusted >= np.array(p_values) - 1e-15).all() and (adjusted <= holm(p_values) + 1e-15).all()


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=20), st.randoms())
def test_benjamini_hochberg_follows_its_rows_and_passes_over_what_is_unknown(p_values: list[float], random):
    adjusted = benjamini_hochberg(np.array(p_values, dtype=float))
    assert (np.isnan(adjusted) == np.isnan(np.array(p_values, dtype=float))).all()
    order = random.sample(range(len(p_values)), len(p_values))
    np.testing.assert_array_equal(benjamini_hochberg(np.array(p_values, dtype=float)[order]), adjusted[order])
    known = [value for value in p_values if not math.isnan(value)]
    np.testing.assert_array_equal(benjamini_hochberg(np.array(known)), adjusted[~np.isnan(adjusted)])


def test_at_most_the_promised_share_of_claims_is_wrong():
    """Ten true and ten false hypotheses, independent: the expected share of wrong claims is q / 2."""
    random, shares = np.random.default_rng(0), []
    for _ in range(2000):
        ratio = random.normal(size=20) + np.repeat([0.0, 3.0], 10)
        p_values = np.array([math.erfc(abs(value) / math.sqrt(2)) for value in ratio])
        claims = benjamini_hochberg(p_values) < 0.2
        shares.append(claims[:10].sum() / max(claims.sum(), 1))
    assert abs(np.mean(shares) - 0.1) < 4 * np.std(shares) / math.sqrt(2000)

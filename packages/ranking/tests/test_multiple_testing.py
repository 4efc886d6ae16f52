"""Holm's correction, with the step-down definition as oracle."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_ranking import holm, opinion


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

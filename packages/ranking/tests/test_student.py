"""Student's t without SciPy: SciPy is the oracle."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_ranking.uncertainty.student import two_sided_quantile, two_sided_quantiles, two_sided_tail

stats = pytest.importorskip("scipy.stats")


@given(st.floats(0.0, 1e4), st.floats(1.0, 5e5))
def test_tails_are_those_of_scipy(ratio: float, degrees: float):
    assert two_sided_tail(np.array([ratio]), degrees)[0] == pytest.approx(2 * stats.t.sf(ratio, degrees), rel=1e-8, abs=1e-300)


@given(st.floats(1e-9, 0.999), st.floats(1.0, 5e5))
def test_quantiles_are_those_of_scipy(tail: float, degrees: float):
    assert two_sided_quantile(tail, degrees) == pytest.approx(stats.t.isf(tail / 2, degrees), rel=1e-8, abs=1e-9)


def test_infinite_degrees_are_the_normal_distribution_and_nan_stays_nan():
    assert two_sided_quantile(0.05, math.inf) == pytest.approx(stats.norm.isf(0.025))
    assert two_sided_tail(np.array([1.5, np.nan, np.inf]), math.inf)[:1] == pytest.approx(2 * stats.norm.sf(1.5))
    for degrees in (3.0, math.inf):
        tails = two_sided_tail(np.array([np.nan, np.inf]), degrees)
        assert np.isnan(tails[0])
        assert tails[1] == 0.0


def test_values_do_not_depend_on_their_company():
    degrees, ratios = np.geomspace(1.0, 9e5, 60), np.linspace(0.1, 6.0, 60)
    alone = [float(two_sided_quantiles(0.05, degrees[[row]])[0]) for row in range(60)]
    assert two_sided_quantiles(0.05, degrees).tolist() == alone
    alone = [float(two_sided_tail(ratios[[row]], degrees[[row]])[0]) for row in range(60)]
    assert two_sided_tail(ratios, degrees).tolist() == alone

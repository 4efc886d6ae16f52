"""Krippendorff's α: the published worked example, the definition by all pairs as oracle, and what has none."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_ranking.agreement import AgreementError, UndefinedError, alpha_of_ratings, krippendorff_alpha

N = float("nan")
# "Computing Krippendorff's Alpha-Reliability", section C and E: 4 observers, 12 units.
EXAMPLE = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]


def by_definition(table: np.ndarray, level: str) -> float:
    """The coincidence matrix and Krippendorff's metrics, as printed."""
    values = np.unique(table[~np.isnan(table)])
    coincidences = np.zeros((len(values), len(values)))
    for unit in table.T:
        rated = unit[~np.isnan(unit)]
        for a, b in permutations(rated, 2):
            coincidences[np.searchsorted(values, a), np.searchsorted(values, b)] += 1 / (len(rated) - 1)
    n = coincidences.sum(axis=1)
    metric = np.zeros_like(coincidences)
    for c in range(len(values)):
        for k in range(c + 1, len(values)):
            steps = {"nominal": 1.0, "interval": values[k] - values[c], "ordinal": n[c : k + 1].sum() - (n[c] + n[k]) / 2}
            metric[c, k] = metric[k, c] = steps[level] ** 2
    expected = (np.outer(n, n) * metric).sum() / (n.sum() - 1)
    return 1 - (coincidences * metric).sum() / expected


@pytest.mark.parametrize(("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example_comes_out_as_printed(level, printed):
    assert round(krippendorff_alpha(EXAMPLE, level=level), 3) == printed


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(data=st.data())
def test_it_is_the_definition(level, data):
    cell = st.one_of(st.just(N), st.integers(-2, 3).map(float))
    table = np.array(data.draw(st.lists(st.lists(cell, min_size=6, max_size=6), min_size=2, max_size=5)))
    paired = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    given_values = paired[~np.isnan(paired)]
    if len(np.unique(given_values)) < 2:
        with pytest.raises(UndefinedError):
            krippendorff_alpha(table, level=level)
        return
    assert krippendorff_alpha(table, level=level) == pytest.approx(by_definition(table, level), abs=1e-9)


def test_ratings_that_stand_alone_are_left_out_and_counted():
    found = alpha_of_ratings(np.array([0, 0, 1, 1, 5]), [1, 2, 2, 2, 99], level="interval")
    assert (found.things, found.ratings, found.left_out) == (2, 4, 1)


def test_a_large_offset_changes_nothing():
    table = np.array(EXAMPLE)
    assert krippendorff_alpha(table + 1e6, level="interval") == pytest.approx(
        krippendorff_alpha(table, level="interval"), abs=1e-6
    )


@pytest.mark.parametrize("table", [[[1, N], [N, 2]], [[1, 1], [1, 1]], np.zeros((0, 3)), np.zeros((3, 0))])
def test_no_overlap_and_no_variation_have_no_alpha(table):
    with pytest.raises(UndefinedError):
        krippendorff_alpha(table)


def test_what_is_no_table_of_ratings_is_refused():
    with pytest.raises(AgreementError, match="unknown level 'ratio'"):
        krippendorff_alpha(EXAMPLE, level="ratio")
    with pytest.raises(AgreementError, match="dimension"):
        krippendorff_alpha([1, 2])
    with pytest.raises(AgreementError, match="finite"):
        krippendorff_alpha([[1, float("inf")], [1, 2]])
    with pytest.raises(AgreementError, match="different lengths"):
        alpha_of_ratings(np.array([0, 0]), [1])

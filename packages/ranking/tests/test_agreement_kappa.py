"""Cohen's and Fleiss' κ: hand-worked and published cases, statsmodels as oracle, and what has none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_oracle

from salon_ranking import OptionError
from salon_ranking.agreement import AgreementError, UndefinedError, cohen_kappa, fleiss_kappa, kappa_of_table

# Fleiss 1971's data are not repeated here; this is the widely used 10 x 5 example with 14 raters, κ = 0.210.
TEN_THINGS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_a_two_by_two_table_worked_by_hand():
    # Observed 35/50 = 0.7; expected 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    assert kappa_of_table([[20, 5], [10, 15]]) == pytest.approx(0.4)


def test_weights_worked_by_hand():
    # One disagreement of one step. The margins (1, 1, 2) and (1, 2, 1) make expected costs of 11, 14 and 20 quarters.
    first, second = [1, 2, 3, 3], [1, 2, 3, 2]
    assert cohen_kappa(first, second) == pytest.approx(1 - 1 / (11 / 4))
    assert cohen_kappa(first, second, weights="linear") == pytest.approx(1 - 1 / (14 / 4))
    assert cohen_kappa(first, second, weights="quadratic") == pytest.approx(1 - 1 / (20 / 4))


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=4, max_size=4))
def test_cohen_is_what_statsmodels_says(table):
    counts = np.array(table)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    if counts.sum() == 0 or (np.outer(rows, columns) * (1 - np.eye(4))).sum() == 0:
        with pytest.raises(UndefinedError):
            kappa_of_table(counts)
        return
    for weights, oracle in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
        assert kappa_of_table(counts, weights=weights) == pytest.approx(cohens_kappa(counts, wt=oracle).kappa, abs=1e-9)


def test_labels_may_be_text_and_their_order_does_not_matter_without_weights():
    assert cohen_kappa(["left", "both", "left"], ["left", "both", "both"]) == pytest.approx(0.4)
    assert cohen_kappa([1, 0, 1], [1, 0, 0]) == pytest.approx(0.4)


def test_an_unused_category_is_still_a_step():
    labels = ["low", "high", "high"], ["low", "high", "low"]
    near = cohen_kappa(*labels, weights="quadratic", categories=["low", "high"])
    far = cohen_kappa([*labels[0], "middle"], [*labels[1], "high"], weights="quadratic", categories=["low", "middle", "high"])
    assert near == pytest.approx(0.4)
    # Observed cost 4 + 1; expected (1·2·4 + 1·2·1 + 1·2·1 + 2·2·4) / 4 = 7.
    assert far == pytest.approx(1 - 5 / 7)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ((["a"], ["a", "b"]), {}, "different numbers of things"),
        ((["a", None], ["a", "b"]), {}, "first, row 2: no label"),
        (([1.0, 2.0], [1.0, float("nan")]), {}, "second, row 2: no label"),
        ((["a", "b"], ["a", "b"]), {"weights": "linear"}, "need the order"),
        ((["a", "b"], ["a", "c"]), {"categories": ["a", "b"]}, "unknown category 'c'"),
    ],
)
def test_bad_labels_are_refused_by_name(labels, options, message):
    with pytest.raises(AgreementError, match=message):
        cohen_kappa(*labels, **options)
    with pytest.raises(OptionError, match="weights is unknown: 'cubic'"):
        cohen_kappa([1, 2], [1, 2], weights="cubic")


@pytest.mark.parametrize("labels", [([], []), (["a", "a"], ["a", "a"])])
def test_no_labels_and_one_category_have_no_kappa(labels):
    with pytest.raises(UndefinedError):
        cohen_kappa(*labels)


def test_fleiss_of_the_known_example():
    assert fleiss_kappa(TEN_THINGS) == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa(TEN_THINGS) == pytest.approx(fleiss_oracle(np.array(TEN_THINGS)), abs=1e-12)


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=12))
def test_fleiss_is_what_statsmodels_says(labels):
    counts = np.array([np.bincount(row, minlength=4) for row in labels])
    if np.count_nonzero(counts.sum(axis=0)) == 1:
        with pytest.raises(UndefinedError, match="only one category"):
            fleiss_kappa(counts)
        return
    assert fleiss_kappa(counts) == pytest.approx(fleiss_oracle(counts), abs=1e-9)


def test_fleiss_needs_as_many_raters_for_every_thing():
    with pytest.raises(AgreementError, match=r"row 2: every thing needs the same number of raters \(3\), not 2"):
        fleiss_kappa([[3, 0], [1, 1]])
    with pytest.raises(AgreementError, match="negative"):
        fleiss_kappa([[4, -1]])
    for nothing in ([[0, 0]], [[1, 0], [0, 1]], np.zeros((0, 3))):
        with pytest.raises(UndefinedError):
            fleiss_kappa(nothing)

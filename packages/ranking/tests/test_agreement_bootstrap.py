"""The paired bootstrap and rank stability: shared items, seeds, and hand-worked cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from twins import reference_resampling

from salon_ranking import _core
from salon_ranking.agreement import AgreementError, UndefinedError, compare_all, paired_bootstrap, rank_stability
from salon_ranking.agreement.stability import allocate
from salon_ranking.errors import OptionError


@pytest.fixture
def scores() -> np.ndarray:
    """300 items of three systems; an item's difficulty is common, b beats a by 0.02, c is far behind."""
    random = np.random.default_rng(3)
    difficulty = random.normal(size=(300, 1))
    return difficulty + np.array([0.0, 0.02, -0.8]) + random.normal(scale=0.3, size=(300, 3))


@pytest.mark.parametrize("items", [3, 4, 60])
def test_a_constant_lead_and_few_items_have_no_interval(items: int):
    first = np.random.default_rng(0).random(items)
    constant = paired_bootstrap(first, first - 0.25, replicates=50)
    assert constant.value == pytest.approx(0.25)
    assert np.isnan([constant.ci_low, constant.ci_high]).all()
    assert not constant.significant
    found = paired_bootstrap(first, first[::-1] - 5.0, replicates=50)
    assert found.significant == (items > 4)


def test_pairing_takes_out_what_the_items_have_in_common(scores):
    paired = paired_bootstrap(scores[:, 1], scores[:, 2])
    apart = paired_bootstrap(scores[:, 1], np.random.default_rng(0).permutation(scores[:, 2]))
    assert paired.ci_high - paired.ci_low < 0.5 * (apart.ci_high - apart.ci_low)


def test_the_interval_has_the_width_of_the_normal_theory(scores):
    found = paired_bootstrap(scores[:, 0], scores[:, 2], replicates=4000)
    error = (scores[:, 0] - scores[:, 2]).std() / 300**0.5
    assert found.ci_high - found.ci_low == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_the_seed_fixes_the_interval_and_swapping_mirrors_it(scores):
    one, same = (paired_bootstrap(scores[:, 0], scores[:, 1], seed=42) for _ in range(2))
    other = paired_bootstrap(scores[:, 0], scores[:, 1], seed=43)
    mirrored = paired_bootstrap(scores[:, 1], scores[:, 0], seed=42)
    assert one == same
    assert one.ci_low != other.ci_low
    assert (mirrored.ci_low, mirrored.ci_high) == pytest.approx((-one.ci_high, -one.ci_low))


def test_all_pairs_share_their_items(scores):
    found = {(d.first, d.second): d for d in compare_all(scores, ["a", "b", "c"])}
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    alone = paired_bootstrap(scores[:, 0], scores[:, 2])
    assert (found["a", "c"].ci_low, found["a", "c"].ci_high) == pytest.approx((alone.ci_low, alone.ci_high))
    assert found["a", "c"].significant
    assert not found["a", "b"].significant


@given(
    arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(2, 5)), elements=st.one_of(st.floats(-9, 9), st.just(np.nan))),
    st.integers(0, 2**64 - 1),
)
def test_the_core_and_its_twin_draw_the_same_differences(table, seed):
    core, twin = _core.paired_differences(table, 8, seed, 2), reference_resampling.paired_differences(table, 8, seed)
    np.testing.assert_allclose(core, twin, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(core, _core.paired_differences(table, 8, seed, 1))


def test_the_number_of_threads_changes_no_bit(scores):
    assert compare_all(scores, threads=1) == compare_all(scores, threads=5)


def test_one_pair_alone_has_the_interval_that_it_has_among_others(scores):
    among = {(each.first, each.second): each for each in compare_all(scores, ["a", "b", "c"], seed=4)}["a", "c"]
    alone = paired_bootstrap(scores[:, 0], scores[:, 2], seed=4)
    assert (alone.ci_low, alone.ci_high) == (among.ci_low, among.ci_high)


def test_the_mean_as_a_metric_of_one_s_own_sees_the_same_items(scores):
    built_in = paired_bootstrap(scores[:, 0], scores[:, 1], replicates=40)
    own = paired_bootstrap(scores[:, 0], scores[:, 1], metric=np.mean, replicates=40)
    assert (own.ci_low, own.ci_high) == pytest.approx((built_in.ci_low, built_in.ci_high), abs=1e-12)


def test_pairs_are_compared_on_the_items_that_both_have(scores):
    holes = scores.copy()
    holes[:100, 2] = np.nan
    with pytest.raises(AgreementError, match="not a finite number"):
        compare_all(holes)
    found = compare_all(holes, ["a", "b", "c"], unscored="pairwise")
    assert [each.items for each in found] == [300, 200, 200]
    assert found[0] == compare_all(scores, ["a", "b", "c"])[0], "what another system lacks is nothing to a pair"
    assert found[1].value == pytest.approx(float((scores[100:, 0] - scores[100:, 2]).mean()))
    few = np.full((50, 2), np.nan)
    few[:2] = [[1.0, 0.0], [1.0, 0.5]]
    [pair] = compare_all(few, unscored="pairwise", replicates=200)
    assert (pair.items, pair.value) == (2, 0.75)
    assert 10 < pair.degenerate < 50, "exp(-2) of the replicates draw neither of the two items"
    with pytest.raises(UndefinedError, match="two items"):
        compare_all(few[1:], unscored="pairwise")


def test_systems_that_cancel_out_are_never_told_apart():
    random = np.random.default_rng(1)
    gap = np.repeat(random.random(50), 2)
    first = random.random(100)
    found = paired_bootstrap(first, np.where(np.arange(100) % 2, first + gap, first - gap))
    assert not found.significant


def test_a_metric_of_one_s_own_sees_whole_rows_and_may_not_exist():
    counts = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], *[[0.0, 0.0]] * 3])

    def precision(rows: np.ndarray) -> float:
        found = rows.sum(axis=0)
        return float(found[0] / found.sum()) if found.sum() else float("nan")

    found = paired_bootstrap(counts, counts[:, ::-1], metric=precision, replicates=400)
    assert found.value == 0.0
    assert 0 < found.degenerate < 20
    assert found.ci_low < 0 < found.ci_high


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"replicates": 0}, OptionError),
        ({"confidence": 1.0}, OptionError),
        ({"seed": -1}, OptionError),
        ({"seed": 1 << 64}, OptionError),
    ],
)
def test_options_out_of_range_are_refused(options, error):
    with pytest.raises(error):
        paired_bootstrap([1, 2], [1, 2], **options)


def test_systems_with_different_items_and_single_items_are_refused():
    with pytest.raises(AgreementError, match="different items"):
        paired_bootstrap([1, 2], [1, 2, 3])
    with pytest.raises(UndefinedError, match="at least two items"):
        paired_bootstrap([1], [2])
    with pytest.raises(AgreementError, match="as many names"):
        compare_all([[1, 2], [2, 3]], ["a"])


def test_strata_give_their_shares_by_largest_remainders():
    assert allocate([97, 94, 49, 96, 71, 92, 101, 70], 200) == [29, 28, 15, 29, 21, 27, 30, 21]
    assert allocate([1, 1, 1], 2) == [1, 1, 0]
    assert allocate([5, 3], 8) == [5, 3]


def test_a_pair_that_is_not_separated_costs_exact_matches_unless_it_is_a_tie(scores):
    found = rank_stability(scores, [100, 300], systems=["a", "b", "c"], rounds=100)
    small, full = found.sizes
    assert found.ranking == ("b", "a", "c")
    assert found.ties == (("b", "a"),)
    assert small.exact < 0.95
    assert (small.tau_significant, small.exact_significant) == (1.0, 1.0)
    assert small.tau == pytest.approx(1 - 2 / 3 * (1 - small.exact), abs=1e-9)  # one wrong pair of three
    assert (full.tau, full.exact, full.tau_low) == (1.0, 1.0, 1.0)


def test_subsamples_keep_the_shares_of_the_strata():
    # Stratum s decides the mean alone: with exact shares every subsample has the full means.
    strata = ["s"] * 20 + ["t"] * 80
    scores = np.array([[1.0, 0.0]] * 20 + [[0.0, 0.2]] * 80)
    found = rank_stability(scores, [5, 50], strata=strata, rounds=30, replicates=20)
    assert [size.exact for size in found.sizes] == [1.0, 1.0]
    assert found.strata == 2


def test_the_seed_fixes_stability(scores):
    assert rank_stability(scores, [50], rounds=20) == rank_stability(scores, [50], rounds=20)


@pytest.mark.parametrize("seed", range(8))
def test_decimal_scores_have_the_ranking_of_whole_ones(seed: int):
    random = np.random.default_rng(seed)
    tenths = random.integers(0, 11, 30)
    same = np.column_stack([tenths, random.permutation(tenths), random.permutation(tenths)])
    with pytest.raises(UndefinedError, match="all systems have the same mean"):
        rank_stability(same / 10, [10], rounds=20, replicates=50)
    tied = np.column_stack([same, random.permutation(tenths) + 1])
    whole, decimal = (rank_stability(scores, [10], rounds=200, replicates=50) for scores in (tied, tied / 10))
    assert (decimal.ranking, decimal.sizes[0].tau, decimal.sizes[0].exact) == (
        whole.ranking,
        pytest.approx(whole.sizes[0].tau),
        whole.sizes[0].exact,
    )


def test_stability_refuses_what_has_no_ranking():
    with pytest.raises(UndefinedError, match="same mean"):
        rank_stability([[1, 1], [2, 2]], [1])
    with pytest.raises(UndefinedError, match="two systems"):
        rank_stability([[1], [2]], [1])
    with pytest.raises(OptionError, match="between 1 and 2, not 3"):
        rank_stability([[1, 2], [2, 3]], [3])
    with pytest.raises(AgreementError, match="as many strata"):
        rank_stability([[1, 2], [2, 3]], [1], strata=["s"])

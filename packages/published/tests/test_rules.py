"""Each rule by hand on small numbers; coefficients against SciPy; rounding never makes a true value disagree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_published import rules
from salon_published.counts import labelled_counts, share_counts
from salon_published.rounding import MatchWithPrinted, Quantity, compare, quantity
from salon_published.tie_breaks import tie_breaks


def printed(*texts: str) -> list[Quantity]:
    return [quantity(text) for text in texts]


def exact(*values: float) -> list[Quantity]:
    return [Quantity(value) for value in values]


def test_a_mean_moves_as_far_as_its_inputs_together() -> None:
    result = rules.mean(printed("36.6", "36.1"), [])
    assert result.ends() == pytest.approx((36.35, 36.30, 36.40))


def test_totals_and_differences_add_the_rounding_of_their_inputs() -> None:
    assert rules.total(printed("1", "2.5"), []).ends() == pytest.approx((3.5, 2.95, 4.05))
    assert rules.difference(printed("0.81", "0.72"), []).ends() == pytest.approx((0.09, 0.08, 0.10))


def test_a_percentage_of_counts_is_exact() -> None:
    assert rules.percentage(exact(881, 169501), []).ends() == pytest.approx((0.51976, 0.51976, 0.51976), abs=1e-5)


def test_a_weighted_mean_moves_with_values_and_with_rounded_weights() -> None:
    assert rules.weighted_mean(exact(1.0, 0.0), exact(3, 1)).ends() == (0.75, 0.75, 0.75)
    low, high = rules.weighted_mean(exact(1.0, 0.0), printed("3", "1")).ends()[1:]
    assert (low, high) == pytest.approx((2.5 / 4, 3.5 / 4))


def test_f1_is_the_harmonic_mean_and_zero_without_hits() -> None:
    assert rules.f1(exact(0.5, 1.0), []).plain == pytest.approx(2 / 3)
    assert rules.f1(exact(0.0, 0.0), []).plain == 0.0


def test_a_share_gives_back_its_count() -> None:
    assert share_counts(quantity("83.70"), range(100, 89, -1)) == [(77, 92)]
    assert share_counts(quantity("68.4"), [250]) == [(171, 250)]


def test_a_share_that_no_count_gives_falls_back_to_the_nearest_count() -> None:
    assert share_counts(quantity("50.30"), [10]) == [(5, 10)]


def test_precision_and_recall_give_back_hits_and_flags() -> None:
    assert labelled_counts(quantity("0.5000"), quantity("0.2000"), 10) == [(2, 4)]
    assert labelled_counts(quantity("0.0000"), quantity("0.0000"), 10) == [(0, 1)]


@given(st.integers(0, 100), st.integers(0, 2), st.lists(st.integers(1, 400), min_size=1, max_size=4))
def test_the_counts_behind_a_share_are_those_of_a_search_over_all_the_nearest_first(
    whole: int, digits: int, sizes: list[int]
) -> None:
    share = quantity(f"{whole * 0.997:.{digits}f}")
    wanted = []
    for size in sizes:
        gaps = {hits: abs(100 * hits / size - share.value) for hits in range(size + 1)}
        wanted += [(hits, size) for hits in sorted(gaps, key=gaps.__getitem__) if gaps[hits] <= share.half + 1e-9]
    assert share_counts(share, sizes) == (wanted or [(round(share.value * sizes[0] / 100), sizes[0])])


@given(st.integers(1, 80), st.integers(0, 80), st.integers(0, 80), st.integers(1, 3))
def test_the_counts_behind_precision_and_recall_are_those_of_a_search_over_all(
    hits: int, extra: int, missed: int, digits: int
) -> None:
    support = hits + missed
    precision, recall = printed(f"{hits / (hits + extra):.{digits}f}", f"{hits / support:.{digits}f}")
    wanted = set()
    for right in range(support + 1):
        if abs(right / support - recall.value) > recall.half + 1e-9:
            continue
        if right == 0 or precision.low <= 0:
            wanted.add((right, max(1, right)))
        else:
            most = int(right / precision.low) + 2
            fits = (n for n in range(1, most) if abs(right / n - precision.value) <= precision.half + 1e-9)
            wanted.update((right, n) for n in fits)
    found = labelled_counts(precision, recall, support)
    gaps = [abs(right / n - precision.value) + abs(right / support - recall.value) for right, n in found]
    assert (set(found), len(found), gaps) == (wanted, len(wanted), sorted(gaps))
    assert precision.low <= 0 or (hits, hits + extra) in found


@for_each(
    ("precision", "recall", "pair"), [("0.0000", "0.5500", (6, 6)), ("0.0000", "0.0400", (0, 1)), ("0.5", "0.151", (2, 4))]
)
def test_rates_that_no_counts_give_are_those_of_the_nearest_with_no_more_hits_than_flags(
    precision: str, recall: str, pair: tuple[int, int]
) -> None:
    assert labelled_counts(quantity(precision), quantity(recall), 10) == [pair]


@for_each("sizes", [(10,), (10, 10, 10)])
@for_each(
    ("rule", "inputs"),
    [
        (rules.weighted_mean, 2),
        (rules.pooled_accuracy, 2),
        (rules.pooled_share, 2),
        (rules.micro_precision, 4),
        (rules.micro_recall, 4),
        (rules.micro_f1, 4),
    ],
)
def test_weights_that_are_not_one_for_each_input_are_refused(
    rule: rules.RowFunction, inputs: int, sizes: tuple[int, ...]
) -> None:
    assert rule(printed(*["0.50"] * inputs), exact(10, 10)).plain is not None
    with pytest.raises(ValueError, match="zip"):
        rule(printed(*["0.50"] * inputs), exact(*sizes))


def test_pooled_accuracy_counts_whole_answers() -> None:
    assert rules.pooled_accuracy(printed("33.3", "100.0"), exact(3, 1)).plain == pytest.approx(50.0)


def test_a_pooled_share_knows_every_size_that_is_possible() -> None:
    result = rules.pooled_share(printed("80.00"), exact(100))
    assert result.options == (80.0,)
    wide = rules.pooled_share(printed("80.00", "0.00"), exact(100, 100))
    assert wide.plain == pytest.approx(40.0)
    assert 100 * 80 / 199 in wide.options


@given(st.integers(1, 9999), st.integers(20, 130))
def test_shares_over_unknown_sizes_take_all_sizes_that_are_possible_and_no_other(share: int, most: int) -> None:
    rate = quantity(f"{share / 100:.2f}")
    possible = [
        size
        for size in range(most, 0, -1)
        if any(abs(100 * k / size - rate.value) <= rate.half + 1e-9 for k in range(size + 1))
    ]
    sizes = [size for size in possible if size > most // 2]
    assert rules.share_size([rate], exact(most)).options == (tuple(map(float, sizes)) or (float(most),))
    near = [size for size in possible if size >= round(0.9 * most)] or [most]
    pooled = rules.pooled_share([rate, *printed("0.00")], exact(most, 1))
    assert pooled.options == pytest.approx([100 * round(rate.value * size / 100) / (size + 1) for size in near])


def test_a_possible_share_is_consistent_and_an_impossible_one_is_not() -> None:
    parts = printed("50.00", "33.00")  # 100 items each, or 98, 96, … for the first
    assert compare(quantity("41.50"), rules.possible_share([*printed("41.50"), *parts], exact(100, 100))) is (
        MatchWithPrinted.CONSISTENT
    )
    assert compare(quantity("41.23"), rules.possible_share([*printed("41.23"), *parts], exact(100, 100))) is (
        MatchWithPrinted.DISAGREES
    )


def test_the_size_behind_a_share_is_the_largest_possible() -> None:
    assert rules.share_size(printed("83.70"), exact(100)).plain == 92
    assert rules.share_size(printed("83.00"), exact(100)).plain == 100


def test_micro_averages_pool_hits_flags_and_supports() -> None:
    # label 1: 2 hits of 4 flagged, 10 true; label 2: 6 hits of 8 flagged, 10 true
    of, supports = printed("0.5000", "0.2000", "0.7500", "0.6000"), exact(10, 10)
    assert rules.micro_precision(of, supports).plain == pytest.approx(8 / 12)
    assert rules.micro_recall(of, supports).plain == pytest.approx(8 / 20)
    assert rules.micro_f1(of, supports).plain == pytest.approx(16 / 32)


def test_bounds_test_a_value_without_making_it() -> None:
    assert rules.between(printed("0.1", "0.9"), []).ends() == pytest.approx((None, 0.05, 0.95))
    assert rules.at_most(exact(3, 4), []).ends() == (None, float("-inf"), 7.0)
    assert all(not rules.RULES[name].derives for name in ("between", "at_most", "possible_share", "rank_order"))


def test_equal_values_share_the_better_rank_and_rounding_may_part_them() -> None:
    column = printed("0.62", "0.62", "0.58")
    assert [rules.rank([column], place).plain for place in range(3)] == [1, 1, 3]
    assert rules.rank([column], 0).ends() == (1, 1, 2)
    assert rules.rank([column], 2).ends() == (3, 3, 3)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.sampled_from([0.0, 0.5]))
def test_values_a_unit_apart_keep_their_order_and_equal_ones_may_be_parted_if_they_were_rounded(
    values: list[int], half: float
) -> None:
    column = [Quantity(float(value), half) for value in values]
    for place, own in enumerate(values):
        better, equal = sum(value > own for value in values), sum(value == own for value in values) - 1
        assert rules.rank([column], place).ends() == (1 + better, 1 + better, 1 + better + (equal if half else 0))


def test_a_rank_fits_between_those_of_better_and_worse_rows() -> None:
    scores, ranks = exact(1100, 1080, 1060), exact(2, 5, 4)
    assert [rules.rank_order([scores, ranks], place).ends()[1:] for place in range(3)] == [(1, 4), (2, 4), (5, float("inf"))]


def test_ties_that_rounding_may_have_made_are_broken_both_ways() -> None:
    # R³-Bench, Table 6: two systems tie in human accuracy; 0.800 and 0.667 need the tie to be broken
    columns = [printed("0.650", "0.657", "0.599", "0.543"), printed("0.912", "0.912", "0.829", "0.719")]
    rho, tau = rules.spearman_rho(columns, 0), rules.kendall_tau(columns, 0)
    assert (rho.plain, rho.low, rho.high) == pytest.approx((0.9487, 0.8, 1.0), abs=1e-4)
    assert (tau.plain, tau.low, tau.high) == pytest.approx((0.9129, 0.6667, 1.0), abs=1e-4)


def test_too_many_ties_are_left_as_they_stand() -> None:
    assert list(tie_breaks([1.0] * 6, 100)) == [[1.0] * 6]


def test_pearson_reaches_as_far_as_its_inputs_were_rounded() -> None:
    sharp = rules.pearson_r([exact(1, 2, 4), exact(1, 3, 4)], 0)
    blunt = rules.pearson_r([printed("1", "2", "4"), printed("1", "3", "4")], 0)
    assert sharp.low == sharp.plain == sharp.high
    assert blunt.low < sharp.plain < blunt.high


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9), st.integers(0, 3), st.integers(0, 3))
def test_a_mean_of_unrounded_numbers_never_disagrees_with_what_is_printed(
    values: list[float], digits_in: int, digits_out: int
) -> None:
    mean = sum(values) / len(values)
    result = rules.mean(printed(*(f"{value:.{digits_in}f}" for value in values)), [])
    assert compare(quantity(f"{mean:.{digits_out}f}"), result) in {MatchWithPrinted.EXACT, MatchWithPrinted.WITHIN_ROUNDING}


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=4))
def test_micro_averages_of_real_counts_never_disagree_with_what_is_printed(counts: list[tuple[int, int, int]]) -> None:
    of: list[Quantity] = []
    for hits, extra, missed in counts:
        of += printed(f"{hits / (hits + extra):.4f}", f"{hits / (hits + missed):.4f}")
    supports = exact(*(hits + missed for hits, _, missed in counts))
    pooled = sum(hits for hits, _, _ in counts) / sum(hits + extra for hits, extra, _ in counts)
    assert compare(quantity(f"{pooled:.4f}"), rules.micro_precision(of, supports)) is not MatchWithPrinted.DISAGREES


def test_every_rule_says_in_one_line_what_it_computes() -> None:
    for name, rule in rules.RULES.items():
        assert rule.formula.__name__ == name
        assert len((rule.formula.__doc__ or "").splitlines()[0]) > 3

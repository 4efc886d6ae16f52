"""Agreement of benchmarks: only shared models count, and too few of them give no number."""

import pytest

from salon_published.benchmark_agreement import FEWEST_IN_COMMON, agreement


def test_only_models_that_both_boards_rate_are_compared() -> None:
    one = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "only here": 0.0}
    other = {"a": 10.0, "b": 30.0, "c": 20.0, "d": 40.0, "only there": 99.0}
    row = agreement({"one": one, "other": other}).row(0, named=True)
    assert row["common"] == 4
    assert row["spearman"] == pytest.approx(0.8)  # 1 - 6 * 2 / (4 * 15)


def test_too_few_shared_models_give_no_correlation() -> None:
    board = {str(i): float(i) for i in range(FEWEST_IN_COMMON - 1)}
    row = agreement({"one": board, "other": board}).row(0, named=True)
    assert (row["common"], row["spearman"]) == (FEWEST_IN_COMMON - 1, None)


def test_a_board_that_ties_all_models_gives_no_correlation() -> None:
    row = agreement({"one": dict.fromkeys("abcd", 1.0), "other": dict(zip("abcd", range(4), strict=True))}).row(0, named=True)
    assert row["spearman"] is None


def test_pairs_with_most_models_in_common_come_first() -> None:
    small, large = {c: float(ord(c)) for c in "abcd"}, {c: float(ord(c)) for c in "abcdefgh"}
    frame = agreement({"small": small, "large": large, "other": large})
    assert frame["common"].to_list() == [8, 4, 4]


def test_no_pairs_make_an_empty_frame_with_all_columns() -> None:
    assert agreement({"alone": {"a": 1.0}}).columns == ["one", "other", "common", "spearman"]

"""Three meanings of both_bad: a tie, nothing, or an answer about both models."""

import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint

from salon_ranking import BattleError, Battles, OptionError, acceptability, fit, settle_both_bad

ROWS = [("x", "y", "model_a")] * 6 + [("x", "y", "model_b")] * 3 + [("y", "z", "both_bad")] * 2 + [("y", "z", "tie")] * 4


def battles_of(rows: list[tuple[str, str, str]], **columns: object) -> Battles:
    frame = pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row").with_columns(**columns)
    return Battles.from_frame(frame, weight="w" if "w" in columns else None)


def test_as_a_tie_nothing_changes():
    battles = battles_of(ROWS)
    assert settle_both_bad(battles, "tie") == (battles, None)


def test_dropped_battles_are_out_of_the_rating_and_counted_in_the_source():
    rest, table = settle_both_bad(battles_of(ROWS), "drop")
    assert (rest.count, table) == (13, None)
    assert rest.source == "battles without 2 both-bad"
    assert fit(rest).ratings == pytest.approx(fit(battles_of([row for row in ROWS if row[2] != "both_bad"])).ratings)


def test_as_an_outcome_of_its_own_every_model_gets_its_share_with_a_wilson_interval():
    _, table = settle_both_bad(battles_of(ROWS), "own")
    assert table is not None
    assert table["model"].to_list() == ["x", "y", "z"]
    assert table["both_bad"].to_list() == [0, 2, 2]
    for row in table.iter_rows(named=True):
        good = row["matches"] - row["both_bad"]
        low, high = proportion_confint(good, row["matches"], method="wilson")
        assert (row["acceptable"], row["ci_low"], row["ci_high"]) == pytest.approx((good / row["matches"], low, high))


def test_a_model_that_was_only_judged_both_bad_has_an_acceptability_of_exactly_0():
    for number in range(1, 60):
        table = acceptability(
            battles_of([("x", "y", "both_bad")] * number + [("z", "y", "tie")], w=pl.int_range(pl.len()) + 0.1)
        )
        assert table.filter(model="x").select("acceptable", "ci_low").row(0) == (0.0, 0.0)
        assert table.filter(model="z").select("acceptable", "ci_high").row(0) == (1.0, 1.0)


def test_equal_weights_leave_the_interval_as_it_is():
    plain, heavy = acceptability(battles_of(ROWS)), acceptability(battles_of(ROWS, w=pl.lit(3.0)))
    assert heavy["ci_low"].to_list() == pytest.approx(plain["ci_low"].to_list())
    assert heavy["matches"].to_list() == [27, 45, 18]


def test_nothing_left_and_wrong_words_are_refused():
    with pytest.raises(BattleError, match="every battle was judged both-bad"):
        settle_both_bad(battles_of([("x", "y", "both_bad")]), "drop")
    with pytest.raises(OptionError, match="allowed: tie, drop, own"):
        settle_both_bad(battles_of(ROWS), "keep")  # type: ignore[arg-type]

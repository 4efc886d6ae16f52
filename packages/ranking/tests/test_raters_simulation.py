"""Planted careless raters: are they found, and what does the leaderboard gain?"""

import pytest

from salon_ranking.errors import OptionError
from studies.raters import SimulatedRaters, effect_of_filtering, mean_effect


def test_the_seed_fixes_the_arena():
    arena = SimulatedRaters(attentive=2, careless=1, votes=20)
    assert arena.battles().equals(arena.battles())
    assert not arena.battles().equals(SimulatedRaters(attentive=2, careless=1, votes=20, seed=1).battles())


def test_every_rater_answers_the_same_number_and_anchors_have_their_share():
    battles = SimulatedRaters(attentive=10, careless=2, votes=200).battles()
    assert set(battles["rater_id"].value_counts()["count"]) == {200}
    assert battles["is_anchor"].mean() == pytest.approx(0.05, abs=0.015)
    assert (battles["expected_winner"].is_not_null() == battles["is_anchor"]).all()


def test_the_expected_answers_of_anchors_and_the_sides_are_as_often_the_one_as_the_other():
    battles = SimulatedRaters(attentive=10, careless=0, votes=300, anchors=1.0, slips=0.0, ties=0.0).battles()
    assert battles["is_anchor"].all()
    for column, value in (("expected_winner", "model_a"), ("side_a_shown", "left")):
        assert (battles[column] == value).mean() == pytest.approx(0.5, abs=0.05)
    assert (battles["winner"] == battles["expected_winner"]).mean() > 0.99  # a lead of 1,000 points


def test_the_share_of_ties_is_that_between_equals_and_may_be_all():
    for ties in (0.0, 0.3, 1.0):
        arena = SimulatedRaters(attentive=10, careless=0, votes=300, spread=0.0, taste=0.0, ties=ties, slips=0.0, anchors=0.0)
        tied = arena.battles()["winner"].is_in(["both_good", "both_bad"]).mean()
        assert tied == pytest.approx(ties, abs=0.04 if 0 < ties < 1 else 0)


def test_without_careless_raters_nothing_changes():
    found = effect_of_filtering(SimulatedRaters(models=4, attentive=12, careless=0, votes=150), replicates=60)
    assert (found.found, found.wrongly_flagged, found.width_change, found.error_after) == (1.0, 0.0, 0.0, 0.0)
    assert (found.relative_change, found.error_before) == (0.0, 0.0)
    assert found.separation_before == found.separation_after > 1.0


def test_impossible_arenas_are_refused():
    for options in ({"models": 1}, {"attentive": 0}, {"ties": 1.5}):
        with pytest.raises(OptionError):
            SimulatedRaters(**options).battles()


@pytest.mark.study
def test_leaving_out_careless_raters_separates_models_and_removes_their_bias():
    arena, seeds = SimulatedRaters(careless=10), range(5)
    by_rater = mean_effect(arena, seeds, cluster="rater_id")
    by_battle = mean_effect(arena, seeds)
    assert by_rater.found > 0.9
    assert by_rater.wrongly_flagged < 0.02
    # Intervals that know about raters narrow, and by about a third relative to the spread of the ratings.
    assert by_rater.width_change < 0.0
    assert -0.5 < by_rater.relative_change < -0.25
    # Resampling single battles cannot see that raters differ: its intervals widen, for there are fewer battles.
    assert by_battle.width_change > 0.0
    assert by_battle.relative_change < 0.0
    assert by_rater.error_after < 0.2 * by_rater.error_before

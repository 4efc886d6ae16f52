"""Planted careless raters: are they found, and what does the leaderboard gain?"""

import pytest

from salon_ranking.errors import OptionError
from salon_ranking.raters.simulation import SimulatedRaters, effect_of_filtering, mean_effect


def test_the_seed_fixes_the_arena():
    arena = SimulatedRaters(attentive=2, careless=1, votes=20)
    assert arena.battles().equals(arena.battles())
    assert not arena.battles().equals(SimulatedRaters(attentive=2, careless=1, votes=20, seed=1).battles())


def test_every_rater_answers_the_same_number_and_anchors_have_their_share():
    battles = SimulatedRaters(attentive=10, careless=2, votes=200).battles()
    assert set(battles["rater_id"].value_counts()["count"]) == {200}
    assert battles["is_anchor"].mean() == pytest.approx(0.05, abs=0.015)
    assert (battles["expected_winner"].is_not_null() == battles["is_anchor"]).all()


def test_without_careless_raters_nothing_changes():
    found = effect_of_filtering(SimulatedRaters(models=4, attentive=12, careless=0, votes=150), replicates=60)
    assert (found.found, found.wrongly_flagged, found.width_change, found.error_after) == (1.0, 0.0, 0.0, 0.0)


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

"""Simulated schedules: what they assume, what they reach, and that they can be repeated."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from salon_ranking import OptionError
from salon_ranking.cli.scheduling import simulate as plan_command
from salon_ranking.models.ratings import POINTS_PER_UNIT
from salon_ranking.scheduling.planning import BattlePlan, _crossing, _median, assumed_ratings, plan
from salon_ranking.scheduling.simulation import Goals, SimulatedLeague, SimulatedState, Voting


@pytest.fixture(scope="module")
def found() -> BattlePlan:
    return plan(assumed_ratings(8, 100), leagues=3, goals=Goals(width=60.0, least_gap=20.0))


def battles(found: BattlePlan, rule: str, goal: str) -> int:
    return int(found.table.filter(pl.col("rule") == rule, pl.col("goal").str.starts_with(goal))["battles"][0])


def test_a_newcomer_without_a_battle_has_the_widest_interval():
    arena = SimulatedLeague(np.linspace(-1.0, 1.0, 5), Voting(), 1.0, seed=0)
    arena.settle(2, 500)
    here = arena.checkpoint(Goals(), 0, newcomer=2)
    assert here.newcomer > 1000.0 > here.widest  # one drawn battle against a mean opponent is all there is


def test_votes_follow_davidson_and_noise_pulls_them_to_chance():
    sure = Voting(ties=0.2).outcomes(np.array([0.0, math.log(4.0)]))
    assert sure.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert sure[0] == pytest.approx([0.4, 0.4, 0.2])
    assert sure[1, 0] / sure[1, 1] == pytest.approx(4.0)
    noisy = Voting(ties=0.2, noise=0.5).outcomes(np.array([50.0]))
    assert noisy[0, 1] == pytest.approx(0.2, abs=1e-6)


def test_equal_shares_of_a_normal_distribution_have_its_spread():
    ratings = assumed_ratings(200, 100.0)
    assert float(ratings.mean()) == pytest.approx(0.0, abs=1e-9)
    assert float(ratings.std()) == pytest.approx(100.0, rel=0.03)


def test_two_models_need_what_the_formula_says():
    # Three equal models without ties: Var(θ_i − θ_b) = (2/3)·4/m per pair of m matches; the width is 2·1.96·√Var in Elo.
    found = plan([0.0, 0.0, 0.0], rules=["uniform"], leagues=5, voting=Voting(ties=0.0), goals=Goals(width=60.0))
    per_pair = (2 / 3) * 4.0 / (60.0 / (2 * 1.959964 * POINTS_PER_UNIT)) ** 2
    assert battles(found, "uniform", "every") == pytest.approx(3 * per_pair, rel=0.05)


def test_fewer_battles_bring_a_newcomer_up_under_either_rule(found: BattlePlan):
    uniform = battles(found, "uniform", "newcomer")
    assert battles(found, "mef", "newcomer") < 0.7 * uniform
    assert battles(found, "information", "newcomer") < 0.5 * uniform
    saved = found.table.filter(pl.col("rule") == "uniform")["saved"].to_list()
    assert saved == [0.0] * 4


def test_narrower_intervals_and_noisy_raters_need_more_battles(found: BattlePlan):
    options = {"rules": ["uniform"], "leagues": 3}
    narrow = plan(assumed_ratings(8, 100), goals=Goals(width=30.0, least_gap=20.0), **options)  # type: ignore[arg-type]
    assert battles(narrow, "uniform", "every") == pytest.approx(4 * battles(found, "uniform", "every"), rel=0.1)
    noisy = plan(assumed_ratings(8, 100), goals=Goals(60.0, least_gap=20.0), voting=Voting(0.1, 0.4), **options)  # type: ignore[arg-type]
    assert battles(noisy, "uniform", "neighbours") > 1.5 * battles(found, "uniform", "neighbours")


def test_the_same_seed_gives_the_same_plan():
    options = {"rules": ["information"], "leagues": 1, "goals": Goals(width=90.0)}
    one, other = (plan(assumed_ratings(5, 80), seed=3, **options) for _ in range(2))  # type: ignore[arg-type]
    assert one.table.equals(other.table)
    assert one.curve.equals(other.curve)


def test_a_goal_that_is_not_reached_is_null_and_counted():
    found = plan(assumed_ratings(4, 80), rules=["uniform"], leagues=2, goals=Goals(width=1.0), most_per_model=100)
    row = found.table.row(0, named=True)
    assert (row["battles"], row["most"], row["reached"]) == (None, None, 0.0)


def test_the_arena_recovers_the_truth():
    truth = assumed_ratings(6, 100) / POINTS_PER_UNIT
    arena = SimulatedLeague(truth, Voting(ties=0.0), 1.0, seed=1)
    arena.play("uniform", 60_000)
    assert np.abs((arena.log_strengths - arena.log_strengths.mean()) - truth).max() < 0.06


@pytest.mark.parametrize(
    ("ratings", "options", "said"),
    [
        ([1.0, 2.0], {}, "needs 3 to"),
        ([0.0, 1.0, math.nan], {}, "finite"),
        ([0.0, 1.0, 9e9], {}, "within 4,000"),
        ([0, 1, 2], {"rules": ["elo"]}, "unknown rule"),
        ([0, 1, 2], {"rules": []}, "rules must be named"),
        ([0, 1, 2], {"voting": Voting(ties=1.0)}, "ties must lie"),
        ([0, 1, 2], {"voting": Voting(noise=-0.1)}, "noise must lie"),
        ([0, 1, 2], {"goals": Goals(power=1.0)}, "power must lie"),
        ([0, 1, 2], {"goals": Goals(width=0.0)}, "width must be positive"),
        ([0, 1, 2], {"leagues": 0}, "leagues must lie"),
        ([0, 1, 2], {"seed": -1}, "seed must lie"),
        ([0, 1, 2], {"most_per_model": 1}, "most matches per model"),
    ],
)
def test_wrong_assumptions_are_named(ratings: list[float], options: dict[str, object], said: str):
    with pytest.raises(OptionError, match=said):
        plan(ratings, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", [".html", ".svg", ".csv", ".json", ".parquet", ".jsonl"])
def test_the_command_prints_a_table_and_writes_what_the_ending_says(tmp_path: Path, ending: str):
    output = tmp_path / f"plan{ending}"
    options = ["--models", "4", "--leagues", "1", "--rule", "mef", "--width", "90", "--output", str(output)]
    result = CliRunner().invoke(plan_command, options)
    assert result.exit_code == 0, result.exception
    assert "every interval ≤ 90" in result.stdout
    assert output.stat().st_size > 100
    if ending in {".html", ".svg"}:
        assert "median interval" in output.read_text(encoding="utf-8")


def test_the_command_takes_ratings_from_battles(tmp_path: Path):
    votes = tmp_path / "votes.csv"
    votes.write_text("model_a,model_b,winner\n" + "x,y,model_a\ny,z,tie\nz,x,model_a\n" * 5, encoding="utf-8")
    options = [str(votes), "--leagues", "1", "--rule", "uniform", "--width", "120", "--format", "csv"]
    result = CliRunner().invoke(plan_command, options)
    assert result.exit_code == 0, result.exception
    assert result.stdout.startswith("rule,goal,battles")


def test_the_command_refuses_a_wrong_number_of_models():
    result = CliRunner().invoke(plan_command, ["--models", "-3"])
    assert result.exit_code != 0
    assert "needs 3 to" in str(result.exception)


def test_a_plan_for_every_look_takes_as_many_more_battles_as_its_intervals_are_wider():
    once, always = (
        plan(assumed_ratings(4, 80), rules=["uniform"], leagues=1, goals=Goals(width=60.0, anytime=anytime)).table
        for anytime in (False, True)
    )
    for goal in range(2):
        before, after = once["battles"][goal], always["battles"][goal]
        wider = Goals(anytime=True).reach(after) / Goals().reach(after)
        assert after / before == pytest.approx(wider**2, rel=0.15)


def state(battles: int, width: float) -> SimulatedState:
    """A checkpoint of which the widths alone matter."""
    return SimulatedState(battles, width, width, width, 1.0, width, width)


@pytest.mark.parametrize(
    ("widths", "reached"),
    [
        ([(100, 0.9), (200, 0.5)], 100),
        ([(100, 1.0), (200, 0.5), (400, 0.2)], 100),
        ([(100, 4.0), (400, 0.25)], 200),
        ([(100, 4.0), (400, 0.25), (1600, 0.1)], 200),
        ([(100, 4.0), (200, 0.5), (400, 2.0), (800, 0.5)], 566),
        ([(100, 0.5), (200, 1.1)], None),
        ([(100, 9.0)], None),
    ],
)
def test_a_goal_is_reached_where_it_is_met_from_there_on_in_between_by_logarithms(widths, reached):
    assert _crossing([state(*each) for each in widths], lambda at: at.mean_width) == reached


@pytest.mark.parametrize(
    ("counts", "median"),
    [([3], 3), ([5, 1, 9], 5), ([1, 4], 2), ([1, None, 3], 3), ([None, 1], None), ([None], None), ([2, 4, None, 6], 5)],
)
def test_a_median_counts_a_league_that_never_gets_there_as_later_than_all_others(counts, median):
    assert _median(counts) == median

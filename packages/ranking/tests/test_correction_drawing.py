"""Which judged battles people vote on: exactly as many as asked, each as often as its chance says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from salon_ranking import Battles, correct_ratings, draw_for_people
from salon_ranking.cli import votes as votes_commands
from salon_ranking.errors import OptionError
from studies.drawing import saved, saved_marks


def verdicts(chances: list[float]) -> pl.DataFrame:
    count = len(chances)
    names = ["x", "y", "z"]
    return pl.DataFrame(
        {
            "battle_id": [f"b{number}" for number in range(count)],
            "model_a": [names[number % 3] for number in range(count)],
            "model_b": [names[(number + 1) % 3] for number in range(count)],
            "winner": ["model_a" if chance > 0.5 else "model_b" for chance in chances],
            "p": chances,
        }
    )


def draw(frame: pl.DataFrame, **options: Any) -> pl.DataFrame:
    return draw_for_people(Battles.from_frame(frame), **options)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60), st.data())
def test_as_many_as_asked_are_drawn_and_chances_add_up_to_them(chances: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(chances)))
    seed = data.draw(st.integers(0, 1000))
    for column in (None, "p"):
        drawn = draw(verdicts(chances), count=count, chance_of_a=column, seed=seed)
        assert drawn["drawn"].sum() == count
        assert drawn["probability"].sum() == pytest.approx(count)
        assert drawn["probability"].is_between(0.0, 1.0 + 1e-12, closed="right").all()
        assert drawn.drop("probability", "drawn").equals(draw(verdicts(chances), count=1).drop("probability", "drawn"))
        if column is None:
            assert drawn["probability"].to_list() == pytest.approx([count / len(chances)] * len(chances))
        else:
            assert drawn["probability"].to_numpy().min() >= 0.1999 * count / len(chances)


def test_each_battle_is_drawn_as_often_as_its_chance_says() -> None:
    chances = [0.5, 0.6, 0.9, 0.99, 0.01, 0.5, 0.3, 0.0, 1.0, 0.45]
    times, judged = np.zeros(10), Battles.from_frame(verdicts(chances))
    for seed in range(1000):
        drawn = draw_for_people(judged, count=4, chance_of_a="p", seed=seed)
        times += drawn["drawn"].to_numpy()
    expected = drawn["probability"].to_numpy()
    assert np.abs(times / 1000 - expected).max() < 4 * np.sqrt(0.25 / 1000)


def test_order_and_names_do_not_change_a_chance_and_a_seed_gives_one_draw() -> None:
    frame = verdicts(np.random.default_rng(0).random(50).tolist())
    drawn = draw(frame, count=10, chance_of_a="p", seed=3)
    assert drawn.equals(draw(frame, count=10, chance_of_a="p", seed=3))
    assert not drawn.equals(draw(frame, count=10, chance_of_a="p", seed=4))
    turned = draw(frame.reverse(), count=10, chance_of_a="p", seed=3)
    assert turned.reverse()["probability"].to_list() == pytest.approx(drawn["probability"].to_list())


def test_a_chance_may_stand_with_the_vote_or_with_the_verdict() -> None:
    rng = np.random.default_rng(1)
    frame = verdicts(rng.random(600).tolist())
    drawn = draw(frame, count=200, chance_of_a="p")
    people = drawn.filter("drawn").with_columns(winner=pl.Series(np.where(rng.random(200) < 0.6, "model_a", "model_b")))
    boards = [
        correct_ratings(
            Battles.from_frame(people.drop(dropped)), Battles.from_frame(drawn), probability="probability", baseline="x"
        ).table
        for dropped in ([], ["probability"])
    ]
    assert boards[0].equals(boards[1])
    assert not boards[0].equals(correct_ratings(Battles.from_frame(people), Battles.from_frame(drawn), baseline="x").table)


def test_votes_drawn_by_the_judges_doubt_lead_to_what_all_people_say() -> None:
    """The board of people on all battles lies within the interval; without the chances it often does not."""
    rng = np.random.default_rng(5)
    frame = verdicts(rng.beta(0.4, 0.4, 6000).tolist())
    likes_a = frame["p"].to_numpy() + np.where(frame["model_a"] == "x", 0.15, 0.0) > rng.random(6000)
    people = frame.with_columns(winner=pl.Series(np.where(likes_a, "model_a", "model_b")))
    everyone = correct_ratings(Battles.from_frame(people), Battles.from_frame(people), baseline="y").table.sort("model")
    held = 0
    for seed in range(40):
        drawn = draw(frame, count=300, chance_of_a="p", seed=seed)
        votes = people.filter(drawn["drawn"])
        board = correct_ratings(
            Battles.from_frame(votes), Battles.from_frame(drawn), baseline="y", probability="probability"
        ).table.sort("model")
        held += int((board["ci_low"][0] <= everyone["rating"][0]) and (everyone["rating"][0] <= board["ci_high"][0]))
    assert held >= 34


def test_doubt_saves_votes_where_the_judge_is_good() -> None:
    agreement, share = saved(6.0, 16)
    assert agreement > 0.85
    assert 0.05 < share < 0.4


def test_doubt_saves_marks_where_the_judge_is_good() -> None:
    agreement, share = saved_marks(6.0, 8)
    assert agreement > 0.85
    assert 0.1 < share < 0.4


def test_what_cannot_be_drawn_is_refused() -> None:
    frame = verdicts([0.5, 0.2, 0.9])
    for match, options in (
        ("fewer battles than are to be drawn.*3", {"count": 4}),
        ("count must", {"count": 0}),
        ("'q': no such column", {"count": 1, "chance_of_a": "q"}),
        ("row 1: a chance is a number from 0 to 1, not.*model_b", {"count": 1, "chance_of_a": "winner"}),
    ):
        with pytest.raises(OptionError, match=match):
            draw(frame, **options)
    for wrong in (1.5, float("nan"), None):
        with pytest.raises(OptionError, match="row 2: a chance"):
            draw(frame.with_columns(p=pl.Series([0.5, wrong, 0.5])), count=1, chance_of_a="p")


def test_the_command_writes_all_verdicts_with_their_chances(tmp_path: Path) -> None:
    path, output = tmp_path / "verdicts.csv", tmp_path / "drawn.csv"
    verdicts(np.random.default_rng(0).random(40).tolist()).write_csv(path)
    command = ["draw", str(path), "-n", "10", "--chance-of-a", "p", "--output", str(output), "--format", "json"]
    result = CliRunner().invoke(votes_commands, command, catch_exceptions=False)
    assert result.exit_code == 0
    assert "10 battles drawn of 40" in json.loads(result.stdout)["header"]
    written = pl.read_csv(output)
    assert written.height == 40
    assert written.filter(pl.col("drawn").cast(pl.String) == "true").height == 10
    output.unlink()
    failed = CliRunner().invoke(votes_commands, ["draw", str(path), "-n", "100", "--output", str(output)])
    assert failed.exit_code != 0
    assert not output.exists()


def test_battles_with_ids_are_drawn_alike_in_any_order_and_a_store_s_row_numbers_stay_out() -> None:
    frame = pl.DataFrame(
        {
            "battle_id": [f"b{number}" for number in range(50)],
            "model_a": ["x"] * 50,
            "model_b": ["y"] * 50,
            "winner": ["model_a", "model_b"] * 25,
        }
    )
    first = draw_for_people(Battles.from_frame(frame), count=10, seed=3)
    again = draw_for_people(Battles.from_frame(frame.sample(fraction=1.0, shuffle=True, seed=1)), count=10, seed=3)
    assert {*first.filter("drawn")["battle_id"]} == {*again.filter("drawn")["battle_id"]}
    assert not [name for name in first.columns if name.startswith("__")]


@pytest.mark.parametrize("own_ids", [False, True])
def test_a_battle_that_several_judges_decided_is_drawn_once(own_ids: bool) -> None:
    rows = [
        {
            "battle_id": f"{judge if own_ids else ''}b{number}",
            "prompt_id": f"p{number}",
            "model_a": ("x", "y")[judge],
            "model_b": ("y", "x")[judge],
            "winner": "model_a",
            "rater_id": f"j{judge}",
            "p": 0.5 if number % 2 else 0.9,
        }
        for number in range(30)
        for judge in range(2)
    ]
    battles = Battles.from_frame(pl.DataFrame(rows), ids=None)
    for column in (None, "p"):
        drawn = draw_for_people(battles, count=10, chance_of_a=column, seed=4)
        by_prompt = drawn.group_by("prompt_id").agg(
            pl.col("drawn").n_unique(), pl.col("probability").n_unique().alias("chances")
        )
        assert by_prompt["drawn"].max() == by_prompt["chances"].max() == 1
        assert drawn.filter("drawn")["prompt_id"].n_unique() == 10
    with pytest.raises(OptionError, match=r"fewer battles than are to be drawn: '?30"):
        draw_for_people(battles, count=31)

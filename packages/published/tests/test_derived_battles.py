"""Derived battles: every pair once per rater, the better score wins, nothing is counted twice."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_published.derived_battles import derive_battles
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Battle


def scores(*rows: tuple[str, str, float | None], direction: str = "higher") -> pl.DataFrame:
    """Track, model and value of one judge on one benchmark."""
    return pl.DataFrame(
        {
            "benchmark": ["B"] * len(rows),
            "track": [row[0] for row in rows],
            "judge": ["J"] * len(rows),
            "model": [row[1] for row in rows],
            "value": pl.Series([row[2] for row in rows], dtype=pl.Float64),
            "direction": [direction] * len(rows),
        }
    )


def test_the_better_score_wins_and_equal_scores_tie() -> None:
    battles = derive_battles(scores(("t", "x", 3.0), ("t", "y", 2.0), ("t", "z", 3.0)))
    assert battles.select("model_a", "model_b", "winner").rows() == [
        ("x", "y", "model_a"),
        ("x", "z", "tie"),
        ("y", "z", "model_b"),
    ]


def test_where_lower_is_better_the_lower_score_wins() -> None:
    battles = derive_battles(scores(("t", "x", 3.0), ("t", "y", 2.0), direction="lower"))
    assert battles["winner"].to_list() == ["model_b"]


def test_a_score_the_paper_leaves_blank_fights_no_battle() -> None:
    assert derive_battles(scores(("t", "x", None), ("t", "y", 2.0))).height == 0


def test_models_of_different_tracks_do_not_meet() -> None:
    assert derive_battles(scores(("t", "x", 1.0), ("u", "y", 2.0))).height == 0


def test_every_row_is_a_valid_battle_that_says_it_was_derived() -> None:
    for row in derive_battles(scores(("t", "x", 1.0), ("t", "y", 2.0))).iter_rows(named=True):
        battle = Battle(**row)
        assert battle.mode == "derived"
        assert battle.rater_id == "B / t / J"


@given(st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 3), min_size=2), st.randoms(use_true_random=False))
def test_each_pair_meets_once_whatever_the_order_of_rows(values: dict[str, int], random) -> None:
    rows = [("t", name, float(value)) for name, value in values.items()]
    battles = derive_battles(scores(*rows))
    random.shuffle(rows)
    assert battles.equals(derive_battles(scores(*rows)))
    assert battles.height == len(values) * (len(values) - 1) // 2
    assert battles["battle_id"].n_unique() == battles.height


def test_a_model_scored_twice_by_one_rater_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="more than once 'x'"):
        derive_battles(scores(("t", "x", 1.0), ("t", "x", 2.0)))


def test_of_many_models_that_are_scored_twice_the_first_is_named() -> None:
    names = [f"m{number}" for number in range(40, 0, -1)]
    with pytest.raises(InputError, match="more than once 'm40'"):
        derive_battles(scores(*(("t", name, 1.0) for name in (*names, *names))))


def test_an_unknown_direction_is_refused_with_its_row() -> None:
    with pytest.raises(InputError, match=r"row 1, column 'direction'.*'sideways'"):
        derive_battles(scores(("t", "x", 1.0), direction="sideways"))


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="column 'judge'"):
        derive_battles(scores(("t", "x", 1.0)).drop("judge"))


def test_a_missing_name_is_refused_with_its_row() -> None:
    frame = scores(("t", "x", 1.0), ("t", "y", 2.0)).with_columns(judge=pl.Series(["J", None]))
    with pytest.raises(InputError, match="row 2, column 'judge'"):
        derive_battles(frame)

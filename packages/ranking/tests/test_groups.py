"""Boards of groups: labels, raters, modes side by side."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from twins import numpy_core

from salon_console.forest_plot import PlotRow
from salon_ranking import NOT_GIVEN, BattleError, Battles, OptionError, compare, groups_of, rank, rank_by
from salon_ranking.leaderboard.group_comparison import GroupComparison


def league(battles: int = 2000, seed: int = 0, raters: int = 10) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    strength = np.array([0.6, 0.2, -0.2, -0.6])
    a = rng.integers(0, 4, battles)
    b = (a + rng.integers(1, 4, battles)) % 4
    won = rng.random(battles) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array(["a", "b", "c", "d"])
    labels = [["text"], ["style", "text"], ["style"], [], None]
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.where(won, "model_a", "model_b"),
            "rater_id": rng.integers(0, raters, battles),
            "prompt_id": rng.integers(0, 30, battles),
            "mode": np.array(["expert", "public"])[rng.integers(0, 2, battles)],
            "labels": [labels[number] for number in rng.integers(0, 5, battles)],
            "weight": rng.choice([0.5, 1.0], battles),
        }
    )


FRAME = league()


@pytest.mark.parametrize(("cluster_by", "cluster"), [(None, False), ("prompt_id", True), (("prompt_id", "rater_id"), True)])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_groups_board_is_that_of_its_battles_alone(cluster_by: str | None, cluster: bool, weight: str | None):
    battles = Battles.from_frame(FRAME, cluster_by=cluster_by, weight=weight)
    options = {"replicates": 25, "cluster": cluster, "baseline": "d"}
    for board in rank_by(battles, "mode", **options):
        alone = Battles.from_frame(FRAME.filter(pl.col("mode") == board.group), cluster_by=cluster_by, weight=weight)
        assert_frame_equal(board.table, rank(alone, **options).table, check_exact=True)


def test_a_battle_counts_for_each_of_its_labels():
    groups = groups_of(Battles.from_frame(FRAME), "labels")
    expected = {
        "style": FRAME.filter(pl.col("labels").list.contains("style")).height,
        "text": FRAME.filter(pl.col("labels").list.contains("text")).height,
        NOT_GIVEN: FRAME.filter(pl.col("labels").is_null() | (pl.col("labels").list.len() == 0)).height,
    }
    assert {name: group.count for name, group in groups.items()} == expected
    for name, group in groups.items():
        assert group.frame.select(pl.len()).collect().item() == expected[name]


def test_arrays_of_fixed_length_are_lists_too():
    arrays = FRAME.with_columns(labels=pl.lit(["text", "style"]).cast(pl.Array(pl.String, 2)))
    groups = groups_of(Battles.from_frame(arrays), "labels")
    assert {name: group.count for name, group in groups.items()} == {"style": 2000, "text": 2000}
    assert groups["text"].frame.select(pl.len()).collect().item() == 2000


def test_a_null_among_labels_is_a_label_that_is_not_given():
    holes = FRAME.with_columns(labels=pl.lit(["text", None], dtype=pl.List(pl.String)))
    groups = groups_of(Battles.from_frame(holes), "labels")
    assert {name: group.count for name, group in groups.items()} == {NOT_GIVEN: 2000, "text": 2000}
    assert groups[NOT_GIVEN].frame.select(pl.len()).collect().item() == 2000


@pytest.mark.parametrize("is_list", [False, True])
def test_a_blank_name_of_a_group_is_none_and_not_all(is_list: bool):
    names = pl.Series(["art", "", None, " "] * 500)
    blank = FRAME.with_columns(scenario=names.reshape((2000, 1)).arr.to_list().list.concat(names) if is_list else names)
    groups = groups_of(Battles.from_frame(blank), "scenario")
    expected = {NOT_GIVEN: 1500, "art": 500}
    assert {name: group.count for name, group in groups.items()} == expected
    assert {name: group.frame.select(pl.len()).collect().item() for name, group in groups.items()} == expected
    boards = rank_by(Battles.from_frame(blank), "scenario", replicates=0)
    assert compare(boards).columns[:3] == ["model", f"rating {NOT_GIVEN}", f"rank {NOT_GIVEN}"]


def test_a_label_given_twice_counts_once():
    twice = FRAME.with_columns(labels=pl.lit(["text", "text"]))
    assert {name: group.count for name, group in groups_of(Battles.from_frame(twice), "labels").items()} == {"text": 2000}


def test_the_frame_of_a_group_ranks_like_the_group():
    group = groups_of(Battles.from_frame(FRAME), "rater_id")["3"]
    again = Battles.from_frame(group.frame)
    assert (again.models, again.count) == (group.models, group.count)


def test_thousands_of_raters_are_counted_in_one_reading():
    battles = Battles.from_frame(league(60_000, raters=3000), cluster_by="prompt_id")
    groups = groups_of(battles, "rater_id")
    assert len(groups) == 3000
    assert sum(group.count for group in groups.values()) == 60_000


def test_personal_boards_need_a_prior():
    boards = rank_by(Battles.from_frame(league(400, raters=60)), "rater_id", prior_ties=1, replicates=0)
    assert len(boards) == 60
    assert all(board.table["rating"].null_count() == 0 for board in boards)


def test_a_rater_who_met_few_of_many_models_gets_the_board_of_the_readable_twin():
    rng = np.random.default_rng(2)
    a = rng.integers(0, 90, 400)
    b = (a + rng.integers(1, 90, 400)) % 90
    names = np.array([f"model {number:02}" for number in range(90)])
    winner = np.array(["model_a", "model_b", "tie"])[rng.integers(0, 3, 400)]
    votes = {"model_a": names[a], "model_b": names[b], "winner": winner, "rater_id": rng.integers(0, 4, 400)}
    battles = Battles.from_frame(pl.DataFrame(votes))
    quick = rank_by(battles, "rater_id", prior_ties=1, replicates=0)
    with numpy_core():
        slow = rank_by(battles, "rater_id", prior_ties=1, replicates=0)
    for one, other in zip(quick, slow, strict=True):
        assert one.table.height > 60
        assert_frame_equal(one.table, other.table, rel_tol=1e-9, abs_tol=1e-6)


def test_models_of_equal_strength_share_a_baseline_by_name():
    votes = {"model_a": list("cbacba"), "model_b": list("bacbac"), "winner": ["model_a"] * 3 + ["model_b"] * 3}
    assert rank(Battles.from_frame(pl.DataFrame(votes)), replicates=0).baselines == ("a",)


def test_nested_groups_and_missing_columns_are_refused():
    nested = FRAME.with_columns(place=pl.struct("mode"))
    with pytest.raises(BattleError, match="values or lists"):
        groups_of(Battles.from_frame(nested), "place")
    with pytest.raises(BattleError, match="missing column"):
        groups_of(Battles.from_frame(FRAME), "planet")


def test_boards_side_by_side_show_who_climbs():
    boards = rank_by(Battles.from_frame(FRAME), "mode", replicates=0)
    table = compare(boards)
    assert table.columns == ["model", "rating expert", "rank expert", "rating public", "rank public", "change public"]
    assert table["model"].to_list() == boards[0].table["model"].to_list()
    assert (table["change public"] == table["rank expert"] - table["rank public"]).all()
    assert table["change public"].sum() == 0


def test_places_are_counted_among_the_models_that_every_board_has():
    extra = pl.DataFrame({"model_a": ["z", "z"], "model_b": ["a", "a"], "winner": ["model_a", "tie"], "mode": ["expert"] * 2})
    frame = pl.concat([FRAME.select(extra.columns), extra])
    table = compare(rank_by(Battles.from_frame(frame), "mode", replicates=0))
    row = table.row(by_predicate=pl.col("model") == "z", named=True)
    assert (row["rank expert"], row["rank public"], row["change public"]) == (None, None, None)
    assert row["rating expert"] is not None
    assert sorted(table["rank expert"].drop_nulls()) == [1, 2, 3, 4]


def test_side_by_side_needs_two_boards_whose_models_can_be_compared():
    boards = rank_by(Battles.from_frame(FRAME), "mode", replicates=0)
    with pytest.raises(OptionError, match="two or more"):
        compare(boards[:1])
    with pytest.raises(OptionError, match="two or more"):
        compare([boards[0], boards[0]])
    won = pl.DataFrame({"model_a": ["a"], "model_b": ["b"], "winner": ["model_a"]})
    apart = rank(Battles.from_frame(won), components="separate", replicates=0)
    with pytest.raises(OptionError, match="cannot all be compared"):
        compare([boards[0], apart])


def test_a_comparison_of_groups_draws_each_difference_with_its_ends_and_names_what_it_counts() -> None:
    columns = {"model": ["x", "y"], "mos": [1, 2]}
    for name in ("art", "film"):
        columns |= {f"rating {name}": [1012.4, 987.6], f"ci_low {name}": [1000.0, 970.0], f"ci_high {name}": [1025.0, 1005.0],
                    f"rank {name}": [1, 2]}  # fmt: skip
    columns |= {"change film": [0, -1], "difference film": [12.5, None], "difference_low film": [-3.25, None]}
    columns |= {"difference_high film": [28.0, None], "p_value film": [0.012, None]}
    columns |= {"p_holm film": [0.024, None], "p_bh film": [0.02, None]}
    chart = GroupComparison(pl.DataFrame(columns), ("art", "film"), "Two groups.", ("few votes",)).view().chart
    assert (chart.title, chart.reference) == ("Difference in Elo to art", 0.0)
    assert list(chart.rows) == [PlotRow("x, film", 12.5, -3.25, 28.0)]

"""Leaderboards: ranks, intervals, groups, and that nothing is dropped in silence."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from twins import numpy_core

from salon_ranking import NOT_GIVEN, BattleError, Battles, OptionError, UnratableError, fit, rank, rank_by
from salon_taxonomy.records import LeaderboardRow


def league(models: int = 6, battles: int = 3000, seed: int = 0) -> pl.DataFrame:
    """Votes among models of which earlier names are stronger, over 50 prompts in two scenarios."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(1.0, -1.0, models)
    a = rng.integers(0, models, battles)
    b = (a + rng.integers(1, models, battles)) % models
    won = rng.random(battles) < 1 / (1 + np.exp(strength[b] - strength[a]))
    code = np.where(rng.random(battles) < 0.1, 2, np.where(won, 0, 1))
    prompt = rng.integers(0, 50, battles)
    names = np.array([f"m{number}" for number in range(models)])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.array(["model_a", "model_b", "tie"])[code],
            "prompt": prompt,
            "scenario": np.array(["art", "film"])[prompt % 2],
        }
    )


VOTES = Battles.from_frame(league(), cluster_by="prompt")


def test_the_rating_is_the_fit_and_not_a_number_of_the_bootstrap():
    table = rank(VOTES, replicates=50).table.sort("model")
    assert table["rating"].to_numpy() == pytest.approx(fit(VOTES).ratings)


def test_the_baseline_has_an_interval_without_width_and_the_others_have_one():
    table = rank(VOTES, baseline="m2", replicates=200).table
    base = table.row(by_predicate=pl.col("model") == "m2", named=True)
    assert (base["rating"], base["ci_low"], base["ci_high"]) == (1000.0, 1000.0, 1000.0)
    others = table.filter(pl.col("model") != "m2")
    assert (others["ci_low"] < others["rating"]).all()
    assert (others["rating"] < others["ci_high"]).all()


@pytest.mark.parametrize("cluster", [False, True])
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(cluster: bool):
    tables = [rank(VOTES, replicates=101, seed=7, cluster=cluster, threads=threads).table for threads in (1, 2, 5)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert not tables[0].equals(rank(VOTES, replicates=101, seed=8, cluster=cluster).table)


def test_the_order_of_rows_does_not_matter():
    shuffled = Battles.from_frame(league().sample(fraction=1.0, shuffle=True, seed=3))
    assert rank(shuffled, replicates=50).table.equals(rank(VOTES, replicates=50, cluster=False).table)


def test_the_twin_gives_intervals_of_the_same_width():
    ours = rank(VOTES, replicates=600).table
    with numpy_core():
        twin = rank(VOTES, replicates=600).table
    assert_frame_equal(ours.select("rank", "model", "rating"), twin.select("rank", "model", "rating"), abs_tol=1e-6)
    widths = [(table["ci_high"] - table["ci_low"]).to_numpy()[:-1] for table in (ours, twin)]
    assert np.abs(widths[0] / widths[1] - 1).max() < 0.2


def test_rows_count_wins_ties_and_losses():
    table = rank(VOTES, replicates=0).table
    assert (table["wins"] + table["ties"] + table["losses"] == table["matches"]).all()
    assert table["matches"].sum() == 2 * VOTES.count
    assert table["win_rate"].to_numpy() == pytest.approx(((table["wins"] + 0.5 * table["ties"]) / table["matches"]).to_numpy())
    assert table["rank"].to_list() == [1, 2, 3, 4, 5, 6]


def test_equal_ratings_share_a_rank():
    even = pl.DataFrame({"model_a": ["x", "y", "z"], "model_b": ["y", "z", "x"], "winner": ["tie"] * 3})
    assert rank(Battles.from_frame(even), replicates=0).table["rank"].to_list() == [1, 1, 1]


def test_without_replicates_there_are_no_intervals():
    board = rank(VOTES, replicates=0)
    assert board.ci_method is None
    assert board.table["ci_low"].null_count() == 6


def test_degenerate_replicates_are_counted_and_shown():
    thin = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "model_a"]})
    board = rank(Battles.from_frame(thin), replicates=100)
    assert board.degenerate > 30
    assert board.table["replicates_used"].to_list() == [100 - board.degenerate] * 2
    assert f"{board.degenerate} degenerate replicates" in board.header


def test_a_model_is_left_out_of_replicates_in_which_it_did_not_play():
    rare = pl.concat(
        [
            league().select("model_a", "model_b", "winner"),
            pl.DataFrame({"model_a": ["rare"] * 2, "model_b": ["m0"] * 2, "winner": ["tie"] * 2}),
        ]
    )
    board = rank(Battles.from_frame(rare), replicates=300)
    used = dict(board.table.select("model", "replicates_used").iter_rows())
    assert 200 < used["rare"] < 300  # absent with probability 1/e²
    assert used["m0"] == 300


WINS = ["model_a", "model_a", "model_b"]


def test_models_that_only_a_prior_joins_are_warned_of_once_and_not_as_the_whole_board():
    rows = [(*pair, won, f"source-{number}") for number in range(30) for pair in [("a", "b"), ("b", "c")] for won in WINS]
    rows += [("x", "y", won, "alone") for won in WINS]
    votes = pl.DataFrame(rows, schema=["model_a", "model_b", "winner", "suite"], orient="row")
    board = rank(Battles.from_frame(votes, cluster_by="suite"), baseline="a", prior_ties=1, interval="sandwich")
    said = [text for text in board.warnings if "x" in text or "cluster" in text]
    assert said == ["no interval for x, y: no chain of battles joins it to the baseline"]


def test_a_prior_does_not_compare_models_that_no_battle_joins_to_the_baseline():
    # Two leagues that meet in cluster c alone: where c is not drawn, the second league says nothing about the first.
    frame = pl.DataFrame(
        {
            "model_a": ["a"] * 6 + ["x"] * 6 + ["a"] * 6,
            "model_b": ["b"] * 6 + ["y"] * 6 + ["x"] * 6,
            "winner": ["model_a", "model_b", "tie"] * 6,
            "cluster": ["1"] * 6 + ["2"] * 6 + ["c"] * 6,
        }
    )
    board = rank(
        Battles.from_frame(frame, cluster_by="cluster"), baseline="b", cluster=True, prior_ties=1, replicates=300, seed=5
    )
    used = dict(board.table.select("model", "replicates_used").iter_rows())
    assert used["b"] == used["a"] > used["x"] > used["y"] > 0
    assert used["x"] < 0.65 * 300  # c and cluster 1 are both drawn in 12 of 27 resamples


def test_a_prior_is_declared_in_the_header():
    assert "drawn battles per model" in rank(VOTES, replicates=0, prior_ties=0.5).header


def test_a_fit_that_did_not_converge_is_shown():
    board = rank(VOTES, replicates=10, max_iterations=1)
    assert not board.converged
    assert "NOT CONVERGED" in board.header


def test_separate_components_are_ranked_each_by_itself():
    rows = [("x", "y", "model_a"), ("y", "x", "model_a"), ("u", "v", "tie"), ("best", "x", "model_a")]
    battles = Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))
    with pytest.raises(UnratableError, match="won all of their battles: 'best'"):
        rank(battles)
    board = rank(battles, components="separate", replicates=20)
    assert board.components == 3
    assert board.left_out == 1
    assert "3 components are ranked each by itself, 1 battle between them left out" in board.header
    best = board.table.row(by_predicate=pl.col("model") == "best", named=True)
    assert (best["rank"], best["rating"], best["ci_low"]) == (1, None, None)
    assert board.records().height == 4


def test_records_are_rows_of_the_stores_table():
    board = rank(VOTES, replicates=20)
    records = board.records("weekly")
    rows = [LeaderboardRow(**row) for row in records.iter_rows(named=True)]
    assert [row.rank for row in rows] == [1, 2, 3, 4, 5, 6]
    assert len({row.leaderboard_id for row in rows}) == 1
    assert records.equals(rank(VOTES, replicates=20).records("weekly"))
    assert records["leaderboard_id"][0] != rank(VOTES, replicates=21).records("weekly")["leaderboard_id"][0]


def test_groups_are_ranked_each_from_its_own_battles_with_a_shared_baseline():
    boards = rank_by(VOTES, "scenario", replicates=20, cluster=False)
    assert [board.group for board in boards] == ["art", "film"]
    assert {board.baselines for board in boards} == {fit(VOTES).baselines}
    alone = Battles.from_frame(league().filter(pl.col("scenario") == "art"))
    assert rank(alone, replicates=20, baseline=boards[0].baselines[0]).table.equals(boards[0].table)


def test_groups_of_a_text_file_keep_their_weights(tmp_path: Path):
    path = tmp_path / "votes.csv"
    league().with_columns(weight=pl.when(pl.col("model_a") == "m0").then(2.5).otherwise(1)).write_csv(path)
    boards = rank_by(Battles.read(path, weight="weight"), "scenario", replicates=0)
    weights = pl.read_csv(path)["weight"].sum()
    assert sum(board.table["matches"].sum() for board in boards) == pytest.approx(2 * weights)


def test_battles_without_a_group_form_their_own():
    frame = league().with_columns(pl.when(pl.col("scenario") == "art").then(pl.lit("art")).alias("scenario"))
    assert [board.group for board in rank_by(Battles.from_frame(frame), "scenario", replicates=0)] == [NOT_GIVEN, "art"]


def test_a_group_that_cannot_be_ranked_is_named():
    odd = pl.DataFrame({"model_a": ["m0"], "model_b": ["m1"], "winner": ["model_a"], "prompt": [1], "scenario": ["odd"]})
    with pytest.raises(UnratableError, match="scenario 'odd'"):
        rank_by(Battles.from_frame(pl.concat([league(), odd])), "scenario", replicates=0)


def test_grouping_by_a_missing_column_is_refused():
    with pytest.raises(BattleError, match="missing column to group by 'genre'"):
        rank_by(VOTES, "genre")


@pytest.mark.parametrize(
    "option",
    [
        {"confidence": 0.0},
        {"confidence": 1.0},
        {"replicates": -1},
        {"seed": -1},
        {"seed": 1 << 63},
        {"threads": 0},
        {"replicates": 1 << 40},
    ],
)
def test_options_out_of_range_are_refused(option: dict[str, float]):
    with pytest.raises(OptionError, match=next(iter(option))):
        rank(VOTES, **option)


def test_clusters_that_were_not_named_are_refused():
    with pytest.raises(OptionError, match="nothing to cluster by"):
        rank(Battles.from_frame(league()), cluster=True)


def test_progress_is_told():
    told: list[tuple[int, int]] = []
    rank(VOTES, replicates=400_000, progress=lambda done, total: told.append((done, total)))
    assert told
    assert all(0 <= done <= total == 400_000 for done, total in told)


def test_an_exception_in_the_progress_callback_stops_the_work():
    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        rank(VOTES, replicates=3_000_000, progress=stop)


def test_ctrl_c_stops_a_long_bootstrap_before_its_end():
    finished: list[int] = []
    started = threading.Event()

    def press() -> None:
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)

    def tell(done: int, total: int) -> None:
        finished.append(done)
        started.set()

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        rank(VOTES, replicates=3_000_000, progress=tell)
    presser.join()
    # Pressed at the first sign of progress, so all but a small part is left undone.
    assert finished[-1] < 3_000_000 / 4

"""Boards from a real result store through the real command line: anchors, weights, names, and ranks over components."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from salon_console import main
from salon_ranking import Battles, rank

store = pytest.importorskip("salon_store")
VOTES = pl.DataFrame(
    {
        "battle_id": [f"b{number}" for number in range(48)],
        "model_a": ["x", "y", "z"] * 16,
        "model_b": ["y", "z", "x"] * 16,
        "winner": ["model_a", "model_b", "tie", "model_b", "model_a", "model_a", "tie", "model_b"] * 6,
        "rater_id": ["r1", "r2", "r3"] * 16,
        "mode": ["expert", "public"] * 24,
    }
)


def ranked(votes: pl.DataFrame, folder: Path, *options: str) -> dict[str, object]:
    """The one board of a store that holds these votes, as `salon votes rank` gives it in JSON."""
    at = folder / "results"
    votes.write_parquet(folder / "votes.parquet")
    for command in (["store", "init", str(at)], ["store", "import", str(at), "battles", str(folder / "votes.parquet")]):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(main, ["votes", "rank", str(at), "--format", "json", "--bootstrap", "50", *options])
    assert shown.exit_code == 0, shown.output
    (board,) = json.loads(shown.stdout)
    return board


def test_anchors_of_a_store_are_left_out_and_counted(tmp_path: Path) -> None:
    anchors = VOTES.head(7).with_columns(pl.lit("model_a").alias("winner"), battle_id=pl.lit("anchor ") + pl.col("battle_id"))
    mixed = pl.concat([VOTES.with_columns(is_anchor=False), anchors.with_columns(is_anchor=True)])
    board = ranked(mixed, tmp_path)
    assert board["battles"] == 48
    assert "7 anchor battles left out" in str(board["header"])
    assert [row["rating"] for row in board["rows"]] == rank(VOTES, replicates=0).table["rating"].to_list()


def test_the_weights_of_a_store_count_and_can_be_turned_off(tmp_path: Path) -> None:
    weighted = VOTES.with_columns(weight=pl.Series([0.5, 1.0, 2.0, 4.0] * 12))
    for number, (options, expected) in enumerate(((["--weight", "1"], False), ([], True))):
        folder = tmp_path / str(number)
        folder.mkdir()
        board = ranked(weighted, folder, *options)
        table = rank(Battles.from_frame(weighted, weight=expected), replicates=0).table
        assert [row["rating"] for row in board["rows"]] == table["rating"].to_list()
        said = "weighted by weight" if expected else "the column weight is not used"
        assert said in str(board["header"])


def test_names_of_a_store_are_merged_when_asked(tmp_path: Path) -> None:
    some = pl.int_range(pl.len()) % 5 == 0
    other = VOTES.with_columns(model_a=pl.when(some & (pl.col("model_a") == "x")).then(pl.lit("X")).otherwise("model_a"))
    board = ranked(other, tmp_path, "--names", "merge")
    assert [row["model"] for row in board["rows"]] == rank(VOTES, replicates=0).table["model"].to_list()
    assert "merged 'X' into 'x'" in str(board["header"])


def test_ranks_of_a_store_hold_for_all_components_at_once(tmp_path: Path) -> None:
    winners = [
        winner if "x" not in (first, second) else "model_a" if (first == "x") == (number % 4 > 0) else "model_b"
        for number, (first, second, winner) in enumerate(VOTES.select("model_a", "model_b", "winner").iter_rows())
    ]  # x wins three of four
    league = VOTES.with_columns(winner=pl.Series(winners))
    names = pl.col("model_a", "model_b")
    leagues = [
        league.with_columns(names + f" {number}", battle_id=pl.col("battle_id") + f" of {number}") for number in range(6)
    ]
    apart = ranked(pl.concat(leagues), tmp_path, "--components", "separate", "--ranks", "--interval", "sandwich")
    alone = rank(league, replicates=0, ranks=True, interval="sandwich").table
    wider = 0
    for row in apart["rows"]:  # type: ignore[union-attr]
        one = alone.row(by_predicate=pl.col("model") == row["model"][0], named=True)
        assert row["rank_low"] <= one["rank_low"]
        assert row["rank_high"] >= one["rank_high"]
        wider += row["rank_high"] - row["rank_low"] > one["rank_high"] - one["rank_low"]
    assert "rank intervals: simultaneous" in str(apart["header"])
    assert wider  # of one league alone the first rank is certain; of six at once it is not

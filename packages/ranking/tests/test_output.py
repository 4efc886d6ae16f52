"""Leaderboards for programs."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from salon_ranking import Battles, MissingExtraError, rank
from salon_ranking.cli.rank_output import write_boards
from salon_ranking.leaderboard.output import combined, to_json
from salon_taxonomy.errors import InputError

VOTES = pl.DataFrame({"model_a": ["x", "y", "é"], "model_b": ["y", "é", "x"], "winner": ["model_a", "model_a", "tie"]})
BOARD = rank(Battles.from_frame(VOTES, source="votes"), replicates=50, prior_ties=1)


def test_csv_and_parquet_hold_the_combined_table(tmp_path: Path):
    write_boards([BOARD], tmp_path / "board.csv", title="t")
    write_boards([BOARD], tmp_path / "board.parquet", title="t")
    assert pl.read_parquet(tmp_path / "board.parquet").equals(combined([BOARD]))
    assert pl.read_csv(tmp_path / "board.csv")["model"].to_list() == BOARD.table["model"].to_list()


def test_json_says_how_the_board_was_made():
    document = json.loads(to_json([BOARD]))[0]
    assert (document["source"], document["replicates"], document["prior_ties"]) == ("votes", 50, 1)
    assert [row["model"] for row in document["rows"]] == BOARD.table["model"].to_list()


def test_an_unknown_ending_and_a_missing_folder_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"'\.pdf' \(allowed: \.csv"):
        write_boards([BOARD], tmp_path / "board.pdf", title="t")
    with pytest.raises(InputError, match="no such folder"):
        write_boards([BOARD], tmp_path / "nowhere" / "board.csv", title="t")


def test_a_path_that_cannot_be_written_is_refused_and_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "board.csv").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_boards([BOARD], tmp_path / "board.csv", title="t")
    assert [path.name for path in tmp_path.iterdir()] == ["board.csv"]


def test_a_missing_extra_is_named_with_the_command_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for name in [name for name in sys.modules if name.startswith(("salon_ranking.report", "salon_console."))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"uv pip install './packages/ranking\[report\]'"):
        write_boards([BOARD], tmp_path / "board.html", title="t")

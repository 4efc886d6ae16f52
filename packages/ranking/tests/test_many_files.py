"""Battles in many files: folders and patterns, read as one."""

import os
from pathlib import Path

import polars as pl
import pytest

from salon_ranking import BattleError, Battles, fit
from salon_ranking.files import read_table

ROWS = {"model_a": ["x", "y", "z"], "model_b": ["y", "z", "x"], "winner": ["model_a", "tie", "both_bad"]}


def write(frame: pl.DataFrame, path: Path) -> None:
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[path.suffix](path)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_folder_and_a_pattern_are_read_as_one(tmp_path: Path, ending: str):
    for number in range(4):
        write(pl.DataFrame(ROWS), tmp_path / f"votes-{number}{ending}")
    (tmp_path / f"_unfinished{ending}").write_text("rubbish", encoding="utf-8")
    (tmp_path / "README.md").write_text("words", encoding="utf-8")
    assert Battles.read(tmp_path).count == 12
    assert Battles.read(tmp_path / f"votes-[12]{ending}").count == 6
    whole = Battles.from_frame(pl.concat([pl.DataFrame(ROWS)] * 4))
    assert fit(Battles.read(tmp_path)).ratings.tolist() == fit(whole).ratings.tolist()


def test_files_may_have_further_columns_of_their_own(tmp_path: Path):
    pl.DataFrame(ROWS).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({**ROWS, "note": ["", "", ""]}).write_parquet(tmp_path / "b.parquet")
    assert Battles.read(tmp_path).count == 6


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path):
    path = tmp_path / "votes[1].csv"
    pl.DataFrame(ROWS).write_csv(path)
    pl.DataFrame(ROWS).write_csv(tmp_path / "votes1.csv")
    assert Battles.read(path).count == 3


def test_what_cannot_be_read_as_one_is_named(tmp_path: Path):
    pl.DataFrame(ROWS).write_csv(tmp_path / "a.csv")
    pl.DataFrame(ROWS).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(BattleError, match="several kinds"):
        Battles.read(tmp_path)
    with pytest.raises(BattleError, match="no file has such a name"):
        Battles.read(tmp_path / "none-*.csv")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(BattleError, match="cannot be read"):
        Battles.read(tmp_path / "*.parquet")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(BattleError, match="is no result store and holds no files"):
        Battles.read(empty)


def test_a_wrong_row_counts_over_all_files(tmp_path: Path):
    pl.DataFrame(ROWS).write_csv(tmp_path / "a.csv")
    pl.DataFrame({**ROWS, "winner": ["tie", "nobody", "tie"]}).write_csv(tmp_path / "b.csv")
    with pytest.raises(BattleError, match="row 5"):
        Battles.read(tmp_path)


def test_a_named_pipe_in_a_folder_is_refused_by_name_and_not_waited_for(tmp_path: Path):
    (tmp_path / "a.csv").write_text("model_a,model_b,winner\nx,y,model_a\n")
    os.mkfifo(tmp_path / "b.csv")
    with pytest.raises(BattleError, match=r"b\.csv: is a named pipe"):
        read_table(tmp_path, "battles", BattleError)
    with pytest.raises(BattleError, match=r"b\.csv: is a named pipe"):
        read_table(tmp_path / "*.csv", "battles", BattleError)

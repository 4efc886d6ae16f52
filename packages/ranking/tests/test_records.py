"""Leaderboards as rows that a result store takes."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_console.numbers import frame_cells
from salon_console.table_files import write_table
from salon_ranking import rank_by


def salon(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    rows = ["x,y,model_a,art", "y,x,model_a,art", "x,y,tie,film", "y,x,model_b,film", "x,y,model_b,film"]
    path.write_text("\n".join(["model_a,model_b,winner,scenario", *rows * 4]), encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_a_store_takes_the_rows_and_gives_them_back(votes: Path, tmp_path: Path, ending: str):
    pytest.importorskip("salon_store")
    records, store = tmp_path / f"rows{ending}", tmp_path / "store"
    rows = pl.concat([board.records("by scenario") for board in rank_by(votes, "scenario", replicates=50)])
    write_table(records, lambda: frame_cells(rows), rows)
    assert salon("store", "init", store).exit_code == 0
    taken = salon("store", "import", store, "leaderboards", records)
    assert taken.exit_code == 0, taken.output
    out = tmp_path / "out.parquet"
    asked = 'SELECT board, "group", model, rank, rating, replicates FROM leaderboards ORDER BY "group", rank, model'
    assert salon("store", "sql", store, asked, "--output", out).exit_code == 0
    rows = pl.read_parquet(out)
    assert rows.select("board", "group", "model").rows()[0] == ("by scenario", "art", "x")
    assert rows["group"].to_list() == ["art", "art", "film", "film"]
    assert rows["replicates"].unique().to_list() == [50]

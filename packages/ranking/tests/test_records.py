"""Leaderboards as rows that a result store takes."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main


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
    ranked = salon("votes", "rank", votes, "--by", "scenario", "--bootstrap", 50, "--records", records)
    assert ranked.exit_code == 0, ranked.output
    assert "Wrote 4 rows for the table leaderboards" in ranked.stderr
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


def test_a_wrong_ending_is_refused_before_any_work(votes: Path, tmp_path: Path):
    refused = salon("votes", "rank", votes, "--records", tmp_path / "rows.html")
    assert refused.exit_code == 2
    assert "unknown kind of records '.html'" in refused.stderr
    assert salon("votes", "rank", votes, "--records", tmp_path / "none" / "rows.csv").exit_code == 2

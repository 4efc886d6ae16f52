"""A model of one's own on a board of the ledger: near the model whose numbers it has; senseless numbers are refused."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_published.ledger import compared_scores, ledger_board
from salon_published.ledger_place import YOURS, place
from salon_taxonomy.errors import InputError

GOOD = "benchmark,track,value\nGenEval,counting,0.80\nGenEval,position,0.70\nDPG-Bench,entity,91.0\nOneIG-EN,text,0.90\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.csv"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(("task", "model"), [("text-to-image", "qwen-image"), ("text-to-image", "sdxl"), ("edit", "omnigen2")])
def test_numbers_of_a_known_model_place_it_where_that_model_is(tmp_path: Path, task: str, model: str) -> None:
    scores = compared_scores(task)
    own = scores.filter(model=model).group_by("name", "track_name").agg(pl.col("value").median())
    file = tmp_path / "mine.parquet"
    own.rename({"name": "benchmark", "track_name": "track"}).write_parquet(file)
    placing = place(file, task)
    yours, theirs = (placing.board.filter(model=name)["rating"].item() for name in (YOURS, model))
    assert abs(yours - theirs) < 150
    assert placing.numbers == own.height
    low, high = placing.board.filter(model=YOURS).select("ci_low", "ci_high").row(0)
    assert low < theirs < high


def test_the_other_models_stay_where_they_are(tmp_path: Path) -> None:
    before = ledger_board(compared_scores("text-to-image")).table.select("model", "rating")
    after = place(written(tmp_path, GOOD), "text-to-image").board.select("model", after="rating")
    both = before.join(after, on="model")
    assert both.height == before.height
    assert (both["rating"] - both["after"]).abs().median() < 5


def test_numbers_of_one_benchmark_give_no_interval_and_others_are_named_next(tmp_path: Path) -> None:
    placing = place(written(tmp_path, "benchmark,track,value\nGenEval,counting,0.80\n"), "text-to-image")
    assert placing.board.filter(model=YOURS)["ci_low"].item() is None
    following = placing.next_benchmarks
    assert following.filter(benchmark="GenEval", track="counting").height == 0
    assert following["rivals"].is_sorted(descending=True) and following["rivals"][0] > 5


def test_numbers_of_a_capability_are_placed_on_its_board(tmp_path: Path) -> None:
    file = written(tmp_path, "benchmark,track,value\nOneIG-EN,text,0.90\n")
    placing = place(file, "text-to-image", capability="text")
    alone = ledger_board(compared_scores("text-to-image", capability="text")).table
    assert set(placing.board["model"]) == {*alone["model"], YOURS}
    assert placing.header.startswith("the ledger of 2026-11-26, text-to-image, text, and mine.csv")
    assert (placing.numbers, placing.left_out) == (1, 0)


def test_numbers_that_measure_something_else_are_left_out_and_counted(tmp_path: Path) -> None:
    alone = place(written(tmp_path, "benchmark,track,value\nOneIG-EN,text,0.90\n"), "text-to-image", capability="text")
    among = place(written(tmp_path, GOOD), "text-to-image", capability="text")
    assert (among.numbers, among.left_out) == (1, 3)
    assert among.board.equals(alone.board)
    result = CliRunner().invoke(main, ["papers", "place", str(tmp_path / "mine.csv"), "--capability", "text"])
    assert "1 number compared; 3 measure something else." in result.output
    with pytest.raises(InputError, match="no number of the file measures text"):
        place(written(tmp_path, "benchmark,track,value\nGenEval,counting,0.80\n"), "text-to-image", capability="text")
    with pytest.raises(InputError, match="GenEval"):
        place(written(tmp_path, GOOD.replace("GenEval", "GenEvil", 1)), "text-to-image", capability="text")


@for_each(
    ("old", "new", "said"),
    [
        ("GenEval,counting", "GenEvil,counting", "GenEval"),
        ("counting", "countess", "counting"),
        ("0.80", "80", "from 0.12 to"),
        ("91.0", "0.91", "of another scale"),
        ("0.80", "lots", "value"),
        ("0.80", "nan", "value"),
        ("GenEval,position", "GenEval,counting", "twice"),
        ("benchmark,", "suite,", "benchmark"),
    ],
)
def test_what_makes_no_sense_is_named(tmp_path_factory: pytest.TempPathFactory, old: str, new: str, said: str) -> None:
    file = written(tmp_path_factory.mktemp("mine"), GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        place(file, "text-to-image")
    assert said in str(caught.value)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        place(written(tmp_path, "benchmark,track,value\n"), "edit")


def test_the_command_shows_the_neighbours(tmp_path: Path) -> None:
    file = str(written(tmp_path, GOOD))
    result = CliRunner().invoke(main, ["papers", "place", file])
    assert result.exit_code == 0 and YOURS in result.output and "4 numbers compared" in result.output
    result = CliRunner().invoke(main, ["papers", "place", file, "--format", "json"])
    assert {row["model"] for row in json.loads(result.output)["board"]} >= {YOURS, "qwen-image"}

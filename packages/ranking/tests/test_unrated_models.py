"""A model that was only ever judged both-bad is the worst of all: it stays on every board, last and without a rating."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from salon_ranking import Battles, settle_both_bad
from salon_ranking import rank as ranked
from salon_ranking.cli.elo import elo
from salon_ranking.cli.rank import rank
from salon_taxonomy.records import LeaderboardRow

MET = [("x", "y"), ("y", "z"), ("x", "z")]
GOOD = [(*pair, winner) for pair in MET for winner in ("model_a", "model_a", "model_b", "tie")] * 10
BAD = [("awful", "x", "both_bad"), ("y", "awful", "both_bad")] * 4
MODELS = {
    "plain": [],
    "sandwich": ["--interval", "sandwich"],
    "by": ["--by", "scenario"],
    "ties": ["--ties", "davidson"],
    "covariate": ["--covariate", "detail"],
    "elo": [],
}


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    frame = pl.DataFrame(GOOD + BAD, ["model_a", "model_b", "winner"], orient="row")
    frame.with_columns(detail=pl.int_range(pl.len()) % 2, scenario=pl.lit("art")).write_csv(path)
    return path


@pytest.mark.parametrize("policy", ["drop", "own"])
@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_was_only_judged_both_bad_is_last_without_a_rating_in_every_output(
    votes: Path, tmp_path: Path, model: str, policy: str
):
    few = [] if model == "elo" else ["--bootstrap", "60"]
    made = elo if model == "elo" else rank
    command = [str(votes), "--both-bad", policy, *few, *MODELS[model]]
    shown = CliRunner().invoke(made, command)
    assert shown.exit_code == 0, shown.output
    assert "not rated, as all of their battles were judged both-bad: awful" in " ".join(shown.output.split())
    document = json.loads(CliRunner().invoke(made, [*command, "--format", "json"]).stdout)
    board = document[0] if isinstance(document, list) else document
    row = board["rows"][-1]
    assert (row["model"], row["rank"], row["rating"], row["matches"], row["wins"]) == ("awful", 4, None, 8.0, 0)
    assert [one["model"] for one in board["rows"]].count("awful") == 1
    assert any("awful" in said for said in board["warnings"])
    if model in ("plain", "sandwich", "by"):
        files = {ending: tmp_path / f"board.{ending}" for ending in ("html", "csv")}
        for file in files.values():
            done = CliRunner().invoke(rank, [*command, "--output", str(file)])
            assert done.exit_code == 0, done.output
        assert "awful" in files["html"].read_text(encoding="utf-8")
        assert pl.read_csv(files["csv"])["model"].to_list()[-1] == "awful"
        settled, _ = settle_both_bad(Battles.read(votes), policy)
        rows = [LeaderboardRow.model_validate(row) for row in ranked(settled, replicates=60).records().to_dicts()]
        assert (rows[-1].model, rows[-1].rank, rows[-1].rating) == ("awful", 4, None)


@pytest.mark.parametrize("policy", ["drop", "own"])
@pytest.mark.parametrize("lists", [False, True])
def test_a_group_in_which_all_was_judged_both_bad_is_a_board_without_ratings(tmp_path: Path, policy: str, lists: bool):
    frame = pl.DataFrame(GOOD + BAD, ["model_a", "model_b", "winner"], orient="row")
    frame = frame.with_columns(scenario=pl.when(pl.col("winner") == "both_bad").then(pl.lit("art")).otherwise(pl.lit("film")))
    path = tmp_path / "votes.parquet"
    frame.with_columns(pl.concat_list("scenario") if lists else "scenario").write_parquet(path)
    files = {ending: tmp_path / f"board.{ending}" for ending in ("html", "csv", "json")}
    command = [str(path), "--both-bad", policy, "--bootstrap", "60", "--by", "scenario"]
    for file in files.values():
        done = CliRunner().invoke(rank, [*command, "--diagnose", "--output", str(file)])
        assert done.exit_code == 0, done.output
    boards = json.loads(files["json"].read_text(encoding="utf-8"))
    assert [board["group"] for board in boards] == ["art", "film"]
    assert [(row["model"], row["rank"], row["rating"]) for row in boards[0]["rows"]] == [
        ("awful", 1, None),
        ("x", 1, None),
        ("y", 1, None),
    ]
    assert boards[0]["warnings"] == ["not rated, as all of their battles were judged both-bad: awful, x, y"]
    assert pl.read_csv(files["csv"]).filter(group="art")["rating"].null_count() == 3


def test_every_kind_of_board_has_the_same_header_in_json(votes: Path):
    headers = {}
    for name, options in MODELS.items():
        made, few = (elo, []) if name == "elo" else (rank, ["--bootstrap", "60"])
        shown = CliRunner().invoke(made, [str(votes), "--format", "json", *few, *options])
        document = json.loads(shown.stdout)
        headers[name] = document[0] if isinstance(document, list) else document
    names = [name for name in headers["plain"] if name not in ("rows", "parameters", "position_bias")]
    assert {"baselines", "seed", "confidence", "source", "battles", "warnings", "header", "ci_method", "interval"} <= set(names)
    for name, found in headers.items():
        assert [one for one in found if one in names] == names, name
    for name in ("sandwich", "ties", "covariate"):
        found = headers[name]
        assert (found["seed"], found["confidence"], len(found["baselines"]), found["interval"]) == (0, 0.95, 1, "sandwich")


def test_a_board_on_the_screen_is_cut_and_a_file_is_whole_and_shows_no_table(tmp_path: Path):
    models = [f"m{number:04}" for number in range(1_000)]
    votes = pl.DataFrame({"model_a": models, "model_b": [*models[1:], models[0]], "winner": "tie"})
    votes.write_csv(tmp_path / "votes.csv")
    command = [str(tmp_path / "votes.csv"), "--bootstrap", "0"]
    shown = CliRunner().invoke(rank, command).stdout
    assert "800 more models: all with --format csv, or in a file with --output" in shown
    assert 200 < shown.count("\n") < 220
    quiet = CliRunner().invoke(rank, [*command, "--output", str(tmp_path / "board.csv")])
    assert "1,000 models" in " ".join(quiet.stdout.split())
    assert quiet.stdout.count("\n") < 10
    assert pl.read_csv(tmp_path / "board.csv").height == 1_000
    asked = CliRunner().invoke(rank, [*command, "--output", str(tmp_path / "board.csv"), "--format", "csv"])
    assert asked.stdout.count("\n") == 1_001

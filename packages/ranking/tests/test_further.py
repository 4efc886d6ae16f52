"""What stands beside a board: in JSON, on the page, and for every group by itself."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_ranking import fit, log_loss


def salon(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["votes", "rank", *map(str, arguments)])


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    art = ["x,y,model_a,art", "y,z,model_a,art", "z,x,model_a,art", "x,z,model_a,art", "y,x,tie,art", "x,y,both_bad,art"]
    film = ["x,y,model_b,film", "y,z,model_b,film", "z,x,model_b,film", "x,y,model_a,film", "y,z,model_a,film"]
    path.write_text("\n".join(["model_a,model_b,winner,scenario", *art * 6, *film * 6]), encoding="utf-8")
    return path


def test_json_has_the_acceptability_and_the_diagnosis_of_the_board(votes: Path):
    board = json.loads(salon(votes, "--both-bad", "own", "--diagnose", "--bootstrap", 0, "--format", "json").stdout)[0]
    acceptable = {row["model"]: round(row["acceptable"], 3) for row in board["acceptability"]}
    assert acceptable == {"x": round(42 / 48, 3), "y": round(42 / 48, 3), "z": 1.0}
    assert board["diagnosis"]["deviance"] > 0
    assert [row["model"] for row in board["diagnosis"]["worst_fitting_pairs"]] != []
    assert "triads" in board["diagnosis"]


def test_json_without_them_has_neither(votes: Path):
    board = json.loads(salon(votes, "--bootstrap", 0, "--format", "json").stdout)[0]
    assert not {"acceptability", "diagnosis"} & set(board)


def test_every_group_has_its_own(votes: Path):
    options = ["--by", "scenario", "--both-bad", "own", "--diagnose", "--bootstrap", 0]
    art, film = json.loads(salon(votes, *options, "--format", "json").stdout)
    assert sum(row["both_bad"] for row in art["acceptability"]) == 12
    assert sum(row["both_bad"] for row in film["acceptability"]) == 0
    assert art["diagnosis"]["deviance"] != film["diagnosis"]["deviance"]
    shown = salon(votes, *options).stdout
    assert shown.index("art") < shown.index("acceptability") < shown.index(", film:")


def test_the_page_has_a_section_for_each_thing_that_was_asked_for(votes: Path, tmp_path: Path):
    page = tmp_path / "board.html"
    asked = ["--listing", "--ranks", "--both-bad", "own", "--diagnose", "--bootstrap", 20]
    assert salon(votes, *asked, "--output", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    for heading in ("Rank intervals", "Listing", "Win rates", "Convergence", "Acceptability", "Goodness of fit"):
        assert f">{heading}</h2>" in text
    assert "may be listed by MEF&#39;s rule" in text
    assert ">Raters</h2>" not in text


def test_a_page_of_votes_with_raters_shows_them(votes: Path, tmp_path: Path):
    path, page = tmp_path / "rated.csv", tmp_path / "board.html"
    frame = pl.read_csv(votes).with_columns(rater_id=pl.Series([f"<r{number % 3}>" for number in range(66)]))
    frame.write_csv(path)
    assert salon(path, "--bootstrap", 0, "--output", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert ">Raters</h2>" in text
    assert "&lt;r0&gt;" in text
    frame.with_columns(side_a_shown=pl.lit("above")).write_csv(path)  # what a check of raters stumbles over, ratings do not
    assert salon(path, "--bootstrap", 0, "--output", page).exit_code == 0
    assert ">Raters</h2>" not in page.read_text(encoding="utf-8")


def test_a_table_of_raters_is_shown_with_numbers_as_numbers(votes: Path, tmp_path: Path):
    table, page = tmp_path / "raters.csv", tmp_path / "board.html"
    table.write_text("rater_id,flagged,battles,value,nothing\n007,1,12345,0.123456,\nann,0,2,,\n", encoding="utf-8")
    assert salon(votes, "--bootstrap", 0, "--raters", table, "--output", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "2 raters, 1 flagged." in text
    for cell in (">007</td>", ' class="number">12,345</td>', ' class="number">0.1235</td>'):
        assert cell in text
    assert ">nothing</th>" not in text


def test_one_battle_is_said_in_the_singular(tmp_path: Path):
    path = tmp_path / "one.csv"
    path.write_text("model_a,model_b,winner\nx,y,tie\n", encoding="utf-8")
    assert "1 battle, 2 models" in " ".join(salon(path, "--bootstrap", 0).stdout.split())


MODELS = {
    "plain": ([], {}),
    "firth": (["--estimator", "firth"], {"estimator": "firth"}),
    "davidson": (["--ties", "davidson"], {"ties": "davidson"}),
    "covariates": (["--covariate", "length"], {"covariates": ["length"]}),
    "prior": (["--prior-ties", 2], {"prior_ties": 2.0}),
}


@pytest.mark.parametrize("model", MODELS)
def test_held_out_votes_are_predicted_by_the_ratings_of_the_board(model: str, votes: Path, tmp_path: Path):
    asked, options = MODELS[model]
    frame = pl.read_csv(votes).with_row_index("n").with_columns(length=pl.col("n") % 5)
    seen, unseen = frame.head(40), frame.tail(26).with_columns(model_a=pl.col("model_a").replace("z", "new"))
    seen.write_csv(tmp_path / "seen.csv")
    unseen.write_csv(tmp_path / "unseen.csv")
    run = ["--held-out", tmp_path / "unseen.csv", "--bootstrap", 0, *asked]
    found = json.loads(salon(tmp_path / "seen.csv", *run, "--format", "json").stdout)[0]["held_out"]
    expected = log_loss(unseen, fit(seen, **options))
    assert (found["battles"], found["unpredicted"]) == (expected.battles, expected.unpredicted)
    assert found["log_loss"] == pytest.approx(expected.value, rel=1e-9)
    assert expected.sentence.split(",")[0] in salon(tmp_path / "seen.csv", *run).stdout


def test_each_group_predicts_its_own_held_out_votes_and_a_group_without_any_none(votes: Path, tmp_path: Path):
    frame = pl.read_csv(votes)
    frame.filter(scenario="art").write_csv(tmp_path / "unseen.csv")
    run = ["--held-out", tmp_path / "unseen.csv", "--by", "scenario", "--bootstrap", 0, "--format", "json"]
    art, film = json.loads(salon(votes, *run).stdout)
    assert art["held_out"]["battles"] == 36
    assert "held_out" not in film


def test_the_ranked_votes_themselves_are_not_held_out(votes: Path):
    link = votes.with_name("link.csv")
    link.symlink_to(votes)
    for spelling in (votes, link, votes.parent / "." / ".." / votes.parent.name / votes.name):
        refused = salon(votes, "--held-out", spelling)
        assert refused.exit_code == 2, (spelling, refused.output)
        assert "not held out" in refused.output, spelling

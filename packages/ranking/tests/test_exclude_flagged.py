"""`salon votes rank --exclude-flagged`: whose votes are left out is said everywhere, and stands in the store."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_ranking import BattleError, Battles, rank
from salon_ranking.raters import check_raters, exclude_flagged, read_flags
from salon_ranking.raters.rater_report import to_csv
from studies.raters import SimulatedRaters

SENTENCE = "360 battles of 3 flagged raters left out ("


def salon(*arguments: object) -> Result:
    counted = ["--anchors", "count"] if arguments[1] == "rank" else []  # so that all battles of a rater are left out
    return CliRunner().invoke(main, [*map(str, arguments), *counted])


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    found = SimulatedRaters(models=4, attentive=8, careless=1, votes=120, prompts=10).battles()
    return found.with_columns(scenario=pl.Series(["art", "film"] * (found.height // 2)))


@pytest.fixture(scope="module")
def votes(frame: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arena") / "votes.parquet"
    frame.write_parquet(path)
    return path


@pytest.fixture(scope="module")
def raters(frame: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("raters") / "raters.csv"
    path.write_text(to_csv(check_raters(frame)), encoding="utf-8")
    return path


def test_the_ratings_are_those_of_the_other_raters(frame: pl.DataFrame, votes: Path):
    document = json.loads(salon("votes", "rank", votes, "--exclude-flagged", "--bootstrap", 0, "--format", "json").stdout)[0]
    careful = frame.filter(~pl.col("rater_id").is_in(check_raters(frame).flagged))
    expected = rank(Battles.from_frame(careful, anchors="count"), replicates=0).table
    assert [row["rating"] for row in document["rows"]] == expected["rating"].to_list()
    assert document["battles"] == 960


def test_every_format_says_how_many_battles_of_whom_are_left_out_and_why(votes: Path, tmp_path: Path):
    options = ["votes", "rank", votes, "--exclude-flagged", "--bootstrap", 0]
    assert SENTENCE in " ".join(salon(*options).stdout.split())
    made = json.loads(salon(*options, "--format", "json").stdout)[0]["excluded"]
    assert (made["raters"], made["battles"]) == (3, 360)
    assert {one["reason"] for one in made["reasons"]} >= {"missed_anchors", "too_fast"}
    csv = salon(*options, "--format", "csv")
    assert SENTENCE in csv.stderr
    table = pl.read_csv(csv.stdout.encode())
    assert table["excluded_battles"].unique().to_list() == [360]
    page = tmp_path / "board.html"
    assert salon(*options, "--output", page).exit_code == 0
    assert page.read_text(encoding="utf-8").count(SENTENCE) == 2  # among the facts, and above the raters


def test_without_the_option_a_board_says_nothing_of_raters(votes: Path):
    board = json.loads(salon("votes", "rank", votes, "--bootstrap", 0, "--format", "json").stdout)[0]
    assert board["excluded"] is None
    assert not salon("votes", "rank", votes, "--bootstrap", 0, "--format", "csv").stdout.splitlines()[0].endswith("excluded_by")


@pytest.mark.parametrize(
    "options",
    [
        ["--by", "scenario"],
        ["--cluster", "rater_id"],
        ["--both-bad", "own", "--diagnose"],
        ["--ties", "davidson"],
        ["--listing"],
    ],
    ids=" ".join,
)
def test_it_goes_with_groups_clusters_and_other_models(votes: Path, options: list[str]):
    result = salon("votes", "rank", votes, "--exclude-flagged", "--bootstrap", 20, *options)
    assert result.exit_code == 0, result.output
    assert SENTENCE in " ".join(result.stdout.split())


def test_a_store_gets_the_boards_and_the_reasons_and_is_read_back(frame: pl.DataFrame, tmp_path: Path):
    store = pytest.importorskip("salon_store").ResultStore.open(tmp_path / "store")
    store.append("battles", frame.drop("scenario", strict=False), run_id="arena")
    options = ["votes", "rank", store.path, "--exclude-flagged", "--bootstrap", 20, "--store", store.path]
    first = salon(*options)
    assert first.exit_code == 0, first.output
    assert "Added 4 rows to leaderboards and 5 rows to rater_flags" in first.stderr
    assert "Added 0 rows to leaderboards and 0 rows to rater_flags" in salon(*options).stderr
    asked = """SELECT DISTINCT rater_id, reason, flag.value < threshold AS below, battles
        FROM leaderboards JOIN rater_flags AS flag ON report_id = excluded_by WHERE reason = 'missed_anchors'"""
    missed = check_raters(frame).findings.filter(reason="missed_anchors")["rater_id"]
    assert set(store.sql(asked).rows()) == {(name, "missed_anchors", True, 120) for name in missed}
    assert salon("votes", "rank", store.path, "--bootstrap", 20, "--store", store.path).exit_code == 0
    boards = store.sql("SELECT leaderboard_id, count(excluded_by) AS n FROM leaderboards GROUP BY ALL ORDER BY n")
    assert boards["n"].to_list() == [0, 4]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_table_of_salon_raters_may_say_who_is_left_out(frame: pl.DataFrame, votes: Path, tmp_path: Path, ending: str):
    table = tmp_path / f"raters{ending}"
    assert salon("votes", "raters", votes, "--output", table).exit_code == 0
    assert read_flags(table).flagged == check_raters(frame).flagged
    found = read_flags(table).findings.drop("explanation").sort("rater_id", "reason")
    expected = check_raters(frame).findings.drop("explanation").sort("rater_id", "reason")
    assert found.equals(expected)
    result = salon("votes", "rank", votes, "--exclude-flagged", "--raters", table, "--bootstrap", 0)
    assert SENTENCE in " ".join(result.stdout.split())


def test_a_flag_that_somebody_took_away_leaves_the_rater_in(votes: Path, raters: Path, tmp_path: Path):
    table = pl.read_csv(raters, infer_schema=False)
    pardoned = table.with_columns(
        flagged=pl.when(pl.col("rater_id").str.starts_with("left")).then(pl.lit("no")).otherwise("flagged")
    )
    pardoned.write_csv(tmp_path / "looked.csv")
    result = salon("votes", "rank", votes, "--exclude-flagged", "--raters", tmp_path / "looked.csv", "--bootstrap", 0)
    assert "240 battles of 2 flagged raters left out" in " ".join(result.stdout.split())


def test_a_table_made_by_hand_needs_two_columns(votes: Path, tmp_path: Path):
    table = tmp_path / "hand.csv"
    table.write_text("rater_id,flagged,reason\nattentive-000,1,was asleep\nnobody,1,\nattentive-001,,\n", encoding="utf-8")
    flags = read_flags(table)
    assert flags.findings.select("rater_id", "reason", "value").rows() == [
        ("attentive-000", "was asleep", None),
        ("nobody", "flagged", None),
    ]
    document = json.loads(
        salon("votes", "rank", votes, "--exclude-flagged", "--raters", table, "--bootstrap", 0, "--format", "json").stdout
    )
    assert document[0]["excluded"]["battles"] == 120


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flagged\n1\n", "missing column 'rater_id'"),
        ("rater_id,flags\nx,1\n", "missing column 'flagged'"),
        ("rater_id,flagged\nx,1\ny,perhaps\n", "row 2, column 'flagged': neither true nor false: 'perhaps'"),
        ("rater_id,flagged\n ,1\n", "row 1, column 'rater_id': no rater"),
        ("", "cannot be read"),
    ],
)
def test_a_wrong_table_of_raters_is_refused_with_its_row(votes: Path, tmp_path: Path, text: str, said: str):
    table = tmp_path / "wrong.csv"
    table.write_text(text, encoding="utf-8")
    refused = salon("votes", "rank", votes, "--exclude-flagged", "--raters", table)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_a_table_of_raters_that_nothing_uses_is_refused(votes: Path, raters: Path):
    refused = salon("votes", "rank", votes, "--raters", raters)
    assert refused.exit_code == 2
    assert "--exclude-flagged" in refused.stderr


def test_votes_that_do_not_say_who_cast_them_cannot_be_checked(frame: pl.DataFrame, tmp_path: Path):
    path = tmp_path / "votes.parquet"
    frame.drop("rater_id").write_parquet(path)
    refused = salon("votes", "rank", path, "--exclude-flagged")
    assert refused.exit_code == 2
    assert "missing column 'rater_id'" in refused.stderr


def test_when_everybody_is_flagged_there_is_nothing_to_rank(votes: Path, frame: pl.DataFrame, tmp_path: Path):
    table = tmp_path / "all.csv"
    frame.select("rater_id", flagged=pl.lit(1)).unique().write_csv(table)
    refused = salon("votes", "rank", votes, "--exclude-flagged", "--raters", table)
    assert refused.exit_code == 2
    assert "every battle is a flagged rater's" in refused.stderr


def test_checks_that_could_not_be_made_are_in_the_header(frame: pl.DataFrame):
    bare = frame.select("rater_id", "model_a", "model_b", "winner")
    found = exclude_flagged(bare, check_raters(bare))
    assert "not checked: too_fast (no column started_at" in found.header
    with pytest.raises(BattleError, match="every battle is a flagged"):
        exclude_flagged(bare.clear(), check_raters(bare)).battles(Battles.from_frame(bare))


def test_the_same_flags_have_the_same_key_and_other_flags_another(frame: pl.DataFrame):
    report = check_raters(frame)
    shuffled = check_raters(frame.sample(fraction=1.0, shuffle=True, seed=1))
    assert report.flags.report_id == shuffled.flags.report_id
    fewer = check_raters(frame.filter(pl.col("rater_id") != report.flagged[0]))
    assert fewer.flags.report_id != report.flags.report_id

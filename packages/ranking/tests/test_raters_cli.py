"""`salon votes raters` on the command line."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import SalonGroup
from salon_ranking.cli.raters import raters
from studies.raters import SimulatedRaters

GROUP = SalonGroup(name="salon", commands={"raters": raters})


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arena") / "votes.parquet"
    SimulatedRaters(models=4, attentive=8, careless=1, votes=120, prompts=10).battles().write_parquet(path)
    return path


def salon(*arguments: object) -> Result:
    return CliRunner().invoke(GROUP, ["votes", "raters", *map(str, arguments)])


def test_the_table_has_a_reason_per_flagged_rater_and_flags_are_no_failure(votes: Path):
    result = salon(votes)
    assert result.exit_code == 0
    assert "3 flagged" in result.stdout
    assert "120 x left" in result.stdout
    assert "times in a row" in result.stdout


def test_json_and_csv_are_for_programs(votes: Path):
    found = json.loads(salon(votes, "--format", "json").stdout)
    assert {name.split("-")[0] for name in found["flagged"]} == {"random", "left", "fast"}
    assert found["policy"]["run_length"] == 24
    assert salon(votes, "--format", "csv").stdout.startswith("rater_id,modes,battles,flagged,reasons,explanation,")


def test_reasons_go_into_a_store_once(votes: Path, tmp_path: Path):
    store = pytest.importorskip("salon_store").ResultStore.open(tmp_path / "store")
    assert "Added 5 rows to rater_flags" in salon(votes, "--store", store.path).stderr
    assert "Added 0 rows to rater_flags" in salon(votes, "--store", store.path).stderr
    rows = store.read("rater_flags").collect()
    assert rows["battles"].to_list() == [120] * 5
    assert rows["report_id"].n_unique() == 1
    assert json.loads(rows["policy"][0])["run_length"] == 24
    other = salon(votes, "--run-length", 30, "--store", store.path)
    assert "Added 0" not in other.stderr  # another policy, another report


def test_a_directory_that_is_no_store_is_refused_before_any_work(votes: Path, tmp_path: Path):
    refused = salon(votes, "--store", tmp_path)
    assert refused.exit_code == 2
    assert "salon store init" in refused.stderr
    assert refused.stdout == ""


def test_options_become_the_policy(votes: Path):
    policy = json.loads(salon(votes, "--consensus", "model", "--run-length", 0, "--format", "json").stdout)["policy"]
    assert (policy["consensus"], policy["run_length"]) == ("model", None)


def test_files_are_written_beside_the_table(votes: Path, tmp_path: Path):
    result = salon(votes, "--output", tmp_path / "raters.html", "--audit", tmp_path / "again.csv", "--audit-share", 0.5)
    assert result.exit_code == 0
    assert "Wrote" in result.stderr
    assert "Wrote" not in result.stdout
    assert pl.read_csv(tmp_path / "again.csv").height == 11 * 60
    assert "<h1>Raters</h1>" in (tmp_path / "raters.html").read_text()


def test_experts_are_examined_when_there_is_a_reference(votes: Path, tmp_path: Path):
    low, high = pl.min_horizontal("model_a", "model_b"), pl.max_horizontal("model_a", "model_b")
    known = pl.read_parquet(votes).unique(["prompt_id", pl.struct(low, high.alias("high"))], keep="first", maintain_order=True)
    known.select("prompt_id", "model_a", "model_b", "winner").write_csv(tmp_path / "exam.csv")
    result = salon(votes, "--reference", tmp_path / "exam.csv")
    assert result.exit_code == 0
    assert "unqualified (no expert answered anything of the reference)" in " ".join(result.stdout.split())


def test_a_broken_reference_is_explained(votes: Path, tmp_path: Path):
    (tmp_path / "exam.csv").write_text("")
    result = salon(votes, "--reference", tmp_path / "exam.csv")
    assert result.exit_code == 2
    assert "exam.csv: cannot be read" in result.stderr


def test_long_reports_are_cut_and_say_so(tmp_path: Path):
    rows = {"rater_id": [f"r{n:03}" for n in range(60)], "model_a": ["x"] * 60, "model_b": ["y"] * 60, "winner": ["tie"] * 60}
    pl.DataFrame(rows).write_csv(tmp_path / "votes.csv")
    short = salon(tmp_path / "votes.csv")
    assert "10 more; --all shows them." in short.stderr
    assert "r059" not in short.stdout
    assert "r059" in salon(tmp_path / "votes.csv", "--all").stdout


def test_names_reach_the_terminal_as_plain_text(tmp_path: Path):
    rows = {"rater_id": ["[red]r", "\x1b[31mr"], "model_a": ["x"] * 2, "model_b": ["y"] * 2, "winner": ["tie"] * 2}
    pl.DataFrame(rows).write_csv(tmp_path / "votes.csv")
    result = salon(tmp_path / "votes.csv")
    assert "[red]r" in result.stdout
    assert "\x1b[31m" not in result.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read"),
        ("model_a,model_b,winner\nx,y,tie\n", "missing column 'rater_id'"),
        ("rater_id,model_a,model_b,winner\n", "there are no battles"),
        ("rater_id,model_a,model_b,winner\nr,x,y,A\n", "row 1, column 'winner': unknown winner 'A'"),
    ],
)
def test_bad_input_is_explained_and_exits_with_two(tmp_path: Path, content: str, message: str):
    (tmp_path / "votes.csv").write_text(content)
    result = salon(tmp_path / "votes.csv")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_bad_options_are_explained_before_any_work(votes: Path, tmp_path: Path):
    for options in (
        ["--output", tmp_path / "r.xls"],
        ["--run-length", 1],
        ["--audit", tmp_path / "a.txt"],
    ):
        result = salon(votes, *options)
        assert result.exit_code == 2
        assert "Error: " in result.stderr
    assert salon(tmp_path / "nothing.csv").exit_code == 2

"""`salon votes next` on the command line."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_ranking.cli.scheduling import next_pairs


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,winner\nx,y,model_a\ny,[red]z,tie\n", encoding="utf-8")
    return path


def salon(*arguments: object) -> Result:
    return CliRunner().invoke(next_pairs, [*map(str, arguments)])


def test_the_table_shows_who_meets_whom_and_on_which_side(votes: Path):
    result = salon(votes, "-n", 3)
    assert result.exit_code == 0
    assert "[red]z" in result.stdout
    assert "side_a_shown" in result.stdout
    assert "generation_a" not in result.stdout  # nothing is known of them


def test_csv_and_json_are_for_programs_and_files_are_written(votes: Path, tmp_path: Path):
    made = tmp_path / "made.csv"
    made.write_text("model,prompt_id,generation_id\nx,p,g1\ny,p,g2\nx,q,g3\ny,q,g4\n", encoding="utf-8")
    for ending, read in (
        (".csv", pl.read_csv),
        (".parquet", pl.read_parquet),
        (".json", pl.read_json),
        (".jsonl", pl.read_ndjson),
    ):
        output = tmp_path / f"next{ending}"
        result = salon(votes, "-n", 4, "--generations", made, "--format", "json", "--output", output)
        assert result.exit_code == 0
        assert read(output).rows() == pl.DataFrame(json.loads(result.stdout)).rows()
    assert {row["prompt_id"] for row in json.loads(result.stdout)} <= {"p", "q"}
    assert salon(votes, "-n", 4, "--format", "csv").stdout.startswith("prompt_id,model_a,model_b")


def test_two_streams_are_the_default_and_votes_keep_theirs(votes: Path, tmp_path: Path):
    output = tmp_path / "next.csv"
    assert salon(votes, "-n", 8, "--output", output).exit_code == 0
    plan = pl.read_csv(output)
    assert (plan["plan_rule"] == "proportional").all()
    assert plan["plan_stream"].value_counts().sort("plan_stream").rows() == [(1, 4), (2, 4)]
    plan.with_columns(winner=pl.lit("tie")).write_csv(output)
    again = salon(output, "-n", 8, "--streams", 1, "--rule", "mef", "--format", "json")
    assert {(row["plan_rule"], row["plan_stream"]) for row in json.loads(again.stdout)} == {("mef", None)}


def test_prompts_models_and_a_header_alone_start_a_new_arena(tmp_path: Path):
    votes, prompts = tmp_path / "votes.csv", tmp_path / "prompts.csv"
    votes.write_text("model_a,model_b,winner\n", encoding="utf-8")
    prompts.write_text("prompt_id\np\nq\n", encoding="utf-8")
    result = salon(votes, "-n", 9, "--models", "x,y", "--models", "z", "--prompts", prompts, "--samples", 4, "--format", "csv")
    assert result.exit_code == 0
    plan = pl.read_csv(result.stdout.encode())
    assert set(plan["model_a"]) | set(plan["model_b"]) == {"x", "y", "z"}
    assert plan["sample_a"].is_between(0, 3).all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--models", "x"], "a plan needs 2 to"),
        (["-n", "-5"], "number of battles"),
        (["--output", "plan.pdf"], "unknown kind of output"),
        (["--prompts", "nowhere.csv"], "there is no such file"),
        (["--prompts", "p.csv", "--generations", "g.csv"], "exclude each other"),
    ],
)
def test_a_wrong_option_says_what_is_wrong(votes: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(votes.parent)
    for name in ("p.csv", "g.csv"):
        Path(name).touch()
    result = salon(votes, *arguments)
    assert result.exit_code != 0
    assert said in str(result.exception)


def test_a_store_gives_battles_and_generations(tmp_path: Path):
    pytest.importorskip("salon_store")
    from salon_console import main

    made = tmp_path / "generations.csv"
    rows = [f"{model}{prompt},{prompt},{model},file.png,{'0' * 64}" for model in "xy" for prompt in "pq"]
    made.write_text("\n".join(["generation_id,prompt_id,model,uri,sha256", *rows]), encoding="utf-8")
    runner = CliRunner()
    assert runner.invoke(main, ["store", "init", str(tmp_path / "store")]).exit_code == 0
    assert runner.invoke(main, ["store", "import", str(tmp_path / "store"), "generations", str(made)]).exit_code == 0
    result = salon(tmp_path / "store", "-n", 8, "--format", "csv")
    assert result.exit_code == 0, result.exception
    plan = pl.read_csv(result.stdout.encode())
    assert plan.select((pl.col("model_a") + pl.col("prompt_id") == pl.col("generation_a")).all()).item()

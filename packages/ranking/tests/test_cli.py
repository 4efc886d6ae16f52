"""`salon votes rank` on the command line."""

import json
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_ranking.cli import SPELLING
from salon_ranking.cli import votes as vote_commands
from salon_ranking.leaderboard.options import RankOptions

ROWS = {
    "model_a": ["x", "y", "z", "x", "[red]z", "y\x1b[31m"],
    "model_b": ["y", "z", "x", "[red]z", "x", "x"],
    "winner": ["model_a", "model_a", "model_a", "tie", "both_bad", "both_good"],
    "scenario": ["art"] * 6,
    "prompt": [1, 2, 3, 4, 5, 6],
}


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    pl.DataFrame(ROWS).write_csv(path)
    return path


def salon(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["votes", "rank", *map(str, arguments)])


def test_the_table_shows_the_ranking_and_how_it_was_made(votes: Path):
    result = salon(votes, "--bootstrap", 50)
    assert result.exit_code == 0
    for part in ("6 battles", "seed 0", "rank", "Elo", "95% CI", "win rate", "fixed at 1000"):
        assert part in " ".join(result.stdout.split())  # wherever the lines break


def test_names_reach_the_terminal_as_plain_text(votes: Path):
    result = salon(votes, "--bootstrap", 0)
    assert "[red]z" in result.stdout
    assert "\x1b[31m" not in result.stdout


def test_json_and_csv_are_for_programs(votes: Path):
    assert len(json.loads(salon(votes, "--bootstrap", 5, "--format", "json").stdout)[0]["rows"]) == 5
    assert salon(votes, "--bootstrap", 5, "--format", "csv").stdout.startswith("group,rank,model,rating")


def test_groups_clusters_and_files_are_asked_for_by_options(votes: Path, tmp_path: Path):
    output = tmp_path / "board.json"
    result = salon(votes, "--by", "scenario", "--cluster", "prompt", "--bootstrap", 20, "--output", output, "--prior-ties", 1)
    assert result.exit_code == 0
    assert f"Wrote {output}" in result.stderr
    board = json.loads(output.read_text(encoding="utf-8"))[0]
    assert (board["group"], board["cluster"], board["prior_ties"]) == ("art", "prompt", 1.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--baseline", "nobody"], "unknown baseline 'nobody'"),
        (["--by", "genre"], "missing column to group by 'genre'"),
        (["--cluster", "rater"], "missing column 'rater'"),
        (["--seed", "-1"], "seed must lie"),
        (["--confidence", "95"], "confidence must lie"),
        (["--output", "board.pdf"], "unknown kind of output '.pdf'"),
        (["--bootstrap", "many"], "not a valid integer"),
        (["--components", "maybe"], "refuse"),
    ],
)
def test_a_wrong_option_exits_2_and_says_what_is_allowed(votes: Path, arguments: list[str], said: str):
    result = salon(votes, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_an_empty_file_exits_2_with_its_name(tmp_path: Path):
    path = tmp_path / "empty.csv"
    path.write_text("model_a,model_b,winner\n", encoding="utf-8")
    result = salon(path)
    assert result.exit_code == 2
    assert "empty.csv: there are no battles" in result.stderr


@pytest.mark.parametrize("command", ["rank", "compare"])
@pytest.mark.parametrize(
    ("column", "value", "options", "said"),
    [
        ("weight", "0", [], "2 battles of weight 0 left out"),
        ("is_anchor", "true", [], "2 anchor battles left out"),
        ("winner", "", ["--no-winner", "leave-out"], "2 rows without a winner left out"),
    ],
)
def test_a_file_of_which_nothing_counts_exits_2_and_says_why(
    tmp_path: Path, command: str, column: str, value: str, options: list[str], said: str
):
    path = tmp_path / "votes.csv"
    rows = {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a"] * 2}
    pl.DataFrame({**rows, column: [value] * 2}).write_csv(path)
    result = CliRunner().invoke(main, ["votes", command, str(path), *options])
    assert result.exit_code == 2
    assert f"votes.csv: there are no battles\n{said}." in result.stderr


def test_an_option_of_spelling_that_a_command_lacks_names_the_commands_that_have_it():
    with click.Context(vote_commands) as context:
        commands = {name: vote_commands.load(context, name) for name in vote_commands.list_commands(context)}
    options = {name: {word for each in command.params for word in each.opts} for name, command in commands.items() if command}
    assert set(SPELLING) == {word for word in options["rank"] if word in SPELLING}
    lacking = [(name, word) for name in sorted(options) for word in SPELLING if word not in options[name]]
    assert ("compare", "--columns") in lacking and ("raters", "--winner-words") in lacking
    for name, word in lacking:
        result = CliRunner().invoke(main, ["votes", name, word, "x=y"])
        said = " ".join(result.stderr.replace("│", " ").split())
        assert result.exit_code == 2 and f"No such option '{word}'" in said, (name, word, said)
        assert "`salon votes import` has it: the other commands read what it wrote" in said, (name, word, said)
    other = CliRunner().invoke(main, ["votes", "compare", "--colums", "x=y"])
    assert other.exit_code == 2 and "votes import" not in other.stderr


def test_help_teaches_with_an_example():
    result = salon("--help")
    assert result.exit_code == 0
    assert "salon votes rank votes.csv" in result.stdout


def test_a_name_with_escape_codes_reaches_a_program_unchanged(tmp_path: Path):
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,winner\n\x1b[31mred,blue,tie\n", encoding="utf-8")
    assert "\x1b[31mred" in salon(path, "--format", "csv", "--bootstrap", 0).stdout
    assert "\x1b" not in salon(path, "--bootstrap", 0).stdout


def test_more_threads_than_the_machine_can_give_are_done_without(votes: Path):
    few, many = (salon(votes, "--threads", number, "--format", "csv", "--bootstrap", 200) for number in (1, 1_000_000))
    assert many.exit_code == 0
    assert many.stdout == few.stdout


def test_ratings_that_did_not_converge_exit_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "lopsided.csv"
    pl.DataFrame({"model_a": ["x"] * 9, "model_b": ["y"] * 9, "winner": ["model_a"] * 8 + ["model_b"]}).write_csv(path)
    monkeypatch.setitem(RankOptions.__init__.__kwdefaults__, "max_iterations", 1)
    result = salon(path, "--bootstrap", 0)
    assert result.exit_code == 1
    assert "did not converge" in result.stderr
    assert "NOT CONVERGED" in result.stdout

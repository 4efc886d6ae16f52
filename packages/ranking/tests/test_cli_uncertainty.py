"""The options of `salon votes rank` that say how sure a board is."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 600)
    b = (a + rng.integers(1, 3, 600)) % 3
    names = np.array(["x", "y", "z\x1b[31m"])
    path = tmp_path / "votes.parquet"
    pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.array(["model_a", "model_b", "tie"])[rng.integers(0, 3, 600)],
            "prompt_id": rng.integers(0, 20, 600),
            "rater_id": rng.integers(0, 9, 600),
            "mode": np.array(["expert", "public"])[rng.integers(0, 2, 600)],
            "labels": [[["text"], ["style", "text"]][number] for number in rng.integers(0, 2, 600)],
        }
    ).write_parquet(path)
    return path


def salon(*arguments: object) -> Result:
    return called("rank", *arguments)


def called(command: str, *arguments: object) -> Result:
    return CliRunner().invoke(main, ["votes", command, *map(str, arguments)])


VOTES = "the votes"


def test_two_clusters_make_a_two_way_interval(votes: Path):
    result = salon(votes, "--interval", "sandwich", "--cluster", "prompt_id", "--cluster", "rater_id", "--format", "json")
    assert json.loads(result.stdout)[0]["ci_method"] == "sandwich clustered by prompt_id and rater_id"


def test_ranks_and_listing_are_columns_on_the_screen_and_for_programs(votes: Path):
    shown = salon(votes, "--ranks", "--listing", "--bootstrap", 50)
    assert shown.exit_code == 0
    assert "more matches" in shown.stdout
    header = salon(votes, "--ranks", "--listing", "--bootstrap", 50, "--format", "csv").stdout.splitlines()[0]
    assert header.endswith("rank_low,rank_high,width,match_effect,listed,matches_needed")


def test_an_explanation_is_sentences_and_nothing_that_a_terminal_acts_on(votes: Path):
    result = called("explain", votes, "x", "--interval", "bca", "--bootstrap", 50)
    assert result.exit_code == 0
    assert result.stdout.startswith("x is rated")
    assert "\x1b" not in result.stdout
    assert result.stdout.count("Holm") == 2


def test_differences_and_contributions_go_to_files(votes: Path, tmp_path: Path):
    pairs, prompts = tmp_path / "pairs.json", tmp_path / "prompts.csv"
    result = called("compare", votes, "--output", pairs, "--interval", "sandwich")
    assert result.exit_code == 0
    assert "Holm" in " ".join(result.stdout.split())
    assert len(json.loads(pairs.read_text(encoding="utf-8"))["rows"]) == 3
    result = called("explain", votes, "x", "--contributions", prompts, "--interval", "sandwich")
    assert result.exit_code == 0
    assert "contributions of each prompt_id" in result.stderr
    assert pl.read_csv(prompts).columns == ["prompt_id", "model", "contribution", "matches"]


@pytest.mark.parametrize("format_", ["table", "csv", "json"])
def test_groups_stand_side_by_side(votes: Path, format_: str):
    result = called("compare", votes, "--by", "mode", "--format", format_)
    assert result.exit_code == 0
    assert ("difference public" if format_ == "table" else "change public") in result.stdout
    # Into a pipe, csv has every character as it is; the others write it out.
    assert ("\x1b" in result.stdout) == (format_ == "csv")


def test_labels_make_a_board_each(votes: Path):
    boards = json.loads(salon(votes, "--by", "labels", "--bootstrap", 0, "--format", "json").stdout)
    assert [board["group"] for board in boards] == ["style", "text"]
    assert boards[1]["battles"] == 600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "mode", "--listing"], "--listing"),
        (["--by", "prompt"], "missing column"),
        (["--listing", "--bootstrap", "0"], "needs intervals"),
        (["--interval", "bca", "--cluster", "prompt_id", "--cluster", "rater_id"], "one column of clusters"),
        (["--cluster", "labels"], "one value per row"),
    ],
)
def test_mistakes_are_named_and_nothing_is_printed(votes: Path, arguments: list[str], said: str):
    result = salon(votes, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "--by", "prompt"], "missing column"),
        (["compare", "--output", "pairs.txt"], "unknown kind of output"),
        (["compare", "--interval", "bca"], "no BCa intervals"),
        (["compare", VOTES, "--by", "mode"], "--by compares groups of one set"),
        (["compare", VOTES, "--interval", "percentile"], "compared by sandwiches"),
        (["explain", "x", "--contributions", "nowhere/c.csv"], "no such folder"),
        (["explain", "x", "--contributions", "c.csv", "--prompt", "theme"], "missing column"),
        (["explain", "x", "--contributions", "c.csv", "--ties", "davidson"], "for plain Bradley-Terry"),
        (["explain", "nobody", "--bootstrap", "9"], "unknown model"),
    ],
)
def test_mistakes_of_the_other_commands_are_named_and_nothing_is_printed(votes: Path, words: list[str], said: str):
    result = called(words[0], votes, *(votes if word is VOTES else word for word in words[1:]))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr

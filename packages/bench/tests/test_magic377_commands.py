"""The commands of ``salon bench magic-bench-377``."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two prompts, and empty pictures of two models."""
    header = "prompt_id,prompt,labels,scenario,test_points\n"
    rows = "gems,Three gems.,Quantity,Art,Quantity: =3 gems; State\npond,A pond.,Style,Film,\n"
    (tmp_path / "prompts.csv").write_text(header + rows)
    for model in "xy":
        (tmp_path / model).mkdir()
        for name in ("gems.0.png", "gems.1.png", "pond.png"):
            (tmp_path / model / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def bench(*words: object) -> Result:
    return salon("bench", "magic-bench-377", *words)


SUBJECTS = ("--model", "x", "--generations", "x", "--model", "y", "--generations", "y")


def test_draft_writes_a_file_with_battles_and_may_look_at_those_that_were_had(folder: Path) -> None:
    first = bench("draft", "--prompts", "prompts.csv", *SUBJECTS, "--battles", 10, "--output", "drawn.jsonl")
    assert "battles over 2 prompts in drawn.jsonl" in first.output
    had = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]})
    had.write_csv("had.csv")
    again = bench(
        *("draft", "--prompts", "drawn.jsonl", *SUBJECTS, "--battles", 10, "--output", "drawn2.jsonl"),
        *("--before", "had.csv", "--rule", "information"),
    )
    assert again.exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["draft", "--prompts", "none.csv", *SUBJECTS, "--battles", "5", "--output", "a.jsonl"], "there is no such file"),
        (["draft", "--prompts", "prompts.csv", "--battles", "5", "--output", "a.jsonl"], "--model"),
        (["draft", "--prompts", "x", *SUBJECTS, "--battles", "5", "--output", "a.jsonl"], "is a folder, not a file"),
        (["draft", "--prompts", "x/pond.png", *SUBJECTS, "--battles", "5", "--output", "a.jsonl"], "unknown kind of file"),
        (["draft", "--prompts", "prompts.csv", *SUBJECTS, "--battles", "5", "--output", "a.csv"], "JSON Lines"),
        (["draft", "--prompts", "prompts.csv", *SUBJECTS[:4], "--battles", "5", "--output", "a.jsonl"], "2 to"),
    ],
)
def test_a_mistake_is_explained_and_exits_two(folder: Path, words: list[str], said: str) -> None:
    result = bench(*words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())

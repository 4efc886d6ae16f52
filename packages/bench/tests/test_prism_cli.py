"""``salon bench prism``: what its commands write, print and refuse."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from salon_bench.cli.prism import prism
from salon_bench.suites.prism.score_rows import frame_of
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Score


def call(*arguments):
    result = CliRunner().invoke(prism, [str(each) for each in arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    return result


@pytest.fixture
def scores(tmp_path):
    rows = [
        Score(
            run_id="r", suite="prism", task="style", subject_model=f"m{model}", prompt_id=f"p{prompt}",
            generation_id=f"g{model}{prompt}", dimension=axis, value=float((model + prompt) % 11), judge="j",
        )
        for model in range(4) for prompt in range(5) for axis in ("alignment", "aesthetic")
    ]  # fmt: skip
    path = tmp_path / "scores.csv"
    frame_of(rows).write_csv(path)
    return path


def test_agreement_of_a_judge_with_people_and_with_itself(tmp_path, scores):
    marks = tmp_path / "marks.csv"
    lines = [f"p{p},m{m},{rater},{(m + p) % 11}" for m in range(4) for p in range(5) for rater in "abc"]
    marks.write_text("prompt_id,model,rater_id,value\n" + "\n".join(lines) + "\n")
    found = json.loads(call("agreement", "--scores", scores, "--people", marks, "--format", "json", "--bootstrap", 10).output)
    [style] = [row for row in found["rows"] if row["track"] == "style"]
    assert (style["kendall"], style["items"]) == (1.0, 20)
    both = ("--scores", scores, "--scores", scores, "--format", "json", "--bootstrap", 0)
    for level, items in (("models", 4), ("pictures", 20)):
        rows = json.loads(call("agreement", *both, "--level", level).output)["rows"]
        assert [row["items"] for row in rows if row["track"] == "style"] == [items]


def test_bilingual_shows_what_has_no_value_as_a_dash(scores):
    output = call("bilingual", "--english", scores, "--chinese", scores, "--bootstrap", 20).output
    assert output.splitlines()[1].split()[:5] == ["average", "–", "–", "–", "–"]
    assert "5 prompts are in both languages" in output


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--scores", "a.csv"),
        ("--people", "."),
        ("--scores", "a", "--scores", "b", "--scores", "c"),
        ("--scores", "a", "--scores", "b", "--dimension", "beauty"),
    ],
)
def test_agreement_asks_for_one_comparison(arguments):
    result = call("agreement", *arguments)
    assert result.exit_code == 2
    assert "Error" in result.output


def test_files_that_are_not_there_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        call("agreement", "--scores", tmp_path / "a.csv", "--people", tmp_path / "b.csv")


def test_every_command_teaches_with_an_example():
    for name, command in prism.commands.items():
        assert f"salon bench prism {name}" in command.help


def test_help_needs_none_of_the_heavy_libraries():
    heavy = ("polars", "sklearn", "rapidocr", "numpy")
    code = "import sys; from salon_bench.cli.prism import prism; print([name for name in %r if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

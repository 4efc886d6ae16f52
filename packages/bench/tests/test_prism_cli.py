"""``salon bench prism``: what its commands write, print and refuse."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from salon_bench.cli.prism import prism
from salon_bench.runs.score_rows import frame_of
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


def test_bilingual_shows_what_has_no_value_as_a_dash(scores):
    output = call("bilingual", "--english", scores, "--chinese", scores, "--bootstrap", 20).output
    assert output.splitlines()[1].split()[:5] == ["average", "–", "–", "–", "–"]
    assert "5 prompts are in both languages" in output


def test_files_that_are_not_there_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        call("bilingual", "--english", tmp_path / "a.csv", "--chinese", tmp_path / "b.csv")


def test_every_command_teaches_with_an_example():
    for name, command in prism.commands.items():
        assert f"salon bench prism {name}" in command.help


def test_help_needs_none_of_the_heavy_libraries():
    heavy = ("polars", "sklearn", "rapidocr", "numpy")
    code = "import sys; from salon_bench.cli.prism import prism; print([name for name in %r if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

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


def table(path, models=("m0",), judges=("j",)):
    rows = [
        Score(
            run_id="r", suite="prism", task="style", subject_model=model, prompt_id=f"p{prompt}",
            generation_id=f"g{model}{prompt}", dimension=axis, value=float(prompt % 11), judge=judge,
        )
        for model in models for judge in judges for prompt in range(5) for axis in ("alignment", "aesthetic")
    ]  # fmt: skip
    frame_of(rows).write_csv(path)
    return path


@pytest.fixture
def scores(tmp_path):
    return table(tmp_path / "scores.csv")


def test_rows_of_several_models_or_judges_are_no_one_model(scores, tmp_path):
    models, judges = table(tmp_path / "models.csv", ("m0", "m1")), table(tmp_path / "judges.csv", judges=("j", "k"))
    with pytest.raises(InputError, match=r"column 'subject_model': the rows in English are of several: 'm0, m1'"):
        call("bilingual", "--english", models, "--chinese", scores)
    with pytest.raises(InputError, match=r"column 'judge': the rows in Chinese are of several: 'j, k'"):
        call("bilingual", "--english", scores, "--chinese", judges)


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

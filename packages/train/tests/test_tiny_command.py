"""``salon train tiny`` makes the model that a configuration names, from the configuration's own words."""

import json
from functools import partial

import pytest
from click.testing import CliRunner

from salon_console import main
from salon_synthetic.artifacts import draw_examples, write_examples
from salon_taxonomy.errors import InputError

CONFIGURATION = """
[run]
folder = "{here}/run"
[model]
name = "{here}/tiny"
[data]
train = ["{here}/world/examples.jsonl"]
question = "What is wrong?"
[sft]
steps = 1
"""


@pytest.fixture
def configuration(tmp_path):
    write_examples(tmp_path / "world", partial(draw_examples, seed=1, size=32), 12, settings={"seed": 1})
    file = tmp_path / "run.toml"
    file.write_text(CONFIGURATION.format(here=tmp_path))
    return file


def run(*words):
    return CliRunner().invoke(main, ["train", "tiny", *map(str, words)])


@pytest.mark.parametrize("architecture", ["llava", "qwen2_5_vl"])
def test_the_model_stands_where_the_configuration_says_and_answers_are_short_for_it(configuration, architecture):
    from transformers import AutoProcessor

    done = run(configuration, "--architecture", architecture, "--format", "json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["architecture"] == architecture and told["parameters"] < 2_000_000
    tokenizer = AutoProcessor.from_pretrained(told["folder"]).tokenizer
    assert len(tokenizer('\\boxed{{"Whether Normal": true}}')["input_ids"]) < 12


def test_the_model_stands_beside_the_file_wherever_the_command_is_given(configuration, tmp_path, monkeypatch):
    from salon_train.configuration import read_configuration

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    configuration.write_text(configuration.read_text().replace(f"{tmp_path}/tiny", "tiny"))
    assert run(configuration).exit_code == 0
    assert not list(elsewhere.iterdir())
    assert read_configuration(configuration).model.name == str(tmp_path / "tiny")


def test_a_tiny_model_does_not_take_the_place_of_one_on_the_hub(configuration, tmp_path):
    configuration.write_text(configuration.read_text().replace(f"{tmp_path}/tiny", "Qwen/Qwen2.5-VL-7B-Instruct"))
    refused = run(configuration)
    assert refused.exit_code == 2
    assert "is a model on the hub" in refused.stderr
    assert not (tmp_path / "Qwen").exists()


def test_a_model_that_stands_there_is_kept_unless_told_otherwise(configuration):
    assert run(configuration).exit_code == 0
    refused = run(configuration)
    assert isinstance(refused.exception, InputError) or refused.exit_code == 2
    assert run(configuration, "--again", "--seed", "1").exit_code == 0

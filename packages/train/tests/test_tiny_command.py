"""``salon train tiny`` makes the model that a configuration names, from the configuration's own words."""

import json
from functools import partial

import pytest
from click.testing import CliRunner

from salon_taxonomy.cli import main
from salon_taxonomy.errors import InputError
from salon_train.world import draw_examples, write_examples

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


def test_a_model_that_stands_there_is_kept_unless_told_otherwise(configuration):
    assert run(configuration).exit_code == 0
    refused = run(configuration)
    assert isinstance(refused.exception, InputError) or refused.exit_code == 2
    assert run(configuration, "--again", "--seed", "1").exit_code == 0

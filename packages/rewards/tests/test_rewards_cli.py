"""``salon rewards``: files, texts and standard input; what is wrong is named, and a broken answer is no error."""

import json

import pytest
from click.testing import CliRunner, Result

from salon_rewards import REWARDS
from salon_taxonomy.cli import main

NORMAL = '{"Whether Normal": true}'
REPLY = "<think>Fine.</think>\\boxed{" + NORMAL + "}"


def salon(*words: str, **more: object) -> Result:
    return CliRunner().invoke(main, ["rewards", *words], **more)


def scored(*words: str, **more: object) -> dict:
    result = salon("score", "magicmirror", *words, "--format", "json", **more)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_list_names_every_reward():
    listed = json.loads(salon("list", "--format", "json").stdout)
    assert [entry["name"] for entry in listed] == [entry.name for entry in REWARDS] == sorted(entry.name for entry in REWARDS)
    shown = salon("list").stdout
    assert all(entry.name in shown for entry in REWARDS)


def test_texts_are_scored():
    assert scored("--truth", NORMAL, "--answer", REPLY)["total"] == 12.0
    assert scored("--truth", REPLY, "--answer", REPLY)["total"] == 12.0


def test_files_and_standard_input_are_scored(tmp_path):
    truth, answer = tmp_path / "truth.json", tmp_path / "my answer.txt"
    truth.write_text(NORMAL + "\n")
    answer.write_text(REPLY)
    assert scored("--truth", str(truth), "--answer", str(answer))["total"] == 12.0
    assert scored("--truth", str(truth), "--answer", "-", input=REPLY)["total"] == 12.0


@pytest.mark.parametrize("answer", ["", "The image is fine.", "{" * 5000, "a b" * 2000])
def test_a_broken_answer_earns_nothing_and_is_no_error(answer):
    result = scored("--truth", NORMAL, "--answer", answer)
    assert (result["format"], result["total"]) == (0.0, 0.0)
    assert result["flaw"]["detail"]


def test_the_table_shows_components_on_standard_output_and_the_flaw_on_standard_error():
    result = salon("score", "magicmirror", "--truth", NORMAL, "--answer", "", "--consistency", "no", "--mode", "gate")
    assert result.exit_code == 0
    assert "consistency" in result.stdout
    assert "gate" in result.stdout
    assert result.stderr == "format: empty: nothing stands in the reply\n"


def test_an_abstaining_judge_is_shown_as_such():
    result = scored("--truth", NORMAL, "--answer", REPLY, "--consistency", "abstained")
    assert (result["total"], result["total_unscored"]) == (None, "abstained")
    shown = salon("score", "magicmirror", "--truth", NORMAL, "--answer", REPLY, "--consistency", "abstained").stdout
    assert "unscored (abstained)" in shown


def test_reasoning_can_be_left_out_when_asked():
    bare = "\\boxed{" + NORMAL + "}"
    assert scored("--truth", NORMAL, "--answer", bare)["format"] == 0.0
    assert scored("--truth", NORMAL, "--answer", bare, "--without-reasoning")["format"] == 1.0


def test_standard_input_is_read_once():
    result = salon("score", "magicmirror", "--truth", "-", "--answer", "-", input=REPLY)
    assert result.exit_code == 2
    assert "only one of --truth and --answer" in result.stderr


def test_a_missing_file_is_named():
    result = salon("score", "magicmirror", "--truth", "gone.json", "--answer", REPLY)
    assert result.exit_code == 2
    assert "--truth: there is no such file, and it is no answer either 'gone.json'" in result.stderr


def test_a_folder_is_no_file(tmp_path):
    result = salon("score", "magicmirror", "--truth", NORMAL, "--answer", str(tmp_path))
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr


@pytest.mark.parametrize("truth", ["", "{}", '{"Whether Normal": "yes"}', "\\boxed{}"])
def test_a_truth_that_is_none_says_what_to_give(truth):
    result = salon("score", "magicmirror", "--truth", truth, "--answer", REPLY)
    assert result.exit_code == 2
    assert "no MagicMirror labels" in result.stderr
    assert 'Give JSON such as {"Whether Normal": true}' in result.stderr


def test_bytes_that_are_no_utf8_are_named(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes(b"caf\xe9")
    result = salon("score", "magicmirror", "--truth", NORMAL, "--answer", str(path))
    assert result.exit_code == 2
    assert "is not UTF-8 at byte 3" in result.stderr


def test_an_unknown_option_value_lists_the_allowed_ones():
    result = salon("score", "magicmirror", "--truth", NORMAL, "--answer", REPLY, "--mode", "sum")
    assert result.exit_code == 2
    assert "term" in result.stderr
    assert "gate" in result.stderr

"""``salon train data``: tables and JSON, exit codes, and data sets that can be loaded again."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasets import load_from_disk
from PIL import Image

from salon_console import main

HAND = {"Whether Normal": False, "Type of Deformity": {"L2: Abnormal Human Anatomy": ["L3: Hand Structure Deformity"]}}


def salon(*words: object):
    return CliRunner().invoke(main, ["train", "data", *map(str, words)])


@pytest.fixture
def train(tmp_path) -> Path:
    rows = []
    for number in range(6):
        Image.new("RGB", (24, 16), (number, 0, 0)).save(tmp_path / f"{number}.png")
        rows.append(
            {"images": f"{number}.png", "response": {"Whether Normal": True} if number % 2 else HAND, "prompt": "a hand"}
        )
    rows[1]["response"] = "<think>Five fingers.</think>\\boxed{" + json.dumps({"Whether Normal": True}) + "}"
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def spoiled(train) -> Path:
    path = train.with_name("spoiled.jsonl")
    path.write_text(train.read_text() + '{"images": "0.png"}\n{"images": "7.png", "response": {"Whether Normal": true}}\n')
    return path


def test_check_says_how_many_rows_can_be_used(train):
    done = salon("check", train)
    assert done.exit_code == 0
    assert done.stdout.startswith("6 rows can be used, 0 cannot.\n")


def test_check_names_file_row_column_and_value_of_each_unusable_row(spoiled):
    done = salon("check", spoiled)
    assert done.exit_code == 0
    assert done.stdout.startswith("6 rows can be used, 2 cannot.\n")
    assert "Rows that cannot be used: 2 (1 row, 1 picture). The first:" in done.stderr
    assert f"{spoiled}, row 7, column 'response': are no labels" in done.stderr
    assert f"{spoiled}, row 8, column 'images': there is no such file: '7.png'" in done.stderr


@pytest.mark.parametrize("form", ["table", "json"])
def test_strict_exits_with_1_and_still_prints(spoiled, form):
    done = salon("check", spoiled, "--look", "exists", "--strict", "--format", form)
    assert done.exit_code == 1
    assert done.stdout


def test_check_as_json_holds_the_same(spoiled):
    printed = json.loads(salon("check", spoiled, "--format", "json").stdout)
    assert (printed["usable"], printed["unusable"]) == (6, {"row": 1, "picture": 1})
    first = printed["first_unusable"][1]
    assert (first["number"], first["column"], first["value"], first["fault"]) == (8, "images", "7.png", "picture")


def test_too_many_unusable_rows_stop_the_reading(spoiled):
    done = salon("check", spoiled, "--most-unusable", 1)
    assert done.exit_code == 2
    assert "more than 1 rows cannot be used; reading stopped" in done.stderr


def test_counts_stand_beside_the_papers(train):
    done = salon("check", train)
    assert done.exit_code == 0
    hand = next(line for line in done.stdout.splitlines() if line.strip().startswith("L3: Hand"))
    assert hand.split()[-4:] == ["3", "100.00", "3", "50,959"]
    normal = next(line for line in done.stdout.splitlines() if line.strip().startswith("normal "))
    assert normal.split() == ["normal", "3", "50.00", "50.00", "1.00"]
    assert "hard positives 0, reasoned 1, several buckets 0" in done.stdout


def test_counts_as_json_take_another_ratio(train):
    printed = json.loads(salon("check", train, "--ratio", "1:0:1:0:0", "--format", "json").stdout)
    assert [line["drawn"] for line in printed["buckets"]] == [50.0, 0.0, 50.0, 0.0, 0.0, 0.0]
    assert printed["labels"][0] == {"label": "Total", "total": 6, "share": None, "train": 6, "published_train": 325238}
    assert salon("check", train, "--ratio", "1:2").exit_code == 2


def test_convert_writes_what_datasets_loads(train, tmp_path):
    done = salon("convert", train, "--for", "grpo", "--wording", "bare", "--longest-side", 12, "--output", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("6 rows for grpo: prompt, images, truth, example_id, bucket, buckets, hard_positive\n")
    data = load_from_disk(str(tmp_path / "out"))
    assert data[0]["images"][0].size == (12, 8)
    assert json.loads(data[0]["truth"]) == HAND


def test_convert_for_sft_can_take_the_reasoned_rows_alone(train, tmp_path):
    done = salon("convert", train, "--for", "sft", "--only-reasoned", "--output", tmp_path / "out", "--format", "json")
    assert json.loads(done.stdout)["rows"] == 1
    assert "Five fingers." in load_from_disk(str(tmp_path / "out"))[0]["completion"][0]["content"]


def test_convert_writes_nothing_where_strict_finds_fault_or_the_folder_is_there(spoiled, tmp_path):
    done = salon("convert", spoiled, "--for", "sft", "--output", tmp_path / "out", "--strict")
    assert done.exit_code == 1
    assert "nothing was written" in done.stdout
    assert not (tmp_path / "out").exists()
    again = salon("convert", spoiled, "--for", "sft", "--output", tmp_path)
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_convert_counts_tokens_with_a_models_own_processor(train, tmp_path):
    from salon_train.models import TinyShape, build_tiny_model

    shape = TinyShape(image_size=32, vision_width=32, vision_layers=1, text_width=32, text_layers=1)
    build_tiny_model(tmp_path / "model", ["What is wrong here?"], seed=1, shape=shape)
    words = ["convert", train, "--for", "grpo", "--wording", "bare", "--processor", tmp_path / "model"]
    done = salon(*words, "--most-tokens", 3, "--output", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert "6 rows have more than 3" in done.stdout
    strict = salon(*words, "--most-tokens", 3, "--strict", "--output", tmp_path / "strict")
    assert strict.exit_code == 1
    assert not (tmp_path / "strict").exists()


def test_what_cannot_be_is_said_in_one_line(train, tmp_path):
    assert salon("check", tmp_path / "gone.jsonl").exit_code == 2
    assert salon("check", train, "--pictures", tmp_path / "gone").exit_code == 2
    missing = salon("convert", train, "--for", "grpo", "--processor", tmp_path / "gone", "--output", tmp_path / "out")
    assert missing.exit_code == 2
    assert "cannot be loaded from this machine" in missing.stderr
    limit = salon("convert", train, "--for", "grpo", "--most-tokens", 3, "--output", tmp_path / "out")
    assert limit.exit_code == 2
    assert "--most-tokens needs --processor" in limit.stderr
    for done in (missing, limit):
        assert "Traceback" not in done.output

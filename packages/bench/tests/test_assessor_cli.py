"""The command ``assessor evaluate``."""

import json

import pytest
from click.testing import CliRunner

from salon_bench.cli.assessor import assessor

NORMAL, FLAWED = (
    '{"Whether Normal": true}',
    '{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Object Morphology": true}}',
)


def run(group, *arguments):
    return CliRunner().invoke(group, [str(argument) for argument in arguments], catch_exceptions=True)


@pytest.fixture
def files(tmp_path):
    truth = [("1", FLAWED), ("2", FLAWED), ("3", NORMAL), ("4", NORMAL)]
    given = [("1", f"\\boxed{{{FLAWED}}}"), ("2", "I see nothing"), ("3", NORMAL), ("4", FLAWED)]
    for name, rows in (("truth", truth), ("answers", given), ("magic_test", truth)):
        lines = [json.dumps({"images": image, "response": text}) + "\n" for image, text in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    return tmp_path


def test_evaluate_prints_scores_and_how_many_answers_were_read(files):
    done = run(assessor, "evaluate", files / "truth.jsonl", files / "answers.jsonl", "--bootstrap", 50)
    assert done.exit_code == 0
    assert "Images: 4. Answers read: 3, not read: 1 (1 malformed; counted as giving no label)." in done.output
    assert "0.5000" in done.output
    assert "0.5000 [" not in done.output, "four images are too few for an interval"
    assert "L3:" not in done.output


def test_evaluate_as_json_is_finite_and_complete(files):
    done = run(assessor, "evaluate", files / "truth.jsonl", files / "answers.jsonl", "--format", "json", "--level", "all")
    document = json.loads(done.output)
    assert document["reasons"] == {"malformed": 1}
    assert len(document["rows"]) == 28
    assert document["rows"][0]["precision"] == 0.5


def test_evaluate_leaves_invalid_answers_out_on_request(files):
    done = run(
        assessor, "evaluate", files / "truth.jsonl", files / "answers.jsonl", "--invalid", "left_out", "--format", "json"
    )
    assert json.loads(done.output)["rows"][0]["recall"] == 1.0


def test_evaluate_against_another_assessor_prints_paired_differences(files):
    paths = [files / "truth.jsonl", files / "truth.jsonl", "--against", files / "answers.jsonl"]
    done = run(assessor, "evaluate", *paths, "--bootstrap", 50)
    assert done.exit_code == 0
    assert "+0.5000 [" in done.output
    assert json.loads(run(assessor, "evaluate", *paths, "--format", "json").output)["rows"][1]["difference"] == 0.5
    assert run(assessor, "evaluate", *paths, "--invalid", "left_out").exit_code == 2


def test_every_command_has_help_with_an_example():
    for name in assessor.commands:
        assert f"salon bench {assessor.name} {name}" in run(assessor, name, "--help").output

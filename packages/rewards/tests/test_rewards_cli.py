"""``salon reward``: files, texts and standard input; what is wrong is named, and a broken answer is no error."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from for_each import for_each
from salon_console import main
from salon_rewards import REWARDS
from salon_rewards.scoring.cli import _print
from salon_rewards.scoring.scored import ScoredCompletions
from salon_taxonomy.verdict import Reason, Unscored

NORMAL = '{"Whether Normal": true}'
REPLY = "<think>Fine.</think>\\boxed{" + NORMAL + "}"


def salon(*words: str, **more: object) -> Result:
    return CliRunner().invoke(main, ["reward", *words], **more)


def test_the_list_names_every_reward():
    listed = json.loads(salon("list", "--format", "json").stdout)
    assert [entry["name"] for entry in listed] == [entry.name for entry in REWARDS] == sorted(entry.name for entry in REWARDS)
    shown = salon("list").stdout
    assert all(entry.name in shown for entry in REWARDS)


def file(tmp_path, rows: list) -> str:
    path = tmp_path / "completions.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


ROWS = [
    {"completion": REPLY, "truth": NORMAL, "example_id": "1"},
    {"completion": "It is fine.", "truth": json.loads(NORMAL), "example_id": "1"},
    {"completion": [{"role": "assistant", "content": REPLY}], "truth": None, "example_id": "2"},
]


def test_a_file_is_scored_row_by_row_and_in_sum(tmp_path):
    path = file(tmp_path, ROWS)
    lines = salon("score", path, "--reward", "magicmirror", "--format", "json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"row": 1, "magicmirror": 12.0},
        {"row": 2, "magicmirror": 0.0},
        {"row": 3, "magicmirror": None, "unscored": {"magicmirror": "not_reported"}},
    ]
    shown = salon("score", path, "--reward", "magicmirror").stdout
    assert "1 (1 not_reported)" in shown
    assert "6" in shown


def test_several_rewards_have_weights_and_a_total(tmp_path):
    words = ["score", file(tmp_path, ROWS[:2]), "--reward", "l1", "--reward", "format", "--format", "json"]
    rows = [json.loads(line) for line in salon(*words, "--weights", "4,0.5").stdout.splitlines()]
    assert [row["total"] for row in rows] == [4.5, 0.0]
    assert [json.loads(line)["total"] for line in salon(*words).stdout.splitlines()] == [2.0, 0.0]


def test_why_is_told_in_the_terms_of_the_reward(tmp_path):
    hand = '{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Human Anatomy": []}}'
    path = file(tmp_path, [*ROWS, {"completion": REPLY, "truth": hand, "example_id": "3"}])
    words = ["score", path, "--reward", "magicmirror", "--explain"]
    why = [json.loads(line)["why"] for line in salon(*words, "--format", "json").stdout.splitlines()]
    assert why[0] == {"normal": True, "truly_normal": True, "found": [], "missed": [], "extra": []}
    assert why[1]["flaw"] == "malformed"
    assert why[2] == {"normal": True}
    assert why[3]["missed"] == ["L2: Abnormal Human Anatomy"]
    shown = salon(*words).stdout
    assert "malformed" in shown
    assert "missed" in shown
    evasive = '{"answer": false, "explanation": "Two.", "edit_prompt": "Change the prompt to two lemons."}'
    path = file(tmp_path, [{"completion": evasive, "matches": False}, {"completion": "?", "matches": True}])
    words = ["score", path, "--reward", "verdict", "--explain", "--format", "json"]
    shown = salon(*words).stdout
    why = [json.loads(line)["why"] for line in shown.splitlines()]
    assert "…" in shown  # legible, also beyond ASCII
    assert why[0] == {"matches": False, "illusory": "rewritten"}
    assert why[1]["flaw"] == "malformed"


def test_rows_go_to_a_file_whole_or_not_at_all(tmp_path):
    output = tmp_path / "scored.jsonl"
    done = salon("score", file(tmp_path, ROWS), "--reward", "magicmirror", "--output", str(output))
    assert done.exit_code == 0
    assert len(output.read_text().splitlines()) == 3
    assert "magicmirror" in done.stdout
    done = salon("score", file(tmp_path, ROWS), "--reward", "format", "--output", str(output), "--format", "json")
    assert json.loads(done.stdout)[0]["scored"] == 3
    before = output.read_text()
    bad = salon("score", file(tmp_path, [*ROWS, {"completion": "x", "truth": "?"}]), "--reward", "l1", "--output", str(output))
    assert bad.exit_code == 2
    assert output.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["completions.jsonl", "scored.jsonl"]
    gone = salon("score", file(tmp_path, ROWS), "--reward", "l1", "--output", str(tmp_path / "no" / "x.jsonl"))
    assert gone.exit_code == 2
    assert "there is no such folder" in gone.stderr
    salon("score", file(tmp_path, ROWS), "--reward", "magicmirror", "--explain", "--output", str(output))
    assert "no \\\\boxed{…} is in the reply" in output.read_text(encoding="utf-8")  # legible, also beyond ASCII


def test_standard_input_is_scored():
    done = salon("score", "-", "--reward", "think", "--format", "json", input=json.dumps(ROWS[0]) + "\n\n")
    assert json.loads(done.stdout) == {"row": 1, "think": 1.0}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "completions.jsonl, line 4: is no JSON object"),
        ("[" * 50_000, "completions.jsonl, line 4: is no JSON object"),
        ('{"completion": NaN}', "line 4: is no JSON object (NaN is not JSON)"),
        ('{"completion": "x", "truth": null, "truth": null}', "line 4: is no JSON object (the key 'truth' occurs twice)"),
        ("[1]", "line 4: is no JSON object: [1]"),
        ({"truth": NORMAL}, "line 4, column 'completion': the row lacks this column; it has: truth"),
        ({"completion": REPLY}, "line 4, column 'truth': the row lacks this column; it has: completion"),
        (
            {"completion": 3, "truth": NORMAL},
            "line 4, column 'completion': a completion is a text or a list of messages, not 3",
        ),
        ({"completion": ["x"], "truth": NORMAL}, "line 4, column 'completion': a completion is a text or a list of messages"),
        ({"completion": REPLY, "truth": "normal"}, "completions.jsonl, line 4, column 'truth': no MagicMirror labels"),
    ],
    ids=["cut off", "deep", "nan", "twice", "list", "no completion", "no truth", "number", "list of texts", "truth"],
)
def test_a_row_that_is_none_is_named_with_its_column(tmp_path, row, message):
    done = salon("score", file(tmp_path, [*ROWS, row]), "--reward", "magicmirror", "--format", "json")
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_row_beyond_the_first_chunk_is_counted_from_the_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr("salon_rewards.scoring.scored._CHUNK", 2)
    rows = [{"completion": REPLY, "truth": NORMAL}] * 5
    assert salon("score", file(tmp_path, rows), "--reward", "l1", "--format", "json").stdout.count('"l1": 1.0') == 5
    done = salon("score", file(tmp_path, [*rows, {"completion": REPLY, "truth": "?"}]), "--reward", "l1")
    assert "line 6, column 'truth'" in done.stderr


def test_a_group_that_reaches_over_a_chunk_is_not_torn_and_its_size_can_be_told(tmp_path, monkeypatch):
    monkeypatch.setattr("salon_rewards.scoring.scored._CHUNK", 2)
    ids = ["a", "b", "b", "a", "c", "c"]
    rows = [
        {"completion": REPLY, "truth": None if place == 3 else NORMAL, "group_id": name, "example_id": "1"}
        for place, name in enumerate(ids)
    ]
    words = ["score", file(tmp_path, rows), "--reward", "l1", "--reward", "format", "--format", "json"]
    totals = [json.loads(line)["total"] for line in salon(*words).stdout.splitlines()]
    assert totals == [None, 2.0, 2.0, None, 2.0, 2.0]
    totals = [json.loads(line)["total"] for line in salon(*words, "--group-size", "2").stdout.splitlines()]
    assert totals == [2.0, 2.0, None, None, 2.0, 2.0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--reward", "magic"], "--reward: there is no reward by rule called 'magic' (allowed: format"),
        (["--reward", "consistency"], "--reward: this reward asks a judge, use Python for 'consistency'"),
        (["--reward", "rectification"], "--reward: this reward asks an editor, use Python for 'rectification'"),
        (["--reward", "l1", "--reward", "l1"], "--reward: a reward is given twice"),
        (["--reward", "l1", "--weights", "1,2"], "--weights: needs 1 numbers, one for each --reward, not '1,2'"),
        (["--reward", "l1", "--weights", "one"], "--weights: needs numbers apart by commas"),
        (["--reward", "l1", "--weights", "nan"], "a weight must be a finite number"),
    ],
)
def test_rewards_and_weights_that_are_none_are_explained(tmp_path, words, message):
    done = salon("score", file(tmp_path, ROWS), *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_file_that_is_missing_or_empty_is_named(tmp_path):
    assert "gone.jsonl: there is no such file" in salon("score", "gone.jsonl", "--reward", "l1").stderr
    assert "holds no rows" in salon("score", file(tmp_path, []), "--reward", "l1").stderr
    path = tmp_path / "latin1.jsonl"
    path.write_bytes(b'{"completion": "caf\xe9"}')
    assert "line 1: is not UTF-8 at byte 19" in salon("score", str(path), "--reward", "think").stderr


def test_the_file_of_completions_is_never_written_over(tmp_path):
    path = file(tmp_path, ROWS)
    before = Path(path).read_bytes()
    done = salon("score", path, "--reward", "think", "--output", path)
    assert done.exit_code == 2
    assert "--output: would overwrite FILE|-, the same file" in done.stderr
    assert Path(path).read_bytes() == before


def test_a_gzipped_file_is_read_and_a_damaged_one_named(tmp_path):
    packed = gzip.compress(Path(file(tmp_path, ROWS)).read_bytes())
    whole, cut = tmp_path / "rows.jsonl.gz", tmp_path / "cut.jsonl.gz"
    whole.write_bytes(packed)
    cut.write_bytes(packed[:-12])
    plain = salon("score", file(tmp_path, ROWS), "--reward", "think", "--format", "json").stdout
    assert salon("score", str(whole), "--reward", "think", "--format", "json").stdout == plain
    assert salon("score", "-", "--reward", "think", "--format", "json", input=packed).stdout == plain
    assert "cut.jsonl.gz: is damaged" in salon("score", str(cut), "--reward", "think").stderr


@pytest.mark.parametrize(
    ("data", "problem", "hint"),
    [
        (b"PAR1\x15\x04\xff\x15", "is a Parquet file, not JSON Lines", "polars.read_parquet"),
        (b"completion,truth\nFine.,\n", "is no JSON object", "polars.read_csv"),
        (b'[{"completion": "Fine."}]', "is no JSON object", "jq -c"),
        (b'{"completion": "a", "completion": "b"}', "the key 'completion' occurs twice", ""),
        (b'{"completion": "a", "truth": {"Whether Normal": true, "Whether Normal": false}}', "occurs twice", ""),
        (b'{"completion": "a", "weight": 1e999}', "a number is too large", ""),
    ],
)
def test_what_is_no_json_lines_is_named_with_the_way_out(tmp_path, data, problem, hint):
    path = tmp_path / "rows"
    path.write_bytes(data)
    done = salon("score", str(path), "--reward", "think")
    assert done.exit_code == 2
    assert problem in done.stderr
    assert hint in done.stderr


def test_rewards_that_ask_are_told_from_rewards_that_there_are_not(tmp_path):
    def said(name):
        return salon("score", file(tmp_path, ROWS), "--reward", name).stderr

    assert "this reward asks an editor, use Python for 'rectification'" in said("rectification")
    assert "there is no reward by rule called 'nothing'" in said("nothing")
    for name in ("./my.py:red", "scorer:./my.py:red"):
        assert "`salon reward serve scorer:./my.py:red`" in said(name)
    assert "rates pictures or videos" in said("scorer:./my.py:red")


@for_each("words", [("audit", "/dev/zero"), ("score", "/dev/zero", "--reward", "think")])
def test_a_device_that_never_ends_is_refused_before_it_is_read(words):
    refused = CliRunner().invoke(main, ["reward", *words])
    assert (refused.exit_code, "/dev/zero: is a device, not a file" in refused.output) == (2, True), refused.output


def test_what_completions_earned_is_printed_with_flaws_by_number_and_labels(capsys: pytest.CaptureFixture[str]) -> None:
    label = {"found": ["L2: a"], "missed": ["L2: b"], "extra": []}
    why = [label, label, {"flaw": "empty"}, {"flaw": "no box"}, {"flaw": "no box"}]
    paid = [1.0, 2.0, Unscored(Reason.TIMEOUT), Unscored(Reason.TIMEOUT), 4.5]
    _print(ScoredCompletions({"one": paid, "total": [1.0] * 5}, {"one": 2.5, "total": 1.0}, why))
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert rows == [
        ["reward", "weight", "mean", "lowest", "highest", "scored", "unscored"],
        ["one", "2.5", "2.5", "1", "4.5", "3", "2", "(2", "timeout)"],
        ["total", "1", "1", "1", "5", "0"],
        ["flaw", "of", "the", "format", "completions"],
        ["no", "box", "2"],
        ["empty", "1"],
        ["label", "found", "missed", "extra"],
        ["L2:", "a", "2", "0", "0"],
        ["L2:", "b", "0", "2", "0"],
    ]

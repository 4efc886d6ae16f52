"""``salon reward audit``: which runs it stops, what it prints, and which rows it refuses."""

import gzip
import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_rewards.cli import reward as group
from salon_rewards.monitors import Alarm, Reading, audit, read_log, watch
from salon_rewards.monitors.audit import MonitorHistory
from salon_taxonomy.answers import Artifact, MagicMirrorAnswer, R3Answer, magicmirror_json, render_magicmirror, render_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES

NORMAL = MagicMirrorAnswer(normal=True)
HAND = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Hand Structure Deformity",)),))


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [group.name, "audit", *map(str, words)])


def log(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def rows(steps: int = 15, *, lazy_from: int = 99) -> list[dict]:
    """A run whose policy knows the truth, and from some step on says "normal" to everything."""
    made = []
    for step in range(steps):
        for place in range(40):
            truth = HAND if place % 2 else NORMAL
            said = NORMAL if step >= lazy_from else truth
            thought = (
                f"Hand {place} of picture {step} has six fingers." if said is HAND else f"All {place} is natural in {step}."
            )
            made.append(
                {"step": step, "completion": render_magicmirror(said, thought), "truth": magicmirror_json(truth), "reward": 1.0}
            )
        made.append({"step": step, "held_out": 0.8})
    return made


def test_hostile_completions_are_audited_like_any_other(tmp_path: Path) -> None:
    made = [{"step": step, "completion": text} for step in range(12) for text in HOSTILE_REPLIES]
    done = run(log(tmp_path / "run.jsonl", made), "--format", "json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert (found["verdict"], found["unreadable"]) == ("stop", 12 * len(HOSTILE_REPLIES))


def test_an_honest_run_passes(tmp_path: Path) -> None:
    done = run(log(tmp_path / "run.jsonl", rows()))
    assert done.exit_code == 0, done.output
    assert "600 completions of 15 steps: ok" in done.stdout


def test_a_run_that_goes_wrong_ends_with_1_and_says_since_when(tmp_path: Path) -> None:
    path = log(tmp_path / "run.jsonl", rows(lazy_from=9))
    done = run(path)
    assert done.exit_code == 1
    assert "stop: always_normal from step 9" in done.stdout
    found = json.loads(run(path, "--format", "json").stdout)
    history = next(item for item in found["monitors"] if item["name"] == "always_normal")
    assert (history["verdict"], history["first"]["value"], history["last"]["value"], history["alarmed"]["step"]) == (
        "stop",
        0,
        1,
        9,
    )
    assert len(history["values"]) == len(history["steps"]) == 15


def test_thresholds_are_options(tmp_path: Path) -> None:
    path = log(tmp_path / "run.jsonl", rows(lazy_from=9))
    done = run(path, "--threshold", "always_normal=0.5,inf", "--threshold", "reasoning_contradiction=2,inf")
    assert done.exit_code == 0, done.output
    assert "warn: always_normal" in done.stdout
    for wrong, words in (
        ("always=1,2", "allowed: label_flooding"),
        ("always_normal=x", "two numbers"),
        ("always_normal=3,2", "stop"),
    ):
        refused = run(path, "--threshold", wrong)
        assert refused.exit_code == 2
        assert words in refused.stderr


def test_refiners_logs_are_audited_by_their_grammar(tmp_path: Path) -> None:
    text = render_r3(R3Answer(False, "No cat.", "Change the prompt to a dog."), "A dog.")
    made = [
        {"step": 0, "completion": [{"role": "assistant", "content": text}], "matches": place % 2 == 0} for place in range(40)
    ]
    done = run(log(tmp_path / "run.jsonl", made), "--grammar", "r3")
    assert done.exit_code == 1
    assert "stop: prompt_editing from step 0" in done.stdout
    assert "stop: always_artifact from step 0: 100% say 'does not match' on 40 pictures; 50% expected" in done.stdout


def test_columns_may_have_other_names_and_steps_any_order(tmp_path: Path) -> None:
    made = [{"step": 9 - step, "completion": "?", "total": step, "f1": step / 10} for step in range(10)]
    steps = read_log(log(tmp_path / "run.jsonl", made), reward_column="total", held_out_column="f1")
    assert [(step.step, step.columns["reward"], step.held_out) for step in steps][:2] == [(0, [9], 0.9), (1, [8], 0.8)]
    worst = audit(steps, watch()).histories
    assert next(item for item in worst if item.name == "reward_metric_divergence").last.verdict is Alarm.OK
    done = run(tmp_path / "run.jsonl", "--reward-column", "total", "--held-out-column", "f1", "--lower-is-better")
    assert "reward_metric_divergence" in done.stdout
    for option in ("--reward-column", "--held-out-column"):
        mistyped = run(tmp_path / "run.jsonl", option, "totle")
        assert (mistyped.exit_code, mistyped.stdout) == (2, "")
        assert "column 'totle': no row has this column (allowed: completion, f1, step, total)" in mistyped.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2: is no JSON object"),
        ("[1]", "line 2: is no JSON object"),
        ('{"step": 1, "step": 2}', "line 2: is no JSON object (the key 'step' occurs twice)"),
        ('{"step": "1"}', "line 2, column 'step'"),
        ('{"completion": "x"}', "The row has: completion."),
        ('{"step": 1}', "line 2, column 'completion': is missing"),
        ('{"step": 1, "completion": 5}', "line 2, column 'completion'"),
        ('{"step": 0, "completion": "x", "truth": "normal"}', "line 2, column 'truth': no MagicMirror labels"),
        ('{"step": 0, "completion": "x", "reward": "high"}', "line 2, column 'reward'"),
        ('{"step": 1, "held_out": "high"}', "line 2, column 'held_out'"),
        ('{"step": 0, "held_out": 0.5}', "step 0 has another value already, 0.4"),
        ('{"step": 1, "held_out": NaN}', "NaN is not JSON"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"step": 0, "completion": "x", "held_out": 0.4}\n' + line + "\n")
    done = run(path)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "run.jsonl" in done.stderr


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    assert "there is no such file" in run(tmp_path / "gone.jsonl").stderr
    assert "cannot be read" in run(tmp_path).stderr
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    assert "holds no completion" in run(empty).stderr
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + b'{"step": 0, "completion": "x"}')
    assert len(read_log(marked)) == 1
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"step": 0, "completion": "caf\xe9"}')
    assert "is not UTF-8" in run(latin).stderr
    with pytest.raises(InputError):
        read_log(empty)


def test_a_log_is_read_from_gzip_and_from_standard_input(tmp_path: Path) -> None:
    path = log(tmp_path / "run.jsonl", rows(12))
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain = run(path, "--format", "json").stdout
    assert run(packed, "--format", "json").stdout == plain
    piped = CliRunner().invoke(main, [group.name, "audit", "-", "--format", "json"], input=path.read_bytes())
    assert piped.stdout == plain
    refused = CliRunner().invoke(main, [group.name, "audit", "-"], input=b"[1]\n")
    assert "standard input, line 1: is no JSON object" in refused.stderr


@pytest.mark.parametrize("downwards", [False, True])
def test_the_worst_reading_is_the_gravest_and_of_equals_the_one_that_went_furthest(downwards: bool) -> None:
    def history(*readings: tuple[float | None, Alarm | None]) -> MonitorHistory:
        read = partial(Reading, threshold=0.5, samples=40, unreadable=0, downwards=downwards)
        made = [read("m", step, value, verdict=verdict) for step, (value, verdict) in enumerate(readings)]
        return MonitorHistory("m", tuple(made))

    plain = history((0.0, Alarm.OK), (0.4, Alarm.OK), (0.2, Alarm.OK), (None, None))
    assert (plain.worst.step, plain.warned, plain.alarmed) == (2 if downwards else 1, None, None)
    assert (plain.first.step, plain.last.step) == (0, 2)
    grave = history((None, None), (0.9, Alarm.OK), (0.3, Alarm.WARN), (0.2, Alarm.STOP), (0.1, Alarm.STOP), (0.6, Alarm.WARN))
    assert (grave.worst.step, grave.warned.step, grave.alarmed.step) == (4 if downwards else 3, 2, 3)
    assert history((None, None)).worst is None

"""Editing conversations: each turn edits the result of the turn before, and questions are about turns."""

import hashlib
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.runs.picture_job import _opened
from salon_console import main
from salon_judges.formats.generations import MANIFEST, read_generations
from salon_synthetic import Item, Scene, png
from salon_synthetic.scenes.drawing import read_scene
from salon_taxonomy.errors import InputError

TURNS = ["Make the blue star red.", "Make the red star green.", "Make the green star yellow."]
PROGRAM = """\
import sys
from pathlib import Path

prompt, output, seed, *sources = sys.argv[1:]
with Path("calls.txt").open("a") as calls:
    calls.write(f"{Path(prompt).read_text()} {seed}\\n")
if Path(prompt).read_text() in Path("broken.txt").read_text().splitlines():
    sys.exit("out of ideas")
from salon_synthetic.scenes.drawing import png, read_scene
scene = read_scene(Path(sources[0]).read_bytes())
item = scene.items[0]
colour = Path(prompt).read_text().split()[-1].rstrip(".")
Path(output).write_bytes(png(scene.model_copy(update={"items": [item.model_copy(update={"colour": colour})]})))
"""
COMMAND = f"{shlex.quote(sys.executable)} mygen.py {{prompt_file}} {{output}} {{seed}} {{source}}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A conversation of three turns about a drawn star, and a program that does what it is told."""
    monkeypatch.chdir(tmp_path)
    Path("star.png").write_bytes(png(Scene(items=[Item(shape="star", colour="blue", x=40, y=40)])))
    prompts({"prompt_id": "one", "turns": TURNS, "source": "star.png"})
    Path("mygen.py").write_text(PROGRAM)
    Path("broken.txt").write_text("")
    return tmp_path


def prompts(*rows: Mapping[str, object]) -> None:
    Path("prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def generate(*more: object) -> Result:
    return salon("bench", "generate", "prompts.jsonl", "--output", "made", *more)


def manifest() -> list[dict[str, object]]:
    return [json.loads(line) for line in Path("made", MANIFEST).read_text().splitlines()]


def colours() -> list[str]:
    return [str(read_scene(Path("made", str(row["path"])).read_bytes()).items[0].colour) for row in manifest()]


def calls() -> list[str]:
    return Path("calls.txt").read_text().splitlines()


def test_each_turn_edits_the_result_of_the_turn_before(folder: Path) -> None:
    made = generate("--command", COMMAND, "--samples", 2, "--seed", 7)
    assert (made.exit_code, "6 pictures made, 0 kept" in made.stdout) == (0, True), made.output
    rows = sorted(manifest(), key=lambda row: (row["sample"], row["turn"]))
    assert [row["path"] for row in rows[:3]] == ["one.0.turn1.png", "one.0.turn2.png", "one.0.turn3.png"]
    assert [row["seed"] for row in rows] == [7, 1007, 2007, 8, 1008, 2008]
    assert [row["prompt"] for row in rows] == TURNS * 2
    assert rows[0]["source_sha256"] == [hashlib.sha256(Path("star.png").read_bytes()).hexdigest()]
    for before, after in pairwise(rows[:3]):
        assert after["source_sha256"] == [before["sha256"]]
    files = read_generations(Path("made"), "ours", ["one"]).of("one", "ours")
    assert [(file.sample, file.turn) for file in files] == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]


def test_drawn_scenes_are_drawn_and_then_edited(folder: Path) -> None:
    prompts({"prompt_id": "one", "turns": ["a blue star", *TURNS]}, {"prompt_id": "two", "prompt": "a red circle"})
    made = generate("--generator", "draw:0")
    assert made.exit_code == 0, made.output
    assert sorted(str(row["path"]) for row in manifest()) == [*(f"one.0.turn{n}.png" for n in range(1, 5)), "two.0.png"]
    assert colours()[:4] == ["blue", "red", "green", "yellow"]


def test_a_failing_turn_leaves_the_turns_before_and_no_turn_is_paid_twice(folder: Path) -> None:
    Path("broken.txt").write_text(TURNS[1])
    failed = generate("--command", COMMAND)
    assert failed.exit_code == 1
    assert "one, sample 0, turn 2: the command ended with 1: out of ideas; 1 later turns wait for it" in failed.stderr
    assert "1 rejected" in failed.stderr and "; 1 not tried" in failed.stderr
    assert colours() == ["red"]
    Path("broken.txt").write_text("")
    assert "2 pictures made, 1 kept" in generate("--command", COMMAND).stdout
    assert colours() == ["red", "green", "yellow"]
    assert calls() == [f"{TURNS[0]} 0", f"{TURNS[1]} 1000", f"{TURNS[1]} 1000", f"{TURNS[2]} 2000"]
    assert "0 pictures made, 3 kept" in generate("--command", COMMAND).stdout
    prompts({"prompt_id": "one", "turns": [*TURNS, "Make the yellow star pink."], "source": "star.png"})
    assert "1 pictures made, 3 kept" in generate("--command", COMMAND).stdout
    prompts({"prompt_id": "one", "turns": [TURNS[0], "Make the red star pink."], "source": "star.png"})
    refused = generate("--command", COMMAND)
    assert (refused.exit_code, "sample 0, turn 2" in refused.stderr) == (2, True), refused.output


def test_a_kill_within_a_conversation_costs_no_finished_turn(folder: Path) -> None:
    killer = "import os, signal\nif int(seed) == 1000 and not os.path.exists('killed'):\n    open('killed', 'w')\n"
    Path("mygen.py").write_text(f"{PROGRAM}{killer}    os.kill(os.getppid(), signal.SIGKILL)\n")
    words = ("bench", "generate", "prompts.jsonl", "--output", "made", "--command", COMMAND)
    main_module = [sys.executable, "-c", "from salon_console import main; main()", *words]
    assert subprocess.run(main_module, check=False, capture_output=True).returncode == -signal.SIGKILL
    assert colours() == ["red"]
    assert "2 pictures made, 1 kept" in generate("--command", COMMAND).stdout
    assert [call.split()[-1] for call in calls()] == ["0", "1000", "1000", "2000"]


@given(kept=st.sets(st.integers(1, 3)))
def test_only_turns_without_a_gap_before_them_are_kept(tmp_path_factory: pytest.TempPathFactory, kept: set[int]) -> None:
    folder = tmp_path_factory.mktemp("made")
    lines = [
        {"prompt_id": "one", "path": f"{n}.png", "sample": 0, "turn": n, "prompt": "x", "seed": 0}
        | {"generator": "g", "generator_version": "1"}
        for n in (1, 2, 3)
    ]
    (folder / MANIFEST).write_text("".join(json.dumps(line) + "\n" for line in lines))
    for number in kept:
        (folder / f"{number}.png").write_bytes(b"")
    file, known = _opened(folder / MANIFEST)
    file.close()
    first_gap = min({1, 2, 3, 4} - kept)
    assert [turn for _, _, turn in known] == [*range(1, first_gap)]
    assert [json.loads(line)["turn"] for line in (folder / MANIFEST).read_text().splitlines()] == [*range(1, first_gap)]


@for_each("turns", [[], [""], ["Make it red.", None], ["Make it red.", 3], [["Make it red."]]])
def test_turns_that_are_no_instructions_are_named(folder: Path, turns: list[object]) -> None:
    prompts({"prompt_id": "one", "turns": turns, "source": "star.png"})
    refused = generate("--command", COMMAND)
    assert (refused.exit_code, "is a list of instructions, each a text" in refused.stderr) == (2, True), refused.output
    assert not Path("made").exists()


def test_a_manifest_with_a_strange_turn_is_refused(folder: Path) -> None:
    for turn in ("x", 0, None):
        Path("table.jsonl").write_text(json.dumps({"prompt_id": "one", "path": "star.png", "turn": turn}) + "\n")
        if turn is None:
            assert read_generations(Path("table.jsonl"), "ours", ["one"]).of("one", "ours")[0].turn is None
            continue
        with pytest.raises(InputError, match="whole number from 1"):
            read_generations(Path("table.jsonl"), "ours", ["one"])

"""``salon synthetic artifacts``: what it writes, prints and refuses; every example of its help runs."""

import shlex

import click
import pytest
from click.testing import CliRunner

from salon_console import main
from salon_train.world import artifacts


def run(*words):
    return CliRunner().invoke(main, ["synthetic", "artifacts", *words], catch_exceptions=False)


def examples(command):
    lines = (command.help or "").splitlines()
    yield from (shlex.split(line)[3:] for line in lines if line.strip().startswith("salon synthetic artifacts"))
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from examples(command.get_command(click.Context(command), name))


@pytest.mark.parametrize("words", list(examples(artifacts)), ids=" ".join)
def test_every_example_of_the_help_runs(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "--count" not in words:
        words = [*words, "--count", "40"]
    if "--count" in words:
        words[words.index("--count") + 1] = "40"
    done = run(*words, *([] if "--size" in words else ["--size", "16"]))
    assert done.exit_code == 0, done.stderr


def test_every_command_has_an_example():
    assert {words[0] for words in examples(artifacts)} == set(artifacts.commands)


def test_draw_says_what_there_is_now(tmp_path):
    done = run("draw", "--output", str(tmp_path / "drawn"), "--count", "30", "--size", "16", "--artifact-share", "0")
    assert done.exit_code == 0
    assert "30 pictures, 30 of them drawn now" in done.stdout
    assert "30  normal" in done.stdout
    again = run("draw", "--output", str(tmp_path / "drawn"), "--count", "30", "--size", "16", "--artifact-share", "0")
    assert "30 pictures, 0 of them drawn now" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["draw", "--output", "x", "--knob", "colour=1"], "unknown knob"),
        (["draw", "--output", "x", "--knob", "pose=much"], "must be a number"),
        (["draw", "--output", "x", "--knob", "pose=2"], "between 0 and 1"),
    ],
)
def test_a_users_mistake_is_explained_and_nothing_is_written(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert said in done.stderr.replace("\n", " ")
    assert not list(tmp_path.iterdir())

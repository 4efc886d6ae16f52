"""What the help of ``salon reward`` shows as an example can be typed as it stands."""

import json
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from aiohttp import web
from click.testing import CliRunner

from salon_console import main
from salon_rewards.cli import reward


def examples(command: click.Command) -> Iterator[list[str]]:
    """The words of every ``salon …`` line in the help of a command and of those beneath it."""
    lines = (command.help or "").replace("\\\n", " ").splitlines()
    yield from (shlex.split(line.split(" > ")[0])[1:] for line in lines if line.strip().startswith("salon "))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            beneath = command.get_command(context, name)
            assert beneath is not None
            yield from examples(beneath)


ALL = list(examples(reward))


def test_every_command_has_an_example():
    assert {tuple(words[1:3]) for words in ALL} >= {
        ("list", "--format"),
        ("score", "completions.jsonl"),
        ("audit", "completions.jsonl"),
        ("serve", "scorer:./metrics.py:clip_score"),
    }


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_example_runs(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("truth.json").write_text('{"Whether Normal": true}')
    row = {"step": 0, "completion": "<think>Fine.</think>It is.", "truth": None, "matches": None}
    Path("completions.jsonl").write_text(json.dumps(row) + "\n")
    Path("run.jsonl").write_text(json.dumps({"step": 0, "completion": "It is fine."}) + "\n")
    Path("reply.txt").write_text('<think>Fine.</think>\\boxed{{"Whether Normal": true}}')
    Path("metrics.py").write_text("def clip_score(images, prompts):\n    return [1.0] * len(images)\n")
    Path("token.txt").write_text("0123456789abcdef")
    listen = socket.create_server
    monkeypatch.setattr(socket, "create_server", lambda address: listen(("127.0.0.1", 0)))
    monkeypatch.setattr(web, "run_app", lambda app, *, sock, **settings: sock.close())  # it would serve until it is stopped
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr

"""What the help of ``salon taxonomy`` and ``salon completion`` shows as an example can be typed as it stands."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from salon_console.salon import completion, main
from salon_console.taxonomy import taxonomy

MINE = 'name = "my-labels"\ntitle = "Mine"\n[[label]]\nid = "a"\nname = "A"\ndefinition = "An a."\n'


def examples(command: click.Command) -> Iterator[list[str]]:
    """The words of every ``salon …`` line in the help of a command and of those beneath it."""
    lines = (command.help or "").replace("\\\n", " ").splitlines()
    yield from (shlex.split(line.split(" > ")[0])[1:] for line in lines if line.strip().startswith("salon "))
    for beneath in getattr(command, "commands", {}).values():
        yield from examples(beneath)


ALL = [*examples(taxonomy), *examples(completion)]


def test_every_command_has_an_example() -> None:
    assert {words[1] for words in ALL} >= {*taxonomy.commands, "bash", "fish", "zsh"}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_example_runs(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my-labels.toml").write_text(MINE)
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr

"""What the help of ``salon train`` shows as an example is a command that there is."""

import shlex
from collections.abc import Iterator

import click

from salon_train.cli import train


def examples(command: click.Command) -> Iterator[list[str]]:
    """The words of every ``salon …`` line in the help of a command and of those beneath it."""
    lines = (command.help or "").replace("\\\n", " ").splitlines()
    yield from (shlex.split(line.split(" > ")[0])[1:] for line in lines if line.strip().startswith("salon "))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from examples(command.get_command(context, name))


ALL = list(examples(train))


def test_every_command_has_an_example():
    assert {words[1] for words in ALL if words[0] == "train"} == set(train.list_commands(click.Context(train)))

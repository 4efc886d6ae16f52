"""Every command teaches: it has help, its options say what they do, and the manual has its heading.

After a change of a command: ``python tests/test_commands.py`` writes ``docs/commands.md`` anew.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from salon_taxonomy.cli import main

MANUAL = Path(__file__).resolve().parents[1] / "docs" / "commands.md"


def commands(command: click.Command, words: tuple[str, ...] = ("salon",)) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and everything beneath it, with the words that call it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from commands(found, (*words, name))


ALL = list(commands(main))


def manual() -> str:
    """The manual as it should be: a heading and the plain help text of every command."""
    parts = ["# Commands\n\nEvery command with its help, as `salon … --help` prints it. Written by `tests/test_commands.py`.\n"]
    for words, command in ALL:
        # What every part inherits from the whole command.
        context = click.Context(command, info_name=" ".join(words), help_option_names=["-h", "--help"])
        formatter = click.HelpFormatter(width=100)
        click.Command.format_usage(command, context, formatter)
        click.Command.format_help_text(command, context, formatter)
        if isinstance(command, click.Group):
            click.Group.format_options(command, context, formatter)
        else:
            click.Command.format_options(command, context, formatter)
        text = "\n".join(line.rstrip() for line in formatter.getvalue().rstrip().splitlines())
        parts.append(f"{'#' * min(len(words) + 1, 4)} {' '.join(words)}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


@pytest.mark.parametrize(("words", "command"), ALL, ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_every_command_and_option_has_help(words: tuple[str, ...], command: click.Command) -> None:
    assert (command.help or "").strip(), words
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert (parameter.help or "").strip(), (*words, parameter.name)


@pytest.mark.parametrize("words", [words for words, _ in ALL], ids=" ".join)
def test_every_command_answers_help_and_refuses_an_unknown_option(words: tuple[str, ...]) -> None:
    runner = CliRunner()
    shown = runner.invoke(main, [*words[1:], "--help"])
    assert shown.exit_code == 0
    assert "Usage" in shown.output
    refused = runner.invoke(main, [*words[1:], "--no-such-option"])
    assert refused.exit_code == 2
    assert "--no-such-option" in refused.output


def test_the_manual_is_what_the_commands_say() -> None:
    assert MANUAL.read_text(encoding="utf-8") == manual()


if __name__ == "__main__":
    MANUAL.write_text(manual(), encoding="utf-8")

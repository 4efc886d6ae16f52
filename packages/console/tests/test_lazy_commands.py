"""Tests of groups that import a command only when it is called."""

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from salon_console.lazy_commands import LazyCommand, LazyGroup

MODULE = '''
import click


@click.command()
def draw():
    """Draw a picture. Slowly."""
    click.echo("drawn")
'''


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LazyGroup:
    """A group with one command of its own and one in another file."""
    (tmp_path / "lazily_drawing.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lazily_drawing", raising=False)
    made = LazyGroup("studio", lazy_commands={"draw": LazyCommand("lazily_drawing:draw", "Draw a picture.")})
    made.add_command(click.Command("clean", help="Clean up.", callback=lambda: click.echo("clean")))
    return made


def test_the_list_shows_all_commands_and_imports_none(group: LazyGroup) -> None:
    shown = CliRunner().invoke(group, ["--help"])
    assert shown.exit_code == 0
    assert shown.output.index("Clean up.") < shown.output.index("Draw a picture.")
    assert "lazily_drawing" not in sys.modules


def test_the_shell_is_offered_all_commands_and_none_is_imported(group: LazyGroup) -> None:
    offered = group.shell_complete(click.Context(group), "d")
    assert [(each.value, each.help) for each in offered] == [("draw", "Draw a picture.")]
    assert "lazily_drawing" not in sys.modules


def test_a_command_that_is_called_is_imported(group: LazyGroup) -> None:
    called = CliRunner().invoke(group, ["draw"])
    assert (called.exit_code, called.output) == (0, "drawn\n")


def test_a_command_shows_its_own_help_and_not_that_of_its_stand_in(group: LazyGroup) -> None:
    assert "Slowly." in CliRunner().invoke(group, ["draw", "--help"]).output


def test_after_listing_the_group_hands_out_the_commands_themselves(group: LazyGroup) -> None:
    context = click.Context(group)
    group.shell_complete(context, "")
    found = group.get_command(context, "draw")
    assert found is not None
    assert found.help == "Draw a picture. Slowly."


def test_an_unknown_name_is_no_command(group: LazyGroup) -> None:
    assert group.get_command(click.Context(group), "paint") is None
    assert CliRunner().invoke(group, ["paint"]).exit_code == 2


def test_a_command_of_the_group_itself_is_called_as_ever(group: LazyGroup) -> None:
    assert CliRunner().invoke(group, ["clean"]).output == "clean\n"

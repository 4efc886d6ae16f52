"""Define command groups that import a command only when it is called, not for help or completion."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import rich_click as click

from salon_taxonomy.errors import SalonError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_LISTING: Final = "salon_console.lazy_commands.listing"


class LazyCommand(NamedTuple):
    """A command that is defined in a file of its own."""

    place: str
    """``module:attribute``."""
    short_help: str
    """The first sentence of its help, which a test holds it to."""


class LazyGroup(click.RichGroup):
    """A group of which some commands are defined in files of their own.

    While commands are only listed, each of these is represented by its name and its short help.

    Args:
        lazy_commands: those commands, by name.

    Example:
        >>> lazy = {"draw": LazyCommand("no_such_module:draw", "Draw what is not there.")}
        >>> group = LazyGroup("salon", lazy_commands=lazy)
        >>> "Draw what is not there." in group.get_help(click.RichContext(group))
        True
    """

    def __init__(self, *args: Any, lazy_commands: Mapping[str, LazyCommand] | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.lazy_commands = dict(lazy_commands or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *self.lazy_commands})

    def short_help_of(self, name: str) -> str | None:
        """Return the listed help of a command without importing it; None: read it from the command."""
        command = self.lazy_commands.get(name)
        return None if command is None else command.short_help

    def load(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command; None for an unknown name."""
        lazy = self.lazy_commands.get(name)
        if lazy is None:
            return super().get_command(ctx, name)
        module, _, attribute = lazy.place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or a placeholder while commands are only listed; None for an unknown name."""
        words = self.short_help_of(cmd_name) if ctx.meta.get(_LISTING) else None
        return click.RichCommand(name=cmd_name, help=words) if words else self.load(ctx, cmd_name)

    def format_help(self, ctx: click.RichContext, formatter: click.RichHelpFormatter) -> None:  # type: ignore[override]
        """Write the group's help."""
        with _listing(ctx):
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the shell's completions of an unfinished word."""
        with _listing(ctx):
            return super().shell_complete(ctx, incomplete)


class InstalledGroup(LazyGroup):
    """A group whose commands come from the installed packages, through entry points.

    A command that cannot be imported is listed with the reason, so that one broken package does not hide the others.

    Args:
        entry_group: the entry-point group; each entry's name is the command's.
        short_helps: what the list says of Salon's own commands, by name, so that listing imports none of them.

    Example:
        >>> group = InstalledGroup("tools", entry_group="no.such.group")
        >>> group.list_commands(click.RichContext(group))
        []
    """

    def __init__(
        self,
        *args: Any,
        entry_group: str = "salon.commands",
        short_helps: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.entry_group = entry_group
        self.short_helps = dict(short_helps or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *(entry.name for entry in entry_points(group=self.entry_group))})

    def short_help_of(self, name: str) -> str | None:
        """Return the listed help of one of Salon's own commands; None for those of other packages."""
        return self.short_helps.get(name) or super().short_help_of(name)

    def load(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command; None when no installed package brings it."""
        own = super().load(ctx, name)
        entries = [] if own is not None else [entry for entry in entry_points(group=self.entry_group) if entry.name == name]
        if not entries:
            return own
        try:
            command: click.Command = entries[0].load()
        except (ImportError, AttributeError) as error:
            return _unavailable(f"{ctx.command_path} {name}", name, error)
        return command


def _unavailable(path: str, name: str, error: Exception) -> click.Command:
    """Return a stand-in for a command whose package is installed but cannot be imported."""

    def explain() -> None:
        raise SalonError(f"`{path}` cannot be loaded: {error}\nInstall its package again.") from error

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.RichCommand(name=name, callback=explain, context_settings=settings, help=f"Cannot be loaded: {error}")


@contextmanager
def _listing(ctx: click.Context) -> Iterator[None]:
    """Note that commands are listed, not called."""
    ctx.meta[_LISTING] = True
    try:
        yield
    finally:
        del ctx.meta[_LISTING]

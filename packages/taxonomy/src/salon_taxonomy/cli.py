"""The ``salon`` command: a group whose subcommands come from whichever Salon packages are installed.

A package brings its own through the entry-point group ``salon.commands``; it is imported only when it is called.
"""

from importlib.metadata import entry_points

import rich_click as click

from salon_taxonomy.errors import IncompleteError, SalonError

_GROUP = "salon.commands"


class SalonGroup(click.RichGroup):
    """A click group that finds its commands among the installed packages and explains Salon's own errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all installed subcommands, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *(entry.name for entry in entry_points(group=_GROUP))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand; None when no installed package brings it."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = [entry for entry in entry_points(group=_GROUP) if entry.name == cmd_name]
        return found[0].load() if found else None

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand; a :class:`SalonError` becomes one message on standard error and a non-zero exit."""
        try:
            return super().invoke(ctx)
        except SalonError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(1 if isinstance(error, IncompleteError) else 2)


@click.command(cls=SalonGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="salon-taxonomy", prog_name="salon")
def main() -> None:
    """Judge image and video generators: what is wrong, who is better, by how much, and how sure that is."""

"""The ``salon`` command: a group whose subcommands come from whichever Salon packages are installed.

A package brings its own through the entry-point group ``salon.commands``; it is imported only when it is called. This
package's own are ``salon taxonomy``, ``salon doctor`` and ``salon completion``.
"""

import difflib
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import rich_click as click
from click.exceptions import Exit

from salon_console.commands import COMMANDS
from salon_console.lazy_commands import InstalledGroup, LazyCommand
from salon_console.options import FAILS_WITH, HELP, RESUMABLE, STOPPED_BY
from salon_console.standard_output import OutputError, failures_raised
from salon_taxonomy.errors import IncompleteError, SalonError, StorageError, is_refused_write
from salon_taxonomy.visible_text import visible

_ON_ONE_THREAD = ("papers", "quickstart")
"""Commands whose matrices are small: several threads of numpy take longer for them, and may change a last digit."""
_SIGNALLED = 128
"""Shells add a signal's number to it."""
_MEANT = {
    "judge": ("bench run",),
    "label": ("arena serve --task labels",),
    "push": ("results card",),
    "rate": ("arena serve --task mos",),
    "rank": ("votes rank", "results leaderboard"),
}
"""Words that people type first, and the commands that do it."""
_SHORT_HELP = {name: words for commands in COMMANDS.values() for name, words in commands.items()}


class SalonGroup(InstalledGroup):
    """A click group that finds its commands among the installed packages and explains Salon's own errors."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that the arguments begin with.

        The error for an unknown one names the package that provides it, or the nearest names.
        """
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(_unknown(name, self.list_commands(ctx), self._deeper(ctx, name)), ctx)
        return super().resolve_command(ctx, args)

    def load(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command, with numpy on one thread where several do not pay."""
        if name in _ON_ONE_THREAD:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        return super().load(ctx, name)

    def _deeper(self, ctx: click.Context, name: str) -> list[str]:
        """Return the commands of installed groups that have this name, or do what it says."""
        suggestions = [f"salon {path}" for path in _MEANT.get(name, ())]
        for entry in self.list_commands(ctx):
            group = self.get_command(ctx, entry)
            if isinstance(group, click.Group) and name in group.list_commands(ctx):
                suggestions.append(f"salon {entry} {name}")
        return list(dict.fromkeys(suggestions))

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand; a failure becomes one message on standard error and an exit code.

        A :class:`SalonError` exits with 1 or 2, a command that Ctrl-C or SIGTERM stopped with the code that shells expect. Of a
        command that names the code of its failures (``FAILS_WITH``) none exits with 1, a defect among them.
        """
        try:
            return self._invoke(ctx)
        except (click.ClickException, Exit):
            raise
        except Exception as error:
            if FAILS_WITH not in ctx.meta:
                raise
            if not isinstance(error, OutputError):  # that one is reported by :meth:`main`
                traceback.print_exc()
            ctx.exit(ctx.meta[FAILS_WITH])

    def _invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except SalonError as error:
            click.echo(f"Error: {error}", err=True)
            stopped_by = ctx.meta.get(STOPPED_BY)
            code = ctx.meta.get(FAILS_WITH, 1) if stopped_by is None else _SIGNALLED + stopped_by
            ctx.exit(code if isinstance(error, IncompleteError) else 2)
        except BrokenPipeError as error:  # never standard output's; click would pass over it without a word
            click.echo(f"Error: a connection was closed at its other end ({error})", err=True)
            ctx.exit(ctx.meta.get(FAILS_WITH, 1))
        except OSError as error:  # a disk that is full or not writable, wherever a command meets it
            if not is_refused_write(error):
                raise
            click.echo(f"Error: {visible(str(StorageError.of(error, Path(str(error.filename or 'a file')))))}", err=True)
            ctx.exit(ctx.meta.get(FAILS_WITH, 1))
        except (KeyboardInterrupt, click.Abort):
            click.echo("\nStopped. The same command again continues." if RESUMABLE in ctx.meta else "\nAborted.", err=True)
            ctx.exit(_SIGNALLED + signal.SIGINT)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``salon``; exit with 1 where standard output cannot be written, with one message unless its reader left.

        A command that names the code of its failures exits with that.
        """
        try:
            with failures_raised():
                return super().main(*args, **kwargs)
        except OutputError as error:
            if not error.closed:
                click.echo(f"Error: {error}", err=True)
            chosen = error.__context__  # how the command was left after the failure
            sys.exit((chosen.code if isinstance(chosen, SystemExit) else 1) or 1)


def _unknown(name: str, installed: list[str], deeper: list[str]) -> str:
    """Return the error about a command that no installed package has; ``deeper``: commands of groups to type instead."""
    package = next((package for package, commands in COMMANDS.items() if name in commands), None)
    if package is not None:
        return (
            f"{package}, which brings `salon {name}`, is not installed.\n"
            f"In a clone of Salon, `uv pip install ./packages/{package.removeprefix('salon-')}` installs it, and "
            f"`uv run --all-packages salon {name}` runs it."
        )
    if deeper:
        return f"No such command {name[:100]!r}. Did you mean {' or '.join(f'`{path}`' for path in deeper)}?"
    known = sorted({*installed, *(command for commands in COMMANDS.values() for command in commands)})
    near = difflib.get_close_matches(name[:100], known, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(installed)}."
    return f"No such command {name[:100]!r}. {hint}"


@click.command(
    cls=SalonGroup,
    short_helps=_SHORT_HELP,
    lazy_commands={"doctor": LazyCommand("salon_console.doctor:doctor", _SHORT_HELP["doctor"])},
    context_settings=HELP,
)
@click.rich_config(help_config={"text_paragraph_linebreaks": "\n\n"})
@click.version_option(package_name="salon-taxonomy", prog_name="salon")
def main() -> None:
    """Judge image and video generators: what is wrong, who is better, by how much, and how sure that is."""


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes salon's commands and options in a shell.

    \b
    Example:
      salon completion bash > ~/.local/share/bash-completion/completions/salon
      salon completion fish > ~/.config/fish/completions/salon.fish
      salon completion zsh > ~/.zfunc/_salon      (a folder in $fpath)
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:  # click knows all three
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(kind(main, {}, "salon", "_SALON_COMPLETE").source())

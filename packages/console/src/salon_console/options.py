"""Options that commands of several packages have in common."""

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeAlias

import rich_click as click
from click import get_current_context

from salon_console.file_options import OutputPath, StorePath
from salon_console.table_files import TABLE_ENDINGS

RESUMABLE: Final = "salon_console.resumable"
"""The key of a click context whose command is resumable."""
STOPPED_BY: Final = "salon_console.stopped_by"
"""The key of a click context whose command a signal stopped, and which then ended by itself; the signal's number."""
FAILS_WITH: Final = "salon_console.fails_with"
"""The key of a click context whose command gives the exit code 1 a meaning of its own; the code of its failures."""
HELP: Final = {"help_option_names": ["-h", "--help"]}
"""Settings of a context: both options that print help."""
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class FiniteRange(click.FloatRange):
    """Parameter type of a number within a range; unlike ``click.FloatRange`` it refuses ``nan``, which is in no range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


def several(*options: Decorator) -> Decorator:
    """Return a decorator that adds options in this order."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def resumable(command: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a command whose second call continues a stopped first one; where Ctrl-C stops it, the message says so."""

    @wraps(command)
    def called(*words: Any, **options: Any) -> Any:
        get_current_context().meta[RESUMABLE] = True
        return command(*words, **options)

    return called


def command_state() -> dict[str, Any]:
    """Return what a running command shares with the groups around it, such as :data:`STOPPED_BY`."""
    return get_current_context().meta


LANGUAGE: Final = click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Of the prompts.",
)
STORE: Final = click.option(
    "--store",
    type=StorePath(file_okay=False),
    default=Path("results"),
    show_default=True,
    help="The results: a directory, or a URL such as s3://bucket/results.",
)


def format_option(*forms: str, default: str | None = "table", help_: str = "For people, or for programs.") -> Decorator:
    """Return the option ``--format``, passed on as ``form``."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=default, show_default=default is not None, help=help_
    )


FORMAT: Final = format_option("table", "json")
TABLE_FORMAT: Final = format_option("table", "csv", "json")
"""``--format`` of a command whose result is one table."""


def output_option(
    endings: tuple[str, ...] = TABLE_ENDINGS, *, what: str = "Also write the table to this file", required: bool = False
) -> Decorator:
    """Return the option ``--output``, a file whose ending must be among ``endings``."""
    kind = OutputPath(endings=endings)
    return click.option("--output", metavar="FILE", type=kind, required=required, help=f"{what}: {', '.join(endings)}.")


OUTPUT: Final = output_option()


def seed_option(help_: str, default: int = 0) -> Decorator:
    """Return the option ``--seed``, a whole number from 0."""
    return click.option("--seed", type=click.IntRange(min=0), default=default, show_default=True, help=help_)


def bootstrap_option(help_: str = "Resamples; 0: no intervals.") -> Decorator:
    """Return the option ``--bootstrap``, passed on as ``replicates``."""
    return click.option("--bootstrap", "replicates", type=click.IntRange(min=0), default=1000, show_default=True, help=help_)


def confidence_option(help_: str = "Of the intervals.") -> Decorator:
    """Return the option ``--confidence``, between 0 and 1."""
    kind = FiniteRange(0, 1, min_open=True, max_open=True)
    return click.option("--confidence", type=kind, default=0.95, show_default=True, help=help_)


def output_of(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option of a JSON Lines file to write."""
    words = f"The JSON Lines file of {what} to write (replaced)."
    return click.option("--output", required=True, type=OutputPath(), help=words)

"""Options that commands of several packages have in common."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import rich_click as click

from salon_taxonomy.file_options import StorePath

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def several(*options: Decorator) -> Decorator:
    """Return a decorator that adds options in this order."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


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


def seed_option(help_: str, default: int = 0) -> Decorator:
    """Return the option ``--seed``, a whole number from 0."""
    return click.option("--seed", type=click.IntRange(min=0), default=default, show_default=True, help=help_)


def bootstrap_option(help_: str = "Resamples; 0: no intervals.") -> Decorator:
    """Return the option ``--bootstrap``, passed on as ``replicates``."""
    return click.option("--bootstrap", "replicates", type=click.IntRange(min=0), default=1000, show_default=True, help=help_)


def confidence_option(help_: str = "Of the intervals.") -> Decorator:
    """Return the option ``--confidence``, between 0 and 1."""
    kind = click.FloatRange(0, 1, min_open=True, max_open=True)
    return click.option("--confidence", type=kind, default=0.95, show_default=True, help=help_)

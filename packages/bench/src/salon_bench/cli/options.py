"""Options that several commands of ``salon bench`` have in common."""

from collections.abc import Callable, Sequence
from typing import Any

import rich_click as click


def work_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that asks a judge: how much at once, how far, and what to show meanwhile."""
    options = (
        click.option(
            "--concurrency", type=click.IntRange(1, 4096), help="Questions in flight. Default: what the judge allows."
        ),
        limit_options,
        click.option(
            "--allow-incomplete",
            is_flag=True,
            help="Exit with 0 though work is left; questions without a reply are unscored for good.",
        ),
        watch_options,
    )
    return _with(options, command)


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """How far to go."""
    options = (
        click.option("--max-cost", type=float, metavar="USD", help="Ask nothing more once this much was spent."),
        click.option("--max-tokens", type=int, help="Ask nothing more once so many tokens were read and written."),
        click.option("--max-calls", type=int, help="Ask at most so many questions."),
        click.option("--deadline", type=float, metavar="SECONDS", help="Ask nothing more after this time."),
    )
    return _with(options, command)


def watch_options(command: Callable[..., None]) -> Callable[..., None]:
    """What to show meanwhile."""
    options = (
        click.option("--log-json", metavar="FILE", help="Append the log as JSON lines; - is standard error."),
        click.option("--quiet", is_flag=True, help="No progress bar."),
    )
    return _with(options, command)


def _with(options: Sequence[Callable[..., Any]], command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(options):
        command = option(command)
    return command

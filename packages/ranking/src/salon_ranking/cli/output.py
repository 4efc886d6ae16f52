"""Options, tables, files and progress that the commands of this package have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import rich_click as click

from salon_console.output import console_of, fitted
from salon_console.table_files import Table
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    import polars as pl
    from rich import progress as bars
    from rich.console import Console

    from salon_ranking.battles import Battles
    from salon_ranking.diagnostics.both_bad import BothBad
    from salon_ranking.options import Progress

Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
Stage: TypeAlias = "Callable[[str], Progress]"
"""Returns a progress callback for the named task."""

HELP: Final = {"help_option_names": ["-h", "--help"]}
FORMAT: Final = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
CONFIDENCE: Final = click.option("--confidence", type=float, default=0.95, show_default=True, help="Coverage of the intervals.")
_QUIET_SECONDS = 1.0


def seed_option(what: str) -> Option:
    """Return the option ``--seed``; equal seeds give equal ``what``."""
    return click.option("--seed", type=int, default=0, show_default=True, help=f"Same seed, same {what}.")


def console(*, stderr: bool = False, width: int = 140) -> "Console":
    """Return a console; piped into a file or a program, a table keeps its columns, within ``width`` characters."""
    return console_of(width, stderr=stderr)


def plain(text: str) -> str:
    """Return the text as rich shows it literally: no markup, nothing that a terminal acts on."""
    from rich.markup import escape

    return escape(visible(text))


def show(*parts: "str | Table", width: int = 140) -> None:
    """Print texts, as they are, and tables."""
    for part in parts:
        console(width=width).print(plain(part) if isinstance(part, str) else fitted(part))


def show_tables(numbers: "Mapping[str, float | None]", tables: "Mapping[str, pl.DataFrame]", terminal: "Console") -> None:
    """Print single numbers, then tables with rows."""
    from salon_console.numbers import frame_cells

    for name, value in numbers.items():
        terminal.print(f"{name.replace('_', ' ')}: {'–' if value is None else f'{value:.4g}'}")
    for name, table in tables.items():
        if table.height:
            terminal.print(f"\n{name.replace('_', ' ')}")
            terminal.print(fitted(frame_cells(table)))


def is_quiet(output: Path | None) -> bool:
    """Return whether the answer is wanted in a file alone: one is named, and ``--format`` is not."""
    from click import get_current_context
    from click.core import ParameterSource

    source = get_current_context().get_parameter_source("format_")
    return output is not None and source is ParameterSource.DEFAULT


def read_rated(
    path: Path,
    both_bad: "BothBad",
    *,
    cluster: Sequence[str] = (),
    weight: str | bool = True,
    rankings: bool = False,
    rows: Mapping[str, Any] | None = None,
) -> "tuple[Battles, pl.DataFrame | None]":
    """Return the battles to rate, and each model's acceptability where ``both_bad`` is ``own``.

    Args:
        rankings: whether the file may hold rankings.
        rows: which rows are read: the keywords that ``row_options`` passes on; None: all.

    Raises:
        BattleError: the file cannot be read.
        OptionError: it holds rankings, and may not.
    """
    from salon_ranking.battles import Battles
    from salon_ranking.diagnostics.both_bad import settle_both_bad
    from salon_ranking.options import refuse_rankings

    read = Battles.read(path, cluster_by=tuple(cluster), weight=weight, **(rows or {}))
    if not rankings:
        refuse_rankings(read)
    return settle_both_bad(read, both_bad)


@contextmanager
def progress() -> "Iterator[Stage]":
    """Yield what makes progress callbacks; their bar on standard error appears when the work takes more than a second."""
    from time import monotonic

    began = monotonic()
    bars_shown: list[bars.Progress] = []

    def stage(name: str) -> "Progress":
        tasks: list[bars.TaskID] = []

        def advance(done: int, total: int) -> None:
            if monotonic() - began > _QUIET_SECONDS:
                if not bars_shown:
                    bars_shown.append(_bar())
                if not tasks:
                    tasks.append(bars_shown[0].add_task(name))
                bars_shown[0].update(tasks[0], completed=done, total=total)

        return advance

    try:
        yield stage
    finally:
        for bar in bars_shown:
            bar.stop()


def _bar() -> "bars.Progress":
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.start()
    return bar

"""Options, tables, files and progress that the commands of this package have in common."""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import rich_click as click

from salon_taxonomy.file_options import OutputPath
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    import polars as pl
    from rich import progress as bars
    from rich.console import Console, RenderableType
    from rich.table import Table

    from salon_ranking.uncertainty.resampling import Progress

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
OUTPUT: Final = click.option("--output", type=OutputPath(), help="Also write .csv, .parquet, .json or .html.")
_QUIET_SECONDS = 1.0


def seed_option(what: str) -> Option:
    """Return the option ``--seed``; equal seeds give equal ``what``."""
    return click.option("--seed", type=int, default=0, show_default=True, help=f"Same seed, same {what}.")


def decorated(command: Callable[..., None], options: Sequence[Option]) -> Callable[..., None]:
    """Return the command with options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def console(*, stderr: bool = False, width: int = 140) -> "Console":
    """Return a console; piped into a file or a program, a table keeps its columns, within ``width`` characters."""
    from rich.console import Console

    return Console(highlight=False, stderr=stderr, width=None if sys.stdout.isatty() else width)


def plain(text: str) -> str:
    """Return the text as rich shows it literally: no markup, nothing that a terminal acts on."""
    from rich.markup import escape

    return escape(visible(text))


def grid(heads: Sequence[str], rows: Sequence[Sequence[str | None]], *, left: Collection[str]) -> "Table":
    """Return a table of texts, taken literally; None is a dash.

    Args:
        left: the columns of words; the others are aligned to the right.
    """
    from rich.table import Table

    table = Table(box=None)
    for head in heads:
        table.add_column(plain(head), justify="left" if head in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*("–" if cell is None else plain(cell) for cell in row))
    return table


def show(*parts: "RenderableType", width: int = 140) -> None:
    """Print texts, as they are, and tables."""
    for part in parts:
        console(width=width).print(plain(part) if isinstance(part, str) else part)


def deliver(
    table: "pl.DataFrame",
    *,
    format_: str,
    output: Path | None,
    show: Callable[[], None],
    json: Callable[[], str] | None = None,
    csv: Callable[[], str] | None = None,
    texts: Mapping[str, Callable[[], str]] | None = None,
    endings: Collection[str] | None = None,
) -> None:
    """Print a result in the wanted format, and write it to the file that was named.

    Args:
        show: prints it for people.
        json: makes its JSON; by default the rows of the table.
        csv: makes its CSV; by default that of the table.
        texts: makes the content of a file by its ending, in place of the table; .json and .csv files hold what is printed.
        endings: those that the file may have; by default those of tables and of ``texts``.
    """
    from salon_ranking.files import TABLE_ENDINGS, write_table

    if format_ == "json":
        click.echo(table.write_json() if json is None else json())
    elif format_ == "csv":
        click.echo(table.write_csv() if csv is None else csv(), nl=False)
    else:
        show()
    if output is not None:
        made = {**(texts or {}), **({} if json is None else {".json": json}), **({} if csv is None else {".csv": csv})}
        write_table(table, output, endings=endings or (*TABLE_ENDINGS, *(texts or {})), texts=made)
        click.echo(f"Wrote {output}", err=True)


@contextmanager
def progress() -> "Iterator[Stage]":
    """Yield what makes progress callbacks; their bar on standard error appears when the work takes more than a second."""
    from time import monotonic

    began = monotonic()
    shown: list[bars.Progress] = []

    def stage(name: str) -> "Progress":
        tasks: list[bars.TaskID] = []

        def advance(done: int, total: int) -> None:
            if monotonic() - began > _QUIET_SECONDS:
                if not shown:
                    shown.append(_bar())
                if not tasks:
                    tasks.append(shown[0].add_task(name))
                shown[0].update(tasks[0], completed=done, total=total)

        return advance

    try:
        yield stage
    finally:
        for bar in shown:
            bar.stop()


def _bar() -> "bars.Progress":
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.start()
    return bar

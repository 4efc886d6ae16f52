"""Tables, JSON and numbers on the terminal, for the commands of every package."""

import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rich_click as click

from salon_console.shown_result import FittedTable
from salon_console.table_files import Maker, Rows, Table, table_bytes, write_table
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from rich.console import Console

MISSING: Final = "–"
"""The cell of a missing value."""
_WIDTH: Final = 180
_LARGEST_MARK: Final = 10.0


def print_json(content: object) -> None:
    """Print a value as JSON; dates and times in ISO 8601, paths as text.

    Example:
        >>> print_json({"a": 1})
        {
          "a": 1
        }
    """
    click.echo(as_json(content))


def print_continues(done: int, total: int | None, things: str, folder: object) -> None:
    """Print :func:`continues` on standard error."""
    click.echo(continues(done, total, things, folder), err=True)


def continues(done: int, total: int | None, things: str, folder: object = None) -> str:
    """Return the line on how much of a resumable command's work its earlier calls have done.

    Every resumable command prints it at its second call, and nothing at its first.

    Args:
        done: how many of the things are done.
        total: how many there are; None where that is not known yet.
        things: what is counted, in the plural: "cases".
        folder: the run or the folder that keeps them; None where the command has just named it.

    Example:
        >>> continues(30, 100, "cases", "run 1a2b")
        'continues: 30 of 100 cases done in run 1a2b'
    """
    where = "" if folder is None else f" in {folder}"
    of, rest = ("", "") if total is None else (f" of {total:,}", "; nothing is left to do" if done >= total else "")
    return f"continues: {done:,}{of} {things} done{where}{rest}"


def as_json(content: object) -> str:
    """Return a value as JSON text that every stream can take; dates and times in ISO 8601, paths as text.

    Example:
        >>> as_json("a\\ud800")
        '"a\\\\ud800"'
    """
    text = json.dumps(content, indent=2, ensure_ascii=False, default=_as_text)
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate: \ud800, as JSON writes it


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, date | time) else str(value)


def fitted(table: Table, *, indented: bool = True) -> FittedTable:
    """Return the table as a console prints it, with the way to the columns that do not fit."""
    return FittedTable(table, _remedy(), indented=indented)


def _remedy() -> str:
    """Return how the user gets all columns: a file, where the command writes one, or a wider terminal."""
    context = click.get_current_context(silent=True)
    writes = context is not None and any("--output" in option.opts for option in context.command.params)
    return "--output FILE writes all." if writes else "A wider terminal shows them."


def print_table(
    header: Sequence[str], lines: Sequence[Sequence[str]], *, right: Collection[str] = (), width: int = _WIDTH
) -> None:
    """Print a table whose cells are taken literally and never cut; see :class:`FittedTable`.

    Args:
        header: names of the columns.
        lines: cells, row by row.
        right: columns aligned to the right.
        width: in characters where the output is no terminal and ``COLUMNS`` is not set.
    """
    console_of(width).print(fitted(Table(tuple(header), lines, frozenset(right))))


def print_parts(*parts: Table | str) -> None:
    """Print tables and sentences in this order."""
    for part in parts:
        if isinstance(part, str):
            click.echo(part)
        else:
            print_table(part.columns, part.rows, right=part.numeric)


def console_of(width: int, *, stderr: bool = False) -> "Console":
    """Return a console as wide as the terminal, as ``COLUMNS`` says, or ``width`` in a file or a pipe."""
    from rich.console import Console

    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(highlight=False, stderr=stderr, width=None if known else width)


def deliver(
    table: Table | Callable[[], Table],
    values: "Rows | None" = None,
    *,
    form: str | None,
    output: Path | None,
    show: Callable[[], None] | None = None,
    further: "Sequence[Table | str]" = (),
    json: Callable[[], str] | None = None,
    csv: Callable[[], str] | None = None,
    made: Mapping[str, Maker] | None = None,
) -> None:
    """Print a result in the wanted form, and write it to the file that was named.

    Args:
        table: its cells as people read them.
        values: its values; default: the cells.
        form: what is printed: ``table``, ``json`` or ``csv``; None: the table, or nothing where a file is written.
        output: the file, whose ending says the kind; None: none.
        show: prints it for people; default: the table, then ``further``.
        further: smaller tables and sentences that are printed beneath the table; files do not have them.
        json: makes its JSON, also for a file; default: the values as an array.
        csv: makes its CSV, also for a file; default: the values.
        made: makes the content of a file by its ending, in place of the table.
    """
    makers: dict[str, Maker] = dict(made or {})
    makers |= {ending: maker for ending, maker in ((".json", json), (".csv", csv)) if maker is not None}
    if form in ("json", "csv"):
        text = table_bytes(f".{form}", table, values, made=makers).decode()
        print_exactly(text if text.endswith("\n") else f"{text}\n")
    elif form is None and output is not None:
        pass
    elif show is not None:
        show()
    else:
        print_parts(table if isinstance(table, Table) else table(), *further)
    if output is not None:
        write_table(output, table, values, made=makers)
        click.echo(f"Wrote {output}", err=True)


def print_exactly(text: str) -> None:
    """Print every character as it is to a program, and nothing that acts to a terminal."""
    if sys.stdout.isatty():
        text = visible(text, prose=True)
    click.echo(text, nl=False, color=True)  # color: click takes nothing out of the text


def number_text(value: float | None, form: str = ".4f") -> str:
    """Return a number in a format, or a dash for None.

    Example:
        >>> number_text(0.5), number_text(None), number_text(0.25, "+.2f")
        ('0.5000', '–', '+0.25')
    """
    return MISSING if value is None else format(value, form)


def cells(rows: Sequence[Mapping[str, object]]) -> list[list[str]]:
    """Return a table's cells as text: percentages to one place, marks to two, shares and smaller numbers to four.

    The largest number decides for the whole table, so that its columns can be compared. A dash is a missing value.

    Example:
        >>> cells([{"metric": "overall", "value": 100.0, "ci_low": None, "scored": 3}])
        [['overall', '100.0', '–', '3']]
        >>> cells([{"metric": "win rate", "value": 0.625}])
        [['win rate', '0.6250']]
    """
    largest = max((abs(value) for row in rows for value in row.values() if isinstance(value, float)), default=0.0)
    form = ".1f" if largest > _LARGEST_MARK else ".2f" if largest > 1 else ".4f"
    return [
        [number_text(value, form) if value is None or isinstance(value, float) else str(value) for value in row.values()]
        for row in rows
    ]

"""Tables, JSON and numbers on the terminal, for the commands of every package."""

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import rich_click as click

from salon_taxonomy.visible_text import visible

MISSING: Final = "–"
"""The cell of a missing value."""
_WIDTH: Final = 180
_LARGEST_MARK: Final = 10.0


def print_json(content: object) -> None:
    """Print a value as JSON; dates and paths as text.

    Example:
        >>> print_json({"a": 1})
        {
          "a": 1
        }
    """
    click.echo(as_json(content))


def as_json(content: object) -> str:
    """Return a value as JSON text that every stream can take; dates and paths as text.

    Example:
        >>> as_json("a\\ud800")
        '"a\\\\ud800"'
    """
    text = json.dumps(content, indent=2, ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate: \ud800, as JSON writes it


def print_table(
    header: Sequence[str], lines: Sequence[Sequence[str]], *, right: Collection[str] = (), width: int = _WIDTH
) -> None:
    """Print a table whose cells are taken literally: no markup, no control characters.

    Args:
        header: names of the columns.
        lines: cells, row by row.
        right: columns aligned to the right.
        width: in characters where the output is no terminal.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for name in header:
        table.add_column(name, justify="right" if name in right else "left")
    for line in lines:
        table.add_row(*(Text(visible(text)) for text in line))
    (Console() if sys.stdout.isatty() else Console(width=width)).print(table)


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

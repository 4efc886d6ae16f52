"""Options and tables that all commands of ``salon curate`` share."""

import sys
from collections.abc import Sequence

import rich_click as click

FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="For people or programs."
)
SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed draws otherwise.")


def print_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print rows of cells below a header, 160 columns wide where the output is not a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header)
    for line in lines:
        table.add_row(*map(Text, line))
    (Console() if sys.stdout.isatty() else Console(width=160)).print(table)


def as_cell(value: object, digits: int = 3) -> str:
    """Return the text of a table's cell: numbers rounded to ``digits``, a dash for a missing value.

    Example:
        >>> as_cell(0.12345), as_cell(None), as_cell(12000)
        ('0.123', '–', '12,000')
    """
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

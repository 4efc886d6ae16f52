"""Tables that are not the leaderboard of a fit: comparisons, differences, online Elo."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from salon_console.numbers import frame_cells
from salon_console.output import deliver, fitted
from salon_console.table_files import Maker, Table
from salon_ranking.cli.output import console, is_quiet, plain, show_tables
from salon_ranking.files import json_text
from salon_ranking.leaderboard.analyses import rows_of

WIDTH = 120


@dataclass(frozen=True, eq=False)
class OtherTable:
    """A table that is not a leaderboard of a fit, and how it was made.

    Attributes:
        made: how it was made, under the names that a leaderboard has for that; null is what the method does not have.
        further: tables by name, such as ``acceptability``.
        charts: makes the files of its chart, by their ending.
        cells: the table as people read it.
        warnings: what to know before the numbers are believed.
        is_long: the table is not printed when it goes to a file.
    """

    header: str
    table: pl.DataFrame
    made: Mapping[str, object] = field(default_factory=dict)
    further: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    charts: Mapping[str, Maker] = field(default_factory=dict)
    cells: Callable[[pl.DataFrame], Table] = frame_cells
    warnings: tuple[str, ...] = ()
    is_long: bool = False

    def document(self) -> str:
        """Return a JSON object: how it was made, and the rows of all tables. Null is what is not known."""
        tables = {name: rows_of(table) for name, table in self.further.items()}
        return json_text({**self.made, "header": self.header, "rows": rows_of(self.table), **tables})


def show_table(result: OtherTable, form: str, output: Path | None) -> None:
    """Print a table in the wanted format, and write it to the file that is named."""
    from salon_ranking.cli.terminal import MOST_SHOWN, more_rows

    def show() -> None:
        terminal = console(width=WIDTH)
        terminal.print(plain(result.header), style="dim")
        quiet = is_quiet(output) or (result.is_long and output is not None)
        if not quiet:
            terminal.print(fitted(result.cells(result.table.head(MOST_SHOWN))))
            more = more_rows(result.table.height, "row")
            if more is not None:
                terminal.print(more)
        for warning in result.warnings:
            terminal.print(f"Warning: {plain(warning)}")
        if not quiet:
            show_tables({}, result.further, terminal)

    deliver(
        lambda: result.cells(result.table),
        result.table,
        form=form,
        output=output,
        show=show,
        json=result.document,
        made=result.charts,
    )

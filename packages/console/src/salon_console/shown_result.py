"""Show results as a table that fits the terminal, and as a table with its chart in a notebook."""

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Final

from salon_console.forest_plot import ForestPlot
from salon_console.table_files import Maker, Table
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_WIDTH: Final = 100
"""Characters of ``str()`` of a result."""
_MOST_ROWS: Final = 40
"""Rows of a table or chart in a notebook."""
_NARROWEST: Final = 16
"""Characters to which a column of words may be narrowed."""
_BETWEEN: Final = 2
"""Characters between two columns."""


@dataclass(frozen=True, slots=True)
class ResultView:
    """The parts of a result that are shown.

    Attributes:
        header: how it was made, one or two sentences.
        table: its cells as text.
        chart: its values with their intervals; None: it has no chart.
        notes: what to know before the numbers are believed, one sentence each.
    """

    header: str
    table: Table
    chart: ForestPlot | None = None
    notes: tuple[str, ...] = ()

    def makers(self) -> dict[str, Maker]:
        """Return what makes the page of the table and the files of the chart, by their ending."""
        charts: dict[str, Maker] = {} if self.chart is None else {".svg": self.chart.svg, ".png": self.chart.png}
        return {".html": lambda: self.table.page(self.header, self.notes), **charts}


def joined_views(views: Sequence[ResultView], names: Sequence[str], column: str) -> ResultView:
    """Return several views as one table and one chart, whose rows begin with the view's name.

    Args:
        views: at least one; a single view is returned as it is.
        names: as many.
        column: what they name: the head of the first column.
    """
    if len(views) == 1:
        return views[0]
    columns = tuple(dict.fromkeys([column, *(each for view in views for each in view.table.columns)]))
    rows, points = [], []
    for name, view in zip(names, views, strict=True):
        for row in view.table.rows:
            cells = {**dict(zip(view.table.columns, row, strict=True)), column: name}
            rows.append(tuple(cells.get(each, "–") for each in columns))
        points += [point._replace(name=f"{name}: {point.name}") for point in (view.chart.rows if view.chart else ())]
    first = next((view.chart for view in views if view.chart is not None), None)
    chart = None if first is None else replace(first, rows=points)
    return ResultView("", Table(columns, rows, frozenset.union(*(view.table.numeric for view in views))), chart)


class ShownResult(ABC):
    """A result that ``print`` and a notebook show as a table; in a notebook with its chart."""

    __slots__ = ()

    @abstractmethod
    def view(self) -> ResultView:
        """Return what is shown of the result."""

    def __init_subclass__(cls) -> None:
        """Show the table in place of the fields that a dataclass would list."""
        super().__init_subclass__()
        cls.__repr__ = ShownResult.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return what ``str`` returns, so that a prompt shows a readable result."""
        return str(self)

    def __str__(self) -> str:
        """Return the header, the table and the notes as text, at most 100 characters wide."""
        view = self.view()
        parts = (visible(view.header, prose=True), table_text(view.table), *(visible(note, prose=True) for note in view.notes))
        return "\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        """Return the header, the chart and the table as HTML; notebooks call this. At most 40 rows."""
        view = self.view()
        table = replace(view.table, rows=view.table.rows[:_MOST_ROWS])
        chart = "" if view.chart is None else replace(view.chart, rows=view.chart.rows[:_MOST_ROWS]).svg(inline=True)
        left = len(view.table.rows) - _MOST_ROWS
        sentences = [*view.notes, *([f"{left:,} more rows are not shown."] if left > 0 else [])]
        notes = "".join(f"<p>{html.escape(visible(note, prose=True))}</p>\n" for note in sentences)
        return f"<p>{html.escape(visible(view.header, prose=True))}</p>\n{chart}{table.html()}{notes}"


class FittedTable:
    """A table for a terminal that cuts nothing: words wrap, then the last columns are left out.

    A line beneath the table names the columns that were left out. Cells are taken literally: no markup, no control
    characters.

    Args:
        table: cells as text.
        remedy: a sentence on how to get the columns that were left out.
        indented: a space before the first column.
    """

    def __init__(self, table: Table, remedy: str = "", *, indented: bool = True) -> None:
        self._table = table
        self._remedy = remedy
        self._indented = indented

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Yield the table as rich draws it within the width of the options."""
        from rich.table import Table as Drawing
        from rich.text import Text

        texts = [[Text(visible(cell)) for cell in row] for row in (self._table.columns, *self._table.rows)]
        numeric = [name in self._table.numeric for name in self._table.columns]
        widths = [max(cell.cell_len for cell in column) for column in zip(*texts, strict=True)]
        narrowest = [width if right else min(width, _NARROWEST) for width, right in zip(widths, numeric, strict=True)]
        columns = _fitting(narrowest, numeric, options.max_width)
        drawing = Drawing(box=None, pad_edge=self._indented)
        for column in columns:
            drawing.add_column(
                texts[0][column],
                justify="right" if numeric[column] else "left",
                no_wrap=numeric[column],
                overflow="fold",
                min_width=narrowest[column],
            )
        for row in texts[1:]:
            drawing.add_row(*(row[place] for place in columns))
        yield drawing
        left_out = [visible(name) for place, name in enumerate(self._table.columns) if place not in columns]
        if left_out:
            remark = f"Left out, too wide for {options.max_width} characters: {', '.join(left_out)}. {self._remedy}"
            yield Text(remark.strip(), style="dim")


def _fitting(widths: Sequence[int], numeric: Sequence[bool], most: int) -> list[int]:
    """Return the columns that fit: the last numbers are left out first, then the last words.

    Columns through the one after the first column of words are always shown.
    """
    kept = (list(numeric).index(False) if False in numeric else 0) + 2
    columns = list(range(len(widths)))
    for column in sorted(range(kept, len(widths)), key=lambda column: (not numeric[column], -column)):
        if sum(widths[place] + _BETWEEN for place in columns) <= most:
            break
        columns.remove(column)
    return columns


def table_text(table: Table, width: int = _WIDTH) -> str:
    """Return a table as text, at most ``width`` characters wide.

    Example:
        >>> print(table_text(Table(("model", "Elo"), [("a", "1,000")], frozenset({"Elo"}))))
         model    Elo
         a      1,000
    """
    from rich.console import Console

    written = StringIO()
    Console(file=written, width=width, highlight=False, color_system=None).print(FittedTable(table))
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())

"""A table of numbers whose cells are coloured by size: win rates of pairs, ranks by track, correlations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

_TONES: Final = 5
"""Shades on either side of uncoloured."""
_SHORT: Final = 5
"""Letters of a heading that is written horizontally; longer ones of many columns are turned upright."""


class HeatCell(NamedTuple):
    """One cell.

    Attributes:
        text: its content.
        tone: its colour, from -1 (orange) over 0 (none) to 1 (blue); values beyond are clipped.
        hint: shown when the pointer rests on it; empty: nothing.
    """

    text: str
    tone: float = 0.0
    hint: str = ""


@dataclass(frozen=True, slots=True)
class HeatTable:
    """Cells of rows and columns.

    Attributes:
        title: what the cells show; for screen readers.
        columns: their names.
        rows: each row's name with its cells by column; a missing column stays empty.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Mapping[str, HeatCell]]]

    def html(self) -> str:
        """Return the table for a page.

        Example:
            >>> table = HeatTable("Win rate", ["x", "y"], [("x", {"y": HeatCell("75%", 0.5, "3 of 4")})])
            >>> 'title="3 of 4">75%</td>' in table.html()
            True
        """
        from salon_console.templates import page_template  # only pages need templates

        return page_template("salon_console", "heat_table.html.jinja").render(
            title=self.title,
            columns=self.columns,
            upright=len(self.columns) > 4 and max(map(len, self.columns)) > _SHORT,
            rows=[
                (name, [(cell.text, _shade(cell.tone), cell.hint) for cell in (cells.get(c, _EMPTY) for c in self.columns)])
                for name, cells in self.rows
            ],
        )


_EMPTY: Final = HeatCell("")


def _shade(tone: float) -> str:
    """Return the class of a tone: ``warm5`` to ``warm1`` below 0, ``cold1`` to ``cold5`` above."""
    shade = round(max(-1.0, min(1.0, tone)) * _TONES)
    return "" if not shade else f"{'cold' if shade > 0 else 'warm'}{abs(shade)}"

"""Forest plots as SVG: a point and a bar for each row, without a drawing library. Pages have interactive charts instead."""

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeGuard

from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

_ROW: Final = 22
_PLOT: Final = 360
_FONT: Final = 12
_MARGIN: Final = 12
_POINT: Final = "#3f7fd0"
_WIDE: Final = 0x1100
"""Characters from here on may be as wide as they are high (Korean, Chinese, Japanese, emoji)."""


class PlotRow(NamedTuple):
    """One row of a forest plot: a name, its value and its interval's ends; None: not known."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """Values with their intervals, one row below the other.

    Attributes:
        title: what the horizontal axis shows, with its unit.
        rows: from top to bottom.
        reference: a value to mark by a dashed line, such as no difference; None: none.
        description: what the intervals are and how they were made; for screen readers.
    """

    title: str
    rows: Sequence[PlotRow]
    reference: float | None = None
    description: str = ""

    def svg(self, *, inline: bool = False) -> str:
        """Return the plot as an SVG element; no name is cut.

        Args:
            inline: as part of a page: transparent, in the colour of the text around it. Default: dark on white.

        Example:
            >>> ForestPlot("Elo", [PlotRow("a<b", 1000.0, 990.0, 1010.0)]).svg().count("a&lt;b")
            1
        """
        ink = "currentColor" if inline else "#1d2125"
        known = [each for each in (self.reference, *(end for row in self.rows for end in row[1:])) if _known(each)]
        ticks, digits = _ticks(known)
        left = 2 * _MARGIN + max((_text_width(row.name) for row in self.rows), default=0.0)
        width, height = left + _PLOT + 3 * _MARGIN, _ROW * (len(self.rows) + 2) + _MARGIN
        bottom = _ROW * len(self.rows) + _MARGIN

        def x(value: float) -> float:
            return left + _PLOT * (value - ticks[0]) / ((ticks[-1] - ticks[0]) or 1.0)

        parts = [] if inline else ['<rect width="100%" height="100%" fill="white"/>']
        for tick in ticks:
            parts.append(_line(x(tick), _MARGIN, x(tick), bottom, f'stroke="{ink}" opacity="0.15"'))
            parts.append(_text(x(tick), bottom + 15, f"{tick:,.{digits}f}", "middle"))
        if _known(self.reference):
            parts.append(_line(x(self.reference), _MARGIN, x(self.reference), bottom, f'stroke="{ink}" stroke-dasharray="3 3"'))
        for number, row in enumerate(self.rows):
            parts += _row(row, _MARGIN + _ROW * (number + 0.5), left, x)
        parts.append(_text(left + _PLOT / 2, bottom + 34, self.title, "middle"))
        body = "\n".join(parts)
        label = _escaped(f"{self.title} of {len(self.rows)} rows. {self.description}".strip())
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{label}" style="max-width:100%;height:auto" '
            f'font-family="system-ui, DejaVu Sans, sans-serif" font-size="{_FONT}" fill="{ink}">\n{body}\n</svg>\n'
        )

    def png(self) -> bytes:
        """Return the plot as a PNG, two pixels for each unit of the SVG.

        Raises:
            InputError: the package that draws it is not installed.
        """
        try:
            import vl_convert
        except ModuleNotFoundError as error:
            hint = "In a clone of Salon: uv pip install './packages/console[charts]', or end the name with .svg."
            raise InputError("a PNG needs the extra 'charts', which lacks", value=error.name, hint=hint) from error
        picture: bytes = vl_convert.svg_to_png(self.svg(), scale=2)
        return picture


def _row(row: PlotRow, y: float, left: float, x: Callable[[float], float]) -> Iterator[str]:
    """Yield the name, the bar and the point of one row."""
    yield _text(left - _MARGIN, y + 4, row.name, "end")
    if _known(row.low) and _known(row.high):
        look = f'stroke="{_POINT}" stroke-width="5" stroke-linecap="round" opacity="0.45"'
        yield _line(x(row.low), y, x(row.high), y, look)
    if _known(row.value):
        yield f'<circle cx="{x(row.value):.1f}" cy="{y:.1f}" r="4" fill="{_POINT}"/>'


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _ticks(values: Sequence[float]) -> tuple[list[float], int]:
    """Return round numbers that contain all values, from low to high, and the digits after the point that they need."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 4
    magnitude = 10.0 ** math.floor(math.log10(raw))
    factor = next(factor for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw)
    step = factor * magnitude
    first, last = math.floor(low / step), math.ceil(high / step)
    digits = max(0, (factor == 2.5) - math.floor(math.log10(step) + 1e-9))
    return [number * step for number in range(first, last + 1)], digits


def _text_width(text: str) -> float:
    """Return an upper estimate of a text's width in pixels, from 0.62 of the height per letter."""
    return _FONT * sum(1.0 if ord(sign) >= _WIDE else 0.62 for sign in visible(text))


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escaped(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>'


def _escaped(text: str) -> str:
    return html.escape(visible(text))

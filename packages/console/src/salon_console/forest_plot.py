"""Forest plots: a point and a bar for each row, as SVG and as a table of a page."""

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible
from salon_taxonomy.whole_files import write_whole

_SVG: Final = "http://www.w3.org/2000/svg"
_EDGE: Final = 2.0
"""Percent of the width that a page's plot leaves free at each end, so that no point is cut."""
_FARTHEST: Final = 4.0
"""Times the median distance of an interval's end from its value: an end farther beyond all values does not widen the axis."""
_FEWEST: Final = 6
"""Ends of intervals that a median is taken of."""
_LARGEST: Final = 1e300
"""What is beyond is drawn here: differences of two such numbers are still numbers."""
_LONG: Final = 1e15
_ROUNDING: Final = 1e-9
"""Of a step of the axis: a value so little beyond a tick is that tick (a share's 1.0000000000000002 is 1)."""
_MOST_DIGITS: Final = 9
"""Numbers from there on, or with more digits after the point, are written with an exponent."""
_ROW: Final = 22
_PLOT: Final = 360
_FONT: Final = 12
_MARGIN: Final = 12
_POINT: Final = "#3f7fd0"
_WIDE: Final = 0x1100
"""Characters from here on may be as wide as they are high (Korean, Chinese, Japanese, emoji)."""


class PlotRow(NamedTuple):
    """One row of a forest plot: its value and the ends of its interval are None where unknown."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    series: str = ""


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """Values with their intervals, one row below the other.

    An interval that reaches much farther than the others would press them flat: its bar ends at the edge with an arrow. A value
    without an interval among others that have one is hollow, so that it does not look like the most certain one.

    Attributes:
        title: what the horizontal axis shows, with its unit.
        rows: from top to bottom; neighbours with the same name share it, each series in its colour.
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
        ticks, digits = self._ticks()
        left = 2 * _MARGIN + max((_text_width(_whole_name(row)) for row in self.rows), default=0.0)
        width, height = left + _PLOT + 3 * _MARGIN, _ROW * (len(self.rows) + 2) + _MARGIN
        bottom = _ROW * len(self.rows) + _MARGIN

        def x(value: float) -> float:
            return left + _PLOT * _part(value, ticks)

        parts = [] if inline else ['<rect width="100%" height="100%" fill="white"/>']
        for tick in ticks:
            parts.append(_line(x(tick), _MARGIN, x(tick), bottom, f'stroke="{ink}" opacity="0.15"'))
            parts.append(_text(x(tick), bottom + 15, _number_text(tick, digits), "middle"))
        if _known(self.reference):
            parts.append(_line(x(self.reference), _MARGIN, x(self.reference), bottom, f'stroke="{ink}" stroke-dasharray="3 3"'))
        for number, row in enumerate(self.rows):
            drawn_row = row._replace(name=_whole_name(row), low=_within(row.low, ticks), high=_within(row.high, ticks))
            parts += _row(drawn_row, _MARGIN + _ROW * (number + 0.5), left, x, hollow=self._hollow(row))
            for end, sign in ((row.low, "‹"), (row.high, "›")):
                if _known(row.low) and _known(row.high) and _beyond(end, ticks):
                    parts.append(_text(x(_within(end, ticks) or 0.0), _MARGIN + _ROW * (number + 0.5) + 4, sign, "middle"))
        parts.append(_text(left + _PLOT / 2, bottom + 34, self.title, "middle"))
        body = "\n".join(parts)
        label = _escaped(self._label())
        return (
            f'<svg xmlns="{_SVG}" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{label}" style="max-width:100%;height:auto" '
            f'font-family="system-ui, DejaVu Sans, sans-serif" font-size="{_FONT}" fill="{ink}">\n{body}\n</svg>\n'
        )

    def html(self) -> str:
        """Return the plot as an HTML table: names wrap, and the bars fill the rest of the width."""
        ticks, digits = self._ticks()

        def x(value: float | None) -> str | None:
            return f"{_EDGE + (100 - 2 * _EDGE) * _part(value, ticks):.2f}%" if _known(value) else None

        series = {name: number % 8 for number, name in enumerate(dict.fromkeys(row.series for row in self.rows))}
        together = [row.name if row.series else number for number, row in enumerate(self.rows)]
        groups = [list(group) for _, group in groupby(zip(together, self.rows, strict=True), lambda pair: pair[0])]
        rows = [
            {
                "name": None if number else row.name,
                "span": len(group),
                "colour": series[row.series],
                "value": x(row.value),
                "hollow": self._hollow(row),
                "ends": ends if all(ends) else None,
                "beyond": [end for end, known in zip(ends, row[2:4], strict=True) if all(ends) and _beyond(known, ticks)],
                "words": _words(row, digits),
            }
            for group in groups
            for number, (_, row) in enumerate(group)
            for ends in [(x(_within(row.low, ticks)), x(_within(row.high, ticks)))]
        ]
        from salon_console.templates import page_template  # only pages need templates

        return page_template("salon_console", "forest_plot.html.jinja").render(
            title=self.title,
            label=self._label(),
            ticks=[(x(tick), _number_text(tick, digits)) for tick in ticks],
            reference=x(self.reference),
            series=series if len(series) > 1 else {},
            rows=rows,
        )

    def save(self, path: Path | str) -> None:
        """Write the plot as a picture: ``.svg`` or ``.png``.

        Raises:
            InputError: the file has another ending or cannot be written, or the extra ``charts`` is not installed.
        """
        path = Path(path)
        drawings: dict[str, Callable[[], str | bytes]] = {".svg": self.svg, ".png": self.png}
        if path.suffix.lower() not in drawings:
            raise InputError("has an unknown ending", source=path, value=path.suffix, allowed=drawings)
        write_whole(path, drawings[path.suffix.lower()]())

    def _hollow(self, row: PlotRow) -> bool:
        """Return whether a row lacks the interval that others have."""
        return not _known(row.low) and any(_known(other.low) for other in self.rows)

    def png(self) -> bytes:
        """Return the plot as a PNG, two pixels for each unit of the SVG.

        Raises:
            InputError: the extra ``charts`` is not installed.
        """
        return svg_to_png(self.svg())

    def _ticks(self) -> tuple[list[float], int]:
        """Return the numbers of the axis, and the digits after the point that they need."""
        values = [value for value in (self.reference, *(row.value for row in self.rows)) if _known(value)]
        ends = [end for row in self.rows for end in row[2:4] if _known(end)]
        reach = sorted(
            abs(end - row.value)
            for row in self.rows
            for end in row[2:4]
            if _known(end) and _known(row.value) and end != row.value
        )
        if values and len(reach) >= _FEWEST:
            farthest = _FARTHEST * reach[len(reach) // 2]
            ends = [end for end in ends if min(values) - farthest <= end <= max(values) + farthest]
        return _ticks([*values, *ends])

    def _label(self) -> str:
        return f"{self.title} of {len(self.rows)} rows. {self.description}".strip()


def svg_to_png(svg: str) -> bytes:
    """Return an SVG as a PNG, two pixels per unit, with the fonts of this machine.

    Raises:
        InputError: the extra that draws it is not installed, or the machine has no font.
    """
    try:
        import resvg_py
    except ModuleNotFoundError as error:
        hint = "In a clone of Salon: uv pip install './packages/console[charts]', or end the name with .svg."
        raise InputError("a PNG needs the extra 'charts', which lacks", value=error.name, hint=hint) from error
    blank, letter = (
        resvg_py.svg_to_bytes(svg_string=f'<svg xmlns="{_SVG}" width="20" height="20"><text y="15">{text}</text></svg>')
        for text in ("", "M")
    )
    if blank == letter:
        raise InputError("a PNG needs a font, and none is installed", source="PNG", hint="End the name with .svg.")
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=2))


def _whole_name(row: PlotRow) -> str:
    return f"{row.name}, {row.series}" if row.series else row.name


def _words(row: PlotRow, digits: int) -> str:
    """Return what a row shows, in words."""

    def text(value: float) -> str:
        return _number_text(value, 0 if float(value).is_integer() else digits + 1)

    if not _known(row.value):
        return f"{_whole_name(row)}: no value"
    interval = f", from {text(row.low)} to {text(row.high)}" if _known(row.low) and _known(row.high) else ""
    return f"{_whole_name(row)}: {text(row.value)}{interval}"


def _row(row: PlotRow, y: float, left: float, x: Callable[[float], float], *, hollow: bool) -> Iterator[str]:
    """Yield the name, the bar and the point of one row."""
    yield _text(left - _MARGIN, y + 4, row.name, "end")
    if _known(row.low) and _known(row.high):
        look = f'stroke="{_POINT}" stroke-width="5" stroke-linecap="round" opacity="0.45"'
        yield _line(x(row.low), y, x(row.high), y, look)
    if _known(row.value):
        look = f'fill="none" stroke="{_POINT}" stroke-width="1.5"' if hollow else f'fill="{_POINT}"'
        yield f'<circle cx="{x(row.value):.1f}" cy="{y:.1f}" r="4" {look}/>'


def _beyond(end: float | None, ticks: Sequence[float]) -> bool:
    return _known(end) and not ticks[0] <= end <= ticks[-1]


def _within(end: float | None, ticks: Sequence[float]) -> float | None:
    """Return the end of an interval, or the end of the axis where that is nearer."""
    return max(ticks[0], min(ticks[-1], end)) if _known(end) else None


def _part(value: float, ticks: Sequence[float]) -> float:
    """Return where a value lies on the axis, from 0 to 1."""
    return min(1.0, max(0.0, (_between(value) - ticks[0]) / (ticks[-1] - ticks[0])))


def _between(value: float) -> float:
    return max(-_LARGEST, min(_LARGEST, value))


def _number_text(value: float, digits: int) -> str:
    """Return a number of an axis with so many digits after the point; very large and small ones with an exponent."""
    return f"{value:.4g}" if abs(value) >= _LONG or digits > _MOST_DIGITS else f"{value:,.{digits}f}"


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _ticks(values: Sequence[float]) -> tuple[list[float], int]:
    """Return round numbers that contain all values, from low to high, and the digits after the point that they need."""
    low, high = _between(min(values, default=0.0)), _between(max(values, default=1.0))
    least = max(abs(low), abs(high)) * 1e-9  # closer ones are one point
    if high - low <= max(least, 1e-290):
        low, high = low - max(0.5, least), high + max(0.5, least)
    whole = all(float(value).is_integer() for value in values)
    raw = max((high - low) / 4, 1.0 if whole else 0.0)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    factor = next(
        factor
        for factor in (1, 2, 2.5, 5, 10)
        if factor * magnitude >= raw and (not whole or (factor * magnitude).is_integer())
    )
    step = factor * magnitude
    first, last = math.floor(low / step + _ROUNDING), math.ceil(high / step - _ROUNDING)
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

"""Draw one chart of curves as SVG, without script, every number also in words.

A chart has lines (a gap where a number is missing) with bands around them, levels (thresholds, drawn across), and moments
(a run was resumed or ended, drawn upright). The browser shows the numbers under the pointer; for screen readers there is a
sentence for each line. The words of the template are in ``line_chart.html.jinja``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from salon_console.forest_plot import svg_to_png
from salon_console.table_files import Table
from salon_console.templates import page_template, read_text
from salon_taxonomy.visible_text import visible

WIDTH: Final = 340
HEIGHT: Final = 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 10, 26
_MOST_POINTS: Final = 300
_MOST_STRIPS: Final = 120
_MOST_ROWS: Final = 40
_MOST_DOTS: Final = 40
_LONGEST_TICK: Final = 6
_ROOM: Final = 0.9
"""Share of a logarithmic axis' lowest value at which it begins."""
_Point: TypeAlias = tuple[float, float | None]
_FARTHEST: Final = 1e150
"""What is beyond is drawn here: differences of two such numbers are still numbers."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve.

    Attributes:
        label: its name.
        points: its numbers by where they are across; None where there was none.
        colour: from 0 to 7.
        dash: 0 is drawn through; up to 3.
        alarms: ``warn`` or ``stop`` at some of its points.
        band: the ends of an interval around some of its points.
        thin: one of many, such as a seed of an arm: drawn faintly, and said by the arm's mean.
    """

    label: str
    points: Mapping[float, float | None]
    colour: int = 0
    dash: int = 0
    alarms: Mapping[float, str] = field(default_factory=dict)
    band: Mapping[float, tuple[float, float]] = field(default_factory=dict)
    thin: bool = False


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold.

    Attributes:
        value: finite.
        kind: ``warn``, ``stop`` or ``goal``.
    """

    value: float
    kind: str


@dataclass(frozen=True, slots=True)
class Upright:
    """A moment of a run.

    Attributes:
        step: at which.
        kind: ``resumed`` or ``ended``.
        label: a sentence.
    """

    step: int
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One entry of the legend: what a colour means, or a dash (without a colour), or both."""

    label: str
    colour: int | None
    dash: int = 0


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart.

    Attributes:
        title: what is drawn, with its unit.
        lines: at least one.
        keys: the legend; it may be empty for a line that the title names.
        levels: thresholds.
        uprights: moments.
        steps: the first and the last point across; None: those of the lines.
        across: what is counted across.
        log: both axes are logarithmic; what is not above 0 is not drawn.
    """

    title: str
    lines: Sequence[Curve]
    keys: Sequence[LegendEntry] = ()
    levels: Sequence[Threshold] = ()
    uprights: Sequence[Upright] = ()
    steps: tuple[float, float] | None = None
    across: str = "Step"
    log: bool = False

    def html(self) -> str:
        """Return the legend and the drawing for a page; all words are escaped."""
        return self._drawn(alone=False)

    def svg(self) -> str:
        """Return the drawing with its title and legend as a picture, dark on white."""
        return self._drawn(alone=True)

    def png(self) -> bytes:
        """Return :meth:`svg` as a PNG.

        Raises:
            InputError: as :func:`~salon_console.forest_plot.svg_to_png`.
        """
        return svg_to_png(self.svg())

    def table(self, caption: str = "") -> Table:
        """Return the numbers of all lines, at most 40 rows, evenly."""
        at = _evenly(sorted({at for line in self.lines for at in line.points}), _MOST_ROWS)
        rows = [[_across(x), *(value_text(line.points[x]) if x in line.points else "" for line in self.lines)] for x in at]
        columns = (self.across, *(shown(line.label) for line in self.lines))
        return Table(columns, rows, frozenset(columns), caption)

    def _drawn(self, *, alone: bool) -> str:
        drawn = [_of_numbers(line) for line in self.lines]
        lines = [
            (line, _thinned({x: y for x, y in line.points.items() if not self.log or (x > 0 and _above(y))})) for line in drawn
        ]
        values = [value for _, points in lines for _, value in points if value is not None]
        values += [end for line in drawn for ends in line.band.values() for end in ends]
        values += [level.value for level in self.levels if level.kind != "stop"]  # so that a warning can be seen coming
        levels = [level for level in self.levels if _near(level, values)]
        values += [level.value for level in levels]
        axes = self._axes(values, [x for _, points in lines for x, _ in points])
        html: str = page_template("salon_console", "line_chart.html.jinja").render(
            title=shown(self.title),
            across="" if self.across == "Step" else shown(self.across),
            said=" ".join(_sentence(line, self.across) for line in drawn if not line.thin),
            width=WIDTH,
            height=HEIGHT,
            left=_LEFT,
            right=WIDTH - _RIGHT,
            top=_TOP,
            bottom=HEIGHT - _BOTTOM,
            y_ticks=list(zip(map(axes.y, axes.y_ticks), _tick_texts(axes.y_ticks), strict=True)),
            x_ticks=[
                (axes.x(value), text)
                for value, text in zip(axes.x_ticks, _tick_texts(axes.x_ticks, across=True), strict=True)
                if axes.steps[0] <= value <= axes.steps[1]
            ],
            bands=[{"colour": line.colour % 8, "path": _band(line, axes)} for line in drawn if line.band],
            lines=[_line(line, points, axes) for line, points in lines],
            keys=[
                {
                    "label": shown(key.label),
                    "colour": "own" if key.colour is None else f"c{key.colour % 8}",
                    "dash": key.dash % 4,
                }
                for key in self.keys
            ],
            levels=[{"y": axes.y(level.value), "kind": level.kind} for level in levels],
            level_keys=_level_keys(self.levels, levels),
            uprights=[{"x": axes.x(upright.step), "kind": upright.kind} for upright in self.uprights],
            strips=_strips(drawn, axes, self.across),
            style=read_text("salon_console", "line_chart.svg.css") if alone else None,
        )
        return html

    def _axes(self, values: Sequence[float], at: Sequence[float]) -> "_Axes":
        """Return the axes that hold all values."""
        if self.log:
            values = [value for value in values if value > 0]
        low, high = (min(values), max(values)) if values else (1.0, 10.0) if self.log else (0.0, 1.0)
        least = 1.0 if self.log else 0.0
        first, last = self.steps if self.steps is not None else (min(at, default=least), max(at, default=1.0))
        if self.log:
            first, last, low, high = (max(1 / _FARTHEST, min(_FARTHEST, end)) for end in (first, last, low, high))
            first, last = (first, last) if first < 0.999 * last else (first / 2, last * 2)
            return _Axes(
                (first, last), (low * _ROOM, high / _ROOM), _decades(first, last), _decades(low * _ROOM, high / _ROOM), log=True
            )
        if low >= 0:
            low, high = 0.0, high or 1.0
        whole = all(float(x).is_integer() for x in at)
        last = last if last - first > abs(first) * 1e-9 else first + max(1.0, abs(first) * 1e-9)
        y_ticks = ticks(low, high)
        return _Axes((first, last), (y_ticks[0], y_ticks[-1]), ticks(first, last, most=6, whole=whole), y_ticks)


def shown(text: str, most: int = 120) -> str:
    """Return foreign text, cut to so many characters, with invisible characters written out.

    Example:
        >>> shown("a" * 10, 4)
        'aaa…'
    """
    return visible(text if len(text) <= most else f"{text[: most - 1]}…", prose=True)


def value_text(value: float | None) -> str:
    """Return a number with four significant digits; a dash for none.

    Example:
        >>> value_text(0.123456), value_text(1e-6), value_text(12.0), value_text(None)
        ('0.1235', '1e-06', '12', '–')
    """
    return "–" if value is None else f"{value:.4g}"


def ticks(low: float, high: float, *, most: int = 5, whole: bool = False) -> list[float]:
    """Return round numbers (1, 2 or 5 times a power of ten) that enclose a range.

    Args:
        low, high: finite; equal ones are given room.
        most: about how many.
        whole: integers alone.

    Example:
        >>> ticks(0.0, 0.83)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        >>> ticks(3, 3, whole=True)
        [3.0, 4.0]
    """
    low, high = (max(-_FARTHEST, min(_FARTHEST, value)) for value in (low, high))
    if whole:
        low, high = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
    room = max(abs(low), abs(high)) * 1e-9
    if high - low <= max(room, 1e-290):
        grown = max(abs(low) * 0.1, 1e-12)
        low, high = low - grown, high + grown
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * 0.999)
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{place * step:.15g}") for place in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class _Axes:
    """Positions of numbers in the drawing, clipped to it."""

    steps: tuple[float, float]
    values: tuple[float, float]
    x_ticks: list[float]
    y_ticks: list[float]
    log: bool = False

    def x(self, step: float) -> float:
        return _between(_LEFT, WIDTH - _RIGHT, self._part(step, self.steps))

    def y(self, value: float) -> float:
        return _between(HEIGHT - _BOTTOM, _TOP, self._part(value, self.values))

    def _part(self, value: float, ends: tuple[float, float]) -> float:
        return _part(*(math.log10(max(end, 1e-300)) for end in (value, *ends))) if self.log else _part(value, *ends)


def _decades(low: float, high: float) -> list[float]:
    """Return up to about eight round numbers (1, 2 or 5 times a power of ten) within a positive range."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = next(factors for factors in ((1, 2, 5), (1, 3), (1,)) if len(powers) * len(factors) <= 12 or len(factors) == 1)
    return [factor * 10.0**power for power in powers for factor in every if low <= factor * 10.0**power <= high]


def _of_numbers(line: Curve) -> Curve:
    """Return the curve of finite numbers: NaN as a value counts as missing; points at NaN or infinity are left out."""
    points = {x: None if y is None or math.isnan(y) else y for x, y in line.points.items() if math.isfinite(x)}
    band = {x: ends for x, ends in line.band.items() if math.isfinite(x) and all(map(math.isfinite, ends))}
    return replace(line, points=points, band=band)


def _above(value: float | None) -> bool:
    return value is None or value > 0


def _band(line: Curve, axes: _Axes) -> str:
    """Return the outline of a band: its upper ends forward, its lower ends back."""
    known = sorted(line.band.items())
    upper = [f"{axes.x(x)},{axes.y(high)}" for x, (_, high) in known]
    lower = [f"{axes.x(x)},{axes.y(low)}" for x, (low, _) in reversed(known)]
    return f"M{' L'.join([*upper, *lower])} Z"


def _part(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _between(start: float, end: float, part: float) -> float:
    return round(start + (end - start) * part, 1)


def _near(level: Threshold, values: Sequence[float]) -> bool:
    """Return whether a threshold can be drawn without pressing the curves flat."""
    room = 2 * max((abs(value) for value in values), default=math.inf)
    return min(values, default=0.0) - room <= level.value <= max(values, default=0.0) + room


def _line(line: Curve, points: Sequence[_Point], axes: _Axes) -> dict[str, Any]:
    parts: list[list[str]] = [[]]
    for step, value in points:
        if value is None:
            parts.append([])
        else:
            parts[-1].append(f"{axes.x(step)},{axes.y(value)}")
    known = [(step, value) for step, value in points if value is not None]
    alone = {part[0] for part in parts if len(part) == 1}
    dots = [(axes.x(step), axes.y(value)) for step, value in known]
    alarms = [(step, kind, line.points.get(step)) for step, kind in sorted(line.alarms.items())]
    return {
        "label": shown(line.label),
        "colour": line.colour % 8,
        "dash": line.dash % 4,
        "thin": line.thin,
        "path": " ".join("M" + " L".join(part) for part in parts if len(part) > 1),
        "dots": []
        if line.thin
        else dots
        if len(known) <= _MOST_DOTS
        else [dot for dot in dots if f"{dot[0]},{dot[1]}" in alone],
        "alarms": [
            {"x": axes.x(step), "y": axes.y(value), "kind": kind}
            for step, kind, value in alarms[-_MOST_STRIPS:]
            if value is not None
        ],
    }


def _thinned(points: Mapping[float, float | None]) -> list[_Point]:
    """Return the points to draw: all, or the lowest and highest of every stretch."""
    inside = [
        (step, None if value is None else max(-_FARTHEST, min(_FARTHEST, value))) for step, value in sorted(points.items())
    ]
    if len(inside) <= _MOST_POINTS:
        return inside
    known = [(step, value) for step, value in inside if value is not None]
    size = -(-2 * len(known) // _MOST_POINTS)
    kept: list[_Point] = []
    for start in range(0, len(known), max(1, size)):
        stretch = known[start : start + size]
        ends = {min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])}
        kept += sorted(ends)
    return kept


def _strips(lines: Sequence[Curve], axes: _Axes, across: str) -> list[dict[str, Any]]:
    """Draw vertical strips, one for one or several points; the browser shows their text on hover."""
    steps = _evenly(sorted({step for line in lines for step in line.points}), _MOST_STRIPS)
    middles = [axes.x(step) for step in steps]
    edges = [_LEFT, *((one + other) / 2 for one, other in pairwise(middles)), WIDTH - _RIGHT]
    return [
        {
            "x": round(edges[number], 1),
            "width": round(max(0.0, edges[number + 1] - edges[number]), 1),
            "words": [f"{across.lower()} {_across(step)}", *_at(lines, step)],
        }
        for number, step in enumerate(steps)
    ]


def _at(lines: Sequence[Curve], step: float) -> Iterable[str]:
    for line in lines:
        if step in line.points and not line.thin:
            alarm = f" ({line.alarms[step]})" if step in line.alarms else ""
            yield f"{shown(line.label)}: {value_text(line.points[step])}{alarm}"


def _across(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else value_text(value)


def _evenly(steps: Sequence[float], most: int) -> list[float]:
    """Return evenly spaced steps, at most so many, with the first and the last."""
    if len(steps) <= most:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def _sentence(line: Curve, across: str) -> str:
    """Describe a line in a sentence."""
    known = [(step, value) for step, value in sorted(line.points.items()) if value is not None]
    if not known:
        return f"{shown(line.label)}: no number."
    (first_step, first), (last_step, last) = known[0], known[-1]
    lowest, highest = min(value for _, value in known), max(value for _, value in known)
    ends = f"{value_text(first)} at {across.lower()} {_across(first_step)}"
    if len(known) > 1:
        ends += f", {value_text(last)} at {across.lower()} {_across(last_step)}"
        ends += f", between {value_text(lowest)} and {value_text(highest)}"
    loud = f", {len(line.alarms)} alarms" if line.alarms else ""
    return f"{shown(line.label)}: {ends}{loud}."


def _level_keys(levels: Sequence[Threshold], drawn: Sequence[Threshold]) -> list[dict[str, str]]:
    """Return the legend of thresholds: one entry for each kind, with all its numbers."""
    keys = []
    for kind, words in (("warn", "warns at"), ("stop", "stops at"), ("goal", "wanted:")):
        of = [level for level in levels if level.kind == kind]
        numbers = [value_text(level.value) + ("" if level in drawn else " (beyond the chart)") for level in of]
        keys += [{"kind": kind, "label": f"{words} {' and '.join(dict.fromkeys(numbers))}"}] if of else []
    return keys


def _tick_texts(values: Sequence[float], *, across: bool = False) -> list[str]:
    """Return the numbers of an axis, all written in one way: plainly where that is short enough."""
    texts = [_across(value) if across else f"{value:,.6g}" for value in values]
    if across or max(map(len, texts), default=0) <= _LONGEST_TICK:
        return texts
    return [_short(value) for value in values]


def _short(value: float) -> str:
    """Return a number as 1.5e-4."""
    mantissa, _, exponent = f"{value:e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}" if value else "0"

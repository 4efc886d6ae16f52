"""Draw one chart of curves over steps as inline SVG, without script, every number also in words.

A chart has lines (a gap where there was no number), levels (thresholds, drawn across), and moments (where a run was resumed or
ended, drawn upright). Where the pointer rests, the browser itself shows the step's numbers; for eyes that do not see the
drawing it has a sentence for each line, and a table beneath. The words of the template are in ``curve.html.jinja``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from salon_bench.report.gallery import plain
from salon_console.page import page_template, read_text

WIDTH: Final = 340
HEIGHT: Final = 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 10, 26
_MOST_POINTS: Final = 300
_MOST_STRIPS: Final = 120
_MOST_ROWS: Final = 40
_MOST_DOTS: Final = 40
_LONGEST_TICK: Final = 6
_FARTHEST: Final = 1e150
"""What is beyond is drawn here: differences of two such numbers are still numbers."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve.

    Attributes:
        label: its name.
        points: its numbers by step; None where there was none.
        colour: from 0 to 7.
        dash: 0 is drawn through; up to 3.
        alarms: ``warn`` or ``stop`` at some of its steps.
    """

    label: str
    points: Mapping[int, float | None]
    colour: int = 0
    dash: int = 0
    alarms: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold.

    Attributes:
        value: finite.
        kind: ``warn`` or ``stop``.
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
        title: what is drawn.
        lines: at least one.
        keys: the legend; it may be empty for a line that the title names.
        levels: thresholds.
        uprights: moments.
        steps: the first and the last step of the axis.
        note: a sentence beneath the title; empty for none.
    """

    title: str
    lines: Sequence[Curve]
    keys: Sequence[LegendEntry] = ()
    levels: Sequence[Threshold] = ()
    uprights: Sequence[Upright] = ()
    steps: tuple[int, int] = (0, 1)
    note: str = ""


def shown(text: str, most: int = 120) -> str:
    """Words of strangers, so many characters of them, without what acts unseen.

    Example:
        >>> shown("a" * 10, 4)
        'aaa…'
    """
    return plain(text if len(text) <= most else f"{text[: most - 1]}…")


def value_text(value: float | None) -> str:
    """A number with four significant digits; a dash for none.

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


def drawn(chart: LineChart) -> str:
    """The chart as HTML: a figure with its SVG, a legend, and the numbers behind it. All words are escaped."""
    lines = [(line, _thinned(line.points)) for line in chart.lines]
    values = [value for _, points in lines for _, value in points if value is not None]
    values += [level.value for level in chart.levels if level.kind == "warn"]  # so that a warning can be seen coming
    levels = [level for level in chart.levels if _near(level, values)]
    values += [level.value for level in levels]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if low >= 0:
        low, high = 0.0, high or 1.0
    y_ticks = ticks(low, high)
    x_ticks = ticks(chart.steps[0], max(chart.steps[1], chart.steps[0] + 1), most=6, whole=True)
    place = _Place((float(chart.steps[0]), float(max(chart.steps[1], chart.steps[0] + 1))), (y_ticks[0], y_ticks[-1]))
    html: str = page_template("salon_train.report", "curve.html.jinja").render(
        title=shown(chart.title),
        note=shown(chart.note),
        said=" ".join(_said(line) for line in chart.lines),
        width=WIDTH,
        height=HEIGHT,
        left=_LEFT,
        right=WIDTH - _RIGHT,
        top=_TOP,
        bottom=HEIGHT - _BOTTOM,
        y_ticks=list(zip(map(place.y, y_ticks), _tick_texts(y_ticks), strict=True)),
        x_ticks=[(place.x(value), f"{value:,.0f}") for value in x_ticks if value <= place.steps[1]],
        lines=[_line(line, points, place) for line, points in lines],
        keys=[
            {"label": shown(key.label), "colour": "own" if key.colour is None else f"c{key.colour % 8}", "dash": key.dash % 4}
            for key in chart.keys
        ],
        levels=[{"y": place.y(level.value), "kind": level.kind} for level in levels],
        level_keys=_level_keys(chart.levels, levels),
        uprights=[{"x": place.x(each.step), "kind": each.kind, "label": shown(each.label)} for each in chart.uprights],
        strips=_strips(chart.lines, place),
        columns=[shown(line.label) for line in chart.lines],
        rows=_rows(chart.lines),
    )
    return html


def style() -> str:
    """The rules that the charts of a page share."""
    return read_text("salon_train.report", "report.css")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where numbers lie in the drawing, kept inside of it."""

    steps: tuple[float, float]
    values: tuple[float, float]

    def x(self, step: float) -> float:
        return _between(_LEFT, WIDTH - _RIGHT, _part(step, *self.steps))

    def y(self, value: float) -> float:
        return _between(HEIGHT - _BOTTOM, _TOP, _part(value, *self.values))


def _part(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _between(start: float, end: float, part: float) -> float:
    return round(start + (end - start) * part, 1)


def _near(level: Threshold, values: Sequence[float]) -> bool:
    """Whether a threshold can be drawn without pressing the curves flat."""
    room = 2 * max((abs(value) for value in values), default=math.inf)
    return min(values, default=0.0) - room <= level.value <= max(values, default=0.0) + room


def _line(line: Curve, points: Sequence[tuple[int, float | None]], place: _Place) -> dict[str, Any]:
    parts: list[list[str]] = [[]]
    for step, value in points:
        if value is None:
            parts.append([])
        else:
            parts[-1].append(f"{place.x(step)},{place.y(value)}")
    known = [(step, value) for step, value in points if value is not None]
    alone = {part[0] for part in parts if len(part) == 1}
    dots = [(place.x(step), place.y(value)) for step, value in known]
    alarms = [(step, kind, line.points.get(step)) for step, kind in sorted(line.alarms.items())]
    return {
        "label": shown(line.label),
        "colour": line.colour % 8,
        "dash": line.dash % 4,
        "path": " ".join("M" + " L".join(part) for part in parts if len(part) > 1),
        "dots": dots if len(known) <= _MOST_DOTS else [dot for dot in dots if f"{dot[0]},{dot[1]}" in alone],
        "alarms": [
            {"x": place.x(step), "y": place.y(value), "kind": kind}
            for step, kind, value in alarms[-_MOST_STRIPS:]
            if value is not None
        ],
    }


def _thinned(points: Mapping[int, float | None]) -> list[tuple[int, float | None]]:
    """Return the points to draw: all, or the lowest and highest of every stretch."""
    inside = [
        (step, None if value is None else max(-_FARTHEST, min(_FARTHEST, value))) for step, value in sorted(points.items())
    ]
    if len(inside) <= _MOST_POINTS:
        return inside
    known = [(step, value) for step, value in inside if value is not None]
    size = -(-2 * len(known) // _MOST_POINTS)
    kept: list[tuple[int, float | None]] = []
    for start in range(0, len(known), max(1, size)):
        stretch = known[start : start + size]
        ends = {min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])}
        kept += sorted(ends)
    return kept


def _strips(lines: Sequence[Curve], place: _Place) -> list[dict[str, Any]]:
    """Draw vertical strips, one for one or several steps; the browser shows their text on hover."""
    steps = _evenly(sorted({step for line in lines for step in line.points}), _MOST_STRIPS)
    middles = [place.x(step) for step in steps]
    edges = [_LEFT, *((one + other) / 2 for one, other in pairwise(middles)), WIDTH - _RIGHT]
    return [
        {
            "x": round(edges[number], 1),
            "width": round(max(0.0, edges[number + 1] - edges[number]), 1),
            "words": [f"step {step:,}", *_at(lines, step)],
        }
        for number, step in enumerate(steps)
    ]


def _at(lines: Sequence[Curve], step: int) -> Iterable[str]:
    for line in lines:
        if step in line.points:
            alarm = f" ({line.alarms[step]})" if step in line.alarms else ""
            yield f"{shown(line.label)}: {value_text(line.points[step])}{alarm}"


def _rows(lines: Sequence[Curve]) -> list[list[str]]:
    steps = _evenly(sorted({step for line in lines for step in line.points}), _MOST_ROWS)
    return [[f"{step:,}", *(value_text(line.points[step]) if step in line.points else "" for line in lines)] for step in steps]


def _evenly(steps: Sequence[int], most: int) -> list[int]:
    """At most so many steps, evenly, with the first and the last."""
    if len(steps) <= most:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def _said(line: Curve) -> str:
    """A line in a sentence."""
    known = [(step, value) for step, value in sorted(line.points.items()) if value is not None]
    if not known:
        return f"{shown(line.label)}: no number."
    (first_step, first), (last_step, last) = known[0], known[-1]
    lowest, highest = min(value for _, value in known), max(value for _, value in known)
    ends = f"{value_text(first)} at step {first_step:,}"
    if len(known) > 1:
        ends += f", {value_text(last)} at step {last_step:,}, between {value_text(lowest)} and {value_text(highest)}"
    loud = f", {len(line.alarms)} alarms" if line.alarms else ""
    return f"{shown(line.label)}: {ends}{loud}."


def _level_keys(levels: Sequence[Threshold], shown: Sequence[Threshold]) -> list[dict[str, str]]:
    """The legend of thresholds: one entry for each kind, with all its numbers."""
    keys = []
    for kind, words in (("warn", "warns at"), ("stop", "stops at")):
        of = [level for level in levels if level.kind == kind]
        numbers = [value_text(level.value) + ("" if level in shown else " (beyond the chart)") for level in of]
        keys += [{"kind": kind, "label": f"{words} {' and '.join(dict.fromkeys(numbers))}"}] if of else []
    return keys


def _tick_texts(values: Sequence[float]) -> list[str]:
    """The numbers of an axis, all written in one way: plainly where that is short enough."""
    texts = [f"{value:,.6g}" for value in values]
    if max(map(len, texts)) <= _LONGEST_TICK:
        return texts
    return [_short(value) for value in values]


def _short(value: float) -> str:
    """As 1.5e-4."""
    mantissa, _, exponent = f"{value:e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}" if value else "0"

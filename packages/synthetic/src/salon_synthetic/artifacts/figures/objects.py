"""Lifeless things: a chair, a car, a bicycle, a mug; whole, or with a part wrong."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from salon_synthetic.artifacts.canvas import Colour, Pen
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.artifacts.palette import Palette, mixed
from salon_synthetic.rng import Rng

Painter = Callable[[Pen, Palette, Rng, Rng, Difficulty, str | None], None]

LACKS: Final = "object-missing-part"
LOOSE: Final = "object-loose-part"
EXTRA: Final = "object-extra-part"
BENT: Final = "object-bent-part"


def thing_of(rng: Rng, difficulty: Difficulty, drawn_for: str) -> str:
    """Return which thing a picture for this kind shows: two at the easiest, all that can show it at the hardest."""
    able = [name for name in THINGS if (name, drawn_for) not in _CANNOT]
    return rng.fork("thing").choice(able[: 2 + round((len(able) - 2) * difficulty.pose)])


def draw_thing(pen: Pen, palette: Palette, rng: Rng, difficulty: Difficulty, kind: str | None, name: str) -> None:
    """Paint a thing, whole or as ``kind`` says; it stands at y = 0.95."""
    THINGS[name](pen, palette, rng.fork("pose"), rng.fork("flaw"), difficulty, kind)


def _gap(difficulty: Difficulty) -> float:
    return 0.17 - 0.08 * difficulty.subtlety


def _chair(pen: Pen, palette: Palette, pose: Rng, flaw: Rng, difficulty: Difficulty, kind: str | None) -> None:
    seat = pose.around(0.56, 0.05 * difficulty.pose)
    top = pose.around(0.12, 0.06 * difficulty.pose)
    left, right = 0.24, pose.around(0.76, 0.06 * difficulty.pose)
    legs = [left + 0.03, left + 0.17, right - 0.17, right - 0.03]
    back_x = back_y = 0.0
    gone: list[int] = []
    if kind == LACKS:
        gone = flaw.choice(([0, 1], [2, 3])) if not flaw.chance(difficulty.subtlety) else [flaw.choice((0, 3))]
    elif kind == LOOSE:
        back_x, back_y = -_gap(difficulty) * 0.7, -_gap(difficulty) * 0.6
    elif kind == EXTRA:
        many = 7 if not flaw.chance(difficulty.subtlety) else 6
        legs = [left + 0.03 + (right - left - 0.06) * number / (many - 1) for number in range(many)]
    sag = (0.20 - 0.08 * difficulty.subtlety) * flaw.choice((-1, 1)) if kind == BENT else 0.0
    for number, x in enumerate(legs):
        if number not in gone:
            middle = 1 - abs(2 * (x - left) / (right - left) - 1)
            pen.limb([(x, seat + sag * middle), (x, 0.93)], [0.024, 0.022], palette.wood)
    pen.limb([(left + 0.02 + back_x, seat - 0.02 + back_y), (left - 0.03 + back_x, top + back_y)], [0.03, 0.03], palette.wood)
    pen.limb([(left + back_x, top + 0.05 + back_y), (left + 0.11 + back_x, top + 0.10 + back_y)], [0.035, 0.03], palette.thing)
    pen.limb([(left + back_x, top + 0.19 + back_y), (left + 0.11 + back_x, top + 0.24 + back_y)], [0.03, 0.025], palette.thing)
    pen.limb([(left, seat), ((left + right) / 2, seat + sag), (right, seat)], [0.045, 0.045, 0.045], palette.thing)


def _car(pen: Pen, palette: Palette, pose: Rng, flaw: Rng, difficulty: Difficulty, kind: str | None) -> None:
    roof = pose.around(0.36, 0.05 * difficulty.pose)
    radius = pose.around(0.105, 0.012 * difficulty.pose)
    cabin = pose.around(0.5, 0.06 * difficulty.pose)
    height = 0.95 - radius
    wheels = [(0.27, height), (0.73, height)]
    square = -1
    if kind == LACKS:
        wheels.pop(flaw.integer(0, 1))
    elif kind == LOOSE:
        moved = flaw.integer(0, 1)
        x, y = wheels[moved]
        wheels[moved] = (x + flaw.around(0, 0.06), y - 0.32 - _gap(difficulty))
    elif kind == EXTRA:
        wheels += [(0.5, height)] if flaw.chance(difficulty.subtlety) else [(0.42, height), (0.58, height)]
        if len(wheels) == 4:
            wheels[0], wheels[1] = (0.18, height), (0.82, height)
    elif kind == BENT:
        square = flaw.integer(0, 1)
    glass = mixed(palette.wall, (120, 160, 190), 0.5)
    pen.shape([(cabin - 0.24, 0.60), (cabin - 0.15, roof), (cabin + 0.15, roof), (cabin + 0.26, 0.60)], palette.thing)
    pen.shape(
        [(cabin - 0.17, 0.58), (cabin - 0.11, roof + 0.05), (cabin - 0.02, roof + 0.05), (cabin - 0.02, 0.58)],
        glass,
        outlined=False,
    )
    pen.shape(
        [(cabin + 0.03, 0.58), (cabin + 0.03, roof + 0.05), (cabin + 0.11, roof + 0.05), (cabin + 0.18, 0.58)],
        glass,
        outlined=False,
    )
    pen.limb([(0.14, 0.70), (0.86, 0.70)], [0.115, 0.115], palette.thing)
    for number, (x, y) in enumerate(wheels):
        _wheel(pen, x, y, radius, palette, square=number == square or (kind == BENT and not flaw.chance(difficulty.subtlety)))


def _wheel(pen: Pen, x: float, y: float, radius: float, palette: Palette, *, square: bool) -> None:
    if square:
        pen.shape(
            [(x - radius, y - radius), (x + radius, y - radius), (x + radius, y + radius), (x - radius, y + radius)],
            palette.accent,
        )
    else:
        pen.disc(x, y, radius, radius, palette.accent)
    pen.disc(x, y, radius * 0.4, radius * 0.4, palette.wall, outlined=False)


def _bicycle(pen: Pen, palette: Palette, pose: Rng, flaw: Rng, difficulty: Difficulty, kind: str | None) -> None:
    radius = pose.around(0.19, 0.015 * difficulty.pose)
    height = 0.95 - radius
    saddle = pose.around(0.40, 0.04 * difficulty.pose)
    wheels = [(0.23, height, 1.0, 1.0), (0.77, height, 1.0, 1.0)]
    if kind == LACKS:
        wheels.pop(flaw.integer(0, 1))
    elif kind == LOOSE:
        side = flaw.integer(0, 1)
        wheels[side] = (
            (0.25 + 0.5 * side, 0.20, 1.0, 1.0) if flaw.chance(0.5) else (0.23 + 0.54 * side, height - 0.28, 1.0, 1.0)
        )
    elif kind == EXTRA:
        wheels.append((0.5, height, 1.0, 1.0))
    elif kind == BENT:
        side = flaw.integer(0, 1)
        flat = 0.45 + 0.2 * difficulty.subtlety
        wheels[side] = (*wheels[side][:2], flat, 1.0) if flaw.chance(0.5) else (*wheels[side][:2], 1.15, flat)
    for x, y, wide, high in wheels:
        pen.disc(x, y, radius * wide, radius * high, palette.accent)
        pen.disc(x, y, (radius - 0.04) * wide, (radius - 0.04) * high, palette.wall, outlined=False)
    crank, seat, head = (0.46, height), (0.38, saddle + 0.06), (0.68, saddle)
    rear, fork = (0.23, height), (0.77, height)
    for start, end in ((seat, crank), (crank, head), (seat, head), (rear, seat), (rear, crank), (head, fork)):
        pen.limb([start, end], [0.02, 0.02], palette.thing)
    pen.limb([(0.31, saddle), (0.45, saddle)], [0.03, 0.022], palette.accent)
    pen.limb([head, (0.66, saddle - 0.12), (0.76, saddle - 0.13)], [0.02, 0.02, 0.022], palette.accent)


def _mug(pen: Pen, palette: Palette, pose: Rng, flaw: Rng, difficulty: Difficulty, kind: str | None) -> None:
    top = pose.around(0.30, 0.06 * difficulty.pose)
    wide = pose.around(0.22, 0.03 * difficulty.pose)
    x = 0.44
    handles = [(x + wide, 0.0)]
    bend = 0.0
    if kind == LOOSE:
        handles = [(x + wide + _gap(difficulty), 0.0)]
    elif kind == EXTRA:
        handles.append((x - wide, 0.0))
        if not flaw.chance(difficulty.subtlety):
            handles = [(x - wide, 0.0), (x + wide, -0.17), (x + wide, 0.17)]
    elif kind == BENT:
        bend = flaw.choice((-1, 1)) * (0.22 - 0.08 * difficulty.subtlety)
    for handle, down in handles:
        large = 0.8 if down else 1.0
        pen.disc(handle, 0.62 + down, 0.14 * large, 0.17 * large, palette.thing)
        pen.disc(handle, 0.62 + down, 0.08 * large, 0.11 * large, palette.wall)
    left = [(x - wide, top), (x - wide + bend, 0.62), (x - wide * 0.92, 0.94)]
    right = [(x + wide * 0.92, 0.94), (x + wide + bend, 0.62), (x + wide, top)]
    pen.shape([*left, *right], palette.thing)
    pen.disc(x, top, wide, 0.055, mixed(palette.thing, (0, 0, 0), 0.35))


THINGS: Mapping[str, Painter] = MappingProxyType({"chair": _chair, "car": _car, "bicycle": _bicycle, "mug": _mug})
_CANNOT: Final = frozenset({("mug", LACKS)})
"""A mug without its handle is a beaker."""


def draw_small_thing(pen: Pen, name: str, colour: Colour, palette: Palette) -> None:
    """Paint something that stands on tables; it stands at y = 1."""
    dark = mixed(colour, (0, 0, 0), 0.35)
    if name == "ball":
        pen.disc(0.5, 0.6, 0.4, 0.4, colour)
    elif name == "box":
        pen.shape([(0.12, 0.3), (0.88, 0.3), (0.88, 1.0), (0.12, 1.0)], colour)
        pen.shape([(0.12, 0.3), (0.30, 0.14), (0.98, 0.14), (0.88, 0.3)], dark)
    elif name == "vase":
        pen.limb([(0.5, 0.14), (0.5, 0.36), (0.5, 0.72), (0.5, 0.86)], [0.16, 0.13, 0.27, 0.14], colour)
        pen.disc(0.5, 0.04, 0.16, 0.05, dark)
    else:
        pen.disc(0.80, 0.58, 0.17, 0.22, colour)
        pen.disc(0.80, 0.58, 0.09, 0.13, palette.wall)
        pen.shape([(0.14, 0.16), (0.78, 0.16), (0.75, 1.0), (0.17, 1.0)], colour)
        pen.disc(0.46, 0.17, 0.32, 0.09, dark)


SMALL_THINGS: Final = ("mug", "ball", "box", "vase")

"""A table with a thing on it, its shadow, and the lamp that casts it."""

from typing import Final

from salon_synthetic.artifacts.canvas import FigurePlace, Pen
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.artifacts.figures.objects import SMALL_THINGS, draw_small_thing
from salon_synthetic.artifacts.palette import Palette, mixed
from salon_synthetic.rng import Rng

_TOP, _EDGE, _UNDER = 0.60, 0.78, 0.85
"""Where the table's top begins at the back, its front edge, and its underside."""
_BASE: Final = 0.70
"""Where things stand on the top."""


def small_thing_of(rng: Rng, difficulty: Difficulty) -> str:
    """Return which thing stands on the table."""
    return rng.fork("thing").choice(SMALL_THINGS[: 2 + round(2 * difficulty.pose)])


def draw_table(pen: Pen, palette: Palette, rng: Rng, difficulty: Difficulty, kind: str | None) -> None:
    """Paint the table scene, sound or as ``kind`` says."""
    pose, flaw = rng.fork("pose"), rng.fork("flaw")
    name = small_thing_of(rng, difficulty)
    x = pose.around(0.5, 0.12 * difficulty.pose)
    side = pose.around(0.40, 0.05 * difficulty.pose)
    away = 1 if palette.light_from_left else -1
    shadow_side = -away if kind == "wrong-shadow" else away
    base = _BASE
    if kind == "floating":
        base -= flaw.uniform(0.20, 0.26) - 0.10 * difficulty.subtlety
    elif kind == "sunken":
        base += flaw.uniform(0.19, 0.23) - 0.04 * difficulty.subtlety
    elif kind == "wrong-size":
        side *= 2.0 - 0.3 * difficulty.subtlety
    front = mixed(palette.wood, (0, 0, 0), 0.25)
    lamp = 0.5 - away * 0.38
    pen.limb([(lamp, -1.0), (lamp, 0.10)], [0.008, 0.008], palette.ink, outlined=False)
    pen.disc(lamp, 0.10, 0.075, 0.075, (255, 222, 90))
    for leg in (0.14, 0.86):
        pen.limb([(leg, _UNDER), (leg, 0.97)], [0.032, 0.032], front)
    pen.shape([(0.14, _TOP), (0.86, _TOP), (0.98, _EDGE), (0.02, _EDGE)], palette.wood)
    dark = mixed(palette.wood, (20, 16, 24), 0.72)
    reach = side * (0.70 + pose.around(0, 0.1) * difficulty.light)
    pen.disc(x + shadow_side * reach, _BASE - 0.01, side * 0.42, 0.042, dark, outlined=False)
    pen.disc(x + shadow_side * reach * 0.5, _BASE - 0.01, side * 0.42, 0.042, dark, outlined=False)
    edge = [(0.02, _EDGE), (0.98, _EDGE), (0.98, _UNDER), (0.02, _UNDER)]
    here = _inside(pen.place, x, base, side)
    if kind == "sunken":
        draw_small_thing(pen.moved(here), name, palette.thing, palette)
        pen.shape(edge, front)
    else:
        pen.shape(edge, front)
        draw_small_thing(pen.moved(here), name, palette.thing, palette)


def _inside(box: FigurePlace, x: float, base: float, side: float) -> FigurePlace:
    """Return a square of this side whose lower edge stands on ``base``."""
    corner = box.at(x - side / 2, base - side)
    return FigurePlace(box.a * side, box.b * side, corner[0], box.d * side, box.e * side, corner[1])

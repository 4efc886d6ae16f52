"""Compose a plan into a picture: figures, background and camera.

A picture has one figure, two on one floor, or two halves side by side.

Hands, feet and faces are close by and the rest is further off, so a hand beside a horse would itself be an artifact (wrong
proportions). Such pairs are two pictures side by side.
"""

from typing import TYPE_CHECKING, Final

from salon_synthetic.artifacts.canvas import Canvas, FigurePlace, Pen
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.artifacts.figures.animal import draw_animal, species_of
from salon_synthetic.artifacts.figures.face import draw_face
from salon_synthetic.artifacts.figures.hand import draw_foot, draw_hand
from salon_synthetic.artifacts.figures.objects import draw_thing, thing_of
from salon_synthetic.artifacts.figures.person import draw_person
from salon_synthetic.artifacts.figures.table import draw_table, small_thing_of
from salon_synthetic.artifacts.kinds import Subject
from salon_synthetic.artifacts.palette import Palette, drawn_palette, mixed
from salon_synthetic.artifacts.planning import PicturePlan, PlannedFigure
from salon_synthetic.rng import Rng

if TYPE_CHECKING:
    from PIL.Image import Image

_PAINTERS: Final = {
    Subject.HAND: draw_hand,
    Subject.FOOT: draw_foot,
    Subject.FACE: draw_face,
    Subject.PERSON: draw_person,
    Subject.ANIMAL: draw_animal,
    Subject.TABLE: draw_table,
}
_ON_THE_FLOOR: Final = frozenset({Subject.PERSON, Subject.ANIMAL, Subject.OBJECT, Subject.TABLE})
_AS_HIGH_AS_PEOPLE: Final = frozenset({"chair", "bicycle"})
_HORIZON: Final = 0.80
_HALF: Final = 0.55
"""How large a figure is that shares the picture with another."""


def composed(rng: Rng, plan: PicturePlan, size: int, difficulty: Difficulty) -> tuple["Image", str]:
    """Return the picture and the prompt that it answers."""
    palette = drawn_palette(rng.fork("look"), difficulty)
    canvas = Canvas(size, palette.wall)
    names = [_named(rng.fork(str(number)), part, difficulty) for number, part in enumerate(plan.parts)]
    if len(plan.parts) == 1:
        (part,) = plan.parts
        _scene(canvas, palette, rng, [part], difficulty, middle=0.5, side=1.0)
        prompt = f"{names[0]}."
    elif _of_one_scale(rng, plan, difficulty):
        _scene(canvas, palette, rng, list(plan.parts), difficulty, middle=0.27, side=_HALF)
        prompt = f"{names[0]} and {names[1].lower()}."
    else:
        for number, part in enumerate(plan.parts):
            own = drawn_palette(rng.fork(f"look {number}"), difficulty)
            panel = Canvas(size, own.wall)
            _scene(panel, own, rng, [part], difficulty, middle=0.5, side=_HALF, first=number)
            canvas.put_middle_of(panel, left=number == 0)
        canvas.polygon([(0.495, 0), (0.505, 0), (0.505, 1), (0.495, 1)], (255, 255, 255))
        prompt = f"Two pictures side by side: {names[0].lower()} and {names[1].lower()}."
    return _seen(canvas.finished(), palette, rng.fork("film"), difficulty), prompt


def _of_one_scale(rng: Rng, plan: PicturePlan, difficulty: Difficulty) -> bool:
    """Return whether two figures may stand on one floor, drawn equally high, without being out of proportion."""
    if not any(part.kind.subject is Subject.PERSON for part in plan.parts):
        return False
    for number, part in enumerate(plan.parts):
        if part.kind.subject is Subject.OBJECT:
            return thing_of(rng.fork(str(number)), difficulty, part.kind.name) in _AS_HIGH_AS_PEOPLE
    return all(part.kind.subject in _ON_THE_FLOOR for part in plan.parts)


def _scene(
    canvas: Canvas,
    palette: Palette,
    rng: Rng,
    parts: list[PlannedFigure],
    difficulty: Difficulty,
    *,
    middle: float,
    side: float,
    first: int = 0,
) -> None:
    """Paint figures before one wall, the first at ``middle`` and each further one as far from the picture's right edge."""
    camera = rng.fork(f"camera {first}")
    shrunk = side * (1.0 - camera.uniform(0.25, 0.55) * difficulty.smallness)
    free = (side - shrunk) / 2
    turned = camera.around(0, 10) * difficulty.camera
    down = (1 - shrunk) / 2 * camera.uniform(-0.3, 0.7) if side == 1.0 else (1 - shrunk) / 2 * camera.uniform(0.1, 0.5)
    figures: list[tuple[Pen, PlannedFigure, Rng]] = []
    for number, part in enumerate(parts, first):
        aside = camera.around(0, free + 0.03 * side)
        flip = part.kind.subject is not Subject.TABLE and camera.chance(0.5 * difficulty.camera)
        at = (middle if number == first else 1 - middle) + aside
        height = shrunk * camera.around(0.96, 0.04)
        level = 0.5 + down + (shrunk - height) / 2 + camera.around(0, 0.02) * side
        box = FigurePlace.box((at, level), height, turned=turned, mirrored=flip)
        figures.append((Pen(canvas, box, palette.ink), part, rng.fork(str(number))))
    floor = all(part.kind.subject in _ON_THE_FLOOR for part in parts)
    if floor:
        heights = [pen.place.at(0.5, _HORIZON)[1] for pen, _, _ in figures]
        horizon = sum(heights) / len(heights)
        canvas.polygon([(0, horizon), (1, horizon), (1, 1.1), (0, 1.1)], palette.floor)
    _paint_clutter(canvas, palette, rng.fork(f"clutter {first}"), difficulty, horizon=horizon if floor else 1.0)
    for pen, part, own in figures:
        subject, standing = part.kind.subject, pen.place
        if subject in _ON_THE_FLOOR and subject is not Subject.TABLE:
            away = 0.10 if palette.light_from_left != (standing.a < 0) else -0.10
            pen.disc(0.5 + away, 0.95, 0.36, 0.035, mixed(palette.floor, palette.shadow, 0.8), outlined=False)
        if subject is Subject.OBJECT:
            draw_thing(pen, palette, own, difficulty, part.flaw, thing_of(own, difficulty, part.kind.name))
        else:
            _PAINTERS[subject](pen, palette, own, difficulty, part.flaw)


def _named(rng: Rng, part: PlannedFigure, difficulty: Difficulty) -> str:
    """Return the figure in a prompt's words."""
    subject = part.kind.subject
    if subject is Subject.OBJECT:
        return f"A {thing_of(rng, difficulty, part.kind.name)}"
    if subject is Subject.ANIMAL:
        return f"A {species_of(rng, difficulty).name}"
    if subject is Subject.TABLE:
        return f"A {small_thing_of(rng, difficulty)} on a table"
    return f"A {subject.value}"


def _paint_clutter(canvas: Canvas, palette: Palette, rng: Rng, difficulty: Difficulty, *, horizon: float) -> None:
    """Things behind the figures: pictures and stripes on the wall, rugs and boards on the floor."""
    for _ in range(rng.integer(0, round(6 * difficulty.clutter))):
        x, y = rng.uniform(0, 1), rng.uniform(0, horizon)
        wide, high = rng.uniform(0.06, 0.2), rng.uniform(0.06, 0.2)
        colour = mixed(
            rng.choice((palette.thing, palette.cloth, palette.accent, palette.fur)), palette.wall, rng.uniform(0.35, 0.75)
        )
        match rng.choice(("picture", "stripe", "rug")):
            case "picture":
                top = min(y, horizon - high)
                _rectangle(canvas, x, top, wide, high, mixed(colour, (0, 0, 0), 0.3))
                _rectangle(canvas, x + 0.02, top + 0.02, wide - 0.04, high - 0.04, colour)
            case "stripe":
                _rectangle(canvas, x, -0.1, wide * 0.4, horizon + 0.1, colour)
            case _:
                if horizon < 1:
                    low = rng.uniform(horizon, 0.98)
                    canvas.polygon(
                        [(x, low), (x + 2 * wide, low), (x + 2 * wide - 0.05, low + 0.06), (x - 0.05, low + 0.06)], colour
                    )


def _rectangle(canvas: Canvas, x: float, y: float, wide: float, high: float, colour: tuple[int, int, int]) -> None:
    canvas.polygon([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)], colour)


def _seen(picture: "Image", palette: Palette, rng: Rng, difficulty: Difficulty) -> "Image":
    """Return what light and film make of a picture: darker away from the lamp, and grain. Whole numbers only."""
    strength, grain = round(60 * rng.uniform(0.3, 1) * difficulty.light), round(12 * difficulty.camera)
    if not strength and not grain:
        return picture
    import numpy as np
    from PIL import Image

    pixels = np.asarray(picture).astype(np.int32)
    if strength:
        across = np.arange(picture.width, dtype=np.int32) * strength // picture.width
        pixels = pixels * (256 - (across if palette.light_from_left else across[::-1]))[None, :, None] // 256
    if grain:
        noise = np.frombuffer(rng.noise(picture.width * picture.height), np.uint8).reshape(picture.height, picture.width, 1)
        pixels = pixels + noise.astype(np.int32) * (2 * grain + 1) // 256 - grain
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))

"""A four-legged animal from the side."""

from dataclasses import dataclass
from typing import Final

from salon_synthetic.artifacts.canvas import Pen, Point
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.artifacts.palette import Palette, mixed
from salon_synthetic.rng import Rng


@dataclass(frozen=True, slots=True)
class Species:
    """Proportions of one kind of animal, in parts of its square."""

    name: str
    leg: float
    girth: float
    neck: float
    head: float
    snout: float
    ear: float
    tail: float


SPECIES: Final = (
    Species("dog", 0.30, 0.120, 0.16, 0.105, 0.11, 0.09, 0.20),
    Species("horse", 0.38, 0.125, 0.26, 0.085, 0.15, 0.07, 0.24),
    Species("cat", 0.27, 0.105, 0.10, 0.115, 0.04, 0.08, 0.28),
    Species("sheep", 0.26, 0.165, 0.10, 0.085, 0.09, 0.05, 0.06),
    Species("cow", 0.28, 0.155, 0.14, 0.105, 0.12, 0.05, 0.22),
    Species("giraffe", 0.36, 0.105, 0.36, 0.075, 0.11, 0.06, 0.16),
)


def species_of(rng: Rng, difficulty: Difficulty) -> Species:
    """Return which animal it is: two of them at the easiest, all six at the hardest."""
    return rng.fork("species").choice(SPECIES[: 2 + round(4 * difficulty.pose)])


def draw_animal(pen: Pen, palette: Palette, rng: Rng, difficulty: Difficulty, kind: str | None) -> None:
    """Paint an animal, built right or as ``kind`` says; the feet stand at y = 0.95."""
    pose, flaw = rng.fork("pose"), rng.fork("flaw")
    species = species_of(rng, difficulty)
    if kind == "animal-handstand":
        side = flaw.choice((-1, 1))
        pen = pen.moved(pen.place.turned(180 + side * 25 * difficulty.subtlety, (0.5, 0.56)))
    back, front = 0.28, 0.68
    middle = 0.95 - species.leg - species.girth * 0.6
    steps = [pose.around(0, 0.05 * difficulty.pose) for _ in range(4)]
    legs = [back - 0.05, back + 0.06, front - 0.06, front + 0.05]
    if kind == "animal-missing-leg":
        gone = slice(3, 4) if flaw.chance(difficulty.subtlety) else slice(2, 4)
        if flaw.chance(0.5):
            gone = slice(4 - gone.stop, 4 - gone.start)
        del legs[gone], steps[gone]
    elif kind == "animal-extra-leg":
        many = 5 if flaw.chance(difficulty.subtlety) else 7
        legs = [back - 0.07 + (front - back + 0.14) * number / (many - 1) for number in range(many)]
        steps = [pose.around(0, 0.03 * difficulty.pose) for _ in range(many)]
    dark = mixed(palette.fur, (0, 0, 0), 0.25)
    tail = pose.around(0.08, 0.14 * difficulty.pose)
    pen.limb(
        [(back - 0.06, middle - 0.03), (back - 0.06 - species.tail * 0.8, middle - 0.03 - tail)], [0.03, 0.02], palette.fur
    )
    radius = 0.036 if len(legs) <= 4 else 0.032
    for x, step in zip(legs, steps, strict=True):
        pen.limb([(x, middle), (x + step, 0.93)], [radius * 1.25, radius], palette.fur)
        pen.limb([(x + step - 0.005, 0.945), (x + step + 0.03, 0.945)], [0.022, 0.022], dark)
    pen.limb([(back, middle), (front, middle)], [species.girth, species.girth], palette.fur)
    if kind == "animal-no-head":
        return
    lift = pose.around(0.85, 0.25 * difficulty.pose)
    ear = 3.2 - 0.8 * difficulty.subtlety if kind == "animal-large-ear" else 1.0
    _head(pen, (front + 0.03, middle - 0.03), 1, lift, species, palette, ear=ear)
    if kind == "animal-two-heads":
        if flaw.chance(0.5):
            _head(pen, (back - 0.03, middle - 0.03), -1, lift, species, palette)
        else:
            _head(pen, (front - 0.08, middle - 0.05), -1, lift + 0.15, species, palette)


def _head(pen: Pen, root: Point, side: int, lift: float, species: Species, palette: Palette, *, ear: float = 1.0) -> None:
    x, y = root[0] + side * 0.6 * species.neck, root[1] - species.neck * lift - species.girth * 0.5
    pen.limb([root, (x, y)], [species.girth * 0.62, species.head * 0.7], palette.fur)
    pen.limb([(x, y), (x + side * species.snout, y + 0.035)], [species.head, species.head * 0.55], palette.fur)
    dark = mixed(palette.fur, (0, 0, 0), 0.35)
    top = y - species.head * 0.75
    tip = (x - side * 0.06 * ear, top - species.ear * min(ear, 1.6))
    pen.limb([(x - side * 0.04, top), tip], [0.035, 0.018 if ear == 1 else 0.035 * ear], dark)
    pen.disc(x + side * 0.035, y - 0.02, 0.022, 0.024, palette.ink, outlined=False)
    pen.disc(x + side * (species.snout + species.head * 0.35), y + 0.03, 0.02, 0.02, palette.ink, outlined=False)

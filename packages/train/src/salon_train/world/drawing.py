"""Pictures with exact truth: what is shown and planted, on which ground, and how the camera looks at it.

Picture ``k`` of seed ``s`` depends on ``(s, k)`` and the settings alone: not on how many are drawn, in which order, or by
how many processes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Final

from salon_taxonomy.answers import MagicMirrorAnswer
from salon_taxonomy.errors import InputError
from salon_train.data.example import TrainingExample
from salon_train.world.balance import BALANCES, Balance
from salon_train.world.canvas import Canvas, Pen, Place
from salon_train.world.dice import Dice
from salon_train.world.difficulty import Difficulty
from salon_train.world.figures.animal import draw_animal, species_of
from salon_train.world.figures.face import draw_face
from salon_train.world.figures.hand import draw_foot, draw_hand
from salon_train.world.figures.person import draw_person
from salon_train.world.figures.table import draw_table, small_thing_of
from salon_train.world.figures.thing import draw_thing, thing_of
from salon_train.world.kinds import HARD_SUBJECTS, KINDS, SOUND, Kind, Subject
from salon_train.world.look import Look, drawn_look, mixed

if TYPE_CHECKING:
    from PIL.Image import Image

SIZES: Final = (16, 1024)
"""The smallest and the largest side of a picture, in pixels."""
_PAINTERS: Final = {
    Subject.HAND: draw_hand,
    Subject.FOOT: draw_foot,
    Subject.FACE: draw_face,
    Subject.PERSON: draw_person,
    Subject.ANIMAL: draw_animal,
    Subject.TABLE: draw_table,
}
_ON_THE_FLOOR: Final = frozenset({Subject.PERSON, Subject.ANIMAL, Subject.OBJECT})
_FLOOR: Final = 0.80


@dataclass(frozen=True, slots=True)
class Plan:
    """What one picture shows.

    Attributes:
        kind: the artifact that its figure is able to show.
        planted: whether it shows it.
    """

    kind: Kind
    planted: bool


def draw_examples(
    count: int,
    *,
    seed: int,
    size: int = 64,
    difficulty: Difficulty | None = None,
    balance: Balance | str = "table-5",
    start: int = 0,
) -> Iterator[TrainingExample]:
    """Draw pictures, one after the other.

    Args:
        count: how many.
        seed: of all draws.
        size: of the square pictures, 16 to 1,024 pixels.
        difficulty: default: the easiest.
        balance: how often what is planted; a name in :data:`BALANCES` or one of your own.
        start: the number of the first picture.

    Yields:
        examples with PNG bytes, the labels, a prompt, and a sentence of reasoning.

    Raises:
        InputError: for a negative count or start, a size out of range, or an unknown balance; at once, not at the first picture.

    Example:
        >>> first, second = draw_examples(2, seed=7, balance="even")
        >>> second == next(draw_examples(1, seed=7, balance="even", start=1))
        True
    """
    if count < 0 or start < 0:
        raise InputError("must not be negative", column="count" if count < 0 else "start", value=min(count, start))
    if not SIZES[0] <= size <= SIZES[1]:
        raise InputError(f"must lie between {SIZES[0]} and {SIZES[1]}", column="size", value=size)
    if isinstance(balance, str):
        if balance not in BALANCES:
            raise InputError("unknown balance", column="balance", value=balance, allowed=BALANCES)
        balance = BALANCES[balance]
    return _examples(range(start, start + count), seed, size, difficulty or Difficulty(), balance)


def _examples(numbers: range, seed: int, size: int, difficulty: Difficulty, balance: Balance) -> Iterator[TrainingExample]:
    for number in numbers:
        dice = Dice(f"{seed}/{number}")
        plan = _planned(dice.fork("plan"), balance)
        picture, prompt = _drawn(dice, plan, size, difficulty)
        kind = plan.kind
        yield TrainingExample(
            f"world-{seed}-{number}",
            png(picture),
            MagicMirrorAnswer(False, (kind.artifact,)) if plan.planted else MagicMirrorAnswer(True),
            prompt,
            kind.reason if plan.planted else SOUND[kind.subject],
            hard_positive=not plan.planted and kind.subject in HARD_SUBJECTS,
        )


def png(picture: "Image") -> bytes:
    """A picture as a PNG file; the same bytes with the same version of Pillow."""
    stream = BytesIO()
    picture.save(stream, "PNG", compress_level=6)
    return stream.getvalue()


def _planned(dice: Dice, balance: Balance) -> Plan:
    names, weights = list(balance.weights), list(balance.weights.values())
    planted = dice.chance(balance.artifact_share)
    while True:
        kind = KINDS[dice.choice(names, weights)]
        if planted or kind.subject not in HARD_SUBJECTS or dice.chance(balance.right_hands):
            return Plan(kind, planted)


def _drawn(dice: Dice, plan: Plan, size: int, difficulty: Difficulty) -> tuple["Image", str]:
    look = drawn_look(dice.fork("look"), difficulty)
    camera = dice.fork("camera")
    canvas = Canvas(size, look.wall)
    side = 1.0 - camera.uniform(0.25, 0.55) * difficulty.smallness
    room = (1 - side) / 2
    shift = 0.03 + 0.05 * difficulty.camera
    middle = (0.5 + camera.around(0, room + shift), 0.5 + camera.around(0, shift) + room * camera.uniform(-0.3, 0.8))
    place = Place.box(
        middle,
        side * camera.around(0.96, 0.04),
        turned=camera.around(0, 10) * difficulty.camera,
        mirrored=plan.kind.subject is not Subject.TABLE and camera.chance(0.5 * difficulty.camera),
    )
    pen = Pen(canvas, place, look.ink)
    kind = plan.kind.name if plan.planted else None
    subject = plan.kind.subject
    if subject in _ON_THE_FLOOR:
        _paint_floor(pen, look)
    if subject is Subject.OBJECT:
        name = thing_of(dice, difficulty, plan.kind.name)
        draw_thing(pen, look, dice, difficulty, kind, name)
    else:
        _PAINTERS[subject](pen, look, dice, difficulty, kind)
        name = species_of(dice, difficulty).name if subject is Subject.ANIMAL else subject.value
        if subject is Subject.TABLE:
            name = f"{small_thing_of(dice, difficulty)} on a table"
    return canvas.finished(), f"A {name}."


def _paint_floor(pen: Pen, look: Look) -> None:
    """The floor behind a figure, a lamp, and the figure's shadow on the side away from it."""
    horizon = pen.place.at(0.5, _FLOOR)[1]
    pen.canvas.polygon([(0, horizon), (1, horizon), (1, 1.1), (0, 1.1)], look.floor)
    away = 0.10 if look.light_from_left else -0.10
    pen.disc(0.5 + away, 0.95, 0.36, 0.035, mixed(look.floor, look.shadow, 0.8), outlined=False)

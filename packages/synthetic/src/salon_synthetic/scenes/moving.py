"""Scenes that move, with exact truth: what moves, how many, what comes first, and which rule of the world is broken.

prompt    ::= clause (("," | "and" | ", and" | ", then" | ".") clause)*
clause    ::= phrase "moves" ("to the left" | "to the right" | "up" | "down") | phrase "appears"
question  ::= "does" phrase "move" where | "does" phrase "move without a jump" | "does" phrase "appear before" phrase
            | "is" phrase "there from its first frame to the last" | a question about a scene, true of most frames

Each object has a quarter of the canvas to itself, so none hides another.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from salon_synthetic.scenes.claims import Description, holds
from salon_synthetic.scenes.drawing import drawn
from salon_synthetic.scenes.reading import LONGEST_TEXT, read_phrase, read_question
from salon_synthetic.scenes.scene import GAP, Item, Scene
from salon_synthetic.scenes.vocabulary import CANVAS, Colour, Shape, Size, Texture
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

RULES: Final = "moving-1"
"""Raised when the same prompt, seed and slips come to make another clip."""
MOST_ACTORS: Final = 4
SECONDS: Final = 2.0
RATE: Final = 10
"""Frames per second of a drawn video."""
_CELL: Final = CANVAS // 2
_JUMP: Final = 30
"""Pixels between two frames from which a move is a jump; of four frames a steady move takes 25."""
_MOVED: Final = 24
"""Pixels from which an object has moved."""
_HINT: Final = (
    "Say it like: A red star moves to the right, and two blue circles move up. Or: A red star appears, then a circle appears."
)
_CLAUSES: Final = re.compile(r"\s*(?:[.;\n]|,?\s*\band then\b|,?\s*\bthen\b|,\s*and\b|,|\band\b)\s*")
_WHERE: Final = r"(?P<where>to the left|to the right|left|right|upwards?|downwards?|up|down)"
_MOVES: Final = re.compile(rf"^(?P<phrase>.+?) moves? {_WHERE}$")
_APPEARS: Final = re.compile(r"^(?P<phrase>.+?) appears?$")
_ASKED_WHERE: Final = re.compile(rf"^(?:does|do) (?P<phrase>.+?) move {_WHERE}$")
_ASKED_JUMP: Final = re.compile(r"^(?:does|do) (?P<phrase>.+?) move without a jump$")
_ASKED_ORDER: Final = re.compile(r"^(?:does|do) (?P<phrase>.+?) appear before (?P<other>.+)$")
_ASKED_WHOLE: Final = re.compile(r"^(?:is|are) (?P<phrase>.+?) there from (?:its|their) first frame to the last$")


class Motion(StrEnum):
    """Where an object moves to."""

    LEFT = "to the left"
    RIGHT = "to the right"
    UP = "up"
    DOWN = "down"

    @property
    def steps(self) -> tuple[int, int]:
        """The direction across and down, -1, 0 or 1."""
        return {"to the left": (-1, 0), "to the right": (1, 0), "up": (0, -1), "down": (0, 1)}[self.value]


class Violation(StrEnum):
    """What is wrong with an object."""

    STILL = "still"
    """It does not move, and should."""
    BACKWARDS = "backwards"
    """It moves the other way."""
    VANISHES = "vanishes"
    """It is gone for the middle third."""
    JUMPS = "jumps"
    """Half of its way is missing."""
    TURNS = "turns"
    """It has another colour in the second half."""
    LATE = "late"
    """It appears after the others instead of in its turn."""


@dataclass(frozen=True, slots=True)
class Actor:
    """One object and what it does.

    Attributes:
        look: as it begins; where it stands is ``cell``.
        cell: of the four quarters of the canvas, in reading order.
        motion: None: it stands, as asked.
        since: the share of the clip after which it appears, 0 to 1.
        violation: what is wrong with it; None: nothing.
        turned: its colour after it has changed it.
    """

    look: Item
    cell: int
    motion: Motion | None = None
    since: float = 0.0
    violation: Violation | None = None
    turned: Colour | None = None

    def at(self, moment: float) -> Item | None:
        """Return the object at a moment of the clip, 0 to 1; None where it is not to be seen."""
        if moment < self.since or (self.violation == Violation.VANISHES and 1 / 3 <= moment < 2 / 3):
            return None
        across, down = (0, 0) if self.motion is None or self.violation == Violation.STILL else self.motion.steps
        way = moment - 0.5
        if self.violation == Violation.JUMPS:
            way = 0.4 * way + (-0.3 if moment < 0.5 else 0.3)
        if self.violation == Violation.BACKWARDS:
            way = -way
        length = _CELL - 2 * (self.look.radius + GAP)
        x, y = (_CELL * part + _CELL // 2 for part in (self.cell % 2, self.cell // 2))
        turned = self.turned if self.turned is not None and moment >= 0.5 else self.look.colour
        return self.look.model_copy(
            update={"x": round(x + across * way * length), "y": round(y + down * way * length), "colour": turned}
        )


@dataclass(frozen=True, slots=True)
class Clip:
    """Objects that move. ``scene`` is exact at every moment from 0 to 1."""

    actors: tuple[Actor, ...]

    def scene(self, moment: float) -> Scene:
        """Return what is to be seen at a moment."""
        return Scene(items=tuple(item for actor in self.actors if (item := actor.at(moment)) is not None))

    def scenes(self, count: int) -> list[Scene]:
        """Return so many scenes, evenly spaced from the first to the last moment."""
        return [self.scene(number / max(1, count - 1)) for number in range(count)]

    def frames(self, count: int) -> "Iterator[Image]":
        """Yield the pictures of so many scenes."""
        return (drawn(scene) for scene in self.scenes(count))


def imagine_clip(prompt: str, *, seed: int = 0, slips: float = 0.15) -> Clip:
    """Make a clip for a prompt; the same prompt, seed and slips give the same clip.

    Args:
        prompt: clauses of what moves and what appears.
        seed: of every draw.
        slips: the chance, 0 to 1, that something is wrong with an object.

    Raises:
        InputError: the prompt is not understood, or has more than four objects.

    Example:
        >>> clip = imagine_clip("A red star moves to the right.", slips=0)
        >>> answered("Does the red star move to the right?", clip.scenes(8))
        True
        >>> clip = imagine_clip("A red star moves to the right.", slips=1, seed=1)
        >>> clip.actors[0].violation.value, answered("Is the red star there from its first frame to the last?", clip.scenes(8))
        ('vanishes', False)
    """
    events = _events(prompt)
    if events is None:
        raise InputError("is not understood as a prompt of a clip", column="prompt", value=prompt, hint=_HINT)
    generator = random.Random(f"{seed} {slips} {prompt}")  # noqa: S311 - pictures, no secret
    cells = generator.sample(range(MOST_ACTORS), MOST_ACTORS)
    number = sum(count for _, count, _ in events)
    if number > MOST_ACTORS:
        raise InputError(f"asks for more than {MOST_ACTORS} objects:", column="prompt", value=number)
    appearing = [place for place, (_, _, motion) in enumerate(events) if motion is None]
    actors: list[Actor] = []
    for position, (kind, count, motion) in enumerate(events):
        since = 0.0 if motion is not None else (appearing.index(position) + 1) / (len(appearing) + 2)
        for _ in range(count):
            colour, shape = (kind.colour or generator.choice(list(Colour))), (kind.shape or generator.choice(list(Shape)))
            look = Item(
                shape=shape, colour=colour, size=kind.size or Size.MEDIUM, texture=kind.texture or Texture.PLAIN, x=0, y=0
            )
            actor = Actor(look, cells[len(actors)], motion, since)
            actors.append(_slipped(actor, len(appearing), generator) if generator.random() < slips else actor)
    return Clip(tuple(actors))


def reads_clip(prompt: str) -> bool:
    """Return whether a prompt is about what moves or appears.

    Example:
        >>> reads_clip("Two red stars move up."), reads_clip("Two red stars.")
        (True, False)
    """
    return _events(prompt) is not None


def write_moving(path: Path, clip: Clip, *, seconds: float = SECONDS, into: BinaryIO | None = None) -> Path:
    """Draw a clip and encode it (:func:`~salon_taxonomy.video_encoding.encode`): 256 by 256, without sound.

    Args:
        path: where; the ending says the container.
        clip: what moves.
        seconds: how long.
        into: an open file that is written in place of the path.
    """
    from salon_taxonomy.video_encoding import encode

    encode(path, clip.frames(max(1, round(seconds * RATE))), size=(CANVAS, CANVAS), rate=RATE, into=into)
    return path


def answered(question: str, scenes: Sequence[Scene]) -> bool | None:
    """Return the answer to a yes-or-no question about scenes in the order of time; None where it is not understood.

    Args:
        question: about motion, order, a jump, whether something stays, or about a scene: true of more than half of them.
        scenes: exact ones (:meth:`Clip.scenes`), or those that were seen in a video's frames; eight show every violation.

    Example:
        >>> scenes = imagine_clip("A red star appears, then two blue circles appear.", slips=0).scenes(8)
        >>> answered("Does the red star appear before the blue circle?", scenes), answered("Are there three stars?", scenes)
        (True, False)
        >>> answered("Is the mood cheerful?", scenes)
    """
    asked = question.strip().lower().rstrip("?").strip()
    if len(question) > LONGEST_TEXT:
        return None
    if match := _ASKED_WHERE.match(asked):
        kind = _kind(match["phrase"])
        return None if kind is None else _moves(_ways(kind, scenes), _motion(match["where"]))
    if match := _ASKED_JUMP.match(asked):
        kind = _kind(match["phrase"])
        return None if kind is None else not _jumps(_ways(kind, scenes))
    if match := _ASKED_ORDER.match(asked):
        first, second = _kind(match["phrase"]), _kind(match["other"])
        return None if first is None or second is None else _first(first, scenes) < _first(second, scenes)
    if match := _ASKED_WHOLE.match(asked):
        kind = _kind(match["phrase"])
        if kind is None:
            return None
        counts = [len(kind.places(scene)) for scene in scenes[_first(kind, scenes) :]]
        return bool(counts) and all(later >= before for before, later in pairwise(counts))
    claim = read_question(question)
    return None if claim is None else sum(holds(claim, scene) for scene in scenes) > len(scenes) / 2


def _events(prompt: str) -> list[tuple[Description, int, Motion | None]] | None:
    """Return of each clause the kind, how many, and where they move; None when any of it is not understood."""
    events: list[tuple[Description, int, Motion | None]] = []
    if len(prompt) > LONGEST_TEXT:
        return None
    for clause in _CLAUSES.split(prompt.strip().lower()):
        if not clause:
            continue
        moves, appears = _MOVES.match(clause), _APPEARS.match(clause)
        phrase = read_phrase((moves or appears or {"phrase": ""})["phrase"])
        if phrase is None or not phrase.named:
            return None
        number = phrase.number if phrase.number is not None else (2 if phrase.plural else 1)
        events.append((phrase.kind, number, None if moves is None else _motion(moves["where"])))
    return events or None


def _slipped(actor: Actor, appearing: int, generator: random.Random) -> Actor:
    """Return the object with something wrong."""
    moving = [Violation.STILL, Violation.BACKWARDS, Violation.VANISHES, Violation.JUMPS, Violation.TURNS]
    violation = generator.choice(moving if actor.motion is not None else [Violation.LATE, Violation.TURNS])
    if violation == Violation.LATE:
        return replace(actor, violation=violation, since=(appearing + 1) / (appearing + 2))
    other = generator.choice([colour for colour in Colour if colour != actor.look.colour])
    return replace(actor, violation=violation, turned=other if violation == Violation.TURNS else None)


def _motion(words: str) -> Motion:
    return next(
        motion for motion in Motion if motion.value.split()[-1] == words.split()[-1].removesuffix("s").removesuffix("ward")
    )


def _kind(phrase: str) -> Description | None:
    read = read_phrase(phrase)
    return None if read is None or not read.named else read.kind


def _first(kind: Description, scenes: Sequence[Scene]) -> int:
    """Return the first scene with an object of a kind; their number where there is none."""
    return next((number for number, scene in enumerate(scenes) if kind.places(scene)), len(scenes))


def _ways(kind: Description, scenes: Sequence[Scene]) -> list[list[tuple[int, int, int]]]:
    """Return the way of each object of a kind, of all that is seen in one quarter of the canvas: scene, x and y."""
    ways: dict[tuple[bool, bool], list[tuple[int, int, int]]] = {}
    for number, scene in enumerate(scenes):
        for item in (scene.items[place] for place in kind.places(scene)):
            ways.setdefault((item.x >= _CELL, item.y >= _CELL), []).append((number, item.x, item.y))
    return list(ways.values())


def _moves(ways: list[list[tuple[int, int, int]]], motion: Motion) -> bool:
    """Return whether all objects end further that way, and not as far across."""
    across, down = motion.steps
    for (_, x, y), *_, (_, to_x, to_y) in (way if len(way) > 1 else way * 2 for way in ways):
        along = (to_x - x) * across + (to_y - y) * down
        if along < _MOVED or abs((to_x - x) * down) + abs((to_y - y) * across) > along:
            return False
    return bool(ways)


def _jumps(ways: list[list[tuple[int, int, int]]]) -> bool:
    """Return whether an object is far from where it was in the scene before."""
    steps = ((b[0] - a[0], max(abs(a[1] - b[1]), abs(a[2] - b[2]))) for way in ways for a, b in pairwise(way))
    return any(passed == 1 and step > _JUMP for passed, step in steps)

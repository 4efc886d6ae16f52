"""A generator of pictures without a network: draws a scene for a prompt, with slips as image generators make them.

claims ──► objects ──► slips (wrong colour or shape, one too few, one too many, a place or a string forgotten) ──► places
"""

import random
from collections.abc import Iterator, Sequence
from typing import Final

from salon_synthetic.scenes.claims import Claim, Description, Present, Related, holds
from salon_synthetic.scenes.placing import strewn, strings_clear
from salon_synthetic.scenes.reading import read_prompt
from salon_synthetic.scenes.scene import Item, Scene
from salon_synthetic.scenes.vocabulary import Colour, Relation, Shape, Size, Texture
from salon_taxonomy.errors import InputError

RULES: Final = "imagine-1"
"""Raised when the same prompt, seed and slips come to make another scene."""
MOST_OBJECTS: Final = 10
"""So many of any size find room."""
SLIPS: Final = 0.15
_ARRANGEMENTS: Final = 400
_HINT: Final = (
    "Say it like: A red star to the left of a blue circle, and three small squares. "
    f"Shapes: {', '.join(Shape)}; colours: {', '.join(Colour)}."
)


def imagine(prompt: str, *, seed: int = 0, slips: float = SLIPS) -> Scene:
    """Draw a scene for a prompt; the same prompt, seed and slips give the same scene.

    What a prompt leaves open (the colour of "a circle") is drawn.

    Args:
        prompt: one or more sentences in the words of :func:`~salon_synthetic.scenes.reading.read_prompt`.
        seed: of every draw.
        slips: the chance, 0 to 1, that an object comes out wrong, and that a relation is not heeded.

    Raises:
        InputError: for a prompt that is not understood, or asks for more objects than find room.

    Example:
        >>> [item.colour.value for item in imagine("Two red stars and a blue circle.", slips=0).items]
        ['red', 'red', 'blue']
        >>> [len(imagine("Two red stars and a blue circle.", seed=seed, slips=1).items) for seed in range(4)]
        [1, 3, 4, 3]
    """
    claims = read_prompt(prompt)
    if claims is None:
        raise InputError("is not understood as a prompt", column="prompt", value=prompt, hint=_HINT)
    number = sum(claim.number for claim in claims if isinstance(claim, Present))
    if number > MOST_OBJECTS:
        raise InputError(f"asks for more than {MOST_OBJECTS} objects:", column="prompt", value=number)
    generator = random.Random(f"{seed} {slips} {prompt}")  # noqa: S311 - pictures, no secret
    looks: list[Item] = []
    for claim in claims:
        if isinstance(claim, Present):
            for _ in range(claim.number):
                looks += _slipped(_look(claim.kind, generator), slips, generator)
    heeded = [claim for claim in claims if isinstance(claim, Related) and generator.random() >= slips]
    return _arranged(looks[:MOST_OBJECTS], heeded, generator)


def _look(kind: Description, generator: random.Random) -> Item:
    """Return an object of a kind, not placed yet."""
    shape, colour = kind.shape or generator.choice(list(Shape)), kind.colour or generator.choice(list(Colour))
    size, texture = kind.size or Size.MEDIUM, kind.texture or Texture.PLAIN
    return Item(shape=shape, colour=colour, size=size, texture=texture, x=0, y=0)


def _slipped(look: Item, slips: float, generator: random.Random) -> Iterator[Item]:
    """Return the object as drawn: as requested, in another colour or shape, not at all, or twice."""
    if generator.random() >= slips:
        yield look
        return
    slip = generator.choice(("colour", "shape", "missing", "twice"))
    if slip == "colour":
        yield look.model_copy(update={"colour": generator.choice([each for each in Colour if each != look.colour])})
    elif slip == "shape":
        yield look.model_copy(update={"shape": generator.choice([each for each in Shape if each != look.shape])})
    elif slip == "twice":
        yield from (look, look)


def _arranged(looks: list[Item], heeded: Sequence[Claim], generator: random.Random) -> Scene:
    """Return the objects where the relations want them; an arrangement that lacks some, where none that has all is found."""
    best, most = Scene(), -1
    for _ in range(_ARRANGEMENTS):
        scene = _strung(strewn(looks, generator), heeded)
        held = sum(holds(claim, scene) for claim in heeded) if strings_clear(scene) else 0
        if held > most:
            best, most = scene, held
        if most == len(heeded):
            break
    return best


def _strung(scene: Scene, heeded: Sequence[Claim]) -> Scene:
    for claim in heeded:
        if isinstance(claim, Related) and claim.relation == Relation.TIED:
            pairs = ((a, b) for a in claim.kind.places(scene) for b in claim.other.places(scene) if a != b)
            pair = next(pairs, None)
            scene = scene if pair is None else scene.tying(*pair)
    return scene

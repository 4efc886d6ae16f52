"""Prompts of the eight categories, each with a scene that shows exactly what it asks for."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from salon_synthetic.scenes.claims import Claim, Description
from salon_synthetic.scenes.placing import strewn, strings_clear
from salon_synthetic.scenes.reading import read_prompt
from salon_synthetic.scenes.scene import Item, Scene
from salon_synthetic.scenes.vocabulary import Category, Colour, Relation, Shape, Size, Texture
from salon_synthetic.scenes.wording import counted, indefinite, listed, noun, relation_phrase

T = TypeVar("T", bound=Enum)
_SIDES = (Relation.LEFT, Relation.RIGHT, Relation.ABOVE, Relation.BELOW)


@dataclass(frozen=True, slots=True)
class ComposedScene:
    """A prompt and its truth.

    Attributes:
        category: what it is about.
        prompt: one English sentence.
        claims: what it says; all of them hold in the scene.
        scene: a picture that shows it.
    """

    category: Category
    prompt: str
    claims: tuple[Claim, ...]
    scene: Scene


def compose(category: Category, generator: random.Random) -> ComposedScene:
    """Draw a prompt of a category and a scene for it.

    Example:
        >>> composition = compose(Category.NUMERACY, random.Random(1))
        >>> composition.prompt, len(composition.scene.items)
        ('Two orange squares and four yellow diamonds.', 6)
    """
    prompt, scene = _COMPOSERS[category](generator)
    claims = read_prompt(prompt)
    assert claims is not None  # noqa: S101 - wording and reading are two halves of one grammar
    return ComposedScene(category, prompt, claims, scene)


def _drawn(values: type[T], number: int, generator: random.Random) -> list[T]:
    return generator.sample(list(values), number)


def _item(kind: Description) -> Item:
    """Return an object of a kind, medium and plain where the kind leaves it open, not placed yet."""
    texture, size = kind.texture or Texture.PLAIN, kind.size or Size.MEDIUM
    return Item(shape=kind.shape or Shape.CIRCLE, colour=kind.colour or Colour.BLUE, texture=texture, size=size, x=0, y=0)


def _sentence(parts: list[str]) -> str:
    text = listed(parts)
    return f"{text[0].upper()}{text[1:]}."


def _named(kinds: list[Description]) -> str:
    return _sentence([indefinite(noun(kind)) for kind in kinds])


def _kinds(number: int, generator: random.Random) -> list[Description]:
    shapes, colours = _drawn(Shape, number, generator), _drawn(Colour, number, generator)
    return [Description(shape, colour) for shape, colour in zip(shapes, colours, strict=True)]


def _plain(generator: random.Random) -> tuple[str, Scene]:
    kinds = _kinds(generator.choice((2, 2, 3)), generator)
    return _named(kinds), strewn([_item(kind) for kind in kinds], generator)


def _textured(generator: random.Random) -> tuple[str, Scene]:
    kinds = _kinds(2, generator)
    textures = _drawn(Texture, 2, generator)
    kinds = [Description(kind.shape, kind.colour, texture) for kind, texture in zip(kinds, textures, strict=True)]
    return _named(kinds), strewn([_item(kind) for kind in kinds], generator)


def _placed(generator: random.Random) -> tuple[str, Scene]:
    kinds = _kinds(2, generator)
    relation = generator.choice(_SIDES)
    prompt = f"{indefinite(noun(kinds[0]))} {relation_phrase(relation)} {indefinite(noun(kinds[1]))}"
    return _sentence([prompt]), _until(kinds, lambda scene: _clearly(scene, relation), generator)


def _tied(generator: random.Random) -> tuple[str, Scene]:
    kinds = _kinds(3, generator)
    first, second, third = (indefinite(noun(kind)) for kind in kinds)
    scene = _until(kinds, lambda scene: _all_strings_clear(scene), generator)
    return _sentence([third, f"{first} {relation_phrase(Relation.TIED)} {second}"]), scene.tying(0, 1)


def _numbered(generator: random.Random) -> tuple[str, Scene]:
    kinds = _kinds(2, generator)
    numbers = [generator.randint(2, 4), generator.randint(1, 4)]
    looks = [_item(kind) for kind, number in zip(kinds, numbers, strict=True) for _ in range(number)]
    prompt = _sentence([counted(kind, number) for kind, number in zip(kinds, numbers, strict=True)])
    return prompt, strewn(looks, generator)


def _objects(generator: random.Random) -> tuple[str, Scene]:
    kinds = [Description(shape) for shape in _drawn(Shape, 3, generator)]
    colours = _drawn(Colour, 3, generator)
    looks = [_item(Description(kind.shape, colour)) for kind, colour in zip(kinds, colours, strict=True)]
    return _named(kinds), strewn(looks, generator)


def _entangled(generator: random.Random) -> tuple[str, Scene]:
    kinds = _kinds(3, generator)
    sizes, textures = _drawn(Size, 2, generator), _drawn(Texture, 2, generator)
    first = Description(kinds[0].shape, kinds[0].colour, textures[0], sizes[0])
    second = Description(kinds[1].shape, kinds[1].colour, textures[1])
    number, relation = generator.randint(2, 3), generator.choice(_SIDES)
    looks = [first, second, *[kinds[2]] * number]
    related = f"{indefinite(noun(first))} {relation_phrase(relation)} {indefinite(noun(second))}"
    return _sentence([counted(kinds[2], number), related]), _until(looks, lambda scene: _clearly(scene, relation), generator)


_COMPOSERS: dict[Category, Callable[[random.Random], tuple[str, Scene]]] = {
    Category.COLOR: _plain,
    Category.SHAPE: _plain,
    Category.TEXTURE: _textured,
    Category.SPATIAL: _placed,
    Category.NON_SPATIAL: _tied,
    Category.NUMERACY: _numbered,
    Category.OBJECT: _objects,
    Category.COMPLEX: _entangled,
}


def _until(kinds: list[Description], fit: Callable[[Scene], bool], generator: random.Random) -> Scene:
    while True:
        scene = strewn([_item(kind) for kind in kinds], generator)
        if fit(scene):
            return scene


def _clearly(scene: Scene, relation: Relation) -> bool:
    """Test whether the first object is clearly on that side of the second.

    It must be at least twice as far along the axis as across it.
    """
    one, two = scene.items[:2]
    near, far = sorted((abs(one.x - two.x), abs(one.y - two.y)))
    return one.stands(relation, two) and far >= 2 * near


def _all_strings_clear(scene: Scene) -> bool:
    """Strings between any two of the three would pass the third."""
    return all(strings_clear(scene.tying(a, b)) for a, b in ((0, 1), (0, 2), (1, 2)))

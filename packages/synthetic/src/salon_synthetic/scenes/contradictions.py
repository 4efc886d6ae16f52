"""Contradictions between a prompt and its picture, planted one or two at a time."""

import random
from collections.abc import Callable
from enum import Enum

from salon_synthetic.scenes.composing import ComposedScene
from salon_synthetic.scenes.diagnosis import Finding, findings
from salon_synthetic.scenes.placing import free_place
from salon_synthetic.scenes.scene import Item, Scene
from salon_synthetic.scenes.vocabulary import CANVAS, Category, Colour, Shape, Size, Texture

_SECOND = 0.3
"""How often a second contradiction is tried for; always in complex prompts."""
_TRIES = 400


def contradicted(composition: ComposedScene, generator: random.Random) -> tuple[Scene, tuple[Finding, ...]]:
    """Return a scene that fails the prompt in one or two ways of its category, and what is wrong with it.

    The contradictions are seen from the truth: there is one finding for each that was planted.
    """
    kinds = _PLANTERS[composition.category]
    two = composition.category == Category.COMPLEX or generator.random() < _SECOND
    for attempt in range(_TRIES):
        number = 2 if two and attempt < _TRIES // 2 else 1
        scene: Scene | None = composition.scene
        for plant in generator.sample(kinds, number) if len(kinds) >= number else kinds * number:
            scene = None if scene is None else plant(scene, generator)
        if scene is None:
            continue
        differences = findings(composition.claims, scene)
        if len(differences) == number:
            return scene, differences
    raise AssertionError(f"no contradiction could be planted into {composition.prompt!r}")


def _other(values: type[Enum], value: object, generator: random.Random) -> object:
    return generator.choice([other for other in values if other != value])


def _changed(name: str, values: type[Enum]) -> Callable[[Scene, random.Random], Scene | None]:
    """Gives one object another value of an attribute, if there is room for it then."""

    def plant(scene: Scene, generator: random.Random) -> Scene | None:
        index = generator.randrange(len(scene.items))
        old = scene.items[index]
        changed = Item.model_validate({**old.model_dump(), name: _other(values, getattr(old, name), generator)})
        others = scene.items[:index] + scene.items[index + 1 :]
        return scene.replacing(index, changed) if changed.clear_of(others) else None

    return plant


def _removed(scene: Scene, generator: random.Random) -> Scene:
    return scene.without(generator.randrange(len(scene.items)))


def _doubled(scene: Scene, generator: random.Random) -> Scene | None:
    """Return one object once more, at a free place."""
    near = (generator.randrange(CANVAS), generator.randrange(CANVAS))
    twin = free_place(scene, generator.choice(scene.items), near=near)
    return None if twin is None else scene.adding(twin)


def _swapped(scene: Scene, generator: random.Random) -> Scene | None:
    """Swap the first two objects."""
    one, two = scene.items[:2]
    moved = one.model_copy(update={"x": two.x, "y": two.y}), two.model_copy(update={"x": one.x, "y": one.y})
    changed = scene.replacing(0, moved[0]).replacing(1, moved[1])
    clear = all(item.clear_of(changed.items[:place] + changed.items[place + 1 :]) for place, item in enumerate(changed.items))
    return changed if clear else None


def _turned(scene: Scene, generator: random.Random) -> Scene | None:
    """Move the first object to another side of the second."""
    one, two = scene.items[:2]
    across, down = one.x - two.x, one.y - two.y
    across, down = generator.choice(((down, across), (-down, -across)))
    moved = one.model_copy(update={"x": two.x + across, "y": two.y + down})
    return scene.replacing(0, moved) if moved.clear_of(scene.items[1:]) else None


def _untied(scene: Scene, generator: random.Random) -> Scene:
    return scene.untying(0, 1)


def _tied_elsewhere(scene: Scene, generator: random.Random) -> Scene:
    """Tie the first object's string to the third."""
    return scene.untying(0, 1).tying(0, 2)


_PLANTERS: dict[Category, list[Callable[[Scene, random.Random], Scene | None]]] = {
    Category.COLOR: [_changed("colour", Colour)],
    Category.SHAPE: [_changed("shape", Shape)],
    Category.TEXTURE: [_changed("texture", Texture)],
    Category.SPATIAL: [_swapped, _turned],
    Category.NON_SPATIAL: [_untied, _tied_elsewhere],
    Category.NUMERACY: [_removed, _doubled],
    Category.OBJECT: [_removed],
    Category.COMPLEX: [
        _changed("colour", Colour),
        _changed("texture", Texture),
        _changed("size", Size),
        _swapped,
        _turned,
        _removed,
        _doubled,
    ],
}

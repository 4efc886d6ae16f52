"""Where objects can stand: apart from each other, off the strings, on the side that a relation asks for."""

import random
from collections.abc import Iterator

from salon_synthetic.scenes.scene import GAP, Item, Scene
from salon_synthetic.scenes.vocabulary import CANVAS

_STEP = 8
_DRAWS = 200


def strewn(looks: list[Item], generator: random.Random) -> Scene:
    """Return the objects at drawn places, clear of each other; where they end up short of room, all are drawn again.

    Args:
        looks: the objects; their places are ignored. Up to ten of any size find room.
        generator: draws.
    """
    while True:
        placed: list[Item] = []
        for look in looks:
            for _ in range(_DRAWS):
                edge = look.radius + GAP
                x, y = (generator.randint(edge, CANVAS - edge) for _ in range(2))
                candidate = look.model_copy(update={"x": x, "y": y})
                if candidate.clear_of(placed):
                    placed.append(candidate)
                    break
        if len(placed) == len(looks):
            return Scene(items=tuple(placed))


def free_place(scene: Scene, item: Item, *, near: tuple[int, int] | None = None) -> Item | None:
    """Return the object at the free place nearest to ``near`` (default: the middle), or None without room."""
    return next(free_places(scene, item, near=near), None)


def free_places(scene: Scene, item: Item, *, near: tuple[int, int] | None = None) -> Iterator[Item]:
    """Yield the object at every free place of a grid, nearest first."""
    x, y = near or (CANVAS // 2, CANVAS // 2)
    grid = [(a, b) for a in range(0, CANVAS + 1, _STEP) for b in range(0, CANVAS + 1, _STEP)]
    for a, b in sorted(grid, key=lambda point: ((point[0] - x) ** 2 + (point[1] - y) ** 2, point)):
        candidate = item.model_copy(update={"x": a, "y": b})
        if candidate.clear_of(scene.items) and strings_clear(scene.adding(candidate)):
            yield candidate


def strings_clear(scene: Scene) -> bool:
    """Return whether no string runs through an object that it is not tied to."""
    for a, b in scene.ties:
        one, two = scene.items[a], scene.items[b]
        for index, item in enumerate(scene.items):
            if index not in (a, b) and _distance(item, one, two) < item.radius + GAP:
                return False
    return True


def _distance(item: Item, one: Item, two: Item) -> float:
    """From an object's centre to the stretch between two others."""
    across, down = two.x - one.x, two.y - one.y
    length = across * across + down * down
    share = 0.0 if length == 0 else ((item.x - one.x) * across + (item.y - one.y) * down) / length
    share = min(1.0, max(0.0, share))
    return float(((item.x - one.x - share * across) ** 2 + (item.y - one.y - share * down) ** 2) ** 0.5)

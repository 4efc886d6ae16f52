"""Commands on scenes: each changes exactly what it says, or is an error that says why it cannot be done."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from salon_synthetic.draw_editor.instructions import Add, ChangeAttributes, Command, Move, Remove, SetCount, Swap, Tie, Untie
from salon_synthetic.scenes.claims import ATTRIBUTES, Description
from salon_synthetic.scenes.placing import free_places, strings_clear
from salon_synthetic.scenes.scene import MOST_ITEMS, Item, Scene
from salon_synthetic.scenes.vocabulary import CANVAS, Colour, Relation, Shape, Size, Texture
from salon_synthetic.scenes.wording import counted, noun, relation_phrase
from salon_taxonomy.errors import InputError

_SIZES: Final = tuple(Size)
_FAR: Final = 1.5
"""Minimum ratio of a moved object's distance along the axis to that across it; makes the side unambiguous."""


def execute(scene: Scene, commands: Iterable[Command]) -> Scene:
    """Return the scene after all commands, in order.

    "The red circle" with several of them means the first, from the upper left; plurals mean all. An added object without a
    colour is black, without a shape a circle, medium and plain.

    Raises:
        InputError: when one of them cannot be done: the thing is not there, or there is no room.

    Example:
        >>> from salon_synthetic.draw_editor.instructions import read_instruction
        >>> scene = execute(Scene(), read_instruction("Add two red stars. Make one star blue."))
        >>> sorted(item.colour.value for item in scene.items)
        ['blue', 'red']
    """
    for command in commands:
        scene = _HANDLERS[type(command)](scene, command)
    return scene


def _refused(problem: str) -> InputError:
    return InputError(problem, column="instruction")


def _targets(scene: Scene, kind: Description, number: int | None) -> list[int]:
    """So many objects of a kind, from the upper left on; None: all, at least one."""
    places = sorted(kind.places(scene), key=lambda index: (scene.items[index].y, scene.items[index].x))
    if len(places) < (number or 1):
        seen = f"only {len(places)}" if places else "none"
        wanted = noun(kind) if number is None or number == 1 else counted(kind, number)
        raise _refused(f"the picture shows {seen} of: {wanted}")
    return places if number is None else places[:number]


def _distinct(scene: Scene, kind: Description, other: Description) -> tuple[int, int]:
    """Return the first object of each kind; two different ones."""
    for a in _targets(scene, kind, 1) if kind != other else _targets(scene, kind, 2)[:1]:
        for b in _targets(scene, other, None):
            if a != b:
                return a, b
    raise _refused(f"the picture shows no two objects for: {noun(kind)} and {noun(other)}")


def _clearly(one: Item, relation: Relation, other: Item) -> bool:
    near, far = sorted((abs(one.x - other.x), abs(one.y - other.y)))
    return one.stands(relation, other) and far >= _FAR * near


def _add(scene: Scene, command: Add) -> Scene:
    kind = command.kind
    for _ in range(command.number):
        if len(scene.items) >= MOST_ITEMS:
            raise _refused(f"a picture holds at most {MOST_ITEMS} objects")
        added = Item(
            shape=kind.shape or Shape.CIRCLE,
            colour=kind.colour or Colour.BLACK,
            texture=kind.texture or Texture.PLAIN,
            size=kind.size or Size.MEDIUM,
            x=CANVAS // 2,
            y=CANVAS // 2,
        )
        if command.relation is None or command.other is None:
            fitting = next(free_places(scene, added), None)
        else:
            anchor = scene.items[_targets(scene, command.other, 1)[0]]
            beside = free_places(scene, added, near=(anchor.x, anchor.y))
            fitting = next((place for place in beside if _clearly(place, command.relation, anchor)), None)
        if fitting is None:
            raise _refused(f"there is no room for another {noun(kind)}")
        scene = scene.adding(fitting)
    return scene


def _remove(scene: Scene, command: Remove) -> Scene:
    for index in sorted(_targets(scene, command.kind, command.number), reverse=True):
        scene = scene.without(index)
    return scene


def _change(scene: Scene, command: ChangeAttributes) -> Scene:
    changes: dict[str, Any] = {name: value for name in ATTRIBUTES if (value := getattr(command.to, name)) is not None}
    for index in _targets(scene, command.kind, command.number):
        old = scene.items[index]
        if command.larger:
            step = _SIZES.index(old.size) + command.larger
            if not 0 <= step < len(_SIZES):
                raise _refused(f"the {noun(command.kind)} is {old.size} already")
            changes = {"size": _SIZES[step]}
        changed = old.model_copy(update=changes)
        after = scene.replacing(index, changed)
        others = scene.items[:index] + scene.items[index + 1 :]
        fits = changed.radius <= old.radius or (changed.clear_of(others) and strings_clear(after))
        scene = after if fits else _placed(scene, index, changed, lambda _: True)
    return scene


def _placed(scene: Scene, index: int, item: Item, fit: Callable[[Item], bool]) -> Scene:
    """Return the scene with an object at the nearest free place that fits."""
    after = _nearest(scene, index, item, fit)
    if after is None:
        raise _refused(f"there is no room for a {item.size} {item.shape} there")
    return after


def _nearest(scene: Scene, index: int, wanted: Item, fit: Callable[[Item], bool]) -> Scene | None:
    rest = scene.without(index)
    for candidate in free_places(rest, wanted, near=(wanted.x, wanted.y)):
        after = scene.replacing(index, candidate)
        if fit(candidate) and strings_clear(after):
            return after
    return None


def _move(scene: Scene, command: Move) -> Scene:
    if command.other is None:
        index = _targets(scene, command.kind, 1)[0]
        moved = scene.items[index]
        return _placed(scene, index, moved, lambda candidate: _clearly(candidate, command.relation, moved))
    index, anchor = _distinct(scene, command.kind, command.other)
    other = scene.items[anchor]
    after = _nearest(scene, index, scene.items[index], lambda candidate: _clearly(candidate, command.relation, other))
    if after is None:  # the other one gives way
        after = _nearest(scene, anchor, other, lambda candidate: _clearly(scene.items[index], command.relation, candidate))
    if after is None:
        after = _both(scene, index, anchor, command.relation)
    if after is None:
        where = f"{relation_phrase(command.relation)} the {noun(command.other)}"
        raise _refused(f"there is no room for the {noun(command.kind)} {where}")
    return after


def _both(scene: Scene, index: int, anchor: int, relation: Relation) -> Scene | None:
    """Return the first object beside the second, after that went to the free place nearest to the middle that leaves room."""
    middle = scene.items[anchor].model_copy(update={"x": CANVAS // 2, "y": CANVAS // 2})
    central = _nearest(scene, anchor, middle, lambda _: True)
    if central is None:
        return None
    other = central.items[anchor]
    return _nearest(central, index, central.items[index], lambda candidate: _clearly(candidate, relation, other))


def _swap(scene: Scene, command: Swap) -> Scene:
    a, b = _distinct(scene, command.kind, command.other)
    one, two = scene.items[a], scene.items[b]
    rest = scene.items
    after = scene.replacing(a, one.model_copy(update={"x": two.x, "y": two.y}))
    after = after.replacing(b, two.model_copy(update={"x": one.x, "y": one.y}))
    moved = [(place, after.items[place]) for place in (a, b)]
    others = [item for place, item in enumerate(rest) if place not in (a, b)]
    if any(not item.clear_of([*others, *(other for p, other in moved if p != place)]) for place, item in moved):
        raise _refused("there is no room to swap the two")
    return after


def _set_count(scene: Scene, command: SetCount) -> Scene:
    surplus = len(command.kind.places(scene)) - command.number
    if surplus > 0:
        return _remove(scene, Remove(command.kind, surplus))
    return _add(scene, Add(command.kind, -surplus))


def _tie(scene: Scene, command: Tie) -> Scene:
    after = scene.tying(*_distinct(scene, command.kind, command.other))
    if not strings_clear(after):
        raise _refused("the string would run through another object")
    return after


def _untie(scene: Scene, command: Untie) -> Scene:
    places = set(_targets(scene, command.kind, None))
    others = set(range(len(scene.items))) if command.other is None else set(_targets(scene, command.other, None))
    cut = [(a, b) for a, b in scene.ties if (a in places and b in others) or (b in places and a in others)]
    if not cut:
        raise _refused(f"no string is tied to the {noun(command.kind)} like that")
    for a, b in cut:
        scene = scene.untying(a, b)
    return scene


_HANDLERS: Final[dict[type[Command], Callable[[Scene, Any], Scene]]] = {
    Add: _add,
    Remove: _remove,
    ChangeAttributes: _change,
    Move: _move,
    Swap: _swap,
    SetCount: _set_count,
    Tie: _tie,
    Untie: _untie,
}

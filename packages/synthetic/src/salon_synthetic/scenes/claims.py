"""Define claims about a scene and their truth, shared by prompts, questions, judges and editors."""

from dataclasses import dataclass
from typing import TypeAlias

from salon_synthetic.scenes.scene import Item, Scene
from salon_synthetic.scenes.vocabulary import Colour, Relation, Shape, Size, Texture

ATTRIBUTES = ("size", "texture", "colour", "shape")
"""In the order in which English says them."""


@dataclass(frozen=True, slots=True)
class Description:
    """What an object may look like; None leaves it open.

    Example:
        >>> Description(colour=Colour.RED).fits(Item(shape="star", colour="red", x=40, y=40))
        True
    """

    shape: Shape | None = None
    colour: Colour | None = None
    texture: Texture | None = None
    size: Size | None = None

    def fits(self, item: Item) -> bool:
        """Return whether an object looks like that."""
        return not self.differences(item)

    def differences(self, item: Item) -> tuple[str, ...]:
        """Return the attributes in which an object differs from what is asked."""
        asked = ((name, getattr(self, name)) for name in ATTRIBUTES)
        return tuple(name for name, value in asked if value is not None and value != getattr(item, name))

    def places(self, scene: Scene) -> tuple[int, ...]:
        """Return the indices in ``scene.items`` of the objects that match."""
        return tuple(place for place, item in enumerate(scene.items) if self.fits(item))


@dataclass(frozen=True, slots=True)
class Present:
    """So many objects of a kind are there; without ``exact`` more are welcome. ``number`` is 0 or more."""

    kind: Description
    number: int = 1
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Attributed:
    """Some object of a kind looks as the predicate says ("the circle is red")."""

    kind: Description
    predicate: Description


@dataclass(frozen=True, slots=True)
class Related:
    """Some object of one kind stands so to some other object of another kind."""

    kind: Description
    relation: Relation
    other: Description


Claim: TypeAlias = Present | Attributed | Related


def holds(claim: Claim, scene: Scene) -> bool:
    """Return whether a claim is true of a scene.

    Example:
        >>> scene = Scene(items=[Item(shape="star", colour="red", x=40, y=40)])
        >>> holds(Present(Description(shape=Shape.STAR)), scene), holds(Present(Description(), 2, exact=True), scene)
        (True, False)
    """
    places = claim.kind.places(scene)
    match claim:
        case Present():
            return len(places) == claim.number if claim.exact else len(places) >= claim.number
        case Attributed():
            return any(claim.predicate.fits(scene.items[place]) for place in places)
        case Related():
            return any(related(scene, a, claim.relation, b) for a in places for b in claim.other.places(scene))


def related(scene: Scene, a: int, relation: Relation, b: int) -> bool:
    """Return whether two objects of a scene, by their places, stand so to each other; no object does to itself."""
    if relation == Relation.TIED:
        return scene.tied(a, b)
    return scene.items[a].stands(relation, scene.items[b])

"""A scene: its objects and their exact places."""

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from salon_synthetic.scenes.vocabulary import CANVAS, RADII, Colour, Relation, Shape, Size, Texture
from salon_taxonomy.errors import InputError

MOST_ITEMS = 32
"""A scene with more objects is none of ours."""
GAP = 6
"""Pixels that stay free between any two objects, and between an object and the picture's edge."""
_LONGEST_JSON = 1 << 16

_Place = Annotated[int, Field(ge=0, le=CANVAS)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Item(_Part):
    """One object.

    Attributes:
        x: of its centre, pixels from the left edge.
        y: of its centre, pixels from the upper edge.
    """

    shape: Shape
    colour: Colour
    texture: Texture = Texture.PLAIN
    size: Size = Size.MEDIUM
    x: _Place
    y: _Place

    @property
    def radius(self) -> int:
        """Of the circle around it, in pixels."""
        return RADII[self.size]

    def stands(self, relation: Relation, other: "Item") -> bool:
        """Return whether its centre lies on that side of the other's, more along that axis than across it.

        Example:
            >>> left, right = (Item(shape="circle", colour="red", x=x, y=100) for x in (50, 150))
            >>> left.stands(Relation.LEFT, right), left.stands(Relation.ABOVE, right)
            (True, False)
        """
        across, down = other.x - self.x, other.y - self.y
        if relation in (Relation.LEFT, Relation.RIGHT):
            return abs(across) > abs(down) and (across > 0) == (relation == Relation.LEFT)
        if relation in (Relation.ABOVE, Relation.BELOW):
            return abs(down) > abs(across) and (down > 0) == (relation == Relation.ABOVE)
        return False

    def clear_of(self, others: Iterable["Item"]) -> bool:
        """Return whether it lies within the canvas and keeps :data:`GAP` from every other object."""
        edge = self.radius + GAP
        if not (edge <= self.x <= CANVAS - edge and edge <= self.y <= CANVAS - edge):
            return False
        return all(
            (self.x - other.x) ** 2 + (self.y - other.y) ** 2 >= (self.radius + other.radius + GAP) ** 2 for other in others
        )


class Scene(_Part):
    """Objects on a white square, and the strings between them.

    Attributes:
        items: the objects; no two overlap in scenes that are generated or edited here.
        ties: pairs of places in ``items``, the smaller first: a string runs between the two.

    Raises:
        ValidationError: for a tie to an object that is not there (:meth:`from_json` says it as an ``InputError``).
    """

    items: Annotated[tuple[Item, ...], Field(max_length=MOST_ITEMS)] = ()
    ties: Annotated[tuple[tuple[int, int], ...], Field(max_length=MOST_ITEMS)] = ()

    @model_validator(mode="after")
    def _ties_lead_somewhere(self) -> Self:
        if any(not 0 <= a < b < len(self.items) for a, b in self.ties) or len(set(self.ties)) < len(self.ties):
            raise ValueError("a tie is a pair of different places in items, the smaller first, and stands once")
        return self

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what ``model_dump_json`` wrote.

        Raises:
            InputError: for anything else.

        Example:
            >>> Scene.from_json('{"items": [{"shape": "star", "colour": "red", "x": 40, "y": 40}]}').items[0].size
            <Size.MEDIUM: 'medium'>
        """
        if len(text) > _LONGEST_JSON:
            raise InputError("too long for a drawn scene", column="scene")
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            key = ".".join(map(str, fault["loc"])) or None
            raise InputError(f"is no drawn scene ({fault['msg']})", column="scene", key=key) from error

    def tied(self, a: int, b: int) -> bool:
        """Return whether a string runs between the objects at two places."""
        return (min(a, b), max(a, b)) in self.ties

    def without(self, index: int) -> "Scene":
        """Return the scene without one object and its strings."""
        rest = self.items[:index] + self.items[index + 1 :]
        ties = tuple((a - (a > index), b - (b > index)) for a, b in self.ties if index not in (a, b))
        return Scene(items=rest, ties=ties)

    def replacing(self, index: int, item: Item) -> "Scene":
        """Return the scene with another object at one place."""
        return Scene(items=(*self.items[:index], item, *self.items[index + 1 :]), ties=self.ties)

    def adding(self, item: Item) -> "Scene":
        """Return the scene with one more object, the last."""
        return Scene(items=(*self.items, item), ties=self.ties)

    def tying(self, a: int, b: int) -> "Scene":
        """Return the scene with a string between two objects."""
        return Scene(items=self.items, ties=tuple(sorted({*self.ties, (min(a, b), max(a, b))})))

    def untying(self, a: int, b: int) -> "Scene":
        """Return the scene without a string between two objects."""
        return Scene(items=self.items, ties=tuple(tie for tie in self.ties if tie != (min(a, b), max(a, b))))

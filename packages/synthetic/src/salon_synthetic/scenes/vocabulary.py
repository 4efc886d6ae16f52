"""What drawn scenes are made of, and the English words for it."""

from enum import StrEnum
from typing import Final


class Shape(StrEnum):
    """The outline of an object."""

    CIRCLE = "circle"
    SQUARE = "square"
    TRIANGLE = "triangle"
    STAR = "star"
    DIAMOND = "diamond"
    CROSS = "cross"
    HEXAGON = "hexagon"


class Colour(StrEnum):
    """The main colour of an object."""

    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"
    PINK = "pink"
    BLACK = "black"


class Texture(StrEnum):
    """The pattern within an object; the second colour is the main one mixed with white."""

    PLAIN = "plain"
    STRIPED = "striped"
    DOTTED = "dotted"
    CHECKERED = "checkered"


class Size(StrEnum):
    """How large an object is; see :data:`RADII`."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class Relation(StrEnum):
    """What holds between two objects. Of the four places at most one holds for a pair."""

    LEFT = "left"
    RIGHT = "right"
    ABOVE = "above"
    BELOW = "below"
    TIED = "tied"
    """A string runs from one to the other."""


class Category(StrEnum):
    """The eight categories of R³-Bench (Figure 3), by their ids in the taxonomy ``r3``."""

    COLOR = "color"
    SHAPE = "shape"
    TEXTURE = "texture"
    SPATIAL = "spatial"
    NON_SPATIAL = "non-spatial"
    NUMERACY = "numeracy"
    OBJECT = "object"
    COMPLEX = "complex"


CANVAS: Final = 256
"""Width and height of every scene, in pixels."""
BACKGROUND: Final = (255, 255, 255)
STRING: Final = (139, 90, 43)
"""The colour of strings; no object has it."""
INKS: Final = {
    Colour.RED: (214, 39, 40),
    Colour.ORANGE: (255, 140, 0),
    Colour.YELLOW: (240, 205, 0),
    Colour.GREEN: (34, 150, 60),
    Colour.BLUE: (30, 90, 200),
    Colour.PURPLE: (130, 50, 170),
    Colour.PINK: (255, 120, 190),
    Colour.BLACK: (20, 20, 20),
}
"""Colour → red, green, blue, each 0 to 255."""
RADII: Final = {Size.SMALL: 14, Size.MEDIUM: 21, Size.LARGE: 31}
"""Size → radius of the circle around the object, in pixels."""

NUMBER_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

SHAPE_WORDS: Final = {
    **{shape.value: shape for shape in Shape},
    "circular": Shape.CIRCLE,
    "round": Shape.CIRCLE,
    "disc": Shape.CIRCLE,
    "disk": Shape.CIRCLE,
    "ball": Shape.CIRCLE,
    "triangular": Shape.TRIANGLE,
    "rhombus": Shape.DIAMOND,
    "plus": Shape.CROSS,
    "hexagonal": Shape.HEXAGON,
}
COLOUR_WORDS: Final = {colour.value: colour for colour in Colour}
TEXTURE_WORDS: Final = {
    **{texture.value: texture for texture in Texture},
    "solid": Texture.PLAIN,
    "stripy": Texture.STRIPED,
    "stripes": Texture.STRIPED,
    "spotted": Texture.DOTTED,
    "dots": Texture.DOTTED,
    "checked": Texture.CHECKERED,
    "chequered": Texture.CHECKERED,
    "checks": Texture.CHECKERED,
}
SIZE_WORDS: Final = {
    **{size.value: size for size in Size},
    "little": Size.SMALL,
    "tiny": Size.SMALL,
    "big": Size.LARGE,
    "huge": Size.LARGE,
}
OPPOSITE: Final = {
    Relation.LEFT: Relation.RIGHT,
    Relation.RIGHT: Relation.LEFT,
    Relation.ABOVE: Relation.BELOW,
    Relation.BELOW: Relation.ABOVE,
    Relation.TIED: Relation.TIED,
}
"""The same fact, told from the other object."""

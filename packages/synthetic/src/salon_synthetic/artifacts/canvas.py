"""What figures are painted with: polygons on a picture several times the final size, which is then shrunk.

Everything is a polygon with whole corners, so that a turned or mirrored figure is the same figure, and tiny differences
between machines' sines do not reach the pixels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]
Point = tuple[float, float]

_ARC: Final = tuple((math.cos(math.pi * step / 6), math.sin(math.pi * step / 6)) for step in range(12))
"""A circle in twelve corners."""
_HALF: Final = 6


@dataclass(frozen=True, slots=True)
class FigurePlace:
    """Where a figure stands: an affine map from its own square (0 to 1, y downwards) to the picture's."""

    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0
    e: float = 1.0
    f: float = 0.0

    def at(self, x: float, y: float) -> Point:
        """Return the point in the picture."""
        return (self.a * x + self.b * y + self.c, self.d * x + self.e * y + self.f)

    @classmethod
    def box(cls, centre: Point, side: float, *, turned: float = 0.0, mirrored: bool = False) -> "FigurePlace":
        """Return a square with this centre and side, turned clockwise by so many degrees."""
        cos, sin = math.cos(math.radians(turned)) * side, math.sin(math.radians(turned)) * side
        flip = -1.0 if mirrored else 1.0
        a, b, d, e = cos * flip, -sin, sin * flip, cos
        return cls(a, b, centre[0] - 0.5 * (a + b), d, e, centre[1] - 0.5 * (d + e))

    def turned(self, degrees: float, around: Point) -> "FigurePlace":
        """Return the same place after a clockwise turn of the figure about one of its own points."""
        cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        x, y = around
        a, b, c = cos, -sin, x - cos * x + sin * y
        d, e, f = sin, cos, y - sin * x - cos * y
        return FigurePlace(
            self.a * a + self.b * d,
            self.a * b + self.b * e,
            self.a * c + self.b * f + self.c,
            self.d * a + self.e * d,
            self.d * b + self.e * e,
            self.d * c + self.e * f + self.f,
        )

    def shifted(self, x: float, y: float) -> "FigurePlace":
        """Return the same place, moved by so many parts of its own side."""
        c, f = self.at(x, y)
        return FigurePlace(self.a, self.b, c, self.d, self.e, f)

    @property
    def scale(self) -> float:
        """Lengths in the picture over lengths in the figure."""
        return math.sqrt(abs(self.a * self.e - self.b * self.d))


class Canvas:
    """A picture in the making.

    Args:
        size: of the finished square picture, in pixels.
        ground: the colour that it starts with.
    """

    def __init__(self, size: int, ground: Colour) -> None:
        from PIL import Image, ImageDraw

        self.size = size
        self.factor = 4 if size <= 96 else 2
        self.side = size * self.factor
        self._image = Image.new("RGB", (self.side, self.side), ground)
        self._brush = ImageDraw.Draw(self._image)

    def polygon(self, corners: Sequence[Point], fill: Colour) -> None:
        """Fill a polygon; corners in parts of the picture's side."""
        side = self.side
        self._brush.polygon([(round(x * side), round(y * side)) for x, y in corners], fill)

    def put_middle_of(self, other: "Canvas", *, left: bool) -> None:
        """Copy the middle half of another canvas of the same size to the left or right half of this one."""
        quarter = self.side // 4
        middle = other._image.crop((quarter, 0, quarter + self.side // 2, self.side))
        self._image.paste(middle, (0 if left else self.side // 2, 0))

    def finished(self) -> "Image":
        """Return the picture in its final size; every pixel is the mean of those it was painted with."""
        return self._image.reduce(self.factor)


@dataclass(frozen=True, slots=True)
class Pen:
    """Paints one figure on a canvas, in the figure's own coordinates.

    Attributes:
        canvas: the picture.
        place: where the figure stands.
        ink: the colour of outlines.
        line: how wide they are, in parts of the figure's side; 0 for none.
    """

    canvas: Canvas
    place: FigurePlace
    ink: Colour
    line: float = 0.018

    def moved(self, box: FigurePlace) -> "Pen":
        """Return the same pen elsewhere."""
        return Pen(self.canvas, box, self.ink, self.line)

    def shape(self, corners: Sequence[Point], fill: Colour, *, outlined: bool = True) -> None:
        """A filled polygon."""
        if outlined and self.line:
            for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
                self._capsule(start, end, self.line, self.line, self.ink)
        at = self.place.at
        self.canvas.polygon([at(x, y) for x, y in corners], fill)

    def disc(self, x: float, y: float, wide: float, high: float, fill: Colour, *, outlined: bool = True) -> None:
        """A filled ellipse, ``wide`` and ``high`` from its centre."""
        at = self.place.at
        if outlined and self.line:
            w, h = wide + self.line, high + self.line
            self.canvas.polygon([at(x + w * cos, y + h * sin) for cos, sin in _ARC], self.ink)
        self.canvas.polygon([at(x + wide * cos, y + high * sin) for cos, sin in _ARC], fill)

    def limb(self, points: Sequence[Point], radii: Sequence[float], fill: Colour, *, outlined: bool = True) -> None:
        """A chain of round-ended segments, such as an arm; one radius a point."""
        parts = list(zip(points, points[1:], radii, radii[1:], strict=False))
        if outlined and self.line:
            for a, b, wide, narrow in parts:
                self._capsule(a, b, wide + self.line, narrow + self.line, self.ink)
        for a, b, wide, narrow in parts:
            self._capsule(a, b, wide, narrow, fill)

    def _capsule(self, a: Point, b: Point, wide: float, narrow: float, fill: Colour) -> None:
        at = self.place.at
        angle = math.atan2(b[1] - a[1], b[0] - a[0])
        cos0, sin0 = math.cos(angle), math.sin(angle)
        corners = []
        for step in range(_HALF + 1):  # the far end, from -90° to 90°
            cos, sin = _TURN[step]
            corners.append(at(b[0] + narrow * (cos0 * cos - sin0 * sin), b[1] + narrow * (sin0 * cos + cos0 * sin)))
        for step in range(_HALF + 1):  # the near end, from 90° to 270°
            cos, sin = _TURN[step]
            corners.append(at(a[0] - wide * (cos0 * cos - sin0 * sin), a[1] - wide * (sin0 * cos + cos0 * sin)))
        self.canvas.polygon(corners, fill)


_TURN: Final = tuple(
    (math.cos(math.pi * (step / _HALF - 0.5)), math.sin(math.pi * (step / _HALF - 0.5))) for step in range(_HALF + 1)
)

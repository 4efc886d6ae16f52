"""Scenes to pixels: no anti-aliasing, no noise, so the same scene is the same picture, pixel for pixel, everywhere.

The bytes of the PNG file are the same with the same version of Pillow. The file carries its scene in a text chunk, which
editors read and judges must not.
"""

import math
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from salon_synthetic.scenes.scene import Item, Scene
from salon_synthetic.scenes.vocabulary import BACKGROUND, CANVAS, INKS, STRING, Colour, Shape, Texture
from salon_taxonomy.errors import InputError, picture_failures
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.picture_formats import PNG
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

Mask = npt.NDArray[np.bool_]

SCENE_CHUNK: Final = "salon-scene"
"""The keyword of the PNG text chunk that holds the scene as JSON."""
STRING_WIDTH: Final = 3
_STRIPE, _CHECK, _DOT = 4, 5, 9
_DOT_RADIUS_SQUARED: Final = 6.5
_ARM = 0.36  # half the width of a cross's arms, in radii
_INNER = 0.42  # where a star's inner corners stand, in radii
_SIDES: Final = {
    Shape.TRIANGLE: (3, -90.0, 1.0),
    Shape.SQUARE: (4, -45.0, 1.0),
    Shape.DIAMOND: (4, -90.0, 1.0),
    Shape.HEXAGON: (6, 0.0, 1.0),
    Shape.STAR: (10, -90.0, _INNER),
}
"""Shape → corners, the angle of the first, and how far every second corner stands out, in radii."""


def shade(colour: Colour) -> tuple[int, int, int]:
    """Return the second colour of textured objects: half the colour, half white."""
    red, green, blue = INKS[colour]
    return ((red + 255) // 2, (green + 255) // 2, (blue + 255) // 2)


def drawn(scene: Scene) -> "Image":
    """Return the picture of a scene: RGB, 256 by 256. Later objects lie above earlier ones, strings below all."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (CANVAS, CANVAS), BACKGROUND)
    brush = ImageDraw.Draw(image)
    for a, b in scene.ties:
        ends = [(scene.items[place].x, scene.items[place].y) for place in (a, b)]
        brush.line(ends, fill=STRING, width=STRING_WIDTH)
    canvas = np.array(image)
    for item in scene.items:
        _paint(canvas, item)
    return Image.fromarray(canvas)


def png(scene: Scene) -> bytes:
    """Return the picture as a PNG file that carries its scene.

    Example:
        >>> scene = Scene(items=[Item(shape="star", colour="red", x=40, y=40)])
        >>> read_scene(png(scene)) == scene, png(scene) == png(scene)
        (True, True)
    """
    from PIL.PngImagePlugin import PngInfo

    chunks = PngInfo()
    chunks.add_text(SCENE_CHUNK, scene.model_dump_json())
    stream = BytesIO()
    drawn(scene).save(stream, "PNG", pnginfo=chunks, compress_level=6)
    return stream.getvalue()


def read_scene(content: bytes) -> Scene:
    """Return the scene that a PNG file carries.

    Raises:
        InputError: when the file is none of ours.
    """
    try:
        with PNG.open(BytesIO(content)) as image:
            text: Any = image.info.get(SCENE_CHUNK)
    except picture_failures() as error:
        raise InputError(f"is no PNG file ({type(error).__name__})", column="image") from error
    if not isinstance(text, str):
        hint = "Drawn pictures carry it; a copy in another format, or one without metadata, does not."
        raise InputError("the picture carries no drawn scene", column="image", hint=hint)
    return Scene.from_json(text)


def read_picture(content: bytes) -> "Image":
    """Decode a whole file: upright, opaque on white, RGB (:func:`salon_taxonomy.picture_decoding.decode`).

    Raises:
        InputError: the file cannot be decoded to its last pixel, or has more than 80,000,000 pixels.
    """
    decoded = decode(content)
    if isinstance(decoded, Unscored):
        raise InputError(f"the picture cannot be decoded: {decoded.detail}")
    return decoded.image.convert("RGB")


@cache
def outline(shape: Shape, radius: int) -> Mask:
    """Return the pixels of a shape around its centre: shape (2·radius + 1, 2·radius + 1)."""
    from PIL import Image, ImageDraw

    side = 2 * radius + 1
    image = Image.new("L", (side, side), 0)
    brush = ImageDraw.Draw(image)
    if shape == Shape.CIRCLE:
        brush.ellipse((0, 0, side - 1, side - 1), fill=255)
    elif shape == Shape.CROSS:
        arm = round(_ARM * radius)
        brush.rectangle((radius - arm, 0, radius + arm, side - 1), fill=255)
        brush.rectangle((0, radius - arm, side - 1, radius + arm), fill=255)
    else:
        brush.polygon(_corners(shape, radius), fill=255)
    return np.array(image) > 0


def pattern(texture: Texture, radius: int) -> Mask:
    """Return where the second colour goes, around the centre: shape (2·radius + 1, 2·radius + 1)."""
    down, across = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    match texture:
        case Texture.STRIPED:
            return np.asarray((down // _STRIPE) % 2 == 1)
        case Texture.CHECKERED:
            return np.asarray((down // _CHECK + across // _CHECK) % 2 == 1)
        case Texture.DOTTED:
            half = _DOT // 2
            return np.asarray((down % _DOT - half) ** 2 + (across % _DOT - half) ** 2 <= _DOT_RADIUS_SQUARED)
        case Texture.PLAIN:
            return np.zeros(down.shape, dtype=np.bool_)


def _corners(shape: Shape, radius: int) -> list[tuple[float, float]]:
    number, first, every_second = _SIDES[shape]
    reach = [radius * (every_second if corner % 2 else 1.0) for corner in range(number)]
    angles = [math.radians(first + 360 * corner / number) for corner in range(number)]
    return [
        (round(radius + r * math.cos(angle), 3), round(radius + r * math.sin(angle), 3))
        for r, angle in zip(reach, angles, strict=True)
    ]


def _paint(canvas: npt.NDArray[np.uint8], item: Item) -> None:
    """Put one object on the canvas, cut off at its edges."""
    radius = item.radius
    inside = outline(item.shape, radius)
    second = pattern(item.texture, radius)
    top, left = max(0, item.y - radius), max(0, item.x - radius)
    bottom, right = min(CANVAS, item.y + radius + 1), min(CANVAS, item.x + radius + 1)
    rows = slice(top - item.y + radius, bottom - item.y + radius)
    columns = slice(left - item.x + radius, right - item.x + radius)
    patch = canvas[top:bottom, left:right]
    patch[inside[rows, columns]] = INKS[item.colour]
    patch[(inside & second)[rows, columns]] = shade(item.colour)

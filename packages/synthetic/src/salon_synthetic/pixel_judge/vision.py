"""From pixels to a scene, by rules; never from the truth that a drawn file carries.

    pixels ── nearest ink ──► classes ── connected areas ──► area: colour, texture, shape, size, place ──► Scene
                                 └────── string-coloured areas ──► the objects that they touch ─────────► ties

It sees what it can: on sharp pictures nearly everything, on blurred, small or colour-poor ones less, and the mistakes are its
own. Nothing in it is random.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from salon_synthetic.pixel_judge.areas import Area, areas
from salon_synthetic.pixel_judge.eyes import Eyes
from salon_synthetic.scenes.drawing import outline, shade
from salon_synthetic.scenes.scene import MOST_ITEMS, Item, Scene
from salon_synthetic.scenes.vocabulary import BACKGROUND, CANVAS, INKS, RADII, STRING, Colour, Shape, Size, Texture

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = npt.NDArray[np.int64]

_COLOURS: Final = tuple(Colour)
_SMALLEST: Final = 60
"""Areas of fewer pixels of the canvas are specks."""
_TEXTURED: Final = 0.15
"""The least share of second-colour pixels in a textured object."""
_CHECKED: Final = 0.36
"""Dots cover about a quarter, checks half."""
_IN_ROWS: Final = 0.6
"""The least share of the variance that lies between the rows of a striped object."""
_TEMPLATE: Final = 32
_LEVELS: Final = 4
_RESIZED: Final = 127


def perceive(image: "Image", eyes: Eyes | None = None) -> Scene:
    """Return what these eyes see in a picture, in canvas pixels; at most 32 objects, from the upper left on.

    Example:
        >>> from salon_synthetic.scenes.drawing import drawn
        >>> scene = Scene(items=[Item(shape="star", colour="red", x=40, y=60)])
        >>> seen = perceive(drawn(scene)).items[0]
        >>> seen.shape.value, seen.colour.value, seen.size.value
        ('star', 'red', 'medium')
    """
    eyes = eyes or Eyes()
    pixels = _seen(image, eyes)
    classes = _nearest_ink(pixels, eyes.colour_blind)
    scale = CANVAS / pixels.shape[1]
    inked, string = classes < 2 * len(_COLOURS), classes == 2 * len(_COLOURS)
    smallest = max(2.0, _SMALLEST / scale**2)
    labels, regions = areas(inked)
    regions = [area for area in regions if area.pixels >= smallest][:MOST_ITEMS]
    seen = tuple(_item(area, labels, classes, scale) for area in regions)
    return Scene(items=seen, ties=_ties(string, labels, [area.label for area in regions]))


def _seen(image: "Image", eyes: Eyes) -> Pixels:
    """Return the picture as the eyes take it in: shape (height, width, 3), 0 to 255."""
    from PIL import ImageFilter
    from PIL.Image import Resampling

    image = image.convert("RGB")
    longest = max(image.size)
    if longest != eyes.width:
        size = (max(1, image.width * eyes.width // longest), max(1, image.height * eyes.width // longest))
        image = image.resize(size, Resampling.BOX if longest > eyes.width else Resampling.NEAREST)
    if eyes.blur:
        image = image.filter(ImageFilter.GaussianBlur(eyes.blur))
    pixels = np.asarray(image).astype(np.int64)
    return _without_red_and_green(pixels) if eyes.colour_blind else pixels


def _without_red_and_green(pixels: Pixels) -> Pixels:
    warm = (pixels[..., 0] + pixels[..., 1]) // 2
    step = 256 // _LEVELS
    return np.stack([warm, warm, pixels[..., 2]], axis=-1) // step * step


@cache
def _inks(colour_blind: bool) -> Pixels:
    """Main colours, second colours, string, background: shape (18, 3)."""
    inks = [*(INKS[colour] for colour in _COLOURS), *(shade(colour) for colour in _COLOURS), STRING, BACKGROUND]
    table = np.array(inks, dtype=np.int64)
    return _without_red_and_green(table) if colour_blind else table


def _nearest_ink(pixels: Pixels, colour_blind: bool) -> Pixels:
    """Return for every pixel the index of the nearest ink; background wins ties, then the first."""
    packed = (pixels[..., 0] << 16) | (pixels[..., 1] << 8) | pixels[..., 2]
    different, inverse = np.unique(packed, return_inverse=True)
    values = np.stack([different >> 16, (different >> 8) & 255, different & 255], axis=-1)
    inks = _inks(colour_blind)
    distances = ((values[:, None, :] - inks[None, :, :]) ** 2).sum(axis=-1)
    nearest = np.where(distances[:, -1] <= distances.min(axis=1), len(inks) - 1, distances.argmin(axis=1))
    return np.asarray(nearest[inverse].reshape(packed.shape))


def _item(area: Area, labels: Pixels, classes: Pixels, scale: float) -> Item:
    window = (slice(area.top, area.bottom), slice(area.left, area.right))
    mask = labels[window] == area.label
    inks = classes[window]
    counts = np.bincount(inks[mask] % len(_COLOURS), minlength=len(_COLOURS))
    colour = int(counts.argmax())
    second = mask & (inks == colour + len(_COLOURS))
    shape = _shape(mask)
    radius = (area.pixels / _unit_area(shape)) ** 0.5 * scale
    size = min(Size, key=lambda size: abs(np.log(radius / RADII[size])))
    y, x = (_middle(first, last, scale) for first, last in ((area.top, area.bottom), (area.left, area.right)))
    if shape == Shape.TRIANGLE:  # its centre lies below the middle of its box
        y = min(CANVAS, y + round(radius / 4))
    return Item(shape=shape, colour=_COLOURS[colour], texture=_texture(mask, second), size=size, x=x, y=y)


def _middle(first: int, last: int, scale: float) -> int:
    return min(CANVAS, round((first + last - 1) / 2 * scale))


def _texture(mask: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> Texture:
    share = second.sum() / mask.sum()
    if share < _TEXTURED:
        return Texture.PLAIN
    in_rows = mask.sum(axis=1)
    rows = second.sum(axis=1) / np.maximum(in_rows, 1)
    between = float((in_rows * (rows - share) ** 2).sum() / mask.sum())
    if between >= _IN_ROWS * share * (1 - share):
        return Texture.STRIPED
    return Texture.CHECKERED if share >= _CHECKED else Texture.DOTTED


def _shape(mask: npt.NDArray[np.bool_]) -> Shape:
    """Return the shape whose outline covers the area best: the highest ratio of common to joint pixels."""
    seen = _squared(mask)

    def likeness(shape: Shape) -> float:
        known = _template(shape)
        return float((seen & known).sum() / (seen | known).sum())

    return max(Shape, key=likeness)


@cache
def _template(shape: Shape) -> npt.NDArray[np.bool_]:
    mask = outline(shape, 3 * RADII[Size.LARGE])
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return _squared(mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])


@cache
def _unit_area(shape: Shape) -> float:
    """Return the area of the shape with radius 1."""
    radius = 3 * RADII[Size.LARGE]
    return float(outline(shape, radius).sum()) / radius**2


def _squared(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return a mask in the middle of a square of its longer side, as 32 by 32 pixels."""
    from PIL import Image
    from PIL.Image import Resampling

    height, width = mask.shape
    side = max(height, width)
    square = np.zeros((side, side), dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = mask * np.uint8(255)
    resized: Any = Image.fromarray(square).resize((_TEMPLATE, _TEMPLATE), Resampling.BILINEAR)
    return np.asarray(resized) > _RESIZED


def _ties(string: npt.NDArray[np.bool_], labels: Pixels, order: list[int]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of objects joined by each area in the colour of strings.

    Of more than two objects, the pair has the two that it touches most.
    """
    marks, pieces = areas(string)
    pairs: set[tuple[int, int]] = set()
    for piece in pieces:
        near = _grown(marks == piece.label)
        touched = np.bincount(labels[near], minlength=max(order, default=0) + 1)
        touching = sorted((place for place, label in enumerate(order) if touched[label]), key=lambda p: -touched[order[p]])
        if len(touching) >= 2:
            pairs.add((min(touching[:2]), max(touching[:2])))
    return tuple(sorted(pairs))


def _grown(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the mask and all pixels up to two steps beside it."""
    for _ in range(2):
        padded = np.pad(mask, 1)
        mask = mask | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
    return mask

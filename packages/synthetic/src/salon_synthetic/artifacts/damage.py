"""Ways to damage a photograph: arithmetic on pixels, each the same for the same numbers.

All take and give RGB pixels, shape (height, width, 3), unsigned bytes; places are (x, y) in pixels, x to the right. Edges
are soft over a fifth of a radius, so that no sharp border tells what was changed.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Spot = tuple[int, int]

_SOFT: Final = 0.2


def put_patch(pixels: Pixels, source: Pixels, start: Spot, target: Spot, radii: Spot) -> Pixels:
    """Copy an ellipse of ``source`` around ``start`` to ``target``: a patch twice, or one of another photograph."""
    height, width = pixels.shape[:2]
    mask, (top, low, left, right) = _ellipse(height, width, target, radii)
    rows = np.clip(np.arange(top, low) - target[1] + start[1], 0, source.shape[0] - 1)
    columns = np.clip(np.arange(left, right) - target[0] + start[0], 0, source.shape[1] - 1)
    return _blended(pixels, source[rows[:, None], columns[None, :]], mask, (top, low, left, right))


def smear(pixels: Pixels, spot: Spot, radii: Spot) -> Pixels:
    """Cover an ellipse with what lies to its left and right, drawn across: the thing that was there is gone."""
    height, width = pixels.shape[:2]
    mask, box = _ellipse(height, width, spot, radii)
    top, low, left, right = box
    across = np.linspace(0.0, 1.0, right - left)[None, :, None]
    first = pixels[top:low, max(left - 3, 0) : left + 1].mean(1, keepdims=True)
    last = pixels[top:low, right - 1 : min(right + 3, width)].mean(1, keepdims=True)
    return _blended(pixels, first * (1 - across) + last * across, mask, box)


def swirl(pixels: Pixels, spot: Spot, radius: int, turns: float) -> Pixels:
    """Twist a disc, by ``turns`` at its middle and less outwards."""
    height, width = pixels.shape[:2]
    _, box = _ellipse(height, width, spot, (radius, radius))
    top, low, left, right = box
    y, x = np.mgrid[top:low, left:right].astype(np.float64)
    x, y = x - spot[0], y - spot[1]
    near = np.clip(1 - np.hypot(x, y) / radius, 0, 1)
    angle = 2 * np.pi * turns * near**2 * (3 - 2 * near)
    rows = np.clip(np.rint(np.sin(angle) * x + np.cos(angle) * y + spot[1]), 0, height - 1).astype(np.intp)
    columns = np.clip(np.rint(np.cos(angle) * x - np.sin(angle) * y + spot[0]), 0, width - 1).astype(np.intp)
    changed = pixels.copy()
    changed[top:low, left:right] = pixels[rows, columns]
    return changed


def shove(pixels: Pixels, box: tuple[int, int, int, int], by: Spot) -> Pixels:
    """Move a rectangle (left, top, right, lower edge) and leave what was there behind it: a thing broken in two."""
    left, top, right, low = box
    height, width = pixels.shape[:2]
    rows = np.clip(np.arange(top, low) + by[1], 0, height - 1)
    columns = np.clip(np.arange(left, right) + by[0], 0, width - 1)
    changed = pixels.copy()
    changed[rows[:, None], columns[None, :]] = pixels[top:low, left:right]
    return changed


def shade(pixels: Pixels, spot: Spot, radii: Spot, strength: float) -> Pixels:
    """Darken an ellipse as a shadow would, with nothing there to cast it."""
    height, width = pixels.shape[:2]
    mask, box = _ellipse(height, width, spot, radii)
    top, low, left, right = box
    return _blended(pixels, (pixels[top:low, left:right] * (1 - strength)).astype(np.float64), mask, box)


def _ellipse(height: int, width: int, spot: Spot, radii: Spot) -> tuple[npt.NDArray[np.float64], tuple[int, int, int, int]]:
    """Return how much each pixel of a box (top, lower edge, left, right) belongs to an ellipse, 0 to 1."""
    (x, y), (wide, high) = spot, radii
    box = (max(y - high, 0), min(y + high + 1, height), max(x - wide, 0), min(x + wide + 1, width))
    top, low, left, right = box
    across = (np.arange(left, right) - x) / wide
    down = (np.arange(top, low) - y) / high
    away = np.hypot(down[:, None], across[None, :])
    return np.clip((1 - away) / _SOFT, 0, 1)[..., None], box


def _blended(
    pixels: Pixels,
    other: npt.NDArray[np.uint8] | npt.NDArray[np.floating],
    mask: npt.NDArray[np.float64],
    box: tuple[int, int, int, int],
) -> Pixels:
    top, low, left, right = box
    changed = pixels.copy()
    here = changed[top:low, left:right]
    changed[top:low, left:right] = np.rint(here * (1 - mask) + other * mask).astype(np.uint8)
    return changed

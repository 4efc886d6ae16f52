"""The stage ``edit``: what changed between a picture and its edit, and whether the rest stayed as it was."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_curate.files import is_video
from salon_curate.stages import stage
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.verdict import Unscored

_BLOCK: Final = 8
_CHANGED: Final = 10.0
_SHAPE: Final = 0.02


@stage(
    version="2",
    reads=["image", "edited", "problem"],
    writes={"changed_area": pl.Float32, "change": pl.Float32, "kept_difference": pl.Float32, "copied": pl.Boolean},
)
def edit(batch: pl.DataFrame) -> pl.DataFrame:
    """Compare every picture with the one that was edited (see :func:`compared`).

    Of two sizes the larger picture is resized to the smaller's; a row is null with the reason where one of the two cannot be
    read or their shapes differ by over 2%.
    """
    rows = [_edited(*row) for row in batch.select("image", "edited", "problem").iter_rows()]
    return pl.DataFrame(
        {"key": batch["key"], **{name: [row.get(name) for row in rows] for name in (*edit.writes, "problem")}},
        schema={"key": pl.String, **edit.writes, "problem": pl.String},
    )


def compared(edited: NDArray[np.uint8], result: NDArray[np.uint8]) -> dict[str, Any]:
    """Return what changed between a picture and its edit.

    The pictures are compared in blocks of 8 × 8 pixels, those of JPEG. A block has changed when the mean absolute difference of
    its values is over 10 of 255; encoding a picture again as a JPEG of quality 75 leaves most photographs below.

    * ``changed_area``: share of blocks that changed, 0 to 1.
    * ``change``: mean absolute difference within them, 0 to 255; null where none did.
    * ``kept_difference``: mean absolute difference outside of them and of the blocks around them, 0 (identical) to 255; null
      where nothing is outside.
    * ``copied``: no block changed, so the result is a copy of the edited picture.

    Args:
        edited: RGB, shape (height, width, 3), 8 pixels or more in height and width; a rest below 8 is left out.
        result: of the same shape.

    Example:
        >>> before = np.full((64, 64, 3), 100, np.uint8)
        >>> after = before.copy()
        >>> after[:16, :32] = 200
        >>> compared(before, after)
        {'changed_area': 0.125, 'change': 100.0, 'kept_difference': 0.0, 'copied': False}
    """
    down, across = edited.shape[0] // _BLOCK, edited.shape[1] // _BLOCK
    steps = np.maximum(edited, result) - np.minimum(edited, result)
    blocks = steps[: down * _BLOCK, : across * _BLOCK].reshape(down, _BLOCK, across, _BLOCK, 3).mean(axis=(1, 3, 4))
    changed = blocks > _CHANGED
    wide = np.pad(changed, 1)
    near = np.any([wide[y : y + down, x : x + across] for y in range(3) for x in range(3)], axis=0)
    return {
        "changed_area": float(changed.mean()),
        "change": float(blocks[changed].mean()) if changed.any() else None,
        "kept_difference": None if near.all() else float(blocks[~near].mean()),
        "copied": not changed.any(),
    }


def _edited(content: bytes | None, source: bytes | None, problem: str | None) -> Mapping[str, Any]:
    if content is None or source is None:
        return {"problem": problem or ("there is no picture" if content is None else "the row is no edit")}
    for name, data in (("the edited picture", source), ("the result", content)):
        if is_video(data):
            return {"problem": f"{name} is a video, and edits of pictures are compared"}
    before, after = decode(source), decode(content)
    if isinstance(before, Unscored):
        return {"problem": f"the edited picture: {before.detail}"}
    if isinstance(after, Unscored):
        return {"problem": after.detail}
    (width, height), (own_width, own_height) = before.image.size, after.image.size
    if min(width, height, own_width, own_height) < _BLOCK:
        return {"problem": f"a picture has fewer than {_BLOCK} pixels on a side"}
    if abs(own_width * height / (own_height * width) - 1) > _SHAPE:
        return {"problem": f"the shapes differ: {width} × {height} and {own_width} × {own_height} pixels"}
    pictures = (before.image.convert("RGB"), after.image.convert("RGB"))
    size = min((picture.size for picture in pictures), key=math.prod)
    pixels = (np.asarray(each if each.size == size else each.resize(size, 3)) for each in pictures)  # bicubic
    return {**compared(*pixels), "problem": None}

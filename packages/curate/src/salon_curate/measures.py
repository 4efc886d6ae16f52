"""Stages that need no judge: ``look`` decodes and measures pictures, ``fields`` makes columns of a manifest's values."""

import json
import math
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_curate.files import is_video
from salon_curate.stages import Stage, stage
from salon_taxonomy.errors import InputError, picture_failures
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.picture_formats import JPEG, format_of
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE: Final = 32
_KEPT: Final = 8
_CELL: Final = 16
_STROKE_EDGE: Final = 40
_FLAT: Final = 12
_MOST_SIDE: Final = 1024
MOST_PIXELS: Final = 80_000_000
"""A picture with more is refused before any is decoded; the same limit as for pictures that judges are shown."""


def _cosines() -> NDArray[np.int64]:
    """Return the first 8 rows of the discrete cosine transform of 32 values in units of 2⁻²⁰, shape (8, 32)."""
    pixel, frequency = np.arange(_SIDE), np.arange(_KEPT)[:, None]
    waves: NDArray[np.float64] = np.cos(np.pi * (2 * pixel + 1) * frequency / (2 * _SIDE))
    return np.rint(waves * 2**20).astype(np.int64)


_COSINES: Final = _cosines()
"""Whole numbers: where a picture repeats itself many frequencies are equal, and sums of floats differ by the processor."""
_POWERS: Final = (np.uint64(1) << np.arange(64, dtype=np.uint64)).astype(np.uint64)


@stage(
    version="3",
    reads=["image", "problem"],
    writes={
        "width": pl.UInt32,
        "height": pl.UInt32,
        "sharpness": pl.Float32,
        "noise": pl.Float32,
        "contrast": pl.Float32,
        "text_share": pl.Float32,
        "phash": pl.UInt64,
    },
)
def look(batch: pl.DataFrame) -> pl.DataFrame:
    """Decode every picture to its last pixel and measure it.

    * ``width``, ``height``: of the stored picture, in pixels.
    * ``sharpness``: variance of the Laplacian of the grey picture (0 to 255); low for a blurred picture.
    * ``noise``: standard deviation of the noise, by Immerkær's estimator (1996, doi:10.1006/cviu.1996.0060), over the middle
      256 × 256 pixels.
    * ``contrast``: standard deviation of the grey values; near 0 for a blank picture.
    * ``text_share``: share of the picture, 0 to 1, whose strokes resemble writing (:func:`text_share`).
    * ``phash``: 64 bits: which of the 8 × 8 lowest frequencies of the 32 × 32 grey likeness lie above their median.

    A file that is cut off, damaged, no picture or has more than 80 million pixels is null with the reason.
    """
    rows = [_measured(data, problem) for data, problem in batch.select("image", "problem").iter_rows()]
    return pl.DataFrame(
        {"key": batch["key"], **{name: [row[name] for row in rows] for name in (*look.writes, "problem")}},
        schema={"key": pl.String, **look.writes, "problem": pl.String},
    )


def phash(grey: NDArray[np.uint8]) -> int:
    """Return the perceptual hash of a grey likeness, shape (32, 32); the same on every machine.

    Example:
        >>> picture = np.random.default_rng(0).integers(0, 200, (32, 32)).astype(np.uint8)
        >>> phash(picture) == phash(picture + 20), phash(np.full((32, 32), 90, np.uint8))
        (True, 1)
    """
    low = (_COSINES @ grey.astype(np.int64) @ _COSINES.T).ravel()
    bits = low > np.sort(low[1:])[31]  # their median; the mean grey value carries no structure
    return int(_POWERS[bits].sum(dtype=np.uint64))


def text_share(grey: "Image") -> float:
    """Return the share of a grey picture, 0 to 1, that strokes like those of writing cover.

    A cell of 16 × 16 pixels counts when dark and light strokes alternate on an even background, and so does the cell beside it.
    The picture is looked at in three sizes, for letters of about 8 to 120 pixels. Whole cells count, so small lines cover more
    than their letters. No word is read: a fence or a chequered cloth counts as well. Use it to find candidates, and ask
    `typography` about them.

    Example:
        >>> from PIL import Image, ImageDraw
        >>> picture = Image.new("L", (256, 256), 255)
        >>> text_share(picture)
        0.0
        >>> ImageDraw.Draw(picture).text((20, 100), "OPEN 24 h", fill=0, font_size=32)
        >>> 0.05 < text_share(picture) < 0.3
        True
    """
    longest = max(grey.size)
    image = grey if longest <= _MOST_SIDE else grey.reduce(-(-longest // _MOST_SIDE))
    covered = np.zeros((image.height // _CELL, image.width // _CELL), np.bool_)
    for scale in (1, 2, 4):
        cells = _text_cells(np.asarray(image if scale == 1 else image.reduce(scale)).astype(np.int16))
        cells = cells.repeat(scale, axis=0).repeat(scale, axis=1)[: covered.shape[0], : covered.shape[1]]
        covered[: cells.shape[0], : cells.shape[1]] |= cells
    return float(covered.mean()) if covered.size else 0.0


def _text_cells(pixels: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Return which cells contain strokes: rising and falling edges in like numbers, between even pixels."""
    down, across = (side // _CELL for side in pixels.shape)
    steps = np.zeros((down * _CELL, across * _CELL), np.int16)
    steps[:, 1:] = np.diff(pixels[: down * _CELL, : across * _CELL], axis=1)

    def count(mask: NDArray[np.bool_]) -> NDArray[np.int16]:
        bits = mask.view(np.uint8).reshape(down, _CELL, across * _CELL)
        columns = np.add.reduce(bits, axis=1, dtype=np.uint8)
        counts: NDArray[np.int16] = np.add.reduce(columns.reshape(down, across, _CELL), axis=2, dtype=np.int16)
        return counts

    rising, falling = count(steps > _STROKE_EDGE), count(steps < -_STROKE_EDGE)
    fewer, even = np.minimum(rising, falling), count((steps + np.int16(_FLAT - 1)).view(np.uint16) < 2 * _FLAT - 1)
    has_text = (fewer >= 8) & (2 * fewer >= np.maximum(rising, falling)) & (even >= 0.4 * _CELL**2)
    pairs = has_text[:, 1:] & has_text[:, :-1]
    together = np.zeros_like(has_text)
    together[:, 1:] |= pairs
    together[:, :-1] |= pairs
    return together


def _measured(content: bytes | None, problem: str | None) -> dict[str, Any]:
    nothing: dict[str, Any] = dict.fromkeys(look.writes)
    if content is None:
        return {**nothing, "problem": problem or "there is no picture"}
    if is_video(content):
        return {**nothing, "problem": "the row is a video, which the stage watch measures"}
    grey = _grey(content)
    if isinstance(grey, str):
        return {**nothing, "problem": grey}
    image, width, height = grey
    pixels = np.asarray(image).astype(np.int16)
    likeness = np.asarray(image.resize((_SIDE, _SIDE), resample=4))  # 4: box
    return {
        "width": width,
        "height": height,
        "sharpness": variance(laplacian(pixels)),
        "noise": _noise(pixels),
        "contrast": variance(pixels) ** 0.5,
        "text_share": text_share(image),
        "phash": phash(likeness),
        "problem": None,
    }


def _grey(content: bytes) -> tuple[Any, int, int] | str:
    """The grey picture with its stored size, or what is wrong with the file. A plain JPEG is decoded without its colours."""
    if format_of(content) is JPEG:
        try:
            with JPEG.open(BytesIO(content)) as opened:
                width, height = opened.size
                if width * height > MOST_PIXELS:
                    return f"the picture has {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} are decoded"
                opened.draft("L", opened.size)
                opened.load()
                return opened.convert("L"), width, height
        except picture_failures() as error:
            return f"the file is cut off or damaged ({error or type(error).__name__})"
    decoded = decode(content)
    return decoded.detail if isinstance(decoded, Unscored) else (decoded.image.convert("L"), decoded.width, decoded.height)


def laplacian(pixels: NDArray[np.int16] | NDArray[np.uint8], rows: NDArray[np.int64] | None = None) -> NDArray[np.int16]:
    """Return the Laplacian of a grey picture without its border; with ``rows`` at these alone, none of them at the border.

    Example:
        >>> laplacian(np.array([[0, 0, 0], [0, 9, 1], [0, 0, 0]], np.int16)).tolist()
        [[35]]
    """
    if min(pixels.shape) < 3:
        return np.zeros((1, 1), np.int16)
    if rows is not None:
        lines, above, below = (pixels[rows + step].astype(np.int16) for step in (0, -1, 1))
        return lines[:, 1:-1] * np.int16(4) - above[:, 1:-1] - below[:, 1:-1] - lines[:, :-2] - lines[:, 2:]
    edges: NDArray[np.int16] = pixels[1:-1, 1:-1] * np.int16(4)
    edges -= pixels[:-2, 1:-1]
    edges -= pixels[2:, 1:-1]
    edges -= pixels[1:-1, :-2]
    edges -= pixels[1:-1, 2:]
    return edges


def variance(values: NDArray[np.int16]) -> float:
    """Return the variance of all values."""
    flat = values.astype(np.float32).ravel()
    flat -= flat.mean()
    return float(flat @ flat) / flat.size


def _noise(pixels: NDArray[np.int16]) -> float:
    """Immerkær's estimate: the mean absolute response to a mask that cancels edges, scaled to a standard deviation."""
    rows, columns = pixels.shape
    top, left = max(0, (rows - 256) // 2), max(0, (columns - 256) // 2)
    middle = pixels[top : top + 256, left : left + 256]
    if min(middle.shape) < 3:
        return 0.0
    across = middle[:, :-2] - 2 * middle[:, 1:-1] + middle[:, 2:]
    response = across[:-2] - 2 * across[1:-1] + across[2:]
    return float(np.abs(response).mean() * (np.pi / 2) ** 0.5 / 6)


_KINDS: Final = {"float": pl.Float64, "int": pl.Int64, "text": pl.String, "bool": pl.Boolean}
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_LARGEST: Final = 2**63


def fields(**columns: str) -> Stage:
    """Return a stage that makes columns of the values that a manifest gave for each picture.

    A value's text is read as well: ``"7.5"`` is a float, ``"yes"`` a truth value. A value that is of another type, not finite
    or, for an int, has a fraction is null with the reason. What a row has depends on no other row.

    Args:
        columns: the name of the value, with its type: float, int, text or bool.

    Raises:
        InputError: no column, or an unknown type.

    Example:
        >>> fields(aesthetic="float").writes
        {'aesthetic': Float64}
    """
    if not columns:
        raise InputError("name the values to read", column="parameters", hint='parameters = { aesthetic = "float" }')
    for name, kind in columns.items():
        if kind not in _KINDS:
            raise InputError("unknown type of a field", column=name, value=kind, allowed=_KINDS)

    def read(batch: pl.DataFrame, **_: object) -> pl.DataFrame:
        rows = []
        for key, text in batch.select("key", "meta").iter_rows():
            meta = json.loads(text) if text else {}
            values = {name: _field(meta.get(name), kind) for name, kind in columns.items()}
            lost = next((name for name in columns if values[name] is None and meta.get(name) is not None), None)
            rows.append((key, *values.values(), None if lost is None else f"{lost} is no {columns[lost]}"))
        return pl.DataFrame(rows, schema={"key": pl.String, **writes, "problem": pl.String}, orient="row")

    writes = {name: _KINDS[kind] for name, kind in columns.items()}
    return Stage("fields", "2", ("meta",), writes, read, f"{__name__}:fields", dict(columns))


def _field(value: Any, kind: str) -> Any:
    """Return a value as a field's type, or None where it has another type."""
    if kind == "text":
        return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = str(value).strip().lower()
    if kind == "bool":
        return _TRUTHS.get(text)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        whole = isinstance(value, int) or (isinstance(value, str) and text.lstrip("+-").isdecimal())
        number = int(value) if whole and kind == "int" else float(value)
    except (ValueError, OverflowError):
        return None
    if kind == "float":
        return number if math.isfinite(number) else None
    return int(number) if math.isfinite(number) and number == int(number) and -_LARGEST <= number < _LARGEST else None

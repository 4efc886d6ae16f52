"""Stages that need no judge: ``look`` decodes and measures pictures, ``fields`` makes columns of a manifest's values."""

import json
from io import BytesIO
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_curate.stages import Stage, stage
from salon_taxonomy.errors import InputError, picture_failures
from salon_taxonomy.verdict import Unscored

_SIDE: Final = 32
_KEPT: Final = 8
MOST_PIXELS: Final = 80_000_000
"""A picture with more is refused before any is decoded; the same limit as for pictures that judges are shown."""


def _cosines() -> NDArray[np.float32]:
    """The first 8 rows of the discrete cosine transform of 32 values, shape (8, 32)."""
    place, frequency = np.arange(_SIDE), np.arange(_KEPT)[:, None]
    return np.cos(np.pi * (2 * place + 1) * frequency / (2 * _SIDE)).astype(np.float32)


_COSINES: Final = _cosines()
_POWERS: Final = (np.uint64(1) << np.arange(64, dtype=np.uint64)).astype(np.uint64)


@stage(
    version="1",
    reads=["image", "problem"],
    writes={
        "width": pl.UInt32,
        "height": pl.UInt32,
        "sharpness": pl.Float32,
        "noise": pl.Float32,
        "contrast": pl.Float32,
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
    * ``phash``: 64 bits: which of the 8 × 8 lowest frequencies of the 32 × 32 grey likeness lie above their median.

    A file that is cut off, damaged, no picture or has more than 80 million pixels is null with the reason.
    """
    rows = [_measured(data, problem) for data, problem in batch.select("image", "problem").iter_rows()]
    return pl.DataFrame(
        {"key": batch["key"], **{name: [row[name] for row in rows] for name in (*look.writes, "problem")}},
        schema={"key": pl.String, **look.writes, "problem": pl.String},
    )


def phash(grey: NDArray[np.float32]) -> int:
    """Return the perceptual hash of a grey likeness, shape (32, 32).

    Example:
        >>> picture = np.random.default_rng(0).uniform(0, 255, (32, 32)).astype(np.float32)
        >>> phash(picture) == phash(picture * 0.5 + 20)
        True
    """
    low = (_COSINES @ grey @ _COSINES.T).ravel()
    bits = low > np.median(low[1:])  # the mean grey value carries no structure
    return int(_POWERS[bits].sum(dtype=np.uint64))


def _measured(data: bytes | None, problem: str | None) -> dict[str, Any]:
    nothing: dict[str, Any] = dict.fromkeys(look.writes)
    if data is None:
        return {**nothing, "problem": problem or "there is no picture"}
    grey = _grey(data)
    if isinstance(grey, str):
        return {**nothing, "problem": grey}
    image, width, height = grey
    pixels = np.asarray(image).astype(np.int16)
    likeness = np.asarray(image.resize((_SIDE, _SIDE), resample=4)).astype(np.float32)  # 4: box
    return {
        "width": width,
        "height": height,
        "sharpness": _variance(_laplacian(pixels)),
        "noise": _noise(pixels),
        "contrast": _variance(pixels) ** 0.5,
        "phash": phash(likeness),
        "problem": None,
    }


def _grey(data: bytes) -> tuple[Any, int, int] | str:
    """The grey picture with its stored size, or what is wrong with the file. A plain JPEG is decoded without its colours."""
    from PIL import Image

    if data[:3] == b"\xff\xd8\xff":
        try:
            with Image.open(BytesIO(data), formats=["JPEG"]) as opened:
                width, height = opened.size
                if width * height > MOST_PIXELS:
                    return f"the picture has {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} are decoded"
                opened.draft("L", opened.size)
                opened.load()
                return opened.convert("L"), width, height
        except picture_failures() as error:
            return f"the file is cut off or damaged ({error or type(error).__name__})"
    from salon_bench.media.decoding import decode  # loads much that a JPEG does not need

    found = decode(data)
    return found.detail if isinstance(found, Unscored) else (found.image.convert("L"), found.width, found.height)


def _laplacian(pixels: NDArray[np.int16]) -> NDArray[np.int16]:
    if min(pixels.shape) < 3:
        return np.zeros((1, 1), np.int16)
    found = pixels[1:-1, 1:-1] * np.int16(4)
    found -= pixels[:-2, 1:-1]
    found -= pixels[2:, 1:-1]
    found -= pixels[1:-1, :-2]
    found -= pixels[1:-1, 2:]
    return found


def _variance(values: NDArray[np.int16]) -> float:
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


def fields(**columns: str) -> Stage:
    """Return a stage that makes columns of the values that a manifest gave for each picture.

    Args:
        columns: the name of the value, with its type: float, int, text or bool.

    Raises:
        InputError: an unknown type.

    Example:
        >>> fields(aesthetic="float").writes
        {'aesthetic': Float64}
    """
    for name, kind in columns.items():
        if kind not in _KINDS:
            raise InputError("unknown type of a field", column=name, value=kind, allowed=_KINDS)

    def read(batch: pl.DataFrame, **_: object) -> pl.DataFrame:
        values = [json.loads(text) if text else {} for text in batch["meta"]]
        found = {name: [each.get(name) for each in values] for name in columns}
        frame = pl.DataFrame({name: pl.Series(name, items, strict=False) for name, items in found.items()})
        frame = frame.select(pl.col(name).cast(_KINDS[kind], strict=False) for name, kind in columns.items())
        lost = [
            next(
                (f"{name} is no {columns[name]}" for name in columns if each.get(name) is not None and row[name] is None), None
            )
            for each, row in zip(values, frame.iter_rows(named=True), strict=True)
        ]
        return frame.insert_column(0, batch["key"]).with_columns(pl.Series("problem", lost, pl.String))

    writes = {name: _KINDS[kind] for name, kind in columns.items()}
    return Stage("fields", "1", ("meta",), writes, read, f"{__name__}:fields", dict(columns))

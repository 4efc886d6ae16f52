"""What reads the text in a picture."""

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any, Protocol, runtime_checkable

import numpy as np

from salon_taxonomy.extras import extra
from salon_taxonomy.picture_formats import open_picture


@runtime_checkable
class TextReader(Protocol):
    """Reads the text in pictures."""

    @property
    def name(self) -> str:
        """What tables call it, in the column ``judge``."""

    @property
    def version(self) -> str:
        """What its readings depend on; results of two versions are never mixed."""

    def read(self, picture: bytes) -> Sequence[str]:
        """Return the lines of text in an encoded picture, in reading order."""


class OcrReader:
    """RapidOCR with the models that its wheel brings: Chinese and English print, no download, on the CPU.

    Raises:
        InputError: the extra ``ocr`` is not installed.
    """

    name = "rapidocr"

    def __init__(self) -> None:
        extra("rapidocr", "ocr", "salon-bench")
        extra("onnxruntime", "ocr", "salon-bench")

    @property
    def version(self) -> str:
        """RapidOCR's own version, which its models go with."""
        return f"rapidocr-{version('rapidocr')}"

    def read(self, picture: bytes) -> Sequence[str]:
        """The lines from top to bottom, and from left to right where they stand side by side."""
        with open_picture(picture) as opened:
            pixels = np.asarray(opened.convert("RGB"))[:, :, ::-1]  # the engine wants blue first
        found = self._engine(np.ascontiguousarray(pixels))
        if found.txts is None:
            return ()
        placed = sorted(zip(map(_place, found.boxes), found.txts, strict=True))
        return tuple(text for _, text in placed)

    @cached_property
    def _engine(self) -> Any:
        settings = {
            "Global.log_level": "critical",
            # one thread adds in one order, so the same picture reads the same
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
        return extra("rapidocr", "ocr", "salon-bench").RapidOCR(params=settings)


def _place(box: Any) -> tuple[int, float]:
    """Return a line's row, in halves of its height, and its left edge."""
    corners = np.asarray(box, dtype=np.float64)
    top, left = corners[:, 1].min(), corners[:, 0].min()
    height = max(corners[:, 1].max() - top, 1.0)
    return round(float(top / (height / 2))), float(left)

"""How a suite wants pictures to reach the judge: their size and their encoding."""

from dataclasses import dataclass
from enum import StrEnum


class Encoding(StrEnum):
    """The file format that is sent."""

    KEEP = "keep"
    """PNG, JPEG and WebP stay byte for byte as they are when nothing about the picture must change; others become PNG."""
    PNG = "png"
    JPEG = "jpeg"
    WEBP = "webp"


@dataclass(frozen=True, slots=True)
class PicturePolicy:
    """Size and encoding of the pictures that a judge is shown.

    Attributes:
        longest_side: in pixels; larger pictures are made smaller, smaller ones stay. None: no limit.
        most_pixels: width × height at most, keeping the shape. None: no limit.
        encoding: the format that is sent.
        quality: of JPEG and WebP, 1 to 100.
    """

    longest_side: int | None = None
    most_pixels: int | None = None
    encoding: Encoding = Encoding.KEEP
    quality: int = 92

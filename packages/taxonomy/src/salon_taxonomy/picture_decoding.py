"""Decode untrusted bytes to a whole, upright, opaque sRGB picture, or return the reason against it.

Every package opens pictures here or by :mod:`salon_taxonomy.picture_formats`, and never by ``PIL.Image.open``, which tries all
plug-ins of Pillow: one of them starts a program on the file.
"""

import zlib
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Final

from salon_taxonomy.errors import picture_failures
from salon_taxonomy.media_files import bad_media
from salon_taxonomy.picture_colours import PLAIN_MODES, SIDEWAYS, to_srgb, upright
from salon_taxonomy.picture_formats import JPEG, PNG, TIFF, PictureFormat, format_of
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

_PNG_HEAD: Final = 8
_PNG_DEPTH: Final = 24  # the place of the bit depth in a PNG file
_SIXTEEN_BITS: Final = 16


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How large a file may be before it is refused unread; guards memory against files made to fill it.

    Attributes:
        most_bytes: of the file.
        most_pixels: width × height of the picture in it. Decoding one takes up to 8 bytes for each pixel.
    """

    most_bytes: int = 128 << 20
    most_pixels: int = 80_000_000


DEFAULT_LIMITS = SourceLimits()
"""The default limits."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A whole picture.

    Attributes:
        image: upright, opaque, sRGB, eight bits; a small grey likeness where ``whole`` is false.
        kind: the file's format.
        width: in pixels, upright.
        height: in pixels, upright.
        whole: the pixels are there; false where only their wholeness was asked for and seen.
        changed: whether the picture is another than a plain decoder would see in the file.
        notes: what was done to it, a clause each.
    """

    image: "Image"
    kind: PictureFormat
    width: int
    height: int
    whole: bool
    changed: bool
    notes: tuple[str, ...]


def decode(content: bytes, limits: SourceLimits = DEFAULT_LIMITS, *, checked_only: bool = False) -> Decoded | Unscored:
    """Decode a picture to its last pixel; of an animated one, the first frame.

    A file that breaks off is refused, even where its decoder would fill the rest with grey, and so is a PNG whose check
    sums do not fit: a judge would blame the model for the damage. Other formats carry no check sums.

    Args:
        content: the encoded file.
        limits: a picture with more pixels is refused before any is decoded.
        checked_only: the caller wants to know that the file is whole and what must change, not its pixels; a plain JPEG is
            then read through at an eighth of its size, which takes half the time.

    Returns:
        The picture, or ``Unscored(BAD_MEDIA)``. Never raises for what the bytes are. Safe to call from several threads;
        decoders release the GIL.
    """
    head = _opened(content, limits)
    if isinstance(head, Unscored):
        return head
    kind, opened = head
    try:
        width, height = opened.size
        frames = bool(getattr(opened, "is_animated", False))
        likeness = checked_only and kind is JPEG and _plain(opened)
        if likeness:
            opened.draft("L", (max(1, width // 8), max(1, height // 8)))
        opened.load()
        damage = _png_damage(content) if kind is PNG else None
        if damage:
            return bad_media(f"the file is damaged ({damage})")
        decoded = _upright(opened, kind, (width, height), frames, content)
        return replace(decoded, whole=False) if likeness else decoded
    except picture_failures() as error:
        return bad_media(_damaged(error))


def head_problem(content: bytes, limits: SourceLimits = DEFAULT_LIMITS) -> str | None:
    """Return why a file cannot be a picture, by its head alone; None where only decoding can tell more.

    Example:
        >>> head_problem(b"%!PS-Adobe")
        'the file is none of the picture formats that are read: PNG, JPEG, WebP, GIF, BMP, TIFF, AVIF'
    """
    opened = _opened(content, limits)
    return opened.detail if isinstance(opened, Unscored) else None


def _opened(content: bytes, limits: SourceLimits) -> "tuple[PictureFormat, ImageFile] | Unscored":
    """Read a picture's head: its format and size, before any pixel is decoded."""
    kind = format_of(content)
    if kind is None:
        return bad_media("the file is none of the picture formats that are read: PNG, JPEG, WebP, GIF, BMP, TIFF, AVIF")
    try:
        opened = kind.open(BytesIO(content))
    except picture_failures() as error:
        return bad_media(_damaged(error))
    width, height = opened.size
    if width * height > limits.most_pixels:
        return bad_media(f"the picture has {width:,} × {height:,} pixels; at most {limits.most_pixels:,} are decoded")
    return kind, opened


def _damaged(error: Exception) -> str:
    return f"the file is cut off or damaged ({str(error) or type(error).__name__})"


def _upright(opened: "ImageFile", kind: PictureFormat, size: tuple[int, int], frames: bool, content: bytes) -> Decoded:
    notes = ["first of several frames"] if frames else []
    if kind is PNG and content[_PNG_DEPTH] == _SIXTEEN_BITS and not opened.mode.startswith("I"):
        notes.append("brought to 8 bits")
    image, orientation = upright(opened)
    if image is not opened:
        notes.append("turned upright")
    coloured = to_srgb(image)
    width, height = opened.size if kind is TIFF else size  # a TIFF file is turned by its decoder
    if orientation in SIDEWAYS:
        width, height = height, width
    changed = bool(notes) or coloured.changed
    return Decoded(coloured.image, kind, width, height, True, changed, (*notes, *coloured.notes))


def _plain(opened: "ImageFile") -> bool:
    """Return a JPEG of which nothing but its wholeness needs its pixels."""
    return opened.mode in PLAIN_MODES and not opened.info.get("icc_profile")


def _png_damage(content: bytes) -> str | None:
    """Return what is wrong with the chunks that hold the picture: a check sum, or the end is missing. Decoders do not look."""
    offset, view = _PNG_HEAD, memoryview(content)
    while offset + 12 <= len(content):
        length = int.from_bytes(view[offset : offset + 4], "big")
        name, end = bytes(view[offset + 4 : offset + 8]), offset + 8 + length
        if name == b"IEND":
            return None
        if end + 4 > len(content):
            break
        if name[:1].isupper() and zlib.crc32(view[offset + 4 : end]) != int.from_bytes(view[end : end + 4], "big"):
            return f"the check sum of a {name.decode('latin-1')} chunk does not fit"
        offset = end + 4
    return "its end is missing"

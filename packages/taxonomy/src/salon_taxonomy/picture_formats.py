"""Which file formats count as pictures, told by their first bytes: the name of a file decides nothing.

Only the decoders named here are ever reached; a PostScript or PDF file with the extension ``.png`` is never opened.
"""

from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Final

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """One file format.

    Attributes:
        name: as Pillow calls it: ``PNG``, ``JPEG``.
        media_type: as HTTP calls it: ``image/png``.
        decoder: Pillow's class for it, ``module:class``; imported when the first such picture is met.
        sendable: judges' servers take it, so it may be sent as it is.
    """

    name: str
    media_type: str
    decoder: str
    sendable: bool = False

    def open(self, stream: BytesIO) -> "ImageFile":
        """Read the head of a picture; its pixels come with ``load()``. Raises ``salon_taxonomy.errors.picture_failures()``."""
        module, _, name = self.decoder.partition(":")
        opened: ImageFile = getattr(import_module(f"PIL.{module}"), name)(stream)
        return opened


PNG: Final = PictureFormat("PNG", "image/png", "PngImagePlugin:PngImageFile", sendable=True)
JPEG: Final = PictureFormat("JPEG", "image/jpeg", "JpegImagePlugin:JpegImageFile", sendable=True)
WEBP: Final = PictureFormat("WEBP", "image/webp", "WebPImagePlugin:WebPImageFile", sendable=True)
GIF: Final = PictureFormat("GIF", "image/gif", "GifImagePlugin:GifImageFile")
BMP: Final = PictureFormat("BMP", "image/bmp", "BmpImagePlugin:BmpImageFile")
TIFF: Final = PictureFormat("TIFF", "image/tiff", "TiffImagePlugin:TiffImageFile")
AVIF: Final = PictureFormat("AVIF", "image/avif", "AvifImagePlugin:AvifImageFile")

FORMATS: Final = (PNG, JPEG, WEBP, GIF, BMP, TIFF, AVIF)
"""Every format that is read."""

_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"BM", BMP),
    (b"II*\0", TIFF),
    (b"MM\0*", TIFF),
    (b"II+\0", TIFF),
    (b"MM\0+", TIFF),
)
_AVIF_BRANDS: Final = (b"avif", b"avis", b"mif1", b"msf1")


def open_picture(content: bytes) -> "ImageFile":
    """Read the head of a picture in any of :data:`FORMATS`; its pixels come with ``load()``.

    Raises:
        InputError: the bytes are in none of the formats.
        Exception: one of ``salon_taxonomy.errors.picture_failures()`` for a damaged file.
    """
    kind = format_of(content)
    if kind is None:
        raise InputError("is no picture of a format that is read", column="image", allowed=(each.name for each in FORMATS))
    return kind.open(BytesIO(content))


def format_of(content: bytes) -> PictureFormat | None:
    """Return the format of an encoded picture by its first bytes; None for anything that is not read.

    Example:
        >>> format_of(b"GIF89a...").media_type, format_of(b"%PDF-1.7")
        ('image/gif', None)
    """
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return WEBP
    if content[4:8] == b"ftyp" and content[8:12] in _AVIF_BRANDS:
        return AVIF
    return next((kind for start, kind in _STARTS if content.startswith(start)), None)

"""Pictures as data sets hold them, as :class:`~salon_taxonomy.protocols.Media` for judges and editors."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media


def picture(value: object, *, row: int | None = None, column: str | None = None) -> Media:
    """Read one picture, as data sets hold it.

    Args:
        value: a path, encoded bytes, ``Media``, a PIL image, a mapping with ``bytes`` or ``path``, or a list of one. A PIL
            image is encoded as PNG, in red, green and blue where PNG does not know its colours (CMYK).
        row: where it stands, for the message.
        column: likewise.

    Raises:
        InputError: for anything else, several pictures, or a file that cannot be read.

    Example:
        >>> picture([b"not really a picture"]).sha256[:12]
        'fe1a4ab1fb63'
    """
    if isinstance(value, Media):
        return value
    if isinstance(value, bytes | bytearray):
        return Media.from_bytes(bytes(value))
    if isinstance(value, str | Path):
        return Media.from_file(value)
    if isinstance(value, Sequence) and len(value) == 1:
        return picture(value[0], row=row, column=column)
    if isinstance(value, dict) and (held := value.get("bytes") or value.get("path")):
        return picture(held, row=row, column=column)
    if callable(getattr(value, "save", None)):
        return Media.from_bytes(_png(value, row, column))
    raise InputError("no picture: give a path, encoded bytes or a PIL image, not", row=row, column=column, value=value)


def _png(image: Any, row: int | None, column: str | None) -> bytes:
    """Return a PIL image as a PNG file."""
    try:
        encoded = io.BytesIO()
        image.save(encoded, format="PNG")
    except OSError:  # PNG has no such mode; trainers' processors turn it into RGB as well
        try:
            encoded = io.BytesIO()
            image.convert("RGB").save(encoded, format="PNG")
        except (OSError, ValueError) as error:
            problem = f"cannot be encoded as PNG ({error}): a picture of mode"
            raise InputError(problem, row=row, column=column, value=getattr(image, "mode", None)) from error
    return encoded.getvalue()

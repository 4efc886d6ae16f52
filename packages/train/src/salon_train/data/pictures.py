"""Find a row's picture in its folder, and check it: file and name are not trusted."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from salon_judges.media.policy import DEFAULT_LIMITS
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.picture_formats import FORMATS, format_of
from salon_taxonomy.verdict import Unscored

_LONGEST_START: Final = 16


class Look(StrEnum):
    """How closely pictures are looked at."""

    NOT = "not"
    """They need not be there."""
    EXISTS = "exists"
    """A plain file lies in the folder; a few microseconds each."""
    OPENS = "opens"
    """It is decoded to its last pixel, within bounds on bytes and pixels; some milliseconds each."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A picture that passed.

    Attributes:
        path: of the file.
        sha256: of its bytes; None where it was not opened.
    """

    path: Path
    sha256: str | None = None


def look_at(name: str, folder: Path, look: Look) -> Seen | str:
    """Find a picture and look at it.

    Args:
        name: as the row has it; an absolute one must lie in the folder, too.
        folder: that it must lie in, whatever links or ``..`` the name holds.
        look: how closely.

    Returns:
        The picture, or what is wrong with it, without a full stop. Never raises for what name and file are.

    Example:
        >>> look_at("../secret.png", Path("."), Look.EXISTS)
        'the file lies outside the folder of pictures'
    """
    path = folder / name
    if look is Look.NOT:
        return Seen(path)
    if look is Look.EXISTS:
        return _existing(path, folder)
    content = read_inside(path, folder, DEFAULT_LIMITS.most_bytes)
    if isinstance(content, Unscored):
        return content.detail
    decoded = decode(content, checked_only=True)
    return decoded.detail if isinstance(decoded, Unscored) else Seen(path, hashlib.sha256(content).hexdigest())


def check_format(picture: Path | bytes) -> None:
    """Refuse a picture whose first bytes are of no format that is read; no more of a file is read.

    Libraries of training open pictures themselves, with every plug-in of Pillow, so one of another format must not reach them.

    Raises:
        InputError: the file cannot be read, or is of another format.
    """
    path = None if isinstance(picture, bytes) else picture
    try:
        start = picture if isinstance(picture, bytes) else _start_of(picture)
    except OSError as error:
        raise InputError(f"the picture cannot be read ({error.strerror})", source=path) from error
    if format_of(start) is None:
        allowed = (each.name for each in FORMATS)
        raise InputError("is no picture of a format that is read", source=path, column="images", allowed=allowed)


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LONGEST_START)


def _existing(path: Path, folder: Path) -> Seen | str:
    try:
        target = path.resolve()
        if not target.is_relative_to(folder.resolve()):
            return "the file lies outside the folder of pictures"
        if target.is_file():
            return Seen(path)
        return "it is not a plain file" if target.exists() else "there is no such file"
    except (OSError, ValueError, RuntimeError):  # ValueError: a NUL in the name; RuntimeError: links in a circle
        return "no file can have such a name"

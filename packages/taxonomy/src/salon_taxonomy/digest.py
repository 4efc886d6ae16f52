"""Content hashes: the same thing gets the same key on every machine.

**The promise.** A digest depends only on the value: not on the order of a mapping's keys, the platform, the Python
version or the process. The rule is fixed: values become JSON with sorted keys, no spaces and UTF-8 (strings in Unicode
normal form C), prefixed by the kind's name and a NUL byte, hashed with SHA-256. Changing it is a breaking change.
"""

import errno
import hashlib
import json
import math
import os
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

Digestible: TypeAlias = "str | int | float | bool | datetime | Sequence[Digestible] | Mapping[str, Digestible] | None"

_KEY_LENGTH = 24
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(kind: str, value: Digestible, *, length: int = _KEY_LENGTH) -> str:
    """Return the key of ``value`` among things of its ``kind``: ``length`` lower-case hex digits (24 digits are 96 bits).

    Times are taken in UTC to the microsecond and must know their zone. An integral float equals the integer.

    Raises:
        ValueError: for NaN, an infinity, a time without a zone, or two keys that differ only in their normal form; they
            have no single content.
        TypeError: for a value that is none of the kinds above.

    Example:
        >>> digest("prompt", {"text": "a red cube", "seed": 1}) == digest("prompt", {"seed": 1, "text": "a red cube"})
        True
    """
    body = _JSON.encode(_canonical(value))
    return hashlib.sha256(f"{kind}\0{body}".encode("utf-8", "surrogatepass")).hexdigest()[:length]


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, 64 hex digits. It is read in chunks, whatever its size.

    Raises:
        OSError: the file cannot be read, or is a pipe or device, which might never end.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return hashlib.file_digest(file, "sha256").hexdigest()


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer is opened at once, too."""
    return os.open(path, flags | os.O_NONBLOCK)


def _canonical(value: Digestible) -> object:
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} has no digest")
        return int(value) if value.is_integer() else value
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone and so no digest")
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, Mapping):
        members = {unicodedata.normalize("NFC", key): _canonical(item) for key, item in value.items()}
        if len(members) < len(value):
            raise ValueError(f"keys of {value!r} are the same in normal form C, so it has no digest")
        return members
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_canonical(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no digest")

"""Files of a data set that appear whole or not at all and survive a power cut."""

import errno
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from salon_taxonomy.errors import StorageError
from salon_taxonomy.whole_files import replacing


def publish(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file through ``write(temporary)``, flush it to the disk, and rename it to ``path``.

    Raises:
        StorageError: the disk is full or read-only, or the folder may not be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, flushed=True) as temporary:
            write(temporary)
    except OSError as error:
        raise StorageError.of(error, path) from error
    except _polars_error() as error:
        code = re.search(r"os error (\d+)", str(error))
        if code is None:
            raise
        raise StorageError.of(OSError(int(code[1]), os.strerror(int(code[1]))), path) from error


def publish_text(path: Path, text: str) -> None:
    """Write a text file with :func:`publish`."""
    publish(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def append_line(descriptor: int, line: Mapping[str, Any]) -> None:
    """Append a line of JSON to a file that is open for appending.

    A line that a kill or a full disk cut off is ended first.

    Raises:
        OSError: the disk is full or read-only.
    """
    content = (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        content = b"\n" + content
    if os.write(descriptor, content) != len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def is_video(content: bytes) -> bool:
    """Return whether a file is a video, by its first bytes: MP4, MOV, MKV, WebM or AVI.

    Example:
        >>> is_video(b"\\x00\\x00\\x00\\x20ftypisom"), is_video(b"GIF89a")
        (True, False)
    """
    from salon_judges.media.video_container import container_of

    return container_of(content) is not None


def media_ending(content: bytes) -> str:
    """Return the ending of a picture's or video's file name, by its first bytes.

    Without the dot; ``bin`` for anything else.

    Example:
        >>> media_ending(b"GIF89a"), media_ending(b"\\x00\\x00\\x00\\x20ftypisom"), media_ending(b"%PDF")
        ('gif', 'mp4', 'bin')
    """
    from salon_judges.media.video_container import VIDEO_ENDINGS, media_type_of
    from salon_taxonomy.picture_formats import format_of

    if is_video(content):
        return VIDEO_ENDINGS[media_type_of(content)][1:]
    kind = format_of(content)
    return "bin" if kind is None else kind.name.lower().replace("jpeg", "jpg")


def _polars_error() -> type[Exception]:
    """Polars reports a disk that refuses as an error of its own, with the system's number in its text."""
    from polars.exceptions import PolarsError

    return PolarsError

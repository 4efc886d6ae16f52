"""Files that appear whole or not at all: written beside their place, flushed to the disk, renamed."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from salon_curate.errors import StorageError


def publish(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file through ``write(temporary)``, flush it to the disk, and rename it to ``path``.

    When this returns the file outlives a power cut. A process that is killed leaves at most a hidden ``.tmp`` file behind.

    Raises:
        StorageError: the disk is full or read-only, or the folder may not be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    except OSError as error:
        raise StorageError.of(error, path) from error
    except _polars_error() as error:
        code = re.search(r"os error (\d+)", str(error))
        if code is None:
            raise
        raise StorageError.of(OSError(int(code[1]), os.strerror(int(code[1]))), path) from error
    finally:
        remove_quietly(temporary)


def publish_text(path: Path, text: str) -> None:
    """Write a text file with :func:`publish`."""
    publish(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _polars_error() -> type[Exception]:
    """Polars reports a disk that refuses as an error of its own, with the system's number in its text."""
    from polars.exceptions import PolarsError

    return PolarsError


def flush(path: Path) -> None:
    """Flush a file, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_quietly(path: Path) -> None:
    """Remove a file if it exists and may be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return

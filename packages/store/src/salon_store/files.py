"""Making files that survive a crash, and locks between processes.

A file is *published*: written under a temporary name in the same directory, flushed to the disk, renamed, and the
directory flushed too. Locks are advisory (``flock``) on small files that are never removed; waiting is the only thing
that a second process notices. POSIX only.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY = ".tmp"
"""The suffix of files that are still being written; nothing reads them."""


def temporary_name(path: Path) -> Path:
    """The name under which ``path`` is written first: hidden, beside it, this process's own."""
    return path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")


def publish(temporary: Path, path: Path, *, read_only: bool = False) -> None:
    """Flush a finished temporary file and give it its name; when this returns, the file outlives a power cut."""
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        if read_only:
            os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o444)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    flush_directory(path.parent)


def flush(path: Path) -> None:
    """Flush a file's bytes to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish_text(path: Path, text: str) -> None:
    """Replace ``path`` by a file with this text, atomically."""
    temporary = temporary_name(path)
    temporary.write_text(text, encoding="utf-8")
    publish(temporary, path)


def replace_text(path: Path, text: str) -> None:
    """Replace ``path`` by a file with this text in one rename, without flushing it."""
    temporary = temporary_name(path)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def flush_directory(directory: Path) -> None:
    """Flush a directory's entries (names given, taken and removed) to the disk."""
    flush(directory)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the exclusive lock on ``path`` (made if missing), or yield False where another has it and ``wait`` is false."""
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)

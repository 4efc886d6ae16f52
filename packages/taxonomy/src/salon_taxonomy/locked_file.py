"""Append-only files that one process holds at a time."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PATIENCE_S: Final = 0.05


class LockedFile:
    """An append-only file that this process alone holds (``flock``); closing it lets go."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.closed = False
        self.at_close: Callable[[], None] | None = None
        """Called when this handle is closed."""

    @classmethod
    def opened(cls, path: Path, *, create: bool) -> "LockedFile | None":
        """Open and lock; None when another holds it (or, without ``create``, when it is gone).

        It is tried for a twentieth of a second: :func:`is_held` of another process lasts a moment.
        """
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | (os.O_CREAT if create else 0), 0o666)
            except FileNotFoundError:
                return None
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another process may have folded and removed it between the open and the lock.
                same = os.fstat(descriptor).st_ino == path.stat().st_ino
            except BlockingIOError:
                os.close(descriptor)
                if time.monotonic() > until:
                    return None
                time.sleep(_PATIENCE_S / 10)
                continue
            except FileNotFoundError:
                same = False
            except BaseException:
                os.close(descriptor)
                raise
            if same:
                return cls(descriptor)
            os.close(descriptor)

    def write(self, content: bytes) -> None:
        """Write all of it."""
        while content:
            content = content[os.write(self._descriptor, content) :]

    def flush(self) -> None:
        """Flush to the disk."""
        os.fsync(self._descriptor)

    def again(self) -> "LockedFile":
        """Return a second handle of the same open file; the lock holds until both are closed."""
        return LockedFile(os.dup(self._descriptor))

    def truncate(self, length: int) -> None:
        """Cut the file off."""
        os.ftruncate(self._descriptor, length)

    def close(self) -> None:
        """Let go of the lock."""
        if not self.closed:
            self.closed = True
            os.close(self._descriptor)
            if self.at_close is not None:
                self.at_close()


def is_held(path: Path) -> bool:
    """Return whether a process holds a file; False without the file. Asking keeps no other process from taking it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return path.exists()
    finally:
        os.close(descriptor)
    return False


@contextmanager
def closed_on_error(file: LockedFile) -> Iterator[None]:
    """Release the file's lock when the block fails."""
    try:
        yield
    except BaseException:
        file.close()
        raise

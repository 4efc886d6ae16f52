"""Tell whether an open SQLite file is still the file at its path.

A file that was removed, moved or replaced stays open: what is written to it then is lost when the server stops.
"""

import os
from pathlib import Path
from typing import Final

from salon_taxonomy.errors import StorageError

_PARTS: Final = ("", "-wal", "-shm")
"""SQLite's files in WAL mode, beside the file that a link leads to. A commit lies in the second until it is copied into the
first."""


class OpenFile:
    """The files of a database as they were when it was opened. Make it once a connection has used them.

    Args:
        path: of the database.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "arena.db"
        >>> path.touch()
        >>> opened = OpenFile(path)
        >>> opened.check()
        >>> path.unlink()
        >>> opened.check()
        Traceback (most recent call last):
        salon_taxonomy.errors.StorageError: ... is no longer the file that was opened. Put it back, or restart the server.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._identities = {part: identity for part in _PARTS if (identity := self._identity(part)) is not None}

    def check(self) -> None:
        """Compare device and inode with those at the path.

        Raises:
            StorageError: one of the files is gone or is another one.
        """
        for part, identity in self._identities.items():
            if self._identity(part) != identity:
                problem = "is no longer the file that was opened. Put it back, or restart the server."
                raise StorageError(f"{self._path}{part} {problem}")

    def _identity(self, part: str) -> tuple[int, int] | None:
        try:
            status = Path(f"{os.path.realpath(self._path)}{part}").stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

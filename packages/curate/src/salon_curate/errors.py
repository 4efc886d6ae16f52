"""Errors of curation.

IncompleteError
├── StorageError    a file could not be written: the disk is full or read-only, has no locks, or forbids it
├── StageError      a stage broke its contract or raised an error on a shard
└── RefusedReleaseError  an audit does not support the release
"""

import errno
from pathlib import Path
from typing import Final, Self

from salon_taxonomy.errors import IncompleteError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN: Final = {errno.EROFS, errno.EACCES, errno.EPERM}
_NO_LOCKS: Final = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}


class StorageError(IncompleteError):
    """A file could not be written. Finished work is kept; the same command continues once the cause is removed."""

    @classmethod
    def of(cls, error: OSError, path: Path) -> Self:
        """Return the error for a file that the operating system refused, with what to do about it."""
        problem, remedy = "cannot be written", f"Check {path.parent}"
        if error.errno in _FULL:
            remedy = "Free the disk"
        elif error.errno in _FORBIDDEN:
            remedy = f"Make {path.parent} writable"
        elif error.errno in _NO_LOCKS:
            problem, remedy = "cannot be locked", "Move the data set to a file system with locks, such as a local disk"
        return cls(f"{path}: {problem} ({error.strerror or error}). {remedy}, then run the same command again.")


class StageError(IncompleteError):
    """A stage raised an error on a shard, or returned a table that breaks its contract."""


class RefusedReleaseError(IncompleteError):
    """An audit's lower bound is below what the release demands."""

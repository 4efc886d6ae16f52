"""Errors of curation.

IncompleteError
├── StorageError    a file could not be written: the disk is full, read-only or not permitted
├── StageError      a stage broke its contract or raised an error on a shard
└── RefusedReleaseError  an audit does not support the release
"""

from pathlib import Path
from typing import Self

from salon_taxonomy.errors import IncompleteError


class StorageError(IncompleteError):
    """A file could not be written. Finished work is kept; the same command continues once there is room."""

    @classmethod
    def of(cls, error: OSError, path: Path) -> Self:
        """Return the error for a file that the operating system refused."""
        return cls(f"{path}: cannot be written ({error.strerror or error}). Free the disk, then run the same command again.")


class StageError(IncompleteError):
    """A stage raised an error on a shard, or returned a table that breaks its contract."""


class RefusedReleaseError(IncompleteError):
    """An audit's lower bound is below what the release demands."""

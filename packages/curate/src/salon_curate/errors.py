"""Errors of curation.

IncompleteError
├── StageError      a stage broke its contract or raised an error on a shard
└── RefusedReleaseError  an audit does not support the release
"""

from salon_taxonomy.errors import IncompleteError


class StageError(IncompleteError):
    """A stage raised an error on a shard, or returned a table that breaks its contract."""


class RefusedReleaseError(IncompleteError):
    """An audit's lower bound is below what the release demands."""

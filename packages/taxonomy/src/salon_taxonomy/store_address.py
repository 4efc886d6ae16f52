"""The address of a result store, for packages that pass it on without opening it."""

from pathlib import Path
from typing import TypeAlias

StoreAddress: TypeAlias = str | Path
"""A directory, or a URL (``s3://bucket/prefix``, ``gs://…``, ``az://…``), which stays a text: a path would lose a slash."""


def is_url(address: object) -> bool:
    """Return whether an address is a URL rather than a path.

    Example:
        >>> is_url("s3://bucket/results"), is_url("results")
        (True, False)
    """
    return isinstance(address, str) and "://" in address

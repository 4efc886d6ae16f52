"""Lets another package read a table of a store without importing this package (entry points ``salon.sources``)."""

from pathlib import Path

import polars as pl

from salon_store.note import is_store
from salon_store.store import ResultStore


def open_table(path: Path, table: str) -> pl.LazyFrame | None:
    """A table of the store at ``path`` for reading, or None when ``path`` is no store.

    Raises:
        InputError: when it is a store, but has no such table or cannot be read by this version.

    Example:
        >>> open_table(Path("votes.csv"), "battles") is None
        True
    """
    if not is_store(path):
        return None
    return ResultStore.open(path, read_only=True).read(table)

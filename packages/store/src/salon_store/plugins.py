"""Lets other packages read and write a store without importing this one (entry points ``salon.sources``, ``salon.sinks``)."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from salon_store.metadata import is_store
from salon_store.store import ResultStore


def open_table(path: str | Path, table: str) -> pl.LazyFrame | None:
    """Return a table of the store at ``path``, a directory or URL, or None when there is no store.

    Raises:
        InputError: when it is a store, but has no such table or cannot be read by this version.

    Example:
        >>> open_table(Path("votes.csv"), "battles") is None
        True
    """
    if not is_store(path):
        return None
    return ResultStore.open(path, read_only=True).read(table)


def open_sink(path: str | Path) -> Callable[[str, pl.DataFrame, str], int] | None:
    """Return a function that adds rows to tables of the store at ``path``, or None when there is no store.

    The function takes a table, its rows and the name of the run; rows whose key is in the table are left out, so adding
    the same rows twice adds them once. It returns how many were written, and raises what :meth:`ResultStore.append` does.

    Raises:
        InputError: when it is a store, but cannot be written by this version.

    Example:
        >>> open_sink(Path("no-store")) is None
        True
    """
    if not is_store(path):
        return None
    store = ResultStore.open(path, create=False)

    def add(table: str, rows: pl.DataFrame, run_id: str) -> int:
        with store:
            return store.append(table, rows, run_id=run_id, on_duplicate="skip").rows_written

    return add

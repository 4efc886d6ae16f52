"""Lets another package add rows to a store without importing this package (entry points ``salon.sinks``)."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from salon_store.note import is_store
from salon_store.store import ResultStore


def open_sink(path: Path) -> Callable[[str, pl.DataFrame, str], int] | None:
    """A function that adds rows to tables of the store at ``path``, or None when ``path`` is no store.

    The function takes a table, its rows and the name of the run; rows whose key stands already are left out, so adding
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
        return store.append(table, rows, run_id=run_id, on_duplicate="skip").rows_written

    return add

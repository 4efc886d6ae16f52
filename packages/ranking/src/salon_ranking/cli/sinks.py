"""Rows into result stores: this package knows no store, so it asks the entry points ``salon.sinks`` who knows a directory."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TypeAlias

import polars as pl

from salon_ranking.errors import OptionError
from salon_taxonomy.store_address import StoreAddress

GROUP = "salon.sinks"
"""Entry points whose value takes a path and returns a :data:`Sink`, or None when the path is none of its own."""

Sink: TypeAlias = Callable[[str, pl.DataFrame, str], int]
"""Takes a table's name, its rows and the name of the run; leaves out rows that stand already, returns how many are new."""


def open_sink(path: StoreAddress) -> Sink:
    """Return what adds rows to the result store at ``path``.

    Raises:
        OptionError: there is no store, or no installed package knows it.

    Example:
        >>> from pathlib import Path
        >>> open_sink(Path("nowhere"))
        Traceback (most recent call last):
        ...
        salon_ranking.errors.OptionError: nowhere: is no result store that an installed package can write to
        `salon store init nowhere` (package salon-store) makes one.
    """
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        opener: Callable[[StoreAddress], Sink | None] = entry.load()
        sink = opener(path)
        if sink is not None:
            return sink
    hint = f"`salon store init {path}` (package salon-store) makes one."
    raise OptionError("is no result store that an installed package can write to", source=path, hint=hint)

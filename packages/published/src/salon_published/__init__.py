"""What five papers printed: every numeric table as data, and a check of the tables against themselves.

The numbers are typed in as printed, digit for digit (``data/*.csv``); manifests (``data/*.toml``) say what each column
means and which cells follow from which.

* :func:`tables`, :func:`table`, :func:`load`: the tables, one of them, one of them as a frame.
* :func:`cells`: every printed cell of all tables in one long frame, with model ids from the registry.
* :func:`check`: recompute each derivable cell; :class:`CheckReport` says how it agrees with the paper.
"""

from salon_published.check import CellCheck, CheckReport, RuleSummary, check
from salon_published.rounding import MatchWithPrinted, Quantity, Recomputed
from salon_published.tables import PublishedTable, cells, load, table, tables

__all__ = [
    "CellCheck",
    "CheckReport",
    "MatchWithPrinted",
    "PublishedTable",
    "Quantity",
    "Recomputed",
    "RuleSummary",
    "cells",
    "check",
    "load",
    "table",
    "tables",
]

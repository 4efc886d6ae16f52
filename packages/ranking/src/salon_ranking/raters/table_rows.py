"""A rater report as people read it, in terminals and on pages: one cell per check."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from salon_console import numbers
from salon_console.table_files import Table

HEADINGS = ("Rater", "Mode", "Battles", "Anchors", "Speed", "Longest run", "Left", "Consensus", "Reason")
"""The columns of :func:`lines`. ``Reference`` comes before the last when experts were examined."""
REFERENCE = "Reference"


def headings(table: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns of a report's table."""
    return (*HEADINGS[:-1], REFERENCE, HEADINGS[-1]) if "unqualified" in table.columns else HEADINGS


def report_cells(table: pl.DataFrame, most: int | None = None) -> Table:
    """Return :func:`lines` under their :func:`headings`."""
    columns = headings(table)
    return Table(columns, lines(table, most), frozenset(columns) - {"Rater", "Mode", "Reason"})


def lines(table: pl.DataFrame, most: int | None = None) -> list[tuple[str, ...]]:
    """Return one line per rater, as many as there are :func:`headings`; an en dash is what is not known.

    Args:
        table: that of a ``RaterReport``.
        most: only the first ``most`` raters; flagged ones come first.
    """
    head = table if most is None else table.head(most)
    examined = "unqualified" in table.columns
    rows = []
    for row in head.iter_rows(named=True):
        cells = (row["rater_id"], row["modes"] or numbers.MISSING, numbers.count(row["battles"]), *_checks(row))
        reference = (_of(row, "reference_answers", "unqualified_value"),) if examined else ()
        rows.append((*cells, *reference, row["explanation"] or ""))
    return rows


def _checks(row: Mapping[str, Any]) -> tuple[str, ...]:
    met = _of(row, "anchors", "missed_anchors_value")
    seconds = row.get("typical_seconds")
    below = row.get("too_fast_value")
    speed = (
        numbers.MISSING
        if seconds is None
        else f"{seconds:.1f} s" + ("" if below is None else f" ({0.0 - round(below, 1):+.1f} σ)")
    )
    run = row.get("repeated_option_value")
    longest = numbers.MISSING if run is None else f"{run:.0f} x {row['run_option']}"
    return met, speed, longest, _of(row, "decisive", "left_share"), _of(row, "shared", "against_consensus_value")


def _of(row: Mapping[str, Any], count: str, share: str) -> str:
    """Return a share and how many it is of."""
    if row.get(share) is None:
        return numbers.MISSING
    return f"{row[share]:.0%} of {row[count]:,}"

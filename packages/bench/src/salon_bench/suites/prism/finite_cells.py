"""Numbers in a user's table: finite, or an error that says where not."""

import math

from salon_bench.suites.contract.table_rows import TableRow


def finite_number(row: TableRow, column: str) -> float:
    """A cell that must hold a finite number; a text that reads as one counts.

    Raises:
        InputError: when the column is missing or holds none.

    Example:
        >>> from pathlib import Path
        >>> finite_number(TableRow(Path("a.csv"), 1, {"score": "9.5"}), "score")
        9.5
    """
    if column not in row.cells:
        raise row.missing(column)
    value = row.cells[column]
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise row.problem("must be a finite number, not", column, value=value)
    return number

"""Options and cells that all commands of ``salon curate`` share."""

from salon_console.options import FORMAT, seed_option
from salon_console.output import MISSING

__all__ = ["FORMAT", "SEED", "as_cell"]

SEED = seed_option("Another seed draws otherwise.")


def as_cell(value: object, digits: int = 3) -> str:
    """Return the text of a table's cell: numbers rounded to ``digits``, a dash for a missing value.

    Example:
        >>> as_cell(0.12345), as_cell(None), as_cell(12000)
        ('0.123', '–', '12,000')
    """
    if value is None:
        return MISSING
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

"""Format numbers for people, in terminals, tables and pages alike. A missing number is an en dash."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from salon_console.forest_plot import PlotRow
from salon_console.table_files import Table

if TYPE_CHECKING:
    import polars as pl

MISSING = "–"


def rating(value: float | None) -> str:
    """Return an Elo rating, to the point.

    Example:
        >>> rating(1043.4), rating(None)
        ('1,043', '–')
    """
    return MISSING if value is None else f"{value:,.0f}"


def interval(low: float | None, high: float | None) -> str:
    """Return both ends of an interval of ratings; one missing end makes it missing.

    Example:
        >>> interval(998.2, 1061.0)
        '998 – 1,061'
    """
    return MISSING if low is None or high is None else f"{low:,.0f} – {high:,.0f}"


def points(value: float | None) -> str:
    """Return a width or an effect in Elo points, with one digit.

    Example:
        >>> points(18.234)
        '18.2'
    """
    return MISSING if value is None else f"{value:,.1f}"


def change(value: int | None) -> str:
    """Return a change of rank with its sign; no change is an equals sign.

    Example:
        >>> change(2), change(-1), change(0)
        ('+2', '-1', '=')
    """
    return MISSING if value is None else "=" if value == 0 else f"{value:+d}"


def share(value: float | None) -> str:
    """Return a share between 0 and 1 as a percentage with one digit.

    Example:
        >>> share(0.5)
        '50.0%'
    """
    return MISSING if value is None else f"{100 * value:.1f}%"


def share_interval(low: float | None, high: float | None) -> str:
    """Return both ends of an interval of shares as percentages with one digit; one missing end makes it missing.

    Example:
        >>> share_interval(-0.011, 0.5), share_interval(None, 0.5)
        ('-1.1% – 50.0%', '–')
    """
    return MISSING if low is None or high is None else f"{share(low)} – {share(high)}"


def count(value: float | None) -> str:
    """Return a count or a sum of weights; decimals only where there are any.

    Example:
        >>> count(12500.0), count(0.5)
        ('12,500', '0.5')
    """
    if value is None:
        return MISSING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def counted(number: int, noun: str, plural: str = "s") -> str:
    """Return a number of things; one of them is singular, the others have an ending.

    Example:
        >>> counted(1, "battle"), counted(1200, "battle")
        ('1 battle', '1,200 battles')
    """
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def correlation(value: float | None) -> str:
    """Return a correlation coefficient with two digits and its sign.

    Example:
        >>> correlation(0.854), correlation(-0.1)
        ('+0.85', '-0.10')
    """
    return MISSING if value is None else f"{value:+.2f}"


def rating_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return the rank, the model, its rating and the interval of the rating.

    Args:
        row: a row of a leaderboard.

    Example:
        >>> rating_cells({"rank": 1, "model": "flux", "rating": 1187.2, "ci_low": 1107.0, "ci_high": 1281.3})
        ('1', 'flux', '1,187', '1,107 – 1,281')
    """
    return str(row["rank"]), row["model"], rating(row["rating"]), interval(row["ci_low"], row["ci_high"])


def listing_cells(row: Mapping[str, Any]) -> list[str]:
    """Return the width, the effect of one match, and whether the model is listed or how many matches are missing.

    Args:
        row: a row of a leaderboard that ``with_listing`` made.
    """
    missing = row["matches_needed"]
    if row["listed"] is None:
        return [MISSING, MISSING, "baseline"]
    verdict = "yes" if row["listed"] else "no" if missing is None else f"no: about {counted(missing, 'more match', 'es')}"
    return [points(row["width"]), points(row["match_effect"]), verdict]


def mark(value: float | None) -> str:
    """Return a mean of marks with two digits.

    Example:
        >>> mark(3.333)
        '3.33'
    """
    return MISSING if value is None else f"{value:.2f}"


def plot_rows(frame: "pl.DataFrame", value: str) -> list[PlotRow]:
    """Return the rows of a chart: values with their intervals, named by the columns of words (null: all).

    Args:
        frame: with ``value``, ``ci_low`` and ``ci_high``, and some of persona, scenario, dimension, test_point and model.
    """
    words = ("persona", "scenario", "dimension", "test_point", "model")
    names = [name for name in words if name in frame.columns and frame[name].count()]
    return [
        PlotRow(", ".join(row[name] or "all" for name in names), row[value], row["ci_low"], row["ci_high"])
        for row in frame.iter_rows(named=True)
    ]


def frame_cells(frame: "pl.DataFrame") -> Table:
    """Return any frame as a table of text: numbers with four digits, underscores of column names as spaces.

    Example:
        >>> import polars as pl
        >>> frame_cells(pl.DataFrame({"model": ["a"], "p_value": [0.012345]})).rows
        [['a', '0.01235']]
    """
    columns = tuple(name.replace("_", " ") for name in frame.columns)
    numeric = frozenset(name for name, dtype in zip(columns, frame.dtypes, strict=True) if dtype.is_numeric())
    return Table(columns, [[_cell(value) for value in row] for row in frame.iter_rows()], numeric)


def _cell(value: object) -> str:
    return MISSING if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

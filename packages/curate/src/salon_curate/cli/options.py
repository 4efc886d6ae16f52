"""Options and cells that the commands of ``salon curate`` share, and how they open a data set."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import seed_option
from salon_console.output import MISSING

if TYPE_CHECKING:
    from salon_curate.dataset import DataSet
    from salon_curate.pipeline import Pipeline

DATASET = click.argument("dataset", type=InputPath(file_okay=False, made=True))
WHERE = click.option("--where", multiple=True, metavar="SQL", help="A condition; repeat: all must hold.")
SELECTION = click.option("--selection", metavar="NAME", help="Conditions of pipeline.toml or of a saved selection.")
SEED = seed_option("Another seed draws otherwise.")


def as_cell(value: object) -> str:
    """Return the text of a table's cell: numbers rounded to three digits, a dash for a missing value.

    Example:
        >>> as_cell(0.12345), as_cell(None), as_cell(12000)
        ('0.123', '–', '12,000')
    """
    if value is None:
        return MISSING
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def open_dataset(folder: Path) -> "DataSet":
    """Open a data set."""
    from salon_curate.dataset import DataSet

    return DataSet.open(folder)


def open_pipeline(folder: Path, *, limits: Any = None, asks: bool = False, now: tuple[str, str] | None = None) -> "Pipeline":
    """Read the pipeline of a data set (:func:`~salon_curate.pipeline.read_pipeline`)."""
    from salon_curate.pipeline import PIPELINE, read_pipeline

    return read_pipeline(folder / PIPELINE, environment=os.environ, limits=limits, asks=asks, now=now)

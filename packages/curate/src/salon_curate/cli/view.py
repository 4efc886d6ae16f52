"""A data set in ``salon view FOLDER``."""

from pathlib import Path
from typing import TYPE_CHECKING

from salon_curate.cli.options import open_pipeline

if TYPE_CHECKING:
    from salon_curate.row_view import DataSetView


def dataset_rows(folder: Path) -> "DataSetView | None":
    """Return the rows of a data set; None for a folder of another kind."""
    from salon_curate.dataset import MANIFEST
    from salon_curate.pipeline import PIPELINE
    from salon_curate.row_view import DataSetView

    if not all((folder / name).is_file() for name in (MANIFEST, PIPELINE)):
        return None
    return DataSetView(folder, open_pipeline)

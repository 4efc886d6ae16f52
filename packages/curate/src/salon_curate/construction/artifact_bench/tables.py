"""What people wrote down, from files: labels of videos, levels of questions, and where the videos lie."""

from pathlib import Path
from typing import TYPE_CHECKING

from salon_console.table_rows import TableRow, table_rows
from salon_judges.formats.artifact_bench import LEVEL_NAMES, TAXONOMY, QuestionLevel
from salon_taxonomy import Taxonomy
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def read_assessments(path: Path) -> "pl.DataFrame":
    """Labels of people: ``generation_id``, ``label`` (name or id of a leaf), ``present`` (true or false), ``judge``.

    Returns:
        The columns that :func:`~.annotation.annotate` takes, labels by their ids.

    Raises:
        InputError: a wrong file or one without rows, a missing column or a value that is not allowed, with its row.
    """
    import polars as pl

    tree = Taxonomy.load(TAXONOMY)
    assessments = []
    for row in table_rows(path):
        name = row.text("label")
        labels = tree.matches(name, tier="leaf")
        if len(labels) != 1:
            raise row.problem(
                "no such artifact", "label", value=name[:80], allowed=tuple(each.id for each in tree.tier("leaf"))
            )
        assessments.append((row.text("generation_id"), TAXONOMY, labels[0].id, _truth(row), row.text("judge")))
    if not assessments:
        raise InputError("there is no label in the file", source=path)
    schema = {"generation_id": pl.String, "taxonomy": pl.String, "label": pl.String, "present": pl.Boolean, "judge": pl.String}
    return pl.DataFrame(assessments, schema=schema, orient="row")


def read_levels(path: Path) -> dict[str, dict[str, QuestionLevel]]:
    """Video → rater → level, from the columns ``generation_id``, ``rater``, ``level`` (easy, medium, hard).

    Raises:
        InputError: as :func:`read_assessments`, and when a rater rated a video twice.
    """
    known = {**LEVEL_NAMES, **{each.value: each for each in QuestionLevel}}
    levels: dict[str, dict[str, QuestionLevel]] = {}
    for row in table_rows(path):
        ratings = levels.setdefault(row.text("generation_id"), {})
        rater = row.text("rater")
        if rater in ratings:
            raise row.problem("rated the video twice:", "rater", value=rater)
        ratings[rater] = known[row.text("level", allowed=tuple(known))]
    return levels


def read_videos(path: Path) -> dict[str, str]:
    """Video → its path below the folder of videos, from the columns ``generation_id`` and ``video_path``.

    Raises:
        InputError: as :func:`read_assessments`, and when a video stands twice.
    """
    paths: dict[str, str] = {}
    for row in table_rows(path):
        name = row.text("generation_id")
        if name in paths:
            raise row.problem("stands twice:", "generation_id", value=name)
        paths[name] = row.text("video_path")
    return paths


def _truth(row: TableRow) -> bool:
    value = row.cells.get("present")
    if isinstance(value, bool):
        return value
    return row.text("present", allowed=(*_TRUE, *_FALSE)) in _TRUE

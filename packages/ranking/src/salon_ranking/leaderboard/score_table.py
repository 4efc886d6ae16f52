"""Tables that are not leaderboards of a fit: online Elo, scores for comparison, and two sets of votes compared."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from salon_ranking.leaderboard.further import rows_of
from salon_ranking.table_files import check_path, replacing, write_frame

ENDINGS = (".csv", ".parquet", ".json")
"""The kinds of file that :func:`write_scores` makes."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A table and how it was made.

    Attributes:
        made: how it was made, under the names that a leaderboard has for that; null is what the method does not have.
        further: tables by name, such as ``acceptability``.
    """

    header: str
    table: pl.DataFrame
    made: Mapping[str, object] = field(default_factory=dict)
    further: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the numbers are believed."""
        return tuple(self.made.get("warnings") or ())  # type: ignore[arg-type]

    def document(self) -> str:
        """Return a JSON object: how it was made, and the rows of all tables. Null is what is not known."""
        tables = {name: rows_of(table) for name, table in self.further.items()}
        document = {**self.made, "header": self.header, "rows": rows_of(self.table), **tables}
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def check_file(path: Path) -> None:
    """Check that :func:`write_scores` can write to a path.

    Raises:
        OptionError: the ending is unknown, or the folder does not exist.
    """
    check_path(path, ENDINGS, "output for this method")


def write_scores(scores: ScoreTable, path: Path) -> None:
    """Write the table (.csv, .parquet) or everything (.json); an existing file is replaced whole or not at all.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
    """
    check_file(path)
    with replacing(path) as unfinished:
        if path.suffix == ".json":
            unfinished.write_text(scores.document(), encoding="utf-8")
        else:
            write_frame(scores.table, unfinished, path.suffix)

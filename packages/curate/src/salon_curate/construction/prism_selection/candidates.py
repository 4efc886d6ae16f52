"""Prompts that can be chosen: a table with the columns ``prompt`` and ``score``, and ``track`` where it holds several."""

from dataclasses import dataclass
from pathlib import Path

from salon_console.table_rows import TableRow, finite_number, table_rows
from salon_judges.formats.prism_tracks import TRACK_SPELLINGS, Track
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class Candidate:
    """One prompt that can be chosen.

    Attributes:
        text: the prompt.
        track: whose candidate it is.
        score: how well its picture represents the track; higher is better, any scale (the paper has 1 to 10).
    """

    text: str
    track: Track
    score: float


def read_candidates(path: Path, track: Track | None = None) -> list[Candidate]:
    """Read a table (CSV, JSON, JSON Lines, Parquet).

    Args:
        path: the table; a prompt that is a candidate of several tracks has a row for each.
        track: take the rows of this track alone; where the table has no column ``track``, all rows are of it.

    Raises:
        InputError: the file cannot be read, a column is missing, a score is no finite number, a track is unknown, or no row
            is left.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "captions.csv"
        >>> _ = path.write_text("prompt,score\\nA house of glass birds.,9.5\\n")
        >>> read_candidates(path, Track.IMAGINATION)[0].score
        9.5
    """
    candidates = []
    for row in table_rows(path):
        candidate = Candidate(row.text("prompt"), _track(row, track), finite_number(row, "score"))
        if track in (None, candidate.track):
            candidates.append(candidate)
    if not candidates:
        raise InputError("there is no candidate", source=path, value=str(track) if track else None)
    return candidates


def _track(row: TableRow, track: Track | None) -> Track:
    if track is not None and "track" not in row.cells:
        return track
    return TRACK_SPELLINGS[row.text("track", allowed=tuple(TRACK_SPELLINGS))]

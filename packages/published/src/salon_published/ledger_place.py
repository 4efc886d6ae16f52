"""Where a model of one's own would stand on a board of the ledger, and which benchmark would tell most next."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import polars as pl

from salon_console.table_rows import TableRow, finite_number, table_rows
from salon_published.derived_battles import compared_pairs
from salon_published.ledger import board_name, check_compared, compared_scores, ledger_battles, most_compared, rank_by_sources
from salon_published.manifest import GenerationTask
from salon_taxonomy.errors import InputError

YOURS: Final = "yours"
"""The name of the placed model on its board."""
_NEAR: Final = 200.0
"""Elo points within which a rival is a close one."""
_FAR: Final = 1.5
"""Times the largest number of a track, beyond which a number is taken for one of another scale."""
_SMALL: Final = 0.1
"""Of the least number of a track, below which it is, too."""


@dataclass(frozen=True, slots=True)
class Placing:
    """A model of one's own on a board.

    Attributes:
        board: the board's table with a row for ``yours``, best first: ``rank``, ``model``, ``rating``, ``ci_low``,
            ``ci_high`` and ``joined_by``.
        header: how it was made.
        numbers: of the file's numbers, how many were compared.
        left_out: how many were not, because their track does not measure the capability.
        next_benchmarks: ``benchmark``, ``track`` and ``rivals``: columns that are not in the file and in which most generators
            within 200 points of ``yours`` have a number, most first.
    """

    board: pl.DataFrame
    header: str
    numbers: int
    left_out: int
    next_benchmarks: pl.DataFrame


def place(file: str | Path, task: GenerationTask | str, *, capability: str | None = None) -> Placing:
    """Rate a model of which a file has numbers, on the board of one task.

    Each number is compared once with the median number of every generator on the same track of the same benchmark. The
    interval is by sources, where each benchmark of the file counts as one of its own: numbers of one benchmark give none.

    Args:
        file: a table with the columns ``benchmark``, ``track`` and ``value``, named and scaled as ``salon papers scores`` has
            them.
        task: what the model makes.
        capability: the board of the columns that measure it, see :func:`~salon_published.ledger.capabilities`; default: of all.
            The file's numbers on other tracks are left out.

    Raises:
        InputError: there is no such capability; the file cannot be read or is empty; a benchmark or a track is unknown (names
            those that look like it), a track is twice in the file, a number is of another scale, or no track of the file
            measures the capability.
    """
    scores = compared_scores(task, capability=capability)
    check_compared(scores, task, capability=capability)
    known = _medians(scores)
    of_the_task = known if capability is None else pl.concat([known, _medians(compared_scores(task))]).unique()
    every_row = _read(Path(file), of_the_task)
    tracks = set(known.select("name", "track_name").iter_rows())
    rows = [row for row in every_row if row[:2] in tracks]
    if not rows:
        benchmarks = known["name"].unique().sort().to_list()
        raise InputError(f"no number of the file measures {capability}", source=file, column="benchmark", allowed=benchmarks)
    mine = pl.DataFrame(rows, schema={"name": pl.String, "track_name": pl.String, "value": pl.Float64}, orient="row")
    rivals = known.join(mine.select("name", "track_name"), on=["name", "track_name"], how="semi")
    own = mine.join(rivals.select("name", "track_name", "direction").unique(), on=["name", "track_name"]).with_columns(
        model=pl.lit(YOURS)
    )
    sheet = pl.concat([rivals, own], how="diagonal").with_columns(
        benchmark=pl.format("yours, {}", "name"), track="track_name", judge=pl.lit(YOURS)
    )
    added = compared_pairs(sheet).filter((pl.col("model_a") == YOURS) | (pl.col("model_b") == YOURS))
    others = ledger_battles(scores)
    source = f"{board_name(str(task))}{f', {capability}' if capability else ''}, and {Path(file).name}"
    board = rank_by_sources(pl.concat([others, added]), source, baseline=most_compared(others))
    table = board.table.select("rank", "model", "rating", "ci_low", "ci_high", "joined_by")
    return Placing(table, board.header, mine.height, len(every_row) - mine.height, _next(known, mine, table))


def _medians(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.group_by("name", "track_name", "direction", "model").agg(pl.col("value").median())


def _read(file: Path, known: pl.DataFrame) -> list[tuple[str, str, float]]:
    tracks: dict[str, dict[str, tuple[float, float]]] = {}
    size = pl.col("value").abs()
    ranges = known.group_by("name", "track_name").agg(least=size.min(), most=size.max()).sort("name", "track_name")
    for name, track, least, most in ranges.iter_rows():
        tracks.setdefault(name, {})[track] = (least, most)
    rows: list[tuple[str, str, float]] = []
    for row in table_rows(file):
        name = _one_of(row, "benchmark", list(tracks))
        track = _one_of(row, "track", list(tracks[name]))
        value = finite_number(row, "value")
        least, most = tracks[name][track]
        if not _SMALL * least <= abs(value) <= _FAR * most:
            raise row.problem(
                f"is of another scale: numbers of this track lie from {least:g} to {most:g};", "value", value=value
            )
        if any((name, track) == earlier[:2] for earlier in rows):
            raise row.problem(f"{name} has this track twice:", "track", value=track)
        rows.append((name, track, value))
    if not rows:
        raise InputError("the file has no rows", source=file)
    return rows


def _one_of(row: TableRow, column: str, allowed: list[str]) -> str:
    text = row.text(column)
    if text not in allowed:
        close = get_close_matches(text, allowed, n=5, cutoff=0.3)
        raise row.problem("the board has no such one", column, value=text, allowed=tuple(close or allowed))
    return text


def _next(known: pl.DataFrame, mine: pl.DataFrame, board: pl.DataFrame) -> pl.DataFrame:
    rating = board.filter(model=YOURS)["rating"].item()
    near = board.filter((pl.col("rating") - rating).abs() <= _NEAR, pl.col("model") != YOURS)["model"].to_list()
    return (
        known.join(mine, on=["name", "track_name"], how="anti")
        .filter(pl.col("model").is_in(near))
        .group_by(benchmark="name", track="track_name")
        .agg(rivals=pl.col("model").n_unique())
        .sort("rivals", "benchmark", "track", descending=[True, False, False])
    )

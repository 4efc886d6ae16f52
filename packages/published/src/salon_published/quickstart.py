"""The main job in one call: published results → store → derived battles → consensus leaderboard → report."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import polars as pl

from salon_published.consensus import BOARD, Consensus, consensus, generator_scores, questions
from salon_published.consensus_page import consensus_page
from salon_published.derived_battles import derive_battles
from salon_published.rows import published_rows, run_rows, score_rows
from salon_store import ResultStore

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much of it is done, and how much there is."""

_IMPORT_RUN = "published"


@dataclass(frozen=True, slots=True)
class Quickstart:
    """What the quickstart did.

    ``given`` is the store's folder as it was named. ``added`` counts the rows that were new to the store: all of them the
    first time, none the second. ``scores`` is the frame of :func:`salon_published.consensus.generator_scores`, from which
    ``battles`` battles were derived; ``questions`` are three to ask next, each with its SQL.
    """

    given: Path
    report: Path
    scores: pl.DataFrame
    battles: int
    added: int
    consensus: Consensus
    questions: tuple[tuple[str, str], ...]


def quickstart(directory: str | Path, *, progress: Progress | None = None) -> Quickstart:
    """Fill a result store with the published results, rank the image generators in it and write ``report.html`` there.

    Rows that the store already has are left alone, so a second call adds nothing.

    Args:
        directory: the store's folder; made if it is missing.
        progress: called as the work goes on.

    Raises:
        InputError: the folder holds something that is no result store, or a newer one.
    """

    def tell(step: str, done: int, total: int) -> None:
        if progress is not None:
            progress(step, done, total)

    tell("Importing published results", 0, 3)
    store = ResultStore.open(directory)
    added = store.append("runs", run_rows(version("salon-published")), run_id=_IMPORT_RUN, on_duplicate="skip").rows_written
    tell("Importing published results", 1, 3)
    added += store.append("published", published_rows(), run_id=_IMPORT_RUN, on_duplicate="skip").rows_written
    added += store.append("scores", score_rows(), run_id=_IMPORT_RUN, on_duplicate="skip").rows_written
    tell("Importing published results", 2, 3)
    scores = generator_scores()
    derived = derive_battles(scores)
    added += store.append("battles", derived, run_id=_IMPORT_RUN, on_duplicate="skip").rows_written
    tell("Importing published results", 3, 3)

    result = consensus(derived)
    rows = result.board.records(board=BOARD)
    added += store.append("leaderboards", rows, run_id=_IMPORT_RUN, on_duplicate="skip").rows_written

    asked = questions(str(rows["leaderboard_id"][0]))

    tell("Writing the report", 0, 1)
    report = store.path / "report.html"
    report.write_text(consensus_page(result, scores, asked, directory=str(directory)), encoding="utf-8")
    tell("Writing the report", 1, 1)
    return Quickstart(Path(directory), report, scores, derived.height, added, result, asked)

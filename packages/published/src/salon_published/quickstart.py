"""The main job in one call: published results → store → derived battles → a board for each task → one page."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from salon_published.derived_battles import with_ids
from salon_published.ledger import board_name, compared_scores, ledger_battles, ledger_scores, rank_by_sources
from salon_published.ledger_page import ledger_page
from salon_published.manifest import GenerationTask
from salon_published.rows import published_rows, run_rows, score_rows, vote_rows
from salon_ranking import Leaderboard
from salon_store import ResultStore

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much of it is done, and how much there is."""

_IMPORT_RUN = "published"


@dataclass(frozen=True, slots=True)
class Quickstart:
    """What the quickstart did.

    ``given`` is the store's folder as it was named. ``added`` counts the rows that were new to the store: all of them the
    first time, none the second. ``scores`` counts the ledger's numbers, as its page does, ``battles`` those that were derived
    from them; ``boards`` has one board per task, and ``questions`` are three to ask next, each with its SQL.
    """

    given: Path
    report: Path
    scores: int
    battles: int
    added: int
    boards: dict[GenerationTask, Leaderboard]
    questions: tuple[tuple[str, str], ...]


def quickstart(directory: str | Path, *, progress: Progress | None = None) -> Quickstart:
    """Fill a result store with the published results, rank the generators of each task in it and write ``report.html`` there.

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

    store = ResultStore.open(directory)
    imported = (
        ("runs", run_rows(version("salon-published"))),
        ("published", published_rows()),
        ("scores", score_rows()),
        ("battles", vote_rows()),
    )
    added = 0
    for done, (table, rows) in enumerate(imported):
        tell("Importing published results", done, len(imported))
        added += store.append(table, rows, run_id=_IMPORT_RUN, on_duplicate="skip").rows_written
    tell("Importing published results", len(imported), len(imported))

    boards, count, leaders = {}, 0, ""
    for done, task in enumerate(GenerationTask):
        tell("Ranking", done, len(GenerationTask))
        battles = with_ids(ledger_battles(compared_scores(task)))
        count += battles.height
        boards[task] = rank_by_sources(battles, board_name(task))
        rows = boards[task].records(board=task.value)
        leaders = leaders or str(rows["leaderboard_id"][0])
        added += store.append("battles", battles, run_id=_IMPORT_RUN, on_duplicate="skip").rows_written
        added += store.append("leaderboards", rows, run_id=_IMPORT_RUN, on_duplicate="skip").rows_written
    tell("Ranking", len(GenerationTask), len(GenerationTask))
    store.catalog()  # for plain DuckDB, which else would find the tables empty

    tell("Writing the report", 0, 1)
    report = store.path / "report.html"
    report.write_text(ledger_page(boards), encoding="utf-8")
    tell("Writing the report", 1, 1)
    return Quickstart(Path(directory), report, ledger_scores().height, count, added, boards, _questions(leaders))


def _questions(leaderboard_id: str) -> tuple[tuple[str, str], ...]:
    """Return three questions about the store, each with the SQL that answers it; a store may hold several boards."""
    return (
        (
            "Who leads, and how sure is that?",
            "SELECT rank, model, round(rating) AS elo, round(ci_low) AS low, round(ci_high) AS high\n"
            f"FROM leaderboards WHERE leaderboard_id = '{leaderboard_id}' ORDER BY rank LIMIT 10",
        ),
        (
            "By whose numbers does Qwen-Image beat FLUX.1 [dev]?",
            "SELECT suite AS source, count(*) AS columns, count(*) FILTER (winner = 'model_b') AS won FROM battles\n"
            "WHERE model_a = 'flux.1-dev' AND model_b = 'qwen-image' GROUP BY ALL ORDER BY columns DESC, source LIMIT 10",
        ),
        (
            "How much harsher is one judge than another on the same pictures?",
            "SELECT judge, task, round(avg(value), 1) AS mean, count(*) AS models FROM scores\n"
            "WHERE suite = 'PRISM-Bench' AND dimension LIKE '%.average' GROUP BY ALL ORDER BY task, judge",
        ),
    )

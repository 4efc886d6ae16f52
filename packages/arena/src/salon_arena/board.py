"""Boards: settled votes as counts, ranked with sandwich intervals on request.

Left out, and counted: anchors, tests and audits; votes of flagged raters; in public mode with anchors, votes of raters who have
not answered enough anchors yet. Nothing is deleted: a rater whose flag goes is counted again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection, case, func, select

from salon_arena.database import ASSIGNMENTS, FLAGS, SETTLED, ArenaDatabase
from salon_ranking.battles import Battles
from salon_ranking.errors import RankingError
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.listing import with_listing
from salon_ranking.leaderboard.ranking import rank
from salon_ranking.models.growing_league import GrowingLeague
from salon_taxonomy.records import Mode

STREAMS: Final = (1, 2)
PERSONAL_VOTES: Final = 30
"""A rater with fewer votes has no personal board."""
PERSONAL_PRIOR: Final = 1.0
"""Drawn battles against a mean opponent that every model has on a personal board."""
_COUNTED: Final = ("model_a", "model_b", "winner", "stream")


@dataclass(frozen=True, slots=True)
class Board:
    """Models by rating, or the reason why they cannot be rated yet.

    Attributes:
        votes: settled votes that count.
        board: the leaderboard; None while the votes cannot rate the models.
        reason: why there is no leaderboard; else empty.
        left_out: settled votes of raters who do not count (now).
    """

    votes: int
    board: Leaderboard | None
    reason: str = ""
    left_out: int = 0

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per model, in the board's order."""
        return [] if self.board is None else self.board.table.to_dicts()


class LiveBoard:
    """Counts of all settled battles. Safe to use from several threads.

    Args:
        database: the votes; each is read once, and again when the raters who count have changed.
        anchors_first: a rater's votes count after so many answered anchors.
    """

    def __init__(self, database: ArenaDatabase, *, anchors_first: int = 0) -> None:
        self._database = database
        self._anchors_first = anchors_first
        self._lock = Lock()
        self._start(self._not_counted())

    def _start(self, excluded: frozenset[str]) -> None:
        self._excluded = excluded
        self._arenas = {stream: GrowingLeague() for stream in (None, *STREAMS)}
        self._last = self._left_out = 0
        self._boards: dict[str | None, Board] = {}

    def counts(self) -> dict[int, Battles]:
        """Fold the votes settled since the last call, and return the counts of each stream of the plan."""
        with self._lock:
            self._fold()
            return {stream: self._arenas[stream].battles() for stream in STREAMS}

    def ranked(self, scenario: str | None = None) -> Board:
        """Rate the models: Bradley-Terry, ties half a win each (MEF, equation 1), the lowest rated model fixed at 1,000.

        Args:
            scenario: votes on prompts of this scenario alone; None: all votes.
        """
        with self._lock:
            self._fold()
            if scenario not in self._boards:
                if scenario is None:
                    battles = self._arenas[None].battles()
                else:
                    battles = Battles.from_frame(self._read(lambda row: row.scenario == scenario))
                self._boards[scenario] = _rated(battles, self._left_out if scenario is None else 0)
            return self._boards[scenario]

    def scenarios(self) -> list[str]:
        """The scenarios that have settled votes, in ascending order."""
        query = select(SETTLED.c.scenario).where(SETTLED.c.kind == "battle").distinct()
        found = self._database.read(lambda connection: list(connection.execute(query).scalars()))
        return sorted(name for name in found if name is not None)

    def personal(self, rater_id: str) -> Board:
        """What one rater's votes say: with a prior, from 30 votes on."""
        query = select(SETTLED).where((SETTLED.c.rater_id == rater_id) & (SETTLED.c.kind == "battle"))
        rows = self._database.read(lambda connection: list(connection.execute(query)))
        if len(rows) < PERSONAL_VOTES:
            return Board(len(rows), None, f"A board of your own needs {PERSONAL_VOTES} settled votes.")
        return _rated(Battles.from_frame(_frame(rows).drop("stream")), 0, prior_ties=PERSONAL_PRIOR)

    def refresh(self) -> None:
        """Count again from the start if the raters who count have changed."""
        with self._lock:
            excluded = self._not_counted()
            if excluded != self._excluded:
                self._start(excluded)

    def _not_counted(self) -> frozenset[str]:
        return frozenset(self._database.read(lambda connection: raters_left_out(connection, self._anchors_first)))

    def _fold(self) -> None:
        last, known = self._last, self._excluded
        query = select(SETTLED).where((SETTLED.c.number > last) & (SETTLED.c.kind == "battle")).order_by(SETTLED.c.number)
        rows = self._database.read(lambda connection: list(connection.execute(query)))
        if not rows:
            return
        self._last = rows[-1].number
        kept = [row for row in rows if row.rater_id not in known]
        self._left_out += len(rows) - len(kept)
        self._boards = {}
        if kept:
            frame = _frame(kept)
            for stream, arena in self._arenas.items():
                mine = frame if stream is None else frame.filter(pl.col("stream") == stream)
                if mine.height:
                    self._arenas[stream] = arena.update(mine.drop("stream"))

    def _read(self, wanted: Callable[[Any], bool]) -> pl.DataFrame:
        query = select(SETTLED).where(SETTLED.c.kind == "battle")
        rows = self._database.read(lambda connection: list(connection.execute(query)))
        return _frame([row for row in rows if row.rater_id not in self._excluded and wanted(row)]).drop("stream")


def raters_left_out(connection: Connection, anchors_first: int) -> dict[str, str]:
    """Return the raters whose votes no board counts, with the reason.

    Args:
        connection: of the arena's database.
        anchors_first: a rater's votes count after so many answered anchors.
    """
    found: dict[str, str] = {}
    if anchors_first:
        anchors = func.sum(case((SETTLED.c.kind == "anchor", 1), else_=0))
        few = select(SETTLED.c.rater_id).group_by(SETTLED.c.rater_id).having(anchors < anchors_first)
        found = dict.fromkeys(connection.execute(few).scalars(), "too few anchors")
    for rater_id, reason in connection.execute(select(FLAGS.c.rater_id, FLAGS.c.reason).order_by(FLAGS.c.reason)):
        found[rater_id] = f"{found[rater_id]}, {reason}" if rater_id in found else reason
    return found


def anchors_wanted(connection: Connection, mode: str) -> int:
    """Return after how many anchors a rater's votes count: one in a public arena that has dealt any, else none."""
    dealt = select(ASSIGNMENTS.c.assignment_id).where(ASSIGNMENTS.c.kind == "anchor").limit(1)
    return int(mode == Mode.PUBLIC.value and connection.execute(dealt).first() is not None)


def _frame(rows: Sequence[Any]) -> pl.DataFrame:
    schema = {**dict.fromkeys(_COUNTED, pl.String), "stream": pl.Int64}
    return pl.DataFrame([[getattr(row, name) for name in _COUNTED] for row in rows], schema=schema, orient="row")


def _rated(battles: Battles, left_out: int, *, prior_ties: float = 0.0) -> Board:
    if not battles.count:
        return Board(0, None, "There are no settled votes yet.", left_out)
    try:
        board = with_listing(rank(battles, interval="sandwich", prior_ties=prior_ties), battles)
    except RankingError as error:
        return Board(battles.count, None, str(error).splitlines()[0], left_out)
    return Board(battles.count, board, "", left_out)

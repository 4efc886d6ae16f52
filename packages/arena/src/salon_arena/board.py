"""The live board: settled answers folded into counts, ranked with sandwich intervals whenever somebody asks."""

import json
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection, select

from salon_arena.database import ANSWERS, ASSIGNMENTS, SETTLED, ArenaDatabase
from salon_arena.planner import STREAMS
from salon_ranking.battles import Battles
from salon_ranking.errors import RankingError
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.ranking import rank
from salon_ranking.models.arena import Arena
from salon_taxonomy.records import Side, Winner

_STREAM: Final = "plan_stream"


@dataclass(frozen=True, slots=True)
class Board:
    """Models by rating, or the reason why they cannot be rated yet.

    Attributes:
        votes: settled answers so far.
        board: the leaderboard; None while the answers cannot rate the models.
        reason: why there is none; empty when there is one.
    """

    votes: int
    board: Leaderboard | None
    reason: str = ""


def winner_of(choice: str, model_a_shown: str) -> Winner:
    """Translate an answer about sides into one about models.

    Example:
        >>> winner_of("left", "right").value, winner_of("both_bad", "left").value
        ('model_b', 'both_bad')
    """
    if choice in (Side.LEFT.value, Side.RIGHT.value):
        return Winner.MODEL_A if choice == model_a_shown else Winner.MODEL_B
    return Winner(choice)


class LiveBoard:
    """Counts of all settled answers. Safe to use from several threads.

    Args:
        database: the answers; each is read once.
    """

    def __init__(self, database: ArenaDatabase) -> None:
        self._database = database
        self._arena = Arena()
        self._streams = {stream: Arena() for stream in STREAMS}
        self._last = 0
        self._lock = Lock()
        self._ranked: Board | None = None

    def counts(self) -> dict[int, Battles]:
        """Fold the answers settled since the last call, and return the counts of each stream of the plan."""
        with self._lock:
            self._fold()
            return {stream: arena.battles() for stream, arena in self._streams.items()}

    def ranked(self) -> Board:
        """Rate the models: Bradley-Terry, ties half a win each (MEF, equation 1), the lowest rated model fixed at 1,000."""
        with self._lock:
            self._fold()
            if self._ranked is None:
                self._ranked = self._rate()
            return self._ranked

    def _fold(self) -> None:
        rows = self._database.read(lambda connection: _settled_after(connection, self._last))
        if rows:
            frame = pl.DataFrame([row for _, row in rows], schema_overrides={_STREAM: pl.Int64})
            self._arena = self._arena.update(frame.drop(_STREAM))
            for stream in STREAMS:
                mine = frame.filter(pl.col(_STREAM) == stream).drop(_STREAM)
                if mine.height:
                    self._streams[stream] = self._streams[stream].update(mine)
            self._last = rows[-1][0]
            self._ranked = None

    def _rate(self) -> Board:
        battles = self._arena.battles()
        if not battles.count:
            return Board(0, None, "There are no settled votes yet.")
        try:
            return Board(battles.count, rank(battles, interval="sandwich"))
        except RankingError as error:
            return Board(battles.count, None, str(error).splitlines()[0])


def _settled_after(connection: Connection, last: int) -> list[tuple[int, dict[str, Any]]]:
    query = (
        select(SETTLED.c.number, ANSWERS.c.choice, ASSIGNMENTS.c.payload)
        .join(ANSWERS, ANSWERS.c.answer_id == SETTLED.c.answer_id)
        .join(ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == SETTLED.c.assignment_id)
        .where(SETTLED.c.number > last)
        .order_by(SETTLED.c.number)
    )
    found = []
    for number, choice, text in connection.execute(query):
        payload = json.loads(text)
        winner = winner_of(choice, payload["side_a_shown"]).value
        row = {name: payload[name] for name in ("model_a", "model_b", _STREAM)}
        found.append((number, {**row, "winner": winner}))
    return found

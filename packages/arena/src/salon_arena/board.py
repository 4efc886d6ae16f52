"""Boards: settled votes as counts, ranked on request with intervals that hold at every look.

Left out, and counted: anchors, tests and audits; votes of flagged raters; in public mode with anchors, votes of raters who have
not answered enough anchors yet. Nothing is deleted: a rater whose flag goes is counted again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import polars as pl
from sqlalchemy import ColumnElement, Connection, case, func, select, true

from salon_arena.database import ArenaDatabase
from salon_arena.tables import ASSIGNMENTS, FLAGS, SETTLED
from salon_ranking.battles import Battles
from salon_ranking.diagnostics.head_to_head import head_to_head
from salon_ranking.errors import RankingError, UnratableError
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.listing import with_listing
from salon_ranking.leaderboard.ranking import rank
from salon_ranking.models.growing_league import GrowingLeague
from salon_ranking.uncertainty.options import Interval
from salon_taxonomy.records import Mode

STREAMS: Final = (1, 2)
_COUNTED: Final = ("model_a", "model_b", "winner")
_VOTES: Final = select(SETTLED.c.number, SETTLED.c.rater_id, SETTLED.c.scenario, *(SETTLED.c[name] for name in _COUNTED))
_ROWS_AT_ONCE: Final = 20_000


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


class _Tally:
    """Settled battles of one kind, as counts that grow. Safe to use from several threads.

    Args:
        database: the votes; each is read once.
        counted: which of them are of the kind.
        excluded: raters whose votes do not count.
    """

    def __init__(self, database: ArenaDatabase, counted: ColumnElement[bool], excluded: frozenset[str]) -> None:
        self._database = database
        self._counted = counted
        self._excluded = excluded
        self._lock = Lock()
        self._ranking = Lock()
        self._league = GrowingLeague()
        self._last = self._left_out = 0
        self._ranked_to = 0
        self._board: Board | None = None
        self.scenarios: set[str] = set()

    def without(self, excluded: frozenset[str]) -> "_Tally":
        """Return the same battles without those of other raters, counted from the start."""
        tally = _Tally(self._database, self._counted, excluded)
        tally.read()
        return tally

    def read(self) -> tuple[Battles, int, int]:
        """Read the newly settled votes.

        Returns:
            All that count, how many do not, and the number of the last one.
        """
        with self._lock:
            while rows := self._database.read(self._next):
                self._last = rows[-1].number
                self.scenarios.update(row.scenario for row in rows if row.scenario is not None)
                kept = [row for row in rows if row.rater_id not in self._excluded]
                self._left_out += len(rows) - len(kept)
                if kept:
                    self._league = self._league.update(frame_of(kept))
            return self._league.battles(), self._left_out, self._last

    def ranked(self) -> Board:
        """Rate the models, again when there are new votes; :meth:`read` does not wait for it."""
        with self._ranking:
            battles, left_out, last = self.read()
            if self._board is None or self._ranked_to != last:
                self._board, self._ranked_to = rated(battles, left_out), last
            return self._board

    def _next(self, connection: Connection) -> Sequence[Any]:
        new = (SETTLED.c.number > self._last) & (SETTLED.c.kind == "battle") & self._counted
        return connection.execute(_VOTES.where(new).order_by(SETTLED.c.number).limit(_ROWS_AT_ONCE)).all()


class LiveBoard:
    """Counts of all settled battles. Safe to use from several threads.

    Args:
        database: the votes; each is read once, and again when the raters who count have changed.
        anchors_first: a rater's votes count after so many answered anchors.
    """

    def __init__(self, database: ArenaDatabase, *, anchors_first: int = 0) -> None:
        self.database = database
        self._anchors_first = anchors_first
        self._lock = Lock()
        self._excluded = self._not_counted()
        self._tallies: dict[str | int | None, _Tally] = {}

    def counts(self) -> dict[int, Battles]:
        """Return the votes that are settled and count, of each stream of the plan."""
        return {stream: self._tally(stream, SETTLED.c.stream == stream).read()[0] for stream in STREAMS}

    def ranked(self, scenario: str | None = None) -> Board:
        """Rate the models: Bradley-Terry, ties half a win each (MEF, equation 1), the lowest rated model fixed at 1,000.

        Args:
            scenario: votes on prompts of this scenario alone; None: all votes.
        """
        return self._tally(scenario, true() if scenario is None else SETTLED.c.scenario == scenario).ranked()

    def scenarios(self) -> list[str]:
        """Return the scenarios that have settled votes, in ascending order."""
        everything = self._tally(None, true())
        everything.read()
        return sorted(everything.scenarios)

    def refresh(self) -> None:
        """Count again from the start if the raters who count have changed. The old counts are used meanwhile."""
        excluded = self._not_counted()
        if excluded != self._excluded:
            with self._lock:
                tallies = dict(self._tallies)
            again = {key: tally.without(excluded) for key, tally in tallies.items()}
            with self._lock:
                self._excluded, self._tallies = excluded, again

    @property
    def excluded(self) -> frozenset[str]:
        """Raters whose votes do not count, as of the last :meth:`refresh`."""
        return self._excluded

    def _tally(self, key: str | int | None, counted: ColumnElement[bool]) -> _Tally:
        with self._lock:
            return self._tallies.setdefault(key, _Tally(self.database, counted, self._excluded))

    def _not_counted(self) -> frozenset[str]:
        return frozenset(self.database.read(lambda connection: raters_left_out(connection, self._anchors_first)))


def raters_left_out(connection: Connection, anchors_first: int) -> dict[str, str]:
    """Return the raters whose votes no board counts, with the reason.

    Args:
        connection: of the arena's database.
        anchors_first: a rater's votes count after so many answered anchors.
    """
    reason_of: dict[str, str] = {}
    if anchors_first:
        anchors = func.sum(case((SETTLED.c.kind == "anchor", 1), else_=0))
        few = select(SETTLED.c.rater_id).group_by(SETTLED.c.rater_id).having(anchors < anchors_first)
        reason_of = dict.fromkeys(connection.execute(few).scalars(), "too few anchors")
    for rater_id, reason in connection.execute(select(FLAGS.c.rater_id, FLAGS.c.reason).order_by(FLAGS.c.reason)):
        reason_of[rater_id] = f"{reason_of[rater_id]}, {reason}" if rater_id in reason_of else reason
    return reason_of


def anchors_wanted(connection: Connection, mode: str) -> int:
    """Return after how many anchors a rater's votes count: one in a public arena that has dealt any, else none."""
    dealt = select(ASSIGNMENTS.c.assignment_id).where(ASSIGNMENTS.c.kind == "anchor").limit(1)
    return int(mode == Mode.PUBLIC.value and connection.execute(dealt).first() is not None)


def frame_of(rows: Sequence[Any]) -> pl.DataFrame:
    columns = {name: [getattr(row, name) for row in rows] for name in _COUNTED}
    return pl.DataFrame(columns, schema=dict.fromkeys(_COUNTED, pl.String))


def rated(battles: Battles, left_out: int, *, prior_ties: float = 0.0) -> Board:
    if not battles.count:
        return Board(0, None, "There are no settled votes yet.", left_out)
    try:
        interval: Interval = "sandwich" if prior_ties else "anytime"
        board = with_listing(rank(battles, interval=interval, prior_ties=prior_ties), battles)
    except UnratableError as error:
        return Board(battles.count, None, _too_few(error.groups, battles), left_out)
    except RankingError as error:
        return Board(battles.count, None, str(error).splitlines()[0], left_out)
    return Board(battles.count, board, "", left_out)


def _too_few(groups: Sequence[Sequence[str]], battles: Battles) -> str:
    """Say which models cannot be compared yet, and how many decided votes can be enough.

    Each group needs a win and a loss.
    """
    group_of = {model: place for place, group in enumerate(groups) for model in group}
    pairs = [(group_of[row["model"]], group_of[row["opponent"]]) for row in head_to_head(battles).to_dicts() if row["wins"] > 0]
    decided = [pair for pair in pairs if pair[0] != pair[1]]
    missing = len(groups) - min(len({winner for winner, _ in decided}), len({loser for _, loser in decided}))
    named = "; ".join(", ".join(group) for group in groups)
    votes = "one more vote" if missing == 1 else f"{missing:,} more votes"
    return f"Too few votes to compare all models. Not comparable with each other yet: {named}. At least {votes} between them."

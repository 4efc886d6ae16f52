"""Publish boards in batches, so that no single vote can be seen in them.

A board that moves after every vote tells who was in the pair: the two models whose matches rose. So raters and visitors see the
votes up to a published number. It moves on when enough further votes were final for a minute, and no rater gave more than half
of them. Admins see :class:`salon_arena.board.LiveBoard`.

| names of models | a batch | boards of scenarios |
| --- | --- | --- |
| told after each vote | 20 votes of one scenario, so that no difference of two boards is a smaller one | published |
| hidden | 1,000 votes | when the study has ended |
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, select

from salon_arena.board import Board, LiveBoard, frame_of, rated
from salon_arena.chain import add_row
from salon_arena.database import ENDED
from salon_arena.tables import BOARDS, SETTLED
from salon_ranking.models.growing_league import GrowingLeague

BATCH: Final = 20
HIDDEN_BATCH: Final = 1000
"""Votes of a batch where names are hidden: who gave half of them guesses one of his own pairs rightly in 52% of cases."""
LARGEST_SHARE: Final = 0.5
"""Of a batch, of one rater."""
DELAY_S: Final = 60
PERSONAL_VOTES: Final = 30
"""A rater with fewer votes has no personal board."""
PERSONAL_PRIOR: Final = 1.0
"""Drawn battles against a mean opponent that every model has on a personal board."""
_ALL: Final = "[]"
"""The part that is all votes. Of others the part is a JSON list with the scenario, which may be null."""
_SECOND: Final = 1_000_000
_ROWS_AT_ONCE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published of a part of the votes: those up to ``upto``, without those of the raters ``excluded``."""

    upto: int = 0
    excluded: frozenset[str] = frozenset()


class PublishedBoard:
    """The board that raters and visitors see. Safe to use from several threads.

    Args:
        live: the board of all settled votes.
        hidden: raters never learn which model made what; None: as the last publication says.
    """

    def __init__(self, live: LiveBoard, *, hidden: bool | None) -> None:
        self._live = live
        self._database = live.database
        self._hidden = hidden
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._read: dict[str, Publication] = {}
        self._leagues: dict[str, GrowingLeague] = {}
        self._left_out: dict[str, int] = {}
        self._boards: dict[str, Board] = {}

    @property
    def ended(self) -> bool:
        """Whether the study has ended; then everybody sees all votes."""
        return self._database.setting(ENDED) is not None

    def ranked(self, scenario: str | None = None) -> Board:
        """Rate the models by the published votes.

        Args:
            scenario: votes on prompts of this scenario alone; None: all.
        """
        if self.ended:
            return self._live.ranked(scenario)
        with self._lock:
            self._follow()
            part = _ALL if scenario is None else _part(scenario)
            if part not in self._leagues:
                return Board(0, None, self._waiting)
            if part not in self._boards:
                self._boards[part] = rated(self._leagues[part].battles(), self._left_out.get(part, 0))
            return self._boards[part]

    def scenarios(self) -> list[str]:
        """Return the scenarios whose boards are published, in ascending order."""
        if self.ended:
            return self._live.scenarios()
        with self._lock:
            self._follow()
            names = [name for part in self._read for name in json.loads(part)]
        return sorted(name for name in names if name is not None)

    def personal(self, rater_id: str) -> Board:
        """Return what one rater's published votes say, with a prior, from 30 votes on.

        Where names are hidden it is returned once the study ended.
        Anchors are among them, or a rater saw by what is missing which tasks were anchors.
        """
        ended = self.ended
        if self._hidden and not ended:
            return Board(0, None, "Your own board opens when the study has ended.")
        query = select(SETTLED).where((SETTLED.c.rater_id == rater_id) & SETTLED.c.kind.in_(["battle", "anchor"]))
        rows: Sequence[Any] = self._database.read(lambda connection: list(connection.execute(query)))
        if not ended:
            upto = {part: each.upto for part, each in self._database.read(self._latest).items()}
            rows = [row for row in rows if row.number <= upto.get(_part(row.scenario), upto.get(_ALL, 0))]
        if len(rows) < PERSONAL_VOTES:
            return Board(len(rows), None, self._few(len(rows), ended))
        league = GrowingLeague().update(frame_of(rows))
        return rated(league.battles(), 0, prior_ties=PERSONAL_PRIOR)

    def publish(self, now: int) -> int:
        """Publish what makes a batch; returns of how many parts.

        Args:
            now: microseconds since 1970.

        Raises:
            StorageError: the database cannot be read or written.
        """
        excluded = self._live.excluded
        due = self._database.read(lambda connection: self._due(connection, excluded, now))
        if due:
            self._database.write(lambda connection: _publish(connection, due, now)).result()
        return len(due)

    @property
    def _waiting(self) -> str:
        if self._hidden:
            return f"The board opens when the study has ended, or has {HIDDEN_BATCH:,} votes."
        batches = f"batches of {BATCH} or more, each scenario's by themselves, at most half of them by one person"
        return f"The board shows votes in {batches}, a minute after they are final. Votes of flagged raters do not count."

    def _few(self, votes: int, ended: bool) -> str:
        if ended:
            return f"A board of your own needs {PERSONAL_VOTES} settled votes, and has {votes}."
        return f"A board of your own needs {PERSONAL_VOTES} published votes, and has {votes}. {self._waiting}"

    def _latest(self, connection: Connection) -> dict[str, Publication]:
        """Return the last publication of each part, of the one kind that is published now."""
        rows = list(connection.execute(select(BOARDS).order_by(BOARDS.c.number)))
        hidden = self._hidden if self._hidden is not None else bool(rows) and rows[-1].part == _ALL
        return {row.part: _publication(row) for row in rows if (row.part == _ALL) == hidden}

    def _due(self, connection: Connection, excluded: frozenset[str], now: int) -> dict[str, tuple[Publication, Publication]]:
        """Return the parts that have a batch, with the publications before and now."""
        before = select(SETTLED.c.number).where(SETTLED.c.settled_at <= now - DELAY_S * _SECOND)
        upto = connection.execute(before.order_by(SETTLED.c.number.desc()).limit(1)).scalar_one_or_none()
        if upto is None:
            return {}
        latest = self._latest(connection)
        parts = [_ALL]
        if not self._hidden:
            least = min((each.upto for each in latest.values()), default=0)
            new = select(SETTLED.c.scenario).where((SETTLED.c.number > least) & (SETTLED.c.kind == "battle")).distinct()
            parts = sorted({*latest, *(_part(name) for name in connection.execute(new).scalars())})
        due = {}
        for part in parts:
            old, new_one = latest.get(part, Publication()), Publication(upto, excluded)
            changes = _changes(connection, part, old, new_one)
            total = sum(changes.values())
            batch = HIDDEN_BATCH if part == _ALL else BATCH
            if total >= batch and max(changes.values()) <= LARGEST_SHARE * total:
                due[part] = (old, new_one)
        return due

    def _follow(self) -> None:
        """Add the votes that were published since the last call."""
        latest = self._database.read(self._latest)
        if any(self._read[part].excluded != latest[part].excluded for part in self._read.keys() & latest.keys()):
            self._begin()
        for part, publication in latest.items():
            last = self._read.get(part, Publication()).upto
            while rows := self._rows(part, last, publication.upto):
                last = rows[-1].number
                kept = [row for row in rows if row.rater_id not in publication.excluded]
                for key in {part, _ALL}:
                    self._left_out[key] = self._left_out.get(key, 0) + len(rows) - len(kept)
                    self._boards.pop(key, None)
                    if kept:
                        self._leagues[key] = self._leagues.get(key, GrowingLeague()).update(frame_of(kept))
                self._read[part] = Publication(last, publication.excluded)  # the next read may fail: these are counted
            self._read[part] = publication

    def _rows(self, part: str, after: int, upto: int) -> Sequence[Any]:
        these = _votes_of(part) & (SETTLED.c.number > after) & (SETTLED.c.number <= upto)
        query = select(SETTLED).where(these).order_by(SETTLED.c.number).limit(_ROWS_AT_ONCE)
        return self._database.read(lambda connection: connection.execute(query).all())


def _part(scenario: str | None) -> str:
    return json.dumps([scenario], ensure_ascii=False)


def _publication(row: Any) -> Publication:
    return Publication(row.upto, frozenset(json.loads(row.excluded)))


def _votes_of(part: str) -> ColumnElement[bool]:
    battles = SETTLED.c.kind == "battle"
    for scenario in json.loads(part):
        battles &= SETTLED.c.scenario.is_not_distinct_from(scenario)
    return battles


def _changes(connection: Connection, part: str, old: Publication, new: Publication) -> dict[str, int]:
    """Return how many votes of each rater a new publication adds to the board or takes off it."""
    votes = _votes_of(part)
    added = (SETTLED.c.number > old.upto) & (SETTLED.c.number <= new.upto) & SETTLED.c.rater_id.not_in(new.excluded)
    moved = (SETTLED.c.number <= old.upto) & SETTLED.c.rater_id.in_(old.excluded ^ new.excluded)
    query = select(SETTLED.c.rater_id, func.count()).where(votes & (added | moved)).group_by(SETTLED.c.rater_id)
    return dict(connection.execute(query).all())


def _publish(connection: Connection, due: dict[str, tuple[Publication, Publication]], now: int) -> None:
    """Write publications, but for parts that another server has published meanwhile."""
    for part, (old, new) in due.items():
        last = select(BOARDS).where(BOARDS.c.part == part).order_by(BOARDS.c.number.desc()).limit(1)
        row = connection.execute(last).first()
        if (Publication() if row is None else _publication(row)) == old:
            values = {"at": now, "part": part, "upto": new.upto, "excluded": json.dumps(sorted(new.excluded))}
            add_row(connection, BOARDS, values)

"""Leases, answers, undo, settling: what is the same for every kind of task.

open ── answer ──► answered ── 10 s, or the rater's next answer ──► settled (final, exported)
  ▲                   │
  └────── undo ───────┘            open ── a file cannot be read ──► void
"""

import json
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from sqlalchemy import Connection, bindparam, func, insert, select, update

from salon_arena import quality
from salon_arena.battles import BattleRules, BattleTask
from salon_arena.blind import BlindMedia, BlindSet
from salon_arena.board import LiveBoard
from salon_arena.chain import add_row, bind, task_digest
from salon_arena.database import ENDED, HEARD, PUBLIC_SEED, ArenaDatabase
from salon_arena.draws import PlanDraws
from salon_arena.errors import RefusedError
from salon_arena.material import Material
from salon_arena.people import CONSENT, People, read_rater
from salon_arena.settling import UNDO, settle_due, settle_earlier
from salon_arena.tables import ANSWERS, ASSIGNMENTS, SETTINGS
from salon_arena.tasks import Draft, Task, files_of, prompt_shown
from salon_judges.formats.generations import Generated
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Mode
from salon_taxonomy.verdict import Unscored

SECOND: Final = 1_000_000
"""Times are whole microseconds since 1970, UTC."""
LEASE_SECONDS: Final = 1800
AHEAD: Final = 3
"""Tasks leased beyond the one that is shown, so that their files are there when they are needed."""
_LONGEST_ELAPSED_MS: Final = 7 * 24 * 3600 * 1000
_NO_UNDO: Final = ("qualification",)
_MOST_REMEMBERED: Final = 100_000

# Statements are made once: to make one takes longer than to run it.
_MINE: Final = select(ASSIGNMENTS).where(ASSIGNMENTS.c.rater_id == bindparam("rater"))
_BUSY: Final = _MINE.where(ASSIGNMENTS.c.state.in_(["open", "answered"])).order_by(ASSIGNMENTS.c.issued_at)
_TASK: Final = _MINE.where(ASSIGNMENTS.c.assignment_id == bindparam("task"))
_KNOWN: Final = select(ANSWERS.c.body, ANSWERS.c.version).where(ANSWERS.c.answer_id == bindparam("answer"))
_ENDED: Final = select(SETTINGS.c.value).where(SETTINGS.c.key == ENDED)
_LEASE: Final = insert(ASSIGNMENTS)
_SENT: Final = update(ASSIGNMENTS).where(ASSIGNMENTS.c.assignment_id == bindparam("task")).values(digests=bindparam("known"))
_LAST_ANSWER: Final = (
    update(ASSIGNMENTS)
    .where(ASSIGNMENTS.c.assignment_id == bindparam("task"))
    .values(answer_id=bindparam("answer"), answered_at=bindparam("at"), state=bindparam("new_state"))
)


class AnswerBody(BaseModel):
    """What the page sends: one answer, or the undoing of one.

    Attributes:
        answer_id: drawn by the page; sending the same body again gives the same reply and stores nothing.
        assignment: the task that is answered.
        choice: for a battle ``left``, ``right``, ``both_good`` or ``both_bad``; for other tasks what their page collects;
            ``undo`` for every task.
        elapsed_ms: milliseconds from the files' appearance to the answer.
        supersedes: the latest answer of the same task that this one replaces; None for the first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer_id: UUID
    assignment: str = Field(min_length=1, max_length=64)
    choice: JsonValue
    elapsed_ms: int = Field(ge=0, le=_LONGEST_ELAPSED_MS)
    supersedes: UUID | None = None

    @property
    def canonical(self) -> str:
        """The same text for the same content."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)


class WorkService:
    """All that raters do, on one database. Safe to use from several threads.

    Args:
        database: where everything is kept.
        task: the kind of work.
        consent: the text that raters agree to.
        invited: only who has an invite may join.
        reveal: tell a rater the models of a battle or an anchor once it is settled. Never done for experts.
        seed: of a public plan, from which anyone can compute which model made what is shown. None: the database's secret
            gives a plan that cannot be computed.
        sound: whether videos are heard, equally loud; one arena is heard or silent as a whole.
        clock: returns the time in microseconds since 1970.

    Raises:
        InputError: the database holds other work, or began with another ``sound``.
    """

    def __init__(
        self,
        database: ArenaDatabase,
        task: Task,
        *,
        consent: str = CONSENT,
        invited: bool = False,
        reveal: bool = True,
        seed: int | None = None,
        sound: bool = False,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.database = database
        self.task = task
        self.clock = clock
        database.claim(task.work)
        self.sound = sound
        self._claim_sound()
        if seed is not None:
            database.note(PUBLIC_SEED, str(seed))
        task.begin(PlanDraws.of(database, seed))
        self.public_plan = database.setting(PUBLIC_SEED) is not None
        self.people = People(database, clock, consent=consent, invited=invited)
        self.reveal = reveal and database.mode == Mode.PUBLIC.value
        self._media = BlindMedia(sound=sound)
        self._sent: dict[tuple[str, int], str] = {}

    def _claim_sound(self) -> None:
        """Note that this arena is heard: the votes of people who heard the videos are not mixed with others'."""
        heard = self.database.setting(HEARD) is not None
        if self.sound and not heard and not self.counts()[0]:
            self.database.note(HEARD, "yes")
        elif self.sound != heard:
            began = "with sound" if heard else "without sound"
            hint = "Serve it as it began, or name another database with --database."
            raise InputError("is an arena that began", source=self.database.place, value=began, hint=hint)

    # Tasks

    def lease(self, rater_id: str) -> "Future[dict[str, Any]]":
        """Return the rater's open tasks, the current one first; lease more until there are four.

        The reply stays the same until something is answered. It contains nothing about models or files.

        The future raises :class:`RefusedError` 401 for a rater who was forgotten or has not agreed to the present consent text.
        """
        return self.database.write(lambda connection: self._lease(connection, rater_id))

    def _lease(self, connection: Connection, rater_id: str) -> dict[str, Any]:
        now = self.clock()
        self._refuse_forgotten(connection, rater_id)
        rater = read_rater(connection, rater_id)
        reply = self.task.standing(connection, rater, now)
        if rater.role == "admin":
            return {**reply, "state": "admin", "tasks": [], "last": None}
        if rater.suspended_until > now:
            return {**reply, "state": "suspended", "until": rater.suspended_until, "tasks": [], "last": None}
        if _ended(connection):
            return {**reply, "state": "ended", "tasks": [], "last": None}
        rows = list(connection.execute(_BUSY, {"rater": rater_id}))
        still = [row for row in rows if row.state == "open"]
        drafts = self.task.draw(connection, rater, AHEAD + 1 - len(still), now) if len(still) <= AHEAD else []
        new: list[dict[str, Any]] = []
        if drafts:
            issued = max([now, *(row.issued_at + 1 for row in rows)])  # orders a rater's tasks, whatever the clock does
            new = [_assignment(draft, rater_id, issued + place, now) for place, draft in enumerate(drafts)]
            connection.execute(_LEASE, new)
            bind(connection, ASSIGNMENTS, *(each["assignment_id"] for each in new))
        ending = [row.assignment_id for row in still if row.lease_until < now + LEASE_SECONDS * SECOND // 2]
        if ending:
            until = now + LEASE_SECONDS * SECOND
            connection.execute(update(ASSIGNMENTS).where(ASSIGNMENTS.c.assignment_id.in_(ending)).values(lease_until=until))
            bind(connection, ASSIGNMENTS, *ending)
        last = next((row for row in rows if row.state == "answered" and row.kind not in _NO_UNDO), None)
        dealt = [(row.assignment_id, row.payload, row.answer_id) for row in still]
        dealt += [(each["assignment_id"], each["payload"], None) for each in new]
        return {
            **reply,
            "tasks": [self._shown(*each) for each in dealt],
            "last": None
            if last is None
            else {"answer_id": last.answer_id, "task": self._shown(last.assignment_id, last.payload, last.answer_id)},
        }

    def _refuse_forgotten(self, connection: Connection, rater_id: str) -> None:
        """Refuse who was forgotten, or has yet to agree, while this process remembers their session."""
        if not self.people.has_agreed(connection, rater_id):
            raise RefusedError(401, "no_session")

    def _shown(self, assignment_id: str, text: str, answer_id: str | None) -> dict[str, Any]:
        """Return what the page learns of a task: the prompt, and where its anonymous files are."""
        payload = json.loads(text)
        media = [f"/media/{assignment_id}/{place}" for place in range(len(payload["files"]))]
        known = {"assignment": assignment_id, "media": media, "supersedes": answer_id}
        return {**known, **prompt_shown(payload), **self.task.shown(payload)}

    def answered(self, rater_id: str) -> int:
        """Return how many tasks the rater has answered."""
        mine = (ASSIGNMENTS.c.rater_id == rater_id) & ASSIGNMENTS.c.state.in_(["answered", "settled"])
        return self.database.read(lambda connection: connection.execute(select(func.count()).where(mine)).scalar_one())

    def counts(self) -> tuple[dict[str, int], int]:
        """Return how many tasks are in each state, and how many answers are stored."""
        states = select(ASSIGNMENTS.c.state, func.count()).group_by(ASSIGNMENTS.c.state)
        answers = select(func.coalesce(func.max(ANSWERS.c.number), 0))
        return self.database.read(lambda c: (dict(c.execute(states).all()), c.execute(answers).scalar_one()))

    def files(self, rater_id: str, assignment_id: str) -> BlindSet:
        """Return the files of an open or just answered task of this rater.

        Raises:
            RefusedError: 404 for an unknown task or one of another rater, 410 when the task can no longer be shown.
        """
        key = {"task": assignment_id, "rater": rater_id}
        row = self.database.read(lambda connection: connection.execute(_TASK, key).first())
        if row is None:
            raise RefusedError(404, "unknown_file")
        if row.state not in ("open", "answered"):
            raise RefusedError(410, "task_closed")
        prepared = self._media.prepared(files_of(json.loads(row.payload)))
        if isinstance(prepared, Unscored):
            self.database.write(lambda connection: _void(connection, assignment_id, self.clock()))
            raise RefusedError(410, "task_closed")
        return prepared

    def sent(self, rater_id: str, assignment_id: str, files: BlindSet, number: int) -> "Future[None]":
        """Note that a file of a task was sent whole to its rater. The task can be answered once all were.

        While the database cannot be written, this process remembers it.
        """
        if len(self._sent) >= _MOST_REMEMBERED:
            self._sent.clear()
        self._sent[assignment_id, number] = files.digests[number]
        return self.database.write(lambda connection: _note_sent(connection, rater_id, assignment_id, files.digests, number))

    def look(self, rater_id: str, assignment_id: str) -> None:
        """Fetch all files of a task as a page does. For simulations.

        Raises:
            RefusedError: as :meth:`files`.
        """
        files = self.files(rater_id, assignment_id)
        for number in range(len(files.media)):
            self.sent(rater_id, assignment_id, files, number).result()

    # Answers

    def answer(self, rater_id: str, body: AnswerBody) -> "Future[dict[str, Any]]":
        """Store one answer, or the undoing of one; the future is done when it is on disk.

        The same body again gives the same reply and stores nothing. An answer settles the rater's earlier ones. An answer to
        a lease that ran out counts as long as the task is open: the page may have been offline.

        The future raises :class:`StorageError`, or :class:`RefusedError`: 401 as :meth:`lease`; 404 for a task of another
        rater; 409 ``other_body`` for a known id with another content, ``not_shown`` before all files of the task were sent,
        ``settled`` for undoing too late, ``answered_already`` for a task that another answer closed, ``void`` for one that
        cannot be shown, ``ended`` once the study has ended; 422 for an answer that does not fit the task.
        """
        return self.database.write(lambda connection: self._answer(connection, rater_id, body))

    def _answer(self, connection: Connection, rater_id: str, body: AnswerBody) -> dict[str, Any]:
        now, answer_id = self.clock(), str(body.answer_id)
        self._refuse_forgotten(connection, rater_id)
        row = connection.execute(_TASK, {"task": body.assignment, "rater": rater_id}).first()
        if row is None:
            raise RefusedError(404, "unknown_task")
        known = connection.execute(_KNOWN, {"answer": answer_id}).first()
        if known is not None:
            if known.body != body.canonical:
                raise RefusedError(409, "other_body")
            return {"answer_id": answer_id, "version": known.version}
        if _ended(connection):
            raise RefusedError(409, "ended")
        payload = json.loads(row.payload)
        file_digests: list[str | None] = json.loads(row.digests) if row.digests else [None] * len(payload["files"])
        if None in file_digests:
            file_digests = [digest or self._sent.get((body.assignment, place)) for place, digest in enumerate(file_digests)]
        if None in file_digests:
            raise RefusedError(409, "not_shown")
        digests = json.dumps(file_digests) if file_digests else None
        before = None if body.supersedes is None else str(body.supersedes)
        undoing = body.choice == UNDO
        if row.state != ("answered" if undoing else "open") or row.answer_id != before:
            raise RefusedError(409, {"settled": "settled", "void": "void"}.get(row.state, "answered_already"))
        version = 1
        if before is not None:
            version += connection.execute(_KNOWN, {"answer": before}).one().version
        new = {
            "answer_id": answer_id,
            "assignment_id": body.assignment,
            "version": version,
            "body": body.canonical,
            "choice": UNDO if undoing else self.task.check(payload, body.choice),
            "elapsed_ms": min(body.elapsed_ms, max(0, (now - row.issued_at) // 1000)),
            "received_at": now,
            "supersedes": before,
            "shown": task_digest({**row._mapping, "digests": digests}),
        }
        if digests != row.digests:
            connection.execute(_SENT, {"task": body.assignment, "known": digests})
        add_row(connection, ANSWERS, new)
        bind(connection, ASSIGNMENTS, body.assignment)
        state = "open" if undoing else "answered"
        connection.execute(_LAST_ANSWER, {"task": body.assignment, "answer": answer_id, "at": now, "new_state": state})
        if not undoing:
            settle_earlier(connection, rater_id, "" if row.kind in _NO_UNDO else body.assignment, now)
        return {"answer_id": answer_id, "version": version}

    def settle_due(self) -> "Future[int]":
        """Settle the answers that are older than 10 s; the future returns how many."""
        return settle_due(self.database, self.clock())

    def revealed(self, rater_id: str, assignment_id: str) -> list[str] | None:
        """Return the models, left and right, of a settled battle or anchor of this rater.

        Of both, because raters would otherwise learn which are tests.

        None for anything else: other raters' tasks, open ones, experts, arenas that reveal nothing.
        """
        this = (ASSIGNMENTS.c.assignment_id == assignment_id) & (ASSIGNMENTS.c.rater_id == rater_id)
        query = select(ASSIGNMENTS.c.payload).where(
            this & (ASSIGNMENTS.c.state == "settled") & ASSIGNMENTS.c.kind.in_(["battle", "anchor"])
        )
        payload = self.database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        if payload is None or not self.reveal:
            return None
        return [file["model"] for file in json.loads(payload)["files"][:2]]

    def payload_of(self, assignment_id: str) -> dict[str, Any]:
        """Return what was shown. For simulations: no page asks for it."""
        query = select(ASSIGNMENTS.c.payload).where(ASSIGNMENTS.c.assignment_id == assignment_id)
        payload: dict[str, Any] = json.loads(self.database.read(lambda connection: connection.execute(query).scalar_one()))
        return payload


def _ended(connection: Connection) -> bool:
    return connection.execute(_ENDED).first() is not None


def _void(connection: Connection, assignment_id: str, now: int) -> None:
    """Close an open task; a qualification test whose other pairs were answered ends with it."""
    open_task = (ASSIGNMENTS.c.assignment_id == assignment_id) & (ASSIGNMENTS.c.state == "open")
    if connection.execute(update(ASSIGNMENTS).where(open_task).values(state="void")).rowcount:
        bind(connection, ASSIGNMENTS, assignment_id)
        row = connection.execute(select(ASSIGNMENTS).where(ASSIGNMENTS.c.assignment_id == assignment_id)).one()
        if row.kind == "qualification":
            payload = json.loads(row.payload)
            quality.certify(connection, row.rater_id, payload["pairs_of_test"], now, payload["suspended_days"])


def _note_sent(connection: Connection, rater_id: str, assignment_id: str, digests: Sequence[str], number: int) -> None:
    row = connection.execute(_TASK, {"task": assignment_id, "rater": rater_id}).first()
    if row is None or row.state != "open" or row.answer_id is not None:
        return  # what was answered before it was undone stays what was shown
    known: list[str | None] = json.loads(row.digests) if row.digests else [None] * len(digests)
    if known[number] != digests[number]:
        known[number] = digests[number]
        connection.execute(_SENT, {"task": assignment_id, "known": json.dumps(known)})
        bind(connection, ASSIGNMENTS, assignment_id)


def _assignment(draft: Draft, rater_id: str, issued_at: int, now: int) -> dict[str, Any]:
    return {
        "assignment_id": secrets.token_urlsafe(16),
        "rater_id": rater_id,
        "kind": draft.kind,
        "subject": draft.subject,
        "payload": json.dumps(draft.payload),
        "state": "open",
        "issued_at": issued_at,
        "lease_until": now + LEASE_SECONDS * SECOND,
    }


def vote_service(
    database: ArenaDatabase,
    material: Material,
    *,
    rules: BattleRules | None = None,
    pairs: Sequence[tuple[Generated, Generated]] = (),
    **options: Any,
) -> WorkService:
    """Make the service of an arena of battles; ``options`` as for :class:`WorkService`.

    Args:
        database: where everything is kept.
        material: what is compared.
        rules: what tests the raters; None: nothing.
        pairs: the only pairs to deal; empty: all.
    """
    rules = rules or BattleRules()
    counted_from = rules.anchors_first if rules.anchors and database.mode == Mode.PUBLIC.value else 0
    board = LiveBoard(database, anchors_first=counted_from)
    return WorkService(database, BattleTask(material, board, database.mode, rules, pairs), **options)

"""What raters may do: join, get pairs, answer, undo. Every rule of the arena that is not HTTP is here.

open ── answer ──► answered ── 10 s, or the rater's next answer ──► settled (final, exported)
  ▲                   │
  └────── undo ───────┘            open ── a picture cannot be read ──► void
"""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, Row, func, insert, select, update

from salon_arena.blind import BlindPair, BlindPictures
from salon_arena.board import Board, LiveBoard
from salon_arena.database import ANSWERS, ASSIGNMENTS, RATERS, SESSIONS, SETTLED, ArenaDatabase
from salon_arena.errors import RefusedError
from salon_arena.material import Material
from salon_arena.planner import Planned, Planner
from salon_bench.suites.contract.generations import Generated
from salon_taxonomy.records import Side
from salon_taxonomy.verdict import Unscored
from salon_taxonomy.visible_text import visible

SECOND: Final = 1_000_000
"""Times are whole microseconds since 1970, UTC."""
UNDO_SECONDS: Final = 10
LEASE_SECONDS: Final = 1800
AHEAD: Final = 2
"""Pairs leased beyond the one that is shown, so that their pictures are there when they are needed."""
UNDO: Final = "undo"
_LONGEST_ELAPSED_MS: Final = 7 * 24 * 3600 * 1000
_PREPARERS: Final = 2


class AnswerBody(BaseModel):
    """What the page sends: one answer, or the undoing of one.

    Attributes:
        answer_id: drawn by the page; sending the same body again gives the same reply and stores nothing.
        assignment: the pair that is answered.
        choice: ``left``, ``right``, ``both_good``, ``both_bad`` or ``undo``.
        elapsed_ms: milliseconds from the pictures' appearance to the answer.
        supersedes: the latest answer of the same pair that this one replaces; None for the first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer_id: UUID
    assignment: str = Field(min_length=1, max_length=64)
    choice: Literal["left", "right", "both_good", "both_bad", "undo"]
    elapsed_ms: int = Field(ge=0, le=_LONGEST_ELAPSED_MS)
    supersedes: UUID | None = None

    @property
    def canonical(self) -> str:
        """The same text for the same content."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Session:
    """A rater who may vote. ``token`` is the secret of the cookie; the database holds its SHA-256."""

    rater_id: str
    token: str


class VoteService:
    """All that raters do, on one database. Safe to use from several threads.

    Args:
        database: where everything is kept.
        material: what is compared.
        seed: of the plan.
        clock: returns the time in microseconds since 1970.
    """

    def __init__(
        self,
        database: ArenaDatabase,
        material: Material,
        *,
        seed: int = 0,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.database = database
        self.material = material
        self._clock = clock
        self._board = LiveBoard(database)
        self._planner = Planner(material, self._board.counts, seed=seed)
        self._pictures = BlindPictures()
        self._preparing = ThreadPoolExecutor(_PREPARERS, thread_name_prefix="arena-pictures")

    def close(self) -> None:
        """Stop preparing pictures. The database stays open."""
        self._preparing.shutdown(cancel_futures=True)

    # People

    def join(self) -> "Future[Session]":
        """Make a rater with a random id, and a session for them."""
        session = Session(f"rater-{secrets.token_hex(8)}", secrets.token_urlsafe(32))
        row = {"rater_id": session.rater_id, "created_at": self._clock()}

        def work(connection: Connection) -> Session:
            connection.execute(insert(RATERS), row)
            connection.execute(insert(SESSIONS), {**row, "token_hash": token_hash(session.token)})
            return session

        return self.database.write(work)

    def rater_of(self, token: str) -> str | None:
        """The rater of a session's token; None for an unknown one."""
        query = select(SESSIONS.c.rater_id).where(SESSIONS.c.token_hash == token_hash(token))
        return self.database.read(lambda connection: connection.execute(query).scalar_one_or_none())

    # Pairs

    def next_pairs(self, rater_id: str) -> "Future[dict[str, Any]]":
        """Return the rater's open pairs, the current one first; lease more until there are three.

        The reply stays the same until something is answered. It contains nothing about models or files.
        """

        def work(connection: Connection) -> tuple[dict[str, Any], list[Row[Any]]]:
            now = self._clock()
            mine = ASSIGNMENTS.c.rater_id == rater_id
            is_open = mine & (ASSIGNMENTS.c.state == "open")
            missing = AHEAD + 1 - (connection.execute(select(func.count()).where(is_open)).scalar_one())
            if missing > 0:
                earlier = list(connection.execute(select(ASSIGNMENTS.c.pair, ASSIGNMENTS.c.issued_at).where(mine)))
                seen = {pair for pair, _ in earlier}
                issued = max([now, *(at + 1 for _, at in earlier)])  # orders a rater's pairs, whatever the clock does
                for place in range(missing):
                    planned = self._planner.draw(seen)
                    if planned is None:
                        break
                    seen.add(planned.pair)
                    connection.execute(insert(ASSIGNMENTS), self._assignment(planned, rater_id, issued + place))
            lease = LEASE_SECONDS * SECOND
            ending = is_open & (ASSIGNMENTS.c.lease_until < now + lease // 2)
            connection.execute(update(ASSIGNMENTS).where(ending).values(lease_until=now + lease))
            rows = list(connection.execute(select(ASSIGNMENTS).where(is_open).order_by(ASSIGNMENTS.c.issued_at)))
            counted = select(func.count()).where(mine & ASSIGNMENTS.c.state.in_(["answered", "settled"]))
            last = connection.execute(select(ASSIGNMENTS).where(mine & (ASSIGNMENTS.c.state == "answered"))).first()
            reply = {
                "pairs": [_shown(row) for row in rows],
                "answered": connection.execute(counted).scalar_one(),
                "last": None if last is None else {"answer_id": last.answer_id, "pair": _shown(last)},
            }
            return reply, rows

        def prepare(done: "Future[tuple[dict[str, Any], list[Row[Any]]]]") -> None:
            if done.cancelled() or (error := done.exception()) is not None:
                if not done.cancelled():
                    outer.set_exception(error)
                return
            reply, rows = done.result()
            outer.set_result(reply)
            with suppress(RuntimeError):  # the service is closing
                for row in rows:
                    if row.sha256_left is None:
                        self._preparing.submit(self._prepare, row)

        outer: Future[dict[str, Any]] = Future()
        self.database.write(work).add_done_callback(prepare)
        return outer

    def picture(self, rater_id: str, token: str) -> bytes:
        """Return the bytes of one picture of an open or just answered pair of this rater.

        Raises:
            RefusedError: 404 for an unknown token or one of another rater, 410 when the pair can no longer be shown.
        """
        side = (ASSIGNMENTS.c.token_left == token) | (ASSIGNMENTS.c.token_right == token)
        query = select(ASSIGNMENTS).where(side & (ASSIGNMENTS.c.rater_id == rater_id))
        row = self.database.read(lambda connection: connection.execute(query).first())
        if row is None:
            raise RefusedError(404, "unknown_picture")
        if row.state not in ("open", "answered"):
            raise RefusedError(410, "pair_closed")
        pair = self._prepare(row)
        if isinstance(pair, Unscored):
            raise RefusedError(410, "pair_closed")
        return pair.left if token == row.token_left else pair.right

    def _prepare(self, row: Row[Any]) -> BlindPair | Unscored:
        """The pictures of a pair; notes what they are digests of, or closes a pair that cannot be shown."""
        payload = json.loads(row.payload)
        pair = self._pictures.pair(*(_file(payload[side], payload["prompt_id"]) for side in ("left", "right")))
        this = ASSIGNMENTS.c.assignment_id == row.assignment_id
        if isinstance(pair, Unscored):
            noted = update(ASSIGNMENTS).where(this & (ASSIGNMENTS.c.state == "open")).values(state="void")
        elif row.sha256_left is None:
            noted = update(ASSIGNMENTS).where(this).values(sha256_left=pair.sha256_left, sha256_right=pair.sha256_right)
        else:
            return pair
        self.database.write(lambda connection: connection.execute(noted).rowcount)
        return pair

    def _assignment(self, planned: Planned, rater_id: str, now: int) -> dict[str, Any]:
        prompt = self.material.prompts[planned.left.prompt_id]
        a, b = (planned.left, planned.right) if planned.model_a_shown is Side.LEFT else (planned.right, planned.left)
        payload = {
            "prompt_id": prompt.prompt_id,
            "prompt": prompt.text,
            "language": prompt.language,
            "scenario": prompt.scenario,
            "labels": list(prompt.labels),
            "model_a": a.model,
            "model_b": b.model,
            "side_a_shown": planned.model_a_shown.value,
            "plan_rule": planned.rule,
            "plan_stream": planned.stream,
            "left": _pinned(planned.left),
            "right": _pinned(planned.right),
        }
        return {
            "assignment_id": secrets.token_urlsafe(16),
            "rater_id": rater_id,
            "pair": planned.pair,
            "payload": json.dumps(payload),
            "state": "open",
            "issued_at": now,
            "lease_until": now,
            "token_left": secrets.token_urlsafe(16),
            "token_right": secrets.token_urlsafe(16),
        }

    # Answers

    def answer(self, rater_id: str, body: AnswerBody) -> "Future[dict[str, Any]]":
        """Store one answer, or the undoing of one; the future is done when it is on disk.

        The same body again gives the same reply and stores nothing. An answer settles the rater's earlier ones. An answer to
        a lease that ran out counts as long as the pair is open: the page may have been offline.

        The future raises :class:`RefusedError`: 404 for a pair of another rater; 409 ``other_body`` for a known id with another
        content, ``settled`` for undoing too late, ``answered_already`` for a pair that another answer closed, ``void``
        for a pair that cannot be shown; or :class:`StorageError`.
        """
        return self.database.write(lambda connection: self._answer(connection, rater_id, body))

    def _answer(self, connection: Connection, rater_id: str, body: AnswerBody) -> dict[str, Any]:
        now, answer_id = self._clock(), str(body.answer_id)
        this = ASSIGNMENTS.c.assignment_id == body.assignment
        row = connection.execute(select(ASSIGNMENTS).where(this & (ASSIGNMENTS.c.rater_id == rater_id))).first()
        if row is None:
            raise RefusedError(404, "unknown_pair")
        known = connection.execute(select(ANSWERS).where(ANSWERS.c.answer_id == answer_id)).first()
        if known is not None:
            if known.body != body.canonical:
                raise RefusedError(409, "other_body")
            return {"answer_id": answer_id, "version": known.version}
        before = None if body.supersedes is None else str(body.supersedes)
        undoing = body.choice == UNDO
        if row.state != ("answered" if undoing else "open") or row.answer_id != before:
            raise RefusedError(409, {"settled": "settled", "void": "void"}.get(row.state, "answered_already"))
        latest = select(func.coalesce(func.max(ANSWERS.c.version), 0)).where(ANSWERS.c.assignment_id == body.assignment)
        version = connection.execute(latest).scalar_one() + 1
        elapsed = min(body.elapsed_ms, max(0, (now - row.issued_at) // 1000))
        connection.execute(
            insert(ANSWERS),
            {
                "answer_id": answer_id,
                "assignment_id": body.assignment,
                "version": version,
                "body": body.canonical,
                "choice": body.choice,
                "elapsed_ms": elapsed,
                "received_at": now,
                "supersedes": before,
            },
        )
        closed = {"answer_id": answer_id, "answered_at": now, "state": "open" if undoing else "answered"}
        connection.execute(update(ASSIGNMENTS).where(this).values(**closed))
        if not undoing:
            _settle(connection, (ASSIGNMENTS.c.rater_id == rater_id) & ~this, now)
        return {"answer_id": answer_id, "version": version}

    def models_of(self, assignment_id: str) -> tuple[str, str]:
        """The models on the left and on the right of a pair. For simulations: no page asks for it."""
        query = select(ASSIGNMENTS.c.payload).where(ASSIGNMENTS.c.assignment_id == assignment_id)
        payload = json.loads(self.database.read(lambda connection: connection.execute(query).scalar_one()))
        return payload["left"]["model"], payload["right"]["model"]

    def settle_due(self) -> "Future[int]":
        """Settle the answers that are older than 10 s; the future returns how many."""
        return settle_due(self.database, self._clock())

    def board(self) -> Board:
        """The live board of all settled answers."""
        return self._board.ranked()


def settle_due(database: ArenaDatabase, now: int) -> "Future[int]":
    """Settle every answer that was given more than 10 s before ``now`` (microseconds since 1970)."""
    due = ASSIGNMENTS.c.answered_at <= now - UNDO_SECONDS * SECOND
    return database.write(lambda connection: _settle(connection, due, now))


def token_hash(token: str) -> str:
    """Return what the database keeps of a session's token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _settle(connection: Connection, which: Any, now: int) -> int:
    rows = list(
        connection.execute(
            select(ASSIGNMENTS.c.assignment_id, ASSIGNMENTS.c.answer_id)
            .where(which & (ASSIGNMENTS.c.state == "answered"))
            .order_by(ASSIGNMENTS.c.answered_at)
        )
    )
    for assignment_id, answer_id in rows:
        connection.execute(insert(SETTLED), {"assignment_id": assignment_id, "answer_id": answer_id, "settled_at": now})
        connection.execute(update(ASSIGNMENTS).where(ASSIGNMENTS.c.assignment_id == assignment_id).values(state="settled"))
    return len(rows)


def _shown(row: Row[Any]) -> dict[str, Any]:
    """What the page learns of a pair before it is settled: the prompt, and where two anonymous pictures are."""
    payload = json.loads(row.payload)
    return {
        "assignment": row.assignment_id,
        "prompt": visible(payload["prompt"], prose=True),
        "language": payload["language"] or "",
        "left": f"/media/{row.token_left}",
        "right": f"/media/{row.token_right}",
        "supersedes": row.answer_id,
    }


def _pinned(file: Generated) -> dict[str, Any]:
    return {"model": file.model, "sample": file.sample, "path": str(file.path.absolute()), "root": str(file.root.absolute())}


def _file(pinned: Mapping[str, Any], prompt_id: str) -> Generated:
    return Generated(prompt_id, pinned["model"], pinned["sample"], Path(pinned["path"]), Path(pinned["root"]))

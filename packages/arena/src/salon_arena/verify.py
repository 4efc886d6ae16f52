"""Chain answers by hashes: each row commits to all rows before it, so a changed or missing row shows.

    chain_0 = "",   chain_n = SHA-256(chain_{n-1} ‖ canonical JSON of row n)

The row commits to what the rater sent, to which task, what the task showed, and when the answer arrived. It holds no name, so
erasing a person changes none.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, select

from salon_arena.database import ADMIN_LOG, ANSWERS, ASSIGNMENTS, SETTLED, ArenaDatabase
from salon_arena.settling import UNDO, counted

COLUMNS: Final = ("answer_id", "assignment_id", "version", "body", "choice", "elapsed_ms", "received_at", "supersedes")
"""What a link commits to."""
SIGNED: Final = ("at", "admin_id", "action", "detail")
"""What a signature of the admin log commits to, beside the signature before it."""


@dataclass(frozen=True, slots=True)
class VerifiedChain:
    """What was found.

    Attributes:
        answers: rows of the chain.
        head: the last value of the chain; once it is published, a changed row shows.
        problems: a sentence for each row that does not fit; empty when all fit.
    """

    answers: int
    head: str
    problems: tuple[str, ...]


def link(before: str, row: Mapping[str, Any]) -> str:
    """Return the chain value of a row, from the value before it.

    Example:
        >>> row = dict.fromkeys(COLUMNS, 1)
        >>> link("", row) == link("", row) != link("", {**row, "choice": "left"})
        True
    """
    shown = [row["shown"]] if row.get("shown") is not None else []  # rows of earlier versions have none
    text = json.dumps([*(row[name] for name in COLUMNS), *shown], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(before.encode() + text.encode()).hexdigest()


def shown_digest(payload: str) -> str:
    """Return the SHA-256 of a task's payload."""
    return hashlib.sha256(payload.encode()).hexdigest()


_LAST: Final = select(ANSWERS.c.chain).order_by(ANSWERS.c.number.desc()).limit(1)


def last_link(connection: Connection) -> str:
    """Return the last value of the chain; empty before the first answer."""
    return connection.execute(_LAST).scalar_one_or_none() or ""


def verify_answers(database: ArenaDatabase, *, head: str | None = None) -> VerifiedChain:
    """Compute the chain again, compare every settled vote with its answer, and check the signatures of the admin log.

    Args:
        database: the arena's; it may be in use.
        head: a value of the chain that was published earlier; it must be in the chain.
    """
    found = database.read(lambda connection: _verified(connection, head))
    return replace(found, problems=(*found.problems, *log_problems(database)))


def _verified(connection: Connection, head: str | None) -> VerifiedChain:
    problems: list[str] = []
    before, count, found = "", 0, head is None
    last: dict[str, tuple[str, str]] = {}
    same = ASSIGNMENTS.c.assignment_id == ANSWERS.c.assignment_id
    tasks = select(ANSWERS, ASSIGNMENTS.c.payload).outerjoin(ASSIGNMENTS, same)
    for row in connection.execute(tasks.order_by(ANSWERS.c.number)):
        count += 1
        if row.chain != link(before, dict(row._mapping)):
            problems.append(f"answer {row.number} does not continue the chain")
        elif row.shown is not None and row.shown != shown_digest(row.payload or ""):
            problems.append(f"the task of answer {row.number} is not the one that was shown")
        before = row.chain
        found = found or row.chain == head
        last[row.assignment_id] = (row.answer_id, row.choice)
    if not found:
        problems.append("the given head is not in the chain")
    shown = select(SETTLED, ASSIGNMENTS.c.payload, ASSIGNMENTS.c.rater_id.label("asked"), ASSIGNMENTS.c.kind.label("work"))
    votes = shown.join(ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == SETTLED.c.assignment_id).order_by(SETTLED.c.number)
    for row in connection.execute(votes):
        answer_id, choice = last.pop(row.assignment_id, ("", UNDO))
        if answer_id != row.answer_id or choice == UNDO:
            problems.append(f"settled vote {row.number} is not the last answer of its task")
        elif any(getattr(row, name) != value for name, value in counted(json.loads(row.payload), choice).items()):
            problems.append(f"settled vote {row.number} counts something else than was answered")
        elif (row.rater_id, row.kind) != (row.asked, row.work):
            problems.append(f"settled vote {row.number} is of another rater, or of other work, than its task")
    done = select(ASSIGNMENTS.c.assignment_id).where(ASSIGNMENTS.c.state == "settled")
    lost = sorted(last.keys() & set(connection.execute(done).scalars()))
    problems += [f"the settled vote of task {assignment_id} is missing" for assignment_id in lost]
    return VerifiedChain(count, before, tuple(problems))


def signature(database: ArenaDatabase, before: str, row: Mapping[str, Any]) -> str:
    """Return the signature of a row of the log, from the one before it."""
    return database.hmac("admin log", before + json.dumps([row[name] for name in SIGNED], ensure_ascii=False))


def log_problems(database: ArenaDatabase) -> list[str]:
    """A sentence for each row of the log whose signature does not fit."""
    before, problems = "", []
    for row in database.read(lambda connection: list(connection.execute(select(ADMIN_LOG).order_by(ADMIN_LOG.c.number)))):
        if row.signature != signature(database, before, dict(row._mapping)):
            problems.append(f"row {row.number} of the admin log is not the one that was signed")
        before = row.signature
    return problems

"""Verify an arena's database: rows that boards and releases read are those that were written, and say what was answered."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Table, func, select, text
from sqlalchemy.exc import DBAPIError

from salon_arena.chain import key_of, link_value, row_digest, task_digest
from salon_arena.conversion import HEAD, earlier_heads
from salon_arena.database import ArenaDatabase
from salon_arena.settling import UNDO, counted
from salon_arena.tables import ADMIN_LOG, ANSWERS, ASSIGNMENTS, BOUND, CHAIN, INSERT_ONLY, POSTGRES, SETTLED, UNBOUND_SETTINGS

SIGNED: Final = ("at", "admin_id", "action", "detail")
"""What a signature of the admin log commits to, beside the signature before it."""
_BOUND_NAMES: Final = frozenset(table.name for table in BOUND)
_SHOWN_KEY: Final = 120


@dataclass(frozen=True, slots=True)
class VerifiedChain:
    """What was found.

    Attributes:
        answers: how many there are.
        head: the last value of the chain; once it is published, a changed row shows.
        problems: a sentence for each row that does not fit; empty when all fit.
    """

    answers: int
    head: str
    problems: tuple[str, ...]


def verify_answers(database: ArenaDatabase, *, head: str | None = None) -> VerifiedChain:
    """Compute the chain again, compare every row with it, every settled vote with its answer, and every log row's signature.

    Args:
        database: the arena's; it may be in use.
        head: a value of the chain that was published earlier; it must be in the chain.

    Raises:
        StorageError: the database cannot be read.
    """
    return database.read(lambda connection: _verified(connection, database, head))


def _verified(connection: Connection, database: ArenaDatabase, head: str | None) -> VerifiedChain:
    chain = _Chain(connection)
    problems = [*chain.problems]
    problems += _readable(chain.unlike_earlier(connection), ANSWERS.name)
    if head is not None and head not in chain.heads:
        problems.append("the given head is not in the chain")
    problems += _readable(_unlike_answers(connection), "answers")
    for table in BOUND:
        problems += _readable(chain.differences(connection, table), table.name)
    problems += _readable(_unsigned(connection, database), ADMIN_LOG.name)
    problems += _damage(connection)
    count = connection.execute(select(func.count()).select_from(ANSWERS)).scalar_one()
    return VerifiedChain(count, chain.head, tuple(dict.fromkeys(problems)))


def _readable(problems: Iterator[str], what: str) -> Iterator[str]:
    """Yield the same problems, and one more where the table cannot be read to its end."""
    try:
        yield from problems
    except DBAPIError as error:
        yield f"table {what} cannot be read: {error.orig}"


def _damage(connection: Connection) -> list[str]:
    """Return what SQLite itself finds wrong with its file."""
    if connection.dialect.name == POSTGRES:
        return []
    try:
        lines = connection.execute(text("PRAGMA integrity_check(20)")).scalars().all()
    except DBAPIError as error:
        return [f"the file is damaged: {error.orig}"]
    return [f"the file is damaged: {line}" for line in lines if line != "ok"]


class _Chain:
    """The chain as it was computed again.

    Attributes:
        head: the last value.
        heads: all values; also those of the chain before a conversion, once they were computed from the answers.
        problems: a sentence for each link that does not fit.
    """

    def __init__(self, connection: Connection) -> None:
        self.head = ""
        self.heads: set[str] = set()
        self._earlier: list[str] = []
        self.problems: list[str] = []
        self._digests: dict[str, dict[str, str | None]] = {name: {} for name in _BOUND_NAMES}
        self._twice: Counter[tuple[str, str]] = Counter()
        self.problems += _readable(self._links(connection), CHAIN.name)

    def _links(self, connection: Connection) -> Iterator[str]:
        number = 0
        for row in connection.execute(select(CHAIN).order_by(CHAIN.c.number)):
            number += 1
            if row.number != number or row.link != link_value(self.head, number, str(row.rows)):
                yield f"link {row.number} does not continue the chain"
            self.head, number = str(row.link), row.number if isinstance(row.number, int) else number
            self.heads.add(self.head)
            try:
                for table, key, digest in json.loads(row.rows):
                    self._take(str(table), str(key), digest)
            except (TypeError, ValueError):
                yield f"link {row.number} cannot be read"

    def _take(self, table: str, key: str, digest: str | None) -> None:
        if table == HEAD:
            self._earlier.append(key)
        elif table in _BOUND_NAMES:
            self._twice[table, key] += table in INSERT_ONLY and key in self._digests[table]
            self._digests[table][key] = digest

    def unlike_earlier(self, connection: Connection) -> Iterator[str]:
        """Yield a sentence for the first value named as an earlier layout's that differs from the answers'."""
        known = earlier_heads(connection, self._earlier) if self._earlier else []
        self.heads.update(known)
        if len(known) < len(self._earlier):
            yield f"value {_shown(self._earlier[len(known)])} of the earlier layout is not that of the answers"

    def differences(self, connection: Connection, table: Table) -> Iterator[str]:
        """Yield a sentence for each row of a table that is not the one that the chain commits to."""
        wanted = self._digests[table.name]
        seen = set()
        for row in connection.execute(select(table).order_by(*table.primary_key.columns)):
            key = key_of(row, table.name)
            if table.name == "settings" and key in UNBOUND_SETTINGS:
                continue
            seen.add(key)
            if wanted.get(key) is None:
                yield f"row {_shown(key)} of table {table.name} is not in the chain"
            elif wanted[key] != row_digest(row):
                yield f"row {_shown(key)} of table {table.name} is not the one that was written"
        for key, digest in wanted.items():
            if digest is not None and key not in seen:
                yield f"row {_shown(key)} of table {table.name} is missing"
            if self._twice[table.name, key]:
                yield f"row {_shown(key)} of table {table.name} was written twice"


def _shown(key: str) -> str:
    return key.replace("\x1f", " ")[:_SHOWN_KEY]


def _unlike_answers(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each task or settled vote that is not what was answered."""
    answers: dict[str, list[Row[Any]]] = {}
    for row in connection.execute(select(ANSWERS).order_by(ANSWERS.c.number)):
        answers.setdefault(row.assignment_id, []).append(row)
    votes = {row.assignment_id: row for row in connection.execute(select(SETTLED))}
    latest: dict[str, int] = {}
    waiting: list[tuple[str, str, int]] = []
    for task in connection.execute(select(ASSIGNMENTS)):
        of_task = answers.pop(task.assignment_id, [])
        vote = votes.pop(task.assignment_id, None)
        name = f"task {_shown(task.assignment_id)}"
        if any(row.shown != task_digest(dict(task._mapping)) for row in of_task):
            yield f"{name} is not the one that was shown"
        last = of_task[-1] if of_task else None
        if last is not None:
            latest[task.rater_id] = max(latest.get(task.rater_id, 0), last.number)
        holds = last is not None and last.choice != UNDO
        expected = "settled" if vote is not None else "answered" if holds else "open"
        if holds and vote is None and task.state != "answered":
            yield f"{name} was answered, and its settled vote is missing"
        elif task.state != expected and not (task.state == "void" and not holds):
            yield f"{name} is {task.state}, and not {expected}"
        if vote is None:
            if last is not None and task.state == "answered":
                waiting.append((name, task.rater_id, last.number))
        elif last is None or last.choice == UNDO or last.answer_id != vote.answer_id:
            yield f"settled vote {vote.number} is not the last answer of its task"
        elif (vote.rater_id, vote.kind) != (task.rater_id, task.kind):
            yield f"settled vote {vote.number} is of another rater, or of other work, than its task"
        elif not _counts(dict(vote._mapping), task.payload, last.choice):
            yield f"settled vote {vote.number} counts something else than was answered"
    yield from (f"{name} was answered and never settled" for name, rater, number in waiting if latest[rater] > number)
    yield from (f"answer {rows[0].number} has no task" for rows in answers.values())
    yield from (f"settled vote {vote.number} has no task" for vote in votes.values())


def _counts(vote: Mapping[str, Any], payload: str, choice: str) -> bool:
    """Return whether a settled vote counts what the answer says."""
    try:
        return all(vote[name] == value for name, value in counted(json.loads(payload), choice).items())
    except (KeyError, TypeError, ValueError):
        return False


def signature(database: ArenaDatabase, before: str, row: Mapping[str, Any]) -> str:
    """Return the signature of a row of the log, from the one before it."""
    return database.hmac("admin log", before + json.dumps([row[name] for name in SIGNED], ensure_ascii=False))


def _unsigned(connection: Connection, database: ArenaDatabase) -> Iterator[str]:
    """Yield a sentence for each row of the log whose signature does not fit."""
    before = ""
    for row in connection.execute(select(ADMIN_LOG).order_by(ADMIN_LOG.c.number)):
        if row.signature != signature(database, before, dict(row._mapping)):
            yield f"row {row.number} of the admin log is not the one that was signed"
        before = row.signature

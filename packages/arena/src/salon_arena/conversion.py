"""Convert the database of an arena of layout 4, in which answers were chained and nothing else.

The answers are checked against their chain first. Every value of the old chain stays in the new one, so a head that was
published is still found.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, select, text, update

from salon_arena.chain import FIRST, add_link, key_of, row_digest, task_digest
from salon_arena.tables import ANSWERS, ASSIGNMENTS, BOUND, RATERS, SETTINGS, UNBOUND_SETTINGS
from salon_taxonomy.errors import InputError

EARLIER: Final = "4"
HEAD: Final = "earlier head"
"""What the first link calls a value of the old chain."""
_LINKED: Final = ("answer_id", "assignment_id", "version", "body", "choice", "elapsed_ms", "received_at", "supersedes")


def convert(connection: Connection, source: str, version: str) -> None:
    """Make the present layout of layout 4; the tables that it lacked are there, and nothing refuses changes of answers.

    Args:
        connection: in a transaction.
        source: the database as messages call it.
        version: of the present layout.

    Raises:
        InputError: an answer does not fit the old chain; nothing is converted.
    """
    heads = _old_heads(connection, source)
    connection.execute(text("ALTER TABLE raters ADD COLUMN salt TEXT NOT NULL DEFAULT ''"))
    for rater_id in connection.execute(select(RATERS.c.rater_id)).scalars().all():
        connection.execute(update(RATERS).where(RATERS.c.rater_id == rater_id).values(salt=secrets.token_hex(16)))
    connection.execute(text("ALTER TABLE answers DROP COLUMN chain"))
    answered = select(ANSWERS.c.number, ASSIGNMENTS).join(ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == ANSWERS.c.assignment_id)
    for row in connection.execute(answered).all():
        connection.execute(update(ANSWERS).where(ANSWERS.c.number == row.number).values(shown=task_digest(dict(row._mapping))))
    connection.execute(update(SETTINGS).where(SETTINGS.c.key == "schema_version").values(value=version))
    rows: list[list[str | None]] = [[HEAD, head, None] for head in heads]
    for table in BOUND:
        stored = connection.execute(select(table).order_by(*table.primary_key.columns))
        rows += [
            [table.name, key, row_digest(row)] for row in stored if (key := key_of(row, table.name)) not in UNBOUND_SETTINGS
        ]
    add_link(connection, FIRST, rows)


def _old_heads(connection: Connection, source: str) -> list[str]:
    """Return the values of the old chain.

    Raises:
        InputError: an answer does not fit.
    """
    before, heads = "", []
    query = text(
        "SELECT answers.*, assignments.payload FROM answers LEFT JOIN assignments USING (assignment_id) ORDER BY answers.number"
    )
    for row in connection.execute(query):
        if row.chain != _value(before, row, row.shown) or row.shown not in (None, _digest(row.payload)):
            hint = "The database was changed by something else than Salon. Restore a backup."
            raise InputError(
                "cannot be converted: an answer does not fit the chain:", source=source, value=row.number, hint=hint
            )
        before = row.chain
        heads.append(before)
    return heads


def earlier_heads(connection: Connection, claimed: Sequence[str]) -> list[str]:
    """Return the first of ``claimed`` that are values of the old chain of the answers, which is computed again."""
    query = select(ANSWERS, ASSIGNMENTS.c.payload).outerjoin(
        ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == ANSWERS.c.assignment_id
    )
    before, heads = "", []
    for row, head in zip(connection.execute(query.order_by(ANSWERS.c.number)), claimed, strict=False):
        if head not in (_value(before, row, None), _value(before, row, _digest(row.payload))):
            break
        before = head
        heads.append(head)
    return heads


def _value(before: str, row: Row[Any], digests: str | None) -> str:
    """Return the value of the old chain at an answer; the first ones did not commit to what was shown."""
    linked = [getattr(row, name) for name in _LINKED] + ([digests] if digests is not None else [])
    return hashlib.sha256(before.encode() + json.dumps(linked, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def _digest(payload: Any) -> str:
    return hashlib.sha256(str(payload).encode()).hexdigest()

"""The tables of an arena's database.

``answers``, ``settled``, ``boards``, ``admin_log`` and ``chain`` are insert-only: triggers refuse every UPDATE and DELETE.
:data:`BOUND` are bound by the chain (:mod:`salon_arena.chain`): all that boards and releases read.
"""

import secrets
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text, UniqueConstraint
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.types import NullType

POSTGRES: Final = "postgresql"
WholeNumber: Final = BigInteger().with_variant(Integer(), "sqlite")
"""Times in microseconds need 64 bits, which SQLite's INTEGER has."""
METADATA: Final = MetaData()
SETTINGS: Final = Table("settings", METADATA, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))
RATERS: Final = Table(
    "raters",
    METADATA,
    Column("rater_id", Text, primary_key=True),
    Column("created_at", WholeNumber, nullable=False),
    Column("role", Text, nullable=False),
    Column("occupation", Text),
    Column("suspended_until", WholeNumber, nullable=False, server_default="0"),
    Column("salt", Text, nullable=False, server_default="", default=lambda: secrets.token_hex(16)),
)
"""``role`` is one of :data:`salon_arena.people.ROLES`; ``suspended_until`` is 0 for a rater who may answer. ``salt`` is drawn
anew when the person is forgotten: without it, the chain does not reveal what was erased."""
INVITES: Final = Table(
    "invites",
    METADATA,
    Column("code_hash", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("made_at", WholeNumber, nullable=False),
    Column("rater_id", Text, ForeignKey("raters.rater_id")),
)
"""``rater_id`` is set when the invite is redeemed; it can then not be used again."""
CONSENTS: Final = Table(
    "consents",
    METADATA,
    Column("rater_id", Text, ForeignKey("raters.rater_id"), primary_key=True),
    Column("version", Text, primary_key=True),
    Column("at", WholeNumber, nullable=False),
)
CERTIFICATES: Final = Table(
    "certificates",
    METADATA,
    Column("rater_id", Text, ForeignKey("raters.rater_id"), primary_key=True),
    Column("round", WholeNumber, primary_key=True),
    Column("at", WholeNumber, nullable=False),
    Column("agreement", Float, nullable=False),
    Column("kappa", Float),
    Column("passed", Boolean, nullable=False),
)
"""One row per qualification test that an expert finished."""
FLAGS: Final = Table(
    "flags",
    METADATA,
    Column("rater_id", Text, ForeignKey("raters.rater_id"), primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("value", Float),
    Column("threshold", Float),
    Column("explanation", Text, nullable=False),
)
"""What the last check of all raters found. Votes of flagged raters are left out of boards, never deleted."""
SESSIONS: Final = Table(
    "sessions",
    METADATA,
    Column("token_hash", Text, primary_key=True),
    Column("rater_id", Text, ForeignKey("raters.rater_id"), nullable=False),
    Column("created_at", WholeNumber, nullable=False),
    Column("used_at", WholeNumber, nullable=False, server_default="0"),
)
"""``used_at`` is renewed every few minutes; :mod:`salon_arena.people` says when a session ends."""
ACCOUNTS: Final = Table(
    "accounts",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("rater_id", Text, ForeignKey("raters.rater_id"), nullable=False, unique=True),
    Column("password", Text),
)
"""Who signs in: ``key`` is an HMAC of the name, or of issuer and subject; ``password`` an Argon2id hash."""
ASSIGNMENTS: Final = Table(
    "assignments",
    METADATA,
    Column("assignment_id", Text, primary_key=True),
    Column("rater_id", Text, ForeignKey("raters.rater_id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("issued_at", WholeNumber, nullable=False),
    Column("lease_until", WholeNumber, nullable=False),
    Column("digests", Text),
    Column("answer_id", Text),
    Column("answered_at", WholeNumber),
    UniqueConstraint("rater_id", "subject"),
    Index("assignments_of_a_rater", "rater_id", "state"),
    Index("assignments_by_state", "state", "answered_at"),
)
"""One task leased to one rater: ``state`` is ``open``, ``answered``, ``settled`` or ``void``.

``kind`` is that of :class:`salon_arena.tasks.Draft`. ``subject`` is what is judged; no rater gets one twice. ``payload`` is
what was shown, pinned when the task was leased; ``issued_at`` orders the tasks of a rater. ``digests`` is a JSON list with the
SHA-256 of each file on the disk, null for those that were not sent whole to the rater yet.
"""
ANSWERS: Final = Table(
    "answers",
    METADATA,
    Column("number", WholeNumber, primary_key=True, autoincrement=True),
    Column("answer_id", Text, nullable=False, unique=True),
    Column("assignment_id", Text, ForeignKey("assignments.assignment_id"), nullable=False),
    Column("version", WholeNumber, nullable=False),
    Column("body", Text, nullable=False),
    Column("choice", Text, nullable=False),
    Column("elapsed_ms", WholeNumber, nullable=False),
    Column("received_at", WholeNumber, nullable=False),
    Column("supersedes", Text),
    Column("shown", Text),
    UniqueConstraint("assignment_id", "version"),
    sqlite_autoincrement=True,
)
"""``shown`` is the SHA-256 of the task as it was answered (:func:`salon_arena.chain.task_digest`)."""
SETTLED: Final = Table(
    "settled",
    METADATA,
    Column("number", WholeNumber, primary_key=True, autoincrement=True),
    Column("assignment_id", Text, ForeignKey("assignments.assignment_id"), nullable=False, unique=True),
    Column("answer_id", Text, ForeignKey("answers.answer_id"), nullable=False, unique=True),
    Column("settled_at", WholeNumber, nullable=False),
    Column("rater_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("model_a", Text),
    Column("model_b", Text),
    Column("winner", Text),
    Column("stream", WholeNumber),
    Column("scenario", Text),
    Index("settled_of_a_rater", "rater_id"),
    sqlite_autoincrement=True,
)
"""Answers that can no longer be undone, numbered in the order in which they became final.

The columns from ``model_a`` on repeat what boards count, for battles; they are null for other kinds.
"""
SETTLED_ANSWERS: Final = SETTLED.join(ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == SETTLED.c.assignment_id).join(
    ANSWERS, ANSWERS.c.answer_id == SETTLED.c.answer_id
)
"""Each settled answer with its task and its last version."""
ADMIN_LOG: Final = Table(
    "admin_log",
    METADATA,
    Column("number", WholeNumber, primary_key=True, autoincrement=True),
    Column("at", WholeNumber, nullable=False),
    Column("admin_id", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("signature", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""What admins did. ``signature`` is an HMAC of the row and of the signature before it (:mod:`salon_arena.admin`)."""
BOARDS: Final = Table(
    "boards",
    METADATA,
    Column("number", WholeNumber, primary_key=True, autoincrement=True),
    Column("at", WholeNumber, nullable=False),
    Column("part", Text, nullable=False),
    Column("upto", WholeNumber, nullable=False),
    Column("excluded", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""What raters and visitors see: of each part of the votes (:mod:`salon_arena.publishing`) those settled up to the number
``upto``, without those of the raters in the JSON list ``excluded``. The last row of a part holds."""
CHAIN: Final = Table(
    "chain",
    METADATA,
    Column("number", WholeNumber, primary_key=True, autoincrement=False),
    Column("rows", Text, nullable=False),
    Column("link", Text, nullable=False),
)
"""See :mod:`salon_arena.chain`."""
BOUND: Final = (SETTINGS, RATERS, FLAGS, ASSIGNMENTS, ANSWERS, SETTLED, BOARDS, ADMIN_LOG)
"""Tables whose rows the chain commits to; of the settings all but :data:`UNBOUND_SETTINGS`."""
UNBOUND_SETTINGS: Final = ("workers",)
INSERT_ONLY: Final = tuple(table.name for table in (ANSWERS, SETTLED, BOARDS, ADMIN_LOG, CHAIN))


def payload_value(name: str) -> ColumnElement[Any]:
    """Return a value of an assignment's payload, in SQL; a text on Postgres."""
    return _PayloadValue(name)


class _PayloadValue(ColumnElement[Any]):
    inherit_cache = True
    type = NullType()

    def __init__(self, name: str) -> None:
        self.name = name
        self.column = ASSIGNMENTS.c.payload


@compiles(_PayloadValue)
def _sqlite_value(element: _PayloadValue, compiler: Any, **options: Any) -> str:
    return f"json_extract({compiler.process(element.column, **options)}, '$.{element.name}')"


@compiles(_PayloadValue, POSTGRES)
def _postgres_value(element: _PayloadValue, compiler: Any, **options: Any) -> str:
    return f"({compiler.process(element.column, **options)}::json ->> '{element.name}')"

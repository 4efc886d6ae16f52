"""The arena's database, SQLite or Postgres: tables, and one writer thread that commits many requests together.

A request is acknowledged after its transaction is on disk (SQLite: ``journal_mode=WAL``, ``synchronous=FULL``). One thread
writes; requests that arrive while it commits share the next commit, so the cost of a disk flush is divided among them.

Several servers share a Postgres database. A write transaction begins with an advisory lock, so that one server writes at a
time: answers form one chain, and rows become visible in the order of their numbers.

``answers``, ``settled`` and ``admin_log`` are insert-only: triggers refuse every UPDATE and DELETE.
"""

import hashlib
import hmac
import os
import secrets
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.types import NullType

from salon_arena.errors import RefusedError
from salon_taxonomy.errors import InputError, StorageError
from salon_taxonomy.records import Mode
from salon_taxonomy.whole_files import replacing

T = TypeVar("T")

SCHEMA_VERSION: Final = "4"
_UPGRADES: Final = {
    "2": (
        "ALTER TABLE sessions ADD COLUMN used_at BIGINT NOT NULL DEFAULT 0",
        "UPDATE sessions SET used_at = created_at",
    ),
    "3": ("ALTER TABLE answers ADD COLUMN shown TEXT",),
}
"""Statements that make the next schema version of an earlier one."""
MODES: Final = (Mode.PUBLIC.value, Mode.EXPERT.value)
"""Who votes. One database holds one mode: MEF keeps matching, computation and boards of the two apart (section 5.1.1)."""
_WORKERS: Final = "workers"
_WORK: Final = "work"
_LONGEST_TOGETHER: Final = 0.025
"""Seconds of work that share a commit: no request waits long for others, and a disk flush is divided among about ten."""
_READERS: Final = 40
"""Connections for reading: as many as there are threads that read."""
_BUSY_MS: Final = 2000

_POSTGRES: Final = "postgresql"
_SHOWN: Final = ("host", "port", "dbname", "service")
_LOCK: Final = 0x5A10A2E7
"""The key of the advisory lock of a writer."""
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
)
"""``role`` is one of :data:`salon_arena.people.ROLES`; ``suspended_until`` is 0 for a rater who may answer."""
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
SHA-256 of each file on the disk, written when the files are first sent.
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
    Column("chain", Text, nullable=False),
    UniqueConstraint("assignment_id", "version"),
    sqlite_autoincrement=True,
)
"""``shown`` is the SHA-256 of the task's payload; null in rows of earlier versions.

``chain`` is the SHA-256 of the chain value before it and of this row (:func:`salon_arena.verify.link`).
"""
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
_INSERT_ONLY: Final = (ANSWERS.name, SETTLED.name, ADMIN_LOG.name)


def payload_value(name: str) -> ColumnElement[Any]:
    """A value of an assignment's payload, in SQL; a text on Postgres."""
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


@compiles(_PayloadValue, _POSTGRES)
def _postgres_value(element: _PayloadValue, compiler: Any, **options: Any) -> str:
    return f"({compiler.process(element.column, **options)}::json ->> '{element.name}')"


class ArenaDatabase:
    """The database of one arena. Make one with :meth:`open` and close it, or use it in a ``with`` block.

    Attributes:
        place: the file, or the address without its password.
        arena_id: random, drawn when the database was made; part of the key of every exported battle.
        mode: who votes, ``public`` or ``expert``.
        worker: 0 for a file; on Postgres a number of its own for each server that opened it.
    """

    def __init__(self, place: str, settings: Mapping[str, str], worker: int, writer: Engine, reader: Engine) -> None:
        self.place = place
        self.arena_id = settings["arena_id"]
        self.mode = settings["mode"]
        self.worker = worker
        self._secret = settings["secret"]
        self._reader = reader
        self._writer = _Writer(writer)

    @classmethod
    def open(cls, place: Path | str, *, mode: str | None = None, make: bool = True) -> "ArenaDatabase":
        """Open a database; make it if missing.

        Args:
            place: a file, whose folder must exist; or ``postgresql://user@host/name`` of a database that exists. A password
                is better given in ``PGPASSWORD`` or ``~/.pgpass``.
            mode: ``public`` or ``expert``. None: as the database says, ``public`` for a new one.
            make: make it if missing or empty; False: raise.

        Raises:
            InputError: there is no arena's database, it is of another version or mode, or it cannot be opened.

        Example:
            >>> import tempfile
            >>> with ArenaDatabase.open(Path(tempfile.mkdtemp()) / "arena.db") as database:
            ...     database.mode
            'public'
        """
        if mode is not None and mode not in MODES:
            raise InputError("unknown mode", value=mode, allowed=MODES)
        url = _url(place)
        name = _shown(url) if is_address(place) else str(place)
        if not is_address(place):
            _check_file(Path(place), make)
            if make:
                _make_private(Path(place))
        writer = _engine(url, writes=True)
        try:
            with writer.begin() as connection:
                _check_tables(inspect(connection).get_table_names(), name, make)
                settings, worker = _prepared(connection, name, mode)
        except DBAPIError as error:
            writer.dispose()
            raise InputError(f"cannot be opened as an arena's database ({error.orig})", source=name) from error
        except InputError:
            writer.dispose()
            raise
        return cls(name, settings, worker, writer, _engine(url, writes=False))

    def write(self, work: Callable[[Connection], T]) -> "Future[T]":
        """Run ``work`` in a transaction on the writer thread; the future is done after the commit.

        ``work`` may run twice: if another request of the same commit fails, each is run again alone. So it must have no
        effect outside the database that a second run would repeat. It must not write before it raises
        :class:`RefusedError`. The future raises what ``work`` raises, or :class:`StorageError` when the database refuses.
        """
        return self._writer.submit(work)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a connection that sees one snapshot of what is committed.

        Raises:
            StorageError: the database cannot be read now.
        """
        try:
            with self._reader.connect() as connection:
                return work(connection)
        except DBAPIError as error:
            raise StorageError(f"{self.place}: {error.orig}") from error

    def hmac(self, purpose: str, text: str) -> str:
        """Return an HMAC of a text, made with the database's secret; the same in every run, unknown to others."""
        return hmac.new(self._secret.encode(), f"{purpose}\x1f{text}".encode(), hashlib.sha256).hexdigest()

    def claim(self, work: str) -> None:
        """Note what people do in this arena; it stays the same.

        Raises:
            InputError: people do something else in it.
            StorageError: the database cannot be written.
        """

        def noted(connection: Connection) -> str:
            found = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.key == _WORK)).scalar_one_or_none()
            if found is None:
                connection.execute(insert(SETTINGS), {"key": _WORK, "value": work})
            return work if found is None else found

        if (found := self.write(noted).result()) != work:
            hint = "Each kind of work has a database of its own: name another one with --database."
            raise InputError("is an arena of other work:", source=self.place, value=found, allowed=[work], hint=hint)

    def backup(self, copy: Path) -> None:
        """Copy the whole database, as of one moment, to a new file; votes may go on.

        Only the owner of the copy can read it. It appears when it is complete.

        Raises:
            InputError: the database is on Postgres, or the copy cannot be written.
        """
        if self._reader.dialect.name == _POSTGRES:
            raise InputError("is no file", source=self.place, hint="Copy it with pg_dump.")
        with self._reader.connect() as connection:
            source = connection.connection.driver_connection
            try:
                with replacing(copy, flushed=True) as part:
                    _make_private(part)
                    with closing(sqlite3.connect(part)) as target:
                        source.backup(target)  # type: ignore[union-attr]
            except (sqlite3.Error, OSError) as error:
                raise InputError(f"cannot be written ({error})", source=copy) from error

    def close(self) -> None:
        """Finish what was submitted and close all connections."""
        self._writer.close()
        self._reader.dispose()

    def __enter__(self) -> Self:
        """Return the database itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close the database."""
        self.close()


_Job = tuple[Callable[[Connection], Any], Future[Any]]


class _Writer:
    """One thread that owns the only writing connection."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closing = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name="arena-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Connection], T]) -> "Future[T]":
        future: Future[T] = Future()
        with self._closing:
            if self._closed:
                future.set_exception(StorageError("the database is closed"))
            else:
                self._jobs.put((work, future))
        return future

    def close(self) -> None:
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()
        self._engine.dispose()

    def _run(self) -> None:
        waiting: deque[_Job] = deque()
        going = True
        while going or waiting:
            if going:
                going = self._take(waiting)
            self._commit(waiting)

    def _take(self, waiting: deque[_Job]) -> bool:
        """Add what was submitted to ``waiting``, at least one job; returns False when no more will come."""
        with suppress(Empty):
            while True:
                job = self._jobs.get(block=not waiting)
                if job is None:
                    return False
                if job[1].set_running_or_notify_cancel():
                    waiting.append(job)
        return True

    def _commit(self, waiting: deque[_Job]) -> None:
        """Take jobs out of ``waiting`` and run them in one transaction, as many as fit into its time.

        If it fails, each of them is run again alone; if it cannot begin, everything that waits fails.
        """
        batch: list[_Job] = []
        results: list[Any] = []
        try:
            with self._engine.begin() as connection:
                until = monotonic() + _LONGEST_TOGETHER
                while waiting and (not batch or monotonic() < until):
                    batch.append(waiting.popleft())
                    results.append(_result(batch[-1][0], connection))
        except Exception as error:  # noqa: BLE001 - the jobs' futures raise it
            if len(batch) > 1:
                for job in batch:
                    self._commit(deque([job]))
                return
            for _, future in batch or waiting:
                future.set_exception(StorageError(str(error.orig)) if isinstance(error, DBAPIError) else error)
            if not batch:
                waiting.clear()
            return
        for (_, future), result in zip(batch, results, strict=True):
            if isinstance(result, RefusedError):
                future.set_exception(result)
            else:
                future.set_result(result)


def _result(work: Callable[[Connection], Any], connection: Connection) -> Any:
    """Return what ``work`` returns, or the refusal that it raises; it wrote nothing, so the commit goes on."""
    try:
        return work(connection)
    except RefusedError as refusal:
        return refusal


def is_address(place: Path | str) -> bool:
    """Whether a place is the address of a server, not a file.

    Example:
        >>> is_address("postgresql://arena@localhost/arena"), is_address(Path("arena.db"))
        (True, False)
    """
    return isinstance(place, str) and place.startswith((f"{_POSTGRES}://", "postgres://"))


def _url(place: Path | str) -> URL:
    if not is_address(place):
        return URL.create("sqlite", database=str(place))
    try:
        return make_url(str(place)).set(drivername=f"{_POSTGRES}+psycopg")
    except (ArgumentError, ValueError) as error:
        raise InputError("is no address of a database", value="postgresql://…", hint="postgresql://user@host/name") from error


def _shown(url: URL) -> str:
    """An address without its secrets: a password may also be an option behind the question mark."""
    return url.set(query={key: value for key, value in url.query.items() if key in _SHOWN}).render_as_string()


def _engine(url: URL, *, writes: bool) -> Engine:
    if url.get_backend_name() == _POSTGRES:
        return _postgres(url, writes=writes)
    pool = {"pool_size": 1 if writes else _READERS, "max_overflow": 0}
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": _BUSY_MS / 1000}, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin where SQLAlchemy says, not at the first write
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(url: URL, *, writes: bool) -> Engine:
    """An engine whose connections are tried before use, so that a restarted server is found again."""
    try:
        level = "READ COMMITTED" if writes else "REPEATABLE READ"
        engine = create_engine(url, isolation_level=level, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as error:
        hint = "uv pip install 'salon-arena[postgres]'"
        raise InputError("a database on Postgres needs the package psycopg", value=error.name, hint=hint) from error
    if writes:

        @event.listens_for(engine, "begin")
        def lock(connection: Connection) -> None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")

    return engine


_REFUSE_SQLITE: Final = "CREATE TRIGGER no_{0}_of_{1} BEFORE {0} ON {1} BEGIN SELECT RAISE(ABORT, '{1} is insert-only'); END"
_REFUSE_POSTGRES: Final = (
    "CREATE OR REPLACE FUNCTION insert_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the table is insert-only'; END $$",
    "CREATE TRIGGER no_change_of_{1} BEFORE UPDATE OR DELETE OR TRUNCATE ON {1} EXECUTE FUNCTION insert_only()",
)


def _refuse_changes(connection: Connection, table: str) -> None:
    """Make a table insert-only."""
    if connection.dialect.name == _POSTGRES:
        for statement in _REFUSE_POSTGRES:
            connection.exec_driver_sql(statement.format("", table))
    else:
        for change in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(_REFUSE_SQLITE.format(change, table))


def _prepared(connection: Connection, place: str, mode: str | None) -> tuple[dict[str, str], int]:
    """The settings of the database, and the number of this server; makes the tables that are missing."""
    tables = set(inspect(connection).get_table_names())
    METADATA.create_all(connection)
    for name in _INSERT_ONLY:
        if name not in tables:
            _refuse_changes(connection, name)
    if not tables:
        new = {"schema_version": SCHEMA_VERSION, "arena_id": secrets.token_hex(16), "mode": mode or MODES[0]}
        connection.execute(insert(SETTINGS), [{"key": key, "value": value} for key, value in new.items()])
    known = select(SETTINGS.c.value).where(SETTINGS.c.key == "secret")
    if connection.execute(known).first() is None:
        connection.execute(insert(SETTINGS), {"key": "secret", "value": secrets.token_hex(32)})
    settings: dict[str, str] = {row.key: row.value for row in connection.execute(select(SETTINGS))}
    while (statements := _UPGRADES.get(settings.get("schema_version", ""))) is not None:
        for statement in statements:
            connection.exec_driver_sql(statement)
        settings["schema_version"] = str(int(settings["schema_version"]) + 1)
        version = update(SETTINGS).where(SETTINGS.c.key == "schema_version")
        connection.execute(version.values(value=settings["schema_version"]))
    if settings.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            "has a schema version that this Salon does not read:",
            source=place,
            value=settings.get("schema_version"),
            allowed=[SCHEMA_VERSION],
        )
    if mode is not None and settings["mode"] != mode:
        hint = "Experts and the public vote in databases of their own: name another one with --database."
        raise InputError("is an arena of another mode:", source=place, value=settings["mode"], allowed=[mode], hint=hint)
    return settings, _worker(connection, settings)


def _check_tables(tables: Collection[str], place: str, make: bool) -> None:
    """Refuse a database of something else, and unless one may be made an empty one."""
    if tables and SETTINGS.name not in tables:
        raise InputError("is a database, but not of an arena", source=place, hint="Name another one with --database.")
    if not tables and not make:
        raise InputError("holds no arena", source=place, hint="`salon arena serve` makes one; name it with --database.")


def _check_file(path: Path, make: bool) -> None:
    """Refuse a SQLite file before a connection changes its journal."""
    if not path.is_file():
        return
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            _check_tables([name for (name,) in rows], str(path), make)
    except sqlite3.DatabaseError as error:
        raise InputError(f"cannot be opened as an arena's database ({error})", source=str(path)) from error


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, unless the file exists; a database holds secrets."""
    with suppress(OSError):  # there is one, or none can be made: SQLite says why
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _worker(connection: Connection, settings: Mapping[str, str]) -> int:
    """A number that no other server of the database has; 0 for a file, which one server has."""
    if connection.dialect.name != _POSTGRES:
        return 0
    number = int(settings.get(_WORKERS, "0")) + 1
    this = SETTINGS.c.key == _WORKERS
    if connection.execute(update(SETTINGS).where(this).values(value=str(number))).rowcount == 0:
        connection.execute(insert(SETTINGS), {"key": _WORKERS, "value": str(number)})
    return number

"""The arena's database, SQLite or Postgres: tables, and one writer thread that commits many requests together.

A request is acknowledged after its transaction is on disk (SQLite: ``journal_mode=WAL``, ``synchronous=FULL``). One thread
writes; requests that arrive while it commits share the next commit, so the cost of a disk flush is divided among them.

Several servers share a Postgres database. A write transaction begins with an advisory lock, so that one server writes at a
time: rows form one chain (:mod:`salon_arena.chain`), and become visible in the order of their numbers.

Nothing is acknowledged while the open database is not the one at its path, or lacks what was committed before: the file was
removed or replaced, or a backup was restored under the server.
"""

import errno
import fcntl
import hashlib
import hmac
import os
import secrets
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from salon_arena.chain import ChainLink, append_link, begin_binding, bind, holds
from salon_arena.conversion import EARLIER, convert
from salon_arena.errors import RefusedError
from salon_arena.open_file import OpenFile
from salon_arena.tables import INSERT_ONLY, METADATA, POSTGRES, SETTINGS, UNBOUND_SETTINGS
from salon_taxonomy.errors import InputError, SalonError, StorageError, cannot_write
from salon_taxonomy.records import Mode
from salon_taxonomy.whole_files import replacing

T = TypeVar("T")

SCHEMA_VERSION: Final = "5"
MODES: Final = (Mode.PUBLIC.value, Mode.EXPERT.value)
"""Who votes. One database holds one mode: MEF keeps matching, computation and boards of the two apart (section 5.1.1)."""
_WORKERS: Final = "workers"
_WORK: Final = "work"
PUBLIC_SEED: Final = "public_seed"
HEARD: Final = "heard"
"""Raters hear the videos of this arena."""
"""The setting with the seed of a public plan; absent where no plan was public."""
ENDED: Final = "ended"
"""The setting with the time at which the study ended; absent before."""
_LONGEST_TOGETHER: Final = 0.025
"""Seconds of work that share a commit: no request waits long for others, and a disk flush is divided among about ten."""
_READERS: Final = 40
"""Connections for reading: as many as there are threads that read."""
_BUSY_MS: Final = 2000
_REFUSED: Final = ("SQLITE_FULL", "SQLITE_IOERR")
"""Names of SQLite's errors of a disk that refuses to write."""

_SHOWN: Final = ("host", "port", "dbname", "service")
_LOCK: Final = 0x5A10A2E7
"""The key of the advisory lock of a writer."""


class ArenaDatabase:
    """The database of one arena. Make one with :meth:`open` and close it, or use it in a ``with`` block.

    Attributes:
        place: the file, or the address without its password.
        arena_id: random, drawn when the database was made; part of the key of every exported battle.
        mode: who votes, ``public`` or ``expert``.
        worker: 0 for a file; on Postgres a number of its own for each server that opened it.
    """

    def __init__(
        self, name: str, settings: Mapping[str, str], worker: int, writer: Engine, reader: Engine, link: ChainLink
    ) -> None:
        self.place = name
        self.arena_id = settings["arena_id"]
        self.mode = settings["mode"]
        self.worker = worker
        self._secret = settings["secret"]
        self._reader = reader
        self._file = None if writer.dialect.name == POSTGRES else OpenFile(Path(name))
        self._writer = _Writer(writer, name, self._file, link)

    @classmethod
    def open(cls, address: Path | str, *, mode: str | None = None, make: bool = True) -> "ArenaDatabase":
        """Open a database; make it if missing.

        Args:
            address: a file, whose folder must exist; or ``postgresql://user@host/name`` of a database that exists. A password
                is better given in ``PGPASSWORD`` or ``~/.pgpass``.
            mode: ``public`` or ``expert``. None: as the database says, ``public`` for a new one.
            make: make it if missing or empty; False: raise.

        Raises:
            InputError: there is no arena's database, it is of another version or mode, or it cannot be opened.
            StorageError: the disk refuses to write.

        Example:
            >>> import tempfile
            >>> with ArenaDatabase.open(Path(tempfile.mkdtemp()) / "arena.db") as database:
            ...     database.mode
            'public'
        """
        if mode is not None and mode not in MODES:
            raise InputError("unknown mode", value=mode, allowed=MODES)
        url = _url(address)
        name = _shown(url) if is_address(address) else str(address)
        if not is_address(address):
            _check_file(Path(address), make)
            if make:
                _make_private(Path(address))
        writer = _engine(url, writes=True)
        try:
            with writer.begin() as connection:
                _check_tables(inspect(connection).get_table_names(), name, make)
                settings, worker = _prepared(connection, name, mode)
                link = append_link(connection)
        except DBAPIError as error:
            writer.dispose()
            raise _cannot_open(error.orig, name) from error
        except InputError:
            writer.dispose()
            raise
        return cls(name, settings, worker, writer, _engine(url, writes=False), link)

    def write(self, work: Callable[[Connection], T]) -> "Future[T]":
        """Run ``work`` in a transaction on the writer thread; the future is done after the commit.

        ``work`` may run twice: if another request of the same commit fails, each is run again alone. So it must have no
        effect outside the database that a second run would repeat. It must not write before it raises
        :class:`RefusedError`. Rows of :data:`salon_arena.tables.BOUND` that it writes must be named to
        :func:`salon_arena.chain.bind`. The future raises what ``work`` raises, or :class:`StorageError` when the database
        refuses or is not the one that was opened.
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

    def check(self) -> None:
        """Read the database, and compare it with what this process committed.

        Raises:
            StorageError: it cannot be read; its file was removed or replaced; or a commit is missing.
        """
        if self._file is not None:
            self._file.check()
        if not self.read(lambda connection: holds(connection, self._writer.link)):
            raise StorageError(_other_content(self.place))

    @contextmanager
    def served_alone(self) -> Iterator[None]:
        """Hold the file for one server; a second one is refused. Several may serve a database on Postgres.

        Raises:
            InputError: a server holds it, or it has a second name (a hard link), beside which SQLite keeps a second journal.
            StorageError: the lock's file cannot be written.
        """
        if self._file is None:
            yield
            return
        if Path(self.place).stat().st_nlink > 1:
            hint = "Give the server a copy made by `salon arena backup`, or remove the other name."
            raise InputError(
                "has a second name (a hard link), and SQLite would keep a second journal beside it",
                source=self.place,
                hint=hint,
            )
        lock = Path(f"{os.path.realpath(self.place)}-server")
        try:
            descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise StorageError.of(error, lock) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "Stop that one first. Several servers share an arena on Postgres."
            raise InputError("is served already", source=self.place, hint=hint) from error
        except OSError as error:
            raise StorageError.of(error, lock) from error
        else:
            yield
        finally:
            os.close(descriptor)

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
            known = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.key == _WORK)).scalar_one_or_none()
            if known is None:
                note_setting(connection, _WORK, work)
            return work if known is None else known

        if (known := self.write(noted).result()) != work:
            hint = "Each kind of work has a database of its own: name another one with --database."
            raise InputError("is an arena of other work:", source=self.place, value=known, allowed=[work], hint=hint)

    def setting(self, key: str) -> str | None:
        """Return a setting; None if it was never noted."""
        query = select(SETTINGS.c.value).where(SETTINGS.c.key == key)
        return self.read(lambda connection: connection.execute(query).scalar_one_or_none())

    def note(self, key: str, value: str) -> None:
        """Keep a setting.

        Raises:
            StorageError: the database cannot be written.
        """
        if self.setting(key) != value:
            self.write(lambda connection: note_setting(connection, key, value)).result()

    def backup(self, copy: Path) -> None:
        """Copy the whole database, as of one moment, to a new file; votes may go on.

        Only the owner of the copy can read it. It appears when it is complete.

        Raises:
            InputError: the database is on Postgres, or there is no folder for the copy.
            StorageError: the copy cannot be written: the disk is full, or the folder is not writable.
        """
        if self._reader.dialect.name == POSTGRES:
            raise InputError("is no file", source=self.place, hint="Copy it with pg_dump.")
        with self._reader.connect() as connection:
            source = connection.connection.driver_connection
            try:
                with replacing(copy, flushed=True) as part:
                    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                    with closing(sqlite3.connect(part)) as target:
                        source.backup(target)  # type: ignore[union-attr]
            except sqlite3.Error as error:  # SQLite says no more than that its file could not be written
                raise StorageError.of(OSError(errno.ENOSPC, str(error)), copy) from error
            except OSError as error:
                raise cannot_write(error, copy) from error

    def empty_log(self) -> None:
        """Copy SQLite's ``-wal`` file into the database and empty it: it holds rows as they were before they were erased.

        Where other work does not let it, SQLite does so when the last connection closes.
        """
        if self._reader.dialect.name == POSTGRES:
            return
        with self._reader.connect() as connection, suppress(sqlite3.Error):
            connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]

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
    """One thread that owns the only writing connection.

    Args:
        engine: makes the connection.
        name: the database as messages call it.
        file: of a SQLite database.
        link: the end of the chain.
    """

    def __init__(self, engine: Engine, name: str, file: OpenFile | None, link: ChainLink) -> None:
        self._engine = engine
        self._place = name
        self._file = file
        self.link = link
        """The end of the chain after the last commit of this process."""
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
                self._check(connection)
                until = monotonic() + _LONGEST_TOGETHER
                while waiting and (not batch or monotonic() < until):
                    batch.append(waiting.popleft())
                    results.append(_result(batch[-1][0], connection))
                link = append_link(connection)
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
        try:
            if self._file is not None:
                self._file.check()
        except StorageError as error:  # committed to a file that cannot be found again, so not acknowledged
            results = [error] * len(batch)
        else:
            self.link = link
        for (_, future), result in zip(batch, results, strict=True):
            if isinstance(result, SalonError):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _check(self, connection: Connection) -> None:
        """Refuse to write to another database than the one that was opened."""
        begin_binding(connection)
        if self._file is not None:
            self._file.check()
        if not holds(connection, self.link):
            raise StorageError(_other_content(self._place))


def _other_content(name: str) -> str:
    return f"{name} lacks what was committed to it; a backup was restored under the server. Restart the server."


def _result(work: Callable[[Connection], Any], connection: Connection) -> Any:
    """Return what ``work`` returns, or the refusal that it raises; it wrote nothing, so the commit goes on."""
    try:
        return work(connection)
    except RefusedError as refusal:
        return refusal


def is_address(where: Path | str) -> bool:
    """Return whether a place is the address of a server, not a file.

    Example:
        >>> is_address("postgresql://arena@localhost/arena"), is_address(Path("arena.db"))
        (True, False)
    """
    return isinstance(where, str) and where.startswith((f"{POSTGRES}://", "postgres://"))


def _url(where: Path | str) -> URL:
    if not is_address(where):
        return URL.create("sqlite", database=str(where))
    try:
        return make_url(str(where)).set(drivername=f"{POSTGRES}+psycopg")
    except (ArgumentError, ValueError) as error:
        raise InputError("is no address of a database", value="postgresql://…", hint="postgresql://user@host/name") from error


def _shown(url: URL) -> str:
    """Return an address without its secrets: a password may also be an option behind the question mark."""
    return url.set(query={key: value for key, value in url.query.items() if key in _SHOWN}).render_as_string()


def _engine(url: URL, *, writes: bool) -> Engine:
    if url.get_backend_name() == POSTGRES:
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
    """Return an engine whose connections are tried before use, so that a restarted server is found again."""
    try:
        level = "READ COMMITTED" if writes else "REPEATABLE READ"
        engine = create_engine(url, isolation_level=level, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as error:
        hint = "uv pip install './packages/arena[postgres]'"
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
    if connection.dialect.name == POSTGRES:
        for statement in _REFUSE_POSTGRES:
            connection.exec_driver_sql(statement.format("", table))
    else:
        for change in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(_REFUSE_SQLITE.format(change, table))


def _allow_changes(connection: Connection, table: str) -> None:
    """Take back what :func:`_refuse_changes` did."""
    if connection.dialect.name == POSTGRES:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS no_change_of_{table} ON {table}")
    else:
        for change in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS no_{change}_of_{table}")


def _prepared(connection: Connection, address: str, mode: str | None) -> tuple[dict[str, str], int]:
    """Return the settings of the database, and the number of this server; makes the tables that are missing."""
    begin_binding(connection)
    tables = set(inspect(connection).get_table_names())
    settings: dict[str, str] = {}
    if SETTINGS.name in tables:
        settings = {row.key: row.value for row in connection.execute(select(SETTINGS))}
        version = settings.get("schema_version")
        if version not in (EARLIER, SCHEMA_VERSION):
            problem = "has a schema version that this Salon does not read:"
            raise InputError(problem, source=address, value=version, allowed=[SCHEMA_VERSION])
    METADATA.create_all(connection)
    if settings.get("schema_version") == EARLIER:
        for name in tables.intersection(INSERT_ONLY):
            _allow_changes(connection, name)
        convert(connection, address, SCHEMA_VERSION)
        tables.difference_update(INSERT_ONLY)
    for name in INSERT_ONLY:
        if name not in tables:
            _refuse_changes(connection, name)
    if not settings:
        settings = {"schema_version": SCHEMA_VERSION, "arena_id": secrets.token_hex(16), "mode": mode or MODES[0]}
        settings["secret"] = secrets.token_hex(32)
        for key, value in settings.items():
            note_setting(connection, key, value)
    if mode is not None and settings["mode"] != mode:
        hint = "Experts and the public vote in databases of their own: name another one with --database."
        raise InputError("is an arena of another mode:", source=address, value=settings["mode"], allowed=[mode], hint=hint)
    return settings, _worker(connection, settings)


def note_setting(connection: Connection, key: str, value: str) -> None:
    this = SETTINGS.c.key == key
    if connection.execute(update(SETTINGS).where(this).values(value=value)).rowcount == 0:
        connection.execute(insert(SETTINGS), {"key": key, "value": value})
    if key not in UNBOUND_SETTINGS:
        bind(connection, SETTINGS, key)


def _check_tables(tables: Collection[str], name: str, make: bool) -> None:
    """Refuse a database of something else, and unless one may be made an empty one."""
    if tables and SETTINGS.name not in tables:
        raise InputError("is a database, but not of an arena", source=name, hint="Name another one with --database.")
    if not tables and not make:
        raise InputError("holds no arena", source=name, hint="`salon arena serve` makes one; name it with --database.")


def _check_file(path: Path, make: bool) -> None:
    """Refuse a SQLite file before a connection changes its journal."""
    if not path.is_file():
        return
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            _check_tables([name for (name,) in rows], str(path), make)
    except sqlite3.DatabaseError as error:
        raise _cannot_open(error, str(path)) from error


def _cannot_open(error: BaseException | None, name: str) -> SalonError:
    """Return the error for a file that cannot be opened: the disk refuses it, or it is no database."""
    if getattr(error, "sqlite_errorname", "").startswith(_REFUSED):
        return StorageError.of(OSError(errno.ENOSPC, str(error)), Path(name))
    return InputError(f"cannot be opened as an arena's database ({error})", source=name)


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, unless the file exists; a database holds secrets."""
    with suppress(OSError):  # there is one, or none can be made: SQLite says why
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _worker(connection: Connection, settings: Mapping[str, str]) -> int:
    """Return a number that no other server of the database has; 0 for a file, which one server has."""
    if connection.dialect.name != POSTGRES:
        return 0
    number = int(settings.get(_WORKERS, "0")) + 1
    note_setting(connection, _WORKERS, str(number))
    return number

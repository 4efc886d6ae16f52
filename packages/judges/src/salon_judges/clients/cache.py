"""Replies on disk by judge version and question: a judge that is not asked twice, and its replay.

    replies/replies.sqlite3        key, SHA-256 of the reply, the reply as JSON, when it was last used; names of the judges

The database is in WAL mode, so several processes of one machine may share a folder and a killed one loses at most the reply
that it was writing; keep the folder on a local disk. A row with a wrong checksum is ignored and overwritten; a file
that is no database any more is set aside under another name. Rows hold what the judge said and no question, so no secret.

The key is the judge's version and the question's ``request_sha256``: everything that can change the reply. A failure, a
refusal, or a text that was cut off is kept for a replay; a judge that can be asked is asked again.
"""

import asyncio
import hashlib
import os
import secrets
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from salon_judges.clients.reply_documents import ReplyDocument, problem_of
from salon_judges.clients.wrapping import AbsentJudge, WrappedJudge
from salon_taxonomy.answers.probabilities import MOST_TOKENS
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.protocols import Judge, Question, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish

_FILE = "replies.sqlite3"
_LARGEST_ENTRY = 16 << 20
_MOST_DAMAGE_TOLD = 100
_BUSY_S = 10.0
_USE_NOTED_S = 60  # the last use of an entry is updated at most once a minute
_TABLE = """CREATE TABLE IF NOT EXISTS replies
    (key BLOB PRIMARY KEY, sha256 BLOB NOT NULL, body BLOB NOT NULL, used_s INTEGER NOT NULL)"""
_JUDGES = "CREATE TABLE IF NOT EXISTS judges (version TEXT PRIMARY KEY, name TEXT NOT NULL)"
_WHOLE = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)"
_PARTIAL = "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)"
_OLDEST = """DELETE FROM replies WHERE key IN (SELECT key FROM
    (SELECT key, sum(length(body)) OVER (ORDER BY used_s DESC, key) AS bytes FROM replies) WHERE bytes > ?)"""


@dataclass(frozen=True, slots=True)
class DamagedEntry:
    """An entry that cannot be used. It is treated as missing, and overwritten when the judge replies."""

    path: Path
    problem: str


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The number of entries of a folder, and their bytes."""

    entries: int
    size_bytes: int


@dataclass(slots=True)
class CacheCounts:
    """Hits, misses and writes since opening.

    Attributes:
        hits: replies that were found, or taken from an equal question in flight.
        misses: questions that went to the judge.
        kept: replies written.
        damaged: the first hundred entries that could not be used, oldest first.
        not_kept: why a reply could not be written (a full disk), the last time; None when all could.
    """

    hits: int = 0
    misses: int = 0
    kept: int = 0
    damaged: list[DamagedEntry] = field(default_factory=list)
    not_kept: str | None = None


class ResponseCache:
    """A folder of replies. Its file is opened at first use, and again after :meth:`close`.

    Args:
        folder: created when it is missing.

    Attributes:
        counts: see :class:`CacheCounts`.

    Raises:
        InputError: when the folder cannot be made.

    Example:
        >>> import tempfile
        >>> cache = ResponseCache(Path(tempfile.mkdtemp()))
        >>> cache.keep("judge-version", "0" * 64, Reply("yes"))
        True
        >>> cache.find("judge-version", "0" * 64).text, cache.find("another", "0" * 64)
        ('yes', None)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.counts = CacheCounts()
        self._path = self.folder / _FILE
        self._opened: sqlite3.Connection | None = None
        self._named: set[str] = set()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder of the cache cannot be made ({error.strerror})", source=folder) from error

    def find(self, version: str, request_sha256: str, *, failures: bool = False) -> Reply | None:
        """Return the stored reply of a judge version to a question, ``cached`` and at no cost; None if missing.

        Args:
            version: of the judge.
            request_sha256: of the question.
            failures: also return replies that are not whole.
        """
        key = _key(version, request_sha256)
        try:
            database = self._database()
            row = database.execute("SELECT sha256, body, used_s FROM replies WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            now = int(time.time())
            if not 0 <= now - row[2] < _USE_NOTED_S:  # pruning takes those that were used longest ago
                self._note_use(database, key, now)
            entry = _reply(row[0], row[1])
        except (sqlite3.Error, TypeError) as error:
            entry = f"cannot be read ({error})"
            self._close_and_set_aside(error)
        if isinstance(entry, Reply):
            return entry if failures or is_whole(entry) else None
        if len(self.counts.damaged) < _MOST_DAMAGE_TOLD:
            self.counts.damaged.append(DamagedEntry(self._path, entry))
        return None

    def keep(self, version: str, request_sha256: str, reply: Reply, judge: str = "") -> bool:
        """Store a reply; return whether it was stored. A write error does not stop the run.

        Args:
            version: of the judge.
            request_sha256: of the question.
            reply: one that is not whole never takes the place of another; ``cancelled``: no judge was asked, nothing is stored.
            judge: the judge's name, for :meth:`judges`.
        """
        if reply.status is CallStatus.CANCELLED:
            return False
        body = ReplyDocument.of(reply).model_dump_json(exclude_defaults=True).encode()
        if len(body) > _LARGEST_ENTRY:
            return False
        row = (_key(version, request_sha256), hashlib.sha256(body).digest(), body, int(time.time()))
        try:
            database = self._database()
            if judge and version not in self._named:
                database.execute("INSERT OR REPLACE INTO judges VALUES (?, ?)", (version, judge))
                self._named.add(version)
            database.execute(_WHOLE if is_whole(reply) else _PARTIAL, row)
        except sqlite3.Error as error:
            self.counts.not_kept = f"{self._path}: {error}"
            self._close_and_set_aside(error)
            return False
        self.counts.kept += 1
        return True

    def judges(self) -> list[tuple[str, str]]:
        """Return ``(name, version)`` of each judge whose replies were kept.

        Raises:
            InputError: when the file cannot be read.
        """
        if not os.path.lexists(self._path):
            return []
        return list(self._execute("SELECT name, version FROM judges ORDER BY name, version"))

    def size(self) -> CacheSize:
        """Return the number of entries and their bytes.

        Raises:
            InputError: when the file cannot be read.
        """
        if not os.path.lexists(self._path):
            return CacheSize(0, 0)
        return CacheSize(*self._execute("SELECT count(*), coalesce(sum(length(body)), 0) FROM replies").fetchone())

    def prune(self, most_bytes: int) -> CacheSize:
        """Delete the entries that were used longest ago until the others fit; returns what was deleted.

        Raises:
            InputError: for a negative size, or when the file cannot be written.
        """
        if most_bytes < 0:
            raise InputError("a size in bytes is counted from 0, not", value=most_bytes)
        before = self.size()
        if before.size_bytes <= most_bytes:
            return CacheSize(0, 0)
        self._execute(_OLDEST, most_bytes)
        after = self.size()
        with suppress(sqlite3.OperationalError):  # another process is writing: the file shrinks next time
            self._database().execute("VACUUM")
        return CacheSize(before.entries - after.entries, before.size_bytes - after.size_bytes)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._named.clear()
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _note_use(self, database: sqlite3.Connection, key: bytes, now_s: int) -> None:
        """Note when an entry was used, unless another process is writing: a reply does not wait for that."""
        database.execute("PRAGMA busy_timeout = 0")
        with suppress(sqlite3.OperationalError):
            database.execute("UPDATE replies SET used_s = ? WHERE key = ?", (now_s, key))
        database.execute(f"PRAGMA busy_timeout = {int(1000 * _BUSY_S)}")

    def _database(self) -> sqlite3.Connection:
        if self._opened is None:
            try:
                self._opened = _connected(str(self._path))
                self._use_write_ahead_log(self._opened)
                self._opened.execute("PRAGMA synchronous = NORMAL")
                self._opened.execute(_TABLE)
                self._opened.execute(_JUDGES)
            except sqlite3.Error as error:
                self.close()
                if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or not self._path.is_file():
                    raise
                # WAL needs a file beside the database, which a read-only folder refuses; reading goes on without one
                self._opened = _connected(f"{self._path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        return self._opened

    def _use_write_ahead_log(self, database: sqlite3.Connection) -> None:
        """Change the journal's mode; SQLite does not wait for another process that changes it at this moment, so we do."""
        end = time.monotonic() + _BUSY_S
        while True:
            try:
                database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.005)

    def _execute(self, command: str, *values: int) -> sqlite3.Cursor:
        try:
            return self._database().execute(command, values)
        except sqlite3.Error as error:
            self._close_and_set_aside(error)
            raise InputError(f"the cache cannot be read ({error})", source=self._path) from error

    def _close_and_set_aside(self, error: Exception) -> None:
        """Close the file, and rename it if it is damaged; the next use begins a new one."""
        self.close()
        if _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) and not self._sound():
            with suppress(OSError):
                self._path.rename(self._path.with_name(f"damaged-{secrets.token_hex(4)}-{_FILE}"))
                for end in ("-wal", "-shm"):
                    self._path.with_name(_FILE + end).unlink(missing_ok=True)

    def _sound(self) -> bool:
        """Return whether the file is a whole database (now: another process may have begun a new one)."""
        try:
            return bool(self._database().execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
        except sqlite3.Error:
            return False
        finally:
            self.close()


def _connected(address: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(address, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=uri)


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 for another error."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _key(version: str, request_sha256: str) -> bytes:
    return bytes.fromhex(digest("reply", {"judge": version, "request": request_sha256}, length=64))


def _reply(sha256: bytes, body: bytes) -> Reply | str:
    """Return the reply of a row, or what is wrong with it."""
    if sha256 != hashlib.sha256(body).digest():
        return "a reply does not have the checksum that it was written with"
    try:
        return ReplyDocument.model_validate_json(body).as_cached()
    except ValidationError as error:
        return problem_of(error)


def is_whole(reply: Reply) -> bool:
    """Return whether a reply is whole: not failed, not cut off, not withheld, not blank.

    One that was cut off within the first 16 tokens and has their log-probabilities is whole: these were asked for.
    """
    cut_off = reply.answered and reply.finish is Finish.LENGTH and 0 < len(reply.tokens) <= MOST_TOKENS
    return (cut_off or reply.problem() is None) and not reply.text.isspace() and reply.text != ""


class CachedJudge(WrappedJudge):
    """Looks into a cache before it asks. Equal questions that are asked at the same time make one call.

    A reply that nothing was sent for has ``cached`` set and costs 0 tokens and 0 USD. When the one call of several equal
    questions fails, they fail together; it is not tried again for each of them.

    Args:
        judge: the judge within.
        cache: where replies are kept; many judges may share one.
        name: what tables call it; None: as the judge within.

    Example:
        >>> import tempfile
        >>> from salon_taxonomy.testing import ReplayJudge
        >>> judge = CachedJudge(ReplayJudge(["yes"]), ResponseCache(tempfile.mkdtemp()))
        >>> question = Question(("Is this AI-generated?",))
        >>> replies = [asyncio.run(judge.ask(question)) for _ in range(2)]
        >>> [(reply.text, reply.cached) for reply in replies]
        [('yes', False), ('yes', True)]
        >>> asyncio.run(CachedJudge.replay(judge.cache.folder).ask(question)).text
        'yes'
    """

    def __init__(self, judge: Judge, cache: ResponseCache, name: str | None = None) -> None:
        super().__init__(judge, name)
        self.cache = cache
        self._replays = isinstance(judge, AbsentJudge)
        self._flights: dict[str, asyncio.Future[Reply | None]] = {}

    @classmethod
    def replay(cls, folder: str | Path, judge: str | None = None, version: str | None = None, name: str | None = None) -> Self:
        """Return the judge of a folder: it gives back every stored reply, failures too, and no judge is asked.

        Args:
            folder: of a cache.
            judge: whose replies, when there are those of several judges.
            version: of which version.
            name: what tables call it; None: as the judge whose replies they are.

        Raises:
            InputError: when there is no reply of that judge, or several judges' replies.
        """
        if not Path(folder).is_dir():
            raise missing_path(folder, "folder", meaning="Replies are replayed from the folder that cache:FOLDER=JUDGE wrote.")
        here = ResponseCache(folder).judges()
        matching = [each for each in here if judge in (None, each[0]) and version in (None, each[1])]
        if not matching:
            hint = f"cache:{folder}=JUDGE keeps replies."
            raise InputError("there is no reply of this judge" if here else "there is no reply", source=folder, hint=hint)
        if len(matching) > 1:
            hint = "Choose one with `judge` and `judge_version` in a TOML file of kind replay."
            named = [" ".join(each) for each in matching]
            raise InputError("there are replies of several judges or versions", source=folder, allowed=named, hint=hint)
        why = f"this question has no reply in {Path(folder).name}"
        return cls(AbsentJudge(*matching[0], why), ResponseCache(folder), name)

    async def close(self) -> None:
        """Close the cache's file, and the judge within."""
        self.cache.close()
        await super().close()

    async def ask(self, question: Question) -> Reply:
        """Return the cached reply, or the judge's.

        Raises:
            InputError: as the judge within.
        """
        request = question.request_sha256()
        while (flight := self._flights.get(request)) is not None:
            reply = await asyncio.shield(flight)
            if reply is not None:
                self.cache.counts.hits += 1
                return _shared(reply)
        stored = self.cache.find(self.version, request, failures=self._replays)
        if stored is not None:
            self.cache.counts.hits += 1
            return stored
        self.cache.counts.misses += 1
        flight = self._flights[request] = asyncio.get_running_loop().create_future()
        landed: Reply | None = None
        try:
            landed = await self.judge.ask(question)
            if not self._replays:
                self.cache.keep(self.version, request, landed, self.judge.name)
            return landed
        finally:
            del self._flights[request]
            flight.set_result(landed)  # None: this caller was cancelled, or the question refused; the next one asks


def _shared(reply: Reply) -> Reply:
    return Reply(
        reply.text,
        reply.status,
        reply.version,
        reply.finish,
        usage=Usage(0, 0, 0.0),
        tokens=reply.tokens,
        http_status=reply.http_status,
        error=reply.error,
        cached=True,
    )

"""The journal of a run: rows that are safe on the disk before they are a Parquet part.

A run that makes rows one at a time (a judge's answers, say) writes them to ``journal/<run>.jsonl``, one line per call
of :meth:`Journal.add`, flushed to the disk. When the journal is closed its rows are *folded*: appended to their tables
as parts, after which the file is removed. A journal whose writer died is folded by the next process that opens the store; the
lock on the file tells the two cases apart. Folding twice changes nothing, because rows whose key stands are skipped.

A line is ``{"seq":1,"crc32":"0a1b2c3d","table":"scores","rows":[…]}``; the checksum covers the number and all that
follows the checksum. A line that is torn, altered or does not fit its table is copied to ``journal/set-aside/``
and reported.
"""

import json
import os
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self, TypeAlias, get_args
from urllib.parse import unquote
from uuid import uuid4

from pydantic import ValidationError

from salon_store.errors import JournalInUseError, RowError, explained
from salon_store.run_names import file_stem
from salon_taxonomy.errors import InputError
from salon_taxonomy.locked_file import LockedFile
from salon_taxonomy.records import TABLES, Record
from salon_taxonomy.whole_files import flush

SET_ASIDE = "set-aside"
"""The directory, below ``journal/``, of lines that could not be folded."""

_LINES = re.compile(rb"[^\n]*\n|[^\n]+")
_LINE = re.compile(rb'\{"seq":(?P<seq>[0-9]+),"crc32":"(?P<crc>[0-9a-f]{8})",(?P<body>.*)\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class SetAside:
    """A journal line that could not be folded: where it stood, why, and the file that holds it now."""

    journal: Path
    line: int
    reason: str
    kept_in: Path

    def __str__(self) -> str:
        """Return one sentence for a person."""
        return f"{self.journal}, line {self.line}: {self.reason}; set aside in {self.kept_in}"


@dataclass(frozen=True, slots=True)
class Folded:
    """Count the rows of one journal that were written or already in their tables, and list the lines set aside."""

    run_id: str
    rows_written: int
    rows_skipped: int
    set_aside: tuple[SetAside, ...]


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a journal: its run, its records by table, the bad lines, its id (None in old ones)."""

    run_id: str
    records: dict[str, list[Record]]
    bad: list[tuple[int, str, bytes]] = field(default_factory=list)
    journal_id: str | None = None


Fold: TypeAlias = Callable[[Path, str], Folded]
"""The store's side of folding: takes a journal whose lock is held, appends its rows, removes the file."""


class Journal:
    """An open journal; made by ``ResultStore.journal``, used in a ``with`` block, by one or several threads.

    ``sync_every``: the file is flushed to the disk after so many calls of :meth:`add`. With 1, a call's rows are
    acknowledged when it returns; with more, the last calls' rows may be lost in a power cut (not when only this
    process dies: what was written survives that) until :meth:`sync` or the end of the block.
    """

    def __init__(self, path: Path, run_id: str, file: "LockedFile", fold: Fold, sync_every: int) -> None:
        self.path = path
        self.run_id = run_id
        self._file = file
        self._fold = fold
        self._sync_every = sync_every
        self._lock = Lock()
        self._lines = 0
        self._unsynced = 0
        self._end = 0
        self.folded: Folded | None = None
        self._write(_line(0, f'"run_id":{json.dumps(run_id)},"journal_id":"{uuid4().hex}"'))
        self._flush()
        flush(path.parent)

    def add(self, table: str, rows: Record | Iterable[Record]) -> int:
        """Write one record or several; returns how many. Several are kept or lost together.

        Raises:
            InputError: for an unknown table.
            RowError: for a record of another table, or one that its table cannot hold; nothing was written.
            StoreError: when the operating system refuses (a full disk); these rows are not acknowledged, the journal can
                still be used.
            ValueError: after the journal was closed.
        """
        batch = [rows] if isinstance(rows, Record) else list(rows)
        _refuse_what_does_not_fit(batch, table)
        if not batch:
            return 0
        body = f'"table":{json.dumps(table)},"rows":[{",".join(row.model_dump_json() for row in batch)}]'
        with self._lock:
            self._refuse_when_closed()
            with explained(self.path):
                self._lines += 1
                self._write(_line(self._lines, body))
                self._unsynced += 1
                if self._unsynced >= self._sync_every:
                    self._flush()
        return len(batch)

    @property
    def closed(self) -> bool:
        """Whether it takes no more rows."""
        return self._file.closed

    @property
    def lines(self) -> int:
        """Calls of :meth:`add` that wrote something."""
        return self._lines

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._end

    def sync(self) -> None:
        """Flush to the disk: every row added so far is acknowledged when this returns. Others may add rows meanwhile."""
        with self._lock, explained(self.path):
            self._refuse_when_closed()
            file = self._file.again()
            self._unsynced = 0
        try:
            with explained(self.path):
                file.flush()
        finally:
            file.close()

    def close(self) -> Folded:
        """Fold the rows into parts and remove the file; a second call returns the first one's result.

        When folding fails the file stays, and the next one to open the store folds it.
        """
        with self._lock:
            if self.folded is None:
                self._refuse_when_closed()
                try:
                    with explained(self.path):
                        self._flush()
                        self.folded = self._fold(self.path, self.run_id)
                finally:
                    self._file.close()
        return self.folded

    def leave(self) -> None:
        """Flush and close without folding: the next process that opens the store folds the rows. A second call does nothing.

        The file of a journal to which nothing was added is removed.
        """
        with self._lock:
            if not self._file.closed:
                try:
                    with explained(self.path):
                        if self._lines:
                            self._flush()
                        else:
                            self.path.unlink(missing_ok=True)
                finally:
                    self._file.close()

    def __enter__(self) -> Self:
        """Return the journal itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close, whether or not the block failed: what was added is kept."""
        if not self._file.closed:
            self.close()

    def _refuse_when_closed(self) -> None:
        if self._file.closed:
            raise ValueError(f"the journal of run {self.run_id!r} is closed")

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line)
        except OSError:
            # A disk that is full takes half a line; without it the next line stands on its own again.
            with suppress(OSError):
                self._file.truncate(self._end)
            raise
        self._end += len(line)

    def _flush(self) -> None:
        self._file.flush()
        self._unsynced = 0


def journal_path(directory: Path, run_id: str) -> Path:
    """Return where the journal of a run lies."""
    return directory / f"{file_stem(run_id)}.jsonl"


def waiting(directory: Path, *, foreign: bool = False) -> list[Path]:
    """Return journals in use or left behind; ``foreign``: links, folders and pipes in their place, which are never read."""
    return sorted(path for path in directory.glob("*.jsonl") if (path.is_symlink() or not path.is_file()) == foreign)


def held_elsewhere(path: Path) -> JournalInUseError:
    """Return the error for a journal that another writer holds."""
    return JournalInUseError(
        f"{path}: another process is writing the journal of this run\n"
        "Give this run an id of its own, or wait for the other one."
    )


def read_journal(path: Path) -> Contents:
    """Return everything in a journal file, good and bad; never raises on what the file holds."""
    contents = Contents(unquote(path.stem), {})
    for number, raw in enumerate(_LINES.findall(path.read_bytes()), start=1):
        try:
            entry = _entry(raw)
            if number == 1 and "run_id" in entry:
                own = entry.get("journal_id")
                contents = Contents(str(entry["run_id"]), contents.records, contents.bad, None if own is None else str(own))
                continue
            records = _records(entry)
            contents.records.setdefault(str(entry["table"]), []).extend(records)
        except _BadLineError as problem:
            contents.bad.append((number, str(problem), raw))
    return contents


def set_aside(path: Path, contents: Contents) -> tuple[SetAside, ...]:
    """Copy every bad line to ``journal/set-aside/``, flushed; doing it again after a crash makes no second copy."""
    kept = []
    for number, reason, raw in contents.bad:
        directory = path.parent / SET_ASIDE
        directory.mkdir(exist_ok=True)
        target = directory / f"{path.stem}-line{number}-{sha256(raw).hexdigest()[:12]}.jsonl"
        with target.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        flush(directory)
        kept.append(SetAside(path, number, reason, target))
    return tuple(kept)


class _BadLineError(Exception):
    """Why a line cannot be folded."""


def _line(sequence: int, body: str) -> bytes:
    checksum = zlib.crc32(f"{sequence},{body}".encode())
    return f'{{"seq":{sequence},"crc32":"{checksum:08x}",{body}}}\n'.encode()


def _entry(raw: bytes) -> dict[str, object]:
    if not raw.endswith(b"\n"):
        raise _BadLineError("the line breaks off")
    match = _LINE.fullmatch(raw[:-1])
    if match is None:
        raise _BadLineError("this is no journal line")
    if zlib.crc32(match["seq"] + b"," + match["body"]) != int(match["crc"], 16):
        raise _BadLineError("the checksum does not fit the line")
    entry = json.loads(raw)
    if not isinstance(entry, dict):
        raise _BadLineError("this is no journal line")
    return entry


def _records(entry: dict[str, object]) -> list[Record]:
    table, rows = entry.get("table"), entry.get("rows")
    if not isinstance(table, str) or not isinstance(rows, list):
        raise _BadLineError("the line names no table and rows")
    try:
        kind = _kind(table)
        return [kind.model_validate_json(json.dumps(row)) for row in rows]
    except InputError as error:
        raise _BadLineError(str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _BadLineError(f"table {table}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _kind(table: str) -> type[Record]:
    if table not in TABLES:
        raise InputError("there is no table", value=table, allowed=TABLES)
    return TABLES[table]


def _refuse_what_does_not_fit(batch: list[Record], table: str) -> None:
    """What a record's own checks, made when it was built, leave open: its table, and that numbers fit 64 bits."""
    kind = _kind(table)
    whole = _WHOLE_NUMBERS[table]
    for number, row in enumerate(batch, start=1):
        if not isinstance(row, kind):
            raise RowError("this is no record of the table", table=table, row=number, value=row, allowed=[kind.__name__])
        for column in whole:
            value = getattr(row, column)
            if value is not None and not -(2**63) <= value < 2**63:
                raise RowError("this number does not fit 64 bits", table=table, row=number, column=column, value=value)


def _takes_whole_numbers(annotation: object) -> bool:
    return annotation is int or any(_takes_whole_numbers(part) for part in get_args(annotation))


_WHOLE_NUMBERS = {
    table: tuple(name for name, field in kind.model_fields.items() if _takes_whole_numbers(field.annotation))
    for table, kind in TABLES.items()
}
"""The columns of whole numbers, by table."""

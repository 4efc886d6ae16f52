"""A folder through which questions travel to a vendor's batch interface and replies come back.

    calls/
      requests-001.jsonl    to be submitted, at most 50,000 requests and 200 MB each
      calls.jsonl           the requests of each file, and the replies

``calls.jsonl`` only grows and is held by one process at a time. A request is *open* until it was written, *waiting* until
something came back for it, then *settled*; one that failed may be written again.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from salon_judges.clients import batch_requests
from salon_judges.clients.batch_outputs import NoBatchReply, read_batch_line
from salon_judges.clients.batch_requests import RequestFile, RequestFiles
from salon_judges.clients.line_files import LineFile, lines_of
from salon_judges.clients.reply_documents import ReplyDocument, problem_of
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply
from salon_taxonomy.records import CallStatus

_LOG = "calls.jsonl"
_LONGEST_LINE = 64 << 20
_MOST_PROBLEMS = 20
RequestId = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class _Written(_Entry):
    event: Literal["written"] = "written"
    file: str
    custom_ids: tuple[RequestId, ...]


class _Settled(_Entry):
    event: Literal["settled"] = "settled"
    custom_id: RequestId
    reply: ReplyDocument


_ENTRIES: TypeAdapter[_Written | _Settled] = TypeAdapter(Annotated[_Written | _Settled, Field(discriminator="event")])


@dataclass(frozen=True, slots=True)
class Waiting:
    """The request was written to a file and has no reply yet."""

    file: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The latest reply to a request, which may be a failure, and how often it failed."""

    reply: Reply
    failures: int


State: TypeAlias = Waiting | Settled | None
"""None: open, the request was never written."""


@dataclass(slots=True)
class Ingested:
    """The counts of an ingest of a vendor's files.

    Attributes:
        replies: requests that were answered.
        failures: requests that failed; they are open again.
        repeated: lines about a request that had been settled, left out.
        unknown: lines about a request that was never written here, left out.
        malformed: lines that cannot be parsed.
        problems: of the first twenty of these, with file and line.
        waiting: requests for which nothing came back yet.
    """

    replies: int = 0
    failures: int = 0
    repeated: int = 0
    unknown: int = 0
    malformed: int = 0
    problems: list[str] = field(default_factory=list)
    waiting: int = 0


@dataclass(slots=True)
class _Request:
    file: str
    waiting: bool = True
    failures: int = 0
    offset: int = -1
    length: int = 0


class BatchFolder:
    """The folder, held by this process. Close it.

    Args:
        path: created when it is missing.
        create: whether it may be created; otherwise a missing one is an error.
        most_rows: of one request file.
        most_bytes: of one request file.

    Raises:
        InputError: another process holds the folder, its log is damaged (names the line), or it is missing.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = True,
        most_rows: int = batch_requests.MOST_ROWS,
        most_bytes: int = batch_requests.MOST_BYTES,
    ) -> None:
        self.path = Path(path).absolute()
        if not create and not (self.path / _LOG).is_file():
            hint = "Name the one of --judge batch:FOLDER=JUDGE."
            raise InputError(f"this is no folder of a batch (it holds no {_LOG})", source=path, hint=hint)
        self._log = LineFile(self.path / _LOG)
        try:
            self._requests: dict[str, _Request] = {}
            self._size = 0
            known = self._replayed()
            batch_requests.discard_unfinished(self.path)
            for left in batch_requests.finished(self.path):
                if left.name not in known:  # a process was killed between naming the file and writing it down
                    self._note_written(RequestFile(left, tuple(batch_requests.ids_in(left))))
            self._files = RequestFiles(self.path, most_rows=most_rows, most_bytes=most_bytes)
            self._open: set[str] = set()
        except BaseException:
            self._log.close()
            raise

    def state(self, custom_id: str) -> State:
        """Return the state of a request.

        Raises:
            InputError: when the log is no longer what it was.
        """
        if custom_id in self._open:
            return Waiting("the next file")
        request = self._requests.get(custom_id)
        if request is None:
            return None
        return Waiting(request.file) if request.waiting else Settled(self._reply(request), request.failures)

    def add(self, custom_id: str, body: Sequence[bytes]) -> None:
        """Write a request (see :meth:`RequestFiles.add`); it waits from now on.

        Raises:
            InputError: when it is too large, or the disk is full.
        """
        self._files.add(custom_id, body)
        self._open.add(custom_id)

    def finish(self) -> list[Path]:
        """Give the request files their names; returns the new ones."""
        done = self._files.finish()
        for request_file in done:
            self._note_written(request_file)
        self._open.clear()
        return [request_file.path for request_file in done]

    def ingest(self, files: Iterable[str | Path]) -> Ingested:
        """Read output and error files, in any order and any number of times; a request is settled once.

        Raises:
            InputError: for a file that cannot be read.
        """
        counts = Ingested()
        for file in files:
            for line in lines_of(Path(file), _LONGEST_LINE):
                self._take(line.content, f"{file}, line {line.number}", counts)
        counts.waiting = sum(request.waiting for request in self._requests.values())
        return counts

    def close(self) -> None:
        """Finish, and let go of the folder. A second call does nothing."""
        try:
            self.finish()
        finally:
            self._log.close()

    def _take(self, line: bytes, where: str, counts: Ingested) -> None:
        read = read_batch_line(line)
        if isinstance(read, NoBatchReply):
            counts.malformed += 1
            if len(counts.problems) < _MOST_PROBLEMS:
                counts.problems.append(f"{where}: {read.problem}")
            return
        request = self._requests.get(read.custom_id)
        if request is None:
            counts.unknown += 1
        elif not request.waiting:
            counts.repeated += 1
        else:
            self._append(_Settled(custom_id=read.custom_id, reply=ReplyDocument.of(read.reply)))
            answered = read.reply.answered
            counts.replies += answered
            counts.failures += not answered

    def _replayed(self) -> set[str]:
        """Read the log; returns the names of the request files that it knows."""
        files: set[str] = set()
        path = self.path / _LOG
        for line in lines_of(path, _LONGEST_LINE):
            try:
                entry = _ENTRIES.validate_json(line.content)
            except ValidationError as error:
                raise InputError(f"the log is damaged ({problem_of(error)})", source=path, line=line.number) from error
            self._apply(entry, line.offset, len(line.content))
            if isinstance(entry, _Written):
                files.add(entry.file)
        return files

    def _apply(self, entry: _Written | _Settled, offset: int, length: int) -> None:
        self._size = offset + length
        if isinstance(entry, _Written):
            for custom_id in entry.custom_ids:
                before = self._requests.get(custom_id)
                self._requests[custom_id] = _Request(entry.file, failures=0 if before is None else before.failures)
            return
        request = self._requests.setdefault(entry.custom_id, _Request(""))
        request.waiting, request.offset, request.length = False, offset, length
        request.failures += entry.reply.status != CallStatus.OK

    def _append(self, entry: _Written | _Settled) -> None:
        content = entry.model_dump_json(exclude_defaults=False).encode()
        self._log.append(content)
        self._apply(entry, self._size, len(content) + 1)

    def _note_written(self, file: RequestFile) -> None:
        self._append(_Written(file=file.path.name, custom_ids=file.custom_ids))

    def _reply(self, request: _Request) -> Reply:
        path = self.path / _LOG
        try:
            with path.open("rb") as file:
                entry = _ENTRIES.validate_json(os.pread(file.fileno(), request.length, request.offset))
        except (OSError, ValidationError) as error:
            raise InputError("the log has changed since it was opened", source=path) from error
        if not isinstance(entry, _Settled):
            raise InputError("the log has changed since it was opened", source=path)
        return entry.reply.reply()

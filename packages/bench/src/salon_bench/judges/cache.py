"""Replies on disk by judge version and question: the folder behind :class:`~salon_bench.judges.cached.CachedJudge`.

    replies/
      3f/3fa9…c1.reply        "salon-reply-1 <sha256 of the rest>\n" and the reply as JSON

An entry is written under a temporary name and renamed, so many processes may share a folder. It is not flushed to the disk:
an entry that a power cut tore no longer has its checksum, counts as none, and is written again. Entries hold what the judge
said and no question, so no secret; nothing in them is ever executed.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from salon_bench.judges.reply_documents import ReplyDocument, problem_of
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply
from salon_taxonomy.records import CallStatus

_MAGIC = b"salon-reply-1 "
_SHA256_DIGITS = 64
_HEAD = len(_MAGIC) + _SHA256_DIGITS + 1
_LARGEST_ENTRY = 16 << 20
_MOST_DAMAGE_TOLD = 100
_ENTRY = re.compile(r"[0-9a-f]{64}\.reply")
_SHARD = re.compile(r"[0-9a-f]{2}")
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Damage:
    """An entry that cannot be used. It counts as none and is written again when the judge replies."""

    path: Path
    problem: str


@dataclass(frozen=True, slots=True)
class Size:
    """How much a folder holds."""

    entries: int
    size_bytes: int


@dataclass(slots=True)
class Counts:
    """What a cache was good for since it was opened.

    Attributes:
        hits: replies that were found, or taken from an equal question in flight.
        misses: questions that went to the judge.
        kept: replies written.
        damaged: the first hundred entries that could not be used, oldest first.
        not_kept: why a whole reply could not be written (a full disk), the last time; None when all could.
    """

    hits: int = 0
    misses: int = 0
    kept: int = 0
    damaged: list[Damage] = field(default_factory=list)
    not_kept: str | None = None


class ResponseCache:
    """A folder of replies.

    Args:
        folder: created when it is missing.

    Attributes:
        counts: see :class:`Counts`.

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
        self.counts = Counts()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder of the cache cannot be made ({error.strerror})", source=folder) from error

    def find(self, version: str, request_sha256: str) -> Reply | None:
        """Return the stored reply of a judge version to a question, ``cached`` and at no cost; None if missing."""
        path = self._path(version, request_sha256)
        try:
            with path.open("rb") as file:
                content = file.read(_LARGEST_ENTRY + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            found: Reply | str = f"cannot be read ({error.strerror})"
        else:
            found = _entry(content)
        if isinstance(found, str):
            if len(self.counts.damaged) < _MOST_DAMAGE_TOLD:
                self.counts.damaged.append(Damage(path, found))
            return None
        with suppress(OSError):
            os.utime(path)  # pruning takes those that were used longest ago
        return found

    def keep(self, version: str, request_sha256: str, reply: Reply) -> bool:
        """Write a reply, if it is whole. Whether it was written: a full disk costs the entry, not the run."""
        if not worth_keeping(reply):
            return False
        body = ReplyDocument.of(reply).model_dump_json(exclude_defaults=True).encode()
        if _HEAD + len(body) > _LARGEST_ENTRY:
            return False
        path = self._path(version, request_sha256)
        temporary = path.with_name(f".{path.stem}.{secrets.token_hex(8)}")
        try:
            try:
                self._write(temporary, path, body)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._write(temporary, path, body)
        except OSError as error:
            self.counts.not_kept = f"{path}: {error.strerror}"
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            return False
        self.counts.kept += 1
        return True

    def size(self) -> Size:
        """How many entries there are, and their bytes."""
        sizes = [status.st_size for _, status in self._entries()]
        return Size(len(sizes), sum(sizes))

    def prune(self, most_bytes: int) -> Size:
        """Delete the entries that were used longest ago until the others fit; returns what was deleted.

        Temporary files that a killed process left behind an hour ago or earlier go too.

        Raises:
            InputError: for a negative size.
        """
        if most_bytes < 0:
            raise InputError("a size in bytes is counted from 0, not", value=most_bytes)
        entries = sorted(self._entries(), key=lambda entry: (entry[1].st_mtime_ns, entry[0].name))
        left = sum(status.st_size for _, status in entries)
        newest = entries[-1][1].st_mtime if entries else 0.0
        deleted = freed = 0
        for path, status in entries:
            if left <= most_bytes:
                break
            with suppress(FileNotFoundError):  # another process pruned it
                path.unlink()
                deleted, freed = deleted + 1, freed + status.st_size
            left -= status.st_size
        self._delete_temporary(newest - 3600)
        return Size(deleted, freed)

    def _delete_temporary(self, before: float) -> None:
        for shard in self._shards():
            for path in shard.iterdir():
                if _TEMPORARY.fullmatch(path.name):
                    with suppress(OSError):
                        if path.lstat().st_mtime < before:
                            path.unlink()

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        for shard in self._shards():
            for path in shard.iterdir():
                if _ENTRY.fullmatch(path.name):
                    with suppress(FileNotFoundError):
                        yield path, path.lstat()

    def _shards(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if _SHARD.fullmatch(path.name) and path.is_dir())

    def _path(self, version: str, request_sha256: str) -> Path:
        key = digest("reply", {"judge": version, "request": request_sha256}, length=_SHA256_DIGITS)
        return self.folder / key[:2] / f"{key}.reply"

    def _write(self, temporary: Path, path: Path, body: bytes) -> None:
        with temporary.open("xb") as file:
            file.write(b"%b%b\n%b" % (_MAGIC, hashlib.sha256(body).hexdigest().encode(), body))
        temporary.replace(path)


def _entry(content: bytes) -> Reply | str:
    """The reply of an entry, or what is wrong with it."""
    if len(content) > _LARGEST_ENTRY or content[: len(_MAGIC)] != _MAGIC:
        return "is no entry of a cache"
    body = content[_HEAD:]
    if content[len(_MAGIC) : _HEAD] != hashlib.sha256(body).hexdigest().encode() + b"\n":
        return "does not have the checksum that it was written with"
    try:
        reply = ReplyDocument.model_validate_json(body).given_again()
    except ValidationError as error:
        return problem_of(error)
    return reply if worth_keeping(reply) else "holds no whole reply"


def worth_keeping(reply: Reply) -> bool:
    """Whether a reply is whole: not failed, not cut off, not withheld, not blank."""
    return reply.status == CallStatus.OK and reply.problem() is None and not reply.text.isspace() and reply.text != ""

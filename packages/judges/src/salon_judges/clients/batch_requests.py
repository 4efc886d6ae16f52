"""Write request files of a batch within vendors' limits; a file gets its name when it is complete."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from salon_taxonomy.errors import InputError, cannot_write

MOST_ROWS: Final = 50_000
MOST_BYTES: Final = 200_000_000
_NAME: Final = re.compile(r"requests-(\d{3,})\.jsonl")
_ID: Final = re.compile(rb'\{"custom_id":"([0-9a-f]{64})",')
_UNFINISHED: Final = ".part"


@dataclass(frozen=True, slots=True)
class RequestFile:
    """A file to be submitted, and the ids of the requests in it, in their order."""

    path: Path
    custom_ids: tuple[str, ...]


class RequestFiles:
    """Writes requests into files of a folder; :meth:`finish` names them.

    Args:
        folder: where they go.
        most_rows: of one file.
        most_bytes: of one file.
    """

    def __init__(self, folder: Path, *, most_rows: int = MOST_ROWS, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._number = max((_number(path) for path in finished(folder)), default=0)
        self._file: BinaryIO | None = None
        self._size = 0
        self._ids: list[str] = []
        self._finished: list[RequestFile] = []

    def add(self, custom_id: str, body: Sequence[bytes]) -> None:
        """Write one request.

        Args:
            custom_id: 64 hex digits.
            body: the body of ``POST /v1/chat/completions``, in pieces.

        Raises:
            InputError: for a request that is larger than a file may be, and when the disk is full.
        """
        head = b'{"custom_id":"%b","method":"POST","url":"/v1/chat/completions","body":' % custom_id.encode()
        size = len(head) + sum(map(len, body)) + 2
        if size > self._most_bytes:
            hint = "Have the suite's pictures resized."
            raise InputError(f"a request of {size} bytes fits in no file of {self._most_bytes}", value=custom_id, hint=hint)
        if len(self._ids) >= self._most_rows or self._size + size > self._most_bytes:
            self._close()
        try:
            if self._file is None:
                self._number += 1
                self._file = self._unfinished().open("wb")
            self._file.writelines((head, *body, b"}\n"))
        except OSError as error:
            raise cannot_write(error, self._folder) from error
        self._size += size
        self._ids.append(custom_id)

    def finish(self) -> list[RequestFile]:
        """Flush what was written, give the files their names, and return those that are new since the last call."""
        self._close()
        done, self._finished = self._finished, []
        return done

    def _unfinished(self) -> Path:
        return self._folder / f"requests-{self._number:03d}.jsonl{_UNFINISHED}"

    def _close(self) -> None:
        if self._file is None:
            return
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        path = self._unfinished().rename(self._folder / f"requests-{self._number:03d}.jsonl")
        self._finished.append(RequestFile(path, tuple(self._ids)))
        self._file, self._size, self._ids = None, 0, []


def finished(folder: Path) -> list[Path]:
    """Return the request files of a folder, in the order in which they were written."""
    return sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), key=_number)


def discard_unfinished(folder: Path) -> None:
    """Delete what a killed process began; its requests are open again."""
    for path in folder.glob(f"requests-*.jsonl{_UNFINISHED}"):
        path.unlink(missing_ok=True)


def ids_in(path: Path) -> Iterator[str]:
    """Yield the ids of the requests in a file of ours."""
    with path.open("rb") as file:
        for line in file:
            match = _ID.match(line)
            if match:
                yield match[1].decode()


def _number(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else 0

"""Files of JSON lines that grow: written by one process at a time, read with the place of every line.

A process that is killed while it writes leaves a last line without its end. Readers leave such a line out, and the next
writer cuts it off; any other line that cannot be read is an error that names it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.locked_file import LockedFile

_TAIL_STEP = 1 << 16


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line with its end; ``number`` counts from 1, ``offset`` is that of its first byte."""

    number: int
    offset: int
    content: bytes


class LineFile:
    """A file that this process alone appends lines to. Close it.

    Args:
        path: created with its folders when it is missing.

    Raises:
        InputError: when another process holds the file, or it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = LockedFile.opened(path, create=True)
            if file is None:
                raise InputError("another process is writing this file", source=path, hint="Name another one, or wait for it.")
            self._end = _whole_length(path)
            file.truncate(self._end)
        except OSError as error:
            raise cannot_write(error, path) from error
        self._file = file
        self._one_by_one = Lock()

    def append(self, content: bytes) -> None:
        """Write one line; ``content`` holds no line feed. It outlives this process when this returns.

        Threads may share the file. What was written of a line that the operating system refuses is cut off again.

        Raises:
            InputError: when the operating system refuses (a full disk).
        """
        with self._one_by_one:
            try:
                self._file.write(content + b"\n")
            except OSError as error:
                self._file.truncate(self._end)
                raise cannot_write(error, self.path) from error
            self._end += len(content) + 1

    def close(self) -> None:
        """Flush to the disk and let go of the file. A second call does nothing."""
        if not self._file.closed:
            self._file.flush()
            self._file.close()


def lines_of(path: Path, most_bytes: int) -> Iterator[NumberedLine]:
    """Yield the non-blank lines of a file; a last one without a line end is yielded unchanged.

    Raises:
        InputError: when the file cannot be read, or a line is longer than ``most_bytes``.
    """
    try:
        with path.open("rb") as file:
            offset = 0
            number = 0
            while content := file.readline(most_bytes + 1):
                number += 1
                if len(content) > most_bytes:
                    raise InputError(f"a line longer than {most_bytes} bytes", source=path, line=number)
                if not content.isspace():
                    yield NumberedLine(number, offset, content)
                offset += len(content)
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", source=path) from error


def _whole_length(path: Path) -> int:
    """Return the length of a file up to the end of its last whole line."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _TAIL_STEP)
            file.seek(start)
            end_of_line = file.read(end - start).rfind(b"\n")
            if end_of_line >= 0:
                return start + end_of_line + 1
            end = start
    return 0

"""Raise :class:`OutputError` for failures of standard output: a full disk, a closed pipe.

An ``OSError`` says what went wrong, not where: "no space left on device" may be the terminal's redirection or a file that a
library was writing. Here the file beneath ``sys.stdout`` is exchanged for one that raises :class:`OutputError`, which nothing
else raises and no ``except OSError`` catches. Only a real file is exchanged; what a test or a host program put in place of
``sys.stdout`` stays as it is.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputError(Exception):
    """Standard output could not be written. ``closed`` tells whether its reader has merely gone away, as ``head`` does."""

    def __init__(self, error: OSError) -> None:
        self.closed = isinstance(error, BrokenPipeError)
        super().__init__(f"standard output cannot be written ({error.strerror or type(error).__name__})")


@contextmanager
def failures_raised() -> Iterator[None]:
    """Turn failures to write standard output into :class:`OutputError`; flush it at the end.

    Raises:
        OutputError: from whatever writes, or at the end. After the first, what is written goes nowhere.
    """
    plain = sys.stdout
    if plain is None:  # the caller closed it (``>&-``); what is written goes nowhere
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield
        return
    if not isinstance(plain, io.TextIOWrapper) or (raw := _raw(plain)) is None:
        yield
        return
    plain.flush()
    file = _CheckedOutput(raw.fileno(), "wb", closefd=False)
    told = _exchanged(plain, file)
    sys.stdout = told
    try:
        yield
    finally:
        if sys.stdout is told:
            sys.stdout = plain
        told.flush()
        if file.failure is not None:  # a caller may have caught it, as click does while it inspects a stream
            raise file.failure


class _CheckedOutput(io.FileIO):
    """A file whose failures to write are :class:`OutputError`, the first of them; what comes later is dropped."""

    failure: OutputError | None = None

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes, as ``FileIO`` does."""
        if self.failure is not None:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except OSError as error:
            self.failure = OutputError(error)
            raise self.failure from error


def _raw(stream: io.TextIOWrapper) -> io.FileIO | None:
    """Return the file beneath a text stream as Python opens it; None for anything else."""
    if type(stream) is not io.TextIOWrapper:
        return None
    raw = getattr(stream.buffer, "raw", stream.buffer)
    return raw if type(raw) is io.FileIO else None


def _exchanged(plain: io.TextIOWrapper, raw: io.FileIO) -> io.TextIOWrapper:
    """Return a text stream like ``plain`` over ``raw``; without a buffer where ``plain`` has none (``python -u``)."""
    buffer = io.BufferedWriter(raw) if isinstance(plain.buffer, io.BufferedWriter) else raw
    return io.TextIOWrapper(
        buffer,
        encoding=plain.encoding,
        errors=plain.errors,
        newline=None,
        line_buffering=plain.line_buffering,
        write_through=plain.write_through,
    )

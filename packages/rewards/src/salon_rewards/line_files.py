"""Read files of lines: a path or standard input, gzipped or not."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from salon_taxonomy.errors import InputError

STANDARD_INPUT: Final = "-"
ONE_OBJECT_PER_LINE: Final = (
    "The file must be JSON Lines, one object per line. Of a table: polars.read_csv(FILE).write_ndjson(…); of a JSON array: "
    "jq -c '.[]' FILE."
)
_PARQUET: Final = b"PAR1"
_GZIP: Final = b"\x1f\x8b"


@contextmanager
def opened(file: str | Path) -> Iterator[IO[bytes]]:
    """The lines of a file, or of standard input for ``-``; what gzip packed is unpacked.

    Raises:
        InputError: when the file cannot be read, also while its lines are taken; names it.
    """
    name = shown(file)
    try:
        if str(file) == STANDARD_INPUT:
            yield _unpacked(sys.stdin.buffer)
        else:
            with Path(file).open("rb") as lines:
                yield _unpacked(lines)
    except FileNotFoundError as error:
        raise InputError("there is no such file", source=name) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"is damaged: what gzip packed does not unpack ({error})", source=name) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=name) from error


def shown(file: str | Path) -> str:
    """What messages call a file."""
    return "standard input" if str(file) == STANDARD_INPUT else str(file)


def said_of_bytes(line: bytes, error: UnicodeDecodeError) -> tuple[str, str | None]:
    """What is wrong with a line that is no text, and what to do about it.

    Example:
        >>> try:
        ...     b"PAR1\\xff".decode()
        ... except UnicodeDecodeError as error:
        ...     print(said_of_bytes(b"PAR1\\xff", error)[0])
        is a Parquet file, not JSON Lines
    """
    if line.startswith(_PARQUET):
        return "is a Parquet file, not JSON Lines", "Turn it: polars.read_parquet(FILE).write_ndjson(…)."
    return f"is not UTF-8 at byte {error.start}", None


def _unpacked(lines: IO[bytes]) -> IO[bytes]:
    seen = lines if isinstance(lines, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", lines))
    return cast("IO[bytes]", gzip.GzipFile(fileobj=seen)) if seen.peek(2).startswith(_GZIP) else seen

"""Read files of lines: a path or standard input, gzipped or not, and JSON Lines strictly.

bytes ──► lines ──► UTF-8 ──► one JSON object, no key twice, no NaN ──► its columns          salon reward score, audit
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.errors import InputError, missing_path, refuse_device

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
            refuse_device(file)
            with Path(file).open("rb") as lines:
                yield _unpacked(lines)
    except FileNotFoundError as error:
        raise missing_path(name) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"is damaged: what gzip packed does not unpack ({error})", source=name) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=name) from error


def shown(file: str | Path) -> str:
    """Return what messages call a file."""
    return "standard input" if str(file) == STANDARD_INPUT else str(file)


def said_of_bytes(line: bytes, error: UnicodeDecodeError) -> tuple[str, str | None]:
    """Return what is wrong with a line that is no text, and what to do about it.

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


def json_lines(lines: Iterable[bytes], source: str | Path) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Yield the objects of a file with their 1-based lines; blank lines are passed over, a byte order mark is too.

    Args:
        lines: the file's lines, with or without their ends.
        source: its name, for messages.

    Raises:
        InputError: for a line that is not UTF-8, or no object as :func:`~salon_taxonomy.answers.strict_json.strict_json`
            takes it (a key that occurs twice is refused); names file and line, and the character where the parser knows it.

    Example:
        >>> list(json_lines([b'{"step": 1}', b"", b'{"step": 2}'], "run.jsonl"))
        [(1, {'step': 1}), (3, {'step': 2})]
        >>> list(json_lines([b'{"step": 1, "step": 2}'], "run.jsonl"))
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: run.jsonl, line 1: is no JSON object (the key 'step' occurs twice)
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _object(line, source, number)


def file_lines(path: Path) -> list[bytes]:
    """Return the lines of a whole file, gzipped or not; of standard input for ``-``.

    Raises:
        InputError: when it cannot be read.
    """
    with opened(path) as file:
        return file.read().split(b"\n")


def _object(line: bytes, source: str | Path, number: int) -> Mapping[str, Json]:
    text = ""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        value = strict_json(text)
    except UnicodeDecodeError as error:
        problem, hint = said_of_bytes(line, error)
        raise InputError(problem, source=source, line=number, hint=hint) from error
    except JsonError as error:
        hint = None if text.lstrip().startswith("{") else ONE_OBJECT_PER_LINE
        raise InputError(f"is no JSON object ({error})", source=source, line=number, hint=hint) from error
    if not isinstance(value, dict):
        raise InputError("is no JSON object:", source=source, line=number, value=value, hint=ONE_OBJECT_PER_LINE)
    return value

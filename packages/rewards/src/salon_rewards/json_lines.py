"""JSON Lines, as every command of this package reads them: strictly, and with the line of what is wrong.

bytes ──► lines ──► UTF-8 ──► one JSON object, no key twice, no NaN ──► its columns          salon reward score, audit
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from salon_rewards.line_files import ONE_OBJECT_PER_LINE, opened, said_of_bytes
from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.errors import InputError


def json_lines(lines: Iterable[bytes], source: str | Path) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """The objects of a file with their 1-based lines; blank lines are passed over, a byte order mark is too.

    Args:
        lines: the file's lines, with or without their ends.
        source: its name, for messages.

    Raises:
        InputError: for a line that is not UTF-8, or no object as :func:`~salon_taxonomy.answers.strict_json.strict_json`
            takes it (a key that stands twice is refused); names file and line, and the character where the parser knows it.

    Example:
        >>> list(json_lines([b'{"step": 1}', b"", b'{"step": 2}'], "run.jsonl"))
        [(1, {'step': 1}), (3, {'step': 2})]
        >>> list(json_lines([b'{"step": 1, "step": 2}'], "run.jsonl"))
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: run.jsonl, line 1: is no JSON object (the key 'step' stands twice)
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _object(line, source, number)


def file_lines(path: Path) -> list[bytes]:
    """The lines of a whole file, gzipped or not; of standard input for ``-``.

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

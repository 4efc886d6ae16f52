"""JSON Lines from strangers: one object per line, and an error that names the line of one that is none."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from salon_rewards.line_files import ONE_OBJECT_PER_LINE, said_of_bytes
from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.errors import InputError


def json_lines(lines: Iterable[bytes], source: str | Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """The objects of a file, each with its line (from 1); blank lines are passed over, and so is a byte order mark.

    Args:
        lines: the file's lines.
        source: its name, for messages.

    Raises:
        InputError: for a line that is not UTF-8 or no JSON object; names row and line.

    Example:
        >>> list(json_lines([b'{"step": 1}', b"", b'{"step": 2}'], "log.jsonl"))
        [(1, {'step': 1}), (3, {'step': 2})]
    """
    row = 0
    for line, data in enumerate(lines, start=1):
        if not data.strip():
            continue
        row += 1
        try:
            value = strict_json(data.decode("utf-8-sig" if line == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            problem, hint = said_of_bytes(data, error)
            raise InputError(problem, source=source, row=row, line=line, hint=hint) from error
        except JsonError as error:
            hint = None if data.lstrip().startswith(b"{") else ONE_OBJECT_PER_LINE
            raise InputError(f"is no JSON object ({error})", source=source, row=row, line=line, hint=hint) from error
        if not isinstance(value, dict):
            problem = "is no JSON object:"
            raise InputError(problem, source=source, row=row, line=line, value=value, hint=ONE_OBJECT_PER_LINE)
        yield line, value

"""A file of completions: JSON Lines with one object per row, ``completion`` and the columns that rewards need beside it."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from salon_rewards.line_files import ONE_OBJECT_PER_LINE, said_of_bytes
from salon_taxonomy.errors import InputError

COMPLETION = "completion"


def read_completions(lines: Iterable[bytes], source: str | Path, needed: Sequence[str] = ()) -> dict[str, list[Any]]:
    """The columns of a file, each with one value for every row; blank lines are passed over.

    Args:
        lines: the file's lines.
        source: its name, for messages.
        needed: columns that every row must have; null stands for a value that nobody knows.

    Raises:
        InputError: for a row that is no JSON object or lacks a column, and for a file without rows; names row and column.

    Returns:
        ``completion`` and all other keys that any row has; None where a row has not.

    Example:
        >>> read_completions([b'{"completion": "Fine.", "truth": null}'], "a.jsonl", ["truth"])
        {'completion': ['Fine.'], 'truth': [None]}
    """
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        rows.append(_row(line, source, number, len(rows) + 1))
    if not rows:
        raise InputError("holds no rows", source=source, hint='A row is a line such as {"completion": "…", "truth": {…}}.')
    for column in (COMPLETION, *needed):
        lacking = next((number for number, row in enumerate(rows, start=1) if column not in row), None)
        if lacking is not None:
            there = ", ".join(sorted(rows[lacking - 1])) or "none"
            raise InputError(f"the row lacks this column; it has: {there}", source=source, row=lacking, column=column)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row[COMPLETION], str | list):
            problem = "a completion is a text or a list of messages, not"
            raise InputError(problem, source=source, row=number, column=COMPLETION, value=row[COMPLETION])
    names = dict.fromkeys(key for row in rows for key in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _row(line: bytes, source: str | Path, number: int, row: int) -> Mapping[str, Any]:
    try:
        value = _DECODER.decode(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        problem, hint = said_of_bytes(line, error)
        raise InputError(problem, source=source, row=row, line=number, hint=hint) from error
    except (ValueError, RecursionError) as error:
        hint = None if line.lstrip().startswith(b"{") else ONE_OBJECT_PER_LINE
        raise InputError(f"is no JSON ({error})", source=source, row=row, line=number, hint=hint) from error
    if not isinstance(value, dict):
        hint = ONE_OBJECT_PER_LINE if isinstance(value, list) else None
        raise InputError("a row is a JSON object, not", source=source, row=row, line=number, value=value, hint=hint)
    return value


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {twice[:40]!r} stands twice")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_float=_finite, parse_constant=_refused)

"""A file of completions: JSON Lines with one object per row, ``completion`` and the columns that rewards need beside it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salon_rewards.line_files import json_lines
from salon_taxonomy.errors import InputError

COMPLETION = "completion"


@dataclass(frozen=True, slots=True)
class CompletionColumns:
    """What a file holds.

    Attributes:
        columns: ``completion`` and all other keys that any row has, with one value for every row; None where a row has none.
        lines: line of each row in the file, from 1.
    """

    columns: Mapping[str, list[Any]]
    lines: Sequence[int]


def read_completions(lines: Iterable[bytes], source: str | Path, needed: Sequence[str] = ()) -> CompletionColumns:
    """Read a file; blank lines are passed over.

    Args:
        lines: the file's lines.
        source: its name, for messages.
        needed: columns that every row must have; null is an unknown value.

    Raises:
        InputError: for a line that is no JSON object (:func:`~salon_rewards.line_files.json_lines`), a row that lacks a
            column, and a file without rows; names line and column.

    Example:
        >>> read_completions([b'{"completion": "Fine.", "truth": null}'], "a.jsonl", ["truth"])
        CompletionColumns(columns={'completion': ['Fine.'], 'truth': [None]}, lines=[1])
    """
    rows: list[Mapping[str, Any]] = []
    places: list[int] = []
    for line, row in json_lines(lines, source):
        for column in (COMPLETION, *needed):
            if column not in row:
                there = ", ".join(sorted(row)) or "none"
                raise InputError(f"the row lacks this column; it has: {there}", source=source, line=line, column=column)
        if not isinstance(row[COMPLETION], str | list):
            problem = "a completion is a text or a list of messages, not"
            raise InputError(problem, source=source, line=line, column=COMPLETION, value=row[COMPLETION])
        rows.append(row)
        places.append(line)
    if not rows:
        raise InputError("holds no rows", source=source, hint='A row is a line such as {"completion": "…", "truth": {…}}.')
    names = dict.fromkeys(key for row in rows for key in row)
    return CompletionColumns({name: [row.get(name) for row in rows] for name in names}, places)

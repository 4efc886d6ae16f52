"""A file of completions: JSON Lines with one object per row, ``completion`` and the columns that rewards need beside it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from salon_rewards.json_lines import json_lines
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
    rows = [row for _, row in json_lines(lines, source)]
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

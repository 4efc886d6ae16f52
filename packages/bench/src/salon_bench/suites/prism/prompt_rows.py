"""Prompts written to a file that :func:`salon_bench.suites.prism.read_prompts` reads."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from salon_taxonomy.errors import InputError


def save_rows(rows: Iterable[Mapping[str, object]], path: Path) -> int:
    """Write rows as JSON Lines; an existing file is replaced whole or not at all.

    Returns:
        How many rows were written.

    Raises:
        InputError: the file's ending is not ``.jsonl``, or it cannot be written.
    """
    if path.suffix != ".jsonl":
        raise InputError("rows are written as JSON Lines:", source=path, value=path.suffix, allowed=(".jsonl",))
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text("".join(lines), encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", source=path) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return len(lines)

"""Compare the files that a command's table can become with the JSON that it prints."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

import rich_click as click

from salon_console.table_files import TABLE_ENDINGS, Rows, Table, table_bytes

MOST = 3
"""So often the files of one command are compared in one process."""
COMPARED: Counter[str] = Counter()
"""How often each command was compared."""


def table_bytes_compared(
    ending: str,
    table: Table | Callable[[], Table],
    values: "Rows | None" = None,
    *,
    made: Mapping[str, Callable[[], str | bytes]] | None = None,
) -> bytes:
    """Do what ``table_bytes`` does; when a command prints JSON, compare the files of all endings with it.

    Files of values have the same rows, all of them values of the JSON. ``.md``, ``.tex`` and a bare table as ``.html`` have
    the same number of rows. Tests have this in place of ``table_bytes`` within ``deliver``.
    """
    printed = table_bytes(ending, table, values, made=made)
    context = click.get_current_context(silent=True)
    command = context.command_path if context else ""
    if ending == ".json" and command and COMPARED[command] < MOST:
        COMPARED[command] += 1
        own = made or {}
        files = {each: table_bytes(each, table, values, made=made).decode() for each in TABLE_ENDINGS if each != ".parquet"}
        rows = [json.loads(line) for line in files[".jsonl"].splitlines()]
        known = set(leaves(json.loads(printed)))
        strange = [value for row in rows for value in leaves(row, keys=False) if value not in known]
        assert strange == [], (command, "values that --format json does not print", strange[:5])
        if ".csv" not in own and rows:
            import polars as pl

            assert pl.read_csv(files[".csv"].encode(), infer_schema=False).height == len(rows), command
            assert pl.read_parquet(table_bytes(".parquet", table, values, made=made)).height == len(rows), command
        lines = len(files[".md"].splitlines()) - 2
        assert lines == len(re.findall(r"\\\\$", files[".tex"], re.MULTILINE)) - 1, command
        assert ".html" in own or lines == files[".html"].count("<tr>") - 1, command
        assert (lines > 0) == (len(rows) > 0), (command, lines, len(rows))
    return printed


def leaves(value: Any, *, keys: bool = True) -> Iterator[object]:
    """Yield the values in a JSON document and null; with ``keys`` also the names, which some documents use as values."""
    yield None
    if isinstance(value, dict):
        yield from value if keys else ()
        for item in value.values():
            yield from leaves(item, keys=keys)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, keys=keys)
    else:
        yield instant(value)


def instant(value: object) -> object:
    """Return the time that a text has in ISO 8601, which has several spellings; any other value as it is."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) and len(value) > len("2026-01-01") else value
    except ValueError:
        return value

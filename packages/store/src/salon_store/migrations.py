"""From directories of Parquet parts (layouts 1 to 5) to Delta tables (layout 6), without copying the rows.

A part ``<table>/<run>-<n>.parquet`` is linked under the name of a data file and all of a table's parts are committed at once;
the parts are removed when every table is committed and ``store.json`` says so. A kill at any point leaves a store of the
old or of the new layout, and the next to open it continues.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl

from salon_store.errors import DamagedTableError
from salon_store.places import Directory, StorePlace
from salon_store.run_names import content_of, data_file_name
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.whole_files import flush

if TYPE_CHECKING:
    from salon_store.delta import DataFile
    from salon_store.tables import StoreTable

_PART = re.compile(r"(?P<run>.+)-(?P<number>[0-9]{1,18})\.parquet", re.ASCII)
_TRANSACTION = "salon-parts"
_CHECKSUMS = "checksums.jsonl"
_DEFAULTS = {"judge_calls": {"cached": False}}
"""What rows of layout 1 lack and may not be null: there was no cache."""


def migrate_parts(place: StorePlace, tables: Mapping[str, "StoreTable"]) -> None:
    """Commit the parts of every table; the caller holds the store's lock.

    Raises:
        DamagedTableError: when a part is missing, foreign, or not as it was written; the store keeps its layout.
    """
    if isinstance(place, Directory):
        for name, table in tables.items():
            _migrate(place.layout.table(name), table, place)


def remove_parts(place: StorePlace, tables: Mapping[str, "StoreTable"]) -> None:
    """Remove the parts of a store that was migrated."""
    if not isinstance(place, Directory):
        return
    for name in tables:
        directory = place.layout.table(name)
        for path in [*directory.glob("*.parquet"), directory / _CHECKSUMS]:
            if content_of(path.name) is None:
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Part:
    path: Path
    run_id: str | None
    number: int
    content: str


def _migrate(directory: Path, table: "StoreTable", place: Directory) -> None:
    directory.mkdir(exist_ok=True)
    parts = _standing(directory, place)
    read = partial(pl.scan_parquet, glob=False, hive_partitioning=False)
    schemas = {part: set(read(part.path).collect_schema()) for part in parts}
    columns = table.schema.columns
    table.log.create(added=[name for name in columns if any(name not in schema for schema in schemas.values())])
    snapshot = table.log.snapshot()
    while parts and not snapshot.has_transaction(_TRANSACTION):
        files = [_data_file(part, schemas[part], table) for part in parts]
        flush(directory)
        if table.log.commit(snapshot, add=files, operation="migrate parts", transaction=(_TRANSACTION, 1)):
            return
        snapshot = table.log.snapshot()


def _data_file(part: _Part, schema: set[str], table: "StoreTable") -> "tuple[DataFile, str]":
    from salon_store.delta import DataFile, statistics

    missing = {name: value for name, value in _DEFAULTS.get(table.name, {}).items() if name not in schema}
    if missing:
        rows = pl.read_parquet(part.path, glob=False, hive_partitioning=False)
        return table.write(
            rows.with_columns(**{name: pl.lit(value) for name, value in missing.items()}), part.run_id, part.number
        )
    target = part.path.with_name(data_file_name(part.run_id, part.number, part.content))
    if not target.exists():
        try:
            os.link(part.path, target)
        except OSError:  # a file system without links
            shutil.copy(part.path, target)
            flush(target)
    os.utime(target)  # young, for ``vacuum``
    status = target.stat()
    key = [name for name in {*table.schema.key, "run_id"} if name in schema]
    rows = pl.read_parquet(target, columns=key, glob=False, hive_partitioning=False)
    return (
        DataFile(target.name, status.st_size, rows.height, status.st_mtime_ns // 1_000_000),
        statistics(rows, table.schema),
    )


def _standing(directory: Path, place: Directory) -> list[_Part]:
    """The parts that count, compared with the table's record of them.

    Raises:
        DamagedTableError: when the record cannot be read, or a part is missing, foreign or altered.
    """
    record = _record(directory, place)
    found = []
    superseded: set[str] = set()
    for path in sorted(directory.glob("*.parquet")):
        match = _PART.fullmatch(path.name)
        if match is None or content_of(path.name) is not None:
            continue
        if path.name not in record:
            raise _damaged(path, "Salon did not write this file under this name", place)
        if path.name.startswith("+"):
            superseded |= set(json.loads(pl.read_parquet_metadata(path).get("salon.supersedes", "[]")))
        run = None if path.name.startswith("+") else unquote(match["run"])
        found.append(_Part(path, run, int(match["number"]), str(record[path.name]["sha256"])))
    standing = [part for part in found if part.path.name not in superseded]
    for part in standing:
        if file_sha256(part.path) != part.content:
            raise _damaged(part.path, "its bytes are not those that were written", place)
    for name, entry in record.items():
        if entry.get("state") == "standing" and name not in superseded and not (directory / name).exists():
            raise _damaged(directory / name, "this part is missing, with its rows", place)
    return sorted(standing, key=lambda part: part.number)


def _record(directory: Path, place: Directory) -> dict[str, dict[str, object]]:
    """Part → its last line in ``checksums.jsonl``; a last line that is cut off is no line."""
    path = directory / _CHECKSUMS
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    try:
        entries = [json.loads(line) for line in lines]
        return {str(entry["part"]): entry for entry in entries}
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"the record of the parts cannot be read ({error})", place) from error


def _damaged(path: Path, problem: str, place: Directory) -> DamagedTableError:
    return DamagedTableError(
        path, problem, place.layout.root, "The store keeps its old layout. Restore the file, or verify with Salon 0.1 first."
    )

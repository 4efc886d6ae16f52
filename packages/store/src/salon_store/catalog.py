"""``catalog.duckdb``: a database file with nothing but views over the tables' files, for plain ``duckdb`` and other tools.

It is rebuilt as a whole new file that replaces the old one in one rename. Salon itself never opens it, so a DuckDB shell
that has it open disturbs no writer; it shows the versions of the moment at which the file was made.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from salon_store.errors import DamagedTableError, StoreError
from salon_store.locks import locked
from salon_store.places import Layout
from salon_store.schemas import SCHEMAS
from salon_store.tables import StoreTable
from salon_store.views import create_error_view, create_view, hide_progress, literal
from salon_taxonomy.whole_files import replacing

_FORMAT = "2"


def refresh(layout: Layout, tables: Mapping[str, StoreTable]) -> bool:
    """Bring the views up to date; returns whether a new file was made.

    Processes that wait for the lock find the work done by the first. A damaged table gets a view that reports the damage.

    A disk that refuses the new file (it is full) stops no other work: the old file is removed, the next call makes a new one.
    """
    import duckdb

    with locked(layout.lock("catalog")):
        try:
            return _refreshed(layout, tables)
        except (OSError, duckdb.Error, StoreError):
            layout.catalog.unlink(missing_ok=True)
            _stamp(layout).unlink(missing_ok=True)
            return False


def _refreshed(layout: Layout, tables: Mapping[str, StoreTable]) -> bool:
    import duckdb

    for path in (layout.catalog, _stamp(layout)):
        if path.exists() and not path.is_file():  # a pipe would be waited for
            path.unlink()
    head = {"format": _FORMAT, "root": str(layout.root), "columns": _columns()}
    noted = _noted(layout)
    same = layout.catalog.exists() and {key: noted.get(key) for key in head} == head
    versions = {name: _version(tables[name]) if name in tables else -1 for name in SCHEMAS}
    catalogued = noted["versions"] if same else {}
    stale = [name for name, version in versions.items() if version != catalogued.get(name)]
    if stale:
        try:
            versions |= _build(layout, tables, stale if catalogued else SCHEMAS, from_scratch=not catalogued)
        except duckdb.Error:  # the old file was spoiled
            versions |= _build(layout, tables, SCHEMAS, from_scratch=True)
        with replacing(_stamp(layout)) as unfinished:
            unfinished.write_text(json.dumps(head | {"versions": versions}), encoding="utf-8")
    return bool(stale)


def _columns() -> list[str]:
    return [f"{schema.name}.{name} {column.dtype}" for schema in SCHEMAS.values() for name, column in schema.columns.items()]


def _stamp(layout: Layout) -> Path:
    """Path of the file that records the table versions in the catalog."""
    return layout.lock("catalog.stamp")


def _version(table: StoreTable) -> int | str:
    """Return a table's newest version, or the error of its log."""
    try:
        return table.log.version()
    except DamagedTableError as error:
        return str(error).splitlines()[0]


def _noted(layout: Layout) -> dict[str, Any]:
    try:
        return dict(json.loads(_stamp(layout).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return {}


def _build(layout: Layout, tables: Mapping[str, StoreTable], names: Iterable[str], *, from_scratch: bool) -> dict[str, int]:
    """Make a new file with new views of some tables; returns the versions that they show."""
    import duckdb

    versions = {}
    with replacing(layout.catalog) as unfinished:  # not flushed: it can be made again
        try:
            if not from_scratch:
                shutil.copyfile(layout.catalog, unfinished)
            with duckdb.connect(":memory:") as connection:
                hide_progress(connection)
                # A storage version of old: shells older than our own DuckDB can open the file.
                connection.execute(f"ATTACH {literal(str(unfinished))} AS catalog (STORAGE_VERSION 'v1.0.0')")
                connection.execute("USE catalog")
                for name in names:
                    schema = SCHEMAS[name]
                    if name not in tables:
                        create_view(connection, schema, ())
                        continue
                    try:
                        snapshot, paths = tables[name].files_at()
                        create_view(connection, schema, paths, missing_columns=snapshot.missing_columns)
                        versions[name] = snapshot.version
                    except (DamagedTableError, duckdb.Error) as error:
                        create_error_view(connection, schema, str(error).splitlines()[0])
        finally:
            unfinished.with_name(f"{unfinished.name}.wal").unlink(missing_ok=True)
    return versions

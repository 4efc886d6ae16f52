"""Finds the rows whose key is already in a table.

Keys are compared through 64-bit hashes first; only rows whose hash is found are compared in full, so a collision cannot
refuse a row. A data file never changes, so the hashes of its keys are computed once and kept in ``keys.sqlite`` beside
the journals: a cache, written in transactions and rebuilt from the data files when it is missing or damaged.
"""

import platform
import sqlite3
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from itertools import accumulate
from pathlib import Path

import polars as pl

from salon_store.delta import DataFile
from salon_store.errors import DuplicateKeyError, StoreError
from salon_store.schemas import TableSchema

Rows = Callable[[Sequence[DataFile]], pl.LazyFrame]
"""Scans data files; takes the files."""
_MOST_CHUNKS = 500
_SAVED_AT_ONCE = 64


class KeyIndex:
    """The hashed keys of one table's data files."""

    def __init__(self, schema: TableSchema, cache: Path) -> None:
        self._schema = schema
        # Hashes are stable within one version of polars only; SQLite's write-ahead log is for one machine.
        self._cache = cache / f"keys-{platform.node()}-polars-{pl.__version__}.sqlite"
        self._hashes = pl.Series("key", [], dtype=pl.UInt64)
        self._names: list[str] = []
        self._ends: list[int] = []
        self._unsaved: dict[str, pl.Series] = {}

    def split(self, frame: pl.DataFrame, files: Sequence[DataFile], rows: Rows) -> tuple[pl.DataFrame, "Duplicate | None"]:
        """Return the rows whose key is new, and the first row whose key is taken."""
        repeated = self._repeated(frame) | self._stored(frame, files, rows)
        if not repeated.any():
            return frame, None
        row = int(repeated.arg_max() or 0)
        return frame.filter(~repeated), Duplicate(self._schema, frame.row(row, named=True), row + 1)

    def add(self, file: DataFile, frame: pl.DataFrame) -> None:
        """Remember the keys of a file that was just written."""
        hashes = frame.select(self._schema.key).hash_rows()
        self._unsaved[file.name] = hashes
        if len(self._unsaved) >= _SAVED_AT_ONCE:  # the others are computed again by the process that needs them
            self._save(self._unsaved)
            self._unsaved = {}
        self._extend(file.name, hashes)

    def _repeated(self, frame: pl.DataFrame) -> pl.Series:
        keys = frame.select(self._schema.key)
        if keys.hash_rows().n_unique() == keys.height:
            return pl.repeat(False, keys.height, eager=True)
        return keys.select(pl.struct(pl.all()).is_first_distinct().not_().alias("repeated")).to_series()

    def _stored(self, frame: pl.DataFrame, files: Sequence[DataFile], rows: Rows) -> pl.Series:
        none = pl.repeat(False, frame.height, eager=True)
        self._update(files, rows)
        keys = frame.select(self._schema.key)
        hashes = keys.hash_rows().alias("key")
        places = self._hashes.is_in(hashes.implode()).arg_true()
        if places.is_empty():
            return none
        key = list(self._schema.key)
        names = {self._names[bisect_right(self._ends, place)] for place in places.to_list()}
        candidates = keys.with_row_index("row_of_frame").filter(hashes.is_in(self._hashes.gather(places).implode()))
        stored = rows([file for file in files if file.name in names]).select(key)
        matches = candidates.lazy().join(stored, on=key, how="semi", nulls_equal=True).collect()
        return none.scatter(matches["row_of_frame"], True)

    def _update(self, files: Sequence[DataFile], rows: Rows) -> None:
        known = set(self._names)
        wanted = {file.name for file in files}
        if not known <= wanted:  # merged or removed
            self._drop(known - wanted)
            known &= wanted
        new = [file for file in files if file.name not in known]
        if not new:
            return
        loaded = self._load(new) if len(new) > 1 or not known else {}
        missing = [file for file in new if file.name not in loaded]
        if missing:
            computed = self._computed(missing, rows)
            self._save(computed)
            loaded |= computed
        for file in new:
            self._extend(file.name, loaded[file.name], rechunk=False)
        self._hashes = self._hashes.rechunk()

    def _drop(self, names: set[str]) -> None:
        """Forget files that no longer count, here and in the cache."""
        self._unsaved = {name: hashes for name, hashes in self._unsaved.items() if name not in names}
        starts = [0, *self._ends]
        kept = [place for place, name in enumerate(self._names) if name not in names]
        parts = {self._names[place]: self._hashes.slice(starts[place], self._ends[place] - starts[place]) for place in kept}
        self._hashes, self._names, self._ends = self._hashes.clear(), [], []
        for name, hashes in parts.items():
            self._extend(name, hashes, rechunk=False)
        try:
            with closing(self._connected()) as database, database:
                database.executemany(
                    "DELETE FROM keys WHERE name = ? AND file = ?", [(self._schema.name, name) for name in names]
                )
        except (sqlite3.Error, OSError) as error:
            self._discard(error)

    def _extend(self, name: str, hashes: pl.Series, *, rechunk: bool = True) -> None:
        self._hashes = self._hashes.append(hashes.alias("key"))
        self._names.append(name)
        self._ends.append(len(self._hashes))
        if rechunk and self._hashes.n_chunks() > _MOST_CHUNKS:
            self._hashes = self._hashes.rechunk()

    def _computed(self, files: Sequence[DataFile], rows: Rows) -> dict[str, pl.Series]:
        hashes = rows(files).select(self._schema.key).collect().hash_rows()
        ends = list(accumulate(file.rows for file in files))
        if ends[-1] != len(hashes):
            raise StoreError(f"table {self._schema.name}: its log counts {ends[-1]:,} rows, its files have {len(hashes):,}")
        return {file.name: hashes.slice(end - file.rows, file.rows) for file, end in zip(files, ends, strict=True)}

    def _load(self, files: Sequence[DataFile]) -> dict[str, pl.Series]:
        """Return the hashes that the cache has, of files whose rows they are as many as."""
        from arro3.core import Array

        wanted = {file.name: 8 * file.rows for file in files}
        try:
            with closing(self._connected()) as database:
                indexed = [
                    row
                    for row in database.execute("SELECT file, hashes FROM keys WHERE name = ?", [self._schema.name])
                    if len(row[1]) == wanted.get(row[0])
                ]
        except (sqlite3.Error, OSError):
            return {}
        if not indexed:
            return {}
        together = pl.Series("key", Array.from_buffer(memoryview(b"".join(row[1] for row in indexed)).cast("Q")))
        ends = list(accumulate(len(row[1]) // 8 for row in indexed))
        return {
            row[0]: together.slice(end - len(row[1]) // 8, len(row[1]) // 8) for row, end in zip(indexed, ends, strict=True)
        }

    def _save(self, hashes: dict[str, pl.Series]) -> None:
        rows = [(self._schema.name, name, array("Q", values.to_list()).tobytes()) for name, values in hashes.items()]
        try:
            with closing(self._connected()) as database, database:
                database.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            self._discard(error)

    def _discard(self, error: Exception) -> None:
        """Remove a cache that is damaged; one that cannot be written (a full disk) only costs time."""
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            with suppress(OSError):
                self._cache.unlink(missing_ok=True)

    def _connected(self) -> sqlite3.Connection:
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._cache, timeout=60)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("CREATE TABLE IF NOT EXISTS keys (name TEXT, file TEXT, hashes BLOB, PRIMARY KEY (name, file))")
        except BaseException:
            database.close()
            raise
        return database


class Duplicate:
    """The first row of a frame whose key is taken."""

    def __init__(self, schema: TableSchema, values: dict[str, object], row: int) -> None:
        self._schema = schema
        self._key = {name: values[name] for name in schema.key}
        self.row = row

    def error(self, source: str | Path | None) -> DuplicateKeyError:
        """Return the error to raise when duplicates are refused."""
        single = len(self._key) == 1
        return DuplicateKeyError(
            "this key is already in the table, or twice in the rows given:",
            table=self._schema.name,
            source=source,
            row=self.row,
            column=", ".join(self._key),
            value=next(iter(self._key.values())) if single else self._key,
            hint='Rows whose key is in the table can be left out: on_duplicate="skip" (`--on-duplicate skip`).',
        )

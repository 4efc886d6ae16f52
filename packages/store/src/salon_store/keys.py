"""Whether a row's key already stands.

Keys are compared through 64-bit hashes first; only rows whose hash is known are compared in full, so a collision
cannot refuse a row. The hashes of a part are kept in memory (8 bytes per row) for as long as the store object lives:
parts never change.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from salon_store.errors import DuplicateKeyError
from salon_store.parts import Part, collected
from salon_store.schemas import TableSchema


class KeyIndex:
    """The hashed keys of one table's parts."""

    def __init__(self, schema: TableSchema, store: Path) -> None:
        self._schema = schema
        self._store = store
        self._hashes: dict[Path, pl.Series] = {}

    def split(self, frame: pl.DataFrame, parts: Sequence[Part]) -> tuple[pl.DataFrame, "Duplicate | None"]:
        """The rows whose key is new (first of its kind in the frame and in no part), and the first one that is not."""
        taken = self._repeated(frame) | self._standing(frame, parts)
        if not taken.any():
            return frame, None
        row = int(taken.arg_max() or 0)
        return frame.filter(~taken), Duplicate(self._schema, frame.row(row, named=True), row + 1)

    def _repeated(self, frame: pl.DataFrame) -> pl.Series:
        keys = frame.select(self._schema.key)
        if keys.hash_rows().n_unique() == keys.height:
            return pl.repeat(False, keys.height, eager=True)
        return keys.select(pl.struct(pl.all()).is_first_distinct().not_().alias("repeated")).to_series()

    def _standing(self, frame: pl.DataFrame, parts: Sequence[Part]) -> pl.Series:
        none = pl.repeat(False, frame.height, eager=True)
        self._hashes = {part.path: self._hashed(part.path) for part in parts}
        if not self._hashes:
            return none
        keys = frame.select(self._schema.key)
        candidates = keys.with_row_index("row_of_frame").filter(
            keys.hash_rows().is_in(pl.concat(self._hashes.values()).implode())
        )
        if candidates.is_empty():
            return none
        key = self._schema.key
        found = collected(
            [part.path for part in parts],
            self._schema,
            self._store,
            lambda rows: candidates.lazy().join(rows.select(key), on=key, how="semi", nulls_equal=True),
        )
        return none.scatter(found["row_of_frame"], True)

    def _hashed(self, path: Path) -> pl.Series:
        if path in self._hashes:
            return self._hashes[path]
        return collected([path], self._schema, self._store, lambda rows: rows.select(self._schema.key)).hash_rows()


class Duplicate:
    """The first row of a frame whose key is taken."""

    def __init__(self, schema: TableSchema, values: dict[str, object], row: int) -> None:
        self._schema = schema
        self._key = {name: values[name] for name in schema.key}
        self.row = row

    def error(self, source: str | Path | None) -> DuplicateKeyError:
        """The error to raise when duplicates are refused."""
        single = len(self._key) == 1
        return DuplicateKeyError(
            "this key already stands in the table, or stands twice in what was given:",
            table=self._schema.name,
            source=source,
            row=self.row,
            column=", ".join(self._key),
            value=next(iter(self._key.values())) if single else self._key,
            hint='Rows whose key already stands can be left out: on_duplicate="skip" (`--on-duplicate skip`).',
        )

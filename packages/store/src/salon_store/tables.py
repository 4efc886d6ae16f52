"""One result table in its place: reading, appending, merging small files, removing files that are out of use."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from typing import Literal, TypeAlias, TypeVar
from uuid import uuid4

import polars as pl

from salon_store.delta import LOG, At, DataFile, DeltaLog, Snapshot, statistics
from salon_store.errors import DamagedFileError, RefusedWriteError, StoreError, UnconfirmedError
from salon_store.keys import KeyIndex
from salon_store.locks import locked
from salon_store.places import ALTERED, MISSING, StorePlace
from salon_store.run_names import content_of, data_file_name, number_of, run_of
from salon_store.schemas import TableSchema
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError

T = TypeVar("T")
OnDuplicate: TypeAlias = Literal["refuse", "skip"]
TARGET_BYTES = 256 << 20
RETENTION = timedelta(days=7)
SHORTEST_RETENTION = timedelta(hours=1)
REMOVE_RUN = "remove run"
"""The operation of a commit that deletes the rows of one run."""
_TIDY_EVERY = 100
"""Commits between two looks whether there are many files of one size."""
_MANY = 50
"""So many of one size are merged."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did. ``file`` is the new data file's name, None when no row was written."""

    table: str
    run_id: str
    rows_written: int
    rows_skipped: int
    file: str | None


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did to one table: files merged, files written in their place."""

    table: str
    files_merged: int
    files_written: int


@dataclass(frozen=True, slots=True)
class TableInfo:
    """How large a table is: rows, the files that count, and their bytes."""

    table: str
    rows: int
    files: int
    bytes: int


class StoreTable:
    """One table of a store."""

    def __init__(self, schema: TableSchema, files: StorePlace) -> None:
        self.schema = schema
        self.name = schema.name
        self._place = files
        self.log = DeltaLog(schema, files.table_url(schema.name), files.options, files.table_directory(schema.name))
        self._unconfirmed: tuple[int, pl.DataFrame, Appended] | None = None  # repeating this append confirms it
        self._keys = KeyIndex(schema, files.layout.cache)

    def files_at(self, at: At = None) -> tuple[Snapshot, list[Path]]:
        """Return a version and where its files can be read, each checked against the log.

        Raises:
            DamagedTableError: when the log cannot be read, or a file is missing, foreign, or not as it was written.
        """
        return self._retry_after_merge(self._place.local, at)

    def _retry_after_merge(self, look: Callable[[str, Sequence[DataFile]], T], at: At = None) -> tuple[Snapshot, T]:
        """Return a version and what ``look`` finds of its files."""
        snapshot = self.log.snapshot(at)
        while True:
            try:
                return snapshot, look(self.name, snapshot.files)
            except DamagedFileError as error:
                latest = self.log.snapshot(at)
                if latest.version == snapshot.version:
                    self._refuse_vacuumed(snapshot, error)
                    raise
                snapshot = latest  # the file was merged into another and removed

    def _refuse_vacuumed(self, snapshot: Snapshot, error: DamagedFileError) -> None:
        """Refuse a version that lacks a file which the newest version does not need."""
        name = PurePath(error.path).name
        if error.problem == MISSING and all(file.name != name for file in self.log.snapshot().files):
            raise InputError(
                f"version {snapshot.version} of table {self.name} can no longer be read: `salon store vacuum` removed its file",
                value=name,
                hint="Versions that are younger than the retention of `salon store vacuum` (seven days) can be read.",
            ) from error

    def scan(self, at: At = None) -> pl.LazyFrame:
        """Return the rows of a version as a lazy frame; columns that older files lack are null."""
        _, paths = self.files_at(at)
        return scanned(paths, self.schema)

    def path_of(self, name: str) -> Path | str:
        """Return where a data file is, as a path or URL."""
        directory = self._place.table_directory(self.name)
        return directory / name if directory else f"{self.log.url}/{name}"

    def info(self) -> TableInfo:
        """Return how large the newest version is."""
        files = self._retry_after_merge(self._place.check)[0].files
        return TableInfo(self.name, sum(file.rows for file in files), len(files), sum(file.bytes for file in files))

    def append(
        self,
        frame: pl.DataFrame,
        run_id: str,
        on_duplicate: OnDuplicate,
        source: str | Path | None,
        transaction: str | None = None,
    ) -> Appended:
        """Add checked rows as one file in one commit.

        The commit is valid only on top of the version in which the keys were looked for. When another writer was first, the
        keys are looked for in its rows, too, and the same file is committed on top of them.

        Args:
            frame: the rows, as ``checks.checked`` returns them.
            run_id: for the file's name and the history.
            on_duplicate: what to do with a row whose key is in the table.
            source: the file the rows come from, for error messages.
            transaction: the name of an application transaction: a second append of the same name writes nothing.
        """
        if self._unconfirmed is not None:
            version, before, outcome = self._unconfirmed
            if outcome.run_id == run_id and before.equals(frame):
                self.log.flush(version)
                self._unconfirmed = None
                return outcome
        written: tuple[DataFile, str] | None = None
        once = None if transaction is None else (transaction, 1)
        try:
            with locked(self._place.layout.lock(self.name)):
                while True:
                    snapshot, _ = self._retry_after_merge(self._place.check)
                    if written is not None and any(file.name == written[0].name for file in snapshot.files):
                        break  # the commit had succeeded, only its answer was lost
                    if transaction is not None and snapshot.has_transaction(transaction):
                        return Appended(self.name, run_id, 0, frame.height, None)
                    new, duplicate = self._keys.split(frame, snapshot.files, self._rows)
                    if duplicate is not None and on_duplicate == "refuse":
                        raise duplicate.error(source)
                    if new.is_empty():
                        return Appended(self.name, run_id, 0, frame.height, None)
                    if written is None or written[0].rows != new.height:
                        self._discard(written)
                        last = max((number_of(file.name) for file in snapshot.files), default=0)
                        written = self.write(new, run_id, 1 + max(last, snapshot.version))
                    if self._is_vacuumed(written[0]):
                        written = None
                        continue
                    try:
                        if self.log.commit(snapshot, add=[written], operation="append", run_id=run_id, transaction=once):
                            break
                    except UnconfirmedError:
                        outcome = Appended(self.name, run_id, new.height, frame.height - new.height, written[0].name)
                        self._unconfirmed = (snapshot.version + 1, frame, outcome)
                        raise
                committed, written = written[0], None
                self._keys.add(committed, new)
        finally:
            self._discard(written)
        if (snapshot.version + 1) % _TIDY_EVERY == 0:
            with suppress(StoreError, OSError):  # the rows are in the table; what could not be merged is merged later
                self.tidy()
        return Appended(self.name, run_id, new.height, frame.height - new.height, committed.name)

    def merge(self, target_bytes: int = TARGET_BYTES) -> Compacted:
        """Merge small files up to about ``target_bytes``; rows of one run come to lie together. Appends may go on meanwhile."""
        merged = written = 0
        snapshot, _ = self.files_at()
        for group in _groups(snapshot.files, target_bytes, by_run="run_id" in self.schema.columns):
            if self._merged(group, snapshot):
                merged, written = merged + len(group), written + 1
        return Compacted(self.name, merged, written)

    def tidy(self) -> None:
        """Merge files of one size where there are fifty, so that a reader of many small commits opens few files.

        Sizes are classes of rows, each 32 times the one below: fifty files of one class are merged into one of a higher
        class, so a row is written again once per class, not with every merge. Does nothing while another process merges.
        """
        with locked(self._place.layout.lock("compaction"), wait=False) as held:
            if not held:
                return
            snapshot = self.log.snapshot()
            sizes: dict[int, list[DataFile]] = {}
            for file in snapshot.files:
                sizes.setdefault(file.rows.bit_length() // 5, []).append(file)
            for files in sizes.values():
                if len(files) >= _MANY:
                    for group in _groups(files, TARGET_BYTES, by_run=False):
                        self._merged(group, snapshot)

    def remove(self, names: Sequence[str], operation: str) -> None:
        """Remove files from the table in one commit; their rows are deleted."""
        while True:
            snapshot = self.log.snapshot()
            gone = [file for file in snapshot.files if file.name in names]
            if not gone or self.log.commit(snapshot, remove=gone, operation=operation):
                return

    def remove_run(self, run_id: str) -> int:
        """Delete the rows of a run in one commit, and return their number. Files that have other rows, too, are rewritten."""
        written: list[tuple[DataFile, str]] = []
        try:
            with locked(self._place.layout.lock(self.name)):
                while True:
                    snapshot, paths = self.files_at()
                    gone: list[DataFile] = []
                    removed = 0
                    for file, path in zip(snapshot.files, paths, strict=True):
                        rows = scanned([path], self.schema).collect()
                        kept = rows.filter(pl.col("run_id") != run_id)
                        if kept.height == rows.height:
                            continue
                        self._refuse_altered([file], [path])
                        gone.append(file)
                        removed += rows.height - kept.height
                        if kept.height:
                            written.append(self.write(kept, run_of(file.name), number_of(file.name)))
                    if not gone:
                        return 0
                    if self.log.commit(snapshot, add=written, remove=gone, operation=REMOVE_RUN, run_id=run_id):
                        written = []
                        return removed
                    while written:
                        self._discard(written.pop())
        finally:
            for new_file in written:
                self._discard(new_file)

    def removed_rows(self, run_id: str, since: datetime | None = None) -> pl.DataFrame:
        """Return the rows of a run that :meth:`remove_run` deleted last; none if it deleted none, or they are back.

        Args:
            run_id: the run.
            since: what was deleted before belongs to an earlier run of the same name and is left out; None: whenever.

        Raises:
            InputError: when `salon store vacuum` removed the files that had them.
        """
        for change in self.log.history():
            if change.run_id == run_id and change.operation == REMOVE_RUN:
                if since is not None and change.at < since:
                    break
                return self.scan(change.version - 1).filter(pl.col("run_id") == run_id).collect()
        return self.schema.empty()

    def removed_at(self, run_id: str) -> datetime | None:
        """Return when :meth:`remove_run` deleted rows of a run last; None if it never did."""
        removals = (change.at for change in self.log.history() if change.run_id == run_id and change.operation == REMOVE_RUN)
        return next(removals, None)

    def vacuum(self, retention: timedelta) -> list[str]:
        """Remove files that no version of the last ``retention`` has, by the storage's own clock; returns their names.

        What a reader may still need is younger than that, or in one of these versions. Files that are being written are
        younger, too; on one machine the locks keep them from being removed whatever its clock says.
        """
        if retention < SHORTEST_RETENTION:
            raise InputError("a retention must be at least", value=str(retention), allowed=[str(SHORTEST_RETENTION)])
        with locked(self._place.layout.lock("compaction")), locked(self._place.layout.lock(self.name)):
            start = self._place.now() - retention.total_seconds()
            versions = self._place.listing(f"{self.name}/{LOG}")
            dates = {
                int(name[:20]): entry.modified
                for name, entry in versions.items()
                if name.endswith(".json") and name[:20].isdecimal()
            }
            current = self.log.snapshot()
            first = min((version for version, date in dates.items() if date >= start), default=current.version + 1)
            before = [version for version in dates if version < first]
            if not before:
                return []
            behind = [version for version, date in dates.items() if version > first and date < start]  # as the clock was
            recent = [self.log.snapshot(version) for version in (max(before), *behind)]
            needed = {file.name for snapshot in (*recent, current) for file in snapshot.files}
            names = [
                name
                for name, entry in self._place.listing(self.name).items()
                if name not in needed and entry.modified < start and (content_of(name) or name.endswith(".tmp"))
            ]
            self._place.remove(self.name, names)
        return names

    def _rows(self, files: Sequence[DataFile]) -> pl.LazyFrame:
        return scanned(self._place.local(self.name, files), self.schema)

    def _merged(self, group: Sequence[DataFile], snapshot: Snapshot) -> bool:
        paths = self._place.local(self.name, group)
        self._refuse_altered(group, paths)
        runs = {run_of(file.name) for file in group}
        written: tuple[DataFile, str] | None = self.write(
            scanned(paths, self.schema), runs.pop() if len(runs) == 1 else None, min(number_of(file.name) for file in group)
        )
        try:
            while True:
                names = {file.name for file in snapshot.files}
                if not all(file.name in names for file in group):
                    return False  # another merged them
                if written is None or self.log.commit(
                    snapshot, add=[written], remove=group, operation="compact", keeps_rows=True
                ):
                    written = None
                    return True
                snapshot = self.log.snapshot()
        finally:
            self._discard(written)

    def _refuse_altered(self, files: Sequence[DataFile], paths: Sequence[Path]) -> None:
        """Refuse to write the rows of a file again whose bytes are not those that were written."""
        if (error := altered(files, paths, self._place.address)) is not None:
            raise error

    def write(self, rows: pl.DataFrame | pl.LazyFrame, run_id: str | None, number: int) -> tuple[DataFile, str]:
        """Write a data file that no version has yet; returns it with its statistics. A lazy frame is streamed."""
        with self._place.new_file(self.name) as path:
            try:
                # A random id, so that two files of equal rows get different hashes.
                footer = {"salon.run_id": run_id or "", "salon.written": uuid4().hex}
                if isinstance(rows, pl.LazyFrame):
                    rows.sink_parquet(path, compression="zstd", metadata=footer)
                    described = pl.scan_parquet(path, glob=False, hive_partitioning=False)
                    rows = described.select(
                        name for name in {*self.schema.key, "run_id"} if name in self.schema.columns
                    ).collect()
                else:
                    rows.write_parquet(path, compression="zstd", metadata=footer)
            except (pl.exceptions.PolarsError, OSError) as error:
                raise RefusedWriteError(
                    f"{self._place.address}: a data file of table {self.name} could not be written "
                    f"({str(error).splitlines()[0]})\nNothing was changed. Check that there is room, and repeat the command."
                ) from error
            name = data_file_name(run_id, number, file_sha256(path))
            size = path.stat().st_size
            modified = self._place.put(self.name, path, name)
        return DataFile(name, size, rows.height, modified), statistics(rows, self.schema)

    def _is_vacuumed(self, file: DataFile) -> bool:
        """Return whether a file that no version has yet was removed: this process slept, and a vacuum held it for left over."""
        age = time.time() - file.modified / 1000
        return age > SHORTEST_RETENTION.total_seconds() / 2 and file.name not in self._place.listing(self.name)

    def _discard(self, written: tuple[DataFile, str] | None) -> None:
        """Remove a file that was written and not committed; what is left behind is removed by ``vacuum``."""
        if written is not None:
            with suppress(StoreError, OSError):
                if all(file.name != written[0].name for file in self.log.snapshot().files):
                    self._place.remove(self.name, [written[0].name])


def scanned(paths: Sequence[Path], schema: TableSchema) -> pl.LazyFrame:
    """Return data files as one lazy frame of the table's schema; columns that a file does not have are null."""
    if not paths:
        return schema.empty().lazy()
    return pl.scan_parquet(
        list(map(str, paths)),
        schema=schema.polars,
        missing_columns="insert",
        extra_columns="ignore",
        glob=False,
        hive_partitioning=False,
        cache=False,
    )


def altered(files: Sequence[DataFile], paths: Sequence[Path], store: str) -> DamagedFileError | None:
    """Return the error about the first file whose bytes are not those that were written; reads all of every file."""
    for file, path in zip(files, paths, strict=True):
        try:
            if file_sha256(path) == content_of(file.name):
                continue
            problem = ALTERED
        except OSError as error:
            problem = str(error.strerror)
        return DamagedFileError(path, file.owner, problem, store)
    return None


def _groups(files: Sequence[DataFile], target_bytes: int, *, by_run: bool) -> Iterator[list[DataFile]]:
    small = [file for file in files if file.bytes <= target_bytes // 2]
    if by_run:
        small.sort(key=lambda file: (file.owner, number_of(file.name)))
    group: list[DataFile] = []
    filled = 0
    for file in small:
        if group and filled + file.bytes > target_bytes:
            if len(group) > 1:
                yield group
            group, filled = [], 0
        group.append(file)
        filled += file.bytes
    if len(group) > 1:
        yield group

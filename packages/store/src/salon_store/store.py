"""The result store: Delta tables that many processes and machines append to and read at once.

This file is the front door; behind it are ``places.py`` (where files are), ``tables.py`` (one table), ``delta.py`` (its log),
``keys.py`` (duplicates), ``checks.py`` (rows), ``journal.py``, ``leases.py``, ``query.py`` (SQL), ``catalog.py`` and
``verification.py``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from salon_store import catalog, journal, verification
from salon_store.checks import checked, frame_of
from salon_store.create import make_store
from salon_store.delta import At, Change
from salon_store.errors import DamagedTableError, ReadOnlyError, explained
from salon_store.journal import Folded, Journal
from salon_store.leases import Lease
from salon_store.locks import locked
from salon_store.metadata import (
    FORMAT_VERSION,
    Metadata,
    columns_digest,
    read_metadata,
    refuse_unlisted,
    write_metadata,
)
from salon_store.places import METADATA, Bucket, Directory, StorePlace, place_of
from salon_store.query import run_query
from salon_store.run_names import file_stem
from salon_store.schemas import SCHEMAS, table_schema
from salon_store.tables import RETENTION, TARGET_BYTES, Appended, Compacted, OnDuplicate, StoreTable, TableInfo
from salon_taxonomy.errors import InputError, did_you_mean
from salon_taxonomy.locked_file import LockedFile, closed_on_error
from salon_taxonomy.records import Record
from salon_taxonomy.whole_files import flush

_WITH_RUNS = tuple(name for name, schema in SCHEMAS.items() if "run_id" in schema.columns)
"""The tables whose rows name their run, ``runs`` first."""


class ResultStore:
    """One result store. It holds no file open between calls, and may be shared by threads.

    At the end of a ``with`` block ``catalog.duckdb`` is brought up to date; an append alone leaves it as it is.

    Example:
        >>> import tempfile
        >>> from salon_taxonomy.records import Rating
        >>> store = ResultStore.open(Path(tempfile.mkdtemp()) / "results")
        >>> vote = Rating(rating_id="r1", prompt_id="p1", generation_id="g1", model="m", dimension="quality", value=4,
        ...               scale_min=1, scale_max=5, rater_id="ann")
        >>> store.append("ratings", [vote], run_id="monday").rows_written
        1
        >>> store.sql("SELECT model, value FROM ratings").rows()
        [('m', 4.0)]
    """

    def __init__(self, files: StorePlace, metadata: Metadata, *, read_only: bool) -> None:
        self._place = files
        self._layout = files.layout
        self._metadata = metadata
        self._tables = {name: StoreTable(schema, files) for name, schema in SCHEMAS.items()}
        self.read_only = read_only
        self.recovered: tuple[Folded, ...] = ()
        """Journals of writers that died, folded when the store was opened."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = True,
        read_only: bool = False,
        storage_options: Mapping[str, str] | None = None,
        work: str | Path | None = None,
    ) -> Self:
        """Open a store; with ``create``, make it first in a missing or empty place.

        Opening for writing brings the tables to the current columns and folds the journals of writers that died
        (see :attr:`recovered`). ``read_only`` changes nothing, and works where nothing can be changed.

        Args:
            path: a directory, or a URL: ``s3://bucket/prefix``, ``gs://…``, ``az://…``.
            create: make a missing store.
            read_only: open for reading.
            storage_options: for a URL: endpoint, region, credentials, as ``object_store`` names them (``aws_region``, …).
                What is not given is taken from the environment (``AWS_ACCESS_KEY_ID``, …). They are never stored.
            work: for a URL: the directory on this machine for journals, locks and downloaded files; unless given, one
                under ``~/.local/state/salon/stores``.

        Raises:
            NotAStoreError: when the place has other things in it, or has another layout than this version of Salon.
            StoreError: when the operating system or the object store refuses (permissions, a full disk).
        """
        with explained(path):
            files = place_of(path, storage_options, work)
            layout = files.layout
            if read_only:
                metadata = read_metadata(files)
                return cls(files, metadata, read_only=True)
            if files.read_text(METADATA) is None:
                make_store(files, create=create)
            layout.root.mkdir(parents=True, exist_ok=True)
            with locked(layout.lock("store")):
                store = cls(files, read_metadata(files), read_only=False)
                store._bring_up_to_date()
            layout.journals.mkdir(exist_ok=True)
            flush(layout.root)
            store.recovered = store.recover()
            store._refresh_catalog()
            return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.read_only:
            self._refresh_catalog()

    def _bring_up_to_date(self) -> None:
        """Make missing tables, add missing columns. The caller holds the store's lock."""
        wanted = Metadata(FORMAT_VERSION, tuple(SCHEMAS), columns_digest())
        if self._metadata == wanted:
            return
        for name, table in self._tables.items():
            if name not in self._metadata.tables:
                table.log.create()
            else:
                table.log.add_columns()
        self._metadata = write_metadata(self._place, wanted)

    @property
    def path(self) -> Path:
        """The store's directory; of a store in a bucket, the directory on this machine for its journals."""
        return self._layout.root

    @property
    def address(self) -> str:
        """The store's directory or URL."""
        return self._place.address

    @property
    def schema_version(self) -> int:
        """The version of the layout."""
        return self._metadata.schema_version

    def append(
        self,
        table: str,
        rows: pl.DataFrame | Iterable[Record],
        *,
        run_id: str,
        on_duplicate: OnDuplicate = "refuse",
        source: str | Path | None = None,
    ) -> Appended:
        """Add rows in one commit: all of them or none; they outlive a power cut when this returns.

        Args:
            table: one of the tables of ``schemas.py``.
            rows: a frame (columns in any order; those with a default may be left out) or records.
            run_id: names the data file, 1 to 200 characters of any kind.
            on_duplicate: what to do with a row whose key is in the table, or earlier among ``rows``.
            source: the file the rows come from, for error messages.

        Raises:
            RowError: for the first row, column or value that is wrong; nothing was written.
            DuplicateKeyError: for the first key that is in the table, unless ``on_duplicate="skip"``; nothing was written.
            InputError: for an unknown table or an unusable run id.
            DamagedTableError: when a file of the table is missing, foreign or cut, so that its keys are unknown.
            StoreError: when the disk or the object store refuses; nothing was written.
        """
        return self._append(table, rows, run_id, on_duplicate, source)

    def _append(
        self,
        table: str,
        rows: pl.DataFrame | Iterable[Record],
        run_id: str,
        on_duplicate: OnDuplicate,
        source: str | Path | None,
        transaction: str | None = None,
    ) -> Appended:
        self._refuse_when_read_only()
        schema = table_schema(table)
        file_stem(run_id)
        if on_duplicate not in ("refuse", "skip"):
            raise InputError("unknown way with duplicates", value=on_duplicate, allowed=["refuse", "skip"])
        frame = checked(rows if isinstance(rows, pl.DataFrame) else frame_of(rows, schema), schema, source=source)
        if frame.is_empty():
            return Appended(table, run_id, 0, 0, None)
        with explained(self.path):
            return self._tables[table].append(frame, run_id, on_duplicate, source, transaction)

    def journal(self, run_id: str, *, sync_every: int = 1) -> Journal:
        """Open the journal of a run, for rows that come one at a time; use it in a ``with`` block.

        What an earlier, dead writer of the same run left behind is folded first.

        Raises:
            JournalInUseError: when a live writer holds the journal of this run: on this machine or, for a store in a
                bucket, on another.
            InputError: for an unusable run id, or a ``sync_every`` below 1.
        """
        self._refuse_when_read_only()
        if sync_every < 1:
            raise InputError("sync_every counts calls, from 1, not", value=sync_every)
        path = journal.journal_path(self._layout.journals, run_id)
        with explained(self.path):
            while True:
                file = LockedFile.opened(path, create=True)
                if file is None:
                    raise journal.held_elsewhere(path)
                with closed_on_error(file):
                    if path.stat().st_size == 0:
                        self.take_lease(run_id, file)
                        return Journal(path, run_id, file, self._fold_and_show, sync_every)
                    self.recovered += (self._fold(path, run_id),)
                file.close()

    def take_lease(self, run_id: str, file: LockedFile) -> None:
        """Take the lease of a run until its journal is closed; a directory needs none, as journals are locked.

        Raises:
            JournalInUseError: when another machine works on the run.
        """
        if isinstance(self._place, Bucket):
            mark = self._layout.lock(f"lease-{file_stem(run_id)}")
            file.at_close = Lease.take(self._tables["runs"].log, run_id, mark=mark).release

    def recover(self) -> tuple[Folded, ...]:
        """Fold the journals whose writers died; live ones are left alone. Opening the store does this already.

        A journal stays as it is (see :meth:`journals_waiting`) while a table that it has rows for is damaged.
        """
        self._refuse_when_read_only()
        folded = []
        for path in journal.waiting(self._layout.journals):
            file = LockedFile.opened(path, create=False)
            if file is not None:
                try:
                    folded.append(self._fold(path, None))
                except DamagedTableError:
                    continue
                finally:
                    file.close()
        return tuple(folded)

    def _fold_and_show(self, path: Path, run_id: str | None) -> Folded:
        folded = self._fold(path, run_id)
        self._refresh_catalog()
        return folded

    def _fold(self, path: Path, run_id: str | None) -> Folded:
        """Commit a journal's rows, one commit per table, and remove it; the caller holds its lock.

        Each commit has the journal's own application transaction, so a fold that is repeated after a crash writes nothing.
        """
        contents = journal.read_journal(path)
        name = run_id or contents.run_id
        kept = journal.set_aside(path, contents)
        transaction = f"salon-journal-{contents.journal_id}" if contents.journal_id else None
        results = [self._append(table, records, name, "skip", None, transaction) for table, records in contents.records.items()]
        path.unlink()
        written = sum(result.rows_written for result in results)
        return Folded(name, written, sum(result.rows_skipped for result in results), kept)

    def read(self, table: str, *, at: At = None) -> pl.LazyFrame:
        """Return a table as a lazy frame over its current files; filters and column choices reach the files.

        The schema is the table's even when it is empty; columns that older files lack are null. Rows appended later
        do not appear. Collect within the retention of :meth:`vacuum` (seven days).

        Args:
            table: one of the tables of ``schemas.py``.
            at: a version of the table, or a time with its zone; unless given, the newest version.

        Raises:
            InputError: for an unknown table or version.
            DamagedTableError: when a file is missing, foreign, cut or swapped for another, or the log cannot be read.
                A changed byte in a file of the same length and time is found by :meth:`verify`.
            StoreError: when the operating system or the object store refuses.
        """
        schema = table_schema(table)
        with explained(self.path):
            return self._tables[table].scan(at) if self._made(table) else schema.empty().lazy()

    def sql(
        self, query: str, *, timeout: float | None = None, at: At = None, files: Mapping[str, Path] | None = None
    ) -> pl.DataFrame:
        """Return the result of one reading SQL query (DuckDB's dialect); it can do nothing but read the tables.

        Args:
            query: one SELECT, or another statement that reads.
            timeout: seconds after which the query is stopped; None for no limit.
            at: a time with its zone: every table as it was then; or the version of the query's only table.
            files: CSV, JSON or Parquet files that the query can read, too, by the names it calls them.

        Raises:
            QueryError: for a query that is wrong, would do more than read, or was stopped by the timeout.
            DamagedTableError: when a file of a table in the query is missing, foreign, cut, swapped, or stops DuckDB.
            KeyboardInterrupt: when the query was stopped with Ctrl-C.
        """
        with explained(self.path):
            tables = {name: table for name, table in self._tables.items() if self._made(name)}
            return run_query(query, tables, store=self.address, timeout=timeout, at=at, files=files)

    def tables(self) -> tuple[TableInfo, ...]:
        """Return rows, files and bytes of every table, empty ones too.

        Raises:
            DamagedTableError: when a file is missing, foreign, cut or swapped.
            StoreError: when the operating system or the object store refuses.
        """
        with explained(self.path):
            return tuple(table.info() if self._made(name) else TableInfo(name, 0, 0, 0) for name, table in self._tables.items())

    def version(self, table: str) -> int:
        """Return the newest version of a table; -1 for one that was not made yet.

        Raises:
            InputError: for an unknown table.
            DamagedTableError: when its log cannot be read.
        """
        name = table_schema(table).name
        with explained(self.path):
            return self._tables[name].log.version() if self._made(name) else -1

    def history(self, table: str | None = None) -> tuple[Change, ...]:
        """Return the commits of one table, or of all, newest first."""
        names = [table_schema(table).name] if table else list(SCHEMAS)
        with explained(self.path):
            changes = [change for name in names if self._made(name) for change in self._tables[name].log.history()]
        return tuple(sorted(changes, key=lambda change: (change.at, change.table, change.version), reverse=True))

    def compact(
        self, *, target_bytes: int = TARGET_BYTES, on_table: Callable[[str], None] | None = None
    ) -> tuple[Compacted, ...]:
        """Merge small files; appends and reads go on meanwhile, and a kill at any instant loses and doubles nothing.

        The files that were merged stay for readers that began earlier and for time travel; :meth:`vacuum` removes them.

        Args:
            target_bytes: merge up to about this size; files over half of it are left alone.
            on_table: told each table's name before it is worked on.

        Raises:
            DamagedTableError: when a file is missing or foreign, cannot be read, or has other bytes.
        """
        self._refuse_when_read_only()
        done = []
        with explained(self.path), locked(self._layout.lock("compaction")):
            for name, table in self._tables.items():
                if on_table is not None:
                    on_table(name)
                done.append(table.merge(target_bytes))
        self._refresh_catalog()
        return tuple(done)

    def vacuum(self, *, retention: timedelta = RETENTION) -> dict[str, list[str]]:
        """Remove data files that no version of the last ``retention`` has; returns table → the names removed.

        Versions from before can no longer be read. A query that meets a file that is just removed begins again.

        Raises:
            InputError: for a retention below one hour.
        """
        self._refuse_when_read_only()
        with explained(self.path):
            removed = {name: table.vacuum(retention) for name, table in self._tables.items()}
        self._refresh_catalog()
        return removed

    def remove(self, run_id: str) -> dict[str, int]:
        """Delete the rows of a run from every table that names its runs, and return table → rows.

        Prompts, generations, battles and leaderboards name no run and stay. A kill leaves some tables done; repeating the call
        does the others. :meth:`restore` takes it back until :meth:`vacuum` removes the files.

        Raises:
            InputError: when no table has a row of the run; names runs that look like it.
            JournalInUseError: when a live writer on this machine adds rows to the run.
            DamagedTableError: when a file is missing, foreign, or not as it was written; that table is unchanged.
        """
        self._refuse_when_read_only()
        path = journal.journal_path(self._layout.journals, run_id)
        if path.exists():  # opening the store folded those that no live process holds
            raise journal.held_elsewhere(path)
        with explained(self.path):
            removed = {name: self._tables[name].remove_run(run_id) for name in _WITH_RUNS}  # `runs` first: it is listed no more
        self._refresh_catalog()
        if not any(removed.values()):
            known = self.read("runs").select("run_id").collect()["run_id"].to_list()
            near = did_you_mean(run_id, known)
            raise InputError("no table has a row of the run", source=self.address, value=run_id, hint=near or None)
        return removed

    def restore(self, run_id: str) -> dict[str, int]:
        """Add the rows of a run again that :meth:`remove` deleted, and return table → rows.

        Raises:
            InputError: when the run was not removed, is there again, or its files are gone.
        """
        self._refuse_when_read_only()
        there_again = InputError("the run is there, nothing is restored", source=self.address, value=run_id)
        with explained(self.path):
            now = {
                name: self._tables[name].scan().filter(pl.col("run_id") == run_id).collect() for name in reversed(_WITH_RUNS)
            }
            if now["runs"].height:
                raise there_again
            since = self._tables["runs"].removed_at(run_id)  # what went before was of another run
            rows = {name: self._tables[name].removed_rows(run_id, since) for name in now}
            # A call that was cut off added all rows of some tables. Any others were added after the removal.
            back = [name for name in rows if rows[name].height and now[name].height]
            same = all(_same_rows(rows[name], now[name], SCHEMAS[name].key) for name in back)
            if not same or (back and len(back) == sum(frame.height > 0 for frame in rows.values())):
                raise there_again
            if not any(frame.height for frame in rows.values()):
                hint = f"`salon store ls {self.address} scores` lists what was removed."
                raise InputError("no removed rows of the run", source=self.address, value=run_id, hint=hint)
            restored = {name: self._append(name, frame, run_id, "skip", None).rows_written for name, frame in rows.items()}
        self._refresh_catalog()
        return restored

    def catalog(self) -> Path:
        """Bring ``catalog.duckdb`` up to date, for plain DuckDB, and return its path.

        In a directory, opening for writing, :meth:`compact`, :meth:`vacuum`, the end of a journal and the end of a ``with``
        block do this; an append does not. For a store in a bucket only this method does, because it downloads every data file.
        """
        self._refuse_when_read_only()
        existing = {name: table for name, table in self._tables.items() if self._made(name)}
        with explained(self.path):
            catalog.refresh(self._layout, existing)
        return self._layout.catalog

    def _refresh_catalog(self) -> None:
        if isinstance(self._place, Directory):
            self.catalog()

    def verify(self, *, set_aside: bool = False) -> verification.Verified:
        """Check every file: content, schema, values, keys. ``set_aside`` takes what cannot be read out of the tables."""
        if set_aside:
            self._refuse_when_read_only()
        with explained(self.path):
            self._metadata = read_metadata(self._place)
            listed = {name: table for name, table in self._tables.items() if name in self._metadata.tables}
            outcome = verification.verify_store(self._place, listed, set_aside=set_aside)
        if set_aside:
            self._refresh_catalog()
        return outcome

    def journals_waiting(self) -> tuple[Path, ...]:
        """Return journals that are not folded: in use, or (seen read-only) left behind by a writer that died."""
        return tuple(journal.waiting(self._layout.journals))

    def _made(self, table: str) -> bool:
        """Return whether a table was made; the next process that opens the store for writing makes missing ones.

        Raises:
            NotAStoreError: when ``store.json`` leaves out a table that has files.
        """
        if table not in self._metadata.tables:
            self._metadata = read_metadata(self._place)
        if table in self._metadata.tables:
            return True
        refuse_unlisted(self._place, table)
        return False

    def _refuse_when_read_only(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self.address}: the store was opened for reading")


def _same_rows(one: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]) -> bool:
    """Return whether two frames have the same rows, in any order."""
    return one.sort(key).equals(other.sort(key))

"""One result table as a Delta table: its snapshots, and commits that succeed against exactly the version that was read.

A commit is a compare-and-swap: it becomes version ``n + 1`` or, when another writer was first, nothing. That makes keys unique
on a file system and in a bucket alike: an append looks for its keys in version ``n`` and is only valid as ``n + 1``
(``append`` in ``tables.py``). Data files are named after the SHA-256 of their bytes, so the log promises their content.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import polars as pl

from salon_store.errors import DamagedTableError, RefusedWriteError, StoreError, UnconfirmedError, first_line
from salon_store.run_names import number_of, owner_of
from salon_store.schemas import TableSchema
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import flush

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

At: TypeAlias = "int | datetime | None"
"""A version of a table, or the moment at which it was the newest; None: the newest now."""
LOG = "_delta_log"
_ADDED = "salon.added"
_CHECKPOINT_EVERY = 25  # commits: opening reads those that follow it one by one, 0.3 ms each
_KEPT_CHECKPOINTS = 100  # of older checkpoints in a directory, those of every hundredth version stay, for time travel
_LONGEST_STATISTIC = 64  # characters
_CONFIGURATION = {
    # The whole log is kept: it is the history of the results.
    "delta.enableExpiredLogCleanup": "false",
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.checkpointInterval": str(_CHECKPOINT_EVERY),
}


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a table, as its log describes it. ``modified`` is in milliseconds since 1970."""

    name: str
    bytes: int
    rows: int
    modified: int

    @property
    def owner(self) -> str:
        """The run whose rows it has, in words."""
        return owner_of(self.name)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a table: the data files that count, oldest rows first."""

    version: int
    files: tuple[DataFile, ...]
    missing_columns: frozenset[str]
    """Columns that some or all of the files lack: they were added to the record later."""
    table: "DeltaTable"

    def has_transaction(self, name: str) -> bool:
        """Return whether a commit of this application transaction is part of the version."""
        return self.transaction_version(name) is not None

    def transaction_version(self, name: str) -> int | None:
        """Return the version of an application transaction, None when no commit has it."""
        return self.table.transaction_version(name)


@dataclass(frozen=True, slots=True)
class Change:
    """Describe one commit of a table. ``at`` is by the clock of the machine that made it."""

    table: str
    version: int
    at: datetime
    operation: str
    run_id: str | None
    rows: int
    files_added: int
    files_removed: int


class DeltaLog:
    """The log of one table. Every call opens the table again: that costs less than following it with a kept handle."""

    def __init__(self, schema: TableSchema, url: str, options: Mapping[str, str] | None, local: Path | None) -> None:
        self._schema = schema
        self.url = url
        self._options = dict(options) if options else None
        self._log = local / LOG if local else None

    def create(self, added: Collection[str] = ()) -> None:
        """Make the table where it is missing; of several processes that try at once, one does it.

        Args:
            added: columns that files which are going to be committed lack.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            if DeltaTable.is_deltatable(self.url, self._options):
                return
            DeltaTable.create(
                self.url,
                _delta_schema(self._schema, added),
                mode="ignore",
                configuration=_CONFIGURATION,
                storage_options=self._options,
                name=self._schema.name,
            )
        except (DeltaError, OSError) as error:
            if _is_table(self.url, self._options):  # another process made it in between
                return
            raise RefusedWriteError(f"{self.url}: the table could not be made ({first_line(error)})") from error
        self.flush(0)

    def version(self) -> int:
        """Return the newest version."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return int(DeltaTable(self.url, storage_options=self._options).version())
        except (DeltaError, OSError) as error:
            raise self._unreadable(error) from error

    def snapshot(self, at: At = None) -> Snapshot:
        """Open a version.

        Raises:
            DamagedTableError: when the log is missing or cannot be read.
            InputError: when there is no such version, or a time has no zone.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if isinstance(at, datetime) and at.tzinfo is None:  # each machine would take it for another moment
            raise InputError("a time needs its zone, such as 2026-01-31T12:00:00Z, not", value=at.isoformat())
        try:
            table = DeltaTable(self.url, storage_options=self._options)
            if at is not None:
                version = at if isinstance(at, int) else self._version_at(table, at)
                if not 0 <= version <= table.version():
                    raise InputError(
                        f"table {self._schema.name} has no such version:", value=version, allowed=[f"0 to {table.version()}"]
                    )
                table = DeltaTable(self.url, version=version, storage_options=self._options)
            actions = pl.DataFrame(table.get_add_actions(flatten=True))
            newest = table.history(1)[-1:]  # behind it are commits that came meanwhile
        except (DeltaError, OSError) as error:
            raise self._unreadable(error) from error
        columns = actions.select("path", "size_bytes", "num_records", "modification_time")
        files = [DataFile(name, size, rows or 0, modified) for name, size, rows, modified in columns.iter_rows()]
        for commit in newest:
            self._compare(commit, table.version(), files)
        since = {field.name for field in table.schema().fields if _ADDED not in field.metadata}
        missing = frozenset(self._schema.columns.keys() - since)
        return Snapshot(table.version(), tuple(sorted(files, key=_age)), missing, table)

    def _compare(self, commit: Mapping[str, Any], version: int, files: Sequence[DataFile]) -> None:
        """Compare the files of a version with the numbers in its commit; delta-rs reads a cut commit without an error.

        Raises:
            DamagedTableError: when the commit is another's, or earlier ones are not as they were written.
        """
        stated = commit.get("salonVersion", version + 1)
        if stated < version:
            raise self._damaged(f"version {version} is a copy of version {stated}")
        totals, wanted = _totals(files), (commit.get("salonFiles"), commit.get("salonTotal"))
        if stated == version and totals != wanted:
            raise self._damaged(
                "version {} has {} files with {} rows, and should have {} with {}".format(version, *totals, *wanted)
            )

    def add_columns(self) -> None:
        """Add the columns that the record has and the table lacks; older rows have null there."""
        from deltalake import Field
        from deltalake.exceptions import DeltaError

        while True:
            snapshot = self.snapshot()
            known = {field.name for field in snapshot.table.schema().fields}
            missing = [
                Field.from_json(text)
                for name, text in _fields(self._schema, set(self._schema.columns)).items()
                if name not in known
            ]
            if not missing:
                return
            try:
                snapshot.table.alter.add_columns(missing)
            except (DeltaError, OSError) as error:
                if self.snapshot().version == snapshot.version:
                    raise RefusedWriteError(f"{self.url}: columns could not be added ({first_line(error)})") from error

    def commit(
        self,
        snapshot: Snapshot,
        *,
        add: Sequence[tuple[DataFile, str]] = (),
        remove: Sequence[DataFile] = (),
        operation: str,
        run_id: str | None = None,
        transaction: tuple[str, int] | None = None,
        keeps_rows: bool = False,
    ) -> bool:
        """Make the next version of what was read; False when another writer made it first, and nothing was changed.

        Args:
            snapshot: the version that was read.
            add: finished data files and their statistics (JSON).
            remove: files of ``snapshot`` that no longer count.
            operation: what is done, for the history.
            run_id: for which run, for the history.
            transaction: the name and version of an application transaction, recorded with the commit.
            keeps_rows: the same rows in other files.

        Raises:
            StoreError: when the commit cannot be written.
            UnconfirmedError: when it was written, and the disk does not confirm it.
        """
        from deltalake import CommitProperties, PostCommitHookProperties, Transaction
        from deltalake.exceptions import DeltaError
        from deltalake.transaction import AddAction, RemoveAction

        now = int(datetime.now(UTC).timestamp() * 1000)
        change = not keeps_rows
        actions: list[AddAction | RemoveAction] = [
            AddAction(file.name, file.bytes, {}, file.modified, change, statistics) for file, statistics in add
        ]
        actions += [RemoveAction(file.name, change, now, file.bytes, {}) for file in remove]
        facts: dict[str, Any] = {"salon": operation, "salonRows": sum(file.rows for file, _ in add)}
        facts |= {"salonAdded": len(add), "salonRemoved": len(remove)} | ({"salonRun": run_id} if run_id else {})
        kept, new, gone = map(_totals, (snapshot.files, [file for file, _ in add], remove))
        facts |= {"salonVersion": snapshot.version + 1, "salonFiles": kept[0] + new[0] - gone[0]}
        facts |= {"salonTotal": kept[1] + new[1] - gone[1], "salonCommit": uuid4().hex}
        try:
            snapshot.table.create_write_transaction(
                actions,
                "append",
                snapshot.table.schema(),
                commit_properties=CommitProperties(
                    facts, max_commit_retries=0, app_transactions=[Transaction(*transaction)] if transaction else None
                ),
                post_commithook_properties=PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
            )
        except (DeltaError, OSError) as error:
            latest = self.snapshot()
            if latest.version == snapshot.version:
                raise RefusedWriteError(
                    f"{self.url}: the commit could not be written ({first_line(error)})\n"
                    "Nothing was changed. Check that there is room and permission, and repeat the command."
                ) from error
            since = latest.table.history(latest.version - snapshot.version)
            if all(commit.get("salonCommit") != facts["salonCommit"] for commit in since):
                return False  # otherwise: it was written, only the answer was lost
        self.flush(snapshot.version + 1)
        if (snapshot.version + 1) % _CHECKPOINT_EVERY == 0:
            self._checkpoint()
        return True

    def history(self) -> list[Change]:
        """Return every version whose commit can be read, newest first."""
        return [
            Change(
                self._schema.name,
                version,
                datetime.fromtimestamp(int(commit["timestamp"]) / 1000, UTC),
                str(commit.get("salon") or commit["operation"].lower()),
                commit.get("salonRun"),
                int(commit.get("salonRows", 0)),
                int(commit.get("salonAdded", 0)),
                int(commit.get("salonRemoved", 0)),
            )
            for version, commit in reversed(self.commits(self.snapshot().table).items())
        ]

    def commits(self, table: "DeltaTable") -> dict[int, dict[str, Any]]:
        """Return version → its commit, oldest first; those that are empty or removed are left out.

        Versions are counted from the oldest commit: delta-rs counts back from the version that it opened, and lists
        the commits that came meanwhile, too.
        """
        from deltalake.exceptions import DeltaError

        try:
            listed = table.history()
        except (DeltaError, OSError) as error:
            raise self._unreadable(error) from error
        by_version: dict[int, dict[str, Any]] = {}
        version = -1
        for commit in reversed(listed):
            version = int(commit.get("salonVersion", version + 1))
            by_version[version] = commit
        return {version: commit for version, commit in by_version.items() if version <= table.version()}

    def _version_at(self, table: "DeltaTable", at: datetime) -> int:
        """Return the newest version of a moment. A commit that is dated before its predecessor counts as simultaneous."""
        latest_before, latest = -1, 0
        for version, commit in self.commits(table).items():
            latest = max(latest, int(commit["timestamp"]))
            if latest > at.timestamp() * 1000:
                break
            latest_before = version
        if latest_before < 0:
            raise InputError(f"table {self._schema.name} is younger than", value=at.isoformat())
        return latest_before

    def _checkpoint(self) -> None:
        """Write the state of the table as one file, which makes it quicker to open; a failure costs that only."""
        from deltalake.exceptions import DeltaError

        with suppress(DeltaError, OSError, StoreError):
            snapshot = self.snapshot()
            snapshot.table.create_checkpoint()
            if self._log is not None:
                for path in self._log.glob(f"{snapshot.version:020}.checkpoint*"):
                    flush(path)
                flush(self._log)
                self._remove_checkpoints(snapshot.version - 2 * _KEPT_CHECKPOINTS)

    def _remove_checkpoints(self, before: int) -> None:
        """Remove the checkpoints of a hundred versions that newer ones have replaced; the commits themselves stay."""
        for version in range(max(1, before - _KEPT_CHECKPOINTS), before):
            if self._log is not None and version % _CHECKPOINT_EVERY == 0 and version % _KEPT_CHECKPOINTS:
                (self._log / f"{version:020}.checkpoint.parquet").unlink(missing_ok=True)

    def flush(self, version: int) -> None:
        """Flush a commit to the disk.

        Raises:
            UnconfirmedError: when the disk refuses.
        """
        if self._log is None:
            return
        try:
            flush(self._log / f"{version:020}.json")
            flush(self._log)
        except OSError as error:
            raise UnconfirmedError(
                f"{self.url}: version {version} was committed, but the disk did not confirm it ({error.strerror})\n"
                "Its rows are in the table, and may be lost in a power cut only. Repeating the command is harmless with "
                '`--on-duplicate skip` (on_duplicate="skip").'
            ) from error

    def _unreadable(self, error: Exception) -> StoreError:
        """Return the error for a log that delta-rs does not read.

        A bucket that refuses it says nothing about the log.
        """
        problem = first_line(error)
        if self._log is None and isinstance(error, OSError):
            return StoreError(f"{self.url}: the log of table {self._schema.name} could not be read ({problem})")
        return self._damaged(problem)

    def _damaged(self, problem: str) -> DamagedTableError:
        return DamagedTableError(
            self._log or f"{self.url}/{LOG}",
            f"the log of table {self._schema.name} cannot be read ({problem})",
            self._log.parent.parent if self._log else self.url.rpartition("/")[0],
            "Restore the directory from a backup. Its checkpoints (*.checkpoint.parquet and _last_checkpoint) are copies of "
            "what the commits say and may be removed.",
        )


def _is_table(url: str, options: dict[str, str] | None) -> bool:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return bool(DeltaTable.is_deltatable(url, options))
    except (DeltaError, OSError):
        return False


def statistics(frame: pl.DataFrame, schema: TableSchema) -> str:
    """Return the statistics of a file for the log, as JSON: rows, and the range of key columns and ``run_id``."""
    chosen = [
        name
        for name, column in schema.columns.items()
        if name in {*schema.key, "run_id"} and name in frame.columns and column.dtype in (pl.String, pl.Int64)
    ]
    lowest, highest = (frame.select(getattr(pl.col(chosen), edge)()).row(0, named=True) for edge in ("min", "max"))
    usable = [
        name
        for name in chosen
        if not any(value is None or len(str(value)) > _LONGEST_STATISTIC for value in (lowest[name], highest[name]))
    ]
    return json.dumps(
        {
            "numRecords": frame.height,
            "minValues": {name: lowest[name] for name in usable},
            "maxValues": {name: highest[name] for name in usable},
            "nullCount": {name: frame[name].null_count() for name in usable},
        }
    )


def _totals(files: Sequence[DataFile]) -> tuple[int, int]:
    """Count files and their rows."""
    return len(files), sum(file.rows for file in files)


def _age(file: DataFile) -> tuple[int, str]:
    """Sorts files by the number in their names."""
    return number_of(file.name), file.name


def _fields(schema: TableSchema, added: Collection[str]) -> dict[str, str]:
    # All may be null: a column that is added later has no value in older rows. ``checks.py`` is stricter.
    return {
        name: json.dumps(
            {"name": name, "type": column.delta_type, "nullable": True, "metadata": {_ADDED: "true"} if name in added else {}}
        )
        for name, column in schema.columns.items()
    }


def _delta_schema(schema: TableSchema, added: Collection[str]) -> "Schema":
    from deltalake import Schema

    return Schema.from_json(f'{{"type":"struct","fields":[{",".join(_fields(schema, added).values())}]}}')

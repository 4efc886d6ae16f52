"""Read tables of a store together with the journals of runs that go on; what has not changed is read once."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import polars as pl

from salon_bench.runs.status import RunStatus, run_statuses
from salon_store import ResultStore
from salon_store.checks import frame_of
from salon_store.errors import StoreError, first_line
from salon_store.journal import Contents, read_journal
from salon_store.schemas import table_schema
from salon_taxonomy.store_address import StoreAddress

_Made = TypeVar("_Made")
_MOST_KEPT: Final = 8
"""Values that are kept; the one that was not used for longest goes first."""


class StoreTables:
    """The tables of one store, for one process that only reads. For several threads.

    Args:
        store: the directory or URL.

    Raises:
        SalonError: for a directory that is no store.
    """

    def __init__(self, store: StoreAddress) -> None:
        self.store = store
        self._opened = ResultStore.open(store, create=False, read_only=True)
        self._journals: dict[Path, tuple[tuple[int, ...], Contents]] = {}
        self._kept: OrderedDict[tuple[Any, ...], tuple[Any, Any]] = OrderedDict()
        self._lock, self._making = Lock(), Lock()

    def runs(self) -> list[RunStatus]:
        """Return all runs, the newest first.

        Raises:
            SalonError: the store is gone, or a file of it is damaged.
        """
        return self._read(lambda: run_statuses(self.store))[::-1]

    def state(self, *tables: str) -> tuple[Any, ...]:
        """Return a state that changes when rows are added to the tables or to a journal."""
        journals = tuple((path.name, self._change_of(path)) for path in self._opened.journals_waiting())
        return (*(self._opened.version(table) for table in tables), journals)

    def kept(self, name: tuple[Any, ...], state: Any, make: Callable[[], _Made]) -> _Made:
        """Return the value that was computed for this name and state, else compute it; one at a time, to bound memory.

        Args:
            name: what it is.
            state: :meth:`state` of the tables that it is made of; what was made of another state is dropped.
            make: makes it; calls this method for nothing else.
        """
        known = self._known(name, state)
        if known is None:
            with self._making:
                known = self._known(name, state)  # a thread that was here before may have made it
                if known is None:
                    known = (state, make())
                    with self._lock:
                        self._kept[name] = known
                        self._kept.move_to_end(name)
                        while len(self._kept) > _MOST_KEPT:
                            self._kept.popitem(last=False)
        value: _Made = known[1]
        return value

    def _known(self, name: tuple[Any, ...], state: Any) -> tuple[Any, Any] | None:
        """Return the state and the value under a name; None where there is none of this state."""
        with self._lock:
            known = self._kept.get(name)
            if known is None or known[0] != state:
                return None
            self._kept.move_to_end(name)
            return known

    def rows(self, table: str, condition: pl.Expr, *columns: str) -> pl.DataFrame:
        """Return the rows of a table and of all journals for which the condition holds, each key once.

        Args:
            table: the name.
            condition: which rows.
            columns: those that are wanted; none means all.

        Raises:
            SalonError: the store is gone, or a file of the table is damaged.
        """
        schema = table_schema(table)
        waiting = [row for contents in self._contents() for row in contents.records.get(table, ())]
        if not waiting:
            return self._read(lambda: self._opened.read(table).filter(condition).select(columns or pl.all()).collect())
        stored = self._read(lambda: self._opened.read(table).filter(condition).collect())
        both = pl.concat([stored, frame_of(waiting, schema).filter(condition)]).unique(schema.key, maintain_order=True)
        return both.select(columns or pl.all())

    def count(self, table: str) -> int:
        """Return the number of rows of a table that are not in a journal."""
        return self._read(lambda: int(self._opened.read(table).select(pl.len()).collect().item()))

    def cases_where(self, condition: str, *, seconds: float) -> pl.DataFrame:
        """Return run, model, prompt and generation of the rows of ``scores`` for which a condition in SQL holds.

        Raises:
            QueryError: the condition is no SQL, would do more than read, or takes too long.
        """
        query = f"SELECT DISTINCT run_id, subject_model, prompt_id, generation_id FROM scores WHERE ({condition}\n)"  # noqa: S608
        return self._opened.sql(query, timeout=seconds)

    def _contents(self) -> list[Contents]:
        """Return what the waiting journals hold; one that has not grown is not read again."""
        journals = {}
        for path in self._opened.journals_waiting():
            with suppress(OSError):  # folded meanwhile
                change = self._change_of(path)
                known = self._journals.get(path)
                journals[path] = known if known is not None and known[0] == change else (change, read_journal(path))
        self._journals = journals
        return [contents for _, contents in journals.values()]

    def _read(self, read: Callable[[], _Made]) -> _Made:
        """Return what is read; once more where a file was merged into another and removed meanwhile."""
        with suppress(OSError, pl.exceptions.PolarsError):
            return read()
        try:
            return read()
        except (OSError, pl.exceptions.PolarsError) as error:
            hint = f"`salon store verify {self.store}` checks the whole store."
            raise StoreError(f"{self.store}: a file cannot be read: {first_line(error)}\n{hint}") from error

    @staticmethod
    def _change_of(path: Path) -> tuple[int, ...]:
        """Return what changes whenever a journal does."""
        try:
            status = path.stat()
        except FileNotFoundError:
            return ()
        return status.st_ino, status.st_size, status.st_mtime_ns

"""Read the tables of a store together with the journals of running runs; unchanged ones are read once."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import polars as pl

from salon_bench.runs.status import RunStatus, run_statuses
from salon_store import ResultStore
from salon_store.checks import frame_of
from salon_store.journal import Contents, read_journal
from salon_store.schemas import table_schema
from salon_taxonomy.store_address import StoreAddress

_Made = TypeVar("_Made")
_MOST_FRAMES: Final = 24
"""Values that are kept; the least recently used one is dropped first."""


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
        self._journals: dict[Path, tuple[int, Contents]] = {}
        self._frames: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._lock = Lock()

    def runs(self) -> list[RunStatus]:
        """Return all runs, the newest first."""
        return run_statuses(self.store)[::-1]

    def state(self, *tables: str) -> tuple[Any, ...]:
        """Return a value that differs after rows were added to the tables or to a journal."""
        journals = tuple((path.name, self._size(path)) for path in self._opened.journals_waiting())
        return (*(self._opened.version(table) for table in tables), journals)

    def kept(self, key: tuple[Any, ...], make: Callable[[], _Made]) -> _Made:
        """Return the value kept under a key, or make and keep it. The key contains the state of the tables."""
        with self._lock:
            if key in self._frames:
                self._frames.move_to_end(key)
                known: _Made = self._frames[key]
                return known
        value = make()
        with self._lock:
            self._frames[key] = value
            while len(self._frames) > _MOST_FRAMES:
                self._frames.popitem(last=False)
        return value

    def rows(self, table: str, condition: pl.Expr) -> pl.DataFrame:
        """Return the rows of a table and of all journals for which the condition holds, each key once."""
        schema = table_schema(table)
        waiting = [row for contents in self._contents() for row in contents.records.get(table, ())]
        stored = self._opened.read(table).filter(condition).collect()
        if not waiting:
            return stored
        return pl.concat([stored, frame_of(waiting, schema).filter(condition)]).unique(schema.key, maintain_order=True)

    def cases_where(self, condition: str, *, seconds: float) -> pl.DataFrame:
        """Return run, model, prompt and generation of the rows of ``scores`` for which a condition in SQL holds.

        Raises:
            QueryError: the condition is no SQL, would do more than read, or takes too long.
        """
        query = f"SELECT DISTINCT run_id, subject_model, prompt_id, generation_id FROM scores WHERE ({condition}\n)"  # noqa: S608
        return self._opened.sql(query, timeout=seconds)

    def _contents(self) -> list[Contents]:
        """Return the contents of the journals that are not folded yet; one that has not grown is not read again."""
        journals = {}
        for path in self._opened.journals_waiting():
            try:
                size = self._size(path)
                known = self._journals.get(path)
                journals[path] = known if known is not None and known[0] == size else (size, read_journal(path))
            except FileNotFoundError:  # folded meanwhile
                continue
        self._journals = journals
        return [contents for _, contents in journals.values()]

    @staticmethod
    def _size(path: Path) -> int:
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return -1

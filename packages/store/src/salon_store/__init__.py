"""Result tables of image and video evaluation, as Delta tables in a directory or bucket.

    store = ResultStore.open("results")                 make or open a store
    store.append("battles", frame, run_id="monday")     all rows or none, durable when it returns
    with store.journal("run-7") as journal: …           rows one at a time, safe as soon as they are added
    store.read("battles")                               a polars LazyFrame
    store.sql("SELECT …")                               a polars DataFrame; can only read
    store.tables() · store.history() · store.compact() · store.vacuum() · store.verify()

``schemas.py`` describes the columns; ``docs/store.md`` the files and the promises.

Nothing is imported before it is asked for (PEP 562): polars alone takes a third of a second.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_store.checks import checked
    from salon_store.delta import Change
    from salon_store.errors import (
        DamagedFileError,
        DamagedTableError,
        DuplicateKeyError,
        JournalInUseError,
        NotAStoreError,
        QueryError,
        ReadOnlyError,
        RowError,
        StoreError,
    )
    from salon_store.journal import Folded, Journal, SetAside
    from salon_store.plugins import open_table
    from salon_store.schemas import SCHEMAS, Column, TableSchema, table_schema
    from salon_store.store import ResultStore
    from salon_store.tables import Appended, Compacted, TableInfo
    from salon_store.verification import Problem, Verified

__all__ = [
    "SCHEMAS",
    "Appended",
    "Change",
    "Column",
    "Compacted",
    "DamagedFileError",
    "DamagedTableError",
    "DuplicateKeyError",
    "Folded",
    "Journal",
    "JournalInUseError",
    "NotAStoreError",
    "Problem",
    "QueryError",
    "ReadOnlyError",
    "ResultStore",
    "RowError",
    "SetAside",
    "StoreError",
    "TableInfo",
    "TableSchema",
    "Verified",
    "checked",
    "open_table",
    "table_schema",
]

_BY_MODULE = {
    "checks": ("checked",),
    "delta": ("Change",),
    "errors": (
        "DamagedFileError",
        "DamagedTableError",
        "DuplicateKeyError",
        "JournalInUseError",
        "NotAStoreError",
        "QueryError",
        "ReadOnlyError",
        "RowError",
        "StoreError",
    ),
    "journal": (
        "Folded",
        "Journal",
        "SetAside",
    ),
    "schemas": (
        "SCHEMAS",
        "Column",
        "TableSchema",
        "table_schema",
    ),
    "plugins": ("open_table",),
    "store": ("ResultStore",),
    "tables": (
        "Appended",
        "Compacted",
        "TableInfo",
    ),
    "verification": (
        "Problem",
        "Verified",
    ),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)

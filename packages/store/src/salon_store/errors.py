"""What can go wrong with a store, as types.

    SalonError
    ├── InputError
    │   ├── RowError              a row does not fit its table: names table, column, row and value
    │   │   └── DuplicateKeyError a row's key is already in the table
    │   ├── QueryError            a query is wrong, or asks for more than reading
    │   └── NotAStoreError        the directory is no store, or one that this version cannot read
    └── StoreError
        ├── DamagedTableError     a table is not as it was written: its log cannot be read
        │   └── DamagedFileError  a data file is missing, foreign, or not as it was written
        ├── UnconfirmedError      rows were committed, but the disk did not confirm it
        ├── RefusedWriteError     the disk or bucket refused a write (also a StorageError: the same call works later)
        ├── JournalInUseError     another live writer holds the journal of this run
        └── ReadOnlyError         the store was opened for reading

An ``InputError`` means that nothing was written.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from salon_taxonomy.errors import InputError, SalonError, StorageError, is_refused_write


class RowError(InputError):
    """A row does not fit its table. ``source`` is the file it came from, or the table's name."""

    def __init__(
        self,
        problem: str,
        *,
        table: str,
        source: str | Path | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
        value: object = None,
        allowed: Iterable[object] | None = None,
        hint: str | None = None,
    ) -> None:
        self.table = table
        where = f"{source}, table {table}" if source is not None else f"table {table}"
        super().__init__(problem, source=where, row=row, line=line, column=column, value=value, allowed=allowed, hint=hint)


class DuplicateKeyError(RowError):
    """A row's key is already in the table, or twice in the rows given."""


class QueryError(InputError):
    """A query is not SQL that DuckDB understands, or it would do more than read this store's tables."""


class NotAStoreError(InputError):
    """The directory is no store, or one that this version of Salon cannot read."""


class StoreError(SalonError):
    """The store cannot do what was asked, through no fault of the rows or the query."""


class DamagedTableError(StoreError):
    """A table is not as it was written. ``path`` is the file or log at fault."""

    def __init__(self, path: Path | str, problem: str, store: Path | str, hint: str) -> None:
        self.path = path
        super().__init__(f"{path}: {problem}\n{hint} `salon store verify {store}` checks the whole store.")


class DamagedFileError(DamagedTableError):
    """A data file is missing, foreign, or not as it was written; says whose rows it has."""

    def __init__(self, path: Path | str, owner: str, problem: str, store: Path | str) -> None:
        self.problem = problem
        table = PurePath(path).parent.name
        super().__init__(
            path,
            f"this data file of table {table}, {owner}, cannot be used: {problem}",
            store,
            f"Restore the file, or give it up (`salon store verify {store} --set-aside`) and import its rows again.",
        )


class UnconfirmedError(StoreError):
    """Rows were committed, but the disk did not confirm it: a power cut may lose them."""


class RefusedWriteError(StoreError, StorageError):
    """The disk or bucket refused a write. Nothing changed; the same call works once there is room and permission."""


class JournalInUseError(StoreError):
    """Another live writer holds the journal of this run."""


class ReadOnlyError(StoreError):
    """The store was opened for reading, and this would write."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, with the causes that delta-rs lists below it.

    User and password of a URL are left out.

    Example:
        >>> first_line(OSError("GET http://ann:secret@host/x\\n  \\x1b[31m\\u21b3\\x1b[0m 403 Forbidden\\nmore"))
        'GET http://…@host/x: 403 Forbidden'
    """
    first, *rest = (str(error).strip() or type(error).__name__).splitlines()
    causes = (match[1] for match in map(_CAUSE.fullmatch, rest) if match)
    return _USER.sub("//…@", ": ".join((first, *causes)))


_USER = re.compile(r"//[^/@\s]+@")
_CAUSE = re.compile(r"\s*(?:\x1b\[\d+m)?↳(?:\x1b\[0m)? *(.+)")


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Let what the operating system refuses come out as a :class:`StoreError` that names the file."""
    try:
        yield
    except OSError as error:
        if is_refused_write(error):
            raise RefusedWriteError.of(error, Path(str(error.filename or path))) from error
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from error

"""Chain rows by hashes: a row that was changed, removed, added, repeated or moved shows.

    link_n = SHA-256(link_{n-1} ‖ n ‖ rows_n)

One link for each transaction. ``rows`` lists every row of :data:`salon_arena.tables.BOUND` that the transaction wrote: table,
key, and the SHA-256 of all its columns, null for a row that it removed. A link commits to digests, and the row of a rater has
a salt, so erasing a person leaves nothing to guess from. :mod:`salon_arena.verify` computes everything again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Table, bindparam, insert, select, tuple_

from salon_arena.tables import BOUND, CHAIN

Key = str | int | tuple[str, ...]
"""The value of a primary key."""
_WRITTEN: Final = "rows to be bound"
_SEPARATOR: Final = "\x1f"
_KEYS_AT_ONCE: Final = 10_000
"""SQLite may refuse more than 32,766 values in a statement, Postgres more than 65,535."""


class ChainLink(NamedTuple):
    """One link of the chain.

    Attributes:
        number: from 1; 0 before the first.
        value: hexadecimal; empty before the first.
    """

    number: int
    value: str


FIRST: Final = ChainLink(0, "")


def _rows_query(table: Table) -> Any:
    columns = list(table.primary_key.columns)
    key = columns[0] if len(columns) == 1 else tuple_(*columns)
    return select(table).where(key.in_(bindparam("keys", expanding=True)))


# Statements are made once: to make one takes longer than to run it.
_ROWS: Final = {table.name: _rows_query(table) for table in BOUND}
_INSERTS: Final = {table.name: insert(table) for table in BOUND if len(table.primary_key.columns) == 1}
_LAST: Final = select(CHAIN.c.number, CHAIN.c.link).order_by(CHAIN.c.number.desc()).limit(1)
_THIS: Final = select(CHAIN.c.link).where(CHAIN.c.number == bindparam("number"))
_NEW: Final = insert(CHAIN)


def begin_binding(connection: Connection) -> None:
    """Forget what an earlier transaction of the connection wrote."""
    connection.info.pop(_WRITTEN, None)


def bind(connection: Connection, table: Table, *keys: Key) -> None:
    """Note that the transaction wrote these rows; the link at its end commits to them."""
    connection.info.setdefault(_WRITTEN, {}).setdefault(table.name, set()).update(keys)


def add_row(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert a row and note it, as :func:`bind` does."""
    key = connection.execute(_INSERTS[table.name], row).inserted_primary_key
    bind(connection, table, *(key or ()))


def append_link(connection: Connection) -> ChainLink:
    """End the chain with a link that commits to the rows that were noted; none where none was.

    Returns:
        The last link.
    """
    last = last_link(connection)
    written: Mapping[str, set[Key]] = connection.info.pop(_WRITTEN, {})
    rows: list[list[str | None]] = []
    for name, keys in sorted(written.items()):
        digests: dict[str, str] = {}
        every = list(keys)
        for start in range(0, len(every), _KEYS_AT_ONCE):
            some = connection.execute(_ROWS[name], {"keys": every[start : start + _KEYS_AT_ONCE]})
            digests.update((key_of(row, name), row_digest(row)) for row in some)
        rows += [[name, text, digests.get(text)] for text in sorted(_text(key) for key in keys)]
    return add_link(connection, last, rows) if rows else last


def add_link(connection: Connection, last: ChainLink, rows: Sequence[Sequence[str | None]]) -> ChainLink:
    """Add a link behind ``last`` and return it."""
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    new = ChainLink(last.number + 1, link_value(last.value, last.number + 1, text))
    connection.execute(_NEW, {"number": new.number, "rows": text, "link": new.value})
    return new


def last_link(connection: Connection) -> ChainLink:
    """Return the end of the chain."""
    row = connection.execute(_LAST).first()
    return FIRST if row is None else ChainLink(row.number, row.link)


def holds(connection: Connection, link: ChainLink) -> bool:
    """Return whether the chain still has a link."""
    return link == FIRST or connection.execute(_THIS, {"number": link.number}).scalar_one_or_none() == link.value


def link_value(before: str, number: int, rows: str) -> str:
    """Return the value of a link.

    Example:
        >>> link_value("", 1, "[]") == link_value("", 1, "[]") != link_value("", 2, "[]")
        True
    """
    return hashlib.sha256(f"{before}{_SEPARATOR}{number}{_SEPARATOR}{rows}".encode()).hexdigest()


def row_digest(row: Row[Any] | Iterable[Any]) -> str:
    """Return the SHA-256 of all columns of a row.

    Example:
        >>> row_digest(["a", 1]) == row_digest(["a", 1]) != row_digest(["a", "1"])
        True
    """
    text = json.dumps(list(row), ensure_ascii=False, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def task_digest(task: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what is answered: rater, kind, subject, payload, and the digests of the files that were sent."""
    return row_digest([task[name] for name in ("rater_id", "kind", "subject", "payload", "digests")])


_KEYS: Final = {table.name: tuple(column.name for column in table.primary_key.columns) for table in BOUND}


def key_of(row: Row[Any], table: str) -> str:
    """Return the primary key of a row as the chain writes it."""
    return _text(tuple(row._mapping[name] for name in _KEYS[table]))


def _text(key: Key | tuple[Any, ...]) -> str:
    return _SEPARATOR.join(map(str, key)) if isinstance(key, tuple) else str(key)

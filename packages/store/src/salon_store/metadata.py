"""``store.json``: the file that makes a directory or a prefix a store, and says which tables it has."""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from salon_store.errors import NotAStoreError
from salon_store.places import METADATA, StorePlace, place_of
from salon_taxonomy.errors import missing_path
from salon_taxonomy.records import TABLES
from salon_taxonomy.store_address import is_url

FORMAT_VERSION = 6
"""6: Delta tables. A layout that changes comes with its conversion, tested on a store written by the commit before."""
_FORMAT = "salon-store"


@dataclass(frozen=True, slots=True)
class Metadata:
    """The contents of ``store.json``: the version of the layout, the tables that were made, a digest of their columns.

    A table that is not listed has never had a row; one that is listed and has no log was deleted.
    """

    schema_version: int = FORMAT_VERSION
    tables: tuple[str, ...] = ()
    columns: str | None = None


def columns_digest() -> str:
    """Return a digest of the columns of all records; when it changes, tables gain columns."""
    names = [f"{table}.{name}" for table, record in TABLES.items() for name in record.model_fields]
    return sha256("\n".join(names).encode()).hexdigest()[:16]


def is_store(where: str | Path) -> bool:
    """Return whether a path or URL has a ``store.json``, readable or not."""
    if not is_url(where) and not (Path(where) / METADATA).is_file():
        return False
    return place_of(where).read_text(METADATA) is not None


def read_metadata(store: StorePlace) -> Metadata:
    """Read ``store.json``.

    Raises:
        NotAStoreError: when it is missing, when it cannot be understood, or when the store is newer than this Salon.
    """
    text = store.read_text(METADATA)
    if text is None:
        how_to_make = None if store.first_name() is not None else f"`salon store init {store.address}` makes one."
        if not is_url(store.address) and not Path(store.address).exists():
            missing = missing_path(store.address, "store", meaning=how_to_make or "")
            raise NotAStoreError(missing.problem, source=store.address, hint=missing.hint)
        raise NotAStoreError("this is no store (it has no store.json)", source=store.address, hint=how_to_make)
    try:
        content = json.loads(text)
        if content["format"] != _FORMAT:
            raise ValueError("another format")
        metadata = Metadata(int(content["schema_version"]), tuple(content.get("tables", ())), content.get("columns"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotAStoreError(
            f"store.json cannot be understood ({error})",
            source=f"{store.address}/{METADATA}",
            hint="The rows are in the tables' directories; write store.json as docs/store.md shows it.",
        ) from error
    if metadata.schema_version != FORMAT_VERSION:
        newer = metadata.schema_version > FORMAT_VERSION
        raise NotAStoreError(
            f"the store has schema version {metadata.schema_version}, this Salon knows version {FORMAT_VERSION}",
            source=store.address,
            hint="Update salon-store; nothing was changed." if newer else "Its layout was never released; nothing was changed.",
        )
    return metadata


def write_metadata(store: StorePlace, metadata: Metadata) -> Metadata:
    """Write ``store.json``."""
    store.write_text(METADATA, json.dumps({"format": _FORMAT} | asdict(metadata), indent=2) + "\n")
    return metadata


def refuse_unlisted(store: StorePlace, table: str) -> None:
    """Refuse to read a table as empty that ``store.json`` leaves out although it has files.

    Raises:
        NotAStoreError: it has.
    """
    if store.listing(table):
        raise NotAStoreError(
            "store.json leaves out a table that has rows:",
            source=f"{store.address}/{METADATA}",
            value=table,
            hint=f"`salon store init {store.address}` opens the store for writing, and lists it again.",
        )

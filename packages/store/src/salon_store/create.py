"""Makes the place of a new store."""

from salon_store.errors import NotAStoreError
from salon_store.locks import locked
from salon_store.metadata import Metadata, read_metadata, write_metadata
from salon_store.places import METADATA, Directory, StorePlace
from salon_taxonomy.whole_files import flush


def make_store(store: StorePlace, *, create: bool) -> None:
    """Make a store without tables in an empty place; of several processes that try at once, one does it.

    Raises:
        NotAStoreError: when the place has other things in it, or without ``create``.
    """
    if not create:
        read_metadata(store)
    root = store.layout.root
    if isinstance(store, Directory) and root.exists() and not root.is_dir():
        raise NotAStoreError("this is a file, not a directory", source=root)
    root.mkdir(parents=True, exist_ok=True)
    flush(root.parent)
    foreign = store.first_name()
    if foreign is not None and store.read_text(METADATA) is None:
        raise NotAStoreError(
            f"the directory is no store, and not empty: it has {foreign!r}",
            source=store.address,
            hint="Choose a new or an empty directory.",
        )
    with locked(store.layout.lock("store")):
        if store.read_text(METADATA) is None:
            write_metadata(store, Metadata())

"""Makes the directory of a new store."""

from collections.abc import Sequence

from salon_store.errors import NotAStoreError
from salon_store.files import flush_directory, locked
from salon_store.layout import Layout
from salon_store.migrations import Migration
from salon_store.note import read_note, write_note


def make_folder(layout: Layout, migrations: Sequence[Migration], *, create: bool) -> None:
    """Make a store where there is none; of several processes that try at once, one does it."""
    if not create:
        read_note(layout, migrations)
    if layout.root.exists() and not layout.root.is_dir():
        raise NotAStoreError("this is a file, not a directory", source=layout.root)
    layout.root.mkdir(parents=True, exist_ok=True)
    flush_directory(layout.root.parent)
    foreign = next((path for path in sorted(layout.root.iterdir()) if not path.name.startswith(".")), None)
    if foreign is not None and not layout.note.exists():
        raise NotAStoreError(
            f"the directory is no store, and not empty: it holds {foreign.name!r}",
            source=layout.root,
            hint="Choose a new or an empty directory.",
        )
    with locked(layout.note_lock):
        if not layout.note.exists():
            write_note(layout, migrations, made_with=migrations[-1].version)

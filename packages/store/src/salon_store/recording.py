"""Opens a journal and nothing else, without the libraries that read and write tables.

A process that only writes rows down (a run that asks judges) starts in a fraction of the time and of the memory that
:class:`salon_store.ResultStore` takes. What it wrote is folded by the next process that opens the store.
"""

from pathlib import Path

from salon_store import journal
from salon_store.create import make_store
from salon_store.errors import StoreError, explained
from salon_store.journal import Folded, Journal
from salon_store.metadata import read_metadata
from salon_store.places import Directory, place_of
from salon_taxonomy.locked_file import LockedFile, closed_on_error
from salon_taxonomy.store_address import StoreAddress

_EVERY = 1_000_000_000


def open_journal(store: StoreAddress, run_id: str, *, alone: bool = False) -> Journal | None:
    """Open the journal of a run in a store, which is made when missing; close it with :meth:`Journal.leave`.

    Rows outlive this process as soon as they are added, and a power cut after :meth:`Journal.sync`.
    None when a journal of that run was left behind by a writer that died: open the store once (``ResultStore.open``), which
    folds it, and call again.

    Args:
        store: the store's directory or URL; without ``alone``, a URL is not looked at before the journal is folded.
        run_id: names the journal, 1 to 200 characters of any kind.
        alone: in a bucket, also take the run's lease, so that no other machine works on the run until this journal is closed.

    Raises:
        JournalInUseError: when a live writer holds the journal of this run: on this machine or, with ``alone``, on another.
        NotAStoreError: when the directory has other things in it, is newer than this Salon, or older and must be opened by
            ``ResultStore.open`` first.
        InputError: for an unusable run id.
        StoreError: when the operating system refuses.

    Example:
        >>> import tempfile
        >>> from salon_store import ResultStore
        >>> from salon_taxonomy.records import Prompt
        >>> folder = Path(tempfile.mkdtemp()) / "results"
        >>> journal = open_journal(folder, "night")
        >>> journal.add("prompts", Prompt(prompt_id="p1", suite="s", text="a cat"))
        1
        >>> journal.leave()
        >>> ResultStore.open(folder).read("prompts").collect().height
        1
    """
    with explained(store):
        files = place_of(store)
        layout = files.layout
        if isinstance(files, Directory):
            if not layout.note.exists():
                make_store(files, create=True)
            read_metadata(files)
        layout.journals.mkdir(parents=True, exist_ok=True)
        path = journal.journal_path(layout.journals, run_id)
        file = LockedFile.opened(path, create=True)
        if file is None:
            raise journal.held_elsewhere(path)
        with closed_on_error(file):
            if not path.stat().st_size:
                if alone and not isinstance(files, Directory):
                    from salon_store.store import ResultStore

                    ResultStore.open(store).take_lease(run_id, file)
                return Journal(path, run_id, file, _nobody_folds, _EVERY)
        file.close()
        return None


def _nobody_folds(path: Path, run_id: str | None) -> Folded:
    raise StoreError(f"{path}: this journal is folded by the next process that opens the store; close it with Journal.leave()")

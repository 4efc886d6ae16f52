"""Whether everything in a store is as it was written: content, schema, values, keys; nothing is skipped silently."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import polars as pl

from salon_store import journal
from salon_store.checks import checked
from salon_store.delta import LOG, DataFile
from salon_store.errors import DamagedFileError, DamagedTableError, NotAStoreError, RowError, StoreError
from salon_store.metadata import refuse_unlisted
from salon_store.places import ALTERED, METADATA, StorePlace
from salon_store.run_names import content_of, number_of
from salon_store.schemas import SCHEMAS
from salon_store.tables import StoreTable, scanned

_MOST_KEYS = 5
_TEMPORARY = ".tmp"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong: where, what kind, in words; ``moved_to`` when the file was set aside.

    Kinds: ``missing`` (a file that counts is gone), ``altered`` (its bytes are not those that were written), ``schema``
    (columns or types), ``rows`` (a value that the table does not allow), ``duplicates`` (a key twice), ``log`` (the table's
    log cannot be read), ``foreign`` (a file that Salon did not write; its rows are not read), ``set_aside`` (an earlier find).
    """

    path: Path | str
    kind: str
    detail: str
    moved_to: Path | str | None = None

    def __str__(self) -> str:
        """Return one line for a person."""
        moved = f"; moved to {self.moved_to}" if self.moved_to else ""
        return f"{self.path}: {self.kind}: {self.detail}{moved}"


@dataclass(frozen=True, slots=True)
class Verified:
    """The outcome: how much was looked at, and everything that is wrong."""

    files: int
    rows: int
    problems: tuple[Problem, ...]
    journals_waiting: tuple[Path, ...]
    uncommitted: tuple[Path | str, ...] = ()
    """Data files behind the newest version: their writer works or was killed before its commit, or the commit was removed."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong. Lines and files that were set aside earlier count: their rows are missing."""
        return not self.problems


def verify_store(store: StorePlace, tables: Mapping[str, StoreTable], *, set_aside: bool) -> Verified:
    """Check every file of every table; with ``set_aside`` take damaged and missing ones out of their tables.

    What is left of a damaged or foreign file is moved to ``set-aside/<table>/``.
    """
    files = rows = 0
    problems: list[Problem] = []
    uncommitted: list[Path | str] = []
    for table in tables.values():
        try:
            snapshot = table.log.snapshot()
            lost = snapshot.version + 1 - len(table.log.commits(snapshot.table))
            if lost:
                detail = f"{lost} of {snapshot.version + 1} commits are missing or empty; what they did is not in the history"
                problems.append(Problem(table.path_of(LOG), "log", detail))
            table_problems = [problem for file in snapshot.files if (problem := _damage(store, table, file)) is not None]
            latest = table.log.snapshot()
            if latest.version != snapshot.version:  # what was merged meanwhile is not missing
                left = {file.name for file in latest.files}
                table_problems = [problem for problem in table_problems if PurePath(str(problem.path)).name in left]
            names = sorted(store.listing(table.name))
            counted = {file.name for file in snapshot.files}
            foreign = list(_foreign(store, table, [name for name in names if name not in counted]))
            newest = table.log.version()  # read afterwards: what is committed meanwhile is not named
            uncommitted += [table.path_of(name) for name in names if number_of(name) > newest]
        except (DamagedTableError, OSError) as error:
            at = getattr(error, "path", None) or getattr(error, "filename", None) or table.path_of("")
            problems.append(Problem(at, "log", str(error).splitlines()[0]))
            continue
        bad = {PurePath(str(problem.path)).name for problem in table_problems}
        files += len(snapshot.files)
        for file in snapshot.files:
            if file.name not in bad:
                checked_rows, problem = _rows(store, table, file)
                rows += checked_rows
                if problem is not None:
                    table_problems.append(problem)
                    bad |= {file.name} if problem.kind != "rows" else set()
        problems += _duplicates(store, table, [file for file in snapshot.files if file.name not in bad])
        if set_aside:
            damaged = [problem for problem in table_problems if problem.kind != "rows"]
            table.remove([PurePath(str(problem.path)).name for problem in damaged], "set aside")
            table_problems = [problem for problem in table_problems if problem.kind == "rows"] + [
                _moved(store, table, each) for each in damaged
            ]
            foreign = [_moved(store, table, each) for each in foreign]
        problems += [*table_problems, *foreign]
    problems += _unlisted(store, tables)
    problems += _links(store)
    problems += _irregular_commits(store, tables)
    problems += _earlier(store, skip={problem.moved_to for problem in problems})
    return Verified(files, rows, tuple(problems), tuple(journal.waiting(store.layout.journals)), tuple(uncommitted))


def _damage(store: StorePlace, table: StoreTable, file: DataFile) -> Problem | None:
    path = table.path_of(file.name)
    try:
        content = store.content(table.name, file.name)
    except (OSError, StoreError) as error:
        return Problem(path, "altered", f"{file.owner}: it cannot be read ({str(error).splitlines()[0]})")
    if content is None:
        return Problem(
            path, "missing", f"{file.owner}: this file is gone, with its rows; put it back, or give it up with --set-aside"
        )
    if content_of(file.name) is None:
        return Problem(path, "altered", "it was not written by Salon")
    return None if content == content_of(file.name) else Problem(path, "altered", f"{file.owner}: {ALTERED}")


def _rows(store: StorePlace, table: StoreTable, file: DataFile) -> tuple[int, Problem | None]:
    path = table.path_of(file.name)
    try:
        (local,) = store.local(table.name, [file])
        columns = pl.scan_parquet(local, glob=False, hive_partitioning=False).collect_schema()
        wanted = table.schema.polars
        wrong = [name for name, kind in columns.items() if name in wanted and wanted[name] != kind]
        if wrong:
            return 0, Problem(path, "schema", f"column {wrong[0]!r} is {columns[wrong[0]]}, expected {wanted[wrong[0]]}")
        frame = scanned([local], table.schema).collect()
        if frame.height != file.rows:
            return frame.height, Problem(path, "schema", f"it has {frame.height:,} rows, the log says {file.rows:,}")
        checked(frame, table.schema)
    except RowError as error:
        return frame.height, Problem(path, "rows", str(error).splitlines()[0])
    except DamagedFileError as error:
        return 0, Problem(path, "altered", error.problem)
    except pl.exceptions.PolarsError as error:
        return 0, Problem(path, "altered", str(error).splitlines()[0])
    return frame.height, None


def _duplicates(store: StorePlace, table: StoreTable, files: list[DataFile]) -> Iterator[Problem]:
    keys = scanned(store.local(table.name, files), table.schema).group_by(table.schema.key).len().filter(pl.col("len") > 1)
    twice = keys.sort("len", *table.schema.key, descending=True).collect()
    if twice.height:
        keys_text = "; ".join(
            f"{', '.join(str(value) for value in row[:-1])} × {row[-1]}" for row in twice.head(_MOST_KEYS).rows()
        )
        more = f" and {twice.height - _MOST_KEYS} more" if twice.height > _MOST_KEYS else ""
        count = "1 key is" if twice.height == 1 else f"{twice.height:,} keys are"
        yield Problem(table.path_of(""), "duplicates", f"{count} there more than once: {keys_text}{more}")


def _foreign(store: StorePlace, table: StoreTable, uncounted: Iterable[str]) -> Iterator[Problem]:
    """Yield the files that Salon did not write; leftovers of other versions and killed writers are fine."""
    for name in uncounted:
        if name.endswith(_TEMPORARY):
            continue
        content = content_of(name)
        if content is None or store.content(table.name, name) not in (content, None):
            yield Problem(table.path_of(name), "foreign", "this is no file of the table; its rows are not read")


def _moved(store: StorePlace, table: StoreTable, problem: Problem) -> Problem:
    """Move what is left of a file out of the table's directory."""
    return replace(problem, moved_to=store.set_aside(table.name, PurePath(str(problem.path)).name))


def _unlisted(store: StorePlace, tables: Mapping[str, StoreTable]) -> Iterator[Problem]:
    """Yield list the tables that have rows and stand not in ``store.json``."""
    for name in SCHEMAS.keys() - tables.keys():
        try:
            refuse_unlisted(store, name)
        except NotAStoreError as error:
            yield Problem(f"{store.address}/{METADATA}", "log", " ".join(str(error).split(": ", 1)[-1].split()))


def _links(store: StorePlace) -> Iterator[Problem]:
    for path in journal.waiting(store.layout.journals, foreign=True):
        yield Problem(path, "foreign", "this is no file that a writer left; it is not folded")


def _irregular_commits(store: StorePlace, tables: Mapping[str, StoreTable]) -> Iterator[Problem]:
    """Yield the pipes, links and folders in place of commits: delta-rs reads the table as it was before them."""
    for name in tables:
        log = store.layout.table(name) / LOG
        for path in sorted(log.glob("*.json")) if log.is_dir() else ():
            if path.is_symlink() or not path.is_file():
                yield Problem(path, "log", "this is no regular file; what its commit did is not read")


def _earlier(store: StorePlace, *, skip: set[Path | str | None]) -> Iterator[Problem]:
    lines = sorted(path for path in (store.layout.journals / journal.SET_ASIDE).rglob("*") if path.is_file())
    for path in (*store.earlier(), *lines):
        if path not in skip:
            yield Problem(path, "set_aside", "set aside earlier; delete it when its rows are no longer wanted")

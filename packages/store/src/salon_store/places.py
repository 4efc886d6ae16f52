"""Where a store is: a directory, or a prefix of a bucket with a working directory on this machine.

Both offer the same: the address of each table's Delta log, small texts, and data files that can be put, listed, checked
and removed. Files are read from the local disk in either case: those of a bucket are downloaded once, compared with the SHA-256
in their names, and kept, because a data file never changes.
"""

import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from salon_store.errors import DamagedFileError, NotAStoreError, StoreError, first_line
from salon_store.run_names import content_of
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import is_url
from salon_taxonomy.whole_files import flush, replacing

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

    from salon_store.delta import DataFile

METADATA = "store.json"
SET_ASIDE = "set-aside"
_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "azure", "adl")
_CLIENT_OPTIONS = ("allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "timeout")
_PROVIDERS = ("aws_", "google_", "azure_")
_DOWNLOADS_AT_ONCE = 8
_NEW = ".new-"
_A_DAY = 86_400.0
_ENCODED = re.compile("%[0-9A-Fa-f]{2}|[#?]")


class Listed(NamedTuple):
    """A file that exists: its size, and when it was written, in seconds since 1970 by the storage's clock."""

    bytes: int
    modified: float


class Layout:
    """The paths of a store on this machine: everything for a directory, journals and locks for a bucket."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.note = root / METADATA
        self.catalog = root / "catalog.duckdb"
        self.journals = root / "journal"
        self.set_aside = root / SET_ASIDE
        self.locks = root / ".locks"
        self.cache = root / ".cache"

    def table(self, name: str) -> Path:
        """Return the directory of a table."""
        return self.root / name

    def lock(self, name: str) -> Path:
        """The file that is locked while a table (``battles``), ``store``, ``catalog`` or ``compaction`` is worked on."""
        return self.locks / name


class StorePlace(Protocol):
    """What a store asks of the place it is in."""

    layout: Layout
    options: Mapping[str, str] | None

    @property
    def address(self) -> str:
        """The directory or URL, for messages."""

    def table_url(self, table: str) -> str:
        """Return the table's address for ``deltalake``."""

    def table_directory(self, table: str) -> Path | None:
        """Return the table's directory where it is on this machine."""

    def read_text(self, name: str) -> str | None:
        """Return a small file's text, None when it is missing."""

    def write_text(self, name: str, text: str) -> None:
        """Replace a small file."""

    def first_name(self) -> str | None:
        """Return the name of something that is in the place, None when it is empty."""

    def listing(self, table: str) -> dict[str, Listed]:
        """Return the table's files outside its log."""

    def now(self) -> float:
        """Return the time by the storage's clock, in seconds since 1970."""

    @contextmanager
    def new_file(self, table: str) -> Iterator[Path]:
        """A path on this machine for a data file that is being written; it is gone afterwards."""

    def put(self, table: str, written: Path, name: str) -> int:
        """Give a written file its name in the table, durably; returns its time of modification in milliseconds."""

    def remove(self, table: str, names: Sequence[str]) -> None:
        """Remove data files; those that are gone are passed over."""

    def set_aside(self, table: str, name: str) -> Path | str | None:
        """Move a file of a table to ``set-aside/<table>/`` and return where it is now; None when it is gone."""

    def earlier(self) -> Iterator[Path | str]:
        """Yield what :meth:`set_aside` moved."""

    def content(self, table: str, name: str) -> str | None:
        """Return the SHA-256 of a data file's bytes as they are now; None when it is gone."""

    def check(self, table: str, files: "Sequence[DataFile]") -> None:
        """Check data files against the log; those of a bucket by name and size, without reading them.

        Raises:
            DamagedFileError: for the first that is missing, foreign, or not as it was written.
        """

    def local(self, table: str, files: "Sequence[DataFile]") -> list[Path]:
        """Check data files against the log and return where they can be read on this machine.

        Raises:
            DamagedFileError: for the first that is missing, foreign, or not as it was written.
        """


def place_of(where: str | Path, options: Mapping[str, str] | None = None, work: str | Path | None = None) -> StorePlace:
    """Return the place that a path or URL names.

    Raises:
        InputError: for a URL of an unknown kind or with a password or options, or a path with #, ?, or a percent sign before
            two hex digits.
    """
    if not is_url(where):
        root = Path(where).absolute()
        if _ENCODED.search(str(root)):  # delta-rs would decode it, or cut the path there when it reads the history
            problem = "a store's path cannot have #, ?, or a percent sign before two hex digits:"
            raise InputError(problem, value=str(root), hint="Rename the folder; the store in it stays as it is.")
        return Directory(root)
    scheme, _, rest = str(where).partition("://")
    named = f"{scheme}://…"  # the rest may be a secret
    if scheme.lower() not in _SCHEMES:
        raise InputError("a store is a directory or a URL, not", value=named, allowed=[f"{name}://…" for name in _SCHEMES[:4]])
    if ":" in rest.partition("/")[0] or "?" in rest or "#" in rest:
        hint = "Credentials belong in the environment (AWS_ACCESS_KEY_ID, …) or in storage_options."
        raise InputError("a store's URL has no password, ? or #:", value=named, hint=hint)
    return Bucket(str(where).rstrip("/"), options or {}, Path(work).absolute() if work else _work_directory(str(where)))


def _work_directory(url: str) -> Path:
    """Return where this machine keeps a bucket's journals, locks and downloaded files."""
    return Path.home() / ".local" / "state" / "salon" / "stores" / sha256(url.rstrip("/").encode()).hexdigest()[:16]


class Directory:
    """A store in a directory."""

    options: Mapping[str, str] | None = None

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)

    @property
    def address(self) -> str:
        """The directory."""
        return str(self.layout.root)

    def table_url(self, table: str) -> str:
        """Return the table's directory."""
        return str(self.layout.table(table))

    def table_directory(self, table: str) -> Path | None:
        """Return the table's directory."""
        return self.layout.table(table)

    def read_text(self, name: str) -> str | None:
        """Return a small file's text.

        Raises:
            NotAStoreError: it is a folder, a pipe or a device.
        """
        path = self.layout.root / name
        if path.exists() and not path.is_file():  # a pipe without a writer would be waited for
            raise NotAStoreError("this is no regular file", source=path)
        try:
            return path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write_text(self, name: str, text: str) -> None:
        """Replace a small file."""
        with replacing(self.layout.root / name, flushed=True) as unfinished:
            unfinished.write_text(text, encoding="utf-8")

    def first_name(self) -> str | None:
        """Return the first name in the directory that is not hidden."""
        root = self.layout.root
        names = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
        return next((name for name in names if not name.startswith(".")), None)

    def listing(self, table: str) -> dict[str, Listed]:
        """Return the table's files outside its log."""
        files: dict[str, Listed] = {}
        if not self.layout.table(table).is_dir():
            return files
        with os.scandir(self.layout.table(table)) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    files[entry.name] = Listed(status.st_size, status.st_mtime)
        return files

    def now(self) -> float:
        """Return the time by the file system's clock."""
        probe = self.layout.locks / f"clock-{os.getpid()}"
        try:
            probe.touch()
            return probe.stat().st_mtime
        finally:
            probe.unlink(missing_ok=True)

    @contextmanager
    def new_file(self, table: str) -> Iterator[Path]:
        """A hidden path in the table's directory."""
        path = self.layout.table(table) / f".{os.getpid()}-{time.monotonic_ns()}.tmp"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def put(self, table: str, written: Path, name: str) -> int:
        """Flush, make read-only, rename."""
        path = self.layout.table(table) / name
        written.chmod(written.stat().st_mode & 0o444)
        flush(written)
        written.replace(path)
        flush(path.parent)
        return _milliseconds(path)

    def remove(self, table: str, names: Sequence[str]) -> None:
        """Remove files."""
        for name in names:
            (self.layout.table(table) / name).unlink(missing_ok=True)

    def content(self, table: str, name: str) -> str | None:
        """Return the SHA-256 of a data file's bytes."""
        try:
            return file_sha256(self.layout.table(table) / name)
        except FileNotFoundError:
            return None

    def check(self, table: str, files: "Sequence[DataFile]") -> None:
        """Compare as :meth:`local` does."""
        self.local(table, files)

    def local(self, table: str, files: "Sequence[DataFile]") -> list[Path]:
        """Compare size and time of modification with the log, and the content where the time differs (a copied store)."""
        return [checked_file(self.layout.table(table) / file.name, file, self.address) for file in files]

    def set_aside(self, table: str, name: str) -> Path | str | None:
        """Rename into another directory."""
        source, folder = self.layout.table(table) / name, self.layout.set_aside / table
        if not source.exists():
            return None
        folder.mkdir(parents=True, exist_ok=True)
        return source.rename(folder / _free(name, [path.name for path in folder.iterdir()]))

    def earlier(self) -> Iterator[Path | str]:
        """Yield the files in that directory."""
        yield from sorted(path for path in self.layout.set_aside.rglob("*") if path.is_file())


def checked_file(path: Path, file: "DataFile", store: str) -> Path:
    """Compare a file's size and time of modification with the log, and its content where the time differs.

    Raises:
        DamagedFileError: it is missing, foreign, or not as it was written.
    """
    content = content_of(file.name)
    if content is None:
        raise DamagedFileError(path, file.owner, "it was not written by Salon", store)
    try:
        status = path.stat()
    except FileNotFoundError:
        raise DamagedFileError(path, file.owner, MISSING, store) from None
    except OSError as error:
        raise DamagedFileError(path, file.owner, str(error.strerror), store) from error
    if status.st_size != file.bytes:
        raise DamagedFileError(path, file.owner, f"{status.st_size:,} of {file.bytes:,} bytes", store)
    if status.st_mtime_ns // 1_000_000 != file.modified:
        if file_sha256(path) != content:
            raise DamagedFileError(path, file.owner, ALTERED, store)
        with suppress(OSError):  # the next query need not read it again
            os.utime(path, ns=(status.st_atime_ns, file.modified * 1_000_000))
    return path


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken yet: the name itself, or with a number behind it."""
    return next(free for free in (name, *(f"{name}.{count}" for count in range(1, len(taken) + 1))) if free not in taken)


MISSING = "it is missing, with its rows"
ALTERED = "its bytes are not those that were written"


def _milliseconds(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


class Bucket:
    """A store under a prefix of an object store (``s3://``, ``gs://``, ``az://``).

    ``options`` are those of ``object_store`` (``aws_endpoint_url``, …) and win over the environment; they are never written
    anywhere.
    """

    def __init__(self, url: str, options: Mapping[str, str], work: Path) -> None:
        self.url = url
        self.options: Mapping[str, str] | None = dict(options)
        self.layout = Layout(work)

    @property
    def address(self) -> str:
        """The URL."""
        return self.url

    @property
    def _objects(self) -> "ObjectStore":
        from obstore.store import from_url

        config: dict[str, Any] = {}
        client: dict[str, Any] = {}
        for key, value in (self.options or {}).items():
            short = key.lower()
            for provider in _PROVIDERS:
                short = short.removeprefix(provider)
            (client if short in _CLIENT_OPTIONS else config)[short if short in _CLIENT_OPTIONS else key] = value
        client = {
            key: value.lower() == "true" if value.lower() in ("true", "false") else value for key, value in client.items()
        }
        with self._explained():
            return from_url(self.url, config=cast("Any", config or None), client_options=cast("Any", client or None))

    def table_url(self, table: str) -> str:
        """Return the table's URL."""
        return f"{self.url}/{table}"

    def table_directory(self, table: str) -> Path | None:
        """None: the table is elsewhere."""
        return None

    def read_text(self, name: str) -> str | None:
        """Return a small object's text."""
        import obstore

        try:
            with self._explained():
                return bytes(obstore.get(self._objects, name).bytes()).decode()
        except FileNotFoundError:
            return None

    def write_text(self, name: str, text: str) -> None:
        """Replace a small object."""
        import obstore

        with self._explained():
            obstore.put(self._objects, name, text.encode())

    def first_name(self) -> str | None:
        """Return the first object under the prefix."""
        return next((entry["path"] for entry in self._entries(None)), None)

    def listing(self, table: str) -> dict[str, Listed]:
        """Return the table's objects outside its log."""
        files = {}
        for entry in self._entries(table):
            name = entry["path"].removeprefix(f"{table}/")
            if "/" not in name:
                files[name] = Listed(entry["size"], entry["last_modified"].timestamp())
        return files

    def now(self) -> float:
        """Return the time by the object store's clock."""
        import obstore

        name = f".clock-{os.getpid()}-{time.monotonic_ns()}"
        with self._explained():
            obstore.put(self._objects, name, b"")
            try:
                return float(obstore.head(self._objects, name)["last_modified"].timestamp())
            finally:
                obstore.delete(self._objects, name)

    @contextmanager
    def new_file(self, table: str) -> Iterator[Path]:
        """A path beside the copies for reading, one of which it becomes; a day later what a killed process left is removed."""
        self.layout.cache.mkdir(parents=True, exist_ok=True)
        for left in self.layout.cache.glob(f"{_NEW}*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > _A_DAY:
                    rmtree(left)
        with TemporaryDirectory(prefix=_NEW, dir=self.layout.cache) as folder:
            yield Path(folder) / f"{table}.parquet"

    def put(self, table: str, written: Path, name: str) -> int:
        """Upload, and keep a copy for reading."""
        import obstore

        modified = _milliseconds(written)
        with self._explained():
            obstore.put(self._objects, f"{table}/{name}", written)
        with suppress(OSError):
            kept = self._kept(table, name)
            kept.parent.mkdir(parents=True, exist_ok=True)
            written.replace(kept)
        return modified

    def remove(self, table: str, names: Sequence[str]) -> None:
        """Remove objects and their copies."""
        import obstore

        if names:
            with self._explained():
                obstore.delete(self._objects, [f"{table}/{name}" for name in names])
        for name in names:
            self._kept(table, name).unlink(missing_ok=True)

    def content(self, table: str, name: str) -> str | None:
        """Return the SHA-256 of an object's bytes, downloaded again."""
        import obstore

        digest = sha256()
        try:
            with self._explained():
                for chunk in obstore.get(self._objects, f"{table}/{name}"):
                    digest.update(bytes(chunk))
        except FileNotFoundError:
            return None
        return digest.hexdigest()

    def check(self, table: str, files: "Sequence[DataFile]") -> None:
        """Compare the listing with the log."""
        listed = self.listing(table) if files else {}
        for file in files:
            url = f"{self.table_url(table)}/{file.name}"
            if content_of(file.name) is None:
                raise DamagedFileError(url, file.owner, "it was not written by Salon", self.address)
            if file.name not in listed:
                raise DamagedFileError(url, file.owner, MISSING, self.address)
            if listed[file.name].bytes != file.bytes:
                raise DamagedFileError(url, file.owner, f"{listed[file.name].bytes:,} of {file.bytes:,} bytes", self.address)

    def local(self, table: str, files: "Sequence[DataFile]") -> list[Path]:
        """Check, and download what is not on this machine yet."""
        from multiprocessing.pool import ThreadPool  # an executor's threads would hold up a process that ends after Ctrl-C

        self.check(table, files)
        with ThreadPool(_DOWNLOADS_AT_ONCE) as pool:
            return pool.map(lambda file: self._downloaded(table, file), files, chunksize=1)

    def _downloaded(self, table: str, file: "DataFile") -> Path:
        import obstore

        kept = self._kept(table, file.name)
        with suppress(OSError, DamagedFileError):
            return checked_file(kept, file, self.address)
        with self._explained():
            content = bytes(obstore.get(self._objects, f"{table}/{file.name}").bytes())
        if sha256(content).hexdigest() != content_of(file.name):
            raise DamagedFileError(f"{self.table_url(table)}/{file.name}", file.owner, ALTERED, self.address)
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_name(f".{file.name}.{os.getpid()}-{time.monotonic_ns()}")
        try:
            temporary.write_bytes(content)
            os.utime(temporary, ns=(time.time_ns(), file.modified * 1_000_000))
            temporary.replace(kept)
        finally:
            temporary.unlink(missing_ok=True)
        return kept

    def set_aside(self, table: str, name: str) -> Path | str | None:
        """Rename an object, and remove its copy."""
        import obstore

        folder = f"{SET_ASIDE}/{table}"
        target = f"{folder}/{_free(name, self.listing(folder))}"
        try:
            with self._explained():
                obstore.rename(self._objects, f"{table}/{name}", target)
        except FileNotFoundError:
            return None
        self._kept(table, name).unlink(missing_ok=True)
        return f"{self.url}/{target}"

    def earlier(self) -> Iterator[Path | str]:
        """Yield the URLs of those objects."""
        yield from sorted(f"{self.url}/{entry['path']}" for entry in self._entries(SET_ASIDE))

    def _kept(self, table: str, name: str) -> Path:
        return self.layout.cache / table / name

    def _entries(self, prefix: str | None) -> "Iterator[ObjectMeta]":
        import obstore

        with self._explained():
            for page in obstore.list(self._objects, prefix=prefix):
                yield from page

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Let what the object store refuses come out as a :class:`StoreError`; a missing object stays a FileNotFoundError."""
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError:
            raise
        except BaseError as error:
            raise StoreError(f"{self.url}: {first_line(error)}") from error

"""A data set on the disk: shards of pictures or videos, columns that stages wrote beside them, and one manifest.

    dataset.json                                 name, sources with licences, every shard with its rows and SHA-256
    pipeline.toml                                the stages and predicates, written by people
    shards/00000.parquet                         key, image, sha256, source, prompt, problem, meta, edited
    columns/<stage>@<version>/00000-<digest>.parquet
    journals/  selections/  audits/  releases/
    .locks                                       empty; which shards a process works on

No file is found by a pattern: the manifest names the shards, and the name of a part follows from what went into it.
"""

import errno
import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from salon_curate.files import is_video, publish, publish_text
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError, SalonError, StorageError, did_you_mean
from salon_taxonomy.whole_files import remove_unfinished

if TYPE_CHECKING:
    import polars as pl

MANIFEST: Final = "dataset.json"
FORMAT: Final = 1
"""Of the manifest."""
SHARD_ROWS: Final = 1000
SHARD_BYTES: Final = 64 << 20
"""A shard ends after so many rows or bytes of pictures, whichever comes first."""
BATCH_ROWS: Final = 64
"""Rows that a stage is given at once at most, and rows of a row group in a shard."""
BATCH_BYTES: Final = 16 << 20
"""Bytes of pictures in them, on average over the shard; a video that is larger comes alone."""
SHARD_COLUMNS: Final = ("key", "image", "sha256", "source", "prompt", "problem", "meta", "edited")
BYTES_COLUMNS: Final = ("image", "edited")
"""Those that hold files: the picture or video, and of an edit the picture that was edited."""
_LONGEST_KEY: Final = 200
_LOCKS: Final = ".locks"
"""An empty file whose bytes are locked, one for each shard that a process works on."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard as the manifest records it; ``sha256`` is of the file's bytes."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RowSource:
    """Where rows came from.

    Attributes:
        name: as given on the command line, without folders.
        kind: folder, manifest, webdataset, parquet, arrow.
        rows: pictures, those with a problem included.
        problems: rows whose file is missing or, by its head, no picture.
        licence: of the pictures; "unknown" until the user states it.
        left_out: files of a folder whose names cannot be keys (bytes that are no UTF-8, a line break, over 200 characters), or
            videos without clips.
        unchanged: rows that the data set had already, with this key and these contents; no shard has them a second time.
    """

    name: str
    kind: str
    rows: int
    problems: int
    licence: str = "unknown"
    left_out: Sequence[str] = ()
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """One row of a shard: a picture or a video.

    ``problem`` states why the file is neither; ``image`` has its bytes, None where there are no bytes at all. ``edited`` has
    the bytes of the picture that was edited into it, None for a row that is no edit.
    """

    key: str
    image: bytes | None
    prompt: str | None = None
    problem: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    row: int = 0
    edited: bytes | None = None

    @property
    def size(self) -> int:
        """Return the bytes of its files."""
        return len(self.image or b"") + len(self.edited or b"")


def refuse_full(folder: Path) -> None:
    """Check that a folder is new or empty.

    Raises:
        InputError: it contains something, or is a file.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("the folder is not empty", source=folder, hint="Name a new folder.")


@dataclass(slots=True)
class DataSet:
    """A data set that is open; the manifest is in memory, everything else is read when needed."""

    folder: Path
    name: str
    sources: list[RowSource]
    shards: list[Shard]

    @classmethod
    def create(cls, folder: Path, name: str | None = None) -> Self:
        """Create an empty data set in a folder that is new or empty.

        Raises:
            InputError: the folder contains something.
            StorageError: it cannot be written.
        """
        dataset = cls(folder, name or folder.absolute().name or folder.name, [], [])
        if folder.is_dir():
            with dataset._alone():
                remove_unfinished(folder, (MANIFEST, "pipeline.toml"))
        refuse_full(folder)
        dataset.save()
        return dataset

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read the manifest of a data set.

        Raises:
            InputError: there is no data set, or its manifest cannot be read.
        """
        path = folder / MANIFEST
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT:
                hint = "Another version of salon-curate wrote it; use that one."
                raise InputError(
                    "unknown format of a manifest", source=path, value=document["format"], allowed=[FORMAT], hint=hint
                )
            sources = [RowSource(**each) for each in document["sources"]]
            return cls(folder, document["name"], sources, [Shard(**each) for each in document["shards"]])
        except FileNotFoundError as error:
            near = "" if folder.exists() else did_you_mean(folder.name, sorted(each.name for each in folder.parent.glob("*/")))
            hint = f"{near} Make one: salon curate init {folder}".strip()
            raise InputError("is no data set", source=folder, hint=hint) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"the manifest cannot be read ({type(error).__name__}: {error})", source=path) from error

    @property
    def rows(self) -> int:
        """Return the number of pictures."""
        return sum(shard.rows for shard in self.shards)

    def save(self) -> None:
        """Replace the manifest."""
        document = {
            "format": FORMAT,
            "name": self.name,
            "sources": [asdict(each) for each in self.sources],
            "shards": [asdict(each) for each in self.shards],
        }
        publish_text(self.folder / MANIFEST, json.dumps(document, indent=1, ensure_ascii=False) + "\n")

    def shard_path(self, name: str) -> Path:
        """Return the file of a shard."""
        return self.folder / "shards" / f"{name}.parquet"

    def refuse_changed(self) -> None:
        """Check that no shard has another size than when it was written; a missing one is named by its reader.

        Raises:
            InputError: one has.
        """
        for shard in self.shards:
            path = self.shard_path(shard.name)
            if path.exists() and path.stat().st_size != shard.bytes:
                hint = f"See what else is wrong: salon curate verify {self.folder}"
                raise InputError("the shard has changed since it was written", source=path, hint=hint)

    def keys(self, shard: Shard) -> "pl.Series":
        """Return the keys of a shard in order.

        Raises:
            InputError: the shard is missing or damaged.
        """
        return read_rows(self.shard_path(shard.name), ["key"])["key"]

    def add(
        self,
        pictures: Iterator[Picture],
        name: str,
        kind: str,
        licence: str = "unknown",
        shard_rows: int = SHARD_ROWS,
        left_out: Sequence[str] = (),
    ) -> RowSource:
        """Write pictures as new shards of at most ``shard_rows``; until the manifest is replaced nothing has changed.

        What others added since the data set was opened is read first. A row that the data set has already, with this key,
        picture, prompt and meta, is counted as unchanged. ``left_out`` names the files that the iterator passed over, once it
        has ended.

        Raises:
            InputError: a key that is empty, too long or unprintable, occurs twice in this source, or names another row.
            StorageError: a shard cannot be written, or another process adds pictures.
        """
        new: list[Shard] = []
        with self._alone():
            now = DataSet.open(self.folder)
            self.sources, self.shards = now.sources, now.shards
            for folder in (self.folder, self.folder / "shards"):
                remove_unfinished(folder)
            try:
                return self._add(new, pictures, RowSource(name, kind, 0, 0, licence), shard_rows, left_out)
            except SalonError:
                for shard in new:
                    self.shard_path(shard.name).unlink(missing_ok=True)
                raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the data set's folder: both of two imports would write the same shards."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                problem = "another process adds pictures; run the same command when it has ended"
                raise StorageError(f"{self.folder}: {problem}") from error
            except OSError as error:
                raise StorageError.of(error, self.folder) from error
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def working_on(self, shards: range) -> Iterator[None]:
        """Hold the locks of shards, by their places, and remove what killed processes left of their parts.

        Without them another process would do the same work. Where the file system has no locks, or may only be read, nothing is
        held or removed.

        Raises:
            StorageError: another process holds one of them.
        """
        descriptor = None
        try:
            descriptor = os.open(self.folder / _LOCKS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            places = [int(self.shards[number].name) for number in shards]  # others where this data set is a sample of them
            for _, stretch in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
                following = [place for _, place in stretch]
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, len(following), following[0])  # a byte for each shard
        except OSError as error:
            if descriptor is not None and error.errno in (errno.EAGAIN, errno.EACCES):
                os.close(descriptor)
                problem = "another process works on these shards; wait for it, or give it others with --shards"
                raise StorageError(f"{self.folder}: {problem}") from error
        else:
            own = tuple(f"{self.shards[number].name}-" for number in shards)
            for folder in (self.folder / "columns").glob("*/"):
                remove_unfinished(folder, own)
        try:
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _add(
        self, new: list[Shard], pictures: Iterator[Picture], source: RowSource, shard_rows: int, left_out: Sequence[str]
    ) -> RowSource:
        import numpy as np

        hashes = [_key_hashes(self.keys(shard).to_list()) for shard in self.shards]
        problems, unchanged = 0, 0

        def added() -> Iterator[Picture]:
            nonlocal unchanged
            keys = np.sort(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
            there: set[bytes] | None = None
            for picture in pictures:
                if len(keys) and keys[min(np.searchsorted(keys, key := _key_hashes([picture.key])[0]), len(keys) - 1)] == key:
                    there = self._row_digests() if there is None else there
                    if (digest := _row_digest(_cells(picture))) in there:
                        there.remove(digest)
                        unchanged += 1
                        continue
                yield picture

        for batch in _shards_of(added(), shard_rows):
            batch = [replace(each, problem=each.problem or _problem_of(each.image)) for each in batch]
            shard = self._write_shard(f"{len(self.shards) + len(new):05d}", batch, source.name)
            new.append(shard)
            hashes.append(_key_hashes([each.key for each in batch]))
            problems += sum(each.problem is not None for each in batch)
        together = np.sort(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
        twice = together[1:][together[1:] == together[:-1]]
        if len(twice):
            raise self._duplicate_key(int(twice[0]), [*self.shards, *new], source.name)
        if not new and not unchanged:
            raise InputError("contains no pictures or videos", source=source.name)
        if unchanged:  # the source has grown, and is no other one of its name
            source = self._licensed(source, grown=bool(new))
        source = replace(
            source, rows=sum(shard.rows for shard in new), problems=problems, left_out=list(left_out), unchanged=unchanged
        )
        if new:
            self.shards += new
            self.sources.append(source)
            self.save()
        return source

    def _licensed(self, source: RowSource, *, grown: bool) -> RowSource:
        """Return a source that was given again with its licence, where no other one is stated."""
        known = [each.licence for each in self.sources if (each.name, each.kind) == (source.name, source.kind)]
        if not known or source.licence == known[-1]:
            return source
        if source.licence == "unknown":
            return replace(source, licence=known[-1])
        if not grown:
            hint = f"It was imported as {known[-1]!r}; a new data set may state another one."
            raise InputError(
                "no row is new, so no row would have the licence", source=source.name, value=source.licence, hint=hint
            )
        return source

    def _row_digests(self) -> set[bytes]:
        columns = ("key", "sha256", "prompt", "meta", "edited")
        frames = (read_rows(self.shard_path(shard.name), columns) for shard in self.shards)
        return {_row_digest(row) for frame in frames for row in frame.iter_rows()}

    def _write_shard(self, shard: str, batch: Sequence[Picture], source: str) -> Shard:
        import polars as pl

        schema: dict[str, Any] = {name: pl.Binary if name in BYTES_COLUMNS else pl.String for name in SHARD_COLUMNS}
        rows = []
        for picture in batch:
            key, sha256, prompt, meta, edited = _cells(picture)
            rows.append((key, picture.image, sha256, source, prompt, picture.problem, meta, edited))
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        path, group = self.shard_path(shard), batch_rows(len(batch), sum(each.size for each in batch))
        publish(
            path,
            lambda temporary: frame.write_parquet(
                temporary, compression="uncompressed", statistics=False, row_group_size=group
            ),
        )
        return Shard(shard, len(batch), path.stat().st_size, file_sha256(path))

    def _duplicate_key(self, wanted: int, shards: Sequence[Shard], source: str) -> InputError:
        for shard in shards:
            for row, key in enumerate(self.keys(shard), 1):
                if int(_key_hashes([key])[0]) == wanted:
                    hint = "Give every picture, also one that has changed, a key of its own; the data set is as it was before."
                    return InputError(
                        f"a key occurs twice (first in shard {shard.name}, row {row}):", source=source, value=key, hint=hint
                    )
        raise AssertionError("a hash without its key")


def _cells(picture: Picture) -> tuple[str, str | None, str | None, str | None, bytes | None]:
    """Return what a shard has of a row: key, SHA-256, prompt, meta, edited picture."""
    return (
        picture.key,
        None if picture.image is None else hashlib.sha256(picture.image).hexdigest(),
        None if picture.prompt is None else without_surrogates(picture.prompt),
        without_surrogates(json.dumps(picture.meta, ensure_ascii=False, sort_keys=True, default=str)) if picture.meta else None,
        picture.edited,
    )


def _row_digest(cells: Sequence[Any]) -> bytes:
    *texts, edited = cells
    digest = hashlib.blake2b(repr((texts, edited is None)).encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(edited or b"")
    return digest.digest()


def _problem_of(image: bytes | None) -> str | None:
    """Return why a row has neither picture nor video, by the first bytes of its file."""
    from salon_taxonomy.picture_decoding import head_problem

    if image is None:
        return "there is no picture"
    return None if is_video(image) else head_problem(image)


def batch_rows(rows: int, size: int) -> int:
    """Return how many of the rows of a shard with so many bytes are held at once.

    Example:
        >>> batch_rows(1000, 10 << 20), batch_rows(20, 64 << 20), batch_rows(1, 200 << 20), batch_rows(0, 0)
        (64, 5, 1, 64)
    """
    return max(1, min(BATCH_ROWS, rows * BATCH_BYTES // max(1, size))) if rows else BATCH_ROWS


def checked_key(key: object, *, source: str, row: int) -> str:
    """Return the text of a key.

    Raises:
        InputError: it is empty, longer than 200 characters, or contains characters that cannot be printed.
    """
    text = "" if key is None else str(key)
    if not text.strip() or len(text) > _LONGEST_KEY or not text.isprintable():
        problem = f"a key must have 1 to {_LONGEST_KEY} printable characters, not"
        raise InputError(problem, source=source, row=row, column="key", value=text)
    return text


def checked_name(name: str, what: str) -> str:
    """Return the name of a selection, audit or release, which becomes the name of a file or folder.

    Raises:
        InputError: as :func:`checked_key`, and for a name with a slash or with a dot at its beginning.
    """
    checked_key(name, source=what, row=1)
    if name.startswith(".") or set(name) & set("/\\"):
        raise InputError("a name must have no slash, and no dot at its beginning:", source=what, column="name", value=name)
    return name


def read_rows(path: Path, columns: Sequence[str], start: int = 0, rows: int | None = None) -> "pl.DataFrame":
    """Return columns of a shard or part; all columns for ``["*"]``.

    Raises:
        InputError: the file is missing or damaged.
    """
    import polars as pl

    try:
        return pl.scan_parquet(path, glob=False).slice(start, rows).select(columns).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        hint = "See what else is wrong: salon curate verify DATASET"
        raise InputError(f"is missing or damaged ({type(error).__name__})", source=path, hint=hint) from error


def read_checked(path: Path, sha256: str, columns: Sequence[str]) -> "pl.DataFrame":
    """Return columns of a file whose bytes have this SHA-256; they are hashed and parsed from one read.

    Raises:
        InputError: the file is missing or has other bytes.
    """
    import polars as pl

    hint = "See what else is wrong: salon curate verify DATASET"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"is missing or cannot be read ({error.strerror})", source=path, hint=hint) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError("has changed since it was written", source=path, hint=hint)
    return pl.read_parquet(io.BytesIO(content), columns=list(columns))


def seeded_hash(key: str, seed: int, what: str) -> int:
    """Return 64 bits that a key, a seed and a purpose decide, the same on every machine."""
    text = f"{what}\0{seed}\0{key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _shards_of(pictures: Iterator[Picture], rows: int) -> Iterator[list[Picture]]:
    batch: list[Picture] = []
    size = 0
    for picture in pictures:
        batch.append(picture)
        size += picture.size
        if len(batch) >= rows or size >= SHARD_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _key_hashes(keys: Sequence[str]) -> Any:
    import numpy as np

    digests = b"".join(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u8")

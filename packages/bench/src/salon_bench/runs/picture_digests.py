"""SHA-256 of pictures and videos, kept in the store's cache, so that a second start reads no unchanged file.

A kept digest counts while size, times, inode and device of the file are those of then. A file that was written in the last
seconds is not kept: another write could give it the same time.
"""

import json
import os
import stat
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from salon_store.places import place_of
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.whole_files import write_whole

NO_FILE: Final = ""
"""In place of the digest of a file that is missing, is no plain file, or cannot be read."""

_FILE: Final = "picture-digests.json"
_MOST_KEPT: Final = 200_000
_SETTLED_NS: Final = 3_000_000_000
_MOST_THREADS: Final = 4


class PictureDigests:
    """Digests of files, with those that earlier starts of any run of the store computed.

    Args:
        store: the results' directory or bucket; None keeps digests for this object alone.

    Attributes:
        read: how many files had to be read.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "1.png"
        >>> _ = path.write_bytes(b"not really a picture")
        >>> [digest[:12] for digest in PictureDigests().of([path, path.with_name("2.png")])]
        ['fe1a4ab1fb63', '']
    """

    def __init__(self, store: StoreAddress | None = None) -> None:
        self.read = 0
        self._path = None if store is None else place_of(store).layout.cache / _FILE
        self._kept: dict[str, tuple[list[int], str]] = _kept(self._path)
        self._changed = False

    def of(self, paths: Sequence[Path]) -> list[str]:
        """Return the SHA-256 of every file, 64 hex digits; :data:`NO_FILE` for one that cannot be read."""
        digests = [self._looked_up(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - Path.absolute takes ten times as long
        missing = [number for number, sha256 in enumerate(digests) if sha256 is None]
        self.read += len(missing)
        with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1), thread_name_prefix="salon-digests") as pool:
            computed = pool.map(self._computed, [os.path.abspath(paths[number]) for number in missing])  # noqa: PTH100
            for number, sha256 in zip(missing, computed, strict=True):
                digests[number] = sha256
        return [sha256 or NO_FILE for sha256 in digests]

    def save(self) -> None:
        """Write what was computed into the store's cache. A cache that cannot be written is left as it is."""
        if self._path is None or not self._changed:
            return
        newest = list(({**_kept(self._path), **self._kept}).items())[-_MOST_KEPT:]
        with suppress(InputError):
            write_whole(self._path, json.dumps(dict(newest)), parents=True)
        self._changed = False

    def _looked_up(self, path: str) -> str | None:
        """Return the kept digest of an unchanged file, :data:`NO_FILE`, or None for one that must be read."""
        try:
            now = os.stat(path)  # noqa: PTH116
        except (OSError, ValueError):  # ValueError: a NUL in the name
            return NO_FILE
        if not stat.S_ISREG(now.st_mode):
            return NO_FILE
        known = self._kept.get(path)
        return known[1] if known is not None and known[0] == _mark(now) else None

    def _computed(self, path: str) -> str:
        try:
            mark = _mark(os.stat(path))  # noqa: PTH116
            sha256 = file_sha256(path)
            if _mark(os.stat(path)) == mark and time.time_ns() - max(mark[1:3]) > _SETTLED_NS:  # noqa: PTH116
                self._kept[path] = (mark, sha256)
                self._changed = True
        except OSError:
            return NO_FILE
        return sha256


def _mark(status: os.stat_result) -> list[int]:
    """Return what changes when a file is written or replaced."""
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def _kept(path: Path | None) -> dict[str, tuple[list[int], str]]:
    """Return the digests of a cache; none for one that cannot be read."""
    try:
        stored = {} if path is None else json.loads(path.read_bytes())
        return {str(name): (list(mark), str(sha256)) for name, (mark, sha256) in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}

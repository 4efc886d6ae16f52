"""Pictures made small once, kept by content on this machine, up to so many bytes."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from salon_bench.report.thumbnails import NoThumbnail, SmallCopy, small_copy, small_copy_of, small_policy
from salon_bench.runs.judged_files import JudgedFile
from salon_judges.media.policy import PicturePolicy
from salon_taxonomy.errors import SalonError
from salon_taxonomy.whole_files import write_whole

SIZES: Final = {"small": small_policy(320), "large": small_policy(1600, quality=95)}
"""Small ones fill a grid; in a large one the faults of the picture are looked for."""
_MOST_BYTES: Final = 1 << 30
_SWEEP_EVERY: Final = 500
"""Copies made between two looks at how large the folder is; the first look is at the first copy."""


class SmallCopies:
    """A folder of small copies.

    Args:
        folder: where.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0

    def copy(self, source: JudgedFile, size: str, bases: Sequence[Path]) -> bytes | NoThumbnail:
        """Return the copy of a judged file as WebP, from the folder or made now.

        Args:
            source: the file; its hash names the copy.
            size: ``small`` or ``large``.
            bases: where a relative path may start.
        """
        return self._kept(source.sha256, size, lambda policy: small_copy(source, policy, bases))

    def copy_of_bytes(self, content: bytes, size: str) -> bytes | NoThumbnail:
        """Return the copy of a picture whose bytes are at hand."""
        sha256 = hashlib.sha256(content).hexdigest()
        return self._kept(sha256, size, lambda policy: small_copy_of(content, policy, sha256))

    def _kept(self, sha256: str, size: str, make: Callable[[PicturePolicy], SmallCopy | NoThumbnail]) -> bytes | NoThumbnail:
        policy = SIZES[size]
        name = hashlib.sha256(f"{sha256} {policy.longest_side} {policy.quality}".encode()).hexdigest()
        path = self._folder / name[:2] / f"{name}.webp"
        with suppress(OSError):
            return path.read_bytes()
        copy = make(policy)
        if isinstance(copy, NoThumbnail):
            return copy
        with suppress(OSError, SalonError):  # a full or read-only disk: the picture is made again the next time
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(path, copy.content, parents=True)
            if self._made % _SWEEP_EVERY == 0:
                self._sweep()
            self._made += 1
        return copy.content

    def _sweep(self) -> None:
        """Remove the copies that were made first, and what a killed process left half written, until the rest fits."""
        files = []
        for path in self._folder.glob("??/*"):
            with suppress(FileNotFoundError):  # another viewer of this folder removed it
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        files.sort()
        total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= _MOST_BYTES:
                break
            path.unlink(missing_ok=True)
            total -= size

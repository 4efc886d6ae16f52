"""Cache small copies of pictures on this machine, named by content, up to 1 GiB."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from salon_bench.report.thumbnails import JudgedFile, NoThumbnail, small_copy, small_policy
from salon_taxonomy.whole_files import write_whole

SIDES: Final = {"small": 320, "large": 1600}
_MOST_BYTES: Final = 1 << 30
_SWEEP_EVERY: Final = 500
"""Copies made between two checks of the folder's size."""


class SmallCopies:
    """A folder of small copies.

    Args:
        folder: its path; made with the first copy.
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
        name = hashlib.sha256(f"{source.sha256} {SIDES[size]}".encode()).hexdigest()
        path = self._folder / name[:2] / f"{name}.webp"
        try:
            return path.read_bytes()
        except FileNotFoundError:
            pass
        copy = small_copy(source, small_policy(SIDES[size]), bases)
        if isinstance(copy, NoThumbnail):
            return copy
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, copy.content, parents=True)
        self._made += 1
        if self._made % _SWEEP_EVERY == 0:
            self._sweep()
        return copy.content

    def _sweep(self) -> None:
        """Remove the copies that were made first, until the rest fits."""
        files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self._folder.glob("??/*.webp"))
        total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= _MOST_BYTES:
                break
            path.unlink(missing_ok=True)
            total -= size

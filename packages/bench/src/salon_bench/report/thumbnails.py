"""Small copies of judged pictures and videos for a page: bounded, encoded once, and only of the very bytes judged."""

import base64
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_bench.runs.judged_files import JudgedFile
from salon_judges.media.contact_sheet import contact_sheet
from salon_judges.media.policy import Encoding, PicturePolicy
from salon_judges.media.preparing import prepare_bytes
from salon_judges.media.video_container import container_of
from salon_judges.media.video_policy import VideoPolicy
from salon_judges.media.video_sampling import sample_video
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Unscored

SIDE: Final = 320
"""Default longest side of a small copy in pixels."""
_QUALITY: Final = 80
_THREADS: Final = 4
_SHEET_FRAMES: Final = 9


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small copy as a ``data:`` URL, with its size in pixels."""

    url: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class NoThumbnail:
    """Why a picture cannot be shown, a clause."""

    why: str


def thumbnails(
    sources: Iterable[JudgedFile], side: int = SIDE, folders: Iterable[Path] = ()
) -> dict[JudgedFile, Thumbnail | NoThumbnail]:
    """Return a small copy of every picture; each different picture is encoded once.

    A file whose bytes are no longer those that were judged is not shown, so a page shows what the verdicts are about, and a
    store from elsewhere cannot put files of this machine on a page.

    Args:
        sources: the files; equal ones count once.
        side: the longest side in pixels.
        folders: where relative paths may start, besides the working directory.

    Example:
        >>> import hashlib, tempfile
        >>> from PIL import Image
        >>> path = Path(tempfile.mkdtemp()) / "cat.png"
        >>> Image.new("RGB", (800, 400)).save(path)
        >>> judged = JudgedFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
        >>> small = thumbnails([judged], side=100)[judged]
        >>> small.width, small.height, small.url[:23]
        (100, 50, 'data:image/webp;base64,')
        >>> list(thumbnails([JudgedFile(str(path), "0" * 64)]).values())
        [NoThumbnail(why='the file has changed since it was judged')]
    """
    wanted = sorted(set(sources), key=lambda source: (source.sha256, source.uri))
    first = {source.sha256: source for source in wanted}
    policy = small_policy(side)
    bases = list(dict.fromkeys([Path.cwd(), *folders]))
    with ThreadPoolExecutor(_THREADS) as pool:
        copies = dict(zip(first, pool.map(lambda source: _thumbnail(source, policy, bases), first.values()), strict=True))
    return {source: copies[source.sha256] for source in wanted}


def _thumbnail(source: JudgedFile, policy: PicturePolicy, bases: Sequence[Path]) -> Thumbnail | NoThumbnail:
    small = small_copy(source, policy, bases)
    if isinstance(small, NoThumbnail):
        return small
    encoded = base64.b64encode(small.content).decode("ascii")
    return Thumbnail(f"data:image/webp;base64,{encoded}", small.width, small.height)


@dataclass(frozen=True, slots=True)
class SmallCopy:
    """A small copy as WebP, with its size in pixels."""

    content: bytes
    width: int
    height: int


def small_copy(source: JudgedFile, policy: PicturePolicy, bases: Sequence[Path]) -> SmallCopy | NoThumbnail:
    """Return a copy of a picture, or of frames of a video, made of the very bytes that were judged.

    Args:
        source: the file.
        policy: how large, and how encoded.
        bases: where a relative path may start.
    """
    content = source.read(bases)
    return NoThumbnail(content) if isinstance(content, str) else small_copy_of(content, policy, source.sha256)


def small_copy_of(content: bytes, policy: PicturePolicy, sha256: str) -> SmallCopy | NoThumbnail:
    """Return a copy of a picture, or of frames of a video, in memory; ``sha256`` is of its bytes."""
    if container_of(content) is not None:
        sheet = _sheet(content)
        if isinstance(sheet, NoThumbnail):
            return sheet
        content = sheet
    small = prepare_bytes(content, policy, sha256=sha256)
    if isinstance(small, Unscored) or small.media.data is None:
        return NoThumbnail("the file cannot be opened as a picture")
    return SmallCopy(small.media.data, small.width, small.height)


def small_policy(side: int, quality: int = _QUALITY) -> PicturePolicy:
    """Return how copies are made of which the longest side has so many pixels."""
    return PicturePolicy(longest_side=side, encoding=Encoding.WEBP, quality=quality)


def _sheet(content: bytes) -> bytes | NoThumbnail:
    """Nine frames of a video as one picture."""
    try:
        sampled = sample_video(content, VideoPolicy(most_frames=_SHEET_FRAMES))
    except InputError as error:  # PyAV is not installed
        return NoThumbnail(error.problem)
    return NoThumbnail(sampled.detail) if isinstance(sampled, Unscored) else contact_sheet(sampled.film, columns=3)

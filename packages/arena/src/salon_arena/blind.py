"""Pictures and videos that say nothing about their model but what they show.

Each picture is decoded and encoded again: sRGB, opaque, one format, one quality, no metadata (EXIF, XMP, ICC, C2PA, text, file
name). Videos are in ``blind_video``. All files of a task get the same longest side and the same length in bytes: the smallest
side among them, and the largest length rounded up to a bucket. They are prepared together, so none arrives before the
others. Not hidden: style, aspect ratio, and watermarks in the pixels.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from salon_arena.blind_video import TYPE as VIDEO_TYPE
from salon_arena.blind_video import BlindVideo, blind_video, filled, longest_side
from salon_judges.formats.generations import VIDEO_SUFFIXES, Generated
from salon_judges.media.picture_cache import ByteCache
from salon_judges.media.policy import DEFAULT_LIMITS, Encoding, PicturePolicy
from salon_judges.media.preparing import prepare_bytes
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.verdict import Unscored

PICTURE_TYPE: Final = "image/jpeg"
LONGEST_SIDE: Final = 2048
"""In pixels; larger pictures are made smaller."""
QUALITY: Final = 95
BUCKET: Final = 1 << 16
"""Lengths are multiples of this, in bytes."""
_CACHE_BYTES: Final = 256 << 20
_MOST_SOURCES: Final = 100_000
_Version = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class BlindSet:
    """The files of one task as they are sent.

    Attributes:
        media: the bytes of each file, all of one length.
        type: the media type of all of them.
        digests: SHA-256 of each file on the disk, for the result store; never sent.
        frames: for videos, when each frame of each file is shown, in seconds from its first; empty for pictures.
    """

    media: tuple[bytes, ...]
    type: str
    digests: tuple[str, ...]
    frames: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    digest: str
    side: int


class BlindMedia:
    """Prepares the files of tasks; keeps the last 256 MiB of them in memory. Safe to use from several threads.

    A picture or video is encoded once for each longest side in which it is shown, not once for each task.

    Args:
        sound: whether videos keep their sound, levelled; else they are silent.
    """

    def __init__(self, *, sound: bool = False) -> None:
        self._sound = sound
        self._sources: ByteCache[_Version, _Source | Unscored] = ByteCache(_MOST_SOURCES, _count)
        self._pictures: ByteCache[tuple[_Version, int], bytes | Unscored] = ByteCache(_CACHE_BYTES, _bytes)
        self._videos: ByteCache[tuple[_Version, int], BlindVideo | Unscored] = ByteCache(_CACHE_BYTES, _video_bytes)

    def prepared(self, files: Sequence[Generated]) -> BlindSet | Unscored:
        """Return all files, or the reason why one cannot be shown. Never raises for what a file is.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> from PIL import Image
            >>> folder = Path(tempfile.mkdtemp())
            >>> Image.new("RGB", (64, 64)).save(folder / "a.png")
            >>> Image.effect_noise((512, 256), 90).save(folder / "b.png")
            >>> made = BlindMedia().prepared([Generated("p", name, 0, folder / f"{name}.png", folder) for name in "ab"])
            >>> [len(data) == BUCKET for data in made.media]
            [True, True]
        """
        videos = any(is_video(file) for file in files)
        sources: list[_Source] = []
        for file in files:
            source = self._sources.get(_version(file), partial(_source, file, video=videos))
            if isinstance(source, Unscored):
                return source
            sources.append(source)
        side = min(LONGEST_SIDE, *(source.side for source in sources))
        digests = tuple(source.digest for source in sources)
        if videos:
            return self._prepared_videos(files, side, digests)
        contents: list[bytes] = []
        for file in files:
            content = self._pictures.get((_version(file), side), partial(_picture, file, side))
            if isinstance(content, Unscored):
                return content
            contents.append(content)
        length = -(-max(map(len, contents)) // BUCKET) * BUCKET
        return BlindSet(tuple(data.ljust(length, b"\0") for data in contents), PICTURE_TYPE, digests)

    def _prepared_videos(self, files: Sequence[Generated], side: int, digests: tuple[str, ...]) -> BlindSet | Unscored:
        videos: list[BlindVideo] = []
        for file in files:
            video = self._videos.get((_version(file), side), partial(_video, file, side, sound=self._sound))
            if isinstance(video, Unscored):
                return video
            videos.append(video)
        padded = filled(videos, BUCKET)
        return BlindSet(tuple(one.data for one in padded), VIDEO_TYPE, digests, tuple(one.frames for one in padded))


def is_video(file: Generated) -> bool:
    """Return whether the file's name says that it is a video."""
    return file.path.suffix.lower() in VIDEO_SUFFIXES


def _source(file: Generated, *, video: bool) -> _Source | Unscored:
    content = read_inside(file.path, file.root, (DEFAULT_VIDEO_LIMITS if video else DEFAULT_LIMITS).most_bytes)
    if isinstance(content, Unscored):
        return content
    seen = longest_side(content) if video else decode(content, checked_only=True)
    if isinstance(seen, Unscored):
        return seen
    return _Source(hashlib.sha256(content).hexdigest(), seen if isinstance(seen, int) else max(seen.width, seen.height))


def _picture(file: Generated, side: int) -> bytes | Unscored:
    content = read_inside(file.path, file.root, DEFAULT_LIMITS.most_bytes)
    if isinstance(content, Unscored):
        return content
    prepared = prepare_bytes(content, PicturePolicy(longest_side=side, encoding=Encoding.JPEG, quality=QUALITY))
    return prepared if isinstance(prepared, Unscored) else prepared.media.data or b""


def _video(file: Generated, side: int, *, sound: bool) -> BlindVideo | Unscored:
    content = read_inside(file.path, file.root, DEFAULT_VIDEO_LIMITS.most_bytes)
    return content if isinstance(content, Unscored) else blind_video(content, side=side, sound=sound)


def _version(file: Generated) -> _Version:
    """Return a key that changes when the file is replaced, so that digests are of what is shown."""
    try:
        seen = file.path.stat()
    except OSError:
        return str(file.path), 0, 0
    return str(file.path), seen.st_mtime_ns, seen.st_size


# What cannot be shown weighs more than a cache holds: it is read again the next time, as the reason may be gone.


def _count(source: _Source | Unscored) -> int:
    return _MOST_SOURCES + 1 if isinstance(source, Unscored) else 1


def _bytes(content: bytes | Unscored) -> int:
    return _CACHE_BYTES + 1 if isinstance(content, Unscored) else len(content)


def _video_bytes(video: BlindVideo | Unscored) -> int:
    return _CACHE_BYTES + 1 if isinstance(video, Unscored) else len(video.data)

"""The pictures and videos of a run: each is decoded and encoded once, however many questions and comparisons show it."""

import hashlib
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from threading import Condition
from typing import Final, Generic, TypeAlias, TypeVar

from cachetools import LRUCache, cached

from salon_judges.media.policy import DEFAULT_LIMITS, PicturePolicy, SourceLimits
from salon_judges.media.preparing import PreparedPicture, prepare_bytes
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS, VideoLimits
from salon_judges.media.video_sampling import prepare_video_bytes
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.verdict import Unscored

_MOST_BYTES: Final = 32 << 20
_OVERHEAD: Final = 1024  # of the objects around the bytes

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
FileBytes: TypeAlias = bytes
Outcome: TypeAlias = PreparedPicture | Unscored


class ByteCache(Generic[K, V]):
    """Values by key, each made once, as many as fit; the least recently used is dropped first. Thread-safe.

    A value that is larger than the whole cache is made and not kept. Threads that ask for one key at the same time share one
    making; after an error the next of them tries again.

    Args:
        most_bytes: how much the values may weigh together.
        weight: the bytes of one value.

    Example:
        >>> cache = ByteCache(10, len)
        >>> [cache.get(key, lambda key=key: key * 4) for key in "abab"], cache.made, cache.bytes
        (['aaaa', 'bbbb', 'aaaa', 'bbbb'], 2, 8)
        >>> cache.get("c", lambda: "cccc"), "a" in cache, "b" in cache, len(cache)
        ('cccc', False, True, 2)
    """

    def __init__(self, most_bytes: int, weight: Callable[[V], int]) -> None:
        self.most_bytes = most_bytes
        self.made = 0
        """How often a value had to be made."""
        self._kept: LRUCache[K, V] = LRUCache(most_bytes, getsizeof=weight)
        self._condition = Condition()
        self._get = cached(self._kept, key=lambda key, make: key, condition=self._condition)(self._make)

    @property
    def bytes(self) -> int:
        """What the kept values weigh."""
        return int(self._kept.currsize)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key; ``make`` is called, outside the lock, when it is missing."""
        return self._get(key, make)

    def __len__(self) -> int:
        """Return how many values are kept."""
        return len(self._kept)

    def __contains__(self, key: object) -> bool:
        """Return whether a value is kept."""
        return key in self._kept

    def _make(self, key: K, make: Callable[[], V]) -> V:
        with self._condition:
            self.made += 1
        return make()


class PictureCache:
    """:func:`~.preparing.prepare_picture` with a memory of so many bytes, by the content of the file and the policy.

    A file is read again each time, because only its content says whether it is the same; that costs about a tenth of decoding
    it. Safe to use from several threads; decoding releases the GIL.

    Args:
        most_bytes: what the prepared pictures that are kept may weigh together; memory stays flat however many come by.
        limits: larger files and pictures are refused.
        video_limits: larger videos are refused.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (8, 8)).save(folder / "1.png")
        >>> cache = PictureCache()
        >>> ready = [cache.prepare(folder / "1.png", PicturePolicy(), folder) for _ in range(3)]
        >>> ready[0] is ready[2], cache.decoded
        (True, 1)
    """

    def __init__(
        self,
        most_bytes: int = _MOST_BYTES,
        *,
        limits: SourceLimits = DEFAULT_LIMITS,
        video_limits: VideoLimits = DEFAULT_VIDEO_LIMITS,
    ) -> None:
        self._limits = limits
        self._video_limits = video_limits
        self._cache: ByteCache[tuple[str, PicturePolicy], Outcome] = ByteCache(most_bytes, _weight)

    @property
    def decoded(self) -> int:
        """How many pictures and videos had to be decoded so far."""
        return self._cache.made

    @property
    def bytes(self) -> int:
        """What the pictures that are kept weigh."""
        return self._cache.bytes

    def prepare(
        self, path: Path, policy: PicturePolicy, root: Path, content: FileBytes | None = None
    ) -> PreparedPicture | Unscored:
        """Return a picture or video, ready to be sent, or ``Unscored(BAD_MEDIA)``; never raises for what a file is.

        Args:
            path: the file.
            policy: the suite's wish.
            root: the folder that the file must lie in.
            content: of the file, where it is in memory already.
        """
        video = policy.video
        most_bytes = self._limits.most_bytes if video is None else self._video_limits.most_bytes
        data = read_inside(path, root, most_bytes) if content is None else content
        if isinstance(data, Unscored):
            return data
        sha256 = hashlib.sha256(data).hexdigest()
        make = partial(prepare_bytes, data, policy, limits=self._limits, sha256=sha256)
        if video is not None:
            make = partial(prepare_video_bytes, data, video, uri=str(path), limits=self._video_limits, sha256=sha256)
        return self._cache.get((sha256, policy), make)


def _weight(outcome: Outcome) -> int:
    if isinstance(outcome, Unscored):
        return _OVERHEAD
    film = outcome.media.film
    frames = {} if film is None else {id(frame.image): frame.image for frame in film.frames}
    return _OVERHEAD + sum(len(each.data or b"") for each in (outcome.media, *frames.values()))

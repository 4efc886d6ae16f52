"""Pictures that say nothing about their model but what they show.

Each is decoded and encoded again: sRGB, opaque, one format, one quality, no metadata (EXIF, XMP, ICC, C2PA, text, file name).
Both pictures of a pair get the same longest side and the same length in bytes: the smaller side of the two, and the larger
length rounded up to a bucket. They are prepared together, so neither arrives before the other. Not hidden: style, aspect
ratio, and watermarks in the pixels.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from salon_bench.media.byte_bounded import ByteBounded
from salon_bench.media.decoding import decode
from salon_bench.media.policy import DEFAULT_LIMITS, Encoding, PicturePolicy
from salon_bench.media.preparing import prepare_bytes
from salon_bench.media.reading import read_inside
from salon_bench.suites.contract.generations import Generated
from salon_taxonomy.verdict import Unscored

MEDIA_TYPE: Final = "image/jpeg"
LONGEST_SIDE: Final = 2048
"""In pixels; larger pictures are made smaller."""
QUALITY: Final = 95
BUCKET: Final = 1 << 16
"""Lengths are multiples of this, in bytes."""
_CACHE_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class BlindPair:
    """The two pictures of one battle as they are sent.

    Attributes:
        left: bytes of a JPEG file, padded with zeros behind its end.
        right: the same for the other side; as long as ``left``.
        sha256_left: of the file on the disk, for the result store; never sent.
        sha256_right: the same for the other side.
    """

    left: bytes
    right: bytes
    sha256_left: str
    sha256_right: str


class BlindPictures:
    """Prepares pairs, and keeps the last 256 MiB of them in memory. Safe to use from several threads."""

    def __init__(self) -> None:
        self._pairs: ByteBounded[tuple[str, str], BlindPair | Unscored] = ByteBounded(_CACHE_BYTES, _weight)

    def pair(self, left: Generated, right: Generated) -> BlindPair | Unscored:
        """Return both pictures, or the reason why one cannot be shown. Never raises for what a file is."""
        return self._pairs.get((str(left.path), str(right.path)), lambda: blind_pair(left, right))


def blind_pair(left: Generated, right: Generated) -> BlindPair | Unscored:
    """Decode both pictures and encode them again, alike.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (64, 64)).save(folder / "a.png")
        >>> Image.effect_noise((512, 256), 90).save(folder / "b.png")
        >>> one, other = (Generated("p", name, 0, folder / f"{name}.png", folder) for name in "ab")
        >>> made = blind_pair(one, other)
        >>> len(made.left) == len(made.right) == BUCKET
        True
    """
    sources: list[tuple[bytes, int]] = []
    for file in (left, right):
        data = read_inside(file.path, file.root, DEFAULT_LIMITS.most_bytes)
        if isinstance(data, Unscored):
            return data
        seen = decode(data, checked_only=True)
        if isinstance(seen, Unscored):
            return seen
        sources.append((data, max(seen.width, seen.height)))
    side = min(LONGEST_SIDE, *(size for _, size in sources))
    policy = PicturePolicy(longest_side=side, encoding=Encoding.JPEG, quality=QUALITY)
    made: list[bytes] = []
    for data, _ in sources:
        prepared = prepare_bytes(data, policy)
        if isinstance(prepared, Unscored):
            return prepared
        made.append(prepared.media.data or b"")
    length = -(-max(map(len, made)) // BUCKET) * BUCKET
    one, other = (data.ljust(length, b"\0") for data in made)
    digests = [hashlib.sha256(data).hexdigest() for data, _ in sources]
    return BlindPair(one, other, *digests)


def _weight(pair: BlindPair | Unscored) -> int:
    return len(pair.left) + len(pair.right) if isinstance(pair, BlindPair) else 1

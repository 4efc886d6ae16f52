"""One picture on its way to a judge: read with care, checked whole, resized and encoded by the suite's policy."""

import hashlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_judges.media.policy import DEFAULT_LIMITS, Encoding, PicturePolicy, SourceLimits
from salon_taxonomy.errors import picture_failures
from salon_taxonomy.media_files import bad_media, read_inside
from salon_taxonomy.picture_decoding import Decoded, decode
from salon_taxonomy.picture_formats import PNG
from salon_taxonomy.protocols import Media
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class PreparedPicture:
    """A picture that a judge can be shown.

    Attributes:
        media: the encoded bytes that are sent, in memory; ``media.sha256`` is theirs.
        width: of the picture that is sent, in pixels.
        height: of the picture that is sent, in pixels.
        original_sha256: of the file as it lies on the disk.
        original_width: of the file's picture, upright, in pixels.
        original_height: of the file's picture, upright, in pixels.
        notes: what was done to it, a clause each: "turned upright", "made smaller". Empty: sent byte for byte as it is, or
            only encoded again.
    """

    media: Media
    width: int
    height: int
    original_sha256: str
    original_width: int
    original_height: int
    notes: tuple[str, ...] = ()


def prepare_picture(path: Path, policy: PicturePolicy, root: Path) -> PreparedPicture | Unscored:
    """Read, check, resize and encode one picture.

    Args:
        path: the file.
        policy: the suite's wish.
        root: the folder that the file must lie in, whatever links or ``..`` the path contains.

    Returns:
        The picture, or ``Unscored(BAD_MEDIA)`` with the reason. Never raises for what a file, its name or its content is.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> Image.new("RGBA", (800, 600)).save(folder / "1.png")
        >>> ready = prepare_picture(folder / "1.png", PicturePolicy(longest_side=400), folder)
        >>> ready.width, ready.height, ready.notes
        (400, 300, ('transparent parts laid onto white', 'made smaller'))
        >>> prepare_picture(folder / "2.png", PicturePolicy(), folder).detail
        'there is no such file'
    """
    data = read_inside(path, root, DEFAULT_LIMITS.most_bytes)
    return data if isinstance(data, Unscored) else prepare_bytes(data, policy)


def prepare_bytes(
    data: bytes, policy: PicturePolicy, *, limits: SourceLimits = DEFAULT_LIMITS, sha256: str | None = None
) -> PreparedPicture | Unscored:
    """Return the same for a file that is in memory already; ``sha256`` is of ``data``, where the caller knows it.

    The encoded bytes are the same on every machine with the same version of Pillow; another version may compress otherwise,
    and then ``media.sha256`` differs, unless the file is sent as it is.
    """
    sha256 = sha256 or hashlib.sha256(data).hexdigest()
    may_stay = policy.encoding in (Encoding.KEEP, Encoding.PNG)
    decoded = decode(data, limits, checked_only=may_stay)
    if isinstance(decoded, Unscored):
        return decoded
    size = policy.fitting(decoded.width, decoded.height)
    stays = may_stay and not decoded.changed and size == (decoded.width, decoded.height)
    if stays and (decoded.kind is PNG or (policy.encoding is Encoding.KEEP and decoded.kind.sendable)):
        media = Media(sha256, data=data)
        return PreparedPicture(media, *size, sha256, decoded.width, decoded.height, decoded.notes)
    if not decoded.whole:
        decoded = decode(data, limits)
        if isinstance(decoded, Unscored):
            return decoded
    return _encoded(decoded, policy, size, sha256)


def _encoded(decoded: Decoded, policy: PicturePolicy, size: tuple[int, int], sha256: str) -> PreparedPicture | Unscored:
    from PIL.Image import Resampling

    notes = decoded.notes
    try:
        image = decoded.image.convert("RGB")
        if size != image.size:
            image = image.resize(size, Resampling.LANCZOS)
            notes = (*notes, "made smaller")
        media = Media.from_bytes(_written(image, policy))
    except picture_failures() as error:
        return bad_media(f"the picture cannot be encoded ({str(error) or type(error).__name__})")
    return PreparedPicture(media, *size, sha256, decoded.width, decoded.height, notes)


def _written(image: "Image", policy: PicturePolicy) -> bytes:
    """Return the file's bytes, without metadata."""
    options: dict[Encoding, tuple[str, dict[str, Any]]] = {
        Encoding.JPEG: ("JPEG", {"quality": policy.quality, "subsampling": 0}),
        Encoding.WEBP: ("WEBP", {"quality": policy.quality}),
    }
    name, settings = options.get(policy.encoding, ("PNG", {"compress_level": 1}))
    image.info = {}
    stream = BytesIO()
    image.save(stream, name, **settings)
    return stream.getvalue()

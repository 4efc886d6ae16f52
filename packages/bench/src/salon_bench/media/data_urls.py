"""Pictures as ``data:`` URLs, the way judges' servers take them, each encoded in base64 once."""

import base64
from typing import Final

from salon_bench.media.byte_bounded import ByteBounded
from salon_bench.media.formats import format_of
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media

_MOST_BYTES: Final = 32 << 20
_UNKNOWN: Final = "application/octet-stream"


def data_url(media: Media) -> bytes:
    """One picture as ``data:image/png;base64,…``, in ASCII: nothing in it needs escaping in JSON.

    The media type is told by the bytes; anything that is no picture (a video) is ``application/octet-stream``.

    Raises:
        InputError: for media by reference, without bytes.

    Example:
        >>> data_url(Media.from_bytes(b"GIF89a..."))
        b'data:image/gif;base64,R0lGODlhLi4u'
    """
    if media.data is None:
        raise InputError("media by reference have no bytes to send", value=media.uri, hint="Prepare the picture first.")
    kind = format_of(media.data)
    media_type = _UNKNOWN if kind is None else kind.media_type
    return b"data:" + media_type.encode() + b";base64," + base64.b64encode(media.data)


class DataUrls:
    """:func:`data_url`, remembered by the sha256 of the media, in so many bytes at most. Safe to use from several threads.

    Example:
        >>> urls = DataUrls()
        >>> urls(Media.from_bytes(b"GIF89a...")) is urls(Media.from_bytes(b"GIF89a..."))
        True
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._cache: ByteBounded[str, bytes] = ByteBounded(most_bytes, len)

    def __call__(self, media: Media) -> bytes:
        """The URL of one picture."""
        return self._cache.get(media.sha256, lambda: data_url(media))

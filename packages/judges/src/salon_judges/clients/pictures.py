"""Encode pictures for requests: base64 in a data URL, computed once and cached."""

import asyncio
import base64
import hashlib
from collections import OrderedDict
from pathlib import Path

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import MediaKind

_MOST_BYTES = 32 << 20
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)


class PictureParts:
    """The ``image_url`` parts of requests, by the hash of their picture: those used last are kept.

    One may be shared by several judges, so that a panel encodes each picture once.

    Args:
        most_bytes: how much to keep.

    Example:
        >>> asyncio.run(PictureParts().part(Media.from_bytes(b"GIF89a")))
        b'{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}}'
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    async def part(self, media: Media) -> bytes:
        """Return the JSON text of the picture's part. A picture that is a file is read in a thread.

        Raises:
            InputError: for a video, for media that are on the network, and for a file that cannot be read or is no longer
                what it was.
        """
        kept = self._kept.get(media.sha256)
        if kept is not None:
            self._kept.move_to_end(media.sha256)
            return kept
        if media.kind != MediaKind.IMAGE:
            raise InputError("this is a video, not a picture:", value=media.uri, hint="Ask about it as a video.")
        data = media.data if media.data is not None else await asyncio.to_thread(file_bytes, media)
        head = b'{"type":"image_url","image_url":{"url":"data:%b;base64,' % _mime(data)
        encoded = b"".join((head, base64.b64encode(data), b'"}}'))
        self._keep(media.sha256, encoded)
        return encoded

    def _keep(self, sha256: str, part: bytes) -> None:
        if len(part) > self._most or sha256 in self._kept:
            return
        self._kept[sha256] = part
        self._size += len(part)
        while self._size > self._most:
            self._size -= len(self._kept.popitem(last=False)[1])


def file_bytes(media: Media) -> bytes:
    """Return the bytes of a file, which must still have the digest of its media."""
    uri = media.uri or ""
    if "://" in uri:
        raise InputError("media on the network are not fetched", value=uri, hint="Download them and name the file.")
    try:
        data = Path(uri).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"the file cannot be read ({error})", source=uri) from error
    if hashlib.sha256(data).hexdigest() != media.sha256:
        raise InputError("the file has changed since it was listed", source=uri, hint="List the files again.")
    return data


def _mime(data: bytes) -> bytes:
    """Return the media type by the first bytes; unknown kinds are left to the server."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return b"image/webp"
    return next((name.encode() for magic, name in _MAGIC if data.startswith(magic)), b"application/octet-stream")

"""Servers that send pictures, and the editor behind one: ``POST {base_url}/images/edits``, multipart there, base64 back.

The same settings, secrets, pacing, retries and deadlines as judges have (``salon_judges.clients``).
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

import aiohttp

from salon_judges.clients.chat_reply import Completion, NoCompletion, read_error
from salon_judges.clients.endpoint import Endpoint
from salon_judges.clients.pacing import Clock, SystemClock
from salon_judges.clients.retry import Calls
from salon_judges.clients.secrets import Secrets
from salon_judges.clients.settings import ChatSettings
from salon_judges.media.video_container import container_of, ending_of, media_type_of
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_formats import format_of
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import CallOutcome, Edit, Media, Reply
from salon_taxonomy.records import CallStatus, Finish, MediaKind

_MOST_REPLY_BYTES: Final = 64 << 20
_BOUNDARY: Final = "salon-part-6f1d2c9e5b7a4380"
MULTIPART: Final = f"multipart/form-data; boundary={_BOUNDARY}"
"""The content type of :func:`multipart`."""


def read_picture(body: bytes) -> Completion | NoCompletion:
    """Read the body of a reply with status 200 and return its first picture in base64.

    Example:
        >>> read_picture(b'{"data": [{"b64_json": "AAAA"}]}').text
        'AAAA'
        >>> read_picture(b'{"data": [{"url": "https://example.com/a.png"}]}').problem.partition(";")[0]
        'the picture came as a URL, which is not followed'
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return NoCompletion("not JSON")
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return read_error(body)
    row = rows[0] if rows and isinstance(rows[0], dict) else {}
    text = row.get("b64_json")
    if not isinstance(text, str):
        wanted = "--set response_format=b64_json, or response_format in extra_body"
        told = f"the picture came as a URL, which is not followed; ask for base64: {wanted}"
        return NoCompletion(told if isinstance(row.get("url"), str) else "the reply holds no picture", final=True)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return NoCompletion("the picture is no base64", final=True)
    return Completion(text, Finish.STOP) if data else NoCompletion("the picture is empty", final=True)


class ImagesServer(Closing):
    """A server that answers each request with a picture in base64.

    The same settings, secrets, pacing, retries and deadlines as judges have.

    Args:
        settings: the server, the model and the limits; replies may have up to 64 MiB at least.
        environment: where the secrets are found that the settings name.
        clock: tells the time; a test's need not wait.

    Raises:
        InputError: when a secret that the settings name is not in the environment.
    """

    kind: ClassVar[str]
    """The word for it in digests."""
    protocol: ClassVar[str]
    """Raised when the same settings begin to make other requests, or replies to be read otherwise."""
    path: ClassVar[str]
    """Below the base URL."""
    content_type: ClassVar[str]
    """Of the requests."""
    read: ClassVar[Callable[[bytes], Completion | NoCompletion]] = read_picture
    """Reads the body of a reply."""

    def __init__(
        self, settings: ChatSettings, environment: Mapping[str, str] | None = None, *, clock: Clock | None = None
    ) -> None:
        most = max(settings.limits.most_reply_bytes, _MOST_REPLY_BYTES)
        limits = settings.limits.model_copy(update={"most_reply_bytes": most})
        self.settings = settings.model_copy(update={"limits": limits})
        shaping: dict[str, Digestible] = settings.model_dump(mode="json", include={"model", "headers", "extra_body"})
        self.version = digest(self.kind, {"protocol": self.protocol, **shaping})
        self._clock = clock = clock or SystemClock()
        self._secrets = Secrets.of(settings, environment or {})
        self._endpoint = self._endpoint_for(self.content_type, type(self).read)
        self._calls = Calls(limits, self._endpoint.post, clock)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.settings.title

    def _endpoint_for(self, content_type: str, read: Callable[[bytes], Completion | NoCompletion]) -> Endpoint:
        settings, secrets = self.settings, self._secrets
        return Endpoint(settings, secrets, self.version, self._clock, path=self.path, content_type=content_type, read=read)

    def hide(self, text: str) -> str:
        """Return the text without the keys that are sent."""
        return self._secrets.hide(text)

    async def close(self) -> None:
        """Close all connections; the next request opens new ones."""
        await self._endpoint.close()

    async def request(self, body: bytes) -> Edit:
        """Send a request; every failure is an :class:`~salon_taxonomy.protocols.Edit` that says so.

        ``REJECTED`` is what the server says of the request. A wrong key, an unknown model or a server that is too busy says
        nothing of it: ``UNREACHABLE``, so that a later start asks again.
        """
        reply = await self._calls.reply([body])
        if not reply.answered:
            return failed_edit(reply)
        picture = Media.from_bytes(base64.b64decode(reply.text))
        return Edit(picture, version=self.version, latency_ms=reply.latency_ms)


def failed_edit(reply: Reply) -> Edit:
    """Return the edit that a reply without an answer means; ``REJECTED`` only where the server refused this request."""
    refused = reply.outcome is CallOutcome.REFUSED
    status = CallStatus.UNREACHABLE if reply.status == CallStatus.REJECTED and not refused else reply.status
    return Edit(None, status, reply.version, reply.latency_ms, reply.error)


class OpenAICompatibleEditor(ImagesServer):
    """Sends picture and instruction, one picture per call.

    ``settings.extra_body`` holds further form fields (``size``, ``quality``, ``response_format``), ``settings.decoding`` is
    not used. A seed is sent as the field ``seed``, where one is given.

    Args:
        settings: the server, the model and the limits; replies may have up to 64 MiB at least.
        environment: where the secrets are found that the settings name.
        clock: tells the time; a test's need not wait.

    Raises:
        InputError: when a secret that the settings name is not in the environment.

    Example:
        >>> from salon_judges.testing.mock_server import MockServer
        >>> picture = Media.from_bytes(b"\\x89PNG\\r\\n\\x1a\\n...")
        >>> async def main() -> bool:
        ...     async with MockServer() as server:
        ...         async with OpenAICompatibleEditor(ChatSettings(model="mock", base_url=server.url)) as editor:
        ...             return (await editor.edit(picture, "Make it brighter.")).image == picture
        >>> asyncio.run(main())
        True
    """

    kind = "editor"
    protocol = "images-edits-1"
    path = "/images/edits"
    content_type = MULTIPART

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None, further: Sequence[Media] = ()) -> Edit:
        """Return the server's picture, or why it failed (:meth:`ImagesServer.request`).

        Args:
            image: the picture to be changed.
            instruction: what to change.
            seed: sent as the field ``seed``.
            further: pictures behind the first, for servers that combine several.

        Raises:
            InputError: for a video, a file that cannot be read, or one that is no picture.
        """
        fields: dict[str, object] = {"model": self.settings.model, "prompt": instruction, "n": 1, **self.settings.extra_body}
        if seed is not None:
            fields["seed"] = self.settings.extra_body.get("seed", seed)
        name = "image[]" if further and self.settings.kind == "openai" else "image"
        files = [(name, each, await asyncio.to_thread(_bytes, each)) for each in (image, *further)]
        return await self.request(await multipart(fields, files))


async def multipart(fields: Mapping[str, object], files: Sequence[tuple[str, Media, bytes]]) -> bytes:
    """Return a body of ``multipart/form-data`` whose boundary is :data:`MULTIPART`'s; equal requests have equal bytes.

    Args:
        fields: by name; one that is None is left out, one that is no text is sent as JSON.
        files: the name of the field, the picture or video and its bytes.

    Raises:
        InputError: a file is no PNG, JPEG or WebP, and no video.
    """
    form = aiohttp.MultipartWriter("form-data", boundary=_BOUNDARY)  # `aiohttp.FormData` draws a boundary
    for name, value in fields.items():
        if value is None:
            continue
        text = (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace").decode()
        part = form.append(text.replace(f"--{_BOUNDARY}", f"-- {_BOUNDARY}"))
        part.set_content_disposition("form-data", name=name)
    for name, media, data in files:
        kind = format_of(data)
        sendable = kind.sendable if kind else media.kind == MediaKind.VIDEO and container_of(data) is not None
        if not sendable or _BOUNDARY.encode() in data:
            raise InputError("only PNG, JPEG and WebP pictures can be sent to an editor", column="image", value=media.uri)
        part = form.append(data, {"Content-Type": kind.media_type if kind else media_type_of(data)})
        part.set_content_disposition("form-data", name=name, filename=f"{media.kind}.{ending_of(data)}")
    return await form.as_bytes()


def _bytes(image: Media) -> bytes:
    if image.kind != MediaKind.IMAGE:
        raise InputError("an editor of pictures takes no video", column="image", value=image.uri)
    if image.data is not None:
        return image.data
    try:
        return Path(image.uri or "").read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({type(error).__name__})", source=image.uri, column="image") from error

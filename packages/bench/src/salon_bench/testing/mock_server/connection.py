"""One client's connection to the mock server: HTTP/1.1 as far as clients of chat completions speak it.

Written on asyncio's bare protocol, not on a web framework, so that the server is never what a benchmark measures.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from salon_bench.testing.mock_server import responses

_HEAD_END = b"\r\n\r\n"
_LONGEST_HEAD = 64 << 10
_LONGEST_BODY = 512 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came.

    Attributes:
        method: upper case.
        path: without the query.
        headers: names in lower case; of a name that stands twice, the last.
        body: the bytes.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Answering(Protocol):
    """What the server offers its connections."""

    def answer(self, request: Request, connection: "Connection") -> None:
        """Answer now or later, by the connection's methods."""


class Connection(asyncio.Protocol):
    """Reads requests one after the other; the next one is read when the last one was answered."""

    def __init__(self, server: Answering, opened: "set[Connection]") -> None:
        self._server = server
        self._opened = opened
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str], int] | None = None
        self._busy = False
        self._pending: tuple[asyncio.TimerHandle, Callable[[], None]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's call: a client is there."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - create_server gives nothing else
        self._transport = transport
        self._opened.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio's call: the client is gone; an answer that was still to come is given up."""
        self._opened.discard(self)
        self._transport = None
        if self._pending is not None:
            handle, given_up = self._pending
            handle.cancel()
            self._pending = None
            given_up()

    def data_received(self, data: bytes) -> None:
        """Asyncio's call: the next bytes."""
        self._buffer += data
        self._read()

    def later(self, seconds: float, action: Callable[[], None], given_up: Callable[[], None]) -> None:
        """Call ``action`` after a while; ``given_up`` instead when the client leaves before."""

        def now() -> None:
            self._pending = None
            action()

        self._pending = (asyncio.get_running_loop().call_later(seconds, now), given_up)

    def send(self, reply: bytes) -> None:
        """Send a whole reply and go on with the client's next request."""
        if self._transport is not None:
            self._transport.write(reply)
        self._busy = False
        if self._buffer:
            self._read()

    def trickle(self, reply: bytes, seconds: float, given_up: Callable[[], None]) -> None:
        """Send one byte after the other, so many seconds apart, and never the last."""
        if self._transport is None:
            return
        self._transport.write(reply[:1])
        rest = reply[1:] if len(reply) > 2 else reply
        self.later(seconds, lambda: self.trickle(rest, seconds, given_up), given_up)

    def cut(self, sent_before: bytes = b"") -> None:
        """Close the connection, after these bytes."""
        if self._transport is not None:
            self._transport.write(sent_before)
            self._transport.close()

    def _read(self) -> None:
        """Take the next request from the buffer, if it is whole and the last one was answered."""
        if self._busy:
            return
        if self._head is None:
            end = self._buffer.find(_HEAD_END)
            if end < 0:
                if len(self._buffer) > _LONGEST_HEAD:
                    self._refuse(431, "the head of the request is too long")
                return
            self._read_head(bytes(self._buffer[:end]))
            del self._buffer[: end + len(_HEAD_END)]
            if self._head is None:
                return
        method, path, headers, length = self._head
        if len(self._buffer) < length:
            return
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._head = None
        self._busy = True
        self._server.answer(Request(method, path, headers, body), self)

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = headers.get("content-length", "0")
        if len(words) != 3 or not length.isascii() or not length.isdecimal() or len(length) > 12:
            self._refuse(400, "not a request")
        elif "transfer-encoding" in headers:
            self._refuse(411, "the mock server wants a Content-Length")
        elif int(length) > _LONGEST_BODY:
            self._refuse(413, "the body is too large")
        else:
            if headers.get("expect", "").lower() == "100-continue" and self._transport is not None:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._head = (words[0].upper(), words[1].partition("?")[0], headers, int(length))

    def _refuse(self, status: int, message: str) -> None:
        self.cut(responses.error(status, message))

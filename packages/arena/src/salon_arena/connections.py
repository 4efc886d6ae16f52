"""Limit connections: how many there are, and how long a request may take to arrive.

A client that opens connections and sends its requests by halves holds them open for as long as it likes. So a request's headers
and its body each have a time, and beyond so many connections a new one is closed at once.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S: Final = 10.0
"""Seconds from the first byte of a request, or from the connection, to the end of its headers."""
BODY_S: Final = 30.0
"""Seconds from the headers to the end of the body."""
MOST_CONNECTIONS: Final = 900
"""Below the 1,024 files that a process may have open by default."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection; uvicorn's, with limits."""

    headers_s: float = HEADERS_S
    body_s: float = BODY_S
    most: int = MOST_CONNECTIONS
    _arrival: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close the connection when there are too many, or give its first request its time."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._wait(self.headers_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time."""
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Give a further request its time from its first byte on, also where that is none of a request's."""
        if self._arrival is None and (self.cycle is None or self.cycle.response_complete):
            self._wait(self.headers_s)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Give the body its time."""
        self._wait(self.body_s)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._arrived()
        super().on_message_complete()

    def _wait(self, seconds: float) -> None:
        self._arrived()
        self._arrival = self.loop.call_later(seconds, self._late)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _late(self) -> None:
        self._arrival = None
        transport: Any = self.transport
        if not transport.is_closing():
            transport.abort()

"""The mock server: speaks as an OpenAI-compatible one does and does what its script says."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from salon_bench.testing.mock_server import responses
from salon_bench.testing.mock_server.asked import Asked
from salon_bench.testing.mock_server.connection import Connection, Request
from salon_bench.testing.mock_server.faults import Fault
from salon_bench.testing.mock_server.form import read_form
from salon_bench.testing.mock_server.script import Line, Performance, Script
from salon_bench.testing.mock_server.stats import Stats
from salon_taxonomy.errors import InputError

_TRICKLE_S = 0.02
_RENDERED = 4096


class MockServer:
    """Serves ``POST /v1/chat/completions``, ``POST /v1/images/edits``, ``GET /v1/models`` and ``GET /stats``.

    Any prefix of the path will do. Edits meet the script's faults and latencies as completions do.

    Args:
        script: what it does; by default it answers ``ok`` at once.
        host: the address to listen on.
        port: 0 takes a free one.
        model: the name that ``/v1/models`` gives.
        remember: how many of the last requests to keep in :attr:`seen`.
        edits: makes the new picture of an edit from the picture's file and the instruction; by default nothing changes.

    Example:
        >>> import aiohttp
        >>> async def main() -> str:
        ...     async with MockServer(Script(lines=(Line("yes"),))) as server, aiohttp.ClientSession() as session:
        ...         reply = await session.post(f"{server.url}/chat/completions", json={"messages": []})
        ...         return (await reply.json())["choices"][0]["message"]["content"], server.stats.paid
        >>> asyncio.run(main())
        ('yes', 1)
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        model: str = "mock",
        remember: int = 64,
        edits: Callable[[bytes, str], bytes] | None = None,
    ) -> None:
        self.stats = Stats()
        self.seen: deque[Request] = deque(maxlen=remember)
        self._performance = Performance(script or Script())
        self._host = host
        self._port = port
        self._model = model
        self._edits = edits
        self._server: asyncio.Server | None = None
        self._opened: set[Connection] = set()
        self._rendered: dict[Line, bytes | None] = {}

    @property
    def url(self) -> str:
        """What clients take as their base URL: ``http://127.0.0.1:…/v1``."""
        return f"http://{self._host}:{self._port}/v1"

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            InputError: the address cannot be used.
        """
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self, self._opened), self._host, self._port, backlog=1024
            )
        except OSError as error:
            address = f"{self._host}:{self._port}"
            raise InputError(f"cannot listen ({error.strerror})", value=address, hint="Take another --port, or 0.") from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop, and close every connection."""
        if self._server is not None:
            self._server.close()
            for connection in tuple(self._opened):
                connection.cut()
            await self._server.wait_closed()

    def play(self, script: Script) -> None:
        """Do what another script says from now on; the counts go on."""
        self._performance = Performance(script)
        self._rendered.clear()

    def answer(self, request: Request, connection: Connection) -> None:
        """Answer one request on its connection, now or after the script's latency."""
        route = (request.method, request.path.rstrip("/").rsplit("/v1", 1)[-1])
        if route == ("POST", "/chat/completions"):
            self.seen.append(request)
            self._complete(Asked(request.body), connection)
        elif route == ("POST", "/images/edits"):
            self.seen.append(request)
            self._complete(Asked(request.body), connection, request)
        elif route == ("GET", "/models"):
            document = {"object": "list", "data": [{"id": self._model, "object": "model", "owned_by": "mock"}]}
            connection.send(responses.http(200, json.dumps(document).encode()))
        elif route == ("GET", "/stats"):
            connection.send(responses.http(200, json.dumps(self.stats.document()).encode()))
        else:
            connection.send(
                responses.error(404, "the mock server knows /v1/chat/completions, /v1/images/edits, /v1/models and /stats")
            )

    def _complete(self, asked: Asked, connection: Connection, edit: Request | None = None) -> None:
        stats = self.stats
        stats.arrived()
        line = self._performance.line(asked, stats.in_flight)
        wait = self._performance.wait_s()
        if line.fault is not None:
            stats.met(line.fault)

        def act() -> None:
            if line.fault != Fault.HANG:
                stats.sent(asked, line)
            if edit is not None and line.fault is None and line.body is None:
                connection.send(self._edited(edit))
            else:
                self._act(line, connection)

        if wait:
            connection.later(wait, act, stats.gave_up)
        else:
            act()

    def _act(self, line: Line, connection: Connection) -> None:
        reply = self._reply(line)
        if line.fault == Fault.HANG:
            connection.later(1e6, connection.cut, self.stats.gave_up)
        elif line.fault == Fault.CUT or reply is None:
            connection.cut()
        elif line.fault == Fault.CUT_REPLY:
            connection.cut(reply[: len(reply) // 2])
        elif line.fault == Fault.SLOW_LORIS:
            connection.trickle(reply, _TRICKLE_S, lambda: None)
        else:
            connection.send(reply)

    def _edited(self, request: Request) -> bytes:
        fields = read_form(request.headers.get("content-type", ""), request.body)
        if "image" not in fields or "prompt" not in fields:
            return responses.error(400, "an edit needs the form fields image and prompt")
        if self._edits is None:
            return responses.picture(fields["image"])
        return responses.picture(self._edits(fields["image"], fields["prompt"].decode("utf-8", "replace")))

    def _reply(self, line: Line) -> bytes | None:
        """The bytes for a line, rendered once for lines that come again."""
        if line not in self._rendered:
            if len(self._rendered) >= _RENDERED:
                self._rendered.clear()
            self._rendered[line] = responses.whole(line, self._performance.script.prompt_tokens)
        return self._rendered[line]


@contextmanager
def serving(script: Script | None = None) -> Iterator[MockServer]:
    """A mock server in a thread of its own, for tests and programs that are not asynchronous themselves.

    Example:
        >>> with serving() as server:
        ...     server.url.startswith("http://127.0.0.1:")
        True
    """
    server = MockServer(script)
    ready = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    failed: list[BaseException] = []

    async def serve() -> None:
        async with server:
            end = asyncio.Event()
            stop.append((asyncio.get_running_loop(), end))
            ready.set()
            await end.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except InputError as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=run, name="salon mock server", daemon=True)
    thread.start()
    ready.wait()
    if failed:
        raise failed[0]
    try:
        yield server
    finally:
        loop, end = stop[0]
        loop.call_soon_threadsafe(end.set)
        thread.join()

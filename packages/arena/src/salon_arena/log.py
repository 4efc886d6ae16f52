"""Structured logs: one line of JSON per request, without secrets.

A line has the time, the method, the route's name and not its address (addresses hold tokens), the status, the milliseconds,
and for an error its kind. Where the database refuses, a further line says why. No body, header, cookie, network address, rater,
model or picture's file is in it.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salon_taxonomy.errors import cannot_write

Log = Callable[[dict[str, Any]], None]
"""Takes the fields of a line."""


class Requests:
    """ASGI middleware that logs each request when it is answered.

    Args:
        app: what answers.
        log: takes the lines.
    """

    def __init__(self, app: ASGIApp, log: Log) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer and log."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, failed = time.perf_counter(), 0, ""

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            failed = type(error).__name__
            raise
        finally:
            endpoint = scope.get("endpoint")
            line = {"event": "request", "method": scope["method"], "route": getattr(endpoint, "__name__", "none")}
            line |= {"status": status or 500, "ms": round(1000 * (time.perf_counter() - started), 1)}
            self._log({**line, **({"error": failed} if failed else {})})


@contextmanager
def open_log(path: Path) -> Iterator[Log]:
    """Open a file to append lines to; ``-`` is standard error.

    Raises:
        InputError: the file cannot be opened.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "arena.log"
        >>> with open_log(file) as log:
        ...     log({"event": "request", "status": 200})
        >>> json.loads(file.read_text())["status"]
        200
    """
    try:
        stream = sys.stderr if str(path) == "-" else path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise cannot_write(error, path) from error
    lock = Lock()

    def write(fields: dict[str, Any]) -> None:
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **fields}, ensure_ascii=False)
        with lock:
            stream.write(f"{line}\n")

    try:
        yield write
    finally:
        if stream is not sys.stderr:
            stream.close()

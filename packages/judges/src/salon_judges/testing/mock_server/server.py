"""A scripted HTTP server with OpenAI's API, for tests."""

import asyncio
import base64
import json
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email import policy
from email.parser import BytesParser
from functools import cache
from io import BytesIO
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from PIL import Image

from salon_judges.testing.mock_server.faults import ServerFault
from salon_judges.testing.mock_server.rules import Asked
from salon_judges.testing.mock_server.script import Script, ScriptLine, ScriptState
from salon_judges.testing.mock_server.stats import Stats
from salon_taxonomy.errors import InputError

_TRICKLE_S = 0.02
_MOST_BODY_BYTES = 512 << 20
_CHARACTERS_PER_TOKEN = 4
_PROSE = "As an assistant I would say that the picture looks quite nice, all in all."
_DECLINED = "I'm sorry, but I can't help with that."


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request that was received.

    Attributes:
        path: without the query.
        headers: looked up without regard to case.
        body: the bytes.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Answer:
    """Status, body and headers of a reply."""

    status: int
    body: bytes
    content_type: str = "application/json"
    retry_after_s: float | None = None

    def response(self) -> web.Response:
        headers = {} if self.retry_after_s is None else {"Retry-After": f"{self.retry_after_s:g}"}
        return web.Response(body=self.body, status=self.status, headers=headers, content_type=self.content_type)


class MockServer:
    """Serves ``POST /v1/chat/completions``, ``POST /v1/images/edits``, ``POST /v1/images/generations``, ``GET /v1/models``
    and ``GET /stats``.

    The path may have any prefix. Edits and generations meet the script's faults and latencies as completions do.

    Args:
        script: what it does; by default it answers ``ok`` at once.
        host: the address to listen on.
        port: 0 takes a free one.
        model: the name that ``/v1/models`` gives.
        remember: how many of the last requests to keep in :attr:`seen`.
        edits: makes the new picture of an edit from the picture's file and the instruction; by default nothing changes.
        pictures: makes the picture of a generation from the prompt and the seed; by default a grey square.

    Example:
        >>> import aiohttp
        >>> async def main() -> str:
        ...     async with MockServer(Script(lines=(ScriptLine("yes"),))) as server, aiohttp.ClientSession() as session:
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
        pictures: Callable[[str, int], bytes] | None = None,
    ) -> None:
        self.stats = Stats()
        self.seen: deque[ReceivedRequest] = deque(maxlen=remember)
        self._state = ScriptState(script or Script())
        self._host = host
        self._port = port
        self._model = model
        self._edits = edits
        self._pictures = pictures
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """What clients take as their base URL: ``http://127.0.0.1:…/v1``."""
        return f"http://{self._host}:{self._port}/v1"

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            InputError: the address cannot be used.
        """
        app = web.Application(client_max_size=_MOST_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port, backlog=1024).start()
        except OSError as error:
            await self._runner.cleanup()
            address = f"{self._host}:{self._port}"
            raise InputError(f"cannot listen ({error.strerror})", value=address, hint="Take another --port, or 0.") from error
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop, and close every connection."""
        if self._runner is not None:
            await self._runner.cleanup()

    def use(self, script: Script) -> None:
        """Do what another script says from now on; the counts go on."""
        self._state = ScriptState(script)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        route = (request.method, request.path.rstrip("/").rsplit("/v1", 1)[-1])
        if route in {("POST", "/chat/completions"), ("POST", "/images/edits"), ("POST", "/images/generations")}:
            if (request.content_length or 0) > _MOST_BODY_BYTES:
                return _error(413, "the body is too large").response()
            seen = ReceivedRequest(request.path, request.headers, await request.read())
            self.seen.append(seen)
            return await self._complete(request, seen, route[1].removeprefix("/images/"))
        if route == ("GET", "/models"):
            return web.json_response({"object": "list", "data": [{"id": self._model, "object": "model", "owned_by": "mock"}]})
        if route == ("GET", "/stats"):
            return web.json_response(self.stats.document())
        return _error(
            404, "the mock server knows /v1/chat/completions, /v1/images/edits, /v1/images/generations, /v1/models and /stats"
        ).response()

    async def _complete(self, request: web.Request, seen: ReceivedRequest, what: str) -> web.StreamResponse:
        asked = Asked(seen.body)
        self.stats.arrived()
        line = self._state.line(asked, self.stats.in_flight)
        wait_s = self._state.wait_s()
        if line.fault is not None:
            self.stats.met(line.fault)
        try:
            if wait_s:
                await asyncio.sleep(wait_s)
            if line.fault == ServerFault.HANG:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stats.gave_up()
            raise
        self.stats.sent(asked, line)
        if line.fault is None and line.body is None and what in ("edits", "generations"):
            answer = self._edited(seen) if what == "edits" else self._generated(asked)
            return answer.response()
        answer = _answer_of(line, self._state.script.prompt_tokens, logprobs=asked.document.get("logprobs") is True)
        if line.fault in {ServerFault.CUT, ServerFault.CUT_REPLY, ServerFault.SLOW_LORIS}:
            return await _broken_off(request, answer, line.fault)
        return answer.response()

    def _edited(self, request: ReceivedRequest) -> _Answer:
        fields = read_form(request.headers.get("Content-Type", ""), request.body)
        if "image" not in fields or "prompt" not in fields:
            return _error(400, "an edit needs the form fields image and prompt")
        picture = fields["image"]
        if self._edits is not None:
            picture = self._edits(picture, fields["prompt"].decode("utf-8", "replace"))
        return _json({"created": 0, "data": [{"b64_json": base64.b64encode(picture).decode()}]})

    def _generated(self, asked: Asked) -> _Answer:
        prompt, seed = asked.document.get("prompt"), asked.document.get("seed", 0)
        if not isinstance(prompt, str) or not isinstance(seed, int):
            return _error(400, "a generation needs a prompt, and a seed that is a whole number")
        picture = _grey() if self._pictures is None else self._pictures(prompt, seed)
        return _json({"created": 0, "data": [{"b64_json": base64.b64encode(picture).decode()}]})


@cache
def _grey() -> bytes:
    stream = BytesIO()
    Image.new("RGB", (64, 64), "grey").save(stream, "PNG")
    return stream.getvalue()


def read_form(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return the fields of a ``multipart/form-data`` body by name; empty for any other body.

    Example:
        >>> body = b'--x\\r\\nContent-Disposition: form-data; name="prompt"\\r\\n\\r\\nAdd a star.\\r\\n--x--\\r\\n'
        >>> read_form("multipart/form-data; boundary=x", body)
        {'prompt': b'Add a star.'}
    """
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    fields: dict[str, bytes] = {}
    for part in BytesParser(policy=policy.HTTP).parsebytes(head + body).iter_parts():
        name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            fields[name] = content
    return fields


async def _broken_off(request: web.Request, answer: _Answer, fault: ServerFault) -> web.StreamResponse:
    """Close the connection before or within the reply, or send the reply byte by byte and never the last."""
    response = web.StreamResponse(status=answer.status, headers={"Content-Length": str(len(answer.body))})
    if fault != ServerFault.CUT:
        await response.prepare(request)
    if fault == ServerFault.CUT_REPLY:
        await response.write(answer.body[: len(answer.body) // 2])
    if fault == ServerFault.SLOW_LORIS:
        for byte in answer.body[:-1]:
            await response.write(bytes([byte]))
            await asyncio.sleep(_TRICKLE_S)
        await asyncio.Event().wait()
    if request.transport is not None:
        request.transport.close()
    return response


def _json(document: object, status: int = 200, retry_after_s: float | None = None) -> _Answer:
    return _Answer(status, json.dumps(document).encode(), retry_after_s=retry_after_s)


def _error(status: int, message: str, retry_after_s: float | None = None) -> _Answer:
    """Return an error in OpenAI's form."""
    return _json({"error": {"message": message, "type": "mock_error", "code": None}}, status, retry_after_s)


def _answer_of(line: ScriptLine, prompt_tokens: int, *, logprobs: bool) -> _Answer:
    """Return the reply to a request that got this line, before it is broken off."""
    if line.body is not None:
        return _Answer(line.status, line.body.encode("utf-8", "surrogatepass"), retry_after_s=line.retry_after_s)
    match line.fault:
        case ServerFault.TOO_MANY:
            return _error(429, "too many requests", line.retry_after_s)
        case ServerFault.UNAVAILABLE:
            return _error(503, "overloaded", line.retry_after_s)
        case ServerFault.SERVER_ERROR:
            return _error(500, "internal error")
        case ServerFault.WRONG_TYPE:
            return _Answer(200, b"<html><body>Welcome to the proxy</body></html>", "text/html")
    completion = _completion(line, prompt_tokens, logprobs=logprobs)
    if line.fault == ServerFault.TRUNCATED_JSON:
        return _Answer(200, completion.body[: len(completion.body) // 2])
    return completion


def _completion(line: ScriptLine, prompt_tokens: int, *, logprobs: bool) -> _Answer:
    """Return a chat completion with the line's text and tokens, altered by the line's fault."""
    text: str | None = line.text
    finish, refusal = line.finish, None
    if line.fault == ServerFault.EMPTY:
        text = ""
    elif line.fault == ServerFault.MALFORMED:
        text = _PROSE
    elif line.fault == ServerFault.REFUSAL:
        text, refusal = None, _DECLINED
    elif line.fault == ServerFault.LENGTH:
        text, finish = line.text[: len(line.text) // 2], "length"
    written = len(text or refusal or "") // _CHARACTERS_PER_TOKEN + 1
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text, "refusal": refusal}}
    choice["finish_reason"] = finish
    if logprobs and line.tokens:
        choice["logprobs"] = {"content": [_token(token) for token in line.tokens if token]}
    document = {
        "id": "chatcmpl-mock",
        "object": "chat.completion",
        "created": 0,
        "model": "mock",
        "choices": [choice],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": written, "total_tokens": prompt_tokens + written},
    }
    return _json(document)


def _token(probabilities: Mapping[str, float]) -> dict[str, Any]:
    """Return the entry of a token, the first of the alternatives."""
    pairs = [{"token": text, "logprob": math.log(probability)} for text, probability in probabilities.items()]
    return {**pairs[0], "top_logprobs": sorted(pairs, key=lambda pair: -float(str(pair["logprob"])))}


@contextmanager
def serving(script: Script | None = None, *, pictures: Callable[[str, int], bytes] | None = None) -> Iterator[MockServer]:
    """Yield a mock server in a thread of its own, for tests and programs that are not asynchronous themselves.

    Example:
        >>> with serving() as server:
        ...     server.url.startswith("http://127.0.0.1:")
        True
    """
    server = MockServer(script, pictures=pictures)
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

    thread = threading.Thread(target=run, name="salon-mock-server", daemon=True)
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

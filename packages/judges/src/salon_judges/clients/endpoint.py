"""One attempt: a request is sent, and whatever comes of it is a value."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from time import perf_counter

import aiohttp

from salon_judges.clients.chat_reply import Completion, NoCompletion, one_line, read_completion, read_error
from salon_judges.clients.pacing import Clock, Congestion
from salon_judges.clients.retry import CONGESTED_STATUSES, RETRIED_STATUSES, Attempt, retry_after_s
from salon_judges.clients.secrets import Secrets
from salon_judges.clients.settings import ChatSettings
from salon_taxonomy.protocols import Reply, Usage
from salon_taxonomy.records import CallStatus

_FINAL_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of errors with status 429 that no waiting mends."""
_LARGE = 1 << 16
"""Bodies of more bytes are read in a thread, so that other calls go on meanwhile."""
_KEEPALIVE_S = 60.0
_DNS_CACHE_S = 300


class Endpoint:
    """Sends requests to one URL over connections that stay open. Belongs to one event loop at a time.

    Redirects are not followed: a key must not go to where it was not meant to go.

    Args:
        settings: the judge's.
        secrets: the headers with keys.
        version: written to every reply.
        clock: for ``Retry-After`` dates.
        path: behind the base URL.
        content_type: of the bodies that are sent.
        read: reads the body of a reply with status 200.
    """

    def __init__(
        self,
        settings: ChatSettings,
        secrets: Secrets,
        version: str,
        clock: Clock,
        *,
        path: str = "/chat/completions",
        content_type: str = "application/json",
        read: Callable[[bytes], Completion | NoCompletion] = read_completion,
    ) -> None:
        self._url = f"{settings.base_url}{path}"
        self._read = read
        self._limits = settings.limits
        self._prices = settings.prices
        self._secrets = secrets
        self._version = version
        self._clock = clock
        self._headers = {
            **settings.headers,
            **secrets.headers,
            "Content-Type": content_type,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        self._session: aiohttp.ClientSession | None = None
        self._at_the_end: AsyncGenerator[None, None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._patience = aiohttp.ClientTimeout(total=self._limits.timeout_s)

    async def post(self, pieces: Sequence[bytes], timeout_s: float) -> Attempt:
        """Send one body and wait for its reply, at most so many seconds. Raises nothing but a cancellation."""
        return await self._exchange("POST", self._url, timeout_s, _Pieces(pieces))

    async def get(self, below: Sequence[bytes], timeout_s: float) -> Attempt:
        """Fetch what lies at a path below the URL, the path in pieces; otherwise as :meth:`post`."""
        return await self._exchange("GET", f"{self._url}/{b'/'.join(below).decode()}", timeout_s, None)

    async def _exchange(self, method: str, url: str, timeout_s: float, body: "_Pieces | None") -> Attempt:
        limits = self._limits
        patience = self._patience if timeout_s >= limits.timeout_s else aiohttp.ClientTimeout(total=timeout_s)
        began = perf_counter()
        try:
            session = await self._open_session()
            async with session.request(method, url, data=body, timeout=patience, allow_redirects=False) as response:
                content = await _read(response, limits.most_reply_bytes)
                latency = (perf_counter() - began) * 1000
                if content is not None and len(content) > _LARGE:
                    return await asyncio.to_thread(self._attempt, response, content, latency)
                return self._attempt(response, content, latency)
        except TimeoutError:
            return self._failed(CallStatus.TIMEOUT, f"no whole reply in {timeout_s:g} s", began)
        except (aiohttp.ClientError, OSError) as error:
            return self._failed(CallStatus.UNREACHABLE, _explained(error), began)

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        at_the_end, self._at_the_end = self._at_the_end, None
        if at_the_end is not None and self._loop is asyncio.get_running_loop():
            await at_the_end.aclose()

    async def _open_session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            connector = aiohttp.TCPConnector(
                limit=self._limits.concurrency, ttl_dns_cache=_DNS_CACHE_S, keepalive_timeout=_KEEPALIVE_S
            )
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            )
            self._loop = loop
            self._at_the_end = _closed_with_its_loop(self._session)
            await anext(self._at_the_end)
        return self._session

    def _attempt(self, response: aiohttp.ClientResponse, content: bytes | None, latency_ms: float) -> Attempt:
        status = response.status
        if content is None:
            most = self._limits.most_reply_bytes
            return self._refused(CallStatus.UNREACHABLE, f"the reply is longer than {most} bytes", status, latency_ms)
        if status == 200:
            return self._completed(content, latency_ms)
        if 300 <= status < 400:
            target = response.headers.get("Location", "nowhere")
            problem = f"HTTP {status}: redirects are not followed (to {target}); correct base_url"
            return self._refused(CallStatus.REJECTED, problem, status, latency_ms)
        error = read_error(content)
        retry = status in RETRIED_STATUSES and error.code not in _FINAL_CODES
        return self._refused(
            CallStatus.REJECTED,
            f"HTTP {status}: {error.problem}",
            status,
            latency_ms,
            retry=retry,
            congested=retry and status in CONGESTED_STATUSES,
            retry_after=retry_after_s(response.headers, self._clock.wall()),
        )

    def _completed(self, content: bytes, latency_ms: float) -> Attempt:
        completion = self._read(content)
        if isinstance(completion, NoCompletion):  # as broken as a broken connection; some gateways put an error's status here
            code = int(completion.code) if completion.code.isdecimal() and len(completion.code) == 3 else 200
            if code >= 400:
                problem, retry = f"HTTP 200 with error {code}: {completion.problem}", code in RETRIED_STATUSES
                congested = code in CONGESTED_STATUSES
                return self._refused(CallStatus.REJECTED, problem, 200, latency_ms, retry=retry, congested=congested)
            problem = f"HTTP 200, but {'' if completion.final else 'no chat completion: '}{completion.problem}"
            return self._refused(CallStatus.UNREACHABLE, problem, 200, latency_ms, retry=not completion.final)
        read, written = completion.prompt_tokens, completion.completion_tokens
        cost = None if self._prices is None else self._prices.cost_usd(read, written)
        text = self._secrets.hide(completion.text)
        reply = Reply(
            text,
            version=self._version,
            finish=completion.finish,
            latency_ms=latency_ms,
            usage=Usage(read, written, cost),
            tokens=completion.tokens if text == completion.text and not self._leaking(completion) else (),
            http_status=200,
        )
        return Attempt(reply, outcome=Congestion.ANSWERED)

    def _leaking(self, completion: Completion) -> bool:
        """Return whether tokens, one after the other or among the alternatives, contain a secret that the text does not."""
        alternatives = (text for token in completion.tokens for text, _ in token.alternatives)
        joined = "".join(token.text for token in completion.tokens)
        return bool(joined) and self._secrets.holds("\0".join((joined, *alternatives)))

    def _refused(
        self,
        status: CallStatus,
        problem: str,
        http_status: int,
        latency_ms: float,
        *,
        retry: bool = False,
        congested: bool = False,
        retry_after: float | None = None,
    ) -> Attempt:
        line = one_line(self._secrets.hide(problem))
        reply = Reply("", status, self._version, latency_ms=latency_ms, http_status=_recordable(http_status), error=line)
        return Attempt(reply, retry, Congestion.CONGESTED if congested else Congestion.UNKNOWN, retry_after)

    def _failed(self, status: CallStatus, problem: str, began: float) -> Attempt:
        """Return a failed attempt: no readable reply came back."""
        line = one_line(self._secrets.hide(problem))
        latency_ms = (perf_counter() - began) * 1000
        return Attempt(Reply("", status, self._version, latency_ms=latency_ms, error=line), retry=True)


class _Pieces(aiohttp.Payload):
    """A body in several pieces that are sent one after the other, without being joined in memory first."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(pieces, content_type="application/json")
        self._pieces = pieces
        self._size = sum(map(len, pieces))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._pieces).decode(encoding, errors)

    async def write(self, writer: aiohttp.abc.AbstractStreamWriter) -> None:
        for piece in self._pieces:
            await writer.write(piece)


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes | None:
    """Return the body; None when it is longer than ``most`` bytes, of which no more is read then."""
    length = response.content_length
    if length is not None and length <= most and "Content-Encoding" not in response.headers:
        return await response.read()
    chunks: list[bytes] = []
    size = 0
    while length is None or length <= most:
        chunk = await response.content.readany()
        if not chunk:
            return b"".join(chunks)
        size += len(chunk)
        if size > most:
            break
        chunks.append(chunk)
    response.close()
    return None


def _explained(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _recordable(status: int) -> int | None:
    """Return the status as ``judge_calls`` keeps it; None for a number that is no HTTP status."""
    return status if 100 <= status <= 599 else None


async def _closed_with_its_loop(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    """Close a session when its event loop ends: ``asyncio.run`` finishes the generators that were begun in it."""
    try:
        yield
    finally:
        await session.close()

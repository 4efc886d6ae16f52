"""One reward over HTTP: pictures and prompts in, scores out. JSON or multipart forms; pickles are refused unread.

POST /score, /   {"prompts": […], "images": [base64, …]}      {"scores": […], "unscored": […], "reward": "…"}
POST /compute    {"prompt": […], "image": [base64, …]}        {"rewards": […]}, as Flow-Factory's client asks
GET  /health     {"status": "ok", "reward": "…"}
GET  /metrics    counters in Prometheus' text format

request ── rows ──► queue ──► one batch of what waits, at most ``batch`` rows ──► reward ──► the rows' own requests
"""

import asyncio
import base64
import binascii
import hmac
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from traceback import format_exception_only
from typing import Any, Final

from aiohttp import web

from salon_rewards.adapters.pictures import UnscoredError, settled
from salon_rewards.callables.reward import RewardFunction, each_paid
from salon_rewards.group_mask import Paid
from salon_taxonomy.answers.strict_json import strict_json
from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.verdict import Unscored
from salon_taxonomy.visible_text import visible

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
"""Addresses that need no token."""

_IMAGES: Final = ("images", "image")
_PROMPTS: Final = ("prompts", "prompt")
_OTHERS: Final = ("completions", "columns", "metadata", "kwargs")
_UNSEEN: Final = ("video", "condition_images", "condition_videos", "audio")
_LONGEST_DETAIL: Final = 300
_RETRY_S: Final = "1"
_LONGEST_READ_S: Final = 300
"""A client that begins a body and does not send it holds room for no longer."""
_PICKLE: Final = b"\x80"
_PICKLE_HINT: Final = (
    "Pickles are never read, because reading one runs the code in it. Send JSON: "
    '{"prompts": ["…"], "images": ["base64 of a PNG or JPEG file"]}.'
)


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """How much a server takes.

    Attributes:
        body_bytes: of one request.
        pictures: rows of one request.
        waiting: rows of all requests that wait; more are answered with 503, unless nothing waits.
        held_bytes: of the bodies of all requests that are read or wait; more are answered with 503, unless nothing is held.
        batch: rows that the reward is given at once.
        concurrency: batches at work at once; above 1 only for rewards that may be called from several threads.
    """

    body_bytes: int = 64 << 20
    pictures: int = 256
    waiting: int = 4096
    held_bytes: int = 256 << 20
    batch: int = 64
    concurrency: int = 1

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise InputError("must be 1 or more, not", column=name, value=getattr(self, name))


@dataclass(frozen=True, slots=True)
class RequestRows:
    """The rows of one request: columns of equal length."""

    columns: Mapping[str, Sequence[Any]]
    count: int


class RewardServer:
    """The routes of one reward, and the queue in front of it.

    Args:
        reward: is called with the columns ``images`` (encoded bytes) and ``prompts``.
        token: that requests must bring as ``Authorization: Bearer``; None: none, for loopback.
        limits: how much is taken.
        on_unscored: what ``/score`` answers for a missing score: null (None), or as
            :mod:`salon_rewards.adapters.pictures` has it. ``/compute`` has no null: there None is an error.
    """

    def __init__(
        self,
        reward: RewardFunction,
        *,
        token: str | None = None,
        limits: ServingLimits | None = None,
        on_unscored: str | float | None = None,
    ) -> None:
        self._reward = reward
        self._token = token
        self._limits = limits or ServingLimits()
        self._on_unscored = on_unscored
        self._queue: asyncio.Queue[tuple[RequestRows, asyncio.Future[list[Paid]]]] = asyncio.Queue()
        self._waiting = 0
        self._held = 0
        self._requests: Counter[int] = Counter()
        self._unscored: Counter[str] = Counter()
        self._pictures = 0
        self._batches = 0
        self._seconds = 0.0

    def application(self) -> web.Application:
        """Return the server as an aiohttp application."""
        app = web.Application(client_max_size=self._limits.body_bytes, middlewares=[self._guard])
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
        for path, answer in (("/", self._score), ("/score", self._score), ("/compute", self._compute)):
            app.router.add_post(path, answer)
        app.cleanup_ctx.append(self._working)
        return app

    async def _working(self, app: web.Application) -> AsyncIterator[None]:
        workers = [asyncio.create_task(self._work()) for _ in range(self._limits.concurrency)]
        yield
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    # ------------------------------------------------------------------------------------------------------------- routes

    @web.middleware
    async def _guard(self, request: web.Request, handler: Callable[..., Any]) -> web.StreamResponse:
        """Refuse strangers and browsers, and answer every error as JSON."""
        try:
            if "Origin" in request.headers:
                response: web.StreamResponse = _error(403, "requests of web pages are refused")
            elif not self._known(request):
                response = _error(401, "needs the header Authorization: Bearer TOKEN")
            else:
                with self._holding(request):
                    response = await handler(request)
        except web.HTTPRequestEntityTooLarge:
            most = f"{self._limits.body_bytes:,} bytes"
            response = _error(413, f"a request has at most {most}", "Send fewer pictures at once, or raise --max-body-mb.")
        except web.RequestPayloadError:
            response = _error(400, f"the body is not as its header says: Content-Encoding: {_encoding(request)!r}")
            response.force_close()  # what is left of it cannot be passed over
        except web.HTTPException as error:
            response = _error(error.status, error.reason)
            response.headers.update({name: value for name, value in error.headers.items() if name == "Retry-After"})
        except InputError as error:
            response = _error(400, str(error))
        except SalonError as error:
            response = _error(502, str(error))
        self._requests[response.status] += 1
        return response

    @contextmanager
    def _holding(self, request: web.Request) -> Iterator[None]:
        """Count the body of a request from before it is read until it is answered.

        Raises:
            web.HTTPServiceUnavailable: the bodies at hand leave no room for it.
        """
        most = self._limits.body_bytes
        size = request.content_length if request.can_read_body and "Content-Encoding" not in request.headers else most
        size = min(most if size is None else size, most) if request.can_read_body else 0
        if self._held and self._held + size > self._limits.held_bytes:
            raise web.HTTPServiceUnavailable(reason="too many bytes wait; try again", headers={"Retry-After": _RETRY_S})
        self._held += size
        try:
            yield
        finally:
            self._held -= size

    def _known(self, request: web.Request) -> bool:
        if self._token is None:
            return True
        credentials = request.headers.get("Authorization", "")
        return hmac.compare_digest(credentials.encode("utf-8", "replace"), f"Bearer {self._token}".encode())

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "reward": self._reward.__name__, "waiting": self._waiting})

    async def _metrics(self, request: web.Request) -> web.Response:
        lines = [
            f'salon_reward_requests_total{{status="{status}"}} {count}' for status, count in sorted(self._requests.items())
        ]
        lines += [f'salon_reward_unscored_total{{reason="{name}"}} {count}' for name, count in sorted(self._unscored.items())]
        lines += [f"salon_reward_pictures_total {self._pictures}", f"salon_reward_batches_total {self._batches}"]
        lines += [f"salon_reward_seconds_total {self._seconds:.6f}", f"salon_reward_waiting {self._waiting}"]
        return web.Response(text="\n".join(lines) + "\n", content_type="text/plain")

    async def _score(self, request: web.Request) -> web.Response:
        rows = await self._rows(request)
        paid = await self._paid(rows)
        scores: list[float | None] = [None if isinstance(each, Unscored) else each for each in paid]
        if self._on_unscored is not None:
            scores = list(settled(paid, rows.columns["prompts"], self._on_unscored))
        why = [
            {"reason": each.reason.value, "detail": each.detail[:_LONGEST_DETAIL]} if isinstance(each, Unscored) else None
            for each in paid
        ]
        return web.json_response({"scores": scores, "unscored": why, "reward": self._reward.__name__})

    async def _compute(self, request: web.Request) -> web.Response:
        rows = await self._rows(request)
        paid = await self._paid(rows)
        policy = "raise" if self._on_unscored is None else self._on_unscored
        return web.json_response({"rewards": settled(paid, rows.columns["prompts"], policy)})

    # ------------------------------------------------------------------------------------------------------------ requests

    async def _rows(self, request: web.Request) -> RequestRows:
        """Read a request.

        Raises:
            InputError: it is neither JSON nor a form, or its content is wrong.
        """
        form = request.content_type == "multipart/form-data"
        try:
            async with asyncio.timeout(_LONGEST_READ_S):
                body = b"" if form else await request.read()
                fields = await _form(request) if form else {}
        except TimeoutError as error:
            raise web.HTTPRequestTimeout(reason=f"the body did not arrive within {_LONGEST_READ_S} s") from error
        if form:
            return _checked(fields, self._limits)
        if body[:1] == _PICKLE or request.content_type == "application/octet-stream":
            raise InputError("is neither JSON nor a multipart form", source="the request", hint=_PICKLE_HINT)
        try:
            document = strict_json(body.decode("utf-8-sig"))
        except ValueError as error:
            raise InputError(f"is no JSON ({str(error)[:80]})", source="the request", hint=_PICKLE_HINT) from error
        if not isinstance(document, dict):
            raise InputError("must be a JSON object, not", source="the request", value=type(document).__name__)
        return _checked(document, self._limits)

    async def _paid(self, rows: RequestRows) -> list[Paid]:
        if self._waiting and self._waiting + rows.count > self._limits.waiting:
            raise web.HTTPServiceUnavailable(
                reason=f"{self._waiting} pictures wait; try again", headers={"Retry-After": _RETRY_S}
            )
        answer: asyncio.Future[list[Paid]] = asyncio.get_running_loop().create_future()
        self._waiting += rows.count
        self._queue.put_nowait((rows, answer))
        try:
            return await answer
        finally:
            self._waiting -= rows.count

    # -------------------------------------------------------------------------------------------------------------- batches

    async def _work(self) -> None:
        """Take what waits, as long as the server runs."""
        held: tuple[RequestRows, asyncio.Future[list[Paid]]] | None = None
        while True:
            first = held or await self._queue.get()
            batch, held = [first], None
            while not self._queue.empty() and held is None:
                request = self._queue.get_nowait()
                fits = sum(rows.count for rows, _ in batch) + request[0].count <= self._limits.batch
                if fits and request[0].columns.keys() == first[0].columns.keys():
                    batch.append(request)
                else:
                    held = request
            await self._answer([(rows, answer) for rows, answer in batch if not answer.done()])

    async def _answer(self, waiting: Sequence[tuple[RequestRows, "asyncio.Future[list[Paid]]"]]) -> None:
        """Have one batch scored; where it fails, each request of it alone, so that none fails for another."""
        if not waiting:
            return
        columns = {name: [value for rows, _ in waiting for value in rows.columns[name]] for name in waiting[0][0].columns}
        completions = columns.pop("completions")
        began = perf_counter()
        [paid] = await asyncio.gather(self._scored(completions, columns), return_exceptions=True)
        self._seconds += perf_counter() - began
        if isinstance(paid, BaseException):
            if isinstance(paid, KeyboardInterrupt | SystemExit):  # a cancellation of this task is no result
                raise paid
            if len(waiting) > 1:
                for request in waiting:
                    await self._answer([request])
                return
            words = "".join(format_exception_only(paid)).strip()  # also of an exception whose own words raise
            waiting[0][1].set_exception(paid if isinstance(paid, SalonError) else UnscoredError(f"the reward failed: {words}"))
            return
        start = 0
        for rows, answer in waiting:
            mine, start = paid[start : start + rows.count], start + rows.count
            self._pictures += len(mine)
            self._unscored.update(each.reason.value for each in mine if isinstance(each, Unscored))
            if not answer.done():
                answer.set_result(mine)

    async def _scored(self, completions: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> list[Paid]:
        """Return what the rows earn, each for itself; a request of more rows than a batch is given in parts."""
        paid: list[Paid] = []
        for start in range(0, len(completions), self._limits.batch):
            part = slice(start, start + self._limits.batch)
            self._batches += 1
            paid += await each_paid(self._reward, completions[part], {name: of[part] for name, of in columns.items()})
        return paid


async def _form(request: web.Request) -> dict[str, Any]:
    """Return the fields of a multipart form: files ``image``, texts ``prompt``, in their order."""
    try:
        form = await request.post()
    except (ValueError, RuntimeError, LookupError, AssertionError) as error:
        raise InputError(f"is no multipart form ({error})", source="the request") from error
    unknown = sorted(form.keys() - {*_IMAGES, *_PROMPTS})
    if unknown:
        raise InputError("unknown field", source="the form", key=unknown[0], allowed=(*_IMAGES, *_PROMPTS))
    _refuse_both(form, "the form")
    images = [
        each.file.read() if isinstance(each, web.FileField) else each for name in _IMAGES for each in form.getall(name, [])
    ]
    prompts = [each for name in _PROMPTS for each in form.getall(name, [])]
    return {"prompts": prompts, **({"images": images} if images else {})}


def _checked(document: Mapping[str, Any], limits: ServingLimits) -> RequestRows:
    """Return the rows of a request.

    Raises:
        InputError: names the key and what is allowed.
    """
    unknown = sorted(document.keys() - {*_IMAGES, *_PROMPTS, *_OTHERS, *_UNSEEN})
    if unknown:
        raise InputError(
            "unknown key", source="the request", key=unknown[0], allowed=("prompts", "images", "completions", "columns")
        )
    _refuse_both(document, "the request")
    for name in _UNSEEN:
        if document.get(name):
            raise InputError("is not looked at by this server", source="the request", key=name)
    prompts = _list(document, _PROMPTS, None)
    count = len(prompts)
    if not 1 <= count <= limits.pictures:
        hint = "Send several requests, or raise --max-pictures."
        raise InputError(f"must be 1 to {limits.pictures}, not", source="the request", key="prompts", value=count, hint=hint)
    for row, prompt in enumerate(prompts, start=1):
        if not isinstance(prompt, str):
            raise InputError("must be a text, not", source="the request", key="prompts", row=row, value=type(prompt).__name__)
    columns: dict[str, Sequence[Any]] = {}
    extra = document.get("columns") or {}
    if not isinstance(extra, Mapping):
        raise InputError("must be an object of lists, not", source="the request", key="columns", value=type(extra).__name__)
    for name in extra:
        if name in ("images", "prompts", "completions"):
            raise InputError("has a key of its own outside of columns", source="the request", key=f"columns.{name}")
        columns[name] = _list(extra, (name,), count)
    columns["prompts"] = prompts
    if any(document.get(name) is not None for name in _IMAGES):
        columns["images"] = [_picture(each, row) for row, each in enumerate(_list(document, _IMAGES, count), start=1)]
    columns["completions"] = (
        _list(document, ("completions",), count) if document.get("completions") is not None else [""] * count
    )
    return RequestRows(columns, count)


def _refuse_both(document: Mapping[str, Any], source: str) -> None:
    """Refuse two names of one thing, of which one would not be read."""
    for several, one in (_IMAGES, _PROMPTS):
        if document.get(several) is not None and document.get(one) is not None:
            raise InputError(f"is given beside {one!r}; send one of them:", source=source, key=several)


def _list(document: Mapping[str, Any], names: Sequence[str], count: int | None) -> list[Any]:
    name = next((each for each in names if document.get(each) is not None), names[0])
    values = document.get(name)
    if not isinstance(values, list):
        shown = "nothing" if values is None else type(values).__name__
        raise InputError("must be a list, not", source="the request", key=name, value=shown)
    if count is not None and len(values) != count:
        problem = f"must hold {count} values, one for each prompt, not"
        raise InputError(problem, source="the request", key=name, value=len(values))
    return values


def _picture(picture: object, row: int) -> bytes:
    """Return the bytes of a picture; a text is base64, never a path."""
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, str):
        head, comma, rest = picture.partition(",")
        text = rest if comma and head.startswith("data:") else picture
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
    problem = "must be a file's bytes as base64, not"
    raise InputError(problem, source="the request", key="images", row=row, value=type(picture).__name__)


def _encoding(request: web.Request) -> str:
    return visible(request.headers.get("Content-Encoding", "identity"))


def _error(status: int, problem: str, hint: str | None = None) -> web.Response:
    return web.json_response({"error": f"{problem}\n{hint}" if hint else problem}, status=status)

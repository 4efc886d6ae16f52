"""One reward over HTTP: pictures or videos and prompts in, scores out. JSON or multipart forms; pickles are refused unread.

POST /score, /   {"prompts": […], "images": [base64, …]}      {"scores": […], "unscored": […], "reward": "…"}
                 "videos" in place of "images": files as base64, or lists of frames; beside them "sources", "references",
                 "masks", "first_frames"
POST /compute    {"prompt": […], "image": [base64, …]}        {"rewards": […]}, as Flow-Factory's client asks
GET  /health     {"status": "ok", "reward": "…", "takes": […]}
GET  /metrics    counters in Prometheus' text format

request ── rows ──► queue ──► one batch of what waits, at most ``batch`` rows ──► reward ──► the rows' own requests

A reward that compares rows with each other (its attribute ``compares``) is given each request whole and alone.
"""

import asyncio
import base64
import binascii
import hmac
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from traceback import format_exception_only
from typing import Any, Final

from aiohttp import web

from salon_judges.media.video_container import container_of
from salon_judges.media.video_policy import VideoLimits
from salon_rewards.adapters.pictures import UnscoredError, settled
from salon_rewards.callables.reward import RewardFunction, each_paid
from salon_rewards.callables.scorer import VIDEOS
from salon_rewards.group_mask import Paid
from salon_rewards.pictures import MOST_FRAMES, video
from salon_taxonomy.answers.strict_json import strict_json
from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.media_files import bad_media
from salon_taxonomy.picture_decoding import DEFAULT_LIMITS, SourceLimits, head_problem
from salon_taxonomy.scorers import BESIDE, IMAGES, SEVERAL
from salon_taxonomy.verdict import Unscored
from salon_taxonomy.visible_text import visible

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
"""Addresses that need no token."""

_IMAGES: Final = (IMAGES, "image")
_VIDEOS: Final = (VIDEOS, "video")
_PROMPTS: Final = ("prompts", "prompt")
_BESIDE: Final[Mapping[str, Sequence[str]]] = {name: (name, name.removesuffix("s")) for name in BESIDE}
_CONDITIONS: Final = ("condition_images", "condition_videos")
"""Flow-Factory's names of sources. Its client sends all that a sample has, so they are passed over where none is wanted."""
_MAY_BE_VIDEOS: Final = (*SEVERAL, *_CONDITIONS)
_DECODED: Final = (*_VIDEOS, *_CONDITIONS, *(name for column in SEVERAL for name in _BESIDE[column]))
"""The keys whose files may be videos."""
_OWN: Final = (*_IMAGES, *_VIDEOS, *_PROMPTS, *(name for names in _BESIDE.values() for name in names), *_CONDITIONS)
_OTHERS: Final = ("completions", "columns", "metadata", "kwargs")
_UNSEEN: Final = ("audio",)
_SERVED_VIDEOS: Final = VideoLimits(64 << 20, 4096 * 2160, 60.0, 3_600)
"""Of one video file in a request: 64 MiB, 4096 × 2160 pixels, a minute, 3,600 coded frames."""
_PIXELS_OF_A_LIST: Final = 128_000_000
"""Width × height of all pictures of one list together: 128 frames of a million pixels."""
_MOST_VALUES: Final = 2_000_000
"""Brackets and commas of the JSON of one request, those within texts included."""
_MOST_DECODED: Final = 1 << 30
"""Bytes of the frames of all video files of one request."""
_DECODING: Final = 2
"""Requests whose videos are decoded at once."""
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
        frames: of one video, and pictures of one list of sources.
        waiting: rows of all requests that wait; more are answered with 503, unless nothing waits.
        held_bytes: of the bodies of all requests that are read or wait; more are answered with 503, unless nothing is held.
            While the frames of videos that wait take as many, no further video is decoded.
        batch: rows that the reward is given at once.
        concurrency: batches at work at once; above 1 only for rewards that may be called from several threads.
    """

    body_bytes: int = 64 << 20
    pictures: int = 256
    frames: int = MOST_FRAMES
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
    film_bytes: int = 0
    """Of the frames that were decoded of video files."""


class RewardServer:
    """The routes of one reward, and the queue in front of it.

    Args:
        reward: is called with the columns ``images`` (encoded bytes) or ``videos`` (lists of them, or ``Media`` with a film),
            ``prompts``, and those of :data:`~salon_taxonomy.scorers.BESIDE`. Its attribute ``takes`` says which of them.
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
        self._compares = bool(getattr(reward, "compares", False))
        self._queue: asyncio.Queue[tuple[RequestRows, asyncio.Future[list[Paid]]]] = asyncio.Queue()
        self._decoding = asyncio.Semaphore(_DECODING)
        self._drained = asyncio.Condition()
        self._waiting = 0
        self._held = 0
        self._film_bytes = 0
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
        takes = getattr(self._reward, "takes", None)
        return web.json_response({"status": "ok", "reward": self._reward.__name__, "takes": takes, "waiting": self._waiting})

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
        except ConnectionError as error:  # the client is gone; the request is counted
            raise web.HTTPBadRequest(reason="the client ended the connection") from error
        if form:
            return await self._checked(fields)
        if body[:1] == _PICKLE or request.content_type == "application/octet-stream":
            raise InputError("is neither JSON nor a multipart form", source="the request", hint=_PICKLE_HINT)
        values = sum(map(body.count, (b"[", b"{", b",")))
        if values > _MOST_VALUES:  # small values take far more memory than their text
            hint = "Send fewer rows at once."
            raise InputError(f"has more than {_MOST_VALUES:,} values:", source="the request", value=values, hint=hint)
        try:
            document = await asyncio.to_thread(lambda: strict_json(body.decode("utf-8-sig")))
        except ValueError as error:
            raise InputError(f"is no JSON ({str(error)[:80]})", source="the request", hint=_PICKLE_HINT) from error
        if not isinstance(document, dict):
            raise InputError("must be a JSON object, not", source="the request", value=type(document).__name__)
        return await self._checked(document)

    async def _checked(self, document: Mapping[str, Any]) -> RequestRows:
        """Return the rows of a request; media are read in a thread, the videos of few requests at once."""
        read = partial(_checked, document, self._limits, self._reward)
        if not any(document.get(name) for name in _DECODED):
            return await asyncio.to_thread(read)
        async with self._decoding:
            async with self._drained:
                await self._drained.wait_for(lambda: self._film_bytes < self._limits.held_bytes)
            return await asyncio.to_thread(read)

    async def _paid(self, rows: RequestRows) -> list[Paid]:
        if self._waiting and self._waiting + rows.count > self._limits.waiting:
            raise web.HTTPServiceUnavailable(
                reason=f"{self._waiting} pictures wait; try again", headers={"Retry-After": _RETRY_S}
            )
        answer: asyncio.Future[list[Paid]] = asyncio.get_running_loop().create_future()
        self._waiting += rows.count
        self._film_bytes += rows.film_bytes
        self._queue.put_nowait((rows, answer))
        try:
            return await answer
        finally:
            self._waiting -= rows.count
            self._film_bytes -= rows.film_bytes
            async with self._drained:
                self._drained.notify_all()

    # -------------------------------------------------------------------------------------------------------------- batches

    async def _work(self) -> None:
        """Take what waits, as long as the server runs."""
        held: tuple[RequestRows, asyncio.Future[list[Paid]]] | None = None
        while True:
            first = held or await self._queue.get()
            batch, held = [first], None
            while not self._queue.empty() and held is None and not self._compares:
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
        at_once = len(completions) if self._compares else self._limits.batch
        for start in range(0, len(completions), at_once):
            part = slice(start, start + at_once)
            self._batches += 1
            paid += await each_paid(self._reward, completions[part], {name: of[part] for name, of in columns.items()})
        return paid


async def _form(request: web.Request) -> dict[str, Any]:
    """Return the fields of a multipart form: files ``image`` or ``video``, texts ``prompt``, in their order."""
    try:
        form = await request.post()
    except (ValueError, RuntimeError, LookupError, AssertionError) as error:
        raise InputError(f"is no multipart form ({error})", source="the request") from error
    allowed = (*_IMAGES, *_VIDEOS, *_PROMPTS)
    unknown = sorted(form.keys() - set(allowed))
    if unknown:
        raise InputError("unknown field", source="the form", key=unknown[0], allowed=allowed)
    _refuse_both(form, "the form")
    fields: dict[str, Any] = {}
    for names in (_IMAGES, _VIDEOS, _PROMPTS):
        values = [each for name in names for each in form.getall(name, [])]
        if values:
            fields[names[0]] = [each.file.read() if isinstance(each, web.FileField) else each for each in values]
    return {"prompts": [], **fields}


def _checked(document: Mapping[str, Any], limits: ServingLimits, reward: RewardFunction) -> RequestRows:
    """Return the rows of a request, with the frames of its videos.

    Raises:
        InputError: names the key and what is allowed.
    """
    unknown = sorted(document.keys() - {*_OWN, *_OTHERS, *_UNSEEN})
    if unknown:
        allowed = ("prompts", IMAGES, VIDEOS, *BESIDE, "completions", "columns")
        raise InputError("unknown key", source="the request", key=unknown[0], allowed=allowed)
    _refuse_both(document, "the request")
    takes: Sequence[str] | None = getattr(reward, "takes", None)
    for names in (_UNSEEN, _IMAGES, _VIDEOS, *_BESIDE.values()):
        for name in names:
            if document.get(name) and (name in _UNSEEN or (takes is not None and names[0] not in takes)):
                raise InputError("is not looked at by this server", source="the request", key=name, allowed=takes)
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
        if name in (IMAGES, VIDEOS, *BESIDE, "prompts", "completions"):
            raise InputError("has a key of its own outside of columns", source="the request", key=f"columns.{name}")
        columns[name] = _list(extra, (name,), count)
    columns["prompts"] = prompts
    if _named(document, _IMAGES):
        columns[IMAGES] = [_picture(each, row) for row, each in enumerate(_list(document, _IMAGES, count), start=1)]
    files = _Files(limits, float(getattr(getattr(reward, "scorer", None), "frames_per_second", 5.0)))
    if _named(document, _VIDEOS):
        columns[VIDEOS] = [files.video(each, row, VIDEOS) for row, each in enumerate(_list(document, _VIDEOS, count), start=1)]
    for column, names in _BESIDE.items():
        if _named(document, names):
            columns[column] = [
                files.listed(each, row, column) for row, each in enumerate(_list(document, names, count), start=1)
            ]
    conditions = [name for name in _CONDITIONS if document.get(name) is not None]
    if conditions and (takes is None or "sources" in takes):
        if "sources" in columns:
            raise InputError(f"is given beside {conditions[0]!r}; send one of them:", source="the request", key="sources")
        lists = [
            [files.listed(each, row, name) for row, each in enumerate(_list(document, (name,), count), start=1)]
            for name in conditions
        ]
        columns["sources"] = [[item for each in row for item in each] for row in zip(*lists, strict=True)]
    columns["completions"] = (
        _list(document, ("completions",), count) if document.get("completions") is not None else [""] * count
    )
    return RequestRows(columns, count, files.film_bytes)


def _refuse_both(document: Mapping[str, Any], source: str) -> None:
    """Refuse two names of one thing, of which one would not be read."""
    for names in (_PROMPTS, (*_IMAGES, *_VIDEOS), *_BESIDE.values()):
        there = [name for name in names if document.get(name) is not None]
        if len(there) > 1:
            raise InputError(f"is given beside {there[1]!r}; send one of them:", source=source, key=there[0])


def _named(document: Mapping[str, Any], names: Sequence[str]) -> bool:
    return any(document.get(name) is not None for name in names)


@dataclass(slots=True)
class _Files:
    """Reads the videos and the lists of pictures of a request.

    Attributes:
        limits: how many frames, or pictures of a list, there may be.
        frames_per_second: how densely video files are sampled.
        film_bytes: of the frames of all video files so far.
    """

    limits: ServingLimits
    frames_per_second: float
    film_bytes: int = 0

    def video(self, value: object, row: int, key: str) -> Any:
        """Return a list of encoded frames, ``Media`` with a film, or ``Unscored`` for a file that is no video or too large."""
        if isinstance(value, list):
            return self._pictures(value, row, key)
        return self._film(_picture(value, row, key), self.limits.frames, row, key)

    def _film(self, data: bytes, most: int, row: int, key: str) -> Any:
        rate = self.frames_per_second
        media = video(data, frames_per_second=rate, most_frames=most, limits=_SERVED_VIDEOS, row=row, column=key)
        self.film_bytes += 0 if isinstance(media, Unscored) else sum(len(each.image.data or b"") for each in media.film.frames)
        if self.film_bytes > _MOST_DECODED:
            hint = "Send fewer videos at once."
            problem = f"the frames of a request's video files have at most {_MOST_DECODED:,} bytes, up to here"
            raise InputError(problem, source="the request", key=key, row=row, value=self.film_bytes, hint=hint)
        return media

    def listed(self, value: object, row: int, key: str) -> list[Any]:
        """Return the sources, or another role, of one row: pictures and videos in their order, or nothing for null.

        Video files share the frames that one video may have.
        """
        values = value if isinstance(value, list) else [] if value is None else [value]
        self._count(values, row, key)
        files = [None if isinstance(each, list) else _picture(each, row, key) for each in values]
        films = [key in _MAY_BE_VIDEOS and each is not None and container_of(each) is not None for each in files]
        pictures = self._sound([each for each, film in zip(files, films, strict=True) if each is not None and not film])
        if isinstance(pictures, Unscored):
            return [pictures]
        most = max(1, self.limits.frames // max(1, sum(films)))
        return [
            self._pictures(one, row, key)
            if isinstance(one, list)
            else self._film(data, most, row, key)
            if film and data is not None
            else data
            for one, data, film in zip(values, files, films, strict=True)
        ]

    def _pictures(self, values: list[Any], row: int, key: str) -> list[bytes] | Unscored:
        """Return the bytes of pictures that are decoded together; ``Unscored`` where one has too many pixels for that."""
        self._count(values, row, key)
        return self._sound([_picture(each, row, key) for each in values])

    def _sound(self, pictures: list[bytes]) -> list[bytes] | Unscored:
        most = SourceLimits(most_pixels=min(DEFAULT_LIMITS.most_pixels, _PIXELS_OF_A_LIST // max(1, len(pictures))))
        problems = (head_problem(each, most) for each in pictures)
        wrong = next(((number, problem) for number, problem in enumerate(problems, start=1) if problem), None)
        return pictures if wrong is None else bad_media(f"picture {wrong[0]} of {len(pictures)}: {wrong[1]}")

    def _count(self, values: list[Any], row: int, key: str) -> None:
        if len(values) > self.limits.frames:
            problem = f"must be at most {self.limits.frames} frames or pictures, not"
            hint = "Send fewer frames, or raise --max-frames."
            raise InputError(problem, source="the request", key=key, row=row, value=len(values), hint=hint)


def _list(document: Mapping[str, Any], names: Sequence[str], count: int | None) -> list[Any]:
    name = next((each for each in names if document.get(each) is not None), names[0])
    values = document.get(name)
    if not isinstance(values, list):
        kind = "nothing" if values is None else type(values).__name__
        raise InputError("must be a list, not", source="the request", key=name, value=kind)
    if count is not None and len(values) != count:
        problem = f"must hold {count} values, one for each prompt, not"
        raise InputError(problem, source="the request", key=name, value=len(values))
    return values


def _picture(picture: object, row: int, key: str = IMAGES) -> bytes:
    """Return the bytes of a file; a text is base64, never a path."""
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, str):
        head, comma, rest = picture.partition(",")
        text = rest if comma and head.startswith("data:") else picture
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            hint = "Send the file's bytes; a path or an address is not opened."
            problem = "must be a file's bytes as base64; this text is not base64"
            raise InputError(problem, source="the request", key=key, row=row, hint=hint) from None
    problem = "must be a file's bytes as base64, not"
    raise InputError(problem, source="the request", key=key, row=row, value=type(picture).__name__)


def _encoding(request: web.Request) -> str:
    return visible(request.headers.get("Content-Encoding", "identity"))


def _error(status: int, problem: str, hint: str | None = None) -> web.Response:
    return web.json_response({"error": f"{problem}\n{hint}" if hint else problem}, status=status)

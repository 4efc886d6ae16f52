"""The arena over HTTP: routes, sessions, and the headers that keep pages closed.

    GET  /                  the work page, or the one to join on      POST /session    joins, or comes back; sets the cookie
    GET  /board[.json]      the live board, ?scenario=…               POST /tasks      the current task and three ahead
    GET  /board/mine        the rater's own board                     POST /answers    one answer, or the undoing of one
    GET  /media/<task>/<n>  one anonymous file                        GET /healthz, /metrics
    GET  /media/<task>/frames   when each frame of its videos is shown
    GET  /models/<task>     the models of a settled battle           POST /session/end   signs out
    GET  /login             sign-in, where people have accounts   POST /login, /oidc/finish
    GET  /admin             progress and people, for admins   POST /admin/actions   suspend, certify again, forget, invite

Nothing changes on GET: leasing tasks is a POST. Every POST needs JSON, the page's own origin and, but for ``/session``, the
session's cookie and its CSRF token.
"""

import asyncio
import hashlib
import hmac
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from importlib.resources import files
from typing import Final, TypeVar
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from jinja2 import Environment, PackageLoader
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from salon_arena.admin import Action, act, admin_view, is_admin
from salon_arena.board import Board, LiveBoard
from salon_arena.errors import RefusedError
from salon_arena.limits import Limits, network_of
from salon_arena.log import Log, Requests
from salon_arena.people import LONGEST_LIFE, OCCUPATIONS
from salon_arena.publishing import PublishedBoard
from salon_arena.quality import LiveChecks
from salon_arena.service import AnswerBody, WorkService
from salon_arena.signin import Oidc, Passwords, plain_name
from salon_arena.tasks import instant
from salon_taxonomy.errors import StorageError
from salon_taxonomy.visible_text import visible

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_LOGGER: Final = logging.getLogger(__name__)
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "private, no-store",
}
LOOPBACK: Final = ("127.0.0.1", "localhost")
_TASK_NAME: Final = re.compile("[A-Za-z0-9_-]{1,64}")
_MOST_BODY: Final = 1 << 17
"""Bytes; the longest answers that pages allow, in scripts of three bytes per letter, take half of it."""
_REQUESTS_AT_ONCE: Final = 60
_ANSWERS_AT_ONCE: Final = 12
"""The four tasks that a page holds, each answered, undone and answered again: what a page that was offline sends together."""
_MOST_REMEMBERED: Final = 100_000
_SIGN_INS_AT_ONCE: Final = 20
_SIGN_IN_THREADS: Final = 4
"""Sign-ins at work at once: a password's hash takes 64 MiB, a provider may be silent, and votes need the other threads."""
_SIGN_INS_WAITING: Final = 40
_OIDC_LIFE: Final = 600
_SETTLE_EVERY: Final = 1.0
_CHECK_EVERY: Final = 60.0
_PUBLISH_EVERY: Final = 5.0
_RETRY_AFTER: Final = "1"
_LAST_PART: Final = 1024
"""Bytes of a file that are sent once it is noted that the others were."""
_STATIC_TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


def create_app(
    service: WorkService,
    *,
    beside: LiveBoard | None = None,
    hosts: Sequence[str] = LOOPBACK,
    secure: bool = False,
    joins_per_hour: int = 120,
    answers_per_second: float = 2.0,
    passwords: Passwords | None = None,
    oidc: Oidc | None = None,
    log: Log | None = None,
    proxies: Sequence[str] = (),
) -> Starlette:
    """Make the arena's ASGI application.

    Args:
        service: what raters may do.
        beside: the board of another arena, shown beside this one's as it publishes it: of experts beside the public.
        hosts: names under which the arena may be reached; requests to others are refused with 400.
        secure: pages are reached over HTTPS: the cookie is called ``__Host-salon`` and sent over HTTPS alone.
        answers_per_second: how many one rater may send for ever; 12 may come at once, 60 with those sent again and requests
            for tasks.
        joins_per_hour: how many raters may join from one network (/24, /48).
        passwords: people sign in with a name and a password; joining without is refused.
        oidc: people sign in through OpenID Connect; joining without is refused.
        log: takes the fields of a line per request, and of one when the database refuses (:mod:`salon_arena.log`).
        proxies: addresses or networks of proxies. A request from one of them is from the last address in its
            ``X-Forwarded-For`` that is none of them; from elsewhere that header is ignored.
    """
    board = service.task.board
    published = None if board is None else PublishedBoard(board, hidden=not service.reveal)
    other = None if beside is None else PublishedBoard(beside, hidden=None)
    routes = _Routes(service, published, other, secure, joins_per_hour, answers_per_second, passwords, oidc)
    checks = None if board is None else LiveChecks(service.database, board.refresh)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_forever(_SETTLE_EVERY, lambda: _done(service.settle_due())))]
        if checks is not None:
            tasks.append(asyncio.create_task(_forever(_CHECK_EVERY, lambda: run_in_threadpool(checks.run))))
        if published is not None:
            tasks.append(asyncio.create_task(_forever(_PUBLISH_EVERY, lambda: _published(published, service))))
        if beside is not None:
            tasks.append(asyncio.create_task(_forever(_CHECK_EVERY, lambda: run_in_threadpool(beside.refresh))))
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    return Starlette(
        routes=[
            Route("/", routes.page),
            Route("/board", routes.board_page),
            Route("/board/mine", routes.own_board_page),
            Route("/board.json", routes.board),
            Route("/static/{name}", routes.static),
            Route("/favicon.ico", routes.no_icon),
            Route("/media/{task}/frames", routes.frames),
            Route("/media/{task}/{place}", routes.media),
            Route("/models/{task}", routes.models),
            Route("/login", routes.login_page),
            Route("/login", routes.login, methods=["POST"]),
            Route("/oidc/start", routes.oidc_start),
            Route("/oidc/callback", routes.oidc_callback),
            Route("/oidc/finish", routes.oidc_finish, methods=["POST"]),
            Route("/admin", routes.admin),
            Route("/admin/actions", routes.admin_action, methods=["POST"]),
            Route("/healthz", routes.health),
            Route("/metrics", routes.metrics),
            Route("/session", routes.session, methods=["POST"]),
            Route("/session/end", routes.leave, methods=["POST"]),
            Route("/tasks", routes.tasks, methods=["POST"]),
            Route("/answers", routes.answer, methods=["POST"]),
        ],
        middleware=[
            *([Middleware(ProxyHeadersMiddleware, trusted_hosts=list(proxies))] if proxies else []),
            *([] if log is None else [Middleware(Requests, log=log)]),
            Middleware(_Headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
        ],
        exception_handlers={RefusedError: _refused, StorageError: _unavailable(log), Exception: _failed},
        lifespan=lifespan,
    )


async def _forever(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        with suppress(StorageError):  # tried again the next time
            await work()


async def _published(board: PublishedBoard, service: WorkService) -> None:
    await run_in_threadpool(board.publish, service.clock())


async def _done(future: "Future[T]") -> T:
    return await asyncio.wrap_future(future)


async def _refused(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": error.code}, error.status) if isinstance(error, RefusedError) else await _failed(_, error)


def _unavailable(log: Log | None) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers when the database refuses: 503, and a line for the operator."""

    async def answer(_: Request, error: Exception) -> Response:
        if log is None:
            _LOGGER.error("%s", error)
        else:
            log({"event": "storage", "problem": str(error)})
        return JSONResponse({"error": "storage"}, 503, {"Retry-After": _RETRY_AFTER})

    return answer


async def _failed(_: Request, error: Exception) -> Response:
    """Return a defect of the arena; sent from outside the middleware that adds the headers."""
    return JSONResponse({"error": "internal"}, 500, HEADERS)


class JoinBody(BaseModel):
    """What the page sends to join.

    Attributes:
        consent: the version of the text that was agreed to; None: the rater only comes back.
        invite: the code of an invite.
        occupation: one of the questionnaire's groups; None: not said.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    consent: str | None = Field(default=None, max_length=64)
    invite: str | None = Field(default=None, max_length=64)
    occupation: str | None = None


class LoginBody(BaseModel):
    """What the sign-in page sends."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200)
    password: str = Field(min_length=1, max_length=1000)


class OidcBody(BaseModel):
    """What the page sends when the provider sent a person back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str = Field(min_length=1)
    state: str = Field(min_length=1)
    invite: str | None = Field(default=None, max_length=64)


_KEPT: Final = ("state", "nonce", "verifier")


class _Routes:
    """One method per route."""

    def __init__(
        self,
        service: WorkService,
        published: PublishedBoard | None,
        beside: PublishedBoard | None,
        secure: bool,
        joins_per_hour: int,
        answers_per_second: float,
        passwords: Passwords | None,
        oidc: Oidc | None,
    ) -> None:
        self._passwords = passwords
        self._oidc = oidc
        self._sign_ins = Limits(_SIGN_INS_AT_ONCE, _SIGN_INS_AT_ONCE / 3600)
        self._signing_in, self._waiting = CapacityLimiter(_SIGN_IN_THREADS), 0
        self._service = service
        self._published = published
        self._beside = beside
        self._secure = secure
        self._cookie = "__Host-salon" if secure else "salon"
        self._requests = Limits(_REQUESTS_AT_ONCE, answers_per_second)
        self._answers = Limits(_ANSWERS_AT_ONCE, answers_per_second)
        self._sent: dict[str, UUID] = {}
        self._joins = Limits(joins_per_hour, joins_per_hour / 3600)
        self._counts: Counter[str] = Counter()

    # Pages

    async def page(self, request: Request) -> Response:
        rater = await self._rater_or_none(request)
        if rater is not None and await run_in_threadpool(
            self._service.database.read, lambda connection: is_admin(connection, rater)
        ):
            return RedirectResponse("/admin", 303)
        plan = {"public_plan": self._service.public_plan}
        if rater is not None:
            options = {"accounts": self._accounts, "sound": self._service.sound, **plan}
            return HTMLResponse(_template(self._service.task.page, leave=True, **options))
        if self._accounts and await self._returning(request) is None:
            return RedirectResponse("/login", 303)
        people = self._service.people
        words = {"consent": people.consent.split("\n"), "version": people.consent_version, "occupations": OCCUPATIONS}
        invited = people.invited and not self._accounts
        return HTMLResponse(_template("join.html.jinja", **words, **plan, invited=invited))

    async def board_page(self, request: Request) -> Response:
        if self._published is None:
            return HTMLResponse(_template("no_board.html.jinja"), 404)
        scenario = request.query_params.get("scenario") or None
        ranked, scenarios = await run_in_threadpool(self._ranked, scenario, await self._board(request))
        beside = None if self._beside is None else await run_in_threadpool(self._beside.ranked, scenario)
        words = {"mode": self._service.database.mode, "scenario": scenario, "scenarios": scenarios, "title": "Board"}
        page = await run_in_threadpool(lambda: _template("board.html.jinja", board=ranked, beside=beside, **words))
        return HTMLResponse(page)

    async def own_board_page(self, request: Request) -> Response:
        rater = await self._rater(request)
        own = await run_in_threadpool(self._published_board().personal, rater)
        words: dict[str, object] = {"mode": "", "scenario": None, "scenarios": [], "title": "Your own board"}
        return HTMLResponse(await run_in_threadpool(lambda: _template("board.html.jinja", board=own, **words)))

    async def board(self, request: Request) -> Response:
        scenario = request.query_params.get("scenario") or None
        ranked, _ = await run_in_threadpool(self._ranked, scenario, await self._board(request))
        words = {"votes": ranked.votes, "left_out": ranked.left_out, "reason": ranked.reason, "models": ranked.rows}
        return JSONResponse(words)

    def _published_board(self) -> PublishedBoard:
        if self._published is None:
            raise RefusedError(404, "no_board")
        return self._published

    async def _board(self, request: Request) -> LiveBoard | PublishedBoard:
        """Return the live board for admins, the published one for everybody else."""
        published, live = self._published_board(), self._service.task.board
        return live if live is not None and await self._admin_or_none(request) is not None else published

    @staticmethod
    def _ranked(scenario: str | None, board: LiveBoard | PublishedBoard) -> tuple[Board, list[str]]:
        scenarios = board.scenarios()
        if scenario is not None and scenario not in scenarios:
            raise RefusedError(404, "unknown_scenario")
        return board.ranked(scenario), scenarios

    async def _admin_or_none(self, request: Request) -> str | None:
        rater = await self._rater_or_none(request)
        if rater is None:
            return None
        known = await run_in_threadpool(self._service.database.read, lambda connection: is_admin(connection, rater))
        return rater if known else None

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        content = _static_files().get(name)
        if content is None:
            raise RefusedError(404, "unknown_file")
        return Response(content, media_type=_STATIC_TYPES[name[name.rfind(".") :]])

    async def no_icon(self, _: Request) -> Response:
        return Response(status_code=204)

    async def health(self, _: Request) -> Response:
        await run_in_threadpool(self._service.database.check)
        return JSONResponse({"status": "ok"})

    async def metrics(self, _: Request) -> Response:
        states, answers = await run_in_threadpool(self._service.counts)
        lines = [f'salon_arena_tasks{{state="{state}"}} {count}' for state, count in sorted(states.items())]
        lines += [f"salon_arena_answers_total {answers}"]
        lines += [f"salon_arena_{name}_total {count}" for name, count in sorted(self._counts.items())]
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    # What pages ask for

    async def session(self, request: Request) -> Response:
        _check_origin(request)
        body = await _model(request, JoinBody)
        people = self._service.people
        agrees = body.consent == people.consent_version
        token = request.cookies.get(self._cookie, "")
        rater = await self._returning(request)
        if rater is not None and agrees:
            await _done(people.agree(rater))
        elif rater is None and self._accounts:
            raise RefusedError(401, "no_session")
        elif rater is None or await run_in_threadpool(people.rater_of, token) is None:
            if not agrees:
                raise RefusedError(403, "consent")
            if body.occupation is not None and body.occupation not in OCCUPATIONS:
                raise RefusedError(422, "bad_occupation")
            if not self._joins.allow(network_of(request.client.host if request.client else "")):
                raise RefusedError(429, "too_many")
            joined = await _done(people.join(invite=body.invite, occupation=body.occupation))
            token, rater = joined.token, joined.rater_id
            self._counts["joined"] += 1
        elif (renewal := people.renew(token)) is not None:
            await _done(renewal)
        known = await run_in_threadpool(self._service.answered, rater)
        return self._with_cookie(
            JSONResponse({"csrf": csrf_token(token), "answered": known}), self._cookie, token, LONGEST_LIFE
        )

    async def leave(self, request: Request) -> Response:
        await self._rater(request, changes=True)
        await _done(self._service.people.end(request.cookies.get(self._cookie, "")))
        return self._with_cookie(JSONResponse({}), self._cookie, "", 0)

    def _with_cookie(self, response: Response, name: str, value: str, life: int) -> Response:
        response.set_cookie(name, value, max_age=life, path="/", secure=self._secure, httponly=True, samesite="strict")
        return response

    # Sign-in

    @property
    def _accounts(self) -> bool:
        """Whether people must sign in to join."""
        return self._passwords is not None or self._oidc is not None

    async def _returning(self, request: Request) -> str | None:
        token = request.cookies.get(self._cookie, "")
        return await run_in_threadpool(self._service.people.returning, token) if token else None

    async def login_page(self, _: Request) -> Response:
        if not self._accounts:
            raise RefusedError(404, "unknown_page")
        return self._login_page()

    def _login_page(self, status: int = 200, /, **words: str) -> Response:
        ways = {"passwords": self._passwords is not None, "oidc": self._oidc is not None}
        return HTMLResponse(_template("login.html.jinja", **ways, **words), status)

    async def login(self, request: Request) -> Response:
        _check_origin(request)
        body = await _model(request, LoginBody)
        if self._passwords is None:
            raise RefusedError(404, "unknown_page")
        network = network_of(request.client.host if request.client else "")
        if not (self._sign_ins.allow(f"network {network}") and self._sign_ins.allow(f"name {plain_name(body.name)}")):
            raise RefusedError(429, "too_many")
        now = self._service.clock()
        session = await self._signed_in(self._passwords.sign_in, body.name, body.password, now)
        return self._with_cookie(JSONResponse({}), self._cookie, session.token, LONGEST_LIFE)

    async def _signed_in(self, work: Callable[..., T], *arguments: object) -> T:
        """Do a part of a sign-in on threads of its own; refuse it while many wait."""
        if self._waiting >= _SIGN_INS_WAITING:
            raise RefusedError(429, "too_many")
        self._waiting += 1
        try:
            return await to_thread.run_sync(partial(work, *arguments), limiter=self._signing_in)
        finally:
            self._waiting -= 1

    async def oidc_start(self, _: Request) -> Response:
        if self._oidc is None:
            raise RefusedError(404, "unknown_page")
        try:
            address, kept = await self._signed_in(self._oidc.start)
        except RefusedError as error:  # people come here by a link
            return self._login_page(error.status, error=error.code)
        value = ".".join(kept[name] for name in _KEPT)
        return self._with_cookie(RedirectResponse(address, 303), f"{self._cookie}-oidc", value, _OIDC_LIFE)

    async def oidc_callback(self, request: Request) -> Response:
        """Return the page that the provider sends people back to.

        It posts what it was given, for nothing changes on GET.
        """
        if self._oidc is None:
            raise RefusedError(404, "unknown_page")
        if "error" in request.query_params:
            return self._login_page(error="denied")
        return self._login_page(**{name: request.query_params.get(name, "") for name in ("code", "state")})

    async def oidc_finish(self, request: Request) -> Response:
        _check_origin(request)
        body = await _model(request, OidcBody)
        if self._oidc is None:
            raise RefusedError(404, "unknown_page")
        kept = dict(zip(_KEPT, request.cookies.get(f"{self._cookie}-oidc", "").split("."), strict=False))
        if len(kept) < len(_KEPT):
            raise RefusedError(403, "state")
        now = self._service.clock()
        session = await self._signed_in(self._oidc.finish, body.code, body.state, kept, body.invite, now)
        response = self._with_cookie(JSONResponse({}), self._cookie, session.token, LONGEST_LIFE)
        return self._with_cookie(response, f"{self._cookie}-oidc", "", 0)

    async def tasks(self, request: Request) -> Response:
        rater = await self._rater(request, changes=True)
        if not self._requests.allow(rater):
            raise RefusedError(429, "too_fast")
        return JSONResponse(await _done(self._service.lease(rater)))

    async def answer(self, request: Request) -> Response:
        rater = await self._rater(request, changes=True)
        if not self._requests.allow(rater):
            raise RefusedError(429, "too_fast")
        body = await _model(request, AnswerBody)
        if self._sent.get(rater) != body.answer_id and not self._answers.allow(rater):
            raise RefusedError(429, "too_fast")
        if len(self._sent) >= _MOST_REMEMBERED:
            self._sent.clear()
        self._sent[rater] = body.answer_id  # sent again it is no further answer
        return JSONResponse(await _done(self._service.answer(rater, body)))

    async def media(self, request: Request) -> Response:
        rater = await self._rater(request)
        task, number = _task_of(request), request.path_params["place"]
        blind = await run_in_threadpool(self._service.files, rater, task)
        if number not in map(str, range(len(blind.media))):
            raise RefusedError(404, "unknown_file")
        content = blind.media[int(number)]
        if request.method == "HEAD":
            return Response(media_type=blind.type, headers={"content-length": str(len(content))})
        return _Whole(content, blind.type, lambda: self._service.sent(rater, task, blind, int(number)))

    async def frames(self, request: Request) -> Response:
        rater = await self._rater(request)
        blind = await run_in_threadpool(self._service.files, rater, _task_of(request))
        return JSONResponse({"frames": blind.frames})

    async def models(self, request: Request) -> Response:
        rater = await self._rater(request)
        return JSONResponse({"models": await run_in_threadpool(self._service.revealed, rater, _task_of(request))})

    async def admin(self, request: Request) -> Response:
        database = self._service.database
        if await self._admin_or_none(request) is None:
            raise RefusedError(404, "unknown_page")  # the same as for any other address
        words = await run_in_threadpool(database.read, lambda connection: admin_view(connection, self._service.clock()))
        board = self._service.task.board
        ranked = None if board is None else await run_in_threadpool(board.ranked)
        words |= {"board": ranked, "leave": True, "accounts": self._accounts}
        return HTMLResponse(await run_in_threadpool(lambda: _template("admin.html.jinja", **words)))

    async def admin_action(self, request: Request) -> Response:
        rater = await self._rater(request, changes=True)
        action = await _model(request, Action)
        return JSONResponse(await run_in_threadpool(act, self._service.database, rater, action, self._service.clock()))

    async def _rater_or_none(self, request: Request) -> str | None:
        token = request.cookies.get(self._cookie, "")
        return await run_in_threadpool(self._service.people.rater_of, token) if token else None

    async def _rater(self, request: Request, *, changes: bool = False) -> str:
        if changes:
            _check_origin(request)
        token = request.cookies.get(self._cookie, "")
        rater = self._service.people.remembered(token) or await self._rater_or_none(request)
        if rater is None:
            raise RefusedError(401, "no_session")
        if changes and not hmac.compare_digest(request.headers.get("x-csrf-token", "").encode(), csrf_token(token).encode()):
            raise RefusedError(403, "csrf")
        if changes and (renewal := self._service.people.renew(token)) is not None:
            await _done(renewal)
        return rater


def csrf_token(session_token: str) -> str:
    """Return the token that a page must send with every change; made of the session's secret, so nothing is stored."""
    return hmac.new(session_token.encode(), b"csrf", hashlib.sha256).hexdigest()


def _check_origin(request: Request) -> None:
    """Refuse a request that another site's page sent: browsers say so in ``Sec-Fetch-Site`` and ``Origin``."""
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise RefusedError(403, "other_origin")
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise RefusedError(403, "other_origin")
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise RefusedError(415, "json_only")


async def _model(request: Request, kind: type[M]) -> M:
    """Return the body of a request, at most 128 KiB of JSON."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BODY:
            raise RefusedError(413, "too_large")
    try:
        body = kind.model_validate_json(content)
    except ValidationError as error:
        raise RefusedError(422, "bad_body") from error
    if _has_nul(body.model_dump()):  # Postgres has no such text
        raise RefusedError(422, "bad_body")
    return body


def _has_nul(value: object) -> bool:
    """Return whether a text in a value of JSON holds the character 0."""
    if isinstance(value, str):
        return "\0" in value
    inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_nul, inner))


def _task_of(request: Request) -> str:
    """Return the task that an address names; refused where it can be none."""
    task: str = request.path_params["task"]
    if not _TASK_NAME.fullmatch(task):
        raise RefusedError(404, "unknown_file")
    return task


@cache
def _environment() -> Environment:
    environment = Environment(loader=PackageLoader("salon_arena"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    environment.filters["moment"] = lambda microseconds: f"{instant(microseconds):%Y-%m-%d %H:%M} UTC"
    return environment


def _template(name: str, **words: object) -> str:
    return _environment().get_template(name).render(**words)


@cache
def _static_files() -> dict[str, bytes]:
    """Return all of ``static/``, by name: nothing else can be asked for."""
    return {file.name: file.read_bytes() for file in files("salon_arena").joinpath("static").iterdir() if _is_static(file.name)}


def _is_static(name: str) -> bool:
    return name[name.rfind(".") :] in _STATIC_TYPES


class _Whole(Response):
    """A file to send.

    That it was sent is on the disk before its last part leaves: an answer never comes earlier. A client that closed the
    connection before was not sent it.

    Args:
        content: of the file.
        kind: its media type.
        sent: notes that it was sent.
    """

    def __init__(self, content: bytes, kind: str, sent: Callable[[], "Future[None]"]) -> None:
        super().__init__(content, media_type=kind)
        self._data = content
        self._sent = sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self._data[:-_LAST_PART], "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": True})  # waits until the bytes before have left
        if await Request(scope, receive).is_disconnected():
            return
        with suppress(StorageError):  # remembered until the answer comes
            await _done(self._sent())
        await send({"type": "http.response.body", "body": self._data[-_LAST_PART:]})


class _Headers:
    """Adds the same headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *names]}
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)

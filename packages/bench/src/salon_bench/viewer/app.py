"""Serve the pages of a store to this machine alone, behind a token, and change nothing."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final, cast

import polars as pl
from aiohttp import web

from salon_bench.report.thumbnails import NoThumbnail
from salon_bench.runs.judged_files import JudgedFile, folders_of
from salon_bench.runs.view import RunView
from salon_bench.viewer import pages
from salon_bench.viewer.battles import BattleView
from salon_bench.viewer.rendering import CLIP, Query, no_picture, problem, shell
from salon_bench.viewer.row_pages import row_page, rows_page
from salon_bench.viewer.small_copies import SIZES, SmallCopies
from salon_bench.viewer.store_tables import StoreTables
from salon_console.row_view import RowView
from salon_console.templates import read_text
from salon_judges.media.video_container import container_of, media_type_of
from salon_taxonomy.errors import InputError, SalonError

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
_STATIC: Final = {
    "page.css": ("salon_console", "text/css"),
    "viewer.css": ("salon_bench.viewer", "text/css"),
    "viewer.js": ("salon_bench.viewer", "text/javascript"),
}
_LOGGER: Final = logging.getLogger(__name__)
_HOSTS: Final = ("127.0.0.1", "localhost")
_LONGEST_ADDRESS: Final = 1 << 18
"""Bytes: eight run ids and a filter, escaped, with room."""
_PICTURE_THREADS: Final = 4
"""Pictures that are decoded at once; a large one takes hundreds of megabytes."""
Page = Callable[[Query], str]


class Viewer:
    """The application of one store, or of a folder with rows of another kind.

    Args:
        shown: the store's tables, or the folder's rows.
        copies: where small pictures are kept.
        token: the first part of every address; without it there is nothing to see.
    """

    def __init__(self, shown: StoreTables | RowView, copies: SmallCopies, *, token: str | None = None) -> None:
        self._shown = shown
        self.token = token or secrets.token_urlsafe(16)
        self._copies = copies
        self._threads = ThreadPoolExecutor(_PICTURE_THREADS, thread_name_prefix="picture")

    @asynccontextmanager
    async def served(self, port: int) -> AsyncIterator[str]:
        """Serve the pages to this machine while the block runs, and yield their address.

        Args:
            port: 0 takes a free one.

        Raises:
            InputError: the port is in use, or is not this user's to take.
        """
        runner = web.AppRunner(self.app(), handler_cancellation=True)
        await runner.setup()
        loop = asyncio.get_running_loop()

        def connection() -> _Connection:
            return _Connection(
                cast("web.Server", runner.server),
                loop=loop,
                access_log=None,  # type: ignore[arg-type] # nothing is logged
                max_line_size=_LONGEST_ADDRESS,
                max_field_size=_LONGEST_ADDRESS,
            )

        try:
            server = await loop.create_server(connection, "127.0.0.1", port)
        except OSError as error:
            hint = "Give another: --port 0 takes a free one."
            problem = f"cannot be listened on ({error.strerror})"
            raise InputError(problem, source="--port", value=port, hint=hint) from error
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{self.token}/"
        finally:
            server.close()
            await runner.cleanup()
            self._threads.shutdown(wait=False, cancel_futures=True)

    def app(self) -> web.Application:
        """Return the aiohttp application."""
        app = web.Application(middlewares=[_guarded], client_max_size=1)
        app.on_response_prepare.append(_with_headers)
        at = f"/{self.token}"
        for name, page in self.pages().items():
            app.router.add_get(f"{at}/{name}", self._handler(page), allow_head=False)
        app.router.add_get(f"{at}/picture", self._picture, allow_head=False)
        app.router.add_get("/favicon.ico", _no_icon, allow_head=False)
        app.router.add_get(f"{at}/static/{{name}}", _static, allow_head=False)
        return app

    def pages(self) -> Mapping[str, Page]:
        """Return what makes each page of its query, by the page's name."""
        view = self._shown
        if isinstance(view, RowView):
            return {"": partial(rows_page, view), "row": partial(row_page, view)}
        battles = BattleView(view)
        return {
            "": lambda _: pages.runs_page(view),
            "run": partial(pages.cases_page, view),
            "case": partial(pages.case_page, view),
            "board": partial(pages.board_page, view),
            "battles": lambda query: rows_page(battles, query, "battles"),
            "row": lambda query: row_page(battles, query, "battles"),
        }

    def _handler(self, page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            query = {name: request.query.getall(name) for name in request.query}
            try:
                html, status = await asyncio.to_thread(page, query), 200
            except SalonError as error:
                html, status = shell("Not shown", problem(str(error)), crumbs=[("Start", ".")]), 404
            return web.Response(text=html, content_type="text/html", status=status)

        return answer

    async def _picture(self, request: web.Request) -> web.Response:
        identifier, size = request.query.get("id", ""), request.query.get("size", "")
        if size not in (*SIZES, CLIP):
            raise web.HTTPNotFound
        copy = await asyncio.get_running_loop().run_in_executor(self._threads, self.small_picture, identifier, size)
        if size == CLIP and not isinstance(copy, NoThumbnail):
            return _part(copy, request)
        if isinstance(copy, NoThumbnail):
            return web.Response(text=no_picture(copy.why), content_type="image/svg+xml")
        return web.Response(body=copy, content_type="image/webp")

    def small_picture(self, identifier: str, size: str) -> bytes | NoThumbnail:
        """Return the small copy of a picture, or why it cannot be made; of the size ``clip`` the video itself."""
        view = self._shown
        try:
            if isinstance(view, RowView):
                content = view.picture(identifier)
                if size == CLIP:
                    return content if content and container_of(content) else NoThumbnail("there is no such video")
                return NoThumbnail("there is no such picture") if content is None else self._copies.copy_of_bytes(content, size)
            rows = view.rows("generations", pl.col("generation_id") == identifier)
            if not rows.height:
                return NoThumbnail("the store has no such picture")
            row = rows.row(0, named=True)
            source = JudgedFile(row["uri"], row["sha256"])
            if size == CLIP:
                video = source.read(_folders(view))
                return video if isinstance(video, bytes) and container_of(video) else NoThumbnail("there is no such video")
            return self._copies.copy(source, size, _folders(view))
        except SalonError:
            return NoThumbnail("the picture cannot be read now")


def _part(content: bytes, request: web.Request) -> web.Response:
    """Return the bytes of a video that a player asked for: it seeks by ranges."""
    try:
        first, last, _ = request.http_range.indices(len(content))
    except ValueError as error:
        raise web.HTTPRequestRangeNotSatisfiable from error
    if first >= last:
        raise web.HTTPRequestRangeNotSatisfiable
    headers = {"Accept-Ranges": "bytes"}
    if "Range" in request.headers:
        headers["Content-Range"] = f"bytes {first}-{last - 1}/{len(content)}"
    status = 206 if "Range" in request.headers else 200
    return web.Response(body=content[first:last], content_type=media_type_of(content), status=status, headers=headers)


def _folders(tables: StoreTables) -> list[Path]:
    """Return where relative paths of judged files may start: the folders that the store's runs judged."""

    def folders() -> list[Path]:
        judged = [folder for run in tables.runs() for folder in RunView(tables.store, run).generation_folders]
        return list(dict.fromkeys([Path.cwd(), *folders_of(judged)]))

    return tables.kept(("folders",), tables.state("runs"), folders)


class _Connection(web.RequestHandler):
    """A connection that refuses what is no HTTP without repeating it: not in the answer, not on the terminal."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("part of an answer was sent already")
        response = web.Response(text=f"{status} {HTTPStatus(status).phrase}\n", status=status, headers=_HEADERS)
        response.force_close()
        return response


async def _with_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


@web.middleware
async def _guarded(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    """Refuse other hosts' names (a page elsewhere that points a name here), and answer a defect with its number alone."""
    try:
        if request.headers.get("Host", "").rsplit(":", 1)[0] not in _HOSTS:
            raise web.HTTPMisdirectedRequest
        return await handler(request)
    except web.HTTPException as refused:
        return web.Response(text=f"{refused.status} {refused.reason}\n", status=refused.status)
    except Exception:  # a defect: the page says so, and the terminal has the traceback
        _LOGGER.exception("%s", request.path.rpartition("/")[2])
        return web.Response(text="500 This is a defect of salon view.\n", status=500)


async def _no_icon(_: web.Request) -> web.Response:
    """Browsers ask for one of every page."""
    return web.Response(status=204)


async def _static(request: web.Request) -> web.Response:
    package, kind = _STATIC.get(request.match_info["name"], (None, ""))
    if package is None:
        raise web.HTTPNotFound
    return web.Response(text=read_text(package, request.match_info["name"]), content_type=kind)

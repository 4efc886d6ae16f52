"""Serve the pages of a store to this machine alone, behind a token, and change nothing."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import polars as pl
from aiohttp import web

from salon_bench.report.thumbnails import JudgedFile, NoThumbnail, folders_of
from salon_bench.runs.view import RunView
from salon_bench.viewer import pages
from salon_bench.viewer.small_copies import SIDES, SmallCopies
from salon_bench.viewer.store_tables import StoreTables
from salon_console.templates import read_text
from salon_taxonomy.errors import SalonError

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
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
Page = Callable[[StoreTables, pages.Query], str]


class Viewer:
    """The application of one store.

    Args:
        tables: what is shown.
        copies: where small pictures are kept.
        token: the first part of every address; without it nothing is answered.
    """

    def __init__(self, tables: StoreTables, copies: SmallCopies, *, token: str | None = None) -> None:
        self.tables = tables
        self.token = token or secrets.token_urlsafe(16)
        self._copies = copies

    def app(self) -> web.Application:
        """Return the aiohttp application."""
        app = web.Application(middlewares=[_guarded], client_max_size=1)
        start = f"/{self.token}"
        routes: Mapping[str, Page] = {
            "": lambda tables, _: pages.runs_page(tables),
            "run": pages.cases_page,
            "case": pages.case_page,
            "board": pages.board_page,
        }
        for name, page in routes.items():
            app.router.add_get(f"{start}/{name}", self._handler(page))
        app.router.add_get(f"{start}/picture", self._picture)
        app.router.add_get("/favicon.ico", _no_icon)
        app.router.add_get(f"{start}/static/{{name}}", _static)
        return app

    def _handler(self, page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            query = {name: request.query.getall(name) for name in request.query}
            try:
                html, status = await asyncio.to_thread(page, self.tables, query), 200
            except SalonError as error:
                html, status = pages.shell("Not shown", pages.problem(str(error)), crumbs=[("Runs", ".")]), 404
            return web.Response(text=html, content_type="text/html", status=status)

        return answer

    async def _picture(self, request: web.Request) -> web.Response:
        generation, size = request.query.get("id", ""), request.query.get("size", "")
        if size not in SIDES:
            raise web.HTTPNotFound
        copy = await asyncio.to_thread(self._copy, generation, size)
        if isinstance(copy, NoThumbnail):
            return web.Response(text=pages.no_picture(copy.why), content_type="image/svg+xml")
        return web.Response(body=copy, content_type="image/webp")

    def _copy(self, generation: str, size: str) -> bytes | NoThumbnail:
        rows = self.tables.rows("generations", pl.col("generation_id") == generation)
        if not rows.height:
            return NoThumbnail("the store has no such picture")
        row = rows.row(0, named=True)
        return self._copies.copy(JudgedFile(row["uri"], row["sha256"]), size, self._folders())

    def _folders(self) -> list[Path]:
        """Return where relative paths of judged files may start: the folders that the store's runs judged."""
        runs = self.tables.runs()

        def folders() -> list[Path]:
            judged = folders_of(folder for run in runs for folder in RunView(self.tables.store, run).generation_folders)
            return list(dict.fromkeys([Path.cwd(), *judged]))

        return self.tables.kept(("folders", *(run.run_id for run in runs)), folders)


@web.middleware
async def _guarded(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    """Refuse other hosts' names (a page elsewhere that points a name here), and add the headers to every answer."""
    try:
        if (request.host or "").rsplit(":", 1)[0] not in _HOSTS:
            raise web.HTTPMisdirectedRequest
        response = await handler(request)
    except web.HTTPException as refused:
        response = web.Response(text=f"{refused.status} {refused.reason}\n", status=refused.status)
    except Exception:  # a defect: the page says so, and the terminal has the traceback
        _LOGGER.exception("%s", request.path.rpartition("/")[2])
        response = web.Response(text="500 This is a defect of salon view.\n", status=500)
    response.headers.update(_HEADERS)
    return response


async def _no_icon(_: web.Request) -> web.Response:
    """Answer the request for an icon that browsers send with every page: without content."""
    return web.Response(status=204)


async def _static(request: web.Request) -> web.Response:
    package, kind = _STATIC.get(request.match_info["name"], (None, ""))
    if package is None:
        raise web.HTTPNotFound
    return web.Response(text=read_text(package, request.match_info["name"]), content_type=kind)

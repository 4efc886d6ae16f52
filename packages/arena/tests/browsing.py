"""A served arena and a headless Chromium, for tests of pages."""

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from small_arena import write_material

from salon_arena import ArenaDatabase, Material, WorkService, create_app, read_material, vote_service
from salon_arena.board import LiveBoard
from salon_arena.publishing import PublishedBoard
from salon_arena.service import AnswerBody
from salon_arena.settling import settle_due


class Served:
    """An arena on a port of its own."""

    def __init__(
        self, folder: Path, material: Material | None = None, service: WorkService | None = None, **settings: Any
    ) -> None:
        self.database = service.database if service else ArenaDatabase.open(folder / "arena.db")
        material = material or (None if service else read_material(*write_material(folder, size=96)))
        self.service = service or vote_service(self.database, material)  # type: ignore[arg-type]
        application = create_app(self.service, **settings)
        self.server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="warning", access_log=False))
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"

    def answers(self) -> list[tuple[str, str]]:
        query = "SELECT assignment_id, choice FROM answers ORDER BY number"
        return [tuple(row) for row in self.database.read(lambda c: list(c.exec_driver_sql(query)))]

    def wait_for_answers(self, number: int) -> list[tuple[str, str]]:
        for _ in range(500):
            if len(self.answers()) >= number:
                break
            time.sleep(0.02)
        assert len(self.answers()) == number
        return self.answers()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.database.close()


@contextmanager
def context(browser: Browser, served: Served, width: int = 1400, **options: Any) -> Iterator[tuple[BrowserContext, list[str]]]:
    """A browser of one rater; every complaint and every request to elsewhere is heard and must be expected."""
    made = browser.new_context(viewport={"width": width, "height": 800}, **options)
    heard: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            heard.append(message.text)

    def asked(url: str) -> None:
        if not url.startswith((served.address, f"blob:{served.address}")):
            heard.append(url)

    made.on("console", listen)
    made.on("weberror", lambda error: heard.append(str(error.error)))
    made.on("request", lambda sent: asked(sent.url))
    yield made, heard
    made.close()


def opened(rater: BrowserContext, served: Served, page: Page | None = None, ready: str = ".stage.shown") -> Page:
    """The work page with its first task; joins if that has yet to be done."""
    page = page or rater.new_page()
    page.goto(served.address)
    if page.locator("#join").count():
        page.get_by_role("button", name="I agree").click()
    page.wait_for_selector(ready)
    assert page.locator("#message").text_content() == ""
    return page


def settled_votes(served: Served, number: int) -> None:
    """Votes of two further raters, all final and published; every model wins and loses."""
    raters = [served.service.people.join().result().rater_id for _ in range(2)]
    for turn in range(number):
        rater = raters[turn % 2]
        task = served.service.lease(rater).result()["tasks"][0]
        choice = ["left", "right", "both_good"][turn % 3]
        body = AnswerBody(answer_id=uuid.uuid4(), assignment=task["assignment"], choice=choice, elapsed_ms=9)
        served.service.look(rater, task["assignment"])
        served.service.answer(rater, body).result()
    service = served.service
    now = service.clock()
    settle_due(service.database, now + 11_000_000).result()
    if isinstance(service.task.board, LiveBoard):
        PublishedBoard(service.task.board, hidden=not service.reveal).publish(now + 80_000_000)

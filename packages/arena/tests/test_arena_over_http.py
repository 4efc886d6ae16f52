"""The arena over HTTP, in this process: who may do what, what every reply carries, and what no reply carries."""

import asyncio
import hashlib
import io
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from small_arena import MODELS, PROMPTS, Clock

from salon_arena import ArenaDatabase, Material, WorkService, create_app, read_material, vote_service
from salon_arena.app import HEADERS
from salon_arena.blind import BUCKET
from salon_arena.board import Board
from salon_taxonomy.visible_text import visible

JSON = {"content-type": "application/json"}


class Visitor:
    """A browser of a rater: keeps the cookie and the CSRF token, and every byte that arrives."""

    def __init__(self, client: httpx.AsyncClient, consent: str) -> None:
        self.client = client
        self.consent = consent
        self.heard: list[bytes] = []
        self.csrf = ""
        self.seen: set[str] = set()

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        if method == "POST":
            options.setdefault("json", {})
            options["headers"] = {"x-csrf-token": self.csrf, **options.get("headers", {})}
        reply = await self.client.request(method, path, **options)
        self.heard.append(str(reply.status_code).encode())
        self.heard += [name + b": " + value for name, value in reply.headers.raw]
        self.heard += [reply.content, str(reply.url).encode()]
        return reply

    async def join(self) -> "Visitor":
        body = {"consent": self.consent}
        self.csrf = (await self.ask("POST", "/session", json=body)).json()["csrf"]
        return self

    async def pairs(self) -> list[dict[str, Any]]:
        return list((await self.ask("POST", "/tasks")).json()["tasks"])

    async def look(self, pair: dict[str, Any]) -> None:
        for file in pair["media"]:
            await self.ask("GET", file)
        self.seen.add(pair["assignment"])

    async def answer(self, pair: dict[str, Any], choice: str = "left", **changed: Any) -> httpx.Response:
        if pair["assignment"] not in self.seen:
            await self.look(pair)
        body = {"answer_id": str(uuid4()), "assignment": pair["assignment"], "choice": choice, "elapsed_ms": 5}
        return await self.ask("POST", "/answers", json={**body, "supersedes": pair["supersedes"], **changed})


@asynccontextmanager
async def visitors(service: WorkService, number: int = 1, *, per_second: float = 1000) -> AsyncIterator[list[Visitor]]:
    """Visitors who answer at once, which people may not."""
    application = create_app(service, hosts=["arena.test"], answers_per_second=per_second)
    made = [httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://arena.test") for _ in range(number)]
    try:
        yield [await Visitor(client, service.people.consent_version).join() for client in made]
    finally:
        for client in made:
            await client.aclose()


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]


def tell_tale(folder: Path) -> Path:
    """Pictures whose files say in every way who made them."""
    for place, model in enumerate(MODELS):
        for number, key in enumerate(PROMPTS):
            path = folder / "pictures" / model / f"{key}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            image = Image.effect_noise((64 + 8 * place, 64), 40 + number).convert("RGBA")
            image.putalpha(200)
            exif = Image.Exif()
            exif[0x010E] = exif[0x0131] = f"{model} exif"
            words = PngInfo()
            words.add_text("parameters", f"{model} text chunk")
            words.add_itxt("XML:com.adobe.xmp", f"<x>{model} xmp</x>")
            image.save(path, pnginfo=words, exif=exif, icc_profile=f"{model} icc".encode())
    return folder / "pictures"


def test_nothing_that_a_rater_receives_before_settling_tells_the_model(
    tmp_path: Path, material: Material, clock: Clock, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)  # below it Pillow logs what it reads; the server logs warnings alone
    pictures = tell_tale(tmp_path / "canaries")
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in pictures.rglob("*.png")]
    canaries = [
        "canary",
        " exif",
        " xmp",
        "xmpmeta",
        "icc_profile",
        "text chunk",
        str(tmp_path),
        *digests,
        *(one[:24] for one in digests),
    ]
    broken = next(pictures.rglob("*.png"))
    broken.write_bytes(broken.read_bytes()[:200])  # an error must tell nothing either

    async def work() -> None:
        async with visitors(service, 2) as (visitor, other):
            for _ in range(12):
                pairs = await visitor.pairs()
                for pair in pairs:
                    for file in pair["media"]:
                        await visitor.ask("GET", file)
                        await other.ask("GET", file)
                if not pairs:
                    break
                await visitor.answer(pairs[0])
                await visitor.answer(pairs[0], "right")
                await visitor.answer(pairs[0], "bad")
                await other.answer(pairs[0])
            for path in ("/", "/board", "/static/battle.js", "/static/../app.py", "/media/x", "/none", "/healthz", "/tasks"):
                await other.ask("GET", path)
            heard = [*visitor.heard, *other.heard]
        assert sum(part.startswith(b"\xff\xd8") for part in heard) >= 20
        log = caplog.text + "".join(capfd.readouterr())
        for said in (*heard, log.encode()):
            found = [canary for canary in canaries if canary.encode().lower() in said.lower()]
            assert found == [], said[:300]

    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, read_material(pictures, tmp_path / "prompts.jsonl"), clock=clock)
        # Names of models are on the board by design, once votes are settled; so nothing is settled here.
        service.task.board.ranked = lambda scenario: Board(0, None)
        run(work)


def test_the_pictures_of_a_pair_differ_in_nothing_but_their_pixels(
    database: ArenaDatabase, material: Material, tmp_path: Path
) -> None:
    service = vote_service(database, read_material(tell_tale(tmp_path / "canaries"), tmp_path / "prompts.jsonl"))

    async def work() -> None:
        async with visitors(service) as [visitor]:
            for pair in await visitor.pairs():
                left, right = [await visitor.ask("GET", file) for file in pair["media"]]
                assert left.headers.raw == right.headers.raw
                assert len(left.content) == len(right.content) and len(left.content) % BUCKET == 0
                images = [Image.open(io.BytesIO(reply.content)) for reply in (left, right)]
                for image in images:
                    image.load()
                    assert (image.format, image.mode) == ("JPEG", "RGB")
                    assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
                    assert not image.getexif()
                assert max(images[0].size) == max(images[1].size)
                assert images[0].quantization == images[1].quantization

    run(work)


def test_every_reply_carries_the_strict_headers(service: WorkService) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            [pair, *_] = await visitor.pairs()
            asked = [
                "/",
                "/board",
                "/board.json",
                "/static/arena.css",
                "/static/none.js",
                "/healthz",
                "/none",
                pair["media"][0],
            ]
            replies = [await visitor.ask("GET", path) for path in asked]
            replies += [await visitor.ask("POST", path) for path in ("/session", "/tasks", "/answers", "/none")]
            for reply in replies:
                assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS
                assert not {"etag", "last-modified", "server"} & set(reply.headers)
            assert "unsafe" not in HEADERS["Content-Security-Policy"]
            page = replies[0].text
            assert "<script" in page and "style=" not in page and "onclick" not in page and "<script>" not in page

    run(work)


def test_a_change_needs_a_session_its_token_json_and_the_own_origin(service: WorkService, database: ArenaDatabase) -> None:
    async def work() -> None:
        async with visitors(service, 2) as (visitor, other):
            [pair, *_] = await visitor.pairs()
            for path in ("/tasks", "/answers", "/session"):
                for headers, wanted in (
                    ({"sec-fetch-site": "cross-site"}, 403),
                    ({"origin": "http://evil.test"}, 403),
                    ({"content-type": "text/plain"}, 415),
                    ({"host": "evil.test"}, 400),
                ):
                    assert (await visitor.ask("POST", path, headers=headers)).status_code == wanted, (path, headers)
            for path in ("/tasks", "/answers"):
                assert (await visitor.ask("POST", path, headers={"x-csrf-token": other.csrf})).status_code == 403
            for path in (pair["media"][0], pair["media"][1]):
                assert (await other.ask("GET", path)).status_code == 404
            stranger = httpx.AsyncClient(transport=visitor.client._transport, base_url="http://arena.test")
            assert (await stranger.post("/tasks", json={})).status_code == 401
            assert (await stranger.get(pair["media"][0])).status_code == 401
            for method in ("GET", "PUT", "DELETE"):
                for path in ("/tasks", "/answers", "/session"):
                    assert (await visitor.ask(method, path)).status_code == 405
            assert (await other.answer(pair)).json() == {"error": "unknown_task"}
        cookie = visitor.client.cookies.jar
        assert all(one.has_nonstandard_attr("HttpOnly") for one in cookie)

    run(work)
    assert database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM answers").scalar_one()) == 0


def test_no_route_that_changes_anything_takes_a_page_of_another_site(service: WorkService) -> None:
    """Every route of the application itself, so that a new one is asked too."""
    application = create_app(service, hosts=["arena.test"])
    changing = [
        (route.path, method)
        for route in application.routes
        for method in (route.methods or ())
        if method not in ("GET", "HEAD")
    ]

    async def work() -> None:
        async with visitors(service) as [visitor]:
            for path, method in changing:
                for headers in (
                    {"sec-fetch-site": "cross-site"},
                    {"sec-fetch-site": "same-site"},
                    {"origin": "null"},
                    {"origin": "http://evil.test"},
                ):
                    reply = await visitor.ask(method, path, headers=headers)
                    assert (reply.status_code, reply.json()) == (403, {"error": "other_origin"}), (path, headers)

    run(work)
    assert {"/answers", "/tasks", "/session", "/session/end", "/login", "/oidc/finish", "/admin/actions"} <= {
        path for path, _ in changing
    }


WRONG: list[dict[str, Any]] = [
    *({"choice": choice} for choice in ("best", ["left"], None)),
    *({"elapsed_ms": elapsed} for elapsed in (-1, 1.5)),
    *({"answer_id": "1"}, {"more": 1}, {"assignment": "x" * 65}),
]


@pytest.mark.parametrize("changed", WRONG)
def test_an_answer_that_is_none_is_refused_and_nothing_is_kept(service: WorkService, changed: dict[str, Any]) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            [pair, *_] = await visitor.pairs()
            reply = await visitor.answer(pair, **changed)
            assert reply.status_code == 422 and reply.json()["error"] in ("bad_body", "bad_answer")
            long = await visitor.ask("POST", "/answers", content=b" " * 200_000, json=None, headers=JSON)
            assert long.status_code == 413
            assert (await visitor.answer(pair)).status_code == 200

    run(work)


def test_the_same_post_fifty_times_in_parallel_gives_fifty_equal_replies(service: WorkService) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            [pair, *_] = await visitor.pairs()
            fixed = str(uuid4())
            await visitor.look(pair)
            replies = await asyncio.gather(*(visitor.answer(pair, answer_id=fixed) for _ in range(50)))
            assert {(reply.status_code, reply.content) for reply in replies} == {(200, replies[0].content)}
            assert (await visitor.answer(pair, "right", answer_id=fixed)).status_code == 409

    run(work)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases opened after this wait a quarter of a second for a lock."""
    monkeypatch.setattr("salon_arena.database._BUSY_MS", 250)


def test_a_locked_database_answers_503_and_takes_the_same_answer_later(
    impatient: None, service: WorkService, database: ArenaDatabase
) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            [pair, *_] = await visitor.pairs()
            holder = sqlite3.connect(database.place, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            fixed = str(uuid4())
            reply = await visitor.answer(pair, answer_id=fixed)
            assert (reply.status_code, reply.json(), reply.headers["retry-after"]) == (503, {"error": "storage"}, "1")
            holder.execute("ROLLBACK")
            assert (await visitor.answer(pair, answer_id=fixed)).status_code == 200

    run(work)


def test_a_picture_that_cannot_be_read_closes_its_pair_and_the_operator_learns_which(
    service: WorkService, material: Material
) -> None:
    for file in material.files:
        if file.model == MODELS[0]:
            file.path.write_bytes(b"no picture")

    async def work() -> None:
        async with visitors(service) as [visitor]:
            seen = 0
            for _ in range(100):
                pairs = await visitor.pairs()
                if not pairs:
                    break
                replies = [await visitor.ask("GET", file) for file in pairs[0]["media"]]
                assert {reply.status_code for reply in replies} in ({200}, {410})
                if replies[0].status_code == 200:
                    assert (await visitor.answer(pairs[0])).status_code == 200
                    seen += 1
            assert seen == 4 * 2 * 2  # what the two other models made

    run(work)


def test_prompts_arrive_with_their_language_and_every_unseen_character_shown(service: WorkService) -> None:
    async def work() -> None:
        seen = {}
        async with visitors(service) as [visitor]:
            while len(seen) < len(PROMPTS):
                [pair, *_] = await visitor.pairs()
                seen[pair["prompt"]] = pair["language"]
                await visitor.answer(pair)
        assert seen == {visible(text, prose=True): language for text, language in PROMPTS.values()}
        assert any("\\u202e" in text for text in seen)

    run(work)


def test_every_reply_of_a_defect_has_the_headers_and_tells_nothing(
    service: WorkService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("Canary")

    monkeypatch.setattr(service, "lease", broken)
    monkeypatch.setattr(service, "files", broken)
    application = create_app(service, hosts=["arena.test"])

    async def work() -> None:
        transport = httpx.ASGITransport(application, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://arena.test") as client:
            visitor = await Visitor(client, service.people.consent_version).join()
            for method, path in (("POST", "/tasks"), ("GET", "/media/x/0")):
                reply = await visitor.ask(method, path)
                assert (reply.status_code, reply.json()) == (500, {"error": "internal"})
                assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS

    run(work)


def test_who_signs_out_is_a_stranger_at_once_and_may_take_part_again(service: WorkService, database: ArenaDatabase) -> None:
    async def work() -> None:
        async with visitors(service, 2) as (visitor, other):
            [pair, *_] = await visitor.pairs()
            assert (await visitor.ask("POST", "/session/end", headers={"x-csrf-token": other.csrf})).status_code == 403
            kept = dict(visitor.client.cookies)
            assert (await visitor.ask("POST", "/session/end")).status_code == 200
            assert dict(visitor.client.cookies) == {}
            for cookies in ({}, kept):  # also with what somebody copied
                visitor.client.cookies.update(cookies)
                for method, path in (("POST", "/tasks"), ("GET", pair["media"][0]), ("POST", "/session/end")):
                    assert (await visitor.ask(method, path)).status_code == 401
                assert (await visitor.answer(pair)).status_code == 401
            assert (await other.answer((await other.pairs())[0])).status_code == 200
            visitor.client.cookies.clear()
            assert (await (await visitor.join()).pairs())[0]["assignment"] != pair["assignment"]

    run(work)
    assert database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM sessions").scalar_one()) == 2


def test_tasks_are_asked_for_no_faster_than_answers(service: WorkService) -> None:
    async def work() -> None:
        async with visitors(service, 2, per_second=0.001) as (visitor, other):
            statuses = [(await visitor.ask("POST", "/tasks")).status_code for _ in range(70)]
            assert statuses == [200] * 60 + [429] * 10
            assert (await other.ask("POST", "/tasks")).status_code == 200

    run(work)

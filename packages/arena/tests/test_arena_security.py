"""Consent, invites, limits, erasure and the chain of answers: what ARENA promises beside blindness, line by line."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from click.testing import CliRunner
from small_arena import Clock, seen
from sqlalchemy import insert
from starlette.testclient import TestClient
from test_arena_over_http import run, visitors

from salon_arena import ArenaDatabase, Material, WorkService, create_app, vote_service
from salon_arena.admin import Action, act
from salon_arena.app import csrf_token
from salon_arena.people import LIVES, forget, token_hash
from salon_arena.service import AnswerBody
from salon_arena.tables import ACCOUNTS
from salon_arena.verify import verify_answers
from salon_console import main
from salon_taxonomy.errors import InputError

Body = Callable[..., AnswerBody]


def test_joining_needs_the_present_consent_text_and_a_changed_text_is_asked_for_again(
    database: ArenaDatabase, material: Material
) -> None:
    service, changed = (vote_service(database, material, consent=text) for text in ("one", "two"))

    async def work() -> None:
        async with visitors(service, 2) as (visitor, stranger):
            stranger.client.cookies.clear()
            for body in ({}, {"consent": "0" * 16}, {"consent": service.people.consent_version, "occupation": "spy"}):
                assert (await stranger.ask("POST", "/session", json=body)).status_code in (403, 422)
            assert "data-version" in (await stranger.ask("GET", "/")).text
            assert "data-version" not in (await visitor.ask("GET", "/")).text
            token = visitor.client.cookies["salon"]
        assert changed.people.rater_of(token) is None
        async with visitors(changed) as [again]:
            again.client.cookies.set("salon", token, domain="arena.test")
            assert "data-version" in (await again.ask("GET", "/")).text
            assert (await again.ask("POST", "/tasks")).status_code == 401
            body = {"consent": changed.people.consent_version}
            assert (await again.ask("POST", "/session", json=body)).status_code == 200
        assert changed.people.rater_of(token) == service.people.returning(token)

    run(work)
    kept = database.read(lambda c: c.exec_driver_sql("SELECT count(DISTINCT version) FROM consents").scalar_one())
    assert kept == 2


def test_a_new_session_has_a_new_secret_and_a_cookie_that_scripts_and_other_sites_do_not_get(service: WorkService) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            visitor.client.cookies.set("salon", "chosen-by-somebody-else", domain="arena.test")
            reply = await visitor.ask("POST", "/session", json={"consent": visitor.consent})
            cookie = reply.headers["set-cookie"]
            assert "chosen-by" not in cookie and all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
            token = cookie.split("=", 1)[1].split(";")[0]
            assert len(token) >= 43  # 256 bits

    run(work)


def test_too_many_answers_and_too_many_joins_are_refused_with_429(database: ArenaDatabase, material: Material) -> None:
    service = vote_service(database, material)

    async def work() -> None:
        async with visitors(service, per_second=2) as [visitor]:
            [pair, *_] = await visitor.pairs()
            statuses = [(await visitor.answer(pair)).status_code for _ in range(70)]
            assert statuses[0] == 200 and statuses[-1] == 429 and 70 - statuses.count(429) >= 12
            visitor.client.cookies.clear()
            joins = []
            for _ in range(125):
                visitor.client.cookies.clear()
                joins.append((await visitor.ask("POST", "/session", json={"consent": visitor.consent})).status_code)
            assert joins[0] == 200 and joins[-1] == 429

    run(work)


@pytest.mark.parametrize(
    ("who", "idle", "whole"),
    [("joined", 30 * 24 * 3600, 90 * 24 * 3600), ("account", 3600, 12 * 3600), ("admin", 1800, 12 * 3600)],
)
def test_a_session_ends_when_it_is_not_used_and_at_its_age(
    database: ArenaDatabase, service: WorkService, clock: Clock, who: str, idle: int, whole: int
) -> None:
    people = service.people
    code = people.invite("admin" if who == "admin" else "rater").result()

    def join() -> str:
        session = people.join(invite=code if who == "admin" else None).result()
        if who == "account":
            row = {"key": session.rater_id, "rater_id": session.rater_id}
            database.write(lambda c: c.execute(insert(ACCOUNTS), row).rowcount).result()
        return session.token

    token, start = join(), clock.now
    assert (LIVES[who].idle, LIVES[who].whole) == (idle, whole)
    while clock.now - start < (whole - idle) * 1_000_000:
        clock.forward(idle - 1)
        assert people.rater_of(token) is not None
        renewed = people.renew(token)
        assert renewed is not None and renewed.result() == 1 and people.renew(token) is None
    clock.now = start + whole * 1_000_000 - 1
    assert people.rater_of(token) is not None
    clock.now += 11_000_000  # what a server remembers of a session lasts 10 s
    assert (people.rater_of(token), people.returning(token), people.remembered(token)) == (None, None, None)
    if who != "admin":
        token = join()
        clock.forward(idle)
        assert (people.rater_of(token), people.returning(token), people.remembered(token)) == (None, None, None)


def test_requests_renew_a_session_and_one_that_ended_is_refused_everywhere(service: WorkService, clock: Clock) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            for _ in range(3):
                clock.forward(29 * 24 * 3600)
                assert len(await visitor.pairs()) == 4
            clock.forward(30 * 24 * 3600)
            for method, path in (("POST", "/tasks"), ("POST", "/answers"), ("GET", "/board/mine"), ("POST", "/admin/actions")):
                assert (await visitor.ask(method, path)).status_code == 401
            assert "data-version" in (await visitor.ask("GET", "/")).text

    run(work)


LAYOUT_4 = Path(__file__).parent / "data" / "arena_of_layout_4.sql"
"""An arena as Salon wrote it before rows were chained: two raters, an undo, anchors, a flag, tasks that could not be shown."""
HEAD_OF_LAYOUT_4 = "3f8ba3cde3981bc130d85a1b2b8f2fe322f1a4e06899f9380f10db653b8ecf46"


def arena_of_layout_4(path: Path, change: str = "") -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(LAYOUT_4.read_text(encoding="utf-8"))
        if change:
            for (trigger,) in list(connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")):
                connection.execute(f"DROP TRIGGER {trigger}")
            connection.executescript(change)
    return path


def test_an_arena_of_the_layout_before_is_converted_with_its_board_and_its_published_head(
    tmp_path: Path, material: Material, body: Body, clock: Clock
) -> None:
    path = arena_of_layout_4(tmp_path / "arena.db")
    clock.forward(3600)
    for turn in range(3):
        with ArenaDatabase.open(path) as database:
            found = verify_answers(database, head=HEAD_OF_LAYOUT_4)
            assert (found.answers, found.problems) == (18 + turn, ())
            service = vote_service(database, material, clock=clock)
            board = service.task.board.ranked()  # type: ignore[union-attr]
            assert (board.votes, board.left_out) == (5 + turn, 7)  # of a rater who was flagged
            rater = service.people.join().result().rater_id
            service.answer(rater, body(seen(service, rater))).result()
            clock.forward(11)
            service.settle_due().result()
    with pytest.raises(InputError, match="does not fit the chain"):
        ArenaDatabase.open(arena_of_layout_4(tmp_path / "changed.db", "UPDATE answers SET elapsed_ms = 1 WHERE number = 3"))


@pytest.mark.parametrize("proxies", [(), ("10.0.0.0/8",)])
def test_limits_are_kept_by_the_address_that_the_trusted_proxy_saw_and_by_no_other(
    service: WorkService, proxies: tuple[str, ...]
) -> None:
    """A client may send any X-Forwarded-For; a proxy adds, behind it, the address that it was asked from."""
    asked = count(1)

    async def joins(peer: str, forwarded: str) -> list[int]:
        """Five joins of a network that may join three times; ``#`` is another number each time."""
        application = create_app(service, hosts=["arena.test"], proxies=proxies, joins_per_hour=3)
        transport = httpx.ASGITransport(application, client=(peer, 1))
        found = []
        for _ in range(5):
            headers = {"x-forwarded-for": forwarded.replace("#", str(next(asked))), "forwarded": f"for=198.51.{next(asked)}.1"}
            async with httpx.AsyncClient(transport=transport, base_url="http://arena.test") as client:
                body = {"consent": service.people.consent_version}
                found.append((await client.post("/session", json=body, headers=headers)).status_code)
        return found

    async def work() -> None:
        limited, free = [200, 200, 200, 429, 429], [200] * 5
        behind = free if proxies else limited
        assert await joins("10.1.2.3", "198.51.#.1") == behind  # through the proxy, from many networks
        assert await joins("10.1.2.3", "198.51.#.1, 203.0.113.9") == limited  # the client wrote the first
        assert await joins("10.1.2.3", "198.51.#.1, 203.0.113.9, 10.9.9.9") == limited  # through two proxies
        assert await joins("192.0.2.1", "198.51.#.1") == limited  # past the proxy
        assert await joins("192.0.2.1", "198.51.#.1, 10.1.2.3") == limited

    run(work)


def test_forgetting_a_person_erases_what_leads_to_them_and_keeps_the_chain(
    database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    service = vote_service(database, material, invited=True, clock=clock)
    session = service.people.join(invite=service.people.invite().result(), occupation="design").result()
    for _ in range(3):
        task = seen(service, session.rater_id)
        service.answer(session.rater_id, body(task)).result()
    before = verify_answers(database)
    assert database.write(lambda c: forget(c, session.rater_id)).result()
    assert not database.write(lambda c: forget(c, "rater-none")).result()
    assert service.people.returning(session.token) is None
    rows = [database.read(lambda c, table=table: c.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())  # type: ignore[misc]
            for table in ("sessions", "consents", "invites", "answers")]  # fmt: skip
    assert rows == [0, 0, 0, 3]
    after = verify_answers(database, head=before.head)
    assert (after.answers, after.problems, before.problems) == (3, (), ())
    database.close()  # what was erased is not in the file any more, either
    assert token_hash(session.token).encode() not in Path(database.place).read_bytes()


def test_forgetting_a_person_overwrites_what_was_kept_while_the_server_goes_on(
    service: WorkService, database: ArenaDatabase, clock: Clock
) -> None:
    sessions = [service.people.join(occupation=who).result() for who in ("film_tv", "media")]
    admin = service.people.join(invite=service.people.invite("admin").result()).result().rater_id
    erased = ["film_tv", "media", *(token_hash(each.token) for each in sessions)]
    erased += database.read(lambda c: c.exec_driver_sql("SELECT salt FROM raters WHERE role = 'rater'").scalars().all())

    def kept() -> list[str]:
        files = b"".join(Path(f"{database.place}{part}").read_bytes() for part in ("", "-wal"))
        return [text for text in erased if text.encode() in files]

    assert kept() == erased and len(erased) == 6
    act(database, admin, Action(action="forget", rater=sessions[0].rater_id), clock.now)
    assert kept() == ["media", erased[3], erased[5]] or kept() == ["media", erased[3], erased[4]]
    words = ["arena", "people", "--forget", sessions[1].rater_id, "--database", str(database.place)]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert kept() == []
    assert service.people.join().result()  # the server goes on
    database.check()


def test_who_was_forgotten_is_heard_no_more_at_once(service: WorkService) -> None:
    """Sessions are remembered for some seconds; a person who asked to be forgotten sends nothing in them."""
    session = service.people.join().result()
    task = seen(service, session.rater_id)
    client = TestClient(create_app(service, hosts=["127.0.0.1"]), base_url="http://127.0.0.1", cookies={"salon": session.token})
    headers = {"x-csrf-token": csrf_token(session.token)}
    assert client.post("/tasks", json={}, headers=headers).status_code == 200  # and the session is remembered
    service.database.write(lambda connection: forget(connection, session.rater_id)).result()
    body = {"answer_id": str(uuid4()), "assignment": task["assignment"], "choice": "left", "elapsed_ms": 900}
    answers = service.counts()[1]
    for path, sent in (("/answers", body), ("/tasks", {})):
        assert client.post(path, json=sent, headers=headers).status_code == 401, path
    assert service.counts()[1] == answers


def test_a_backup_is_whole_and_is_an_arena(
    service: WorkService, database: ArenaDatabase, body: Body, material: Material, tmp_path: Path
) -> None:
    rater = service.people.join().result().rater_id
    task = seen(service, rater)
    service.answer(rater, body(task)).result()
    assert (
        CliRunner().invoke(main, ["arena", "backup", "--database", str(database.place), str(tmp_path / "b.db")]).exit_code == 0
    )
    assert {oct(Path(path).stat().st_mode)[-3:] for path in (database.place, tmp_path / "b.db")} == {"600"}
    with ArenaDatabase.open(tmp_path / "b.db") as copy:
        assert copy.arena_id == database.arena_id and verify_answers(copy) == verify_answers(database)
        assert len(vote_service(copy, material).lease(rater).result()["tasks"]) == 4

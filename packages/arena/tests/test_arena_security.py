"""Consent, invites, limits, erasure and the chain of answers: what ARENA promises beside blindness, line by line."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_arena import Clock
from test_arena_over_http import run, visitors

from salon_arena import ArenaDatabase, Material, WorkService, vote_service
from salon_arena.people import forget
from salon_arena.service import AnswerBody
from salon_arena.verify import verify_answers
from salon_taxonomy.cli import main

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
        async with visitors(service) as [visitor]:
            [pair, *_] = await visitor.pairs()
            statuses = [(await visitor.answer(pair)).status_code for _ in range(70)]
            assert statuses[0] == 200 and statuses[-1] == 429 and statuses.count(429) <= 10
            visitor.client.cookies.clear()
            joins = []
            for _ in range(125):
                visitor.client.cookies.clear()
                joins.append((await visitor.ask("POST", "/session", json={"consent": visitor.consent})).status_code)
            assert joins[0] == 200 and joins[-1] == 429

    run(work)


def test_forgetting_a_person_erases_what_leads_to_them_and_keeps_the_chain(
    database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    service = vote_service(database, material, invited=True, clock=clock)
    session = service.people.join(invite=service.people.invite().result(), occupation="design").result()
    for _ in range(3):
        task = service.lease(session.rater_id).result()["tasks"][0]
        service.answer(session.rater_id, body(task)).result()
    before = verify_answers(database)
    assert database.write(lambda c: forget(c, session.rater_id)).result()
    assert not database.write(lambda c: forget(c, "rater-none")).result()
    assert service.people.returning(session.token) is None
    rows = [database.read(lambda c, table=table: c.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())  # type: ignore[misc]
            for table in ("sessions", "consents", "invites", "answers")]  # fmt: skip
    assert rows == [0, 0, 0, 3]
    assert verify_answers(database, head=before.head) == before and before.problems == ()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE answers SET choice = 'right', body = replace(body, 'left', 'right') WHERE number = 2",
        "DELETE FROM answers WHERE number = 4",
        "UPDATE answers SET elapsed_ms = elapsed_ms + 1 WHERE number = 1",
        "UPDATE settled SET winner = CASE winner WHEN 'model_a' THEN 'model_b' ELSE 'model_a' END WHERE number = 1",
    ],
)
def test_a_changed_or_removed_answer_shows(
    service: WorkService, database: ArenaDatabase, body: Body, tmp_path: Path, change: str
) -> None:
    rater = service.people.join().result().rater_id
    for _ in range(4):
        task = service.lease(rater).result()["tasks"][0]
        service.answer(rater, body(task)).result()
    head = verify_answers(database).head
    copy = tmp_path / "copy.db"
    database.backup(copy)
    arguments = ["arena", "verify", "--database", str(copy), "--head", head]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    with sqlite3.connect(copy) as connection:
        for (trigger,) in list(connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(change)
    connection.close()
    assert CliRunner().invoke(main, arguments).exit_code == 1


def test_a_backup_is_whole_and_is_an_arena(
    service: WorkService, database: ArenaDatabase, body: Body, material: Material, tmp_path: Path
) -> None:
    rater = service.people.join().result().rater_id
    task = service.lease(rater).result()["tasks"][0]
    service.answer(rater, body(task)).result()
    assert (
        CliRunner().invoke(main, ["arena", "backup", "--database", str(database.place), str(tmp_path / "b.db")]).exit_code == 0
    )
    with ArenaDatabase.open(tmp_path / "b.db") as copy:
        assert copy.arena_id == database.arena_id and verify_answers(copy) == verify_answers(database)
        assert len(vote_service(copy, material).lease(rater).result()["tasks"]) == 4

"""The same arena on Postgres: several servers at once, a server that stops, and rows that nothing changes."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser
from postgres_server import PostgresServer, programs
from small_arena import MODELS, Clock, seen, write_material
from test_arena_commands import SALON

from salon_arena import ArenaDatabase, WorkService, export_answers, read_material, vote_service
from salon_arena.battles import BattleRules
from salon_arena.forms import panel_task
from salon_arena.material import KnownPair
from salon_arena.quality import LiveChecks
from salon_arena.service import AnswerBody
from salon_arena.verify import verify_answers
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.errors import InputError, StorageError
from salon_taxonomy.records import Winner

Body = Callable[..., AnswerBody]
pytestmark = pytest.mark.skipif(programs() is None, reason="no Postgres here; Debian's package `postgresql` makes these run")


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    """The server with an empty database."""
    running.empty()
    return running


def test_an_arena_on_postgres_votes_tests_exports_and_verifies_like_a_file(
    server: PostgresServer, tmp_path: Path, body: Body, clock: Clock
) -> None:
    material = read_material(*write_material(tmp_path))
    files = {(file.model, file.sample): file for file in material.files if file.prompt_id == "canary-prompt-1"}
    anchors = [KnownPair(files[MODELS[0], 0], files[MODELS[1], 0], Winner.MODEL_A)]
    with ArenaDatabase.open(server.address, mode="public") as database:
        service = vote_service(database, material, rules=BattleRules(anchors=anchors, anchors_first=0), clock=clock)
        raters = [service.people.join().result() for _ in range(3)]
        for turn in range(30):
            rater = raters[turn % 3].rater_id
            task = seen(service, rater)
            given = body(task, ["left", "right", "both_good"][turn % 3 - turn % 2])
            first = service.answer(rater, given).result()
            assert service.answer(rater, given).result() == first  # the same again
        undone = service.lease(rater).result()["last"]
        service.answer(rater, body(undone["task"], "undo", supersedes=undone["answer_id"])).result()
        clock.forward(11)
        service.settle_due().result()
        board = service.task.board
        assert board is not None and board.ranked().votes >= 25 and len(board.scenarios()) == 1
        LiveChecks(database, board.refresh).run()
        assert verify_answers(database).problems == () and verify_answers(database).answers == 31
        found = export_answers(database, tmp_path / "store", now=clock.now)
        assert found.added == 29 and export_answers(database, tmp_path / "store", now=clock.now).added == 0
        assert ResultStore.open(tmp_path / "store").read("battles").collect().height == 29
        for table in ("answers", "settled", "admin_log"):
            for change in (f"UPDATE {table} SET number = 1", f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"):
                with pytest.raises(StorageError, match="insert-only"):
                    database.write(lambda c, change=change: c.exec_driver_sql(change).rowcount).result()
        with pytest.raises(InputError, match="pg_dump"):
            database.backup(tmp_path / "copy.db")
    shown = CliRunner().invoke(main, ["arena", "verify", "--database", server.address])
    assert shown.exit_code == 0 and shown.output.startswith("31 answers"), shown.output
    with pytest.raises(InputError, match="another mode"):
        ArenaDatabase.open(server.address, mode="expert")


def test_what_cannot_be_opened_is_refused_without_its_password(server: PostgresServer) -> None:
    host, word = f"host={server.folder}", "s3cret-word"
    for address in (
        f"postgresql://arena:{word}@/none?{host}",
        f"postgresql://arena@/none?{host}&password={word}",
        "postgresql://[",
        "postgresql://x:y",
    ):
        with pytest.raises(InputError) as refused:
            ArenaDatabase.open(address)
        assert word not in str(refused.value)


def test_no_command_prints_the_password_of_its_database(server: PostgresServer, tmp_path: Path) -> None:
    host, word = f"host={server.folder}", "s3cret-word"
    given = [f"postgresql://arena:{word}@/arena?{host}", f"postgresql://arena@/arena?{host}&password={word}"]
    unknown = [f"postgresql+psycopg://arena:{word}@/arena?{host}"]
    commands = [["people", "--suspend", "nobody"], ["people", "--forget", "nobody"], ["release", "r3", str(tmp_path / "r3")]]
    for address in (*given, *unknown):
        for command in commands:
            done = CliRunner().invoke(main, ["arena", *command, "--database", address])
            assert done.exit_code != 0 and word not in done.output and word not in str(done.exception), done.output


WORKER = """
import json, sys, uuid
from pathlib import Path
from salon_arena import ArenaDatabase, WorkService, read_material
from salon_arena.forms import panel_task
from salon_arena.service import AnswerBody
folder = Path(sys.argv[2])
with ArenaDatabase.open(sys.argv[1]) as database:
    service = WorkService(database, panel_task(read_material(folder / "pictures", folder / "prompts.jsonl")))
    open_raters = [service.people.join().result().rater_id for _ in range(3)]
    while open_raters:
        for rater in list(open_raters):
            tasks = service.lease(rater).result()["tasks"]
            if not tasks:
                open_raters.remove(rater)
                continue
            service.look(rater, tasks[0]["assignment"])
            body = AnswerBody(answer_id=uuid.uuid4(), assignment=tasks[0]["assignment"], choice=[[3, 3, 3]] * 3, elapsed_ms=5)
            service.answer(rater, body).result()
            print(body.answer_id, flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_four_servers_lease_no_panel_beyond_its_quota_and_lose_nothing(server: PostgresServer, tmp_path: Path) -> None:
    write_material(tmp_path, size=8)
    command = [sys.executable, "-c", WORKER, server.address, str(tmp_path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    acknowledged: list[str] = []
    for worker in workers:
        out, errors = worker.communicate(timeout=600)
        assert worker.returncode == 0, errors
        acknowledged += out.split()
    with ArenaDatabase.open(server.address) as database:
        rows = database.read(lambda c: list(c.exec_driver_sql("SELECT subject FROM assignments WHERE state <> 'void'")))
        stored = database.read(lambda c: list(c.exec_driver_sql("SELECT answer_id FROM answers").scalars()))
        assert verify_answers(database).problems == ()
        assert database.worker == 5
    quota = Counter(row[0] for row in rows)
    assert len(quota) == 8 and set(quota.values()) == {2}
    assert sorted(stored) == sorted(acknowledged) and len(stored) == 16


@pytest.mark.slow  # stops a server and starts it again
def test_a_restarted_server_costs_a_503_and_no_answer(server: PostgresServer, tmp_path: Path, body: Body) -> None:
    material = read_material(*write_material(tmp_path))
    with ArenaDatabase.open(server.address) as database:
        service = WorkService(database, panel_task(material))
        rater = service.people.join().result().rater_id
        first, second = service.lease(rater).result()["tasks"][:2]
        for task in (first, second):
            service.look(rater, task["assignment"])
        before = body(first, [[1, 2, 3]] * 3)
        service.answer(rater, before).result()
        server.stop()
        after = body(second, [[1, 2, 3]] * 3)
        with pytest.raises(StorageError):
            service.answer(rater, after).result()
        with pytest.raises(StorageError):
            database.read(lambda connection: connection.exec_driver_sql("SELECT 1").all())
        server.start()
        assert service.answer(rater, after).result() == {"answer_id": str(after.answer_id), "version": 1}
        assert service.answer(rater, before).result()["version"] == 1
        assert verify_answers(database).answers == 2 and verify_answers(database).problems == ()


@pytest.mark.slow
@pytest.mark.browser
def test_the_command_serves_from_postgres_and_a_page_sends_again_what_a_restart_refused(
    server: PostgresServer, tmp_path: Path, browser: Browser
) -> None:
    """Answers given while Postgres is down get 503, stay in the browser, and arrive once when it is back."""
    pictures, prompts = write_material(tmp_path)
    words = ["arena", "serve", str(pictures), "--prompts", str(prompts), "--database", server.address, "--port", "0"]
    serving = subprocess.Popen([*SALON, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert serving.stdout is not None
    address = serving.stdout.readline().split("Open ")[1].split(" ")[0]
    context = browser.new_context()
    page = context.new_page()
    statuses: list[int] = []
    page.on("response", lambda reply: statuses.append(reply.status) if reply.url.endswith("/answers") else None)

    def vote(number: int) -> None:
        page.wait_for_selector(".stage.shown")
        page.keyboard.press("1")
        page.wait_for_function("number => document.querySelector('#progress').textContent.startsWith(`${number} `)", arg=number)

    page.goto(address)
    page.get_by_role("button", name="I agree").click()
    vote(1)
    page.wait_for_function("() => document.querySelector('#message').textContent === ''")
    server.stop()
    vote(2)
    vote(3)
    page.wait_for_function("() => document.querySelector('#message').textContent.startsWith('No connection')")
    assert page.evaluate("fetch('/healthz').then((reply) => reply.status)") == 503
    server.start()
    for _ in range(200):
        if statuses.count(200) == 3:
            break
        page.wait_for_timeout(200)
    assert set(statuses) == {200, 503} and statuses.count(200) == 3
    context.close()
    serving.send_signal(signal.SIGINT)
    assert serving.wait(60) == 0
    with ArenaDatabase.open(server.address) as database:
        choices = database.read(lambda c: list(c.exec_driver_sql("SELECT choice FROM answers ORDER BY number").scalars()))
        assert choices == ["left"] * 3 and verify_answers(database).problems == ()

"""No vote is acknowledged that a restart would not find: the file was removed, replaced, overwritten or is served twice."""

import json
import resource
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from postgres_server import PostgresServer, programs
from small_arena import seen, write_material
from test_arena_commands import SALON
from test_arena_over_http import Visitor, run, visitors

from salon_arena import ArenaDatabase, Material, WorkService, create_app, vote_service
from salon_arena.prompt_tasks import PromptTask
from salon_arena.service import AnswerBody
from salon_arena.verify import verify_answers
from salon_console import main
from salon_taxonomy.errors import InputError, StorageError

Body = Callable[..., AnswerBody]


def removed(path: Path, _: Path) -> None:
    path.unlink()


def moved_away(path: Path, _: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def another_moved_over(path: Path, backup: Path) -> None:
    backup.replace(path)


def journal_removed(path: Path, _: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def folder_away(path: Path, _: Path) -> None:
    """As when a network file system is gone."""
    path.parent.rename(path.parent.with_name("gone"))


DIGESTS = "SELECT digests FROM assignments WHERE assignment_id = ?"
LOSSES = (removed, moved_away, another_moved_over, journal_removed, folder_away)


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_votes_are_refused_from_the_moment_on_when_a_restart_would_not_find_them(
    tmp_path: Path, material: Material, lose: Callable[[Path, Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    (folder := tmp_path / "data").mkdir()
    path, backup = folder / "arena.db", tmp_path / "backup.db"
    acknowledged: list[str] = []

    async def work() -> None:
        async with visitors(service) as [visitor]:

            async def vote() -> int:
                [task, *_] = tasks if tasks else await visitor.pairs()
                answer = str(uuid4())
                reply = await visitor.answer(task, answer_id=answer)
                acknowledged.extend([answer] if reply.status_code == 200 else [])
                return reply.status_code

            tasks: list[dict[str, Any]] = []
            assert [await vote() for _ in range(3)] == [200] * 3
            database.backup(backup)
            assert [await vote() for _ in range(2)] == [200] * 2
            assert (await visitor.ask("GET", "/healthz")).status_code == 200
            tasks = (await visitor.pairs())[:1]
            await visitor.look(tasks[0])
            lose(path, backup)
            assert [await vote() for _ in range(3)] == [503] * 3
            assert (await visitor.ask("GET", "/healthz")).status_code == 503
        assert str(path) in caplog.text

    with ArenaDatabase.open(path) as database:
        service = vote_service(database, material)
        run(work)
    assert len(acknowledged) == 5


def test_a_backup_that_is_copied_into_the_open_file_loses_no_acknowledged_vote(
    tmp_path: Path, material: Material, body: Body
) -> None:
    path, acknowledged = tmp_path / "arena.db", 0
    with ArenaDatabase.open(path) as database:
        service = vote_service(database, material)
        rater = service.people.join().result().rater_id
        for turn in range(6):
            if turn == 2:
                database.backup(tmp_path / "backup.db")
            if turn == 4:
                path.write_bytes((tmp_path / "backup.db").read_bytes())
            try:
                service.answer(rater, body(seen(service, rater))).result()
            except (StorageError, AssertionError):
                continue
            acknowledged += 1
    with ArenaDatabase.open(path) as again:
        found = verify_answers(again)
        assert found.answers == acknowledged >= 4 and found.problems == ()


def test_a_file_that_comes_back_takes_votes_again(tmp_path: Path, material: Material, body: Body) -> None:
    (folder := tmp_path / "data").mkdir()
    with ArenaDatabase.open(folder / "arena.db") as database:
        service = vote_service(database, material)
        rater = service.people.join().result().rater_id
        sent = body(seen(service, rater))
        folder.rename(tmp_path / "gone")
        for _ in range(2):
            with pytest.raises(StorageError, match="no longer the file"):
                service.answer(rater, sent).result()
        with pytest.raises(StorageError):
            database.check()
        (tmp_path / "gone").rename(folder)
        database.check()
        first = service.answer(rater, sent).result()
        assert service.answer(rater, sent).result() == first
    with ArenaDatabase.open(folder / "arena.db") as again:
        assert verify_answers(again).answers == 1 and verify_answers(again).problems == ()


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_vote_that_was_committed_to_a_lost_file_is_not_acknowledged(
    tmp_path: Path, material: Material, body: Body, moment: str
) -> None:
    path = tmp_path / "lost.db"
    with ArenaDatabase.open(path) as database:
        service = vote_service(database, material)
        rater = service.people.join().result().rater_id
        sent = body(seen(service, rater))
        before = database.write(lambda _: path.unlink() if moment == "after the commit" else None)
        if moment == "before the commit":
            before.result()
            path.unlink()
        with pytest.raises(StorageError):
            service.answer(rater, sent).result()
        if moment == "after the commit":
            with pytest.raises(StorageError):
                before.result()


def test_a_second_server_on_one_file_is_refused_and_other_commands_are_not(tmp_path: Path) -> None:
    pictures, prompts = write_material(tmp_path)
    words = [*SALON, "arena", "serve", str(pictures), "--prompts", str(prompts), "--database", str(tmp_path / "a.db")]
    words += ["--port", "0"]
    first = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None and "Open http" in first.stdout.readline()
        second = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert (second.returncode, "is served already" in second.stderr, second.stdout) == (2, True, "")
        assert CliRunner().invoke(main, ["arena", "invite", "--database", str(tmp_path / "a.db")]).exit_code == 0
    finally:
        first.terminate()
        first.communicate(timeout=60)
    with ArenaDatabase.open(tmp_path / "a.db") as database:
        for _ in range(2):  # the lock goes with the server
            with database.served_alone(), pytest.raises(InputError, match="is served already"), database.served_alone():
                pass


def test_a_file_of_two_names_is_not_served(tmp_path: Path) -> None:
    with ArenaDatabase.open(tmp_path / "a.db") as database:
        (tmp_path / "b.db").hardlink_to(tmp_path / "a.db")
        with pytest.raises(InputError, match="has a second name"), database.served_alone():
            pass
        (tmp_path / "b.db").unlink()
        with database.served_alone():
            pass


def test_a_file_that_is_reached_through_a_link_is_the_same_file(tmp_path: Path, body: Body, material: Material) -> None:
    """SQLite keeps its other files beside the file that a link leads to; so does the lock of a server."""
    (tmp_path / "disk").mkdir()
    link = tmp_path / "arena.db"
    link.symlink_to(tmp_path / "disk" / "a.db")
    with ArenaDatabase.open(link) as linked, ArenaDatabase.open(tmp_path / "disk" / "a.db") as database:
        for one, other in ((linked, database), (database, linked)):
            with one.served_alone(), pytest.raises(InputError, match="is served already"), other.served_alone():
                pass
        service = vote_service(linked, material)
        rater = service.people.join().result().rater_id
        task = seen(service, rater)
        (tmp_path / "disk" / "a.db-wal").rename(tmp_path / "disk" / "elsewhere")
        with pytest.raises(StorageError, match="no longer the file"):
            service.answer(rater, body(task)).result()
        with pytest.raises(StorageError, match="no longer the file"):
            linked.check()


@pytest.mark.skipif(programs() is None, reason="needs Debian's package postgresql")
def test_a_dump_that_is_restored_under_a_server_on_postgres_stops_it(tmp_path: Path, material: Material, body: Body) -> None:
    server = PostgresServer()
    try:
        with ArenaDatabase.open(server.address) as database:
            service = vote_service(database, material)
            rater = service.people.join().result().rater_id
            service.answer(rater, body(seen(service, rater))).result()
            database.check()
            with ArenaDatabase.open(server.address) as dump:
                for change in ("ALTER TABLE chain DISABLE TRIGGER USER", "DELETE FROM chain WHERE number > 2"):
                    dump.write(lambda c, change=change: c.exec_driver_sql(change).rowcount).result()  # type: ignore[misc]
            with pytest.raises(StorageError, match="backup was restored"):
                service.people.join().result()
            with pytest.raises(StorageError, match="backup was restored"):
                database.check()
    finally:
        server.close()


# A task is answered by who has seen it


def test_a_task_is_answered_once_all_its_files_were_sent_whole_to_its_rater(service: WorkService) -> None:
    async def work() -> None:
        async with visitors(service, 2) as (visitor, other):
            [pair, *_] = await visitor.pairs()
            body = {"choice": "left", "elapsed_ms": 5, "assignment": pair["assignment"], "supersedes": None}

            async def tried() -> tuple[int, str]:
                reply = await visitor.ask("POST", "/answers", json={**body, "answer_id": str(uuid4())})
                return reply.status_code, reply.json().get("error", "")

            refused = (409, "not_shown")
            assert await tried() == refused
            for ask in (visitor.client.head, other.client.get):
                for file in pair["media"]:
                    await ask(file)
            await visitor.ask("GET", pair["media"][0])
            await visitor.ask("GET", f"/media/{pair['assignment']}/frames")
            await visitor.ask("GET", pair["media"][0])
            assert await tried() == refused
            await visitor.ask("GET", pair["media"][1])
            assert (await tried())[0] == 200

    run(work)


def test_a_file_that_was_broken_off_was_not_sent_whole(service: WorkService) -> None:
    """The server notes it before the last part of the file leaves, and a client that leaves before gets that far no more."""
    session = service.people.join().result()
    task = service.lease(session.rater_id).result()["tasks"][0]
    application = create_app(service, hosts=["*"])
    parts: list[int] = []

    async def ask(address: str, *, leaves: bool) -> None:
        headers = [(b"host", b"arena.test"), (b"cookie", f"salon={session.token}".encode())]
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "path": address,
                 "raw_path": address.encode(), "query_string": b"", "headers": headers, "scheme": "http",
                 "server": ("arena.test", 80), "client": ("127.0.0.1", 1), "root_path": ""}  # fmt: skip

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                if leaves:
                    raise ConnectionResetError
                parts.append(len(message["body"]))

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        try:
            await application(scope, receive, send)
        except ConnectionResetError:
            assert leaves

    async def work() -> None:
        for leaves, wanted in ((True, [None, None]), (False, 2)):
            for address in task["media"]:
                await ask(address, leaves=leaves)
            text = service.database.read(lambda c: c.exec_driver_sql(DIGESTS, (task["assignment"],)).scalar_one())
            known = json.loads(text) if text else [None, None]
            assert known == wanted if leaves else len({*known}) == wanted and None not in known

    run(work)
    assert sum(parts) == 2 << 16


def test_what_was_sent_while_the_database_was_locked_can_be_answered_afterwards(
    service: WorkService, database: ArenaDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with visitors(service) as [visitor]:
            [pair, *_] = await visitor.pairs()
            write = database.write
            monkeypatch.setattr(database, "write", lambda _: write(lambda c: c.exec_driver_sql("no SQL").rowcount))
            await visitor.look(pair)
            assert (await visitor.answer(pair)).status_code == 503
            monkeypatch.undo()
            assert (await visitor.answer(pair)).status_code == 200
        assert verify_answers(database).problems == ()

    run(work)


def test_answers_that_are_sent_again_are_counted_once(service: WorkService) -> None:
    async def counted(visitor: Visitor) -> str:
        [line] = [line for line in (await visitor.ask("GET", "/metrics")).text.split("\n") if "answers_total" in line]
        return line.split()[1]

    async def work() -> None:
        async with visitors(service) as [visitor]:
            for number in range(3):
                [pair, *_] = await visitor.pairs()
                fixed = str(uuid4())
                for _ in range(11):
                    assert (await visitor.answer(pair, answer_id=fixed)).status_code == 200
                assert await counted(visitor) == str(number + 1)

    run(work)


# A disk that is full, or cannot be written


@pytest.mark.parametrize("command", ["backup new.db", "release votes new", "release datasets new", "invite", "verify"])
def test_a_command_on_a_full_disk_ends_with_exit_code_1_and_works_later(
    tmp_path: Path, material: Material, body: Body, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, material)
        rater = service.people.join().result().rater_id
        for _ in range(2):
            service.answer(rater, body(seen(service, rater))).result()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        done = CliRunner().invoke(main, ["arena", *command.split()])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (done.exit_code, done.stderr.count("Error:")) == (1, 1) and "Free the disk" in done.stderr, done.output
    assert not list(tmp_path.glob("*new*"))
    done = CliRunner().invoke(main, ["arena", *command.split()])
    assert done.exit_code == 0, done.output


def test_a_file_that_may_not_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    """A database on a disk that was mounted read-only; root may write any other file."""
    path = tmp_path / "arena.db"
    with ArenaDatabase.open(path):
        pass
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as reader:
        assert list(reader.execute("SELECT count(*) FROM answers")) == [(0,)]
    monkey = "PRAGMA query_only = ON"
    with ArenaDatabase.open(path) as database:
        database.write(lambda c: c.exec_driver_sql(monkey).rowcount).result()
        with pytest.raises(StorageError, match="readonly"):
            WorkService(database, PromptTask(3)).people.join().result()

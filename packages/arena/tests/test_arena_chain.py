"""Whatever is changed, removed, added, repeated or moved in what boards and releases read, `salon arena verify` names it."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_arena import Clock, seen, write_material
from sqlalchemy import Connection, insert
from test_arena_follows_mef import known_pairs

from salon_arena import ArenaDatabase, export_answers, read_material, vote_service
from salon_arena.admin import Action, act
from salon_arena.battles import BattleRules
from salon_arena.board import LiveBoard
from salon_arena.chain import bind, link_value, row_digest
from salon_arena.conversion import HEAD
from salon_arena.errors import RefusedError
from salon_arena.people import forget
from salon_arena.publishing import PublishedBoard
from salon_arena.quality import _write_flags
from salon_arena.service import AnswerBody
from salon_arena.tables import BOUND, CHAIN, RATERS, UNBOUND_SETTINGS
from salon_arena.verify import verify_answers
from salon_console import main

Body = Callable[..., AnswerBody]
FLAG = {"reason": "too_fast", "value": 0.25, "threshold": 0.5, "explanation": "0.2 s each"}


@pytest.fixture
def voted(tmp_path: Path, body: Body, clock: Clock) -> Path:
    """An arena with everything that is bound: votes, anchors, an undo, a void, flags, a board, actions of an admin."""
    pictures, prompts = write_material(tmp_path)
    (pictures / "Canary-Alpha-7f3" / "canary-prompt-1.0.png").write_bytes(b"no picture")
    material = read_material(pictures, prompts)
    path = tmp_path / "arena.db"
    with ArenaDatabase.open(path) as database:
        service = vote_service(database, material, rules=BattleRules(anchors=known_pairs(material, 16)), clock=clock)
        raters = [service.people.join(occupation=who).result().rater_id for who in ("design", None, "ai")]
        admin = service.people.join(invite=service.people.invite("admin").result()).result().rater_id
        for turn in range(16):
            for rater in raters:
                try:
                    task = seen(service, rater)
                except RefusedError as error:  # its file is no picture
                    assert error.code == "task_closed"
                    continue
                sent = body(task, ["left", "right", "both_good", "both_bad"][turn % 4])
                service.answer(rater, sent).result()
                if turn == 5:
                    service.answer(rater, body(task, "undo", supersedes=sent.answer_id)).result()
            clock.forward(4)
        clock.forward(61)
        service.settle_due().result()
        assert isinstance(service.task.board, LiveBoard)
        assert PublishedBoard(service.task.board, hidden=False).publish(clock.now)
        database.write(lambda c: _write_flags(c, [{"rater_id": rater, **FLAG} for rater in raters[:2]])).result()
        database.write(lambda c: _write_flags(c, [{"rater_id": raters[0], **FLAG}])).result()
        act(database, admin, Action(action="suspend", rater=raters[1]), clock.now)
        database.write(lambda c: forget(c, raters[1])).result()
        assert verify_answers(database).problems == ()
    return path


@pytest.mark.parametrize("seed", range(2))
def test_at_every_moment_of_an_honest_arena_everything_fits(tmp_path: Path, body: Body, clock: Clock, seed: int) -> None:
    """Answers that are open, changed, taken back, taken back and given again, due, settled by time or by the next one."""
    draw = random.Random(seed)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, read_material(*write_material(tmp_path)), clock=clock)
        raters = [service.people.join().result().rater_id for _ in range(3)]
        last: dict[str, tuple[Any, AnswerBody]] = {}
        refused = 0
        for turn in range(32):
            rater, what = draw.choice(raters), draw.choice([*["vote"] * 4, "left", "undo", "undo", "both_bad", "wait"])
            if what == "vote":
                task = draw.choice(service.lease(rater).result()["tasks"])  # one that was taken back may wait
                service.look(rater, task["assignment"])
                last[rater] = (task, body(task, draw.choice(["left", "right", "both_good"])))
                service.answer(rater, last[rater][1]).result()
            elif what == "wait":
                clock.forward(draw.choice((1, 11)))
                service.settle_due().result()
            elif rater in last:
                task, sent = last[rater]
                last[rater] = (task, body(task, what, supersedes=sent.answer_id))
                try:
                    service.answer(rater, last[rater][1]).result()
                except RefusedError as error:
                    assert error.status == 409
                    refused += 1
                    del last[rater]
            assert verify_answers(database).problems == (), turn
        assert refused and verify_answers(database).answers > 10


def verified(path: Path, head: str) -> str:
    """What the command says; it never ends in a traceback."""
    reply = CliRunner().invoke(main, ["arena", "verify", "--database", str(path), "--head", head])
    assert isinstance(reply.exception, SystemExit | None), reply.exception
    return f"{reply.exit_code} {reply.output}"


def head_of(path: Path) -> str:
    with ArenaDatabase.open(path) as database:
        return verify_answers(database).head


def changed(path: Path, script: Callable[[sqlite3.Connection], object]) -> Path:
    """A copy in which whoever owns the file changed something."""
    copy = path.with_name("copy.db")
    for part in ("", "-wal", "-shm"):
        Path(f"{copy}{part}").unlink(missing_ok=True)
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for (trigger,) in list(connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")):
            connection.execute(f"DROP TRIGGER {trigger}")
        script(connection)
        connection.commit()
    return copy


def other(value: Any, generator: random.Random) -> Any:
    """A value that differs as little as one can."""
    if value is None:
        return "x"
    if isinstance(value, int | float):
        return value + generator.choice([-1, 1])
    place = generator.randrange(len(value)) if value else 0
    return f"{value[:place]}{'0' if value[place : place + 1] != '0' else '1'}{value[place + 1 :]}"


def tampers(path: Path, generator: random.Random, rows_of_each: int) -> Iterator[tuple[str, str, Callable[[Any], object]]]:
    """Each kind of change of some rows of every table that the chain binds, with words that the complaint must have."""
    for table in (*BOUND, CHAIN):
        name, key = table.name, [column.name for column in table.primary_key.columns]
        columns = [column.name for column in table.columns]
        with closing(sqlite3.connect(path)) as connection:
            rows = list(connection.execute(f"SELECT rowid, * FROM {name}"))
        rows = [
            row for row in rows if row[1] not in UNBOUND_SETTINGS and not (name == "settings" and row[1] == "schema_version")
        ]
        assert rows, name
        for row in generator.sample(rows, min(rows_of_each, len(rows))):
            rowid, words = row[0], "link" if table is CHAIN else name
            column = generator.choice(columns)
            value = other(row[1 + columns.index(column)], generator)
            if column in key and isinstance(value, int):
                value += 10_000  # the next number is another row's
            if not (name == "settings" and column == "key"):
                yield (
                    f"{name}.{column} of {row[1]}",
                    words,
                    lambda c, n=name, k=column, v=value, r=rowid: c.execute(f"UPDATE {n} SET {k} = ? WHERE rowid = ?", (v, r)),
                )
            if name != "settings":
                yield (
                    f"{name} without {row[1]}",
                    words,
                    lambda c, n=name, r=rowid: c.execute(f"DELETE FROM {n} WHERE rowid = ?", (r,)),
                )
            twice = list(row[1:])
            for part in key:
                place = columns.index(part)
                twice[place] = 10_000 if isinstance(twice[place], int) else f"{twice[place]}+"
            yield f"{name} twice {row[1]}", words, lambda c, n=name, v=twice: inserted(c, n, v)
        if len(rows) > 1:
            one, two = generator.sample(rows, 2)
            yield f"{name} moved", words, lambda c, n=name, k=columns, a=one, b=two: swapped(c, n, k, a, b)


def inserted(connection: sqlite3.Connection, table: str, values: list[Any]) -> None:
    """A further row; what else must be unique is changed as well."""
    marks = ", ".join("?" * len(values))
    for attempt in range(3):
        try:
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)
            return
        except sqlite3.IntegrityError:
            values = [f"{value}{attempt}+" if isinstance(value, str) else value for value in values]
    raise AssertionError(table)


def swapped(connection: sqlite3.Connection, table: str, columns: list[str], one: Any, two: Any) -> None:
    """Two rows with each other's contents but their keys' place."""
    connection.execute(f"DELETE FROM {table} WHERE rowid IN (?, ?)", (one[0], two[0]))
    first = columns[0]
    for row, number in ((one[1:], two[1]), (two[1:], one[1])):
        values = dict(zip(columns, row, strict=True)) | {first: number}
        marks = ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))


@pytest.mark.parametrize("rows_of_each", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_a_row_that_was_changed_removed_repeated_or_moved_is_named(voted: Path, rows_of_each: int) -> None:
    head = head_of(voted)
    assert verified(voted, head).startswith("0 ")
    missed = []
    for what, words, script in tampers(voted, random.Random(rows_of_each), rows_of_each):
        said = verified(changed(voted, script), head)
        if said.startswith("0 ") or words not in said:
            missed.append((what, said))
    assert missed == []


def test_losses_that_were_taken_off_the_board_are_named_without_a_published_head(voted: Path) -> None:
    """Settled rows removed and their tasks made void: the board of one model had no losses left."""
    lost = "SELECT assignment_id FROM settled WHERE kind = 'battle' AND winner = 'model_b' AND model_a LIKE 'Canary-Beta%'"

    def script(connection: sqlite3.Connection) -> None:
        tasks = [row[0] for row in connection.execute(lost)]
        assert tasks
        for task in tasks:
            connection.execute("DELETE FROM settled WHERE assignment_id = ?", (task,))
            connection.execute("UPDATE assignments SET state = 'void' WHERE assignment_id = ?", (task,))
        connection.execute("DELETE FROM chain")  # and a chain of one's own instead
        rows = [["x", "y", row_digest([1])]]
        connection.execute("INSERT INTO chain VALUES (1, ?, ?)", (str(rows), link_value("", 1, str(rows))))

    reply = CliRunner().invoke(main, ["arena", "verify", "--database", str(changed(voted, script))])
    assert reply.exit_code == 1 and "its settled vote is missing" in reply.output


@pytest.mark.parametrize("place", ["first", "second"])
def test_a_chain_of_ones_own_cannot_name_a_published_value_as_that_of_an_earlier_layout(voted: Path, place: str) -> None:
    head = head_of(voted)

    def script(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE raters SET occupation = 'media'")
        connection.execute("DELETE FROM chain")
        rows: list[list[str | None]] = [[HEAD, head, None]]
        for table in BOUND:
            key = [column.name for column in table.primary_key.columns]
            names = [column.name for column in table.columns]
            for row in connection.execute(f"SELECT {', '.join(names)} FROM {table.name}"):
                written = "\x1f".join(str(row[names.index(name)]) for name in key)
                rows += [] if written in UNBOUND_SETTINGS else [[table.name, written, row_digest(row)]]
        before = ""
        for number, some in enumerate([rows] if place == "first" else [rows[1:], rows[:1]], start=1):
            text = json.dumps(some)
            before = link_value(before, number, text)
            connection.execute("INSERT INTO chain VALUES (?, ?, ?)", (number, text, before))

    said = verified(changed(voted, script), head)
    assert said.startswith("1 ") and "the given head is not in the chain" in said
    assert "of the earlier layout is not that of the answers" in said


@pytest.mark.parametrize("count", [40, pytest.param(600, marks=pytest.mark.slow)])
def test_a_byte_of_the_file_that_was_changed_is_named_or_changes_nothing_that_is_read(voted: Path, count: int) -> None:
    head = head_of(voted)
    generator = random.Random(count)
    content = voted.read_bytes()

    def bound(path: Path) -> list[Any]:
        with closing(sqlite3.connect(path)) as connection:
            return [list(connection.execute(f"SELECT * FROM {table.name} ORDER BY 1, 2")) for table in (*BOUND, CHAIN)]

    before = bound(voted)
    copy = voted.with_name("copy.db")
    for place in generator.sample(range(100, len(content)), count):
        for part in ("-wal", "-shm"):
            Path(f"{copy}{part}").unlink(missing_ok=True)
        copy.write_bytes(content[:place] + bytes([content[place] ^ (1 << generator.randrange(8))]) + content[place + 1 :])
        if verified(copy, head).startswith("0 "):
            assert bound(copy) == before, place


def test_whatever_a_server_and_its_commands_write_is_bound(voted: Path, tmp_path: Path) -> None:
    """Each command that writes leaves a database that verifies."""
    arguments = [
        ["invite", "--count", "2"],
        ["account", "ann", "--password", "a long password of ann"],
        ["export", "--store", str(tmp_path / "store")],
        ["release", "votes", str(tmp_path / "votes")],
    ]
    for words in arguments:
        reply = CliRunner().invoke(main, ["arena", *words, "--database", str(voted)])
        assert reply.exit_code == 0, reply.output
        with ArenaDatabase.open(voted) as database:
            assert verify_answers(database).problems == (), words
    with ArenaDatabase.open(voted) as database:
        export_answers(database, tmp_path / "store")
        assert verify_answers(database).problems == ()


def test_one_transaction_may_write_more_rows_than_a_statement_takes_values(tmp_path: Path) -> None:
    """An import of labels is one transaction, however many answers the file has; SQLite has a limit of values."""

    def work(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 10_500)
        raters = [f"rater-{number}" for number in range(11_000)]
        connection.execute(insert(RATERS), [{"rater_id": rater, "created_at": 0, "role": "rater"} for rater in raters])
        bind(connection, RATERS, *raters)

    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        database.write(work).result()
        assert verify_answers(database).problems == ()

"""What a request costs does not grow with other people, and nobody waits for another's mistake, board or lock."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from small_arena import Clock, seen
from sqlalchemy import event
from test_arena_follows_mef import big_material

from salon_arena import ArenaDatabase, RefusedError, WorkService, board, planner, vote_service
from salon_arena.blind import BlindSet
from salon_arena.forms import panel_task
from salon_arena.labels import LabelTask
from salon_arena.service import LEASE_SECONDS, AnswerBody
from salon_taxonomy.errors import StorageError
from salon_taxonomy.taxonomy import Taxonomy

Body = Callable[..., AnswerBody]
WORK: dict[str, tuple[Any, Any]] = {
    "battles": (lambda _: None, "left"),
    "opinion scores": (panel_task, [[3, 3, 3]] * 3),
    "labels": (lambda material: LabelTask(material, Taxonomy.load("magicmirror")), {"marks": [], "level": None}),
}


def begun(database: ArenaDatabase) -> list[int]:
    """Grows by one entry with every write transaction that begins, or cannot."""
    found: list[int] = []
    engine = database.write(lambda c: c.engine).result()
    event.listen(engine, "engine_connect", lambda _: found.append(1))
    return found


@contextmanager
def held(database: ArenaDatabase) -> Iterator[None]:
    """Let requests gather: the writer works on something else meanwhile."""
    started, go_on = threading.Event(), threading.Event()
    database.write(lambda _: (started.set(), go_on.wait(60)))
    started.wait(60)
    yield
    go_on.set()


def instructions(database: ArenaDatabase, work: Callable[[], object]) -> int:
    """Instructions of SQLite's machine that the writer takes for ``work``."""
    counted = 0

    def tick() -> int:
        nonlocal counted
        counted += 1
        return 0

    database.write(lambda c: c.connection.driver_connection.set_progress_handler(tick, 1)).result()  # type: ignore[union-attr]
    work()
    database.write(lambda c: c.connection.driver_connection.set_progress_handler(None, 1)).result()  # type: ignore[union-attr]
    return counted


def answer_first(service: WorkService, rater: str, body: Body, choice: Any) -> None:
    task = service.lease(rater).result()["tasks"][0]
    fetched = BlindSet((), "", ("0" * 64,) * len(task["media"]))  # the files of big material are empty
    for place in range(len(task["media"])):
        service.sent(rater, task["assignment"], fetched, place).result()
    service.answer(rater, body(task, choice)).result()


@pytest.mark.parametrize("kind", WORK)
def test_an_answer_and_a_task_take_no_more_work_when_many_others_have_answered(
    tmp_path: Path, database: ArenaDatabase, body: Body, clock: Clock, kind: str
) -> None:
    material = big_material(tmp_path)
    make, choice = WORK[kind]
    task = make(material)
    service = vote_service(database, material, clock=clock) if task is None else WorkService(database, task, clock=clock)
    found = []
    for others in (10, 100):
        for _ in range(others):
            answer_first(service, service.people.join().result().rater_id, body, choice)
        clock.forward(2 * LEASE_SECONDS)  # what they hold open runs out
        if kind != "battles":  # work of few people: what is open and not final yet is counted with each task
            service.settle_due().result()
            database.write(lambda c: c.exec_driver_sql("DELETE FROM assignments WHERE state = 'open'").rowcount).result()
        raters = [service.people.join().result().rater_id for _ in range(3)]
        for rater in raters:
            answer_first(service, rater, body, choice)
        taken = [
            instructions(database, lambda rater=rater: answer_first(service, rater, body, choice))  # type: ignore[misc]
            for rater in raters
        ]
        found.append(min(taken))
        service.settle_due().result()
    assert found[1] < 1.2 * found[0], found


def test_a_refused_request_costs_those_of_its_commit_no_commit_of_their_own(
    service: WorkService, database: ArenaDatabase, body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salon_arena.database._LONGEST_TOGETHER", 60.0)
    raters = [service.people.join().result().rater_id for _ in range(6)]
    tasks = [seen(service, rater) for rater in raters]
    transactions = begun(database)
    with held(database):
        before = len(transactions)
        sent = [service.answer(rater, body(task)) for rater, task in zip(raters, tasks, strict=True)]
        refused = [
            service.answer(raters[0], body(tasks[1])),
            service.answer(raters[1], body(tasks[1], "undo")),
            service.answer(raters[2], body(tasks[2], "middle")),
            service.people.join(invite="of nobody"),
        ]
    for future in refused:
        with pytest.raises(RefusedError):
            future.result()
    assert [future.result()["version"] for future in sent] == [1] * 6
    assert len(transactions) - before == 1


def test_those_who_wait_for_a_locked_database_are_refused_together(
    service: WorkService, database: ArenaDatabase, body: Body
) -> None:
    rater = service.people.join().result().rater_id
    task = seen(service, rater)
    database.write(lambda c: c.exec_driver_sql("PRAGMA busy_timeout = 100").scalar()).result()
    transactions = begun(database)
    holder = sqlite3.connect(database.place, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    sent = [service.answer(rater, body(task)) for _ in range(40)]
    for future in sent:
        with pytest.raises(StorageError):
            future.result()
    assert len(transactions) < 8, len(transactions)
    holder.execute("ROLLBACK")
    assert service.answer(rater, body(task)).result()["version"] == 1


def test_no_vote_and_no_plan_waits_for_a_board_that_is_computed(
    service: WorkService, body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    raters = [service.people.join().result().rater_id for _ in range(2)]
    for _ in range(3):
        for rater in raters:
            answer_first(service, rater, body, "left")
    started, go_on, rated = threading.Event(), threading.Event(), board.rated

    def slow(*given: Any, **more: Any) -> Any:
        started.set()
        go_on.wait(60)
        return rated(*given, **more)

    monkeypatch.setattr(board, "rated", slow)
    for scenario in (None, "toys"):
        assert isinstance(service.task.board, board.LiveBoard)
        started.clear()
        go_on.clear()
        reader = threading.Thread(target=service.task.board.ranked, args=(scenario,))
        reader.start()
        assert started.wait(60)
        planning = threading.Thread(target=service.task.board.counts, daemon=True)
        planning.start()
        planning.join(20)
        waits = planning.is_alive()
        go_on.set()
        reader.join()
        assert not waits


def test_tasks_of_people_who_left_do_not_count_as_matches_once_their_leases_ran_out(
    service: WorkService, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[float] = []
    plan = planner.next_pairs
    monkeypatch.setattr(
        planner, "next_pairs", lambda state, *a, **b: planned.append(state.matches.sum()) or plan(state, *a, **b)
    )

    def leased_until_planned() -> int:
        """How many tasks are leased until the next plan is made."""
        planned.clear()
        while not planned:
            service.lease(service.people.join().result().rater_id).result()
        return int(sum(planned)) // 2

    assert leased_until_planned() == 0
    held_open = leased_until_planned()  # a plan less the few pairs that a rater would have got twice
    assert 240 <= held_open <= 256
    clock.forward(LEASE_SECONDS + 1)
    assert 236 <= leased_until_planned() <= 256

"""What happens to an answer: kept once, undone, settled, exported once; and the board that follows from it."""

import hashlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from small_arena import MODELS, PROMPTS, Clock, seen, write_material

from salon_arena import (
    ArenaDatabase,
    Material,
    RefusedError,
    WorkService,
    export_answers,
    read_material,
    vote_service,
)
from salon_arena.blind import BlindMedia, BlindSet
from salon_arena.service import AnswerBody, settle_due
from salon_ranking import Battles, rank
from salon_ranking.leaderboard.listing import with_listing
from salon_store import ResultStore
from salon_taxonomy.errors import InputError, StorageError
from salon_taxonomy.records import Side
from salon_taxonomy.verdict import Unscored

Body = Callable[..., AnswerBody]


def count(database: ArenaDatabase, table: str, where: str = "1") -> int:
    return int(database.read(lambda c: c.exec_driver_sql(f"SELECT count(*) FROM {table} WHERE {where}").scalar_one()))


def vote(service: WorkService, rater: str, body: Body, choice: str = "left") -> dict[str, Any]:
    pair = seen(service, rater)
    service.answer(rater, body(pair, choice)).result()
    return pair


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(RefusedError) as caught:
        call()
    return f"{caught.value.status} {caught.value.code}"


def test_the_same_answer_fifty_times_at_once_is_one_row_and_one_reply(
    service: WorkService, database: ArenaDatabase, body: Body
) -> None:
    rater = service.people.join().result().rater_id
    sent = body(seen(service, rater))
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: service.answer(rater, sent).result(), range(50)))
    assert all(reply == replies[0] for reply in replies)
    assert count(database, "answers") == 1


def test_the_same_id_with_another_body_and_a_second_answer_are_refused(
    service: WorkService, database: ArenaDatabase, body: Body
) -> None:
    rater, other = (service.people.join().result().rater_id for _ in range(2))
    pair = seen(service, rater)
    sent = body(pair)
    assert refused(lambda: service.answer(other, sent).result()) == "404 unknown_task"
    service.answer(rater, sent).result()
    changed = sent.model_copy(update={"choice": "right"})
    assert refused(lambda: service.answer(rater, changed).result()) == "409 other_body"
    assert refused(lambda: service.answer(rater, body(pair, "right")).result()) == "409 answered_already"
    assert count(database, "answers") == 1


def test_an_undo_replaces_the_vote_until_it_is_settled(
    service: WorkService, database: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    rater = service.people.join().result().rater_id
    first = seen(service, rater)
    sent = body(first, "left")
    service.answer(rater, sent).result()
    undo = body(first, "undo", supersedes=sent.answer_id)
    service.answer(rater, undo).result()
    again = service.lease(rater).result()["tasks"][0]
    assert again == {**first, "supersedes": str(undo.answer_id)}
    service.answer(rater, body(again, "both_bad")).result()
    clock.forward(9)
    assert service.settle_due().result() == 0
    clock.forward(1)
    assert service.settle_due().result() == 1
    late = body(first, "undo", supersedes=sent.answer_id)
    assert refused(lambda: service.answer(rater, late).result()) == "409 settled"
    assert count(database, "answers") == 3
    export_answers(database, tmp_path / "store", now=clock.now)
    assert ResultStore.open(tmp_path / "store").read("battles").collect()["winner"].to_list() == ["both_bad"]


def test_the_next_answer_settles_the_one_before(service: WorkService, database: ArenaDatabase, body: Body) -> None:
    rater = service.people.join().result().rater_id
    vote(service, rater, body)
    assert count(database, "settled") == 0
    vote(service, rater, body)
    assert count(database, "settled") == 1


def test_four_tasks_are_leased_and_stay_until_they_are_answered(service: WorkService, body: Body) -> None:
    rater = service.people.join().result().rater_id
    before = service.lease(rater).result()
    assert len(before["tasks"]) == 4
    assert service.lease(rater).result() == before
    service.look(rater, before["tasks"][1]["assignment"])
    service.answer(rater, body(before["tasks"][1])).result()
    after = service.lease(rater).result()["tasks"]
    assert [pair["assignment"] for pair in after[:3]] == [before["tasks"][place]["assignment"] for place in (0, 2, 3)]


def test_a_rater_sees_every_pair_once_and_then_no_more(service: WorkService, database: ArenaDatabase, body: Body) -> None:
    rater = service.people.join().result().rater_id
    shown = 0
    while pairs := service.lease(rater).result()["tasks"]:
        service.look(rater, pairs[0]["assignment"])
        service.answer(rater, body(pairs[0])).result()
        shown += 1
    assert shown == 3 * 4 * 2 * 2  # pairs of models, prompts, samples of either
    assert count(database, "(SELECT DISTINCT subject FROM assignments)") == shown


def test_answers_are_insert_only(service: WorkService, database: ArenaDatabase, body: Body) -> None:
    rater = service.people.join().result().rater_id
    for _ in range(2):
        vote(service, rater, body)
    for table in ("answers", "settled"):
        for change in (f"DELETE FROM {table}", f"UPDATE {table} SET assignment_id = 'x'"):
            with sqlite3.connect(database.place) as connection, pytest.raises(sqlite3.IntegrityError, match="insert-only"):
                connection.execute(change)


def test_a_locked_or_full_database_acknowledges_nothing_and_the_answer_can_be_sent_again(
    service: WorkService, database: ArenaDatabase, body: Body
) -> None:
    rater = service.people.join().result().rater_id
    sent = body(seen(service, rater))
    holder = sqlite3.connect(database.place, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError):
        service.answer(rater, sent).result()
    holder.execute("ROLLBACK")
    full = database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1").scalar())
    pages = full.result()
    other = sent.model_copy(update={"elapsed_ms": 1})
    with pytest.raises(StorageError, match="full"):
        for _ in range(200):
            service.people.join().result()
    assert count(database, "answers") == 0
    database.write(lambda c: c.exec_driver_sql(f"PRAGMA max_page_count = {pages + 100000}").scalar()).result()
    service.answer(rater, other).result()
    assert count(database, "answers") == 1


def test_one_bad_request_does_not_cost_those_that_share_its_commit(
    service: WorkService, database: ArenaDatabase, body: Body
) -> None:
    raters = [service.people.join().result().rater_id for _ in range(8)]
    pairs = [seen(service, rater) for rater in raters]
    sent = [service.answer(rater, body(pair)) for rater, pair in zip(raters, pairs, strict=True)]
    bad = service.answer(raters[0], body(pairs[1]))
    assert refused(bad.result) == "404 unknown_task"
    assert [future.result()["version"] for future in sent] == [1] * 8


CHOICES = st.sampled_from(["left", "right", "both_good", "both_bad"])


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(0, 2), CHOICES, st.sampled_from(["", "undo", "wait", "export"])), max_size=14))
def test_store_and_board_hold_exactly_the_settled_answers_whatever_is_done(
    steps: list[tuple[int, str, str]], material: Material, body: Body, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, clock = tmp_path_factory.mktemp("arena"), Clock()
    expected: dict[str, str] = {}
    with ArenaDatabase.open(folder / "arena.db") as database:
        service = vote_service(database, material, clock=clock)
        raters = [service.people.join().result().rater_id for _ in range(3)]
        for who, choice, then in steps:
            pairs = service.lease(raters[who]).result()["tasks"]
            sent = body(pairs[0], choice)
            service.look(raters[who], pairs[0]["assignment"])
            service.answer(raters[who], sent).result()
            expected[sent.assignment] = choice
            if then == "undo":
                service.answer(raters[who], body(pairs[0], "undo", supersedes=sent.answer_id)).result()
                del expected[sent.assignment]
            elif then == "wait":
                clock.forward(11)
            elif then == "export":
                export_answers(database, folder / "store", now=clock.now)
        for late in (11, 12):  # the second finds nothing new
            export_answers(database, folder / "store", now=clock.now + late * 1_000_000)
        stored = ResultStore.open(folder / "store").read("battles").collect()
        board = service.task.board.ranked()
    shown = stored.select("winner", "side_a_shown").rows()
    back = {
        ("model_a", "left"): "left",
        ("model_b", "right"): "left",
        ("model_a", "right"): "right",
        ("model_b", "left"): "right",
    }
    assert sorted(back.get(row, row[0]) for row in shown) == sorted(expected.values())
    assert board.votes == len(expected)


@pytest.mark.real_store
def test_the_live_board_is_the_board_of_the_export(
    service: WorkService, database: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    raters = [service.people.join().result().rater_id for _ in range(4)]
    choices = ["left", "right", "both_good", "left", "both_bad", "right", "right"]
    for number in range(140):
        vote(service, raters[number % 4], body, choices[number % 7])
        if number % 30 == 0:
            service.task.board.ranked()  # folded bit by bit
    clock.forward(11)
    service.settle_due().result()
    live = service.task.board.ranked()
    assert live.board is not None
    assert export_answers(database, tmp_path / "store", now=clock.now).added == 140
    with duckdb.connect(str(tmp_path / "store" / "catalog.duckdb"), read_only=True) as plain:
        assert plain.execute("SELECT count(*) FROM battles").fetchall() == [(140,)]
    battles = Battles.read(tmp_path / "store")
    offline = with_listing(rank(battles, interval="anytime"), battles)
    assert live.board.table.columns == offline.table.columns
    for name in ("model", "matches", "win_rate", "wins", "ties"):
        assert live.board.table[name].to_list() == offline.table[name].to_list()
    ratings = [board.table.sort("model")["rating"].to_numpy() for board in (live.board, offline)]
    chances = [1 / (1 + 10 ** ((each - each[:, None]) / 400)) for each in ratings]
    assert np.abs(chances[0] - chances[1]).max() <= 1e-9


def test_an_export_that_stopped_half_way_is_made_whole_by_the_next(
    service: WorkService, database: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater = service.people.join().result().rater_id
    for _ in range(5):
        vote(service, rater, body)
    clock.forward(11)
    append = ResultStore.append

    def stops(self: ResultStore, table: str, rows: Any, **options: Any) -> Any:
        if table == "battles":
            raise KeyboardInterrupt
        return append(self, table, rows, **options)

    monkeypatch.setattr(ResultStore, "append", stops)
    with pytest.raises(KeyboardInterrupt):
        export_answers(database, tmp_path / "store", now=clock.now)
    monkeypatch.undo()
    prompts = ResultStore.open(tmp_path / "store").read("prompts").collect().height
    assert prompts > 0
    assert export_answers(database, tmp_path / "store", now=clock.now).added == 5
    assert export_answers(database, tmp_path / "store", now=clock.now).added == 0
    stored = ResultStore.open(tmp_path / "store")
    assert [stored.read(table).collect().height for table in ("battles", "prompts")] == [
        5,
        stored.read("prompts").collect().height,
    ]


def test_a_battle_says_what_was_shown_to_whom_and_when(
    service: WorkService, database: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    session = service.people.join().result()
    pair = service.lease(session.rater_id).result()["tasks"][0]
    service.look(session.rater_id, pair["assignment"])
    clock.forward(5)
    service.answer(session.rater_id, body(pair, "left", elapsed_ms=4000)).result()
    left = service.payload_of(pair["assignment"])["files"][0]["model"]
    clock.forward(11)
    export_answers(database, tmp_path / "store", now=clock.now)
    store = ResultStore.open(tmp_path / "store")
    [battle] = store.read("battles").collect().to_dicts()
    assert battle[battle["winner"]] == left
    assert (battle["side_a_shown"] == Side.LEFT.value) == (battle["model_a"] == left)
    assert (battle["answered_at"] - battle["started_at"]).total_seconds() == 4
    assert (battle["rater_id"], battle["mode"], battle["scenario"], battle["labels"]) == (
        session.rater_id,
        "public",
        "toys",
        ["one"],
    )
    assert battle["plan_rule"] == "proportional" and battle["plan_stream"] in (1, 2)
    made = store.read("generations").collect()
    assert set(made["generation_id"]) == {battle["generation_a"], battle["generation_b"]}
    assert set(made["model"]) == {battle["model_a"], battle["model_b"]}


def test_material_that_cannot_be_compared_is_refused_by_name(tmp_path: Path) -> None:
    pictures, prompts = write_material(tmp_path, models=MODELS[:1])
    with pytest.raises(InputError, match="two models"):
        read_material(pictures, prompts)
    alone = read_material(pictures, prompts, compared=False)
    assert (alone.models, alone.remarks) == (MODELS[:1], ())
    assert len(alone.files) == 2 * len(PROMPTS)
    with pytest.raises(InputError, match="a task needs a model"):
        read_material(tmp_path / "pictures" / MODELS[0], prompts, compared=False)
    (pictures / "second").mkdir()
    with pytest.raises(InputError, match="named after a prompt"):
        read_material(pictures, prompts)
    with pytest.raises(InputError, match="cannot be read"):
        read_material(pictures, tmp_path / "none.jsonl")


def test_a_file_that_is_no_arena_and_another_mode_are_refused(tmp_path: Path, database: ArenaDatabase) -> None:
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
    (tmp_path / "text.db").write_text("no database " * 100)
    for path, mode, words in (
        (tmp_path / "other.db", None, "not of an arena"),
        (tmp_path / "text.db", None, "not a database"),
        (database.place, "expert", "another mode"),
        (tmp_path / "missing" / "arena.db", None, "cannot be opened"),
    ):
        with pytest.raises(InputError, match=words):
            ArenaDatabase.open(path, mode=mode)


def test_a_database_keeps_everything_over_a_restart(tmp_path: Path, material: Material, body: Body, clock: Clock) -> None:
    with ArenaDatabase.open(tmp_path / "two.db", mode="expert") as database:
        service = vote_service(database, material, clock=clock)
        session = service.people.join(invite=service.people.invite().result()).result()
        pairs = service.lease(session.rater_id).result()
    with ArenaDatabase.open(tmp_path / "two.db") as database:
        service = vote_service(database, material, clock=clock)
        assert database.mode == "expert"
        assert service.people.rater_of(session.token) == session.rater_id
        assert service.lease(session.rater_id).result() == pairs
        assert settle_due(database, clock.now).result() == 0


def test_a_file_that_was_away_or_replaced_is_read_again_and_its_digest_is_of_what_is_shown(material: Material) -> None:
    files = [file for file in material.files if file.prompt_id == material.files[0].prompt_id and file.sample == 0][:2]
    media, path = BlindMedia(), files[0].path
    first = media.prepared(files)
    content = path.read_bytes()
    path.unlink()
    assert isinstance(media.prepared(files), Unscored)
    path.write_bytes(content)
    again = media.prepared(files)
    Image.new("RGB", (40, 30), "teal").save(path)
    other = media.prepared(files)
    assert isinstance(first, BlindSet) and isinstance(again, BlindSet) and isinstance(other, BlindSet)
    assert first == again and other.media[0] != first.media[0]
    assert other.digests[0] == hashlib.sha256(path.read_bytes()).hexdigest() != first.digests[0]

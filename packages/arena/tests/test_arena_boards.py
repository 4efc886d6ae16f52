"""What raters and visitors see of a board: batches of several raters' votes, in words where models cannot be compared yet."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import combinations_with_replacement, count, pairwise, product
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from click.testing import CliRunner
from small_arena import Clock, seen
from sqlalchemy import insert
from test_arena_over_http import run, visitors
from test_arena_security import arena_of_layout_4

from salon_arena import ArenaDatabase, Material, WorkService, vote_service
from salon_arena.board import LiveBoard, rated
from salon_arena.errors import RefusedError
from salon_arena.publishing import BATCH, PERSONAL_VOTES, PublishedBoard
from salon_arena.service import AnswerBody
from salon_arena.settling import end_study
from salon_arena.tables import FLAGS
from salon_arena.verify import verify_answers
from salon_console import main
from salon_ranking.battles import Battles
from salon_taxonomy.errors import StorageError

Body = Callable[..., AnswerBody]


def of(service: WorkService, *, hidden: bool = False) -> PublishedBoard:
    assert isinstance(service.task.board, LiveBoard)
    return PublishedBoard(service.task.board, hidden=hidden)


def vote(service: WorkService, rater: str, body: Body, choice: str = "left") -> None:
    service.answer(rater, body(seen(service, rater), choice)).result()


def later(service: WorkService, clock: Clock, seconds: float = 11) -> None:
    clock.forward(seconds)
    service.settle_due().result()


def test_no_two_boards_that_are_published_differ_by_fewer_votes_than_a_batch_of_several_raters(
    service: WorkService, material: Material, body: Body, clock: Clock
) -> None:
    """Whatever is published, of all votes or of one scenario, before or after raters were flagged or let go."""
    board = of(service)
    raters = [service.people.join().result().rater_id for _ in range(3)]
    votes_seen = [0]
    for turn in range(96):
        vote(service, raters[(0, 0, 1, 0, 2, 1)[turn % 6]], body, ["left", "right", "both_good"][turn % 3])
        later(service, clock)
        if turn in (40, 60):
            row = {"rater_id": raters[1], "reason": "too_fast", "value": 1.0, "threshold": 1.0, "explanation": ""}
            change = insert(FLAGS).values(row) if turn == 40 else FLAGS.delete()
            service.database.write(lambda c, change=change: c.execute(change).rowcount).result()  # type: ignore[misc]
            service.task.board.refresh()  # type: ignore[union-attr]
        board.publish(clock.now)
        again = of(service)  # as after a restart, and on another server
        assert again.ranked() == board.ranked() or again.ranked().rows == board.ranked().rows
        if board.ranked().votes + board.ranked().left_out != votes_seen[-1]:
            votes_seen.append(board.ranked().votes + board.ranked().left_out)
    assert len(votes_seen) >= 4 and all(new - old >= BATCH / 2 for old, new in pairwise(votes_seen))


def test_votes_of_one_rater_alone_are_not_published(service: WorkService, body: Body, clock: Clock) -> None:
    board = of(service)
    one, other = (service.people.join().result().rater_id for _ in range(2))
    for _ in range(2 * BATCH):
        vote(service, one, body)
        later(service, clock, 20)
    assert board.publish(clock.now + 61_000_000) == 0 and board.ranked().votes == 0 and "batches" in board.ranked().reason
    for _ in range(48 - BATCH):
        vote(service, other, body)
    later(service, clock, 70)
    assert board.publish(clock.now) == 0  # of 68 votes the first gave 40
    assert service.task.board.ranked().votes >= 2 * BATCH  # type: ignore[union-attr]


def test_boards_that_stay_empty_say_why_where_all_raters_are_flagged(service: WorkService, body: Body, clock: Clock) -> None:
    board = of(service)
    raters = [service.people.join().result().rater_id for _ in range(2)]
    for _ in range(PERSONAL_VOTES):
        for rater in raters:
            vote(service, rater, body)
        later(service, clock)
    for rater in raters:
        row = {"rater_id": rater, "reason": "one_sided", "value": 1.0, "threshold": 0.15, "explanation": ""}
        service.database.write(lambda c, row=row: c.execute(insert(FLAGS).values(row)).rowcount).result()  # type: ignore[misc]
    service.task.board.refresh()  # type: ignore[union-attr]
    later(service, clock, 70)
    assert board.publish(clock.now) == 0
    assert "Votes of flagged raters do not count" in board.ranked().reason
    own = board.personal(raters[0])
    assert (own.votes, own.board) == (0, None)
    assert f"needs {PERSONAL_VOTES} published votes, and has 0." in own.reason and board.ranked().reason in own.reason


def test_a_board_that_is_not_published_states_why_and_counts_no_votes(service: WorkService, body: Body, clock: Clock) -> None:
    vote(service, service.people.join().result().rater_id, body)
    later(service, clock)

    async def work() -> None:
        async with visitors(service) as [visitor]:
            page = (await visitor.ask("GET", "/board")).text
            assert "settled vote" not in page
            assert f"batches of {BATCH} or more, each scenario&#x27;s by themselves, at most half" in page.replace(
                "&#39;", "&#x27;"
            )

    run(work)


def test_a_vote_counts_for_visitors_a_minute_after_it_is_final(service: WorkService, body: Body, clock: Clock) -> None:
    board = of(service)
    raters = [service.people.join().result().rater_id for _ in range(4)]
    for turn in range(BATCH):
        vote(service, raters[turn % 4], body)
    later(service, clock)
    assert board.publish(clock.now + 59_000_000) == 0
    assert board.publish(clock.now + 60_000_000) == 1 and board.ranked().votes == BATCH


@pytest.mark.parametrize("reveal", [True, False])
def test_visitors_and_raters_see_batches_and_admins_every_vote(
    database: ArenaDatabase, material: Material, body: Body, clock: Clock, reveal: bool
) -> None:
    service = vote_service(database, material, reveal=reveal, clock=clock)
    board = of(service, hidden=not reveal)

    async def work() -> None:
        async with visitors(service, 3) as (rater, stranger, admin):
            stranger.client.cookies.clear()
            session = service.people.join(invite=service.people.invite("admin").result()).result()
            admin.client.cookies.set("salon", session.token, domain="arena.test")
            tasks: list[dict[str, Any]] = []
            for number in range(34):
                [task, *_] = await rater.pairs()
                tasks.append(task)
                assert (await rater.answer(task, ["left", "right"][number % 2], answer_id=str(uuid4()))).status_code == 200
                later(service, clock)
                board.publish(clock.now)
                for path in ("/board.json", "/board.json?scenario=toys"):
                    replies = [(await who.ask("GET", path)) for who in (rater, stranger)]
                    assert all(reply.status_code == 404 or reply.json()["votes"] == 0 for reply in replies), number
                live = (await admin.ask("GET", "/board.json")).json()
                assert live["votes"] == number + 1
                mine = (await rater.ask("GET", "/board/mine")).text
                assert ("opens when the study has ended" in mine) == (not reveal) and "Canary" not in mine
            # when it has ended, everybody sees all
            end_study(database, clock.now).result()
            assert (await stranger.ask("GET", "/board.json")).json()["votes"] == 34
            assert "Canary" in (await rater.ask("GET", "/board/mine")).text
            assert (await rater.ask("POST", "/tasks")).json()["state"] == "ended"
            assert (await rater.answer(tasks[-1], "left", answer_id=str(uuid4()))).json() == {"error": "ended"}

    run(work)
    assert verify_answers(database).problems == ()


def test_the_command_that_ends_a_study_settles_its_last_answers(
    tmp_path: Path, service: WorkService, database: ArenaDatabase, body: Body
) -> None:
    rater = service.people.join().result().rater_id
    vote(service, rater, body)
    task = seen(service, rater)
    reply = CliRunner().invoke(main, ["arena", "end", "--database", str(database.place)])
    assert (reply.exit_code, reply.output) == (0, "The study has ended; 1 last answer became final.\n")
    ended = database.setting("ended")
    again = CliRunner().invoke(main, ["arena", "end", "--database", str(database.place)])
    assert (again.exit_code, database.setting("ended")) == (0, ended)  # the time at which it ended stays
    with pytest.raises(RefusedError, match="ended"):
        service.answer(rater, body(task)).result()
    assert service.task.board.ranked().votes == 1  # type: ignore[union-attr]


def leagues() -> Iterator[list[tuple[str, str, str]]]:
    """Small leagues in which not every model can be compared."""
    results = [("a", "b", winner) for winner in ("model_a", "model_b", "tie")]
    results += [("b", "c", "model_a"), ("c", "d", "model_a"), ("a", "d", "tie"), ("c", "a", "model_a")]
    for size in (1, 2, 3):
        yield from (list(each) for each in combinations_with_replacement(results, size))


def test_a_young_board_says_in_words_which_models_wait_and_how_few_votes_can_be_enough() -> None:
    """The number is the least of decided votes after which a board exists, found by trying."""
    told = 0
    for votes in leagues():
        board = rated(Battles.from_frame(pl.DataFrame(votes, schema=["model_a", "model_b", "winner"], orient="row")), 0)
        if board.board is not None:
            continue
        models = sorted({model for vote in votes for model in vote[:2]})
        duels = [(one, other, "model_a") for one, other in product(models, repeat=2) if one != other]
        fewest = next(
            size
            for size in range(1, 5)
            if any(
                rated(
                    Battles.from_frame(pl.DataFrame([*votes, *more], schema=["model_a", "model_b", "winner"], orient="row")), 0
                ).board
                is not None
                for more in combinations_with_replacement(duels, size)
            )
        )
        words = "one more vote" if fewest == 1 else f"{fewest} more votes"
        assert f"At least {words} between them." in board.reason and "{" not in board.reason, (votes, board.reason)
        assert all(model in board.reason for model in models)
        told += 1
        if told == 12:
            break
    assert told == 12


def test_battles_whose_files_were_never_sent_are_named_by_the_release(tmp_path: Path) -> None:
    """An arena of the layout before took answers without files."""
    path = arena_of_layout_4(tmp_path / "arena.db")
    reply = CliRunner().invoke(main, ["arena", "release", "datasets", str(tmp_path / "out"), "--database", str(path)])
    assert reply.exit_code == 2 and "has none that can be released" in reply.output
    with ArenaDatabase.open(path) as database:
        from salon_arena.release import release
        from salon_taxonomy.errors import InputError

        with pytest.raises(InputError, match="never sent to the rater"):
            release(database, "datasets", tmp_path / "other")


def test_a_read_that_fails_between_two_others_counts_no_published_vote_twice(
    service: WorkService, body: Body, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    raters = [service.people.join().result().rater_id for _ in range(4)]
    for turn in range(32):
        vote(service, raters[turn % 4], body, ["left", "right"][turn % 2])
    later(service, clock)
    later(service, clock, 61)
    board = of(service)
    assert board.publish(clock.now) == 1 and board.ranked().votes == 32
    read = service.database.read
    for failing in range(1, 7):
        interrupted, calls = of(service), count(1)

        def refused(work: Any, calls: Any = calls, failing: int = failing) -> object:
            if next(calls) == failing:
                raise StorageError("the database cannot be read now")
            return read(work)

        with monkeypatch.context() as patch, suppress(StorageError):
            patch.setattr(service.database, "read", refused)
            interrupted.ranked()
        assert (failing, interrupted.ranked().votes) == (failing, 32)

"""Each rule of MEF, sections 3 and 5.1, has its test: who votes, what counts, when a model is listed."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from small_arena import MODELS, Clock, write_prompts
from sqlalchemy import insert

from salon_arena import ArenaDatabase, Material, RefusedError, WorkService, export_answers, read_known_pairs, vote_service
from salon_arena.battles import BattleRules
from salon_arena.board import LiveBoard
from salon_arena.cli import _board_of
from salon_arena.material import KnownPair
from salon_arena.publishing import PERSONAL_VOTES, PublishedBoard
from salon_arena.quality import LiveChecks, audit_agreement, flagged, overview
from salon_arena.release import release
from salon_arena.service import AnswerBody
from salon_arena.settling import end_study
from salon_arena.tables import FLAGS
from salon_arena.verify import verify_answers
from salon_console import main
from salon_judges.formats.generations import Generated
from salon_ranking.battles import Battles
from salon_ranking.raters import Votes, check_raters
from salon_taxonomy.errors import InputError, StorageError
from salon_taxonomy.records import Winner
from salon_taxonomy.verdict import Reason, Unscored

Body = Callable[..., AnswerBody]
Expected = Callable[[dict[str, Any]], str]


def known_pairs(material: Material, number: int) -> tuple[KnownPair, ...]:
    """Pairs of one prompt each; the winner is a, b, or both are bad, in turn."""
    files = {(file.model, file.prompt_id, file.sample): file for file in material.files}
    keys = [(key, a, b) for key in material.prompts for a in (0, 1) for b in (0, 1)]
    winners = [Winner.MODEL_A, Winner.MODEL_B, Winner.BOTH_BAD]
    return tuple(
        KnownPair(files[MODELS[0], key, a], files[MODELS[1], key, b], winners[place % 3])
        for place, (key, a, b) in enumerate(keys[:number])
    )


def right_answer(payload: dict[str, Any]) -> str:
    """The choice that a test or an anchor expects."""
    expected, a_left = payload["expected"], payload["side_a_shown"] == "left"
    return {"model_a": "left" if a_left else "right", "model_b": "right" if a_left else "left"}.get(expected, expected)


def wrong_answer(payload: dict[str, Any]) -> str:
    return "both_good" if payload["expected"] != "both_good" else "both_bad"


def answer_next(service: WorkService, rater: str, body: Body, choose: Expected, **changed: Any) -> dict[str, Any] | None:
    """Answer a rater's current task; returns its payload, None when there is no task."""
    tasks = service.lease(rater).result()["tasks"]
    if not tasks:
        return None
    payload = service.payload_of(tasks[0]["assignment"])
    service.look(rater, tasks[0]["assignment"])
    service.answer(rater, body(tasks[0], choose(payload), **changed)).result()
    return payload


def kinds(database: ArenaDatabase) -> Counter[str]:
    query = "SELECT kind, count(*) FROM assignments GROUP BY kind"
    return Counter(dict(tuple(row) for row in database.read(lambda c: list(c.exec_driver_sql(query)))))


@pytest.fixture
def experts(tmp_path: Path, material: Material, clock: Clock) -> Any:
    with ArenaDatabase.open(tmp_path / "experts.db", mode="expert") as database:
        rules = BattleRules(qualification=known_pairs(material, 12))
        yield vote_service(database, material, rules=rules, clock=clock)


def expert(service: WorkService, role: str = "rater") -> str:
    return service.people.join(invite=service.people.invite(role).result()).result().rater_id


# Qualification: at least 85% agreement and kappa above 0.8


@pytest.mark.parametrize(("mistakes", "passes"), [(0, True), (1, True), (2, False), (12, False)])
def test_an_expert_votes_only_after_85_percent_agreement_and_kappa_above_0_8(
    experts: WorkService, body: Body, clock: Clock, mistakes: int, passes: bool
) -> None:
    rater = expert(experts)
    for turn in range(12):
        reply = experts.lease(rater).result()
        assert (reply["state"], reply["left"]) == ("qualifying", 12 - turn)
        answer_next(experts, rater, body, wrong_answer if turn < mistakes else right_answer)
    reply = experts.lease(rater).result()
    assert (reply["state"] == "work", bool(reply["tasks"])) == (passes, passes)
    row = experts.database.read(lambda c: c.exec_driver_sql("SELECT agreement, kappa, passed FROM certificates").one())
    assert row.agreement == pytest.approx((12 - mistakes) / 12) and bool(row.passed) == passes
    if not passes:
        assert reply["state"] == "suspended" and reply["until"] > clock.now
        clock.forward(8 * 86_400)  # then there is a new test, with all pairs again
        assert experts.lease(rater).result()["left"] == 12


def test_where_a_test_expects_a_tie_both_kinds_of_tie_are_right(
    tmp_path: Path, material: Material, body: Body, clock: Clock
) -> None:
    known = known_pairs(material, 12)
    ties = [replace(each, winner=Winner.TIE) if each.winner == Winner.BOTH_BAD else each for each in known]
    with ArenaDatabase.open(tmp_path / "experts.db", mode="expert") as database:
        service = vote_service(database, material, rules=BattleRules(qualification=ties), clock=clock)
        rater = expert(service)
        answers = iter(["both_good", "both_bad"] * 2)
        for _ in ties:
            answer_next(service, rater, body, lambda task: next(answers) if task["expected"] == "tie" else right_answer(task))
        assert service.lease(rater).result()["state"] == "work"
        row = database.read(lambda c: c.exec_driver_sql("SELECT agreement, kappa, passed FROM certificates").one())
    assert tuple(row) == (1.0, 1.0, True)


@pytest.mark.parametrize("lost", [0, 5, 11])
def test_a_pair_of_a_test_that_cannot_be_shown_is_left_out_and_the_others_decide(
    experts: WorkService, body: Body, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    rater = expert(experts)
    for turn in range(12):
        reply = experts.lease(rater).result()
        assert (reply["state"], reply["left"]) == ("qualifying", 12 - turn)
        if turn == lost:
            with monkeypatch.context() as patch, pytest.raises(RefusedError, match="task_closed"):
                patch.setattr(experts._media, "prepared", lambda _: Unscored(Reason.BAD_MEDIA, "gone"))
                experts.look(rater, reply["tasks"][0]["assignment"])
        else:
            answer_next(experts, rater, body, right_answer)
    reply = experts.lease(rater).result()
    assert (reply["state"], bool(reply["tasks"])) == ("work", True)
    row = experts.database.read(lambda c: c.exec_driver_sql("SELECT agreement, passed FROM certificates").one())
    assert tuple(row) == (1.0, True)


def test_an_expert_is_tested_again_when_the_certificate_ends(experts: WorkService, body: Body, clock: Clock) -> None:
    rater = expert(experts)
    for _ in range(12):
        answer_next(experts, rater, body, right_answer)
    before = len(experts.lease(rater).result()["tasks"])
    assert before and kinds(experts.database)["qualification"] == 12
    clock.forward(181 * 86_400)
    for _ in range(before):  # what was leased before
        answer_next(experts, rater, body, lambda _: "left")
    assert experts.lease(rater).result()["state"] == "qualifying"
    for _ in range(12):
        answer_next(experts, rater, body, right_answer)
    assert experts.lease(rater).result()["state"] == "work"
    assert kinds(experts.database)["qualification"] == 24


# Audits: a quarter of the experts' battles is judged again; who does not meet the standard is suspended


@pytest.mark.parametrize(("agrees", "suspended"), [(True, False), (False, True)])
def test_a_quarter_of_an_experts_battles_is_audited_and_contradiction_suspends(
    tmp_path: Path, material: Material, body: Body, clock: Clock, agrees: bool, suspended: bool
) -> None:
    with ArenaDatabase.open(tmp_path / "audits.db", mode="expert") as database:
        service = vote_service(database, material, clock=clock)
        rater, auditor = expert(service), expert(service, "auditor")
        for _ in range(44):
            answer_next(service, rater, body, lambda payload: "left" if payload["side_a_shown"] == "left" else "right")
        clock.forward(11)
        service.settle_due().result()
        audited = []
        same = lambda payload: "left" if (payload["side_a_shown"] == "left") == agrees else "right"  # noqa: E731
        while (payload := answer_next(service, auditor, body, same)) is not None:
            audited.append(payload)
        clock.forward(11)
        service.settle_due().result()
        assert len(audited) == 11 and all(payload["audited_rater"] == rater for payload in audited)
        assert kinds(database)["audit"] == 11
        assert (service.lease(rater).result()["state"] == "suspended") == suspended
        people = database.read(lambda c: overview(c, clock.now))
        [line] = [person.line for person in people if person.rater_id == rater]
        assert ("suspended until" in line) == suspended
        assert f"{11 * agrees} of 11 audits agree" in line
        counted = service.task.board.ranked()  # type: ignore[union-attr]
        assert counted.votes == 44  # audits count on no board
        clock.forward(8 * 86_400)  # after the suspension: audits of battles from before it decide nothing any more
        for _ in range(32):
            answer_next(service, rater, body, lambda payload: "left" if payload["side_a_shown"] == "left" else "right")
        rightly = lambda payload: "left" if payload["side_a_shown"] == "left" else "right"  # noqa: E731
        clock.forward(11)
        service.settle_due().result()
        while answer_next(service, auditor, body, rightly) is not None:
            pass
        clock.forward(11)
        service.settle_due().result()
        assert service.lease(rater).result()["state"] == "work"
        assert "suspended" not in "".join(person.line for person in database.read(lambda c: overview(c, clock.now)))


def test_an_audit_that_an_auditor_left_goes_to_another_and_counts_once(
    tmp_path: Path, material: Material, body: Body, clock: Clock
) -> None:
    with ArenaDatabase.open(tmp_path / "audits.db", mode="expert") as database:
        service = vote_service(database, material, clock=clock)
        rater, gone, auditor = expert(service), expert(service, "auditor"), expert(service, "auditor")
        for _ in range(44):
            answer_next(service, rater, body, lambda _: "left")
        clock.forward(11)
        service.settle_due().result()
        left = service.lease(gone).result()["tasks"]
        for task in left:
            service.look(gone, task["assignment"])
        answered = []
        for _ in range(2):
            answered.append(0)
            while answer_next(service, auditor, body, lambda _: "left") is not None:
                answered[-1] += 1
            clock.forward(1801)
        assert answered == [7, 4]
        for task in left:
            service.answer(gone, body(task, "right")).result()
        clock.forward(11)
        service.settle_due().result()
        assert [audited for audited, _ in database.read(audit_agreement).values()] == [11]
        assert service.lease(auditor).result()["tasks"] == service.lease(gone).result()["tasks"] == []


# Anchors: 5% of tasks, not counted, and raters who miss them are flagged


def big_material(folder: Path) -> Material:
    """600 prompts without files: enough pairs for thousands of tasks."""
    prompts = json.loads("[" + ",".join(write_prompts(folder).read_text().splitlines()) + "]")
    row = prompts[0]
    path = folder / "many.jsonl"
    path.write_text("".join(json.dumps({**row, "prompt_id": f"p{number}"}) + "\n" for number in range(600)))
    from salon_arena.material import read_material

    for model in MODELS:
        (folder / "many" / model).mkdir(parents=True)
        for number in range(600):
            (folder / "many" / model / f"p{number}.png").touch()
    return read_material(folder / "many", path)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("count", [3000, pytest.param(100_000, marks=pytest.mark.study)])
def test_one_task_in_twenty_is_an_anchor_and_sides_are_even(
    tmp_path: Path, database: ArenaDatabase, clock: Clock, count: int
) -> None:
    material = big_material(tmp_path)
    files = [file for file in material.files if file.model in MODELS[:2]]
    by_prompt: dict[str, list[Generated]] = {}
    for file in files:
        by_prompt.setdefault(file.prompt_id, []).append(file)
    anchors = [KnownPair(a, b, Winner.MODEL_A) for a, b in by_prompt.values()]
    service = vote_service(database, material, rules=BattleRules(anchors=anchors), clock=clock)
    rater = service.people.join().result().rater_id
    from salon_arena.people import read_rater

    kinds: Counter[str] = Counter()
    left = 0
    for _ in range(count // 1000):
        drafts = database.write(
            lambda c: [d for _ in range(1000) for d in service.task.draw(c, read_rater(c, rater), 1, clock.now)]
        ).result()
        kinds.update(draft.kind for draft in drafts)
        left += sum(draft.payload["side_a_shown"] == "left" for draft in drafts)
    assert sum(kinds.values()) == count
    share = kinds["anchor"] / count
    assert abs(share - 0.05) < max(3.3 * (0.05 * 0.95 / count) ** 0.5, 0.003 * (count == 100_000)), share
    assert abs(left - count / 2) < 3.2905 * (count / 4) ** 0.5, left  # 99.9% of the binomial


def test_careless_raters_are_flagged_live_as_offline_and_leave_the_board(
    tmp_path: Path, database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    service = vote_service(database, material, rules=BattleRules(anchors=known_pairs(material, 16)), clock=clock)
    raters = [service.people.join().result().rater_id for _ in range(9)]
    careless = raters[0]
    generator = np.random.default_rng(0)

    def choose(payload: dict[str, Any]) -> str:
        if "expected" in payload:
            return right_answer(payload)
        names = [file["model"] for file in payload["files"]]
        return "left" if names[0] < names[1] else "right"

    for _ in range(36):
        for rater in raters:
            clock.forward(0.4 if rater == careless else float(generator.uniform(6, 9)))
            elapsed = 300 if rater == careless else int(generator.integers(4000, 6000))
            answer_next(service, rater, body, (lambda _: "left") if rater == careless else choose, elapsed_ms=elapsed)
    clock.forward(11)
    service.settle_due().result()
    board = service.task.board
    assert isinstance(board, LiveBoard)
    everything = board.ranked()
    live = LiveChecks(database, board.refresh)
    assert live.run() >= 1
    export_answers(database, tmp_path / "store", now=clock.now)
    offline = check_raters(Votes.read(tmp_path / "store").frame)
    assert set(database.read(flagged)) == set(offline.flagged) and careless in offline.flagged
    without = board.ranked()
    assert without.left_out > 0 and without.votes + without.left_out == everything.votes + everything.left_out
    frame = Votes.read(tmp_path / "store").frame.filter(~pl.col("rater_id").is_in(offline.flagged) & ~pl.col("is_anchor"))
    assert Battles.from_frame(frame.select("model_a", "model_b", "winner")).count == without.votes
    count = database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM settled").scalar_one())
    assert count == 36 * 9  # flags exclude, they never delete


def test_a_raters_own_board_does_not_tell_which_tasks_were_anchors(
    database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    """One vote more on it, and the task was a battle; none, and it was an anchor: so it has both."""
    service = vote_service(database, material, rules=BattleRules(anchors=known_pairs(material, 16)), clock=clock)
    raters = [service.people.join().result().rater_id for _ in range(4)]
    assert isinstance(service.task.board, LiveBoard)
    board = PublishedBoard(service.task.board, hidden=False)
    for _ in range(PERSONAL_VOTES):
        for rater in raters:
            answer_next(service, rater, body, lambda payload: "left" if payload["side_a_shown"] == "left" else "right")
    end_study(database, clock.now).result()
    assert kinds(database)["anchor"] > 0
    assert [board.personal(rater).votes for rater in raters] == [PERSONAL_VOTES] * 4


def test_flags_that_could_not_be_written_are_written_the_next_time(
    service: WorkService, database: ArenaDatabase, body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last votes of a study are checked though the disk was full in that minute."""
    rater = service.people.join().result().rater_id
    answer_next(service, rater, body, lambda _: "left")
    end_study(database, service.clock()).result()
    finding = {"rater_id": rater, "reason": "too_fast", "value": 0.1, "threshold": 0.5, "explanation": ""}
    checked = []

    def report(votes: pl.DataFrame, _: object) -> SimpleNamespace:
        checked.append(votes.height)
        return SimpleNamespace(findings=pl.DataFrame([finding]))

    monkeypatch.setattr("salon_arena.quality.check_raters", report)
    checks = LiveChecks(database, lambda: None)
    with monkeypatch.context() as full:
        full.setattr("salon_arena.quality._write_flags", lambda *_: (_ for _ in ()).throw(StorageError("the disk is full")))
        with pytest.raises(StorageError):
            checks.run()
    assert (checks.run(), checks.run(), checked) == (1, 1, [1, 1])


def test_published_votes_rebuild_the_board_without_anchors_and_flagged_raters(
    tmp_path: Path, database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    service = vote_service(database, material, rules=BattleRules(anchors=known_pairs(material, 16)), clock=clock)
    raters = [service.people.join(occupation="design").result().rater_id for _ in range(8)]
    generator = np.random.default_rng(3)
    answers = ("left", "right", "both_good", "both_bad")
    for turn in range(32):
        for rater in raters[: 8 if turn < 4 else 7]:  # the last one leaves before an anchor came
            answer_next(service, rater, body, lambda _: answers[generator.integers(4)])
    clock.forward(11)
    service.settle_due().result()
    flags = [{"rater_id": raters[0], "reason": reason, "explanation": ""} for reason in ("too_fast", "one_sided")]
    database.write(lambda c: c.execute(insert(FLAGS), flags).rowcount).result()
    board = service.task.board
    assert isinstance(board, LiveBoard)
    board.refresh()
    live = board.ranked()
    assert live.board is not None and live.left_out > 0
    for again in (vote_service(database, material, rules=service.task.rules).task.board, _board_of(database)):  # type: ignore[attr-defined]
        assert again is not None and again.ranked().rows == live.rows  # at once after a restart, and beside another arena
    done = release(database, "votes", tmp_path / "votes")
    frame = pl.read_parquet(tmp_path / "votes" / "battles.parquet")
    assert done.rows == frame.height == 7 * 32 + 4 and frame["weight"].sum() == live.votes
    without = frame.filter(pl.col("weight") == 0)
    assert set(without["left_out"]) >= {"anchor", "one_sided, too_fast"} and (without["left_out"] != "").all()
    assert set(frame.filter(pl.col("weight") == 1)["left_out"]) == {None} and set(frame["occupation"]) == {"design"}
    assert verify_answers(database).head in (tmp_path / "votes" / "README.md").read_text()
    for name in ("battles.parquet", "battles.csv"):
        ranked = CliRunner().invoke(
            main, ["votes", "rank", str(tmp_path / "votes" / name), "--interval", "anytime", "--format", "json"]
        )
        assert ranked.exit_code == 0, ranked.output
        [rows] = [board["rows"] for board in json.loads(ranked.stdout)]
        again = {row["model"]: row for row in rows}
        for row in live.rows:
            assert {name: again[row["model"]][name] for name in ("matches", "wins", "ties")} == {
                name: row[name] for name in ("matches", "wins", "ties")
            }
            for column in ("rating", "ci_low", "ci_high"):
                assert again[row["model"]][column] == pytest.approx(row[column], abs=1e-9)


def test_a_public_rater_counts_after_the_first_anchor(
    database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    service = vote_service(database, material, rules=BattleRules(anchors=known_pairs(material, 16)), clock=clock)
    raters = [service.people.join().result().rater_id for _ in range(3)]
    for _ in range(8):
        for rater in raters:
            answer_next(service, rater, body, lambda _: "left")
    clock.forward(11)
    service.settle_due().result()
    board = service.task.board
    assert board is not None
    board.refresh()
    query = "SELECT rater_id, sum(kind = 'anchor'), sum(kind = 'battle') FROM settled GROUP BY rater_id"
    rows = database.read(lambda c: list(c.exec_driver_sql(query)))
    found = board.ranked()
    assert found.votes == sum(battles for _, anchors, battles in rows if anchors)
    assert found.left_out == sum(battles for _, anchors, battles in rows if not anchors)


# Boards


def test_boards_of_all_of_a_scenario_and_of_one_rater_follow_mefs_columns(
    service: WorkService, material: Material, body: Body, clock: Clock
) -> None:
    rater, other = (service.people.join().result().rater_id for _ in range(2))
    board = service.task.board
    assert board is not None
    published = PublishedBoard(board, hidden=False)
    for turn in range(PERSONAL_VOTES + 4):
        for who in (rater, other):
            answer_next(service, who, body, lambda _, turn=turn: ["left", "right", "both_good", "both_bad"][turn % 4])  # type: ignore[misc]
        if turn == 20:
            few = published.personal(rater)
            assert few.board is None and "30" in few.reason
    clock.forward(11)
    service.settle_due().result()
    found = board.ranked()
    assert found.board is not None
    table = found.board.table
    assert {"rank", "model", "rating", "ci_low", "ci_high", "matches", "win_rate", "listed", "matches_needed"} <= {
        *table.columns
    }
    for row in table.to_dicts():  # the win rate is (W + T/2) / N
        assert row["win_rate"] == pytest.approx((row["wins"] + row["ties"] / 2) / row["matches"])
        if row["model"] in found.board.baselines:
            assert row["listed"] is row["width"] is row["matches_needed"] is None
        else:
            assert row["listed"] or row["matches_needed"] > 0
            assert row["listed"] == (row["width"] <= 20 and row["match_effect"] <= 3)
    [base] = [row for row in table.to_dicts() if row["model"] in found.board.baselines]
    assert base["rating"] == 1000 and base["ci_low"] == base["ci_high"] == 1000
    assert base["rank"] >= 2  # a lower ranked model
    clock.forward(60)
    assert published.publish(clock.now) == 1 and published.publish(clock.now) == 0
    assert published.ranked().rows == found.rows and published.ranked("toys").rows == board.ranked("toys").rows
    assert published.scenarios() == ["toys"]
    personal = published.personal(rater)
    assert personal.votes == PERSONAL_VOTES + 4 and personal.board is not None
    assert board.scenarios() == ["toys"] and board.ranked("toys").votes == found.votes


# The two modes have nothing in common


def test_expert_and_public_arenas_share_no_rater_no_plan_and_no_board(tmp_path: Path, material: Material, body: Body) -> None:
    with (
        ArenaDatabase.open(tmp_path / "p.db") as public,
        ArenaDatabase.open(tmp_path / "e.db", mode="expert") as closed,
    ):
        open_to_all, for_experts = (vote_service(database, material) for database in (public, closed))
        session = open_to_all.people.join().result()
        assert for_experts.people.rater_of(session.token) is None
        with pytest.raises(RefusedError, match="403 invite"):
            for_experts.people.join().result()
        for _ in range(3):
            answer_next(open_to_all, session.rater_id, body, lambda _: "left")
        assert for_experts.task.board.ranked().votes == 0  # type: ignore[union-attr]
        assert open_to_all.reveal and not for_experts.reveal


def test_an_invite_works_once_even_when_sent_many_times_at_once(experts: WorkService) -> None:
    code = experts.people.invite().result()
    tries = [experts.people.join(invite=code) for _ in range(20)]
    outcomes = Counter(type(future.exception()).__name__ for future in tries)
    assert outcomes == {"NoneType": 1, "RefusedError": 19}
    stored = Path(experts.database.place).read_bytes() + Path(f"{experts.database.place}-wal").read_bytes()
    assert code.encode() not in stored and tries[0].result().token.encode() not in stored


def test_models_are_named_after_settling_alone_and_of_tests_as_of_others(
    database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    service = vote_service(database, material, rules=BattleRules(anchors=known_pairs(material, 16)), clock=clock)
    rater, other = (service.people.join().result().rater_id for _ in range(2))
    told = Counter[str]()
    for _ in range(60):
        reply = service.lease(rater).result()
        if not reply["tasks"]:
            break
        task = reply["tasks"][0]["assignment"]
        assert service.revealed(rater, task) is None
        answer_next(service, rater, body, lambda _: "left")
        assert service.revealed(rater, task) is None
        clock.forward(11)
        service.settle_due().result()
        payload = service.payload_of(task)
        names = [file["model"] for file in payload["files"]]
        assert service.revealed(rater, task) == names
        assert service.revealed(other, task) is None
        told["expected" in payload] += 1  # type: ignore[index]
    assert told[True] and told[False]  # type: ignore[index]


def test_pairs_with_few_matches_and_even_ones_come_first_and_open_ones_count(
    database: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    """100 raters hold their first task open: no pair of models has more than its share."""
    service = vote_service(database, material, clock=clock)
    raters = [service.people.join().result().rater_id for _ in range(100)]
    for rater in raters:
        assert len(service.lease(rater).result()["tasks"]) == 4
    query = "SELECT payload ->> '$.model_a', payload ->> '$.model_b' FROM assignments"
    pairs = Counter(frozenset(row) for row in database.read(lambda c: list(c.exec_driver_sql(query))))
    assert len(pairs) == 3 and max(pairs.values()) - min(pairs.values()) <= 0.2 * 400 / 3
    payloads = [service.payload_of(task["assignment"]) for task in service.lease(raters[0]).result()["tasks"]]
    assert len({json.dumps(payload["files"]) for payload in payloads}) == 4  # no pair twice for one rater


def test_a_table_of_known_pairs_is_read_or_refused_by_row(tmp_path: Path, material: Material) -> None:
    path = tmp_path / "anchors.csv"
    head = "prompt_id,model_a,model_b,winner,sample_a\n"
    path.write_text(head + f"canary-prompt-1,{MODELS[0]},{MODELS[1]},model_b,1\n")
    [known] = read_known_pairs(path, material)
    assert (known.a.sample, known.b.sample, known.winner) == (1, 0, Winner.MODEL_B)
    for row, words in (
        (f"canary-prompt-1,{MODELS[0]},nobody,model_a,0", "model_b"),
        (f"canary-prompt-1,{MODELS[0]},{MODELS[1]},left,0", "winner"),
        (f"canary-prompt-9,{MODELS[0]},{MODELS[1]},model_a,0", "model_a"),
        (f"canary-prompt-1,{MODELS[0]},{MODELS[1]},model_a,7", "model_a"),
        *((f"canary-prompt-1,{MODELS[0]},{MODELS[1]},model_a,{text}", "sample_a") for text in ("²", "9" * 5000, "-1", "first")),
    ):
        path.write_text(head + row + "\n")
        with pytest.raises(InputError, match=f"row 1, column '{words}'"):
            read_known_pairs(path, material)


def test_known_pairs_of_two_samples_of_one_model_are_refused_as_no_battle_can_say_who_won(
    tmp_path: Path, material: Material
) -> None:
    path = tmp_path / "anchors.csv"
    path.write_text(
        f"prompt_id,model_a,model_b,winner,sample_b\ncanary-prompt-1,{MODELS[0]},{MODELS[0]},model_a,1\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match="row 1, column 'model_b': the two models of a pair are one"):
        read_known_pairs(path, material)


def test_a_known_pair_that_is_there_twice_is_one_and_refused_with_another_winner(tmp_path: Path, material: Material) -> None:
    path, head = tmp_path / "anchors.csv", "prompt_id,model_a,model_b,winner\n"
    one, turned = (f"canary-prompt-1,{MODELS[a]},{MODELS[1 - a]}" for a in (0, 1))
    path.write_text(head + f"{one},model_a\n{turned},model_b\n{one},model_a\n")
    assert len(read_known_pairs(path, material)) == 1
    for wrong in (f"{turned},model_a", f"{one},model_b", f"{one},tie"):
        path.write_text(head + f"{one},model_a\n{wrong}\n")
        with pytest.raises(InputError, match="row 2, column 'winner': the same pair has another winner before"):
            read_known_pairs(path, material)

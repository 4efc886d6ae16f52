"""Nobody outside can compute what an arena draws: two arenas that differ in their secrets alone agree by chance."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from click.testing import CliRunner
from small_arena import MODELS, Clock, seen, write_material
from sqlalchemy import select
from test_arena_over_http import run, visitors

from salon_arena import ArenaDatabase, Material, WorkService, read_material, vote_service
from salon_arena.battles import BattleRules, BattleTask
from salon_arena.board import LiveBoard
from salon_arena.forms import panel_task
from salon_arena.labels import LabelTask
from salon_arena.material import KnownPair, pair_key, read_files, read_pairs
from salon_arena.people import read_rater
from salon_arena.quality import audits
from salon_arena.questions import BenchQuestionTask, realism_questions
from salon_arena.release import PUBLIC_PLAN
from salon_arena.service import AnswerBody
from salon_arena.tables import ASSIGNMENTS
from salon_arena.tasks import Task
from salon_console import main
from salon_judges.formats.generations import Generated
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Winner
from salon_taxonomy.taxonomy import Taxonomy

MANY = 400


@pytest.fixture
def many(tmp_path: Path) -> Material:
    """So many prompts that a side drawn by chance agrees in a share near one half."""
    prompts = tmp_path / "many.jsonl"
    prompts.write_text("".join(json.dumps({"prompt_id": f"p{n}", "prompt": f"prompt {n}"}) + "\n" for n in range(MANY)))
    for model in MODELS:
        (tmp_path / "many" / model).mkdir(parents=True)
        for number in range(MANY):
            (tmp_path / "many" / model / f"p{number}.png").touch()
    return read_material(tmp_path / "many", prompts)


def dealt(folder: Path, make: Callable[[ArenaDatabase], Task], count: int, seed: int | None = None) -> list[dict[str, Any]]:
    """What a new arena deals to its first rater: kind, subject and payload of each task."""
    with ArenaDatabase.open(folder) as database:
        service = WorkService(database, make(database), seed=seed, clock=Clock())
        rater = service.people.join().result().rater_id
        drafts = database.write(lambda c: service.task.draw(c, read_rater(c, rater), count, service.clock())).result()
        return [{"kind": draft.kind, "subject": draft.subject, "payload": dict(draft.payload)} for draft in drafts]


def battles(material: Material) -> Callable[[ArenaDatabase], Task]:
    files = {(file.model, file.prompt_id): file for file in material.files}
    anchors = [KnownPair(files[MODELS[0], key], files[MODELS[1], key], Winner.MODEL_A) for key in material.prompts]
    rules = BattleRules(anchors=anchors)
    return lambda database: BattleTask(material, LiveBoard(database), database.mode, rules)


def left(draft: dict[str, Any]) -> str:
    return str(draft["payload"]["files"][0]["model"])


WORK: dict[str, Callable[[Material], Callable[[ArenaDatabase], Task]]] = {
    "battles": battles,
    "opinion scores": lambda material: lambda _: panel_task(material),
    "labels": lambda material: lambda _: LabelTask(material, Taxonomy.load("magicmirror")),
    "questions": lambda material: lambda _: BenchQuestionTask(realism_questions(material)),
}


@pytest.mark.parametrize("work", WORK)
def test_arenas_of_equal_files_and_names_agree_on_a_draw_no_more_often_than_chance(
    tmp_path: Path, many: Material, work: str
) -> None:
    make = WORK[work](many)
    one, other = (dealt(tmp_path / f"{name}.db", make, MANY) for name in ("one", "other"))
    assert len(one) == len(other) == MANY
    chance, sigma = 1 / len(MODELS), (2 / 9 / MANY) ** 0.5  # of the model that is shown first
    assert abs(sum(left(a) == left(b) for a, b in zip(one, other, strict=True)) / MANY - chance) < 4 * sigma
    assert sum(a["subject"] == b["subject"] for a, b in zip(one, other, strict=True)) < MANY / 20
    sides = {draft["subject"]: left(draft) for draft in one}
    both = [sides[draft["subject"]] == left(draft) for draft in other if draft["subject"] in sides]
    if work in ("battles", "questions"):
        assert len(both) >= 30 and abs(sum(both) / len(both) - 0.5) < 4 * (0.25 / len(both)) ** 0.5
    checks = [{place for place, draft in enumerate(drafts) if draft["kind"] == "anchor"} for drafts in (one, other)]
    assert len(checks[0] & checks[1]) <= max(3, 0.3 * len(checks[0]))
    again, third = (dealt(tmp_path / f"public {name}.db", make, 40, seed=7) for name in ("one", "other"))
    assert again == third  # a public plan is one that anybody can compute


def test_a_restart_does_not_repeat_draws(tmp_path: Path, many: Material) -> None:
    make = battles(many)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        runs = []
        for _ in range(2):
            service = WorkService(database, make(database), clock=Clock())
            rater = service.people.join().result().rater_id
            drafts = database.read(lambda c: service.task.draw(c, read_rater(c, rater), 200, service.clock()))  # noqa: B023
            service.lease(rater).result()
            runs.append([(draft.kind, draft.payload["prompt_id"]) for draft in drafts])
    assert sum(one == other for one, other in zip(*runs, strict=True)) <= 5
    assert [kind for kind, _ in runs[0]] != [kind for kind, _ in runs[1]]


def test_which_battles_are_audited_is_secret_and_stays(
    tmp_path: Path, material: Material, body: Callable[..., AnswerBody]
) -> None:
    audited = []
    for name in ("one", "other"):
        with ArenaDatabase.open(tmp_path / f"{name}.db") as database:
            service = vote_service(database, material, clock=Clock())
            rater = service.people.join().result().rater_id
            rows = []
            for number in range(40):
                task = service.lease(rater).result()["tasks"][0]["assignment"]
                change = f"UPDATE assignments SET state = 'settled' WHERE assignment_id = '{task}'"
                settled = (
                    "INSERT INTO answers (answer_id, assignment_id, version, body, choice, elapsed_ms, received_at) "
                    f"VALUES ('a{number}', '{task}', 1, '', 'left', 1, 1)",
                    "INSERT INTO settled (assignment_id, answer_id, settled_at, rater_id, kind) "
                    f"VALUES ('{task}', 'a{number}', 1, '{rater}', 'battle')",
                )
                database.write(lambda c, s=(change, *settled): [c.exec_driver_sql(each).rowcount for each in s]).result()  # type: ignore[misc]
                rows.append(task)
            draws = service.task._draws  # type: ignore[attr-defined]
            found = [
                [
                    rows.index(d.payload["audits"])
                    for d in database.read(lambda c, draws=draws: audits(c, "auditor", 40, draws, 7.0, 0))
                ]
                for _ in range(2)
            ]
            assert found[0] == found[1] and len(found[0]) == 10
            audited.append(found[0])
    assert audited[0] != audited[1]


def test_a_public_plan_is_called_public_on_the_pages_and_in_the_release(
    tmp_path: Path, body: Callable[..., AnswerBody]
) -> None:
    material = read_material(*write_material(tmp_path))
    said = {}
    for seed in (None, 3):
        with ArenaDatabase.open(tmp_path / f"{seed}.db") as database:
            service = vote_service(database, material, seed=seed)

            async def work(service: WorkService = service, seed: int | None = seed) -> None:
                async with visitors(service, 2) as (rater, stranger):
                    stranger.client.cookies.clear()
                    pages = [(await visitor.ask("GET", "/")).text for visitor in (rater, stranger)]
                    said[seed] = ["plan of this study is public" in page for page in pages]

            run(work)
            rater = service.people.join().result().rater_id
            for _ in range(2):
                service.answer(rater, body(seen(service, rater))).result()
        for form in ("votes", "datasets"):
            arguments = ["arena", "release", form, str(tmp_path / f"{seed} {form}"), "--database", str(tmp_path / f"{seed}.db")]
            reply = CliRunner().invoke(main, arguments)
            assert reply.exit_code == 0, reply.output
            card = (tmp_path / f"{seed} {form}" / "README.md").read_text()
            said[seed] += [PUBLIC_PLAN in reply.output, PUBLIC_PLAN in card]
    assert said == {None: [False] * 6, 3: [True] * 6}


# --- Listed pairs


def listed(folder: Path, material: Material, text: str) -> tuple[tuple[Generated, Generated], ...]:
    path = folder / "pairs.csv"
    path.write_text(text)
    return read_pairs(path, material)


def test_only_listed_pairs_are_dealt_each_once_to_everyone_and_those_with_fewest_answers_first(tmp_path: Path) -> None:
    material = read_material(*write_material(tmp_path, samples=1))
    rows = [f"{prompt},{MODELS[n]},{MODELS[(n + 1) % 3]},{n != 1}" for prompt in material.prompts for n in range(3)]
    pairs = listed(tmp_path, material, "\n".join(["prompt_id,model_a,model_b,drawn", *rows, rows[0]]) + "\n")
    wanted = {pair_key(*pair) for pair in pairs}
    assert len(pairs) == len(wanted) == 8
    clock = Clock()
    answered: list[list[str]] = []
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, material, pairs=pairs, clock=clock)
        for answers in (3, 8, 8):
            rater = service.people.join().result().rater_id
            answered.append([])
            for _ in range(answers):
                name = seen(service, rater)["assignment"]
                query = select(ASSIGNMENTS.c.subject).where(ASSIGNMENTS.c.assignment_id == name)
                answered[-1].append(database.read(lambda c, one=query: c.execute(one).scalar_one()))
                clock.forward(60)
                service.answer(rater, AnswerBody(answer_id=uuid4(), assignment=name, choice="left", elapsed_ms=3000)).result()
            if answers == 8:
                assert service.lease(rater).result()["tasks"] == []
            clock.forward(100_000)  # its other leases run out
    assert {*answered[1]} == {*answered[2]} == wanted
    assert not {*answered[0]} & {*answered[1][:5]}, "first what nobody has answered"


def test_sides_of_listed_pairs_are_drawn_from_the_secret(tmp_path: Path, many: Material) -> None:
    text = "\n".join(["prompt_id,model_a,model_b", *(f"p{n},{MODELS[0]},{MODELS[1]}" for n in range(MANY))])
    pairs = listed(tmp_path, many, text + "\n")

    def make(database: ArenaDatabase) -> Task:
        return BattleTask(many, LiveBoard(database), database.mode, pairs=pairs)

    one, other = (dealt(tmp_path / f"{name}.db", make, 200) for name in ("one", "other"))
    sides = {draft["subject"]: left(draft) for draft in one}
    both = [sides[draft["subject"]] == left(draft) for draft in other if draft["subject"] in sides]
    assert abs(sum(both) / len(both) - 0.5) < 4 * (0.25 / len(both)) ** 0.5
    assert abs(sum(left(draft) == MODELS[0] for draft in one) - 100) < 4 * 50**0.5


def test_only_listed_pictures_are_rated_also_alone(tmp_path: Path) -> None:
    material = read_material(*write_material(tmp_path, samples=1))
    first, second = list(material.prompts)[:2]
    rows = [(first, MODELS[0], "true"), (first, MODELS[2], "true"), (second, MODELS[1], "true"), (second, MODELS[0], "false")]
    path = tmp_path / "pictures.csv"
    path.write_text("\n".join(["prompt_id,model,drawn", *(",".join(row) for row in rows)]) + "\n")
    files = read_files(path, material)
    assert sorted((file.prompt_id, file.model) for file in files) == sorted((row[0], row[1]) for row in rows[:3])
    task = panel_task(replace(material, files=files), alone=True)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = WorkService(database, task)
        rater = service.people.join().result().rater_id
        shown = sorted(len(one["media"]) for one in service.lease(rater).result()["tasks"])
    assert shown == [1, 2]
    path.write_text("prompt_id,model\np-nowhere,x\n")
    with pytest.raises(InputError, match="row 1, column 'model': has no file for this prompt and sample: 'x'"):
        read_files(path, material)
    path.write_text(f"prompt_id,model,drawn\n{first},{MODELS[0]},false\n")
    with pytest.raises(InputError, match="there is no picture in the file"):
        read_files(path, material)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("prompt_id,model_a,model_b\n", "there is no pair"),
        (f"prompt_id,model_a,model_b,drawn\np1,{MODELS[0]},{MODELS[1]},false\n", "there is no pair"),
        (f"prompt_id,model_a,model_b,drawn\np1,{MODELS[0]},{MODELS[1]},perhaps\n", "row 1, column 'drawn'.*'perhaps'"),
        (f"prompt_id,model_a,model_b\np1,{MODELS[0]},{MODELS[0]}\n", "two models of a pair are one"),
        (f"prompt_id,model_a,model_b\np1,{MODELS[0]},nobody\n", "row 1, column 'model_b'.*no file.*'nobody'"),
        (f"prompt_id,model_a\np1,{MODELS[0]}\n", "model_b"),
    ],
)
def test_pairs_that_cannot_be_shown_are_refused(tmp_path: Path, many: Material, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        listed(tmp_path, many, text)


def test_votes_on_drawn_pairs_correct_a_judge(tmp_path: Path) -> None:
    material = read_material(*write_material(tmp_path, samples=1))
    pairs = [(prompt, *two) for prompt in material.prompts for two in combinations(MODELS, 2)]
    verdicts = pl.DataFrame(pairs, ["prompt_id", "model_a", "model_b"], orient="row")
    verdicts = verdicts.with_columns(winner=pl.Series(["model_a", "model_b", "model_a", "model_b"] * 3), p=pl.lit(0.7))
    verdicts.write_csv(tmp_path / "verdicts.csv")
    drawn, store = tmp_path / "drawn.csv", tmp_path / "results"
    runner = CliRunner()
    command = ["votes", "draw", str(tmp_path / "verdicts.csv"), "-n", "9", "--chance-of-a", "p", "--output", str(drawn)]
    assert runner.invoke(main, command, catch_exceptions=False).exit_code == 0
    clock, random = Clock(), Random(0)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, material, pairs=read_pairs(drawn, material), clock=clock)
        for _ in range(5):
            rater = service.people.join().result().rater_id
            for _ in range(9):
                name = seen(service, rater)["assignment"]
                clock.forward(60)
                body = AnswerBody(answer_id=uuid4(), assignment=name, choice=random.choice(["left", "right"]), elapsed_ms=3000)
                service.answer(rater, body).result()
        clock.forward(100_000)
        service.settle_due().result()
    command = ["arena", "export", "--database", str(tmp_path / "arena.db"), "--store", str(store)]
    assert runner.invoke(main, command, catch_exceptions=False).exit_code == 0
    command = ["votes", "correct", str(store), "--judged", str(drawn), "--probability", "probability", "--format", "json"]
    result = runner.invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    board = json.loads(result.stdout)
    assert "45 votes of people" in board["header"] and "matched by prompt_id and pair" in board["header"]
    assert sum(row["votes"] for row in board["rows"]) == 90

"""Who sees and changes what, over every address and every kind of work: properties, not single cases."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image
from small_arena import MODELS, PROMPTS, Clock, write_material
from starlette.routing import Route
from starlette.testclient import TestClient
from test_arena_over_http import run, visitors
from test_arena_releases import write_rows

from salon_arena import ArenaDatabase, Material, WorkService, create_app, read_material, vote_service
from salon_arena.forms import check_task, panel_task
from salon_arena.labels import LabelTask
from salon_arena.prompt_tasks import PromptTask, slots
from salon_arena.questions import BenchQuestionTask, read_questions, realism_questions
from salon_arena.release import release
from salon_arena.service import AnswerBody
from salon_arena.tasks import Task
from salon_arena.verdicts import VerdictTask, read_verdict_rows
from salon_console import main
from salon_judges.formats.magic_bench_377_labels import points
from salon_taxonomy.taxonomy import Taxonomy

Body = Callable[..., AnswerBody]
WORK = ("mos", "checks", "labels", "verdicts", "questions", "realism")


def task_of(name: str, folder: Path) -> Task:
    """A task of each kind over material whose model, file and prompt names must not reach a rater."""
    rows = write_rows(folder)  # also writes the pictures
    if name == "verdicts":
        return VerdictTask(read_verdict_rows(rows, folder / "pictures")[0])
    prompts = folder / "points.jsonl"
    texts = {"test_points": ["Quantity: three cats"], "scenario": "toys"}
    prompts.write_text("".join(json.dumps({"prompt_id": key, "prompt": "a toy", **texts}) + "\n" for key in PROMPTS))
    material = read_material(folder / "pictures", prompts)
    if name == "questions":
        rows = folder / "questions.jsonl"
        paths = [f"{model}/{key}.0.png" for key in PROMPTS for model in MODELS]
        known = {"task_type": 1, "answer": "yes", "level": "easy"}
        rows.write_text("".join(json.dumps({**known, "sample_id": path, "video_path": [path]}) + "\n" for path in paths))
        return BenchQuestionTask(read_questions(rows, folder / "pictures")[0])
    if name == "realism":
        return BenchQuestionTask(realism_questions(material, real=MODELS[0]))
    if name == "labels":
        return LabelTask(material, Taxonomy.load("magicmirror"))
    return panel_task(material) if name == "mos" else check_task(material)


@pytest.mark.parametrize("name", WORK)
def test_no_kind_of_work_tells_a_rater_whose_file_it_is(tmp_path: Path, database: ArenaDatabase, name: str) -> None:
    service = WorkService(database, task_of(name, tmp_path))

    async def work() -> None:
        async with visitors(service, 2) as (visitor, other):
            tasks = await visitor.pairs()
            assert len(tasks) == 4
            for task in tasks:
                for file in task["media"]:
                    assert (await visitor.ask("GET", file)).status_code == 200
                    assert (await other.ask("GET", file)).status_code == 404
                for answer in ("left", [[1]], {"marks": []}, {"aligned": True}, {"accept": True}, "undo"):
                    await visitor.answer(task, answer)
            for path in ("/", "/board", "/board.json", "/board/mine", "/admin", "/login", "/oidc/start", "/metrics"):
                await visitor.ask("GET", path)
            for said in (*visitor.heard, *other.heard):
                assert b"canary" not in said.lower() and str(tmp_path).encode() not in said, said[:300]

    run(work)


def every_get(service: WorkService, assignment: str) -> list[str]:
    """An address of every route that answers GET."""
    routes = [route for route in create_app(service).routes if isinstance(route, Route) and "GET" in (route.methods or ())]
    filled = [
        route.path.replace("{task}", assignment).replace("{place}", "0").replace("{name}", "arena.css") for route in routes
    ]
    assert len(filled) >= 15 and not any("{" in path for path in filled)
    return filled


def test_nothing_changes_on_get(service: WorkService, database: ArenaDatabase) -> None:
    """But for the digests of files, which are noted when a file is first sent."""

    def content() -> str:
        rows = "SELECT assignment_id, rater_id, state, answer_id FROM assignments"
        tables = ("raters", "sessions", "consents", "invites", "answers", "settled", "flags", "accounts", "admin_log")
        queries = [rows, *(f"SELECT * FROM {table}" for table in tables)]
        return str(database.read(lambda c: [[tuple(row) for row in c.exec_driver_sql(query)] for query in queries]))

    async def work() -> None:
        async with visitors(service) as [visitor]:
            task, *_ = await visitor.pairs()
            before = content()
            for path in every_get(service, task["assignment"]):
                reply = await visitor.ask("GET", path)
                assert reply.status_code in (200, 204, 303, 404), (path, reply.status_code)
                assert (await visitor.ask("PUT", path)).status_code == 405
                if path not in ("/login",):
                    assert (await visitor.ask("POST", path)).status_code in (403, 404, 405), path
            assert content() == before

    run(work)


def test_every_object_is_closed_to_other_raters_and_strangers(service: WorkService, database: ArenaDatabase) -> None:
    async def work() -> None:
        async with visitors(service, 3) as (owner, other, stranger):
            stranger.client.cookies.clear()
            task, *_ = await owner.pairs()
            await owner.ask("GET", task["media"][0])
            for path in (*task["media"], f"/media/{task['assignment']}/frames"):
                assert (await other.ask("GET", path)).status_code == 404
                assert (await stranger.ask("GET", path)).status_code == 401
            assert (await other.ask("GET", f"/models/{task['assignment']}")).json() == {"models": None}
            assert (await other.answer(task)).status_code == 404 and (await stranger.answer(task)).status_code == 401
            for path in ("/tasks", "/answers", "/admin/actions"):
                assert (await stranger.ask("POST", path)).status_code == 401
            assert (await owner.answer(task)).status_code == 200
            reply = await other.ask("GET", "/board/mine")
            assert "published votes, and has 0." in reply.text  # none sees another's answers

    run(work)
    assert database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM answers").scalar_one()) == 1


@pytest.mark.parametrize(
    "content",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!doctype html><script>alert(1)</script>",
        b"%PDF-1.4 not a picture",
        b"",
    ],
)
def test_what_is_no_picture_is_never_sent_and_a_link_out_of_the_folder_neither(
    tmp_path: Path, material: Material, database: ArenaDatabase, content: bytes
) -> None:
    outside = tmp_path / "secret.png"
    Image.new("RGB", (32, 32), (1, 2, 3)).save(outside)
    for number, file in enumerate(material.files):
        if file.model == MODELS[0]:
            file.path.unlink()
            if number % 2:
                file.path.symlink_to(outside)
            else:
                file.path.write_bytes(content)
    service = vote_service(database, material)

    async def work() -> None:
        async with visitors(service) as [visitor]:
            for _ in range(8):
                for task in await visitor.pairs():
                    models = [each["model"] for each in service.payload_of(task["assignment"])["files"]]
                    for address in task["media"]:
                        reply = await visitor.ask("GET", address)
                        assert reply.status_code == (410 if MODELS[0] in models else 200)
                        assert reply.headers["content-type"] in ("application/json", "image/jpeg")
                        assert not content or content not in reply.content

    run(work)


def test_a_range_is_not_served_in_part_and_a_secure_arena_names_its_cookie_host(service: WorkService) -> None:
    client = TestClient(create_app(service, hosts=["arena.test"], secure=True), base_url="https://arena.test")
    reply = client.post("/session", json={"consent": service.people.consent_version})
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("__Host-salon=") and "Secure" in cookie and "Path=/" in cookie and "Domain" not in cookie
    [task, *_] = client.post("/tasks", json={}, headers={"x-csrf-token": reply.json()["csrf"]}).json()["tasks"]
    whole = client.get(task["media"][0])
    part = client.get(task["media"][0], headers={"range": "bytes=0-9"})
    assert part.status_code == 200 and part.content == whole.content and "accept-ranges" not in part.headers


def test_what_people_or_prompts_write_is_no_formula_of_a_spreadsheet(tmp_path: Path, body: Body, clock: Clock) -> None:
    pictures, prompts = write_material(tmp_path, samples=1)
    row = {"prompt": "=1+1", "test_points": ["Quantity: @SUM(A1)"], "scenario": "Art"}
    prompts.write_text("".join(json.dumps({"prompt_id": key, **row}) + "\n" for key in PROMPTS))
    with ArenaDatabase.open(tmp_path / "checks.db") as database:
        service = WorkService(database, check_task(read_material(pictures, prompts), raters=1), clock=clock)
        rater = service.people.join().result().rater_id
        task = service.lease(rater).result()["tasks"][0]
        service.look(rater, task["assignment"])
        service.answer(rater, body(task, [[1]])).result()
        clock.forward(11)
        service.settle_due().result()
        release(database, "mef-checks", tmp_path / "list")
    with (tmp_path / "list" / "checks.csv").open(newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert "'=1+1" in cells and "'@SUM(A1)" in cells and not any(cell.startswith(("=", "+", "@", "-")) for cell in cells)


def test_each_arena_draws_its_own_secret_and_nothing_prints_it(tmp_path: Path, database: ArenaDatabase) -> None:
    with ArenaDatabase.open(tmp_path / "other.db") as other:
        secrets = [each.read(lambda c: c.exec_driver_sql("SELECT value FROM settings WHERE key = 'secret'").scalar_one())
                   for each in (database, other)]  # fmt: skip
    assert len(set(secrets)) == 2 and all(len(secret) == 64 for secret in secrets)
    for command in ("verify", "people", "progress"):
        done: Any = CliRunner().invoke(main, ["arena", command, "--database", database.place])
        assert done.exit_code == 0 and secrets[0] not in done.output


def test_the_longest_answer_that_a_page_allows_is_taken(tmp_path: Path) -> None:
    """In letters of three bytes; a page would lose an answer that is refused as too large."""
    pictures, prompts = write_material(tmp_path)
    taxonomy = Taxonomy.load("artifact-bench")
    mark = {"where": "字" * 500, "boxes": [[0.123456789012, 0.1, 0.987654321098, 0.9]] * 20, "frames": None}
    labels = [{"label": label.id, **mark} for label in taxonomy.answers() if label.id != "normal"][:20]
    wanted = [{"name": name, "demand": "字" * 600} for name in [each.name for each in points().values()][:12]]
    text = {"prompt": "字" * 4000, "language": "zh", "labels": [slots(1)[0][1]], "scenario": "film"}
    longest: list[tuple[Task, Any]] = [
        (LabelTask(read_material(pictures, prompts), taxonomy), {"marks": labels, "level": "L1"}),
        (PromptTask(1), {**text, "test_points": wanted}),
    ]
    for number, (task, choice) in enumerate(longest):
        with ArenaDatabase.open(tmp_path / f"{number}.db") as database:
            service = WorkService(database, task)

            async def work(service: WorkService = service, choice: Any = choice) -> None:
                async with visitors(service) as [visitor]:
                    [pair, *_] = await visitor.pairs()
                    for file in pair["media"]:
                        await visitor.ask("GET", file)
                    reply = await visitor.answer(pair, choice=choice)
                    assert reply.status_code == 200, reply.text

            run(work)

"""Artifact-Bench's three question forms: A or B without a tie, yes or no, several of six; out again as they were released."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsing import Served, context, opened
from click.testing import CliRunner
from playwright.sync_api import Browser
from small_arena import MODELS, Clock, write_material
from test_arena_labels import join
from test_arena_pages import EACH_LOOK, faults, faults_in_every_look
from test_arena_review_pages import invited

from salon_arena import ArenaDatabase, RefusedError, WorkService, export_answers, read_material
from salon_arena.agreement import progress
from salon_arena.questions import ASKED, BenchQuestionTask, read_questions, realism_questions
from salon_arena.release import release
from salon_arena.service import AnswerBody
from salon_console import main
from salon_judges.formats.artifact_bench import BenchRow, QuestionTask, read_rows
from salon_store import ResultStore
from salon_taxonomy.taxonomy import Taxonomy

FORMS = {
    ASKED[QuestionTask.RVAC]: ("y", ["radio yes", "radio no"]),
    ASKED[QuestionTask.PVRC]: ("b", ["radio A", "radio B"]),
    ASKED[QuestionTask.AID]: ("bef", [f"checkbox {letter}" for letter in "ABCDEF"]),
}
"""Keys to press, and all that is offered."""
Body = Callable[..., AnswerBody]
Choose = Callable[[dict[str, Any]], Any]


def write_questions(folder: Path) -> Path:
    """Two rows of each task, in the released form, about pictures below ``pictures``."""
    write_material(folder)
    paths = [f"{model}/canary-prompt-{number}.0.png" for number in (1, 2) for model in MODELS]
    leaves = [f"{leaf.name}: {leaf.definition}" for leaf in Taxonomy.load("artifact-bench").leaves()]
    rows = []
    for number, level in enumerate(("easy", "hard")):
        about = {"sample_id": f"s{number}", "level": level}
        rows.append({"task_type": 1, **about, "video_path": [paths[number]], "answer": ("yes", "no")[number]})
        pair = {"video_path": paths[3 * number : 3 * number + 2], "answer": ("<Video A>", "<Video B>")[number]}
        rows.append({"task_type": 2, **about, **pair})
        options = leaves[6 * number : 6 * number + 6]
        rows.append(
            {"task_type": 3, **about, "video_path": [paths[number]], "option": options, "answer": ("B,E,F", "A")[number]}
        )
    for number in (1, 2, 3):
        text = "".join(json.dumps(row) + "\n" for row in rows if row["task_type"] == number)
        (folder / f"task{number}_meta.jsonl").write_text(text)
    return folder


def on_screen(payload: dict[str, Any], answer: list[str]) -> list[str]:
    """An answer as the page of this task names it: A is the left one."""
    turned = payload["question"]["turned"]
    return [{"A": "B", "B": "A"}.get(value, value) if turned else value for value in answer]


def answer_all(service: WorkService, role: str, body: Body, clock: Clock, choose: Choose) -> int:
    """A new person of a role answers everything there is; returns how many."""
    rater, count = join(service, role), 0
    while tasks := service.lease(rater).result()["tasks"]:
        service.look(rater, tasks[0]["assignment"])
        payload = service.payload_of(tasks[0]["assignment"])
        service.answer(rater, body(tasks[0], choose(payload))).result()
        count += 1
    clock.forward(11)
    service.settle_due().result()
    return count


def rightly(payload: dict[str, Any]) -> dict[str, Any]:
    return {"answer": on_screen(payload, list(payload["question"]["answer"]) if payload["question"]["task"] == "aid"
                                else [payload["question"]["answer"]])}  # fmt: skip


def content(rows: list[BenchRow]) -> set[Any]:
    return {(row.prompt_id, row.answer, row.level, row.options, tuple(Path(path).name for path in row.videos)) for row in rows}


def test_rows_that_people_answer_come_out_as_they_went_in_and_are_scored(tmp_path: Path, body: Body, clock: Clock) -> None:
    folder = write_questions(tmp_path)
    questions, remarks = read_questions(folder, folder / "pictures")
    with ArenaDatabase.open(tmp_path / "questions.db", mode="expert") as database:
        service = WorkService(database, BenchQuestionTask(questions), clock=clock)
        assert [answer_all(service, "rater", body, clock, rightly) for _ in range(3)] == [6, 6, 6] and not remarks
        assert answer_all(service, "rater", body, clock, rightly) == 0
        assert [answer_all(service, "auditor", body, clock, lambda _: {"accept": True}) for _ in range(2)] == [6, 6]
        turned = {payload["question"]["turned"] for payload in payloads(database) if payload["question"]["task"] == "pvrc"}
        assert turned == {True, False}
        assert database.read(progress)[:2] == ["6 accepted", "18 settled answers to question tasks, by 3 raters"]
        done = release(database, "artifact-bench", tmp_path / "out")
        export_answers(database, tmp_path / "store")
    assert (done.rows, done.left_out) == (6, ())
    assert content(read_rows(tmp_path / "out")) == content(read_rows(folder))
    by_name = {row.prompt_id: row for row in read_rows(tmp_path / "out")}
    for row in read_rows(folder):
        for before, after in zip(row.videos, by_name[row.prompt_id].videos, strict=True):
            assert (folder / "pictures" / before).read_bytes() == (tmp_path / "out" / after).read_bytes()
    scores = ResultStore.open(tmp_path / "store").read("scores").collect()
    assert scores.height == 18 and scores["value"].to_list() == [1.0] * 18 and set(scores["task"]) == {"rvac", "pvrc", "aid"}


def payloads(database: ArenaDatabase) -> list[dict[str, Any]]:
    texts = database.read(lambda c: list(c.exec_driver_sql("SELECT payload FROM assignments").scalars()))
    return [json.loads(text) for text in texts]


def test_there_is_no_tie_no_second_answer_and_no_unknown_option(tmp_path: Path, body: Body, clock: Clock) -> None:
    folder = write_questions(tmp_path)
    with ArenaDatabase.open(tmp_path / "questions.db", mode="expert") as database:
        service = WorkService(database, BenchQuestionTask(read_questions(folder, folder / "pictures")[0]), clock=clock)
        rater, kinds = join(service), set()
        while tasks := service.lease(rater).result()["tasks"]:
            service.look(rater, tasks[0]["assignment"])
            payload = service.payload_of(tasks[0]["assignment"])
            kind = payload["question"]["task"]
            kinds.add(kind)
            two = payload["question"]["values"][:2]
            wrong: list[Any] = ["tie", {"answer": []}, {"answer": ["tie"]}, {"answer": ["A", "A"]}, {"answer": ["Z"]}, "left"]
            wrong += [{"accept": True}, {**rightly(payload), "level": "L1"}, None, {"answer": "A"}, {"answer": [["A"]]}]
            wrong += [{"answer": two}] if kind != "aid" else []
            for choice in wrong:
                with pytest.raises(RefusedError, match="422"):
                    service.answer(rater, body(tasks[0], choice)).result()
            service.answer(rater, body(tasks[0], {"answer": two if kind == "aid" else two[:1]})).result()
        assert kinds == {"rvac", "pvrc", "aid"}


def test_own_videos_become_questions_whose_answers_and_levels_people_say(tmp_path: Path, body: Body, clock: Clock) -> None:
    """Five people: most say that the first model in the alphabet looks more real; an adjudicator decides what has no level."""
    material = read_material(*write_material(tmp_path, samples=1))
    questions = realism_questions(material, real=MODELS[2])
    assert len(questions) == 12 + 4
    levels = iter(("L1", "L2", "L3", "L1", "L2"))

    def says(level: str, right: bool) -> Choose:
        def choose(payload: dict[str, Any]) -> Any:
            if payload["question"]["task"] == "rvac":
                return {"answer": ["yes"], "level": "L2"}
            models = [file["model"] for file in payload["files"]]
            best = "AB"[models.index(min(models) if right else max(models))]
            return {"answer": [best], "level": level}

        return choose

    with ArenaDatabase.open(tmp_path / "realism.db", mode="expert") as database:
        service = WorkService(database, BenchQuestionTask(questions), clock=clock)
        counts = [answer_all(service, "rater", body, clock, says(next(levels), number < 4)) for number in range(5)]
        assert counts == [16, 16, 16, 4, 4]
        assert answer_all(service, "adjudicator", body, clock, says("L3", True)) == 4
        assert [answer_all(service, "auditor", body, clock, lambda _: {"accept": True}) for _ in range(2)] == [12, 12]
        assert database.read(progress)[0] == "16 accepted"
        release(database, "artifact-bench", tmp_path / "out")
        assert [export_answers(database, tmp_path / "store").added for _ in range(2)] == [20, 0]
    battles = ResultStore.open(tmp_path / "store").read("battles").collect()
    winners = battles.select(pl.when(pl.col("winner") == "model_a").then("model_a").otherwise("model_b")).to_series()
    assert winners.value_counts(sort=True).rows() == [(MODELS[0], 16), (MODELS[1], 4)]
    assert battles["winner"].is_in(["model_a", "model_b"]).all() and set(battles["suite"]) == {"artifact-bench"}
    sides = {(row["rater_id"], row["generation_a"]): row["side_a_shown"] for row in battles.to_dicts()}
    assert len(sides) == 20 and set(sides.values()) == {"left", "right"}
    rows = read_rows(tmp_path / "out")
    assert {row.task.value: row.level.value for row in rows} == {"rvac": "L2", "pvrc": "L3"}
    for row in rows:
        models = [path.split("/")[1] for path in row.videos]
        assert row.answer == ("AB"[models.index(min(models))] if len(models) == 2 else "no" if models == [MODELS[2]] else "yes")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme", "direction"), EACH_LOOK)
def test_each_form_is_answered_by_keyboard_and_axe_finds_nothing(
    browser: Browser, tmp_path: Path, width: int, scheme: Any, direction: str
) -> None:
    folder = write_questions(tmp_path)
    with ArenaDatabase.open(tmp_path / "questions.db") as database:
        questions = [each for each in read_questions(folder, folder / "pictures")[0] if each.sample_id == "s0"]
        served = Served(tmp_path, service=WorkService(database, BenchQuestionTask(questions)))
        with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (rater, heard):
            page = opened(rater, served)
            seen = {}
            for number in (1, 2, 3):
                page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
                page.wait_for_selector(".stage.shown")
                asked = page.locator("#asked").text_content() or ""
                offered = page.locator("#choices input").evaluate_all("all => all.map(one => `${one.type} ${one.value}`)")
                keys, inputs = FORMS[asked]
                assert page.get_by_role("button", name="Done").is_disabled() and offered == inputs
                found = faults(page)
                for key in keys:
                    page.keyboard.press(key)
                seen[asked] = [*found, *faults(page)]
                page.keyboard.press("Enter")
                stored = served.wait_for_answers(number)
                page.wait_for_function(
                    "number => document.querySelector('#progress').textContent === `${number} done`", arg=number
                )
            assert len(seen) == 3 and [fault for found in seen.values() for fault in found] == [], seen
            said = sorted(json.loads(choice)["answer"] for _, choice in stored)
            assert said[1:] == [["B", "E", "F"], ["yes"]] and said[0] in (["A"], ["B"])
            assert heard == []
        served.close()


@pytest.mark.browser
def test_an_auditor_sees_the_agreed_answer_and_level_and_rejects_by_key(
    browser: Browser, tmp_path: Path, body: Body, clock: Clock
) -> None:
    questions = realism_questions(read_material(*write_material(tmp_path, samples=1)))[:1]
    with ArenaDatabase.open(tmp_path / "realism.db", mode="expert") as database:
        service = WorkService(database, BenchQuestionTask(questions), clock=clock)
        for _ in range(3):
            answer_all(service, "rater", body, clock, lambda payload: {"answer": on_screen(payload, ["A"]), "level": "L3"})
        served = Served(tmp_path, service=service)
        with context(browser, served, bypass_csp=True) as (auditor, heard):
            page = invited(auditor, served, "auditor", ".stage.shown")
            side = on_screen(payloads(database)[-1], ["A"])[0]
            assert page.locator("#choices li").all_text_contents() == [f"{side} looks more real", "L3"]
            assert faults_in_every_look(page) == []
            page.keyboard.press("n")
            assert json.loads(served.wait_for_answers(4)[-1][1]) == {"accept": False}
            assert heard == []
        served.close()


def test_a_hidden_reference_is_rated_among_the_others_and_scores_are_differences_from_it(
    tmp_path: Path, body: Body, clock: Clock
) -> None:
    from salon_arena.forms import panel_task

    material = read_material(*write_material(tmp_path, samples=1))
    marks = {MODELS[0]: [5, 4, 4], MODELS[1]: [3, 4, 5], MODELS[2]: [2, 2, 4]}
    with ArenaDatabase.open(tmp_path / "mos.db") as database:
        service = WorkService(database, panel_task(material, hidden=MODELS[0], raters=1), clock=clock)
        rater = service.people.join().result().rater_id
        while tasks := service.lease(rater).result()["tasks"]:
            assert len(tasks[0]["media"]) == 3 and tasks[0]["rated_from"] == 0
            service.look(rater, tasks[0]["assignment"])
            shown = [file["model"] for file in service.payload_of(tasks[0]["assignment"])["files"]]
            service.answer(rater, body(tasks[0], [marks[model] for model in shown])).result()
        clock.forward(11)
        service.settle_due().result()
        done = release(database, "mef-ratings", tmp_path / "out")
        assert done.rows == 4 * 3 * 3
    for name, expected in (("ratings", marks[MODELS[1]]), ("differences", [3, 5, 6])):
        found = CliRunner().invoke(main, ["ratings", "mos", str(tmp_path / "out" / f"{name}.csv"), "--format", "json"])
        assert found.exit_code == 0, found.output
        scores = {
            (row["model"], row["dimension"]): row["mean"]
            for row in json.loads(found.stdout)["scores"]
            if not row.get("scenario")
        }
        assert [
            scores[MODELS[1], name] for name in ("Prompt Following", "Structural Accuracy", "Aesthetic Quality")
        ] == expected
        assert ((MODELS[0], "Prompt Following") in scores) == (name == "ratings")

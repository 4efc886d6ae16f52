"""Opinion scores and checks: two people per item, all models side by side, and what they say reaches ``salon ratings mos``."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import Served, context, opened
from click.testing import CliRunner
from playwright.sync_api import Browser
from small_arena import MODELS, PROMPTS, Clock, write_material
from test_arena_pages import EACH_LOOK, faults

from for_each import for_each
from salon_arena import ArenaDatabase, Material, RefusedError, WorkService, export_answers, read_material
from salon_arena.forms import DIMENSIONS, LEVELS, check_task, panel_task
from salon_arena.labels import LabelTask
from salon_arena.service import LEASE_SECONDS, AnswerBody
from salon_console import main
from salon_taxonomy.errors import InputError
from salon_taxonomy.taxonomy import Taxonomy

Body = Callable[..., AnswerBody]
POINTS = ["Quantity: three <b>cats</b>", "Colour: قطة زرقاء"]


@pytest.fixture
def checked_material(tmp_path: Path) -> Material:
    pictures, prompts = write_material(tmp_path)
    rows = [json.loads(line) for line in prompts.read_text().splitlines()]
    prompts.write_text("".join(json.dumps({**row, "test_points": POINTS}) + "\n" for row in rows))
    return read_material(pictures, prompts)


def rate(service: WorkService, rater: str, body: Body, value: Callable[[str, str], int]) -> dict[str, Any] | None:
    """Answer the current form by model and question; returns its payload."""
    tasks = service.lease(rater).result()["tasks"]
    if not tasks:
        return None
    payload = service.payload_of(tasks[0]["assignment"])
    service.look(rater, tasks[0]["assignment"])
    rated = payload["files"][payload["rated_from"] :]
    choice = [[value(file["model"], name) for name, _ in payload["questions"]] for file in rated]
    service.answer(rater, body(tasks[0], choice)).result()
    return payload


@pytest.mark.parametrize("reference", [None, MODELS[1]])
def test_two_experts_rate_every_panel_of_all_models_and_salon_mos_reads_it(
    tmp_path: Path, database: ArenaDatabase, material: Material, body: Body, clock: Clock, reference: str | None
) -> None:
    service = WorkService(database, panel_task(material, reference=reference), clock=clock)
    raters = [service.people.join().result().rater_id for _ in range(3)]
    panels: Counter[str] = Counter()
    orders = set()
    while True:
        done = [rate(service, rater, body, lambda model, name: 1 + (MODELS.index(model) + len(name)) % 5) for rater in raters]
        for payload in done:
            if payload is not None:
                names = [file["model"] for file in payload["files"]]
                assert sorted(names) == sorted(MODELS) and len({file["sample"] for file in payload["files"]}) == 1
                assert reference is None or names[0] == reference
                orders.add(tuple(names))
                panels[f"{payload['prompt_id']} {payload['files'][0]['sample']}"] += 1
        if done == [None] * 3:
            break
    assert panels == dict.fromkeys((f"{key} {sample}" for key in PROMPTS for sample in (0, 1)), 2)
    assert len(orders) > 1
    clock.forward(11)
    found = export_answers(database, tmp_path / "store", now=clock.now)
    rated = len(MODELS) - (reference is not None)
    assert found.rated == 8 * 2 * rated * 3 and export_answers(database, tmp_path / "store", now=clock.now).rated == 0
    shown = CliRunner().invoke(main, ["ratings", "mos", str(tmp_path / "store"), "--format", "csv"])
    assert shown.exit_code == 0, shown.output
    for model in MODELS:
        assert (model in shown.output) == (model != reference)
    for name in DIMENSIONS:
        assert name in shown.output


def test_checks_of_test_points_reach_salon_test_points(
    tmp_path: Path, database: ArenaDatabase, checked_material: Material, body: Body, clock: Clock
) -> None:
    service = WorkService(database, check_task(checked_material, raters=1), clock=clock)
    raters = [service.people.join().result().rater_id for _ in range(2)]
    while raters:
        raters = [who for who in raters if rate(service, who, body, lambda model, name: int(model == MODELS[0])) is not None]
    clock.forward(11)
    assert export_answers(database, tmp_path / "store", now=clock.now).checked == 3 * 4 * 2 * 2
    shown = CliRunner().invoke(
        main, ["ratings", "pass-rates", str(tmp_path / "store"), "--task", "test_points", "--format", "csv"]
    )
    assert shown.exit_code == 0, shown.output
    rows = [line.split(",") for line in shown.output.splitlines()]
    share = rows[0].index("share")
    assert {row[0]: float(row[share]) for row in rows[1:4]} == {MODELS[0]: 1.0, MODELS[1]: 0.0, MODELS[2]: 0.0}
    assert {row[1] for row in rows[1:]} == {"", "Quantity", "Colour"}


def test_a_form_takes_whole_answers_on_its_scale_and_only_after_its_files_were_sent(
    database: ArenaDatabase, material: Material, body: Body
) -> None:
    service = WorkService(database, panel_task(material))
    rater = service.people.join().result().rater_id
    task = service.lease(rater).result()["tasks"][0]
    assert task["options"] == [[value, words] for value, words in LEVELS.items()]
    assert not any(model in json.dumps(task) for model in MODELS)
    whole = [[3, 4, 5]] * 3
    with pytest.raises(RefusedError, match="409 not_shown"):
        service.answer(rater, body(task, whole)).result()
    service.look(rater, task["assignment"])
    for wrong in ("left", [], [[3, 4, 5]] * 2, [[3, 4]] * 3, [[3, 4, 6]] * 3, [[3, 4, 2.5]] * 3, [[3, 4, True]] * 3, None):
        with pytest.raises(RefusedError, match="422 bad_answer"):
            service.answer(rater, body(task, wrong)).result()
    assert service.answer(rater, body(task, whole)).result()["version"] == 1


def test_a_lease_that_ran_out_goes_to_another_rater(database: ArenaDatabase, material: Material, clock: Clock) -> None:
    service = WorkService(database, panel_task(material, raters=1), clock=clock)
    raters = [service.people.join().result().rater_id for _ in range(3)]
    held = [len(service.lease(rater).result()["tasks"]) for rater in raters]
    assert held == [4, 4, 0]
    clock.forward(LEASE_SECONDS + 1)
    assert len(service.lease(raters[2]).result()["tasks"]) == 4


@for_each(
    ("column", "value"),
    [
        *(("labels", ["x" * 401]), ("labels", "a\ud800"), ("test_points", ["Quantity: \ud800"]), ("test_points", [1])),
        *(("language", "x" * 401), ("scenario", "x" * 401), ("scenario", 7)),
        *(("test_points", ["x" * 401]), ("test_points", ["x" * 401 + ": a cat"])),
    ],
)
def test_a_prompt_that_no_page_and_no_store_holds_is_left_out_and_named(tmp_path: Path, column: str, value: Any) -> None:
    folder, prompts = write_material(tmp_path)
    rows = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines()]
    rows[1][column] = value
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    material = read_material(folder, prompts)
    assert len(material.prompts) == len(rows) - 1
    assert any(remark.startswith(f"row 2: column '{column}': ") for remark in material.remarks), material.remarks


def test_a_folder_whose_name_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    folder, prompts = write_material(tmp_path)
    (folder / MODELS[0]).rename(os.fsdecode(os.fsencode(folder) + b"/caf\xe9"))
    with pytest.raises(InputError, match=r"not UTF-8: .*caf\\\\*udce9"):
        read_material(folder, prompts)
    done = CliRunner().invoke(main, ["arena", "serve", str(folder), "--prompts", str(prompts), "--task", "checks"])
    assert done.exit_code == 2 and "not UTF-8" in done.output


def test_material_without_panels_or_test_points_is_refused(material: Material) -> None:
    with pytest.raises(InputError, match="test points"):
        check_task(material)
    with pytest.raises(InputError, match="reference"):
        panel_task(material, reference="none")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme", "direction"), EACH_LOOK)
def test_panels_and_checks_are_answered_by_keyboard_and_axe_finds_nothing(
    browser: Browser, tmp_path: Path, checked_material: Material, width: int, scheme: Any, direction: str
) -> None:
    for name, task in (("mos", panel_task(checked_material)), ("checks", check_task(checked_material))):
        with ArenaDatabase.open(tmp_path / f"{name}.db") as database:
            served = Served(tmp_path, service=WorkService(database, task))
            with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (rater, heard):
                page = opened(rater, served, ready="#stage figure")
                page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
                assert faults(page) == []
                questions = page.locator("fieldset").count()
                assert questions == (9 if name == "mos" else 2)
                for number in range(questions):
                    page.keyboard.press(str(1 + number % 5) if name == "mos" else "yn"[number % 2])
                assert page.locator("#left").text_content() == ""
                page.keyboard.press("Enter")
                [(_, stored)] = served.wait_for_answers(1)
                assert json.loads(stored) == ([[1, 2, 3], [4, 5, 1], [2, 3, 4]] if name == "mos" else [[1, 0]])
                page.wait_for_selector("#stage figure")
                page.keyboard.press("u")
                served.wait_for_answers(2)
                page.wait_for_selector("#stage figure")
                page.locator(".view").first.click()
                assert page.locator("dialog[open] img").count() == 1 and faults(page) == []
                page.keyboard.press("Escape")
                assert heard == []
            served.close()


@pytest.mark.parametrize(
    ("rows", "keys", "points"),
    [
        (
            [
                {"prompt_t2i": f"A kettle {number}.", "subject": "kettle", "class": "object", "detail_class": "object_single"}
                for number in range(2)
            ],
            ["0001", "0002"],
            {},
        ),
        (
            [
                {
                    "Prompt_text_cn": "没有鱼的鱼缸",
                    "Prompt_text_en": "A tank without fish.",
                    "Application Scenario": "Art",
                    "Expression Form": "Negation, Quantity",
                    "Element Composition": "",
                    "Element": "None",
                }
            ],
            ["mb377-001"],
            {"Negation": "Negation", "Quantity": "Quantity"},
        ),
    ],
)
def test_released_prompt_files_are_read_as_they_are(
    tmp_path: Path, rows: list[dict[str, str]], keys: list[str], points: dict[str, str]
) -> None:
    path = tmp_path / "released.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for model in MODELS[:2]:
        (tmp_path / "pictures" / model).mkdir(parents=True)
        for key in keys:
            (tmp_path / "pictures" / model / f"{key}.png").touch()
    material = read_material(tmp_path / "pictures", path)
    assert list(material.prompts) == keys and len(material.files) == 2 * len(keys) and not material.remarks
    assert dict(material.test_points.get(keys[0], {})) == points
    assert all(prompt.text.isascii() for prompt in material.prompts.values())


@pytest.mark.parametrize("kind", ["mos", "checks", "labels"])
def test_the_pictures_of_one_model_are_rated_checked_and_labelled(
    tmp_path: Path, database: ArenaDatabase, body: Body, clock: Clock, kind: str
) -> None:
    pictures, prompts = write_material(tmp_path, models=MODELS[:1], samples=1)
    rows = [json.loads(line) for line in prompts.read_text().splitlines()]
    prompts.write_text("".join(json.dumps({**row, "test_points": POINTS}) + "\n" for row in rows))
    alone = read_material(pictures, prompts, compared=False)
    tasks = {"mos": panel_task, "checks": check_task, "labels": lambda of: LabelTask(of, Taxonomy.load("magicmirror"))}
    service = WorkService(database, tasks[kind](alone), clock=clock)
    rater = service.people.join().result().rater_id
    for _ in range(len(PROMPTS)):
        [task, *_] = service.lease(rater).result()["tasks"]
        payload = service.payload_of(task["assignment"])
        assert [file["model"] for file in payload["files"]] == [MODELS[0]]
        service.look(rater, task["assignment"])
        choice = {"marks": []} if kind == "labels" else [[1] * len(payload["questions"])]
        service.answer(rater, body(task, choice)).result()
    clock.forward(11)
    assert service.lease(rater).result()["tasks"] == []

"""Labels: three raters, two more when they differ, two auditors; MagicMirror's limits; boxes; keyboard and axe."""

import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from browsing import Served, context, opened
from click.testing import CliRunner
from playwright.sync_api import Browser
from small_arena import MODELS, Clock
from sqlalchemy import Connection
from test_arena_pages import EACH_LOOK, faults

from salon_arena import ArenaDatabase, Material, RefusedError, WorkService, export_answers
from salon_arena.labels import LabelItem, LabelTask, label_states, label_subject
from salon_arena.people import read_rater
from salon_arena.service import AnswerBody
from salon_arena.settling import settle_earlier
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.taxonomy import Taxonomy

Body = Callable[..., AnswerBody]
HAND, FACE, OVERLAP = "hand-structure-deformity", "facial-structure-deformity", "abnormal-element-overlap"


@pytest.fixture
def labelling(tmp_path: Path, material: Material, clock: Clock) -> Any:
    with ArenaDatabase.open(tmp_path / "labels.db", mode="expert") as database:
        yield WorkService(database, LabelTask(material, Taxonomy.load("magicmirror")), clock=clock)


def join(service: WorkService, role: str = "rater") -> str:
    return service.people.join(invite=service.people.invite(role).result()).result().rater_id


def label_all(service: WorkService, rater: str, body: Body, clock: Clock, choose: Callable[[str], Any]) -> list[str]:
    """Answer everything that a rater gets, by model; returns the models of the files."""
    seen = []
    while tasks := service.lease(rater).result()["tasks"]:
        model = service.payload_of(tasks[0]["assignment"])["files"][0]["model"]
        service.look(rater, tasks[0]["assignment"])
        service.answer(rater, body(tasks[0], choose(model))).result()
        seen.append(model)
    clock.forward(11)
    service.settle_due().result()
    return seen


def marks(*labels: str) -> dict[str, Any]:
    return {"marks": [{"label": label, "where": f"at {label}"} for label in labels]}


@pytest.mark.parametrize("seed", range(2))
def test_what_is_dealt_is_what_the_answers_so_far_ask_for(labelling: WorkService, body: Body, clock: Clock, seed: int) -> None:
    """Of each role, whatever was answered by others, leased, undone or rolled back: as counted anew from the database."""
    generator = random.Random(seed)
    roles = [*["rater"] * 6, *["auditor"] * 3, "adjudicator"]
    people = [(join(labelling, role), role) for role in roles]
    kinds = {"rater": "", "auditor": "verify\x1f", "adjudicator": "adjudicate\x1f"}

    def check(connection: Connection) -> None:
        states = label_states(connection)
        rows = connection.exec_driver_sql("SELECT rater_id, subject, state FROM assignments").all()
        leased = Counter(subject for _, subject, state in rows if state in ("open", "answered"))
        for rater, role in people:
            dealt = labelling.task.draw(connection, read_rater(connection, rater), 1000, clock.now)
            mine = {subject for who, subject, _ in rows if who == rater}
            expected = set()
            for file in labelling.task._material.files:  # type: ignore[attr-defined]
                item, key = states.get(label_subject(file)) or LabelItem(), f"{kinds[role]}{label_subject(file)}"
                given = len(item.of(role)) + leased[key]
                if given < item.wanted(role) and rater not in item.raters and key not in mine:
                    expected.add(key)
            assert {draft.subject for draft in dealt} == expected

    for _ in range(40):
        rater, role = generator.choice(people)
        tasks = labelling.lease(rater).result()["tasks"]
        if tasks:
            task = generator.choice(tasks)
            labelling.look(rater, task["assignment"])
            said = (
                marks(*generator.choice([(), (HAND,), (HAND, FACE)]))
                if role != "auditor"
                else {"accept": generator.random() < 0.7}
            )
            given = body(task, said)
            labelling.answer(rater, given).result()
            if generator.random() < 0.2:
                labelling.answer(rater, body(task, "undo", supersedes=str(given.answer_id))).result()
        clock.forward(generator.choice([0, 11]))
        labelling.settle_due().result()
        if generator.random() < 0.3:
            with pytest.raises(ArithmeticError):
                labelling.database.write(_fails).result()
        labelling.database.write(check).result()


def _fails(_: Connection) -> None:
    raise ArithmeticError


def test_an_answer_whose_transaction_was_undone_is_not_remembered(
    labelling: WorkService, body: Body, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that fails takes back what others of the same commit have settled, and what was read of it."""
    monkeypatch.setattr("salon_arena.database._LONGEST_TOGETHER", 60.0)
    one, other = join(labelling), join(labelling)
    task = labelling.lease(one).result()["tasks"][0]
    labelling.look(one, task["assignment"])
    labelling.answer(one, body(task, marks(HAND))).result()
    busy, queued, runs = Event(), Event(), count()

    def settles_once(connection: Connection) -> None:
        if next(runs) == 0:
            settle_earlier(connection, one, "", clock.now)

    labelling.database.write(lambda _: (busy.set(), queued.wait(60)))
    busy.wait(60)
    together = [labelling.database.write(settles_once), labelling.lease(other), labelling.database.write(_fails)]
    queued.set()
    assert isinstance(together[-1].exception(), ArithmeticError)
    undone = labelling.lease(one).result()["last"]
    labelling.answer(one, body(undone["task"], "undo", supersedes=undone["answer_id"])).result()
    again = next(each for each in labelling.lease(one).result()["tasks"] if each["assignment"] == task["assignment"])
    labelling.answer(one, body(again, marks(FACE))).result()
    clock.forward(11)
    labelling.settle_due().result()
    labelling.lease(join(labelling)).result()
    assert isinstance(labelling.task, LabelTask)
    said = {subject: item.said for subject, item in labelling.task._items.items() if item.said}
    assert said == {subject: item.said for subject, item in labelling.database.read(label_states).items()}


def test_three_label_two_more_settle_a_dispute_and_two_auditors_accept(
    labelling: WorkService, body: Body, clock: Clock, tmp_path: Path
) -> None:
    said = [HAND, HAND, FACE, HAND, FACE, OVERLAP]  # of the disputed model; the others are normal, or have one fault
    counts = []
    for label in said:
        answers = {MODELS[0]: marks(label), MODELS[1]: marks(), MODELS[2]: marks(FACE, HAND)}
        counts.append(label_all(labelling, join(labelling), body, clock, answers.__getitem__))
    assert [len(each) for each in counts] == [24, 24, 24, 8, 8, 0]  # 8 files by each of three models
    assert set(counts[3]) == set(counts[4]) == {MODELS[0]}
    auditors = [join(labelling, "auditor") for _ in range(3)]
    verdicts = [label_all(labelling, who, body, clock, lambda model: {"accept": model != MODELS[2]}) for who in auditors]
    assert [len(each) for each in verdicts] == [24, 24, 0]
    shown = CliRunner().invoke(main, ["arena", "progress", "--database", str(labelling.database.place)]).output
    assert (
        "16 accepted" in shown
        and "8 rejected" in shown
        and "Fleiss' κ (first 3 raters) of normal against faulty: 1.000 (24 items" in shown
    )
    found = export_answers(labelling.database, tmp_path / "store", now=clock.now)
    again = export_answers(labelling.database, tmp_path / "store", now=clock.now)
    assert found.labelled > 0 and again.labelled == 0
    store = ResultStore.open(tmp_path / "store")
    rows = store.read("assessments").collect().join(store.read("generations").collect(), on="generation_id")
    agreed = {(row["model"], row["label"]) for row in rows.to_dicts() if row["judge"] == "agreed"}
    assert agreed == {(MODELS[0], HAND), (MODELS[1], "normal")}


@pytest.mark.parametrize(
    "wrong",
    [
        "left",
        {"marks": [{"label": "none"}]},
        marks(HAND, HAND),
        marks(HAND, FACE, OVERLAP),
        {"marks": [{"label": HAND, "boxes": [[0.5, 0.1, 0.4, 0.2]]}]},
        {"marks": [{"label": HAND, "boxes": [[0, 0, 1, 1.1]]}]},
        {"marks": [{"label": HAND, "frames": [5, 2]}]},
        {"accept": True},
    ],
)
def test_labels_outside_the_taxonomy_beyond_two_or_off_the_picture_are_refused(
    labelling: WorkService, body: Body, wrong: Any
) -> None:
    rater = join(labelling)
    task = labelling.lease(rater).result()["tasks"][0]
    assert not any(model in json.dumps(task) for model in MODELS)
    labelling.look(rater, task["assignment"])
    with pytest.raises(RefusedError, match="422 bad_answer"):
        labelling.answer(rater, body(task, wrong)).result()
    whole = {"marks": [{"label": HAND, "where": "left hand", "boxes": [[0.1, 0.2, 0.5, 1]]}]}
    assert labelling.answer(rater, body(task, whole)).result()["version"] == 1


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme", "direction"), EACH_LOOK)
def test_labels_are_found_by_search_boxes_are_drawn_and_axe_finds_nothing(
    browser: Browser, tmp_path: Path, material: Material, width: int, scheme: Any, direction: str
) -> None:
    with ArenaDatabase.open(tmp_path / "labels.db") as database:
        served = Served(tmp_path, service=WorkService(database, LabelTask(material, Taxonomy.load("magicmirror"))))
        with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (rater, heard):
            page = opened(rater, served, ready="#picture img")
            page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
            assert faults(page) == []
            page.keyboard.press("/")
            page.keyboard.type("hand deform")
            page.keyboard.press("Enter")
            page.get_by_label("where and what").fill("left hand, six fingers")
            page.get_by_role("button", name="Box (0)").click()
            box = page.locator("#picture").bounding_box()
            assert box is not None
            page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.25)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.75, steps=3)
            page.mouse.up()
            assert page.locator(".box").count() == 1
            page.get_by_role("button", name="Facial Structure Deformity").click()
            assert page.get_by_role("button", name="Abnormal Element Overlap").is_disabled()  # two at most
            assert faults(page) == []
            page.get_by_role("button", name="Done").click()
            [(_, stored)] = served.wait_for_answers(1)
            first, second = json.loads(stored)["marks"]
            assert (first["label"], first["where"], second["label"]) == (HAND, "left hand, six fingers", FACE)
            assert first["boxes"][0] == pytest.approx([0.25, 0.25, 0.5, 0.75], abs=0.03)
            page.wait_for_function("() => document.querySelector('#done').textContent === 'Normal'")
            page.wait_for_selector("#done:enabled")
            page.keyboard.press("n")
            assert json.loads(served.wait_for_answers(2)[1][1]) == {"marks": [], "level": None}
            assert heard == []
        served.close()

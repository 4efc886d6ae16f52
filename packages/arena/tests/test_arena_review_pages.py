"""Pages for verifying rows, adjudicating, and writing and inspecting prompts, in a browser: answers, keyboard, axe."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import Served, context, opened
from playwright.sync_api import Browser, BrowserContext, Page
from test_arena_labels import HAND, label_all, marks
from test_arena_pages import EACH_LOOK, faults, faults_in_every_look
from test_arena_releases import Body, Clock, join, write_rows

from salon_arena import ArenaDatabase, WorkService
from salon_arena.labels import LabelTask
from salon_arena.prompt_tasks import PromptTask
from salon_arena.verdicts import VerdictTask, read_verdict_rows
from salon_taxonomy.taxonomy import Taxonomy

pytestmark = pytest.mark.browser


def turned(page: Page, direction: str) -> Page:
    page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
    return page


def invited(person: BrowserContext, served: Served, role: str, ready: str) -> Page:
    """The work page of somebody who joined with an invite."""
    page = person.new_page()
    page.goto(f"{served.address}/#{served.service.people.invite(role).result()}")
    page.get_by_role("button", name="I agree").click()
    page.wait_for_selector(ready)
    return page


@pytest.mark.parametrize(("width", "scheme", "direction"), EACH_LOOK)
def test_a_row_is_verified_by_keyboard_and_an_unexplained_mismatch_is_not_sent(
    browser: Browser, tmp_path: Path, width: int, scheme: Any, direction: str
) -> None:
    rows, _ = read_verdict_rows(write_rows(tmp_path, 1), tmp_path / "pictures")
    with ArenaDatabase.open(tmp_path / "r3.db") as database:
        served = Served(tmp_path, service=WorkService(database, VerdictTask(rows)))
        with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (rater, heard):
            page = turned(opened(rater, served, ready="#picture img"), direction)
            assert faults(page) == []
            assert page.locator("[name=aligned][value=yes]").is_checked()  # as it was generated
            page.keyboard.press("n")
            page.get_by_role("button", name="Done").click()
            assert "Say what is wrong" in (page.locator("#message").text_content() or "")
            page.locator("#explanation").fill("The cube is blue.")
            page.locator("[name=keep-1]").uncheck()
            page.locator("[name=question-0][value=no]").check()
            assert faults(page) == []
            page.get_by_role("button", name="Done").click()
            [(_, stored)] = served.wait_for_answers(1)
            said = json.loads(stored)
            assert (said["aligned"], said["explanation"], said["discard"]) == (False, "The cube is blue.", False)
            assert said["questions"] == [{"relevant": True, "answer": False}, {"relevant": False, "answer": False}]
            page.wait_for_function("() => document.querySelector('#message').textContent.includes('nothing for you')")
            page.keyboard.press("u")
            served.wait_for_answers(2)
            assert heard == []
        served.close()


def test_an_adjudicator_sees_what_raters_said_and_decides(
    browser: Browser, tmp_path: Path, material: Any, body: Body, clock: Clock
) -> None:
    with ArenaDatabase.open(tmp_path / "labels.db", mode="expert") as database:
        service = WorkService(database, LabelTask(material, Taxonomy.load("magicmirror")))
        for label in (HAND, "facial-structure-deformity", "abnormal-element-overlap", "abnormal-detail-drawing", ""):
            said = marks(label) if label else marks("abnormal-spatial-position")
            label_all(service, join(service), body, clock, lambda _, said=said: said)
        service.clock = lambda: 2_000_000_000_000_000
        service.settle_due().result()
        served = Served(tmp_path, service=service)
        with context(browser, served, bypass_csp=True) as (rater, heard):
            page = invited(rater, served, "adjudicator", "#picture img")
            said_there = page.locator("#said li").all_text_contents()
            assert len(said_there) == 5 and any("Hand Structure Deformity" in each for each in said_there)
            assert faults_in_every_look(page) == []
            before = len(served.answers())
            page.get_by_role("button", name="Hand Structure Deformity").click()
            page.get_by_role("button", name="Done").click()
            assert HAND in served.wait_for_answers(before + 1)[-1][1]
            assert heard == []
        served.close()


def test_levels_are_asked_for_with_artifact_benchs_labels(browser: Browser, tmp_path: Path, material: Any) -> None:
    with ArenaDatabase.open(tmp_path / "levels.db") as database:
        served = Served(tmp_path, service=WorkService(database, LabelTask(material, Taxonomy.load("artifact-bench"))))
        with context(browser, served, 360, bypass_csp=True) as (rater, heard):
            page = opened(rater, served, ready="#picture img")
            page.get_by_role("button", name="Oversmoothing").click()
            assert page.get_by_role("button", name="Done").is_disabled()
            page.get_by_label("L2 medium").check()
            assert faults_in_every_look(page) == []
            page.get_by_role("button", name="Done").click()
            [(_, stored)] = served.wait_for_answers(1)
            assert (json.loads(stored)["level"], json.loads(stored)["marks"][0]["label"]) == ("L2", "oversmoothing")
            assert heard == []
        served.close()


@pytest.mark.parametrize(("width", "scheme", "direction"), EACH_LOOK)
def test_a_prompt_is_written_and_inspected(
    browser: Browser, tmp_path: Path, body: Body, clock: Clock, width: int, scheme: Any, direction: str
) -> None:
    with ArenaDatabase.open(tmp_path / "prompts.db", mode="expert") as database:
        served = Served(tmp_path, service=WorkService(database, PromptTask(1)))
        with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (rater, heard):
            page = turned(invited(rater, served, "rater", "#labels input:checked"), direction)
            assert faults(page) == []
            page.locator("#text").fill("قطة زرقاء\u202e <b>x</b>")
            page.locator("#points").fill("Quantity: one cat\nnone")
            page.get_by_role("button", name="Done").click()
            assert "test point" in (page.locator("#message").text_content() or "")
            page.locator("#points").fill("Quantity: one cat")
            page.get_by_role("button", name="Done").click()
            [(_, stored)] = served.wait_for_answers(1)
            said = json.loads(stored)
            assert said["prompt"].startswith("قطة") and said["test_points"] == [{"name": "Quantity", "demand": "one cat"}]
            assert heard == []
        database.write(lambda c: c.exec_driver_sql("UPDATE assignments SET answered_at = 1").rowcount).result()
        served.service.settle_due().result()
        with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (inspector, heard):
            page = turned(invited(inspector, served, "auditor", "#facts:visible"), direction)
            assert faults(page) == [] and page.title() == "Write prompts"
            page.get_by_role("button", name="Reject").click()
            assert "Say why" in (page.locator("#message").text_content() or "")
            page.locator("#text").fill("A blue cat.")
            page.get_by_role("button", name="Accept").click()
            assert json.loads(served.wait_for_answers(2)[-1][1]) == {"accept": True, "prompt": "A blue cat.", "reason": ""}
            assert heard == []
        served.close()

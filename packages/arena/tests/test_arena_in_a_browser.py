"""The arena in a real, headless Chromium: votes by key, button and touch, offline and in two tabs, wide and narrow."""

from typing import Any

import pytest
from browsing import Served, context, opened
from playwright.sync_api import Browser, BrowserContext, Page, Route
from small_arena import PROMPTS

from salon_taxonomy.visible_text import visible

OFFLINE = "net::ERR_INTERNET_DISCONNECTED"
pytestmark = pytest.mark.browser


def vote(page: Page, key: str = "ArrowLeft") -> None:
    """Press a key, and wait for the next pair."""
    before = page.locator("#progress").text_content()
    page.wait_for_selector(".stage.shown")
    page.keyboard.press(key)
    page.wait_for_function("before => document.querySelector('#progress').textContent !== before", arg=before)


def opened_with_pairs_ahead(rater: BrowserContext, served: Served, page: Page) -> Page:
    """The work page as :func:`opened` leaves it, with the pictures of the two pairs behind the first."""
    received: list[str] = []
    page.on("requestfinished", lambda sent: received.append(sent.url) if "/media/" in sent.url else None)
    opened(rater, served, page)
    for _ in range(500):
        if len(received) >= 6:
            break
        page.wait_for_timeout(20)
    assert len(received) >= 6
    return page


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (360, "dark")])
def test_votes_by_key_and_button_and_touch_are_stored_and_can_be_undone(
    browser: Browser, served: Served, width: int, scheme: Any
) -> None:
    with context(browser, served, width, color_scheme=scheme, has_touch=True) as (rater, heard):
        page = opened(rater, served)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.wait_for_selector(".stage.shown")
        assert page.locator("#message").text_content() == ""
        for number, (key, choice) in enumerate([("ArrowLeft", "left"), ("2", "right"), ("ArrowUp", "both_good")], 1):
            vote(page, key)
            assert served.wait_for_answers(number)[-1][1] == choice
        page.wait_for_selector(".stage.shown")
        page.get_by_role("button", name="Both bad").click()
        served.wait_for_answers(4)
        page.wait_for_selector(".stage.shown")
        page.get_by_role("button", name="A is better").tap()
        served.wait_for_answers(5)
        page.wait_for_function("() => document.querySelector('#progress').textContent === '5 votes'")
        page.keyboard.press("u")  # works while the next pair is still loading
        page.wait_for_function("() => document.querySelector('#progress').textContent === '4 votes'")
        served.wait_for_answers(6)
        vote(page, "ArrowDown")
        stored = served.wait_for_answers(7)
        assert [choice for _, choice in stored] == ["left", "right", "both_good", "both_bad", "left", "undo", "both_bad"]
        assert len({pair for pair, _ in stored[4:]}) == 1
        assert page.locator("#progress").text_content() == "5 votes"
        assert heard == []


def test_who_has_answered_everything_sees_no_prompt(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, _):
        page = opened(rater, served)
        page.wait_for_selector(".stage.shown")
        assert page.locator("#prompt").text_content()
        page.route("**/tasks", lambda route: route.fulfill(json=route.fetch().json() | {"tasks": []}))
        for _ in range(20):
            page.wait_for_selector(".stage.shown, #message:not(:empty)")
            if "every pair" in (page.locator("#message").text_content() or ""):
                break
            page.keyboard.press("ArrowLeft")
            page.wait_for_timeout(200)
        assert "every pair" in (page.locator("#message").text_content() or "")
        assert page.locator("#prompt").text_content() == ""


def test_both_pictures_appear_together_only_when_both_are_there(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, heard):
        held: list[Route] = []
        rater.route("**/media/**", lambda route: held.append(route) if len(held) < 1 else route.continue_())
        page = rater.new_page()
        page.goto(served.address)
        page.get_by_role("button", name="I agree").click()
        for _ in range(100):
            page.wait_for_timeout(0 if held else 50)
        page.wait_for_timeout(300)
        assert page.locator(".frame img:not(.laid)").count() == 0
        assert page.locator("[data-choice]:enabled").count() == 0
        page.keyboard.press("ArrowLeft")
        held[0].continue_()
        page.wait_for_selector(".stage.shown")
        assert page.locator(".frame img:not(.laid)").evaluate_all(
            "all => all.every(one => one.complete && one.naturalWidth > 0)"
        )
        assert page.locator(".frame img:not(.laid)").count() == 2
        assert served.answers() == [] and heard == []


def test_prompts_are_text_in_their_own_direction(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, heard):
        page = opened(rater, served)
        seen: dict[str, tuple[str, str]] = {}
        for _ in range(40):
            found = page.evaluate(
                "(p => [p.textContent, getComputedStyle(p).direction, p.lang])(document.querySelector('#prompt'))"
            )
            seen[found[0]] = (found[1], found[2])
            if len(seen) == len(PROMPTS):
                break
            vote(page)
            page.wait_for_selector(".stage.shown")
        wanted = {visible(text, prose=True): ("rtl" if tag == "ar" else "ltr", tag) for text, tag in PROMPTS.values()}
        assert seen == wanted
        assert page.title() != "owned" and heard == []


def test_zoom_and_pan_move_both_pictures_alike(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, _):
        page = opened(rater, served)

        def places() -> list[str]:
            return list(page.locator(".frame img:not(.laid)").evaluate_all("all => all.map(one => one.style.transform)"))

        before = places()
        for act in (
            lambda: page.mouse.wheel(0, -400),
            lambda: page.keyboard.press("+"),
            lambda: page.keyboard.press("Shift+ArrowRight"),
            lambda: page.get_by_role("button", name="Zoom in").click(),
        ):
            box = page.locator(".frame:visible").first.bounding_box()
            assert box is not None
            page.mouse.move(box["x"] + 60, box["y"] + 60)
            act()
            page.wait_for_function("before => document.querySelector('.frame img').style.transform !== before", arg=before[0])
            assert places()[0] == places()[1] != before[0]
            before = places()
        page.mouse.move(box["x"] + 200, box["y"] + 200)
        page.mouse.down()
        page.mouse.move(box["x"] + 140, box["y"] + 150, steps=4)
        page.mouse.up()
        assert places()[0] == places()[1] != before[0]
        page.keyboard.press("0")
        assert places() == ["translate(0%, 0%) scale(1)"] * 2
        assert served.answers() == []


def test_answers_given_offline_survive_a_reload_and_arrive_once(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, heard):
        page = opened_with_pairs_ahead(rater, served, rater.new_page())
        rater.set_offline(True)
        vote(page, "1")
        vote(page, "2")
        page.wait_for_function("() => document.querySelector('#message').textContent.includes('kept here')")
        assert served.answers() == []
        rater.route("**/answers", lambda route: route.abort())  # the connection comes back, but not all the way
        rater.set_offline(False)
        page.reload()
        page.wait_for_selector(".stage.shown")
        assert served.answers() == []
        rater.unroute("**/answers")
        assert [choice for _, choice in served.wait_for_answers(2)] == ["left", "right"]
        vote(page, "3")
        assert len({pair for pair, _ in served.wait_for_answers(3)}) == 3
        assert all(OFFLINE in words or "net::ERR_FAILED" in words for words in heard)


def test_ten_minutes_offline_lose_and_double_nothing(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, heard):
        page = rater.new_page()
        page.clock.install()
        opened_with_pairs_ahead(rater, served, page)
        rater.set_offline(True)
        for key in ("1", "2", "3"):
            vote(page, key)
        page.wait_for_function("() => document.querySelector('#message').textContent.includes('kept here')")
        for _ in range(10):
            page.clock.fast_forward(60_000)
        assert served.answers() == []
        rater.set_offline(False)
        page.clock.fast_forward(20_000)
        found = served.wait_for_answers(3)
        assert [choice for _, choice in found] == ["left", "right", "both_good"] and len({task for task, _ in found}) == 3
        assert all(OFFLINE in words for words in heard)


def test_a_reply_that_is_lost_neither_loses_nor_doubles_the_vote(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, _):
        lost: list[int] = []

        def lose(route: Route) -> None:
            if len(lost) < 2:
                route.fetch()
                lost.append(1)
                route.abort()
            else:
                route.continue_()

        rater.route("**/answers", lose)
        page = opened(rater, served)
        vote(page)
        page.wait_for_function("() => document.querySelector('#message').textContent.includes('kept here')")
        page.wait_for_function("() => document.querySelector('#message').textContent === ''")
        assert len(lost) == 2
        assert len(served.wait_for_answers(1)) == 1


def test_two_tabs_and_the_back_button_store_one_answer_per_pair(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, _):
        one, other = opened(rater, served), opened(rater, served)
        assert one.locator("#prompt").text_content() == other.locator("#prompt").text_content()
        vote(one, "1")
        served.wait_for_answers(1)
        other.keyboard.press("2")  # the count of votes rises and falls again, maybe before it can be seen
        other.wait_for_function("() => document.querySelector('#message').textContent.includes('answered elsewhere')")
        one.goto(f"{served.address}/board")
        one.go_back()
        one.wait_for_selector(".stage.shown")
        vote(one, "3")
        stored = served.wait_for_answers(2)
        assert len({pair for pair, _ in stored}) == 2


def test_an_answer_given_while_the_last_sending_ends_is_sent_too(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, _):
        page = opened(rater, served)
        sent = page.evaluate(
            """async () => {
              const { Outbox } = await import("/static/outbox.js");
              const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
              const request = navigator.locks.request.bind(navigator.locks);
              navigator.locks.request = async (name, work) => { await request(name, work); await pause(300); };
              const sent = [], outbox = new Outbox(async (body) => { sent.push(body.answer_id); return 200; }, () => {});
              await outbox.add({ answer_id: "first" });
              while (!sent.length || (await outbox.waiting()).length) await pause(5);
              await outbox.add({ answer_id: "second" });  // the lock is free, the first sending is not yet settled
              for (let turn = 0; turn < 200 && sent.length < 2; turn += 1) await pause(10);
              return sent;
            }"""
        )
        assert sent == ["first", "second"]


def test_a_tab_hears_what_became_of_its_answer_when_another_tab_sent_it(browser: Browser, served: Served) -> None:
    waiting = "async () => (await (await import('/static/outbox.js')).waiting()).length === 2"
    with context(browser, served) as (rater, _):
        one, other = opened(rater, served), opened(rater, served)
        held: list[Route] = []
        one.route("**/answers", lambda route: route.continue_() if held else held.append(route))
        vote(one, "1")
        other.keyboard.press("2")
        other.wait_for_function(waiting)
        while not held:  # the answer is kept before it is sent
            one.wait_for_timeout(20)
        held[0].continue_()  # this tab sends its own answer, then the other's
        other.wait_for_function("() => document.querySelector('#message').textContent.includes('answered elsewhere')")
        assert other.locator("#progress").text_content() == "0 votes"
        assert one.locator("#progress").text_content() == "1 vote" and one.locator("#message").text_content() == ""
        assert [choice for _, choice in served.wait_for_answers(1)] == ["left"]


def test_every_control_is_reached_by_keyboard_and_has_a_name(browser: Browser, served: Served) -> None:
    with context(browser, served, 360) as (rater, _):
        page = opened(rater, served)
        vote(page)
        page.wait_for_selector(".stage.shown")
        page.wait_for_function("() => !document.querySelector('#undo').disabled")
        reached = set()
        for _ in range(15):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
            seen = "e => e === document.body || getComputedStyle(e).outlineStyle !== 'none'"
            assert page.evaluate(f"({seen})(document.activeElement)")
        names = page.locator("button:visible").evaluate_all("all => all.map(one => one.ariaLabel || one.textContent.trim())")
        assert all(names) and len(names) == 10
        assert {"prompt", "undo", "zoom-in", "zoom-out", "zoom-reset", "Board", "How to decide", "leave"} <= reached
        small = page.locator("button:visible").evaluate_all(
            "all => all.filter(one => one.getBoundingClientRect().height < 44).length"
        )
        assert small == 0

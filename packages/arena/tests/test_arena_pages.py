"""Every page in a headless Chromium: axe finds nothing, wide and narrow, light and dark, written from the right."""

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import Served, context, opened, settled_votes
from playwright.sync_api import Browser, Page

from salon_arena import ArenaDatabase, Material, vote_service
from salon_arena.app import POLICY

pytestmark = pytest.mark.browser
LOOKS = [(1400, "light", "ltr"), (360, "dark", "rtl"), (1400, "dark", "rtl"), (360, "light", "ltr")]
EACH_LOOK = [LOOKS[0], *(pytest.param(*look, marks=pytest.mark.slow) for look in LOOKS[1:])]


def faults(page: Page) -> list[str]:
    """What axe says of the page as it is, and where it is wider than the screen."""
    found = Axe().run(page).response["violations"]
    said = [f"{fault['id']}: {node['html'][:120]}" for fault in found for node in fault["nodes"]]
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    small = page.locator("button:visible, input:visible:not([type=checkbox]):not([type=radio]), select:visible").evaluate_all(
        "all => all.filter(one => one.getBoundingClientRect().height < 24).map(one => one.outerHTML)"
    )
    cut = page.locator(".scroll").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length")
    return [*said, *(["wider than the screen"] if wide else []), *(["a table that must be scrolled"] if cut else []), *small]


def faults_in_every_look(page: Page) -> list[str]:
    """As :func:`faults`, wide and narrow, light and dark, from the left and from the right."""
    found = []
    for width, scheme, direction in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
        found += [f"{width} {scheme} {direction}: {fault}" for fault in faults(page)]
    return found


@pytest.mark.parametrize(("width", "scheme", "direction"), LOOKS[:2] + EACH_LOOK[2:])
def test_axe_finds_nothing_on_any_page(browser: Browser, served: Served, width: int, scheme: Any, direction: str) -> None:
    with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (rater, heard):
        page = rater.new_page()
        seen = {}

        def look(name: str) -> None:
            page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
            seen[name] = faults(page)

        page.goto(served.address)
        look("join")
        opened(rater, served, page)
        page.locator("details summary").click()
        look("battle")
        page.get_by_role("button", name="Sign out").click()
        look("signing out")
        page.get_by_role("button", name="Stay").click()
        page.goto(f"{served.address}/board")
        look("empty board")
        settled_votes(served, 60)
        page.goto(f"{served.address}/board")
        look("board")
        page.goto(f"{served.address}/board/mine")
        look("own board")
        assert [fault for found in seen.values() for fault in found] == [], seen
        assert heard == []


def test_pages_load_nothing_from_elsewhere_and_no_script_but_their_own(browser: Browser, served: Served) -> None:
    assert "'unsafe" not in POLICY and POLICY.startswith("default-src 'none'")
    with context(browser, served) as (rater, heard):
        page = opened(rater, served)
        page.evaluate(
            "document.body.appendChild(Object.assign(document.createElement('script'), {textContent: 'window.bad = 1'}))"
        )
        assert page.evaluate("window.bad") is None
        assert len(heard) == 1 and "Content Security Policy" in heard[0]


def test_an_expert_joins_by_the_link_of_an_invite_once(browser: Browser, tmp_path: Path, material: Material) -> None:
    with ArenaDatabase.open(tmp_path / "experts.db", mode="expert") as database:
        served = Served(tmp_path, service=vote_service(database, material))
        code = served.service.people.invite().result()
        with context(browser, served, bypass_csp=True) as (rater, heard):
            sent: list[str] = []
            rater.on("request", lambda request: sent.append(request.url))
            page = rater.new_page()
            page.goto(f"{served.address}/#{code}")
            page.wait_for_function("code => document.querySelector('#invite').value === code", arg=code)
            assert page.url == f"{served.address}/" and faults(page) == []
            page.get_by_role("button", name="I agree").click()
            page.wait_for_selector(".stage.shown")
            assert not any(code in url for url in sent) and heard == []
        with context(browser, served) as (other, _):
            page = other.new_page()
            page.goto(f"{served.address}/#{code}")
            page.get_by_role("button", name="I agree").click()
            page.wait_for_function("() => document.querySelector('#message').textContent.includes('used already')")
        served.close()


def test_an_invite_waits_until_one_has_signed_out_and_keys_answer_nothing_meanwhile(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, heard):
        page = opened(rater, served)
        page.goto(f"{served.address}/#{served.service.people.invite('admin').result()}")
        page.reload()
        page.wait_for_selector("#invited:visible")
        page.wait_for_selector(".stage.shown")
        page.get_by_role("button", name="Sign out").click()
        for key in ("ArrowLeft", "1", "u"):
            page.keyboard.press(key)
        assert page.locator("#progress").text_content() == "0 votes" and served.answers() == []
        page.locator("#go").click()
        page.get_by_role("button", name="I agree").click()
        page.wait_for_url(f"{served.address}/admin")
        page.get_by_role("button", name="Sign out").click()
        page.locator("#go").click()
        page.wait_for_selector("#join")
        page.goto(f"{served.address}/#%")  # the link of an invite that a mail program has cut
        page.reload()
        page.get_by_role("button", name="I agree").click()
        page.wait_for_selector(".stage.shown")
        assert heard == []


def test_one_cannot_sign_out_while_answers_wait(browser: Browser, served: Served) -> None:
    with context(browser, served) as (rater, _):
        page = opened(rater, served)
        rater.route("**/answers", lambda route: route.abort())
        page.keyboard.press("1")
        page.get_by_role("button", name="Sign out").click()
        page.locator("#go").click()
        page.wait_for_function("() => document.querySelector('#leave-message').textContent.includes('1 answer must')")
        rater.unroute("**/answers")
        served.wait_for_answers(1)
        page.locator("#go").click()
        page.wait_for_selector("#join")

"""The quickstart's report in a real, headless Chromium: drawn, offline, readable on a phone, usable by keyboard."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from salon_published.quickstart import quickstart

# Vega-Lite says this of every chart that is as wide as its container and one step high per row; that is what is meant.
HARMLESS = 'Dropping "fit-y" because spec has discrete height'
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return quickstart(tmp_path_factory.mktemp("results") / "store").report


def opened(browser: Browser, report: Path, width: int = 1400, **options: object) -> tuple[Page, list[str], list[str]]:
    """The page after its charts are drawn, what it complained about, and what it asked the network for."""
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)
    complaints: list[str] = []
    requests: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and HARMLESS not in message.text:
            complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_function("document.querySelectorAll('.chart svg').length === 3")
    return page, complaints, requests


def test_three_charts_are_drawn_without_a_complaint_and_without_the_network(browser: Browser, report: Path) -> None:
    page, complaints, requests = opened(browser, report)
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.locator("#chart-0 svg").text_content().count("FLUX.1") >= 3
    assert "PRISM-Bench" in page.locator("#chart-1 svg").text_content()
    page.close()


def test_the_page_is_never_wider_than_the_screen(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, 360)
    for width in (360, 400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for index in range(3):
            page.wait_for_function(
                f"(b => b.x >= 0 && b.right <= {width})(document.querySelector('#chart-{index} svg').getBoundingClientRect())"
            )
    page.close()


def test_every_control_can_be_reached_and_used_by_keyboard(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.tagName")
        reached.append(name)
        if name == "SUMMARY" and "opened" not in reached:
            page.keyboard.press("Enter")
            reached.append("opened")
    assert reached[0] == "A"  # the link past the header
    assert {"A", "SUMMARY", "SELECT", "PRE", "opened"} <= set(reached)
    assert page.locator("details[open]").count() == 1
    page.close()


def test_choosing_a_benchmark_and_a_model_redraws_the_ranks(browser: Browser, report: Path) -> None:
    page, complaints, _ = opened(browser, report)
    before = page.locator("#chart-2 svg").text_content()
    boards = page.locator("#chart-2 select").nth(0)
    options = boards.locator("option").all_inner_texts()
    assert len(options) >= 6
    boards.select_option(options[-1])
    page.wait_for_function("before => document.querySelector('#chart-2 svg').textContent !== before", arg=before)
    assert page.locator("#chart-2 svg").text_content() != before
    page.locator("#chart-2 select").nth(1).select_option("SDXL 1.0")
    assert complaints == []
    page.close()


def test_dark_mode_writes_light_on_dark(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, color_scheme="dark")
    colour = page.locator("#chart-0 svg text").first.get_attribute("fill")
    assert colour == "#e6e9ec"
    page.close()


def test_every_number_is_there_without_javascript(browser: Browser, report: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(report.as_uri())
    assert "FLUX.1 [dev]" in page.content()
    assert page.locator("noscript").count() == 1
    page.close()

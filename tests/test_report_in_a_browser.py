"""The quickstart's report in a real, headless Chromium: drawn, offline, readable on a phone, usable by keyboard."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from salon_published.quickstart import quickstart

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return quickstart(tmp_path_factory.mktemp("results") / "store").report


def opened(browser: Browser, report: Path, width: int = 1400, **options: object) -> tuple[Page, list[str], list[str]]:
    """The page, what it complained about, and what it asked the network for."""
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)
    complaints: list[str] = []
    requests: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    return page, complaints, requests


def test_charts_are_drawn_without_a_complaint_and_without_the_network(browser: Browser, report: Path) -> None:
    page, complaints, requests = opened(browser, report)
    assert complaints == []
    assert [url for url in requests if not url.startswith("file:")] == []
    charts = page.locator(".chart").all_text_contents()
    assert charts[0].count("GPT-Image") >= 3 and any("DPG-Bench" in chart for chart in charts)
    assert page.locator(".forest").count() == 4
    assert page.locator(".forest circle").count() == page.locator(".forest tbody tr").count() > 80
    assert report.stat().st_size < 3_000_000
    page.close()


def test_the_page_is_never_wider_than_the_screen(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, 360)
    for width in (360, 400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = page.locator(".chart > *").evaluate_all("charts => charts.map(chart => chart.getBoundingClientRect())")
        assert all(box["x"] >= 0 and box["right"] <= width for box in boxes)
    page.close()


def test_every_control_can_be_reached_and_used_by_keyboard(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report)
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.tagName"))
        if reached[-1] == "BUTTON":  # a model of the board: its numbers are shown
            break
    assert reached[0] == "A"  # the link past the header
    assert {"A", "PRE", "SELECT", "INPUT", "DIV", "BUTTON"} <= set(reached)
    page.keyboard.press("Enter")
    assert page.locator(".numbers tbody tr").count() > 0
    page.close()


def test_dark_mode_writes_light_on_dark(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, color_scheme="dark")
    colour = page.locator(".forest tbody th").first.evaluate("name => getComputedStyle(name).color")
    assert colour == "rgb(230, 233, 236)"
    page.close()

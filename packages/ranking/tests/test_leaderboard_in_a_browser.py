"""The leaderboard's page in a real, headless Chromium: drawn, offline, readable on a phone, usable by keyboard."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from salon_ranking import Battles, rank, rank_by
from salon_ranking.report.leaderboard import leaderboard_page

pytestmark = pytest.mark.browser
MODELS = [f"vendor {number % 5} / image-model-{number:02} [turbo]" for number in range(14)]


@pytest.fixture(scope="module")
def battles() -> Battles:
    random = np.random.default_rng(0)
    a = random.integers(0, 14, 6_000)
    b = (a + random.integers(1, 14, 6_000)) % 14
    won = random.random(6_000) < 1 / (1 + np.exp((b - a) / 8))
    names = np.array(MODELS)
    scenario = np.array(["art", "film", "e-commerce"])[random.integers(0, 3, 6_000)]
    return Battles.from_frame(
        pl.DataFrame(
            {"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b"), "scenario": scenario}
        )
    )


@pytest.fixture(scope="module")
def pages(battles: Battles, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    raters = folder / "raters.csv"
    raters.write_text("rater_id,battles,flagged,reason\nann,120,false,\nbob,40,true,too fast\n", encoding="utf-8")
    pages = {"whole": (rank(battles, replicates=40),), "groups": rank_by(battles, "scenario", replicates=40)}
    for name, boards in pages.items():
        text = leaderboard_page(boards, title="Votes", battles=battles, raters=raters)
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


def opened(browser: Any, path: Path, charts: int, width: int = 1400, **options: object) -> tuple[Any, list[str], list[str]]:
    """The page, what it complained about, and what it asked the network for."""
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    assert page.locator(".chart").count() == charts
    return page, complaints, requests


@pytest.mark.parametrize(("name", "charts"), [("whole", 3), ("groups", 6)])
def test_every_chart_is_drawn_offline_without_a_complaint_and_fits_the_screen(
    browser: Any, pages: dict[str, Path], name: str, charts: int
):
    page, complaints, requests = opened(browser, pages[name], charts, 360)
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    headings = page.locator("h2").all_inner_texts()
    assert headings[-3:] == ["Win rates", "Convergence", "Raters"]
    assert ("Groups compared" in headings) == (name == "groups")
    for width in (360, 400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(
            f"[...document.querySelectorAll('.chart > table, .chart > svg')].every(chart => "
            f"(b => b.x >= 0 && b.right <= {width})(chart.getBoundingClientRect()))"
        )
        if name == "whole":  # every pair's win rate is written
            assert page.locator(".heat td", has_text="%").count() == 14 * 13
    page.close()


def test_the_numbers_of_every_chart_are_reached_by_keyboard(browser: Any, pages: dict[str, Path]):
    page, _, _ = opened(browser, pages["whole"], 3)
    opened_by_key = 0
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            page.keyboard.press("Enter")
            opened_by_key += 1
    assert opened_by_key >= 3
    assert page.locator("details[open] caption").all_inner_texts() == [
        "Leaderboard",
        "Pairs that met",
        "Widths of intervals, in Elo points",
    ]
    page.close()


def test_dark_mode_writes_light_on_dark(browser: Any, pages: dict[str, Path]):
    page, _, _ = opened(browser, pages["whole"], 3, color_scheme="dark")
    assert page.locator(".forest tbody th").first.evaluate("name => getComputedStyle(name).color") == "rgb(230, 233, 236)"
    assert page.locator(".drawing .tick").first.evaluate("text => getComputedStyle(text).fill") == "rgb(162, 172, 182)"
    page.close()

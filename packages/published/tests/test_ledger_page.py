"""The page of the ledger: small, under one policy, and its filters and its models work by keyboard in a browser."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, ConsoleMessage

from salon_console import main
from salon_published.ledger import ledger_scores
from salon_published.ledger_page import _embedded, ledger_page


@pytest.fixture(scope="module")
def page_text() -> str:
    return ledger_page()


def test_the_page_is_small_and_holds_every_number(page_text: str) -> None:
    assert len(page_text.encode()) < 1_500_000
    (content,) = re.findall(r'<script type="application/json" class="content">(.*?)</script>', page_text, re.DOTALL)
    data = json.loads(content)
    scores = ledger_scores()
    assert len(data["cells"]) == scores.height
    model, table, benchmark, _, printed, reported, _ = data["cells"][-1]
    last = scores.row(-1, named=True)
    assert (benchmark, printed, reported) == (last["benchmark"], last["printed"], last["reported"])
    assert data["sources"][data["tables"][table][0]][1].startswith("https://github.com/")
    assert data["models"][model][0]
    assert {board["task"] for board in data["boards"]} == set(scores["task"])


def test_names_cannot_end_the_data_of_the_page() -> None:
    hostile = "</script><img src=x onerror=alert(1)> & <!-- \u2028"
    text = _embedded([hostile])
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == [hostile]


def test_the_command_writes_the_page_and_refuses_another_kind_of_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["papers", "page", "--output", str(tmp_path / "ledger.pdf")])
    assert result.exit_code == 2 and ".html" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 360])
def test_boards_are_filtered_and_models_compared(browser: Browser, page_text: str, tmp_path: Path, width: int) -> None:
    file = tmp_path / "ledger.html"
    file.write_text(page_text, encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    rows = page.locator(".board tbody tr")
    known = rows.count()
    page.uncheck("[name=known]")
    assert rows.count() > known > 50
    page.select_option("[name=task]", "edit")
    page.select_option("[name=weights]", "open")
    assert {text.strip() for text in page.locator(".board tbody td:last-child").all_text_contents()} == {"open"}
    page.fill("[name=since]", "2025-06")
    assert all(text >= "2025-06" for text in page.locator(".board tbody td:nth-child(6)").all_text_contents())
    page.select_option("[name=capability]", "identity")
    page.fill("[name=words]", "no such model")
    assert rows.count() == 0
    page.fill("[name=words]", "")
    page.locator(".board tbody button").first.focus()
    page.keyboard.press("Enter")
    assert page.input_value("[name=one]") != ""
    numbers = page.locator(".numbers tbody tr")
    assert numbers.count() > 0
    page.fill("[name=one]", "qwen-image")
    alone = numbers.count()
    page.fill("[name=other]", "GLM-Image")
    assert 0 < numbers.count() < alone
    assert page.locator(".numbers tbody a").first.get_attribute("href").startswith("https://github.com/")  # type: ignore[union-attr]
    page.fill("[name=other]", "<b>nobody</b>")
    assert numbers.count() == alone
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    page.close()

"""``salon view`` in a real, headless Chromium: keyboard alone, wide and narrow, light and dark, and a run while it goes on."""

import re
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from salon_store import ResultStore

pytestmark = pytest.mark.browser
SALON = (sys.executable, "-c", "from salon_console import main; main()")
SUITE = 'name = "shown"\n\n[[question]]\nid = "shown"\nask = "{question}"\nanswer = "yes/no"\n'
HOSTILE = "<img src=x onerror=\"document.title='owned'\">\u202e"


@contextmanager
def started(*command: str, cwd: Path) -> Iterator[str]:
    """A command that prints its address and serves until it is ended."""
    process = subprocess.Popen([*SALON, *command], cwd=cwd, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def made(folder: Path, count: int) -> Path:
    """A suite of one question, a prompt for each of so many small pictures, and the pictures."""
    (folder / "shown.toml").write_text(SUITE)
    (folder / "pictures").mkdir()
    rows = ["prompt_id,prompt,question"]
    for number in range(count):
        colour = np.full((24, 32, 3), [zlib.crc32(bytes([number % 251, place])) % 256 for place in range(3)], np.uint8)
        Image.fromarray(colour).save(folder / "pictures" / f"p{number:04}.png")
        rows.append(f'p{number:04},"a picture, number {number}","Is it number {number}?"')
    rows[1] = 'p0000,"{}","Is it number 0?"'.format(HOSTILE.replace('"', '""'))
    (folder / "prompts.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def judged(folder: Path, judge: str, *more: str) -> list[str]:
    return [*SALON, "bench", "run", "./shown.toml", "--prompts", "prompts.csv", "--model", "brush", "--generations", "pictures",
            "--judge", judge, *more]  # fmt: skip


@contextmanager
def watched(browser: Browser, address: str, width: int = 1400, **options: object) -> Iterator[Page]:
    """A page that must not complain, ask elsewhere, or run what a stranger wrote."""
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)  # type: ignore[arg-type]
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    own = address.split("/", 3)[2]
    page.on("request", lambda sent: complaints.extend([] if sent.url.split("/", 3)[2] == own else [sent.url]))
    page.goto(address)
    yield page
    assert complaints == [] and page.title() != "owned"
    page.close()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs of two judges over the same 70 pictures."""
    folder = made(tmp_path_factory.mktemp("viewed"), 70)
    for name, replies in (("one", ("yes",)), ("two", ("yes", "no", "I cannot say"))):
        options = [part for reply in replies for part in ("--reply", reply)]
        with started("bench", "mock-server", "--port", "0", *options, cwd=folder) as address:
            subprocess.run(judged(folder, f"vllm:{name}@{address.split('/')[2]}"), cwd=folder, check=True, capture_output=True)
    store = ResultStore.open(folder / "results")
    pictures = store.read("generations").sort("prompt_id").head(2).collect()["generation_id"].to_list()
    vote = {"prompt_id": "p0000", "model_a": HOSTILE, "model_b": "pencil", "rater_id": "ann", "mode": "public", "labels": []}
    battles = [
        vote | {"battle_id": winner, "winner": winner, "generation_a": pictures[0], "generation_b": pictures[1]}
        for winner in ("model_a", "model_b", "tie")
    ]
    store.append("battles", pl.DataFrame(battles), run_id="votes")
    return folder


@pytest.fixture
def address(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with started("view", "results", "--port", "0", "--no-open", cwd=finished) as url:
        yield url


def test_the_keyboard_alone_leads_from_the_runs_to_a_reply_and_back(browser: Browser, address: str) -> None:
    with watched(browser, address) as page:
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("70 of 70 cases, page 1 of 2")
        page.wait_for_load_state()
        page.keyboard.press("]")
        expect(page.get_by_role("status")).to_contain_text("page 2 of 2")
        page.wait_for_load_state()  # the script listens
        page.keyboard.press("[")
        expect(page.get_by_role("status")).to_contain_text("page 1 of 2")
        page.wait_for_load_state()
        page.keyboard.press("/")
        page.keyboard.type("number 42")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("1 of 70 cases")
        page.wait_for_load_state()  # the script listens
        page.keyboard.press("1")
        expect(page.locator("h1")).to_contain_text("brush: p0042")
        expect(page.locator(".call pre").first).to_contain_text(re.compile("yes|no|say"))
        page.wait_for_function("() => document.querySelector('.picture img').naturalWidth > 0")
        page.keyboard.press("Escape")
        expect(page.get_by_role("status")).to_contain_text("1 of 70 cases")
        page.wait_for_load_state()  # the script listens
        page.keyboard.press("Escape")
        expect(page.locator("h1")).to_contain_text("Runs")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page_and_none_is_wider_than_its_screen(browser: Browser, address: str, scheme: str) -> None:
    for width in (1400, 360):
        with watched(browser, address, width, color_scheme=scheme) as page:
            runs = page.locator("tbody a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
            both = "run?" + "&".join(link.removeprefix("run?") for link in runs) + "&beside=1"
            pages = ["", runs[0], both, f"{runs[0]}&verdict=unscored", f"{runs[0]}&where=nonsense"]
            page.goto(address + runs[0])
            pages.append(page.locator(".card .open").first.get_attribute("href") or "")
            pages += ["battles", "battles?is_won=tie", "row?key=tie"]
            for path in pages:
                page.goto(address + path)
                page.wait_for_load_state("networkidle")
                found = Axe().run(page)
                assert found.violations_count == 0, (path, width, found.generate_report())
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_disagreement_of_two_judges_is_a_filter_and_a_mark(browser: Browser, address: str) -> None:
    with watched(browser, address) as page:
        for box in page.get_by_role("checkbox").all():
            box.check()
        page.get_by_role("button", name=re.compile("side by side")).click()
        expect(page.get_by_role("status")).to_contain_text("140 of 140 cases")
        page.get_by_label(re.compile("judges differ")).check()
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page).to_have_url(re.compile("differs=1"))
        expect(page.get_by_role("status")).not_to_contain_text("140 of 140")
        shown = page.locator(".card")
        assert 0 < shown.count() < 140 and page.locator(".card.differs").count() == shown.count()
        shown.locator(".open").first.click()
        expect(page.locator("tr.differs")).to_have_count(2)


def test_the_keyboard_leads_from_the_battles_to_one_and_to_all_of_its_pair(browser: Browser, address: str) -> None:
    with watched(browser, address) as page:
        page.get_by_role("link", name="3 battles").click()
        expect(page.get_by_role("status")).to_contain_text("3 of 3 rows")
        page.get_by_label("Winner").select_option("pencil")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("1 of 3 rows")
        page.wait_for_load_state()
        for key in ("ArrowRight", "Enter"):
            page.keyboard.press(key)
        expect(page.locator(".picture.chosen")).to_contain_text("pencil")
        page.wait_for_function("() => [...document.querySelectorAll('.picture img')].every(image => image.naturalWidth > 0)")
        page.get_by_role("link", name="models").click()
        expect(page.get_by_role("status")).to_contain_text("3 of 3 rows")
        page.wait_for_load_state()
        page.keyboard.press("Escape")
        expect(page.locator("h1")).to_contain_text("Runs")


@pytest.mark.slow
def test_a_run_of_two_thousand_cases_is_looked_at_while_it_goes_on(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = made(tmp_path, 2000)
    subprocess.run([*SALON, "store", "init", "results"], cwd=folder, check=True, capture_output=True)
    replies = ("--reply", "yes", "--reply", "no", "--reply", "who knows")
    mock = ("bench", "mock-server", "--port", "0", *replies, "--latency", "120")
    with started(*mock, cwd=folder) as judge, started("view", "results", "--port", "0", "--no-open", cwd=folder) as url:
        command = judged(folder, f"vllm:mock@{judge.split('/')[2]}")
        run = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with watched(browser, url) as page:
                for _ in range(600):
                    if page.locator(".state.running").count():
                        break
                    page.wait_for_timeout(100)
                    page.reload()
                page.locator("tbody a").first.click()
                status = page.get_by_role("status")
                expect(status).to_contain_text(re.compile(r"[1-9][\d,]* of [1-9]"), timeout=20_000)
                run.send_signal(signal.SIGSTOP)  # however slow the browser is, the run goes on only when it has looked
                assert run.poll() is None
                page.wait_for_timeout(2_000)
                first = status.inner_text()
                run.send_signal(signal.SIGCONT)
                expect(status).not_to_have_text(first, timeout=20_000)  # it grew by itself
                page.get_by_label("Verdict").select_option("unscored")
                page.get_by_role("button", name="Show", exact=True).click()
                expect(page).to_have_url(re.compile("verdict=unscored"))
                expect(page.locator(".chip.missing").first).to_be_visible()
                assert page.evaluate(
                    "[...document.querySelectorAll('.card')].every(card => card.querySelector('.chip.missing'))"
                )
                assert run.wait(120) == 0
                page.goto(page.url.split("&verdict")[0])
                expect(status).to_contain_text("2,000 of 2,000 cases, page 1 of 34")
        finally:
            run.kill()
            run.wait()

"""The site of ``docs/``: every page has its place, every link leads somewhere, and it reads well on wide and narrow screens.

``uv run --all-packages --group docs pytest -m slow tests/test_site.py`` builds it; ``just site`` does so without the look.
"""

import fcntl
import re
import shutil
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest
from PIL import Image
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
CUT = """() => [...document.querySelectorAll("main *, footer *")]
  .filter(e => e.checkVisibility() && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1)
  .filter(e => ["hidden", "clip"].includes(getComputedStyle(e).overflowX)
    || (e.matches(".md-typeset__scrollwrap") && e.querySelector("tr").cells.length <= 3))
  .map(e => e.textContent.trim())"""
"""Texts that are cut without a way to scroll to their end, and tables of up to three columns that must be scrolled."""


def test_every_page_is_in_the_nav_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r": (\S+\.md)$", nav, re.MULTILINE)) == sorted(
        page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").glob("**/*.md")
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the built site, for tests in several processes; built before the browser starts."""
    pytest.importorskip("zensical", reason="needs the group docs: uv run --all-packages --group docs pytest …")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    with (ROOT / "mkdocs.yml").open() as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
        copy = shutil.copytree(ROOT / "site", tmp_path_factory.mktemp("site") / "site")
    assert re.findall(r"^griffe: .*", built.stdout + built.stderr, re.MULTILINE) == []  # docstrings that cannot be read
    return copy


@pytest.mark.slow
@pytest.mark.browser
def test_every_screenshot_can_be_drawn_again(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    screenshots = run_path(str(ROOT / "docs" / "screenshots.py"))
    screenshots["draw"](browser, tmp_path / "images", tmp_path / "work")
    drawn = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert drawn == sorted(path.name for path in (ROOT / "docs" / "images").glob("*.webp"))
    for name in drawn:
        with Image.open(tmp_path / "images" / name) as image:
            shades = image.convert("L").histogram()
            assert max(shades) < 0.98 * image.width * image.height, f"{name} shows nothing"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("width", [360, 1400])
def test_pages_fit_wide_and_narrow_screens_and_fetch_nothing(site: Path, browser: Browser, width: int, third: int) -> None:
    pages = sorted(site.glob("**/*.html"))
    assert len(pages) > 60
    page = browser.new_page(viewport={"width": width, "height": 900})
    fetched: list[str] = []
    page.on("request", lambda sent: fetched.extend([] if sent.url.startswith(("file:", "data:")) else [sent.url]))
    wide, cut = [], []
    for path in pages[third::3]:
        page.goto(path.as_uri())
        name = path.relative_to(site).as_posix()
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(name)
        if found := page.evaluate(CUT):
            cut.append((name, found))
    page.close()
    assert wide == []
    assert cut == []
    assert fetched == []


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "api/salon_store.html"])
def test_the_search_works_from_a_folder(site: Path, browser: Browser, name: str) -> None:
    page = browser.new_page()
    page.goto((site / name).as_uri())
    page.wait_for_load_state("networkidle")
    page.keyboard.press("/")
    page.get_by_placeholder("Search").press_sequentially("bootstrap", delay=30)
    found = page.locator("a").filter(has_text="ootstrap")
    found.first.wait_for()
    found.first.click()
    page.wait_for_url(lambda url: not url.endswith(name) and url.startswith("file:"))
    assert "ootstrap" in page.content()
    page.close()


def test_the_reason_of_a_block_that_is_not_run_is_its_caption() -> None:
    pytest.importorskip("zensical", reason="needs the group docs: uv run --all-packages --group docs pytest …")
    captions = run_path(str(ROOT / "docs" / "site.py"))["Captions"](None)
    for page in (ROOT / "docs").glob("**/*.md"):
        text = page.read_text(encoding="utf-8")
        shown = re.findall(
            r'^```text title="Not run by the tests: (.+)"$', "\n".join(captions.run(text.split("\n"))), re.MULTILINE
        )
        assert shown == re.findall(r"^```text not run: (.+)$", text, re.MULTILINE), page

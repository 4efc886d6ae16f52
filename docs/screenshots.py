"""Draw the screenshots of the site and the README: ``uv run --all-packages python docs/screenshots.py [FOLDER]``.

Makes each page with the commands that a reader would type, opens it in a headless Chromium and writes ``FOLDER/NAME.webp``
(default: ``docs/images``). ``tests/test_site.py`` runs it in a folder of its own.
"""

import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {"python": Path(sys.executable), "salon": Path(sys.executable).with_name("salon")}
WIDTH, HEIGHT = 1200, 760


def shell(folder: Path, line: str) -> str:
    """Run a line, ``salon …`` or ``python …``, in a folder; return what it printed."""
    program, *words = shlex.split(line)
    return subprocess.run([PROGRAMS[program], *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def leaderboard(folder: Path) -> Path:
    """Make the page of ``salon quickstart``."""
    shell(folder, "salon quickstart")
    return folder / "salon-results" / "report.html"


def run_report(folder: Path) -> Path:
    """Make the page of two models of ``examples/small_bench``."""
    shell(folder, f"python {ROOT / 'examples' / 'small_bench' / 'prepare.py'} .")
    for model in ("steady", "hasty"):
        judged = f"--model {model} --generations {model} --prompts magicbench.jsonl --judge replay:replies"
        shell(folder, f"salon bench run magicbench {judged}")
    runs = re.findall(r"magicbench-[\w.-]+-[0-9a-f]{8}", shell(folder, "salon bench runs --format json"))
    shell(folder, f"salon results report {' '.join(dict.fromkeys(runs))} --output page.html")
    return folder / "page.html"


def curation(folder: Path) -> Path:
    """Make the page of ``salon curate demo``."""
    shell(folder, "salon curate demo curated --per-category 6")
    return next(folder.glob("curated/*.html"))


def save(page: Page, path: Path) -> None:
    """Write what a page shows as a small WebP file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(page.screenshot())).convert("RGB").save(path, quality=80, method=6)


def arena(browser: Browser, folder: Path, path: Path) -> None:
    """Serve ``salon arena demo``, agree to take part, and draw the first pair."""
    command = [PROGRAMS["salon"], *shlex.split("arena demo demo --port 0")]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(address)
        page.get_by_role("button", name="I agree").click()
        page.wait_for_selector(".stage.shown")
        page.get_by_text("Loading").wait_for(state="hidden")
        save(page, path)
        page.close()
    finally:
        server.terminate()
        server.wait()


def viewer(browser: Browser, folder: Path, path: Path) -> None:
    """Serve ``salon view`` over the runs of :func:`run_report`, and draw one of them."""
    command = [PROGRAMS["salon"], *shlex.split("view results --port 0 --no-open")]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(server.stdout.readline().strip())
        page.locator("tbody a").first.click()
        page.wait_for_load_state("networkidle")
        save(page, path)
        page.close()
    finally:
        server.terminate()
        server.wait()


def draw(browser: Browser, into: Path, work: Path) -> None:
    """Write every screenshot; ``work`` is an empty folder for what the commands make."""
    pages = (("report", leaderboard, "Who leads?"), ("run-report", run_report, "Pictures"), ("curate", curation, "Funnel"))
    for name, make, section in pages:
        (work / name).mkdir()
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(make(work / name).as_uri())
        page.locator("h2", has_text=section).first.evaluate("heading => heading.scrollIntoView()")
        save(page, into / f"{name}.webp")
        page.close()
    viewer(browser, work / "run-report", into / "view.webp")
    arena(browser, work, into / "arena.webp")


if __name__ == "__main__":
    into = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "images").resolve()
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        draw(playwright.chromium.launch(executable_path=program, args=["--no-sandbox"]), into, Path(work))

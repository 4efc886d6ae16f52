"""The pages of ``salon results report`` and ``compare`` in a real, headless Chromium: hostile words cannot act, filters filter,
the page fits a phone, and a thousand pictures stay usable.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from salon_bench.analysis.compare import compare
from salon_bench.report.comparison_page import comparison_page
from salon_bench.report.run_page import run_page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packages" / "bench" / "tests"))
from verdict_store import VerdictStore

pytestmark = pytest.mark.browser
ATTACKS = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "' onmouseover='document.title=1' x='",
    "</pre></details></section><script>document.title='owned'</script>",
    "]]></script>--><svg onload=document.title='owned'>",
    "javascript:document.title='owned'",
    "{{ 7 * 7 }}{% raw %}&lt;b&gt;&amp;",
    "\u202eקדימה‮ txet desrever\u2066",
    "مرحبا بالعالم، قطة حمراء",
    "nul\x00 bell\x07 escape\x1b[31m",
    "x" * 400,
)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two subjects, eight prompts each, and the page of their comparison."""
    folder = tmp_path_factory.mktemp("two")
    made = VerdictStore(folder)
    names = [f"p{number}" for number in range(8)]
    pictures = _pictures(folder, names[:-1])
    made.prompts({name: f"a picture of number {name[1:]}" for name in names})
    values = {("t", name, "sharp"): float(place) for place, name in enumerate(names)} | {("t", "p7", "sharp"): "bad_media"}
    made.run(
        "one",
        values,
        subject="first",
        pictures=pictures,
        labels={"p1": ["blurred"], "p2": ["blurred", "cut"]},
        replies={"p1": ["I see a fox"]},
    )
    made.run(
        "two", {**values, ("t", "p3", "sharp"): 0.5, ("t", "p4", "sharp"): "malformed"}, subject="second", pictures=pictures
    )
    (folder / "page.html").write_text(run_page(made.path, ["one", "two"]), encoding="utf-8")
    (folder / "one.html").write_text(run_page(made.path, ["one"]), encoding="utf-8")
    (folder / "compared.html").write_text(comparison_page(made.path, compare(made.path, "one", "two")), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Attacks wherever a stranger's word can stand: ids, names, prompts, tasks, dimensions, labels, reasons, replies."""
    folder = tmp_path_factory.mktemp("hostile")
    made = VerdictStore(folder)
    attacks = [text[:180] for text in ATTACKS]
    made.prompts(dict(zip(attacks, ATTACKS, strict=True)))
    pictures = _pictures(folder, attacks)
    for run_id, subject in ((ATTACKS[0][:80], ATTACKS[1]), (ATTACKS[2], ATTACKS[7])):
        values = {(attack, attack, attack): float(place) for place, attack in enumerate(attacks)}
        values |= {("t", attack, "d"): ATTACKS[1] for attack in attacks}
        made.run(
            run_id,
            values if subject == ATTACKS[1] else dict.fromkeys(values, 1.0),
            subject=subject,
            judge=ATTACKS[3],
            pictures=pictures,
            replies={attack: list(ATTACKS) for attack in attacks},
            labels={attack: list(attacks) for attack in attacks},
        )
    runs = [ATTACKS[0][:80], ATTACKS[2]]
    (folder / "page.html").write_text(run_page(made.path, runs), encoding="utf-8")
    (folder / "compared.html").write_text(comparison_page(made.path, compare(made.path, *runs)), encoding="utf-8")
    return folder


def _pictures(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    found = {}
    for place, name in enumerate(names):
        found[name] = folder / f"{place}.png"
        Image.new("RGB", (48, 32), (place * 7 % 256, 80, 160)).save(found[name])
    return found


def opened(browser: Browser, path: Path, width: int = 1400) -> tuple[Page, list[str], list[str]]:
    """The page, what it complained about, and what it asked the network for."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    return page, complaints, [url for url in requests if not url.startswith(("file:", "data:"))]


def shown(page: Page) -> list[str]:
    """The ids of the prompts that can be seen, in order."""
    return page.locator("article:not([hidden]) h3").all_text_contents()  # inner texts lack what is not drawn yet


def field(page: Page, name: str) -> Locator:
    """One field of the filters."""
    return page.locator(f'.filters [name="{name}"]')


@pytest.mark.parametrize("name", ["page.html", "compared.html"])
def test_hostile_words_are_shown_and_cannot_act(browser: Browser, hostile: Path, name: str) -> None:
    page, complaints, requests = opened(browser, hostile / name)
    title = page.title()
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    for summary in page.locator("bdi").all()[:40]:
        summary.hover(force=True, trial=True) if summary.is_visible() else None
    assert (page.title(), complaints, requests) == (title, [], [])
    assert page.evaluate("document.querySelectorAll('script').length") == (1 if name == "page.html" else 0)
    assert (
        page.evaluate(
            "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => a.name.startsWith('on')).length"
        )
        == 0
    )
    assert page.evaluate("[...document.images].every(image => image.src.startsWith('data:image/webp'))")
    assert ATTACKS[0] in page.locator("body").inner_text()
    page.close()


def test_the_pages_own_rule_stops_a_script_that_was_smuggled_in(browser: Browser, two: Path, tmp_path: Path) -> None:
    page_text = (two / "page.html").read_text(encoding="utf-8")
    spoiled = tmp_path / "spoiled.html"
    spoiled.write_text(
        page_text.replace("</article>", "</article><script>document.title='owned'</script>", 1), encoding="utf-8"
    )
    page, complaints, _ = opened(browser, spoiled)
    assert page.title() != "owned"
    assert any("Content Security Policy" in text for text in complaints)
    assert page.locator("output").inner_text() == "16 of 16 pictures, 8 of 8 prompts"  # its own script runs
    page.close()


@pytest.mark.parametrize("folder", ["two", "hostile"])
@pytest.mark.parametrize("name", ["page.html", "compared.html"])
def test_a_page_is_never_wider_than_the_screen(
    browser: Browser, request: pytest.FixtureRequest, folder: str, name: str
) -> None:
    page, complaints, _ = opened(browser, request.getfixturevalue(folder) / name, 360)
    for width in (360, 400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    page.close()


def test_two_subjects_stand_side_by_side_even_on_a_phone(browser: Browser, two: Path) -> None:
    page, _, _ = opened(browser, two / "page.html", 400)
    for width in (400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [cell.bounding_box() for cell in page.locator("article").first.locator(".cell").all()]
        assert len(boxes) == 2
        assert boxes[0]["y"] == boxes[1]["y"], width
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"], width
        assert page.locator("article").first.locator("img").first.bounding_box()["width"] >= 120, width
    page.close()


def test_filters_show_what_fits_and_say_how_much(browser: Browser, two: Path) -> None:
    page, complaints, _ = opened(browser, two / "page.html")
    said = page.locator("output")
    field(page, "label").select_option("own: blurred")
    expect(page.locator("output")).to_contain_text("2 of")
    assert shown(page) == ["p1", "p2"]
    page.get_by_role("button", name="Show all").click()
    field(page, "reason").select_option("malformed")
    expect(page.locator("output")).to_contain_text("1 of")
    assert shown(page) == ["p4"]
    field(page, "reason").select_option("*")
    expect(page.locator("output")).to_contain_text("3 of")
    assert shown(page) == ["p4", "p7"]
    page.get_by_role("button", name="Show all").click()
    field(page, "dimension").select_option("sharp")
    field(page, "low").fill("5")
    expect(page.locator("output")).to_contain_text("4 of")
    assert shown(page) == ["p5", "p6"]
    page.get_by_role("button", name="Show all").click()
    field(page, "words").fill("a FOX")
    expect(page.locator("output")).to_contain_text("1 of")
    assert shown(page) == ["p1"]
    assert said.inner_text() == "1 of 16 pictures, 1 of 8 prompts"
    assert complaints == []
    page.close()


def test_subjects_can_be_chosen_swapped_and_asked_where_they_differ(browser: Browser, two: Path) -> None:
    page, _, _ = opened(browser, two / "page.html")
    field(page, "differ").check()
    expect(page.locator("output")).to_contain_text("4 of 8 prompts")
    assert set(shown(page)) == {"p1", "p2", "p3", "p4"}  # other labels, other scores, no score
    page.get_by_role("button", name="Show all").click()
    field(page, "left").select_option(label="second")
    field(page, "right").select_option(label="first")
    expect(page.locator('.cell[data-column="1"]').first).to_have_css("order", "-1")
    first, second = (page.locator("article").first.locator(f'.cell[data-column="{column}"]').bounding_box() for column in "01")
    assert second["x"] < first["x"]
    field(page, "right").select_option(label="–")
    expect(page.locator("output")).to_contain_text("8 of 8")
    assert not page.locator('.cell[data-column="0"]').first.is_visible()
    page.close()


def test_prompts_can_be_put_in_the_order_of_a_score(browser: Browser, two: Path) -> None:
    page, _, _ = opened(browser, two / "one.html")
    field(page, "order").select_option("down")
    expect(page.locator("article h3").first).to_have_text("p6")
    assert shown(page) == ["p6", "p5", "p4", "p3", "p2", "p1", "p0", "p7"]  # without a score: last
    field(page, "order").select_option("up")
    expect(page.locator("article h3").first).to_have_text("p0")
    assert shown(page)[-1] == "p7"
    page.close()


def test_everything_can_be_reached_and_opened_by_keyboard(browser: Browser, two: Path) -> None:
    page, _, _ = opened(browser, two / "page.html")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
        if reached[-1] == "SUMMARY":
            page.keyboard.press("Enter")
            break
    assert {"left", "right", "differ", "label", "reason", "dimension", "low", "high", "order", "words", "SUMMARY"} <= set(
        reached
    )
    assert page.locator("details[open]").count() == 1
    assert page.locator("details[open] pre").inner_text() == "I see a fox"
    page.close()


def test_without_javascript_every_picture_and_verdict_is_there(browser: Browser, two: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((two / "page.html").as_uri())
    assert page.locator("article").count() == 8
    assert page.locator("form").is_visible() is False
    last = page.locator("article").last.text_content()
    assert "unscored: bad_media" in last
    assert "there is no picture" in last
    page.close()


@pytest.mark.slow
def test_a_thousand_pictures_stay_usable(browser: Browser, tmp_path: Path) -> None:
    made = VerdictStore(tmp_path)
    names = [f"p{number:04d}" for number in range(1100)]
    pictures = dict(zip(names, list(_pictures(tmp_path, names[:50]).values()) * 22, strict=True))
    made.run(
        "one",
        {("t", name, "d"): float(place % 11) for place, name in enumerate(names)},
        pictures=pictures,
        replies={name: ["words " * 200] for name in names},
    )
    path = tmp_path / "page.html"
    path.write_text(run_page(made.path, ["one"]), encoding="utf-8")
    page, complaints, _ = opened(browser, path)
    assert page.locator("article").count() == 1000
    assert "100 more pictures not shown" in page.locator("body").inner_text()
    field(page, "dimension").select_option("d")
    field(page, "low").fill("10")
    expect(page.locator("output")).to_contain_text("90 of 1000")
    drawn = "[...document.querySelectorAll('article')].filter(e => e.checkVisibility({contentVisibilityAuto: true})).length"
    assert page.evaluate(drawn) == 90
    field(page, "order").select_option("down")
    expect(page.locator("output")).to_contain_text("90 of 1000")
    assert complaints == []
    page.close()

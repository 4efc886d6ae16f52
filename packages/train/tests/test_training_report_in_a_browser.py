"""The page of ``salon train report`` in a headless Chromium: hostile words cannot act, it fits a phone, keys reach it all."""

import json
from pathlib import Path
from typing import Any

import pytest

from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.report.folders import read_runs
from salon_train.report.page import training_page

pytestmark = pytest.mark.browser
ATTACKS = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</title></svg></pre></details></section><script>document.title='owned'</script>",
    "</style><svg onload=document.title='owned'>",
    "\" onmouseover='document.title=1' x=\"",
    "{{ 7 * 7 }}{% raw %}&lt;b&gt;&amp;",
    "\u202eקדימה txet desrever\u2066",
    "nul\x00 bell\x07 escape\x1b[31m",
    "x" * 400,
)


STROKES = r"""() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\d.]+/g).map(Number).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const contrast = (one) => (Math.max(one, paper) + 0.05) / (Math.min(one, paper) + 0.05);
  return ['.line', '.level.warn', '.upright.resumed', '.upright.ended'].map((name) =>
    [...document.querySelectorAll(name)].map((each) => contrast(light(getComputedStyle(each).stroke))));
}"""
"""Of each kind of line in a chart: its contrasts with the page."""


def run_of(folder: Path, *, words: tuple[str, ...] = (), steps: int = 12) -> Path:
    """A run that warned, was resumed and was given up; with words of strangers wherever they can stand."""
    rows: list[dict[str, object]] = [
        {"what": "started", "step": 0, "steps": 20, "at": "2026-11-22T10:00:00+00:00", "seconds": 1}
    ]
    for step in range(1, steps + 1):
        said = {"verdict": "warn", "always_normal": step / 10, "always_normal/verdict": "warn" if step > 6 else "ok"}
        rows.append({"what": "watched", "step": step - 1, **said, **{f"{word}": step for word in words}})
        numbers = {"loss": 1 / step, "reward": step / 3, "answers/normal": step / 20, "answers/invalid": 0.1}
        odd: dict[str, float] = {
            f"{kind}{word}{end}": step for word in words for kind, end in (("rewards/", "/mean"), ("answers/", ""))
        }
        rows.append({"what": "learned", "step": step, **numbers, **odd})
        if step % 4 == 0:
            odd = {f"f1/{word}": 0.5 for word in words}
            rows.append({"what": "evaluated", "step": step, "f1_macro": step / 24, "normal": 0.5, "invalid": 0.0, **odd})
    warned = {"what": "warned", "step": 7, "verdict": "warn", "value": 0.7, "threshold": 0.6}
    rows += [{**warned, "monitor": word, "detail": word} for word in words or ("always_normal",)]
    rows += [{"what": "resumed", "step": 8}, {"what": "learned", "step": 9, "loss": 0.2, "reward": 1.0}]
    rows.append(
        {"what": "degenerated", "step": 9, "reason": "loss", "said": " ".join(words) or "ended at step 9: the loss is nan."}
    )
    stage = folder / "grpo"
    stage.mkdir(parents=True)
    (stage / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    told = {"stage": "grpo", "grpo.temperature": 0.5, **{word: word for word in words}}
    (stage / "configuration.json").write_text(json.dumps(told), encoding="utf-8")
    texts = words or ("\\boxed{...}",)
    sampled = [
        {"step": step, "completion": text, "truth": text, "bucket": text, "reward": 1.0, "rewards": {text: 1.0}}
        for step in (0, 4, 8)
        for text in texts
    ]
    (stage / "completions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in sampled), encoding="utf-8")
    return folder


def opened(browser: Any, page: str, path: Path, *, width: int, scheme: str = "light") -> tuple[Any, list[str]]:
    """The page in a tab, and everything that it complained about or asked for."""
    path.write_text(page, encoding="utf-8")
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    heard: list[str] = []
    tab.on("console", lambda said: heard.append(said.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.on("request", lambda request: heard.append(request.url) if not request.url.startswith("file:") else None)
    tab.goto(path.as_uri())
    return tab, heard


def test_hostile_words_cannot_act_and_nothing_is_wider_than_the_screen(browser: Any, tmp_path: Path) -> None:
    words = (*ATTACKS, *(reply for reply in HOSTILE_REPLIES[:12] if reply.strip()))
    runs = read_runs([run_of(tmp_path / name, words=words) for name in ("one", "<b>other<b>")])
    tab, heard = opened(browser, training_page(runs), tmp_path / "page.html", width=400)
    assert heard == []
    assert tab.title() == "Training: one, <b>other<b>"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert tab.locator("script, img, iframe, object, embed, form, noscript").count() == 0
    assert tab.locator("main [onmouseover], main [onerror], main [onload]").count() == 0
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for width in (400, 1400):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.close()


def test_curves_thresholds_and_moments_are_seen_against_the_paper(browser: Any, tmp_path: Path) -> None:
    page = training_page(read_runs([run_of(tmp_path / "run")]))
    tab, heard = opened(browser, page, tmp_path / "page.html", width=1400)
    assert heard == []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        seen = tab.evaluate(STROKES)
        assert [len(found) > 0 for found in seen] == [True, True, True, True]
        assert min(value for found in seen for value in found) >= 3, scheme
    tab.close()


def test_keys_reach_the_numbers_of_a_chart_and_a_screen_reader_hears_the_curve(browser: Any, tmp_path: Path) -> None:
    tab, _ = opened(browser, training_page(read_runs([run_of(tmp_path / "run")])), tmp_path / "page.html", width=1400)
    loss = tab.get_by_role("img", name="Loss. loss: 1 at step 1, 0.2 at step 9, between 0.125 and 1.")
    assert loss.count() == 1
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    summary = tab.locator("figure", has=loss).locator("summary")
    summary.focus()
    tab.keyboard.press("Enter")
    table = tab.locator("figure", has=loss).locator("table")
    assert table.is_visible()
    assert table.locator("tbody tr").count() == 9
    assert tab.locator("figure", has=loss).locator("title").first.text_content() == "step 1\nloss: 1"
    tab.close()

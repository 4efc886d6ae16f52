"""The pages of scores, weights and test points in a real, headless Chromium: drawn, offline, and no wider than a phone."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from salon_ranking import Battles
from salon_ranking.opinion import Checks, MosRatings, dimension_weights, summarise
from salon_ranking.report.mos_page import checks_page, mos_page, weights_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HARMLESS = 'Dropping "fit-y" because spec has discrete height'
pytestmark = pytest.mark.browser
PAGES = {"mos": mos_page, "weights": weights_page, "test-points": checks_page}
MODELS = ["x", "a model.with [odd] name", "<b>\x1b[31m"]


def results() -> dict[str, tuple[object, int]]:
    """A result of each kind, and how many charts its page has."""
    rng = np.random.default_rng(0)
    model, prompt, sample, dimension = (grid.ravel() for grid in np.mgrid[:3, :40, :2, :2])
    frame = pl.DataFrame({"m": model, "prompt_id": prompt, "s": sample, "value": rng.integers(1, 6, len(model))}).select(
        "prompt_id",
        "value",
        model=pl.Series([MODELS[number] for number in model]),
        generation_id=pl.format("{}/{}/{}", "m", "prompt_id", "s"),
        dimension=pl.Series([["beauty", "fit.to [prompt]"][number] for number in dimension]),
        rater_id=pl.lit("ann"),
        scale_min=pl.lit(1),
        scale_max=pl.lit(5),
        scenario=pl.format("scenario {}", pl.col("prompt_id") % 2),
    )
    ratings = MosRatings.from_frame(frame.with_row_index("rating_id"))
    pairs = [(p, a, b) for p in range(40) for a in MODELS for b in MODELS if a != b]
    votes = pl.DataFrame(pairs, schema=["prompt_id", "model_a", "model_b"], orient="row").with_columns(
        winner=pl.Series(rng.choice(["model_a", "model_b", "tie"], len(pairs))), mode=pl.lit("public")
    )
    checks = [(m, t, bool(rng.integers(2))) for m in MODELS for t in ("Text", "Size: odd.name", "Style") for _ in range(5)]
    answers = pl.DataFrame(checks, schema=["model", "test_point", "satisfied"], orient="row")
    return {
        "mos": (summarise(ratings), 5),
        "weights": (dimension_weights(Battles.from_frame(votes), ratings, persona="mode"), 1),
        "test-points": (Checks.from_frame(answers), 1),
    }


def test_pages_are_drawn_without_a_complaint_and_fit_the_screen(browser: "Browser", tmp_path: Path):
    for name, (result, charts) in results().items():
        path = tmp_path / f"{name}.html"
        path.write_text(PAGES[name](result, title=name), encoding="utf-8")  # type: ignore[arg-type]
        page = browser.new_page(viewport={"width": 390, "height": 900})
        complaints: list[str] = []
        page.on("console", lambda said, heard=complaints: heard.append(said.text))
        page.on("pageerror", lambda error, heard=complaints: heard.append(str(error)))
        page.goto(path.as_uri())
        assert page.locator(".chart").count() == charts
        for width in (390, 1200):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert complaints == [], name
        drawn = page.locator(".chart").all_text_contents()
        assert any("a model.with [odd] name" in text for text in drawn) or name == "weights"
        page.close()

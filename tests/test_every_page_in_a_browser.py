"""Every page that Salon writes, in a real, headless Chromium, with hostile names: one strict policy, and everything works."""

import ast
import asyncio
import re
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, ConsoleMessage

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = "a\u202eb <img src=x onerror=\"document.title='owned'\">'\\u0041 \x1b[31m"
SHOWN = r"a\u202eb <img src=x"
MODELS = [HOSTILE, "second", "third [turbo], a long name"]
NAMES = np.array(MODELS)
POLICY = re.compile(
    r"default-src 'none'; script-src ('none'|('sha256-[\w+/=]+' ?)+); style-src 'sha256-[\w+/=]+'; img-src data:; "
    r"base-uri 'none'; form-action 'none'"
)
CUT = """() => [...document.querySelectorAll('.chart svg text')].filter(text => {
  const [word, chart] = [text.getBoundingClientRect(), text.closest('svg').getBoundingClientRect()];
  return word.width && (word.left < chart.left - 2 || word.right > chart.right + 2
    || word.top < chart.top - 2 || word.bottom > chart.bottom + 2);
}).map(text => text.textContent)"""
"""Words of charts that are cut at an edge of their chart."""
pytestmark = pytest.mark.browser
sys.path.insert(0, str(ROOT / "packages" / "bench" / "tests"))
sys.path.insert(0, str(ROOT / "packages" / "train" / "tests"))


def votes() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 600)
    b = (a + rng.integers(1, 3, 600)) % 3
    won = np.where(rng.random(600) < 0.4 + 0.1 * (b - a), "model_a", "model_b")
    rater = np.array(["ann", "bob\u202e"])[rng.integers(0, 2, 600)]
    columns = {
        "model_a": NAMES[a],
        "model_b": NAMES[b],
        "winner": won,
        "rater_id": rater,
        "prompt_id": rng.integers(0, 40, 600),
    }
    return pl.DataFrame(columns, strict=False).with_columns(mode=pl.lit("public"), battle_id=pl.int_range(600).cast(pl.String))


def leaderboard(folder: Path) -> str:
    from salon_ranking import Battles, rank
    from salon_ranking.report.leaderboard import leaderboard_page

    battles = Battles.from_frame(votes())
    return leaderboard_page((rank(battles, replicates=20),), title=HOSTILE, battles=battles)


def raters(folder: Path) -> str:
    from salon_ranking.raters import check_raters
    from salon_ranking.report.raters_page import raters_page

    return raters_page(check_raters(votes()))


def mos(folder: Path) -> str:
    from salon_ranking.opinion import Checks, MosRatings, dimension_weights, summarise
    from salon_ranking.report.mos_page import checks_page, mos_page, weights_page

    rng = np.random.default_rng(1)
    dimensions = ("beauty", HOSTILE)
    rows = [(m, p, d, float(rng.integers(1, 6))) for m, p, d in product(MODELS, range(12), dimensions)]
    frame = pl.DataFrame(rows, schema=["model", "prompt_id", "dimension", "value"], orient="row").with_row_index("rating_id")
    ratings = MosRatings.from_frame(
        frame.with_columns(
            generation_id=pl.format("{}/{}", "model", "prompt_id"), rater_id=pl.lit("ann"), scale_min=1, scale_max=5
        )
    )
    checks = [(m, t, n % 3 > 0) for m, t, n in product(MODELS, ("Text", HOSTILE), range(5))]
    answers = pl.DataFrame(checks, schema=["model", "test_point", "satisfied"], orient="row")
    from salon_ranking import Battles

    weights = dimension_weights(
        Battles.from_frame(votes().with_columns(pl.col("prompt_id").cast(pl.Int64) % 12)), ratings, persona="mode"
    )
    (folder / "weights.html").write_text(weights_page(weights, title=HOSTILE), encoding="utf-8")
    (folder / "test-points.html").write_text(checks_page(Checks.from_frame(answers), title=HOSTILE), encoding="utf-8")
    return mos_page(summarise(ratings), title=HOSTILE)


def plan(folder: Path) -> str:
    from click.testing import CliRunner

    from salon_console import main

    result = CliRunner().invoke(
        main, ["votes", "simulate", "--models", "6", "--spread", "100", "--output", str(folder / "made.html")]
    )
    assert result.exit_code == 0, result.output
    return (folder / "made.html").read_text(encoding="utf-8")


def ledger(folder: Path) -> str:
    from salon_published.quickstart import quickstart

    return quickstart(folder / "store").report.read_text(encoding="utf-8")


def bench(folder: Path) -> str:
    from PIL import Image
    from verdict_store import VerdictStore

    from salon_bench.analysis.compare import compare
    from salon_bench.analysis.leaderboard import leaderboards
    from salon_bench.report.board_page import board_page
    from salon_bench.report.comparison_page import comparison_page
    from salon_bench.report.run_page import run_page
    from salon_bench.suites.contract.registry import suite_named

    made = VerdictStore(folder)
    Image.new("RGB", (48, 32), "teal").save(folder / "one.png")
    made.prompts({HOSTILE: HOSTILE, "p": "plain"}, suite="prism")
    for run, subject, value in (("one", HOSTILE, 0.5), ("two", "other", 1.0)):
        made.run(
            run,
            {("t", HOSTILE, HOSTILE): value, ("t", "p", "d"): 0.1},
            subject=subject,
            suite="prism",
            judge=HOSTILE,
            pictures={HOSTILE: folder / "one.png"},
            replies={HOSTILE: [HOSTILE]},
            labels={HOSTILE: [HOSTILE]},
        )
    compared = comparison_page(made.path, compare(made.path, "one", "two"))
    (folder / "compared.html").write_text(compared, encoding="utf-8")
    (folder / "board.html").write_text(board_page(leaderboards(made.path, suite_named("prism"))), encoding="utf-8")
    return run_page(made.path, ["one", "two"])


def gates(folder: Path) -> str:
    from PIL import Image

    from salon_bench.analysis.gate import GatePlan, gate
    from salon_bench.analysis.gate.builds import HeldBuilds
    from salon_bench.analysis.gate.history import gate_rows, keep_gate, read_gates
    from salon_bench.analysis.gate.pictures import BuildPictures
    from salon_bench.report.gate_page import gate_page
    from salon_judges.formats.generations import Generated
    from salon_store import ResultStore
    from salon_taxonomy.digest import file_sha256

    names = {
        "run_id": "r",
        "suite": HOSTILE[:40],
        "task": "t",
        "judge": HOSTILE,
        "judge_version": "1",
        "subject_model": HOSTILE,
    }
    prompts = [HOSTILE, *(f"p{number}" for number in range(40))]
    values = np.random.default_rng(0).normal(size=(2, len(prompts)))
    values[1, 0] = -9.0
    sides = [
        pl.DataFrame({"prompt_id": prompts, "generation_id": prompts, "dimension": HOSTILE, "value": side}).with_columns(
            **{name: pl.lit(value) for name, value in names.items()}
        )
        for side in values
    ]
    plan = GatePlan({}, margin=0.5)
    found = gate(*sides, plan, names=(HOSTILE, "new"))
    ResultStore.open(folder / "store")
    keep_gate(gate_rows(found, *sides, plan), folder / "store")
    (folder / "drift.html").write_text(read_gates(folder / "store").page(), encoding="utf-8")
    Image.new("RGB", (48, 32), "teal").save(folder / "one.png")
    path = folder / "one.png"
    shown = BuildPictures([Generated(HOSTILE, "m", 0, path, folder, file_sha256(path))], {HOSTILE: HOSTILE})
    return gate_page(HeldBuilds(found, shown, shown, pl.DataFrame(), pl.DataFrame(), []))


def audit(folder: Path) -> str:
    from salon_ranking.agreement import audit_judges
    from salon_ranking.report.audit_page import audit_page

    rows = [
        {
            "battle_id": f"{HOSTILE} {number}",
            "winner": "model_a",
            "verdict": ("model_a", "model_b")[number % 3 == 0],
            "judge": HOSTILE,
        }
        for number in range(60)
    ]
    return audit_page(audit_judges(pl.DataFrame(rows)))


def refinement(folder: Path) -> str:
    from r3_world import Painter, World, png

    from salon_bench.refine import RefineItem, RefineModels, refine_all
    from salon_bench.report.trace_page import trace_page

    (folder / "one.png").write_bytes(png("blue"))
    item = RefineItem("one", f"{HOSTILE} red", folder / "one.png")
    done = asyncio.run(refine_all([item], RefineModels(Painter(), World()), folder / "out", folder / "results"))
    return trace_page("Trace", done.traces)


def training(folder: Path) -> str:
    from test_training_report_in_a_browser import run_of

    from salon_train.report.folders import read_runs
    from salon_train.report.page import training_page

    return training_page(read_runs([run_of(folder / "one", words=(HOSTILE,))]))


def demonstration(folder: Path) -> str:
    from test_lab import study

    from salon_train.demo.experiment import Ablation
    from salon_train.demo.page import study_page
    from salon_train.demo.recipe import Recipe

    return study_page(study(dict.fromkeys(Ablation, 0.5)), Recipe(), title=HOSTILE)


def image_policy(folder: Path) -> str:
    from PIL import Image

    from studies.image_policy.page import image_study_page
    from studies.image_policy.study import ImageStudySettings, PolicyArm, PolicyPoint, PolicyResult

    (folder / "seed-3").mkdir()
    for arm in PolicyArm:
        Image.new("RGB", (600, 140), "teal").save(folder / "seed-3" / f"{arm}.png")
    points = [PolicyPoint(step, 0.5 + step / 100, 0.5, 0.3, 0.3, 0.1 if step else None) for step in (0, 10, 20)]
    results = [PolicyResult(arm, seed, points, 1.0) for arm in PolicyArm for seed in (3, 4)]
    return image_study_page(results, ImageStudySettings(), folder)


def words(folder: Path) -> str:
    from PIL import Image

    from salon_train.demo.words_page import words_page
    from salon_train.demo.words_study import WordArm, WordPoint, WordResult, WordSettings

    (folder / "seed-3").mkdir()
    for arm, step in zip(WordArm, (1200, 20, 20), strict=True):
        Image.new("RGB", (688, 228), "teal").save(folder / "seed-3" / f"{arm}-{step}.png")
    points = [WordPoint(step, step / 100, 0.5, 0.8, 0.3, 0.1 if step else None) for step in (0, 10, 20)]
    results = [WordResult(arm, seed, points, 1.0) for arm in WordArm for seed in (3, 4)]
    return words_page(results, WordSettings(), folder)


def curation(folder: Path) -> str:
    from salon_console.page import PageSection
    from salon_curate.demo import StageWorth, worth_table
    from salon_curate.pages import write_page, yield_page, yield_section
    from salon_curate.selection import YieldCurve

    curve = YieldCurve(HOSTILE, 20, (1.0, 2.0, 900.0), (18, 9, 0), (0.7, 0.26, 0.0), (0.97, 0.66, 0.16), (2, 2, 2))
    yield_page([curve], folder / "yield.html")
    funnel = PageSection(HOSTILE, (worth_table([StageWorth(HOSTILE, 18, 0.5, 1.0)]),))
    write_page(folder / "made.html", HOSTILE, HOSTILE, [("Seed", HOSTILE)], [funnel, yield_section([curve])])
    return (folder / "made.html").read_text(encoding="utf-8")


MAKERS: dict[Callable[[Path], str], tuple[str, ...]] = {
    leaderboard: ("salon_ranking.report.leaderboard",),
    raters: ("salon_ranking.report.raters_page",),
    mos: ("salon_ranking.report.mos_page",),
    plan: ("salon_ranking.report.plan_page",),
    ledger: ("salon_published.ledger_page",),
    bench: ("salon_bench.report.run_page", "salon_bench.report.comparison_page", "salon_bench.report.board_page"),
    gates: ("salon_bench.report.gate_page", "salon_bench.analysis.gate.history"),
    audit: ("salon_ranking.report.audit_page",),
    refinement: ("salon_bench.report.trace_page",),
    training: ("salon_train.report.page",),
    demonstration: ("salon_train.demo.page",),
    image_policy: ("studies.image_policy.page",),
    words: ("salon_train.demo.words_page",),
    curation: ("salon_curate.pages",),
}
"""What makes a page here, and the modules whose pages these are."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each maker's pages; made before the browser starts, whose event loop stays."""
    found = {}
    for maker in MAKERS:
        found[maker.__name__] = tmp_path_factory.mktemp(maker.__name__)
        (found[maker.__name__] / "page.html").write_text(maker(found[maker.__name__]), encoding="utf-8")
    return found


def test_no_page_is_left_out(packages: dict[str, Path]) -> None:
    """Whatever renders a page has its maker above, and only one template of the project is a whole page."""
    rendering, whole = set(), []
    for name, folder in {**packages, "studies": Path(__file__).parents[1] / "studies"}.items():
        for path in folder.rglob("*.py"):
            names = {node.func.id for node in ast.walk(ast.parse(path.read_text("utf-8"))) if _calls(node)}
            if "render_page" in names:
                rendering.add(".".join([name, *path.relative_to(folder).with_suffix("").parts]))
        texts = [path for path in folder.rglob("*") if path.suffix in (".jinja", ".py", ".html")]
        whole += [path.name for path in texts if re.search("^<!doctype html>", path.read_text("utf-8"), re.M)]
    assert rendering == {module for modules in MAKERS.values() for module in modules}
    # The arena and the viewer serve their own, tried in their packages.
    assert sorted(whole) == ["base.html.jinja", "page.html.jinja", "shell.html.jinja"]


def _calls(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


@pytest.mark.parametrize("name", [maker.__name__ for maker in MAKERS])
def test_a_page_works_under_the_one_policy(browser: Browser, folders: dict[str, Path], name: str) -> None:
    for path in sorted(folders[name].glob("*.html")):
        text = path.read_text(encoding="utf-8")
        policies = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        assert len(policies) == 1 and POLICY.fullmatch(policies[0]), (path.name, policies)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", text), path.name
        assert "style=" not in re.sub(r"<(script|style)\b.*?</\1>|<[^>]*onerror[^>]*>", "", text, flags=re.S), path.name
        page = browser.new_page(viewport={"width": 360, "height": 900})
        heard: list[str] = []

        def listen(message: ConsoleMessage, heard: list[str] = heard) -> None:
            heard.append(message.text)

        page.on("console", listen)
        page.on("pageerror", lambda error, heard=heard: heard.append(str(error)))
        page.on("request", lambda sent, heard=heard: heard.extend([] if _own(sent.url) else [sent.url]))
        page.goto(path.as_uri())
        for width in (360, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            assert heard == [], (path.name, width)
            assert all(text.strip() for text in page.locator(".chart").all_text_contents()), (path.name, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path.name, width)
            assert page.evaluate(CUT) == [], (path.name, width)
            clipped = (
                "[...document.querySelectorAll('.scroll:not(:has(.heat))')].filter(e => e.scrollWidth > e.clientWidth + 1)"
                ".map(e => e.ariaLabel)"
            )
            assert width > 400 or page.evaluate(clipped) == [], (path.name, width)
        assert page.title() != "owned"
        page.close()


def _own(url: str) -> bool:
    return url.startswith(("file:", "data:"))

"""Three simulated generators of known quality, a judge that sees nothing but colours, and the commands of the ranking."""

import asyncio
import json
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image

from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites.contract.suite import Suite
from salon_bench.suites.magic_bench_377 import MarkDimension, battles, battles_each, suite
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.protocols import Media, Question, Reply

QUALITY = {"fine": 0.75, "fair": 0.55, "poor": 0.35}
PROMPTS, SAMPLES = 30, 2
WORDS = ("agrees with the text", "soundly things are built", "for its beauty")


@dataclass
class PixelJudge:
    """Takes red for prompt following, green for structure, blue for beauty. ``left``: how much it prefers the left picture."""

    left: float = 0.0
    name: str = "pixels"
    version: str = "pixels-1"
    asked: int = field(default=0)

    async def ask(self, question: Question) -> Reply:
        self.asked += 1
        seen = [_colours(part) for part in question.parts if isinstance(part, Media)]
        key = question.response_schema["required"][1]
        verdict = {"satisfied": self.check, "score": self.mark, "verdict": self.battle}[key]
        return Reply(json.dumps({"reason": "colours", key: verdict(seen, question.text)}), version=self.version)

    def check(self, seen: list[np.ndarray], text: str) -> bool:
        return bool(seen[0][0] > 0.5)

    def mark(self, seen: list[np.ndarray], text: str) -> int:
        [place] = [place for place, words in enumerate(WORDS) if words in text.partition("5:")[0]]
        return 1 + round(4 * float(seen[0][place]))

    def battle(self, seen: list[np.ndarray], text: str) -> str:
        weights = np.array([0.6, 0.25, 0.15])
        gap = float(weights @ (seen[0] - seen[1])) + self.left
        if abs(gap) > 0.03:
            return "left" if gap > 0 else "right"
        return "both good" if weights @ seen[0] > 0.5 else "both bad"


def _colours(media: Media) -> np.ndarray:
    with Image.open(BytesIO(media.data)) as picture:
        return np.asarray(picture.convert("RGB"))[0, 0] / 255.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prompts, and pictures of one colour, which is the model's quality with some noise."""
    root = tmp_path_factory.mktemp("magic377")
    scenarios = ("Film", "Art", "Entertainment", "Aesthetic Design", "Functional Design")
    rows = [
        {
            "prompt": f"Scene {n}",
            "labels": ["Quantity", "Style"],
            "scenario": scenarios[n % 5],
            "test_points": ["Quantity", "Text"],
        }
        for n in range(PROMPTS)
    ]
    (root / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    random = np.random.default_rng(0)
    for model, quality in QUALITY.items():
        (root / model).mkdir()
        for n in range(PROMPTS):
            for sample in range(SAMPLES):
                colour = np.clip(quality + random.normal(0, 0.18, 3), 0, 1) * 255
                name = root / model / f"mb377-{n + 1:03d}.{sample}.png"
                Image.new("RGB", (4, 4), tuple(int(value) for value in colour)).save(name)
    return root


def run(which: Suite, folder: Path, store: Path, judge: PixelJudge) -> str:
    """A whole run; its id."""
    subjects = [SubjectModel(name, folder / name) for name in QUALITY]
    plan = planned(which, subjects, judge, prompts=folder / "prompts.jsonl")
    outcome = asyncio.run(execute(plan, judge, store))
    assert outcome.complete
    return plan.plan.run_id


@pytest.fixture(scope="module")
def results(folder: Path) -> Path:
    """A store with one run of marks and test points, and one of battles."""
    store = folder / "results"
    run(suite, folder, store, PixelJudge())
    run(battles, folder, store, PixelJudge())
    return store


def salon(*words: object) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def ordered(rows: list[dict], value: str) -> bool:
    found = {row["model"]: row[value] for row in rows}
    assert found.keys() == QUALITY.keys()
    return all(found[better] > found[worse] for better, worse in pairwise(QUALITY))


def test_salon_rank_gives_the_known_order(results: Path) -> None:
    [board] = json.loads(salon("votes", "rank", results, "--bootstrap", 100, "--format", "json"))
    rows = board["rows"]
    assert ordered(rows, "rating")
    assert sum(row["matches"] for row in rows) == 2 * 3 * PROMPTS * SAMPLES


def test_salon_mos_gives_the_known_order_in_every_dimension_and_scenario(results: Path) -> None:
    scores = json.loads(salon("ratings", "mos", results, "--format", "json"))["scores"]
    for dimension in MarkDimension:
        rows = [row for row in scores if row["dimension"] == dimension and row["scenario"] is None]
        assert ordered(rows, "mean")
        assert {row["k_min"] for row in rows} == {SAMPLES}
        assert {row["prompts"] for row in rows} == {PROMPTS}
    assert {row["scenario"] for row in scores} > {"Film", "Art"}


def test_salon_test_points_gives_the_known_order(results: Path) -> None:
    table = pl.read_csv(salon("ratings", "pass-rates", results, "--task", "test_points", "--format", "csv").encode())
    for point in (None, "Quantity", "Text"):
        rows = table.filter(pl.col("test_point").eq_missing(pl.lit(point, pl.String))).to_dicts()
        assert ordered(rows, "share")
        assert {row["checks"] for row in rows} == {PROMPTS * SAMPLES * (2 if point is None else 1)}


def test_salon_weights_finds_what_the_judge_weighs_most(results: Path) -> None:
    for level in ("prompt", "generation"):
        table = pl.read_csv(
            salon("votes", "drivers", results, results, "--level", level, "--no-interactions", "--format", "csv").encode()
        )
        rows = table.filter(pl.col("dimension").is_in(list(MarkDimension))).sort("rise", descending=True)
        assert rows["dimension"][0] == MarkDimension.PROMPT_FOLLOWING


def test_the_suites_own_numbers_say_the_same(results: Path) -> None:
    runs = ResultStore.open(results, read_only=True).read("runs").collect()
    by_suite = dict(runs.select("suite", "run_id").iter_rows())
    marks = [
        {"model": each.model, "value": each.summary.table["value"][0]}
        for each in RunView(results, by_suite[suite.name]).summaries(suite)
    ]
    assert ordered(marks, "value")
    found = RunView(results, by_suite[battles.name]).summaries(battles)
    assert ordered([{"model": each.model, "value": each.summary.table["value"][0]} for each in found], "value")
    for each in found:
        assert each.unscored == 0
        agree = each.summary.table.filter(pl.col("metric") == "orders agree")["value"][0]
        assert agree == 1.0


def test_a_second_run_by_the_same_judge_adds_no_second_rating_and_no_second_battle(results: Path, folder: Path) -> None:
    def count() -> dict[str, int]:
        opened = ResultStore.open(results, read_only=True)
        return {table: opened.read(table).collect().height for table in ("ratings", "battles")}

    before = count()
    subjects = [SubjectModel(name, folder / name) for name in QUALITY]
    for which in (suite, battles):
        judge = PixelJudge()
        plan = planned(which, subjects, judge, prompts=folder / "prompts.jsonl", limit=5)
        assert asyncio.run(execute(plan, judge, results)).complete
        assert judge.asked > 0
    assert count() == before == {"ratings": 3 * 3 * PROMPTS * SAMPLES, "battles": 3 * PROMPTS * SAMPLES}


def test_a_comparison_of_one_model_is_refused_before_anything_is_written(folder: Path) -> None:
    words = [
        "bench",
        "run",
        battles.name,
        "--model",
        "fine",
        "--generations",
        folder / "fine",
        "--judge",
        "vllm:m@localhost:1",
    ]
    store = folder / "nothing"
    done = CliRunner().invoke(main, [str(word) for word in [*words, "--prompts", folder / "prompts.jsonl", "--store", store]])
    assert done.exit_code == 2
    assert "two models or more" in done.stderr
    assert not store.exists()


def test_a_judge_that_prefers_a_side_is_flagged_by_salon_raters(folder: Path, tmp_path: Path) -> None:
    run_id = run(battles_each, folder, tmp_path / "results", PixelJudge(left=0.25, name="leftist"))
    note = RunView(tmp_path / "results", run_id).summaries(battles_each)[0].summary.notes[1]
    assert ", 0 to the right; exact binomial p" in note
    [rater] = json.loads(salon("votes", "raters", tmp_path / "results", "--format", "json"))["raters"]
    assert rater["rater_id"].startswith("leftist@")
    assert rater["reasons"] == ["one_sided"]
    assert rater["left_share"] > 0.6

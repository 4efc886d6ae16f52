"""The gate: errors of both kinds by simulation, builds that must be refused, plans, and what it writes."""

import json
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image
from polars.testing import assert_frame_equal
from verdict_store import VerdictStore

from salon_bench.analysis.gate import Gate, GatePlan, MeasureRule, gate
from salon_bench.analysis.gate.measuring import Measured
from salon_bench.cli.gate import gate as gate_command
from salon_bench.runs.score_rows import frame_of
from salon_console import main
from salon_ranking.uncertainty.proportions import highest_share
from salon_store import ResultStore
from salon_taxonomy.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
FEATURES = "import numpy as np\ndef small(images): return [np.asarray(each.resize((2, 2))).ravel() / 255 for each in images]\n"
Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def scores(values: np.ndarray, dimension: str = "beauty", **more: object) -> pl.DataFrame:
    """Rows of one model; values of shape (prompts, samples)."""
    values = values.reshape(len(values), -1)
    prompt = np.repeat(np.arange(len(values)), values.shape[1])
    return pl.DataFrame(
        {
            "run_id": "r",
            "suite": "s",
            "task": "t",
            "dimension": dimension,
            "prompt_id": [f"p{number}" for number in prompt],
            "generation_id": [f"g{number}" for number in range(values.size)],
            "value": pl.Series(values.ravel(), dtype=pl.Float64, strict=False).fill_nan(None),
            "subject_model": "build",
            "judge": "judge",
            "judge_version": "1",
            **more,
        }
    )


def verdict(base: np.ndarray, new: np.ndarray, margin: float, level: float = 0.05) -> str:
    found: str = gate(scores(base), scores(new), GatePlan({}, margin, level)).table["verdict"][0]
    return found


def flips(down: float, up: float, prompts: int) -> Draw:
    """Yes and no: every prompt falls or rises with its chance."""

    def draw(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        chance = random.random(prompts)
        base = np.where(chance < down, 1.0, np.where(chance < down + up, 0.0, random.random(prompts) < 0.7))
        return base, np.where(chance < down, 0.0, np.where(chance < down + up, 1.0, base))

    return draw


def shifts(by: float, prompts: int, samples: int = 1) -> Draw:
    """Numbers, of which prompts have levels, and changes, of their own."""

    def draw(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        level, change = random.normal(0, 2, (prompts, 1)), by + random.normal(0, 0.5, (prompts, 1))
        noise = random.normal(0, 1, (2, prompts, samples))
        return level + noise[0], level + change + noise[1]

    return draw


@pytest.mark.parametrize(
    ("draw", "margin"),
    [
        (shifts(-0.2, 30), 0.2),
        (shifts(-0.2, 60, samples=4), 0.2),
        (flips(0.02, 0.0, 200), 0.02),
        (flips(0.03, 0.01, 200), 0.02),
        (flips(0.15, 0.05, 60), 0.1),
        (flips(0.05, 0.0, 40), 0.05),
    ],
)
def test_a_build_that_is_worse_by_the_margin_passes_in_at_most_one_of_twenty_studies(draw: Draw, margin: float):
    passed = [verdict(*draw(np.random.default_rng(seed)), margin) in ("better", "not worse") for seed in range(150)]
    assert sum(passed) <= 15, sum(passed)  # of 150 at 5%: more in less than one of a hundred


def test_an_equal_build_passes_as_often_as_the_column_of_prompts_says():
    pilot = gate(*(scores(side) for side in shifts(0.0, 400)(np.random.default_rng(1))), GatePlan({}, 0.4))
    needed = pilot.table["needed"][0]
    said = [verdict(*shifts(0.0, needed)(np.random.default_rng(seed)), 0.4) for seed in range(200)]
    passed = sum(one in ("better", "not worse") for one in said)
    assert 0.7 <= passed / 200 <= 0.9, (needed, passed)


def test_the_four_verdicts_and_their_direction():
    random = np.random.default_rng(0)
    base, noise = random.normal(0, 1, 200), random.normal(0, 0.1, 200)
    for shift, said in ((0.5, "better"), (0.0, "not worse"), (-0.5, "worse"), (-0.2, "cannot say")):
        centred = noise - noise.mean()
        assert verdict(base, base + shift + centred, 0.2) == said
        lower = GatePlan({"beauty": MeasureRule(0.2, lower=True)})
        assert gate(scores(base), scores(base - shift + centred), lower).table["verdict"][0] == said


def test_identical_builds_pass_where_prompts_are_many_enough_and_few_prompts_say_nothing():
    values = np.tile([0.0, 1.0], 100)
    found = gate(scores(values), scores(values), GatePlan({}, 0.02))
    row = found.table.row(0, named=True)
    assert found.passed and row["low"] == pytest.approx(-(1 - 0.05 ** (1 / 200))) and row["high"] == -row["low"]
    assert (row["p_worse"], row["needed"], found.worst.height) == (None, 155, 0)
    assert verdict(values[:100], values[:100], 0.02) == "cannot say"
    assert verdict(values[:3], values[:3] + 1, 0.02) == "cannot say"


def test_a_build_that_lacks_prompts_samples_or_pictures_is_refused_by_name():
    whole = scores(np.random.default_rng(0).normal(size=(100, 2)))
    plan = GatePlan({}, 0.1)
    half = whole.filter(pl.col("prompt_id").str.slice(1).cast(pl.Int64) >= 50)
    with pytest.raises(InputError, match=r"^new: lacks samples of 50 of 100 prompts, such as '?p0"):
        gate(whole, half, plan)
    with pytest.raises(InputError, match=r"^base: lacks samples of 50 of 100 prompts"):
        gate(half, whole, plan)
    one_each = whole.unique("prompt_id", keep="first", maintain_order=True)
    with pytest.raises(InputError, match=r"^new: lacks samples of 100 of 100 prompts"):
        gate(whole, one_each, plan)
    first = pl.col("prompt_id") == "p7"
    gone = whole.with_columns(
        pl.when(~first).then("value").alias("value"), pl.when(~first).then("generation_id").alias("generation_id")
    )
    with pytest.raises(InputError, match=r"^new: has no pictures for 1 of 100 prompts, such as '?p7"):
        gate(whole, gone, plan)


def test_missing_verdicts_leave_the_prompt_out_on_both_sides_and_many_of_them_say_nothing():
    values = np.random.default_rng(0).normal(size=(100, 1))
    silent = values.copy()
    silent[:5] = math.nan
    base, new = scores(values), scores(silent + 0.5)
    row = gate(base, new, GatePlan({}, 0.1)).table.row(0, named=True)
    assert (row["verdict"], row["prompts"], row["unscored"]) == ("better", 95, 5)
    assert row["base"] == pytest.approx(values[5:].mean()) and row["difference"] == pytest.approx(0.5)
    silent[5] = math.nan
    row = gate(scores(silent), scores(values + 0.5), GatePlan({}, 0.1)).table.row(0, named=True)
    assert (row["verdict"], row["unscored"]) == ("cannot say", 6)


def test_order_and_other_measures_change_nothing_and_every_measure_must_pass():
    random = np.random.default_rng(0)
    base, new = random.normal(size=(60, 2)), random.normal(size=(60, 2))
    alone = gate(scores(base), scores(new), GatePlan({}, 0.5))
    both = [pl.concat([scores(side), scores(other, "worse")]) for side, other in ((base, base), (new, new - 3.0))]
    both[1] = both[1].sample(fraction=1.0, shuffle=True, seed=1)
    together = gate(*both, GatePlan({}, 0.5))
    numbers = ["base", "new", "difference", "low", "high", "prompts", "needed"]
    assert_frame_equal(together.table.filter(measure="beauty").select(numbers), alone.table.select(numbers), rel_tol=1e-12)
    assert alone.passed and not together.passed and "FAILED (worse: worse)" in together.header
    assert gate(*both, GatePlan({"beauty": MeasureRule(0.5)})).passed
    assert together.worst["measure"].to_list() == ["worse"] * 12 and together.worst["difference"].is_sorted()


def test_builds_of_other_judges_versions_or_models_are_refused():
    base = scores(np.random.default_rng(0).normal(size=(20, 1)))
    for change in ({"judge": "other"}, {"judge_version": "2"}):
        with pytest.raises(InputError, match="not judged alike; no score of"):
            gate(base, base.with_columns(**{name: pl.lit(value) for name, value in change.items()}), GatePlan({}, 0.1))
    with pytest.raises(InputError, match="several models"):
        gate(pl.concat([base, base.with_columns(subject_model=pl.lit("y"))]), base, GatePlan({}, 0.1))
    with pytest.raises(InputError, match="no such measure"):
        gate(base, base, GatePlan({"truth": MeasureRule(0.1)}))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "either measures or one margin"),
        ("[measures.beauty]", r"measures\.beauty\.margin"),
        ("[measures.beauty]\nmargin = 0", "above 0"),
        ("[measures.beauty]\nmargin = inf", "above 0"),
        ('[measures.beauty]\nmargin = "big"', "must be a number"),
        ("[measures.beauty]\nmargin = true", "must be a number"),
        ('[measures.beauty]\nmargin = 1\nbetter = "more"', "higher, lower"),
        ("[measures.beauty]\nmargin = 1\nmore = 2", "a measure is a table of"),
        ("measures = 3", "must be a table"),
        ("level = 0.5\n[measures.beauty]\nmargin = 1", "between 0 and 0.5"),
        ("levels = 0.5", "unknown key"),
        ("primary = 3\n[measures.beauty]\nmargin = 1", "must be a name"),
        ('primary = "truth"\n[measures.beauty]\nmargin = 1', "no measure of the plan.*beauty"),
        ("[measures.ssim]\nat_least = 0.9\nat_most = 1", "one limit"),
        ("[measures.ssim]\nat_least = 0.9\nmargin = 1", "one limit"),
        ("[measures.ssim]\nat_least = nan", "finite number"),
        ("level = ", "gate.toml"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_file_and_key(text: str, problem: str, tmp_path: Path):
    path = tmp_path / "gate.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=problem) as refused:
        GatePlan.read(path)
    assert "gate.toml" in str(refused.value)


def test_a_plan_of_measures_is_read(tmp_path: Path):
    path = tmp_path / "gate.toml"
    path.write_text('level = 0.01\n[measures.beauty]\nmargin = 0.1\n[measures.lpips]\nmargin = 2\nbetter = "lower"\n')
    assert GatePlan.read(path) == GatePlan({"beauty": MeasureRule(0.1), "lpips": MeasureRule(2.0, True)}, None, 0.01)


def against(values: np.ndarray, measure: str = "ssim") -> pl.DataFrame:
    """Values of the new pictures against the base's, one for each prompt; NaN: it could not be taken."""
    column, perfect = pl.Series(values, dtype=pl.Float64), math.inf if measure == "psnr" else 1.0
    rows = {"prompt_id": [f"p{number}" for number in range(len(values))], "measure": measure}
    cells = {
        "value": column.fill_nan(None).replace(math.inf, None),
        "identical": column == perfect,
        "reason": pl.select(pl.when(column.is_nan()).then(pl.lit("bad_media"))).to_series(),
    }
    return pl.DataFrame(rows).with_columns(**cells)


def limited(values: np.ndarray, limit: float, measure: str = "ssim") -> dict[str, object]:
    plan = GatePlan({measure: MeasureRule(None, limit=limit)})
    nothing = frame_of([])
    return gate(nothing, nothing, plan, pictures=alone(against(values, measure))).table.row(0, named=True)


def test_a_limit_is_a_margin_from_the_picture_against_itself():
    values = np.random.default_rng(0).uniform(0.9, 1.0, 60)
    row = limited(values, 0.93)
    base = np.ones(60)
    same = gate(scores(base), scores(values), GatePlan({}, 0.07)).table.row(0, named=True)
    for name in ("verdict", "new", "difference", "low", "high", "prompts"):
        assert row[name] == pytest.approx(same[name]) if name != "verdict" else row[name] == same[name]
    assert (row["verdict"], row["limit"], row["identical"]) == ("not worse", 0.93, 0)
    assert row["beyond"] == pytest.approx(np.mean(values < 0.93))
    assert limited(values, 0.99)["verdict"] == "worse" and limited(values[:3], 0.5)["verdict"] == "cannot say"


def test_of_a_limit_needed_is_how_many_prompts_would_show_that_this_build_keeps_it():
    draw, passed = np.random.default_rng(0), 0
    needed = limited(draw.normal(0.95, 0.03, 400), 0.94)["needed"]
    for seed in range(200):
        passed += limited(np.random.default_rng(seed).normal(0.95, 0.03, needed), 0.94)["verdict"] == "not worse"
    assert 0.7 <= passed / 200 <= 0.9, (needed, passed)
    assert limited(draw.normal(0.9, 0.03, 400), 0.94)["needed"] is None


def test_equal_files_pass_by_identity_and_are_counted():
    row = limited(np.ones(12), 0.999)
    assert (row["verdict"], row["identical"], row["beyond"]) == ("not worse", 12, 0.0)
    row = limited(np.full(12, math.inf), 60.0, "psnr")
    assert (row["verdict"], row["identical"], row["new"]) == ("not worse", 12, None)


def test_psnr_is_held_as_mean_squared_error():
    """So pictures that did not change, whose PSNR is infinite, have a mean with the others."""
    values = np.concatenate([np.full(30, math.inf), np.full(30, 40.0)])
    row = limited(values, 40.0, "psnr")
    error = 255**2 / 10**4
    assert row["new"] == pytest.approx(10 * math.log10(255**2 / (error / 2))) and row["difference"] == pytest.approx(-error / 2)
    assert (row["verdict"], row["base"], row["identical"]) == ("not worse", None, 30)
    assert limited(values, 45.0, "psnr")["verdict"] == "worse"


def test_a_picture_that_could_not_be_measured_counts_as_the_worst():
    values = np.random.default_rng(0).uniform(0.94, 0.96, 100)
    values[:4] = math.nan
    row = limited(values, 0.94)
    assert (row["prompts"], row["unscored"], row["verdict"]) == (96, 4, "cannot say")
    assert limited(values, 0.85)["verdict"] == "not worse" and limited(values[4:], 0.94)["verdict"] == "not worse"
    broken = limited(np.concatenate([np.ones(99), [math.nan]]), 0.995)
    assert (broken["verdict"], broken["identical"]) == ("cannot say", 99)


@pytest.mark.parametrize(("measure", "rule"), [("ssim", {"lower": True}), ("colour_difference", {}), ("ssim", {"limit": 1.0})])
def test_a_limit_on_the_wrong_side_is_refused(measure: str, rule: dict[str, object]):
    plan = GatePlan({measure: MeasureRule(None, **({"limit": 0.5} | rule))})
    with pytest.raises(InputError, match=f"measures.{measure}.*needs at_"):
        gate(frame_of([]), frame_of([]), plan, pictures=alone(against(np.ones(9), measure)))


def alone(rows: pl.DataFrame) -> Measured:
    return Measured(rows, pl.DataFrame())


def battles(new_wins: int, ties: int, base_wins: int) -> pl.DataFrame:
    outcomes = ["model_b"] * new_wins + ["tie"] * ties + ["model_a"] * base_wins
    return pl.DataFrame(
        {"prompt_id": [f"p{k}" for k in range(len(outcomes))], "model_a": "base", "model_b": "new", "winner": outcomes}
    )


def test_battles_between_the_builds_are_a_measure():
    nothing, plan = frame_of([]), GatePlan({"preferred": MeasureRule(0.15)})

    def held(rows: pl.DataFrame) -> dict[str, object]:
        return gate(nothing, nothing, plan, battles=rows).table.row(0, named=True)

    rows = battles(60, 60, 60)
    row = held(rows)
    assert (row["verdict"], row["new"], row["base"], row["prompts"]) == ("not worse", 0.0, 0.0, 180)
    turned = rows.select("prompt_id", "winner", model_a="model_b", model_b="model_a").with_columns(
        winner=pl.col("winner").replace({"model_a": "model_b", "model_b": "model_a"})
    )
    assert held(turned.sample(fraction=1.0, shuffle=True, seed=0)) == row
    weighed = pl.concat([rows.with_columns(weight=1.0), rows.with_columns(winner=pl.lit("model_a"), weight=0.0)])
    assert held(weighed) == row
    first = rows.with_columns(winner=pl.lit("model_a"))  # of a judge that prefers what it sees first, asked once and thrice
    second = first.with_columns(model_a=pl.lit("new"), model_b=pl.lit("base"))
    assert held(pl.concat([first, second, second, second]))["new"] == 0.0
    assert held(battles(20, 60, 100))["verdict"] == "worse" and held(battles(100, 60, 20))["verdict"] == "better"
    with pytest.raises(InputError, match="between the two builds"):
        held(rows.with_columns(model_a=pl.lit("other")))
    with pytest.raises(InputError, match=r"measures\.preferred"):
        gate(
            nothing,
            nothing,
            GatePlan({"ssim": MeasureRule(None, limit=0.1)}),
            pictures=alone(against(np.ones(9))),
            battles=rows,
        )


def test_prompts_without_a_battle_are_missing_unless_the_plan_says_that_they_were_drawn():
    """A judge that is silent on broken pictures hides nothing."""
    nothing, rows = frame_of([]), battles(60, 60, 60)
    known = {*rows["prompt_id"]}

    def held(silent: int, **more: bool) -> tuple[str, int, int]:
        plan = GatePlan({"preferred": MeasureRule(0.2, **more)})
        found = gate(nothing, nothing, plan, battles=rows, prompts=known | {f"q{k}" for k in range(silent)})
        verdict, prompts, unscored = found.table.select("verdict", "prompts", "unscored").row(0)
        return verdict, prompts, unscored

    assert held(0) == ("not worse", 180, 0) and held(3) == ("not worse", 180, 3)
    assert held(60) == ("cannot say", 180, 60) and held(60, sampled=True) == ("not worse", 180, 0)
    ends = [
        gate(nothing, nothing, GatePlan({"preferred": MeasureRule(0.2)}), battles=rows, prompts=more).table["low"][0]
        for more in (known, known | {"q"})
    ]
    assert ends[1] == pytest.approx(ends[0] - 1 / 181)


def test_battles_of_other_prompts_do_not_dilute_those_of_the_builds():
    nothing, own = frame_of([]), battles(0, 10, 60)
    known = {*own["prompt_id"]}
    others = battles(2_000, 0, 0).with_columns(prompt_id=pl.format("z{}", "prompt_id"))
    plan = GatePlan({"preferred": MeasureRule(0.1)})
    found = gate(nothing, nothing, plan, battles=pl.concat([own, others]), prompts=known)
    assert_frame_equal(found.table, gate(nothing, nothing, plan, battles=own, prompts=known).table)
    assert found.table["verdict"].to_list() == ["worse"]
    for sampled in (False, True):
        with pytest.raises(InputError, match="no battle is about a prompt"):
            rules = GatePlan({"preferred": MeasureRule(0.1, sampled=sampled)})
            gate(nothing, nothing, rules, battles=others, prompts=known)


def test_one_primary_measure_decides_and_the_others_are_shown():
    values = np.random.default_rng(0).normal(size=(60, 1))
    base = pl.concat([scores(values), scores(values, "truth")])
    new = pl.concat([scores(values), scores(values - 3.0, "truth")])
    rules = {"beauty": MeasureRule(0.5), "truth": MeasureRule(0.5)}
    assert not gate(base, new, GatePlan(rules)).passed
    found = gate(base, new, GatePlan(rules, primary="beauty"))
    assert found.passed and found.table["verdict"].to_list() == ["not worse", "worse"]
    assert 'failures="0"' in found.junit() and gate(base, new, GatePlan(rules, primary="truth")).passed is False


def test_the_command_exits_by_the_verdict_and_writes_reports(tmp_path: Path):
    random = np.random.default_rng(0)
    values = random.normal(size=(80, 1))
    for name, side in (("base", values), ("same", values + random.normal(0, 0.05, (80, 1))), ("worse", values - 1)):
        scores(side, dimension='<b>&"').write_parquet(tmp_path / f"{name}.parquet")

    def run(new: str, *words: str):
        return CliRunner().invoke(
            main, ["results", "gate", str(tmp_path / "base.parquet"), str(tmp_path / f"{new}.parquet"), *words]
        )

    passed = run("same", "--margin", "0.2", "--output", str(tmp_path / "gate.html"))
    assert passed.exit_code == 0, passed.output
    assert '<b>&"' not in (tmp_path / "gate.html").read_text()
    failed = run("worse", "--margin", "0.2", "--format", "json", "--output", str(tmp_path / "gate.xml"))
    document = json.loads(failed.stdout)
    assert failed.exit_code == 1 and document["passed"] is False and len(document["worst"]) == 12
    suite = ET.parse(tmp_path / "gate.xml").getroot()
    case = suite[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert case.get("name") == '<b>&"' and "worse" in case[0].get("message")
    assert run("same").exit_code == 2 and run("same", "--margin", "0").exit_code == 2
    (tmp_path / "gate.toml").write_text("[measures.other]\nmargin = 1\n")
    refused = run("same", "--plan", str(tmp_path / "gate.toml"), "--output", str(tmp_path / "never.xml"))
    assert refused.exit_code == 2 and "no such measure" in refused.stderr and not (tmp_path / "never.xml").exists()


def test_the_exact_end_is_that_of_scipy():
    from scipy.stats import beta

    for count, trials, level in ((0, 10, 0.05), (3, 50, 0.01), (19, 200, 0.05), (19, 20, 0.2), (5, 100_000, 0.05)):
        assert highest_share(count, trials, level) == pytest.approx(beta.isf(level, count + 1, trials - count), rel=1e-9)


def test_a_gate_is_shown_as_table_and_chart():
    found: Gate = gate(*(scores(side) for side in shifts(0.0, 60)(np.random.default_rng(0))), GatePlan({}, 0.2))
    view = found.view()
    assert found.header in view.header and view.chart is not None


def swapped(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(judge=pl.col("judge").replace({"j1": "j2", "j2": "j1"}))


def test_judges_are_compared_measure_by_measure_and_row_by_row():
    values = np.random.default_rng(0).normal(size=(30, 1))
    base = pl.concat([scores(values, judge="j1"), scores(values, "truth", judge="j2")])
    for other in (swapped(base), base.with_columns(suite=pl.lit("other"))):
        with pytest.raises(InputError, match="not judged alike"):
            gate(base, other, GatePlan({}, 0.1))
    panel = pl.concat([scores(values, judge="j1"), scores(values, judge="j2")])
    twice_one = panel.with_columns(judge=pl.when(pl.col("prompt_id") < "p2").then(pl.lit("j1")).otherwise("judge"))
    twice_one = twice_one.with_columns(generation_id=pl.format("{}-{}", "generation_id", pl.int_range(pl.len())))
    with pytest.raises(InputError, match="lacks samples of"):
        gate(panel, twice_one, GatePlan({}, 0.1))


def test_rows_that_have_no_pair_are_refused_and_none_is_counted_twice():
    base = scores(np.random.default_rng(0).normal(size=(60, 2)))
    first = base.unique("prompt_id", keep="first", maintain_order=True)
    with pytest.raises(InputError, match="two scores of one picture"):
        gate(base, pl.concat([first, first]), GatePlan({}, 0.1))
    loose = base.with_columns(prompt_id=pl.when(pl.int_range(pl.len()) < 90).then("prompt_id"))
    with pytest.raises(InputError, match="scores without a prompt_id"):
        gate(base, loose, GatePlan({}, 0.1))


def test_a_plan_looks_at_its_measures_alone_and_a_missing_one_is_named():
    values = np.random.default_rng(0).normal(size=(60, 1))
    base, new = pl.concat([scores(values), scores(values, "extra")]), scores(values + 1)
    assert gate(base, new, GatePlan({"beauty": MeasureRule(0.1)})).passed
    with pytest.raises(InputError, match=r"no score of '?s extra"):
        gate(base, new, GatePlan({}, 0.1))


def test_tables_without_ids_of_pictures_count_a_missing_verdict():
    values = np.random.default_rng(0).normal(size=(200, 1))
    silent = values.copy()
    silent[7] = math.nan
    none = {"generation_id": pl.Series([None] * 200, dtype=pl.String)}
    row = gate(scores(values, **none), scores(silent, **none), GatePlan({}, 1.0)).table.row(0, named=True)
    assert (row["prompts"], row["unscored"], row["verdict"]) == (199, 1, "not worse")


def test_a_verdict_that_the_new_build_alone_lacks_counts_as_a_fall_in_the_low_end():
    values = np.tile([0.0, 1.0], 100).reshape(-1, 1)
    silent = values.copy()
    silent[:8] = math.nan
    row = gate(scores(values), scores(silent), GatePlan({}, 0.03)).table.row(0, named=True)
    assert row["verdict"] == "cannot say" and row["low"] == pytest.approx(-(1 - 0.05 ** (1 / 192)) - 0.04)
    assert gate(scores(silent), scores(values), GatePlan({}, 0.03)).passed


def test_a_range_says_how_far_a_prompt_can_fall():
    one = np.ones((200, 1))
    assert verdict(one, one, 0.02) == "not worse"
    wide = GatePlan({"beauty": MeasureRule(0.02, range=(-1.0, 1.0))})
    assert gate(scores(one), scores(one), wide).table["verdict"][0] == "cannot say"
    for wrong in ((1.0, 0.0), (0.0, math.inf)):
        with pytest.raises(InputError, match="a range is"):
            MeasureRule(0.1, range=wrong)


def test_a_range_that_the_values_leave_is_refused():
    """Else a range of 0 to 1 makes falls of 4 points small, and the exact end, each by the range, near."""
    values = np.tile([5.0, 6.0, 7.0, 8.0], 25)
    narrow = GatePlan({"beauty": MeasureRule(0.3, range=(0.0, 1.0))})
    with pytest.raises(InputError, match=r"measures\.beauty.*outside its range: 5.0 \(allowed: 0.0, 1.0\)"):
        gate(scores(values), scores(values), narrow)
    endless = scores(values).with_columns(value=pl.when(pl.int_range(pl.len()) == 3).then(math.inf).otherwise("value"))
    with pytest.raises(InputError, match="outside its range: inf"):
        gate(scores(values), endless, GatePlan({}, 0.1))
    for measure, limit, span in (("psnr", 40.0, (0.0, 100.0)), ("ssim", 0.9, (0.0, 0.5))):
        plan = GatePlan({measure: MeasureRule(None, measure == "flicker", span, limit)})
        with pytest.raises(InputError, match=rf"measures\.{measure}\.range.*that of equal pictures"):
            gate(frame_of([]), frame_of([]), plan, pictures=alone(against(np.ones(9), measure)))


@pytest.mark.parametrize(
    ("measure", "value", "limit"), [("ssim", 0.95, 0.88), ("colour_difference", 1.0, 6.5), ("flicker", 1.0, 20)]
)
def test_no_measurable_picture_is_farther_off_than_one_that_cannot_be_measured(measure: str, value: float, limit: float):
    """SSIM goes down to -1, colours of sRGB are up to 119.5 apart, and a change of a difference is up to 510 levels."""
    values = np.random.default_rng(0).normal(value, 0.001, 100)
    values[:5] = math.nan
    plan = GatePlan({measure: MeasureRule(None, measure != "ssim", limit=limit)})
    row = gate(frame_of([]), frame_of([]), plan, pictures=alone(against(values, measure))).table.row(0, named=True)
    assert row["verdict"] == "cannot say" and row["low"] < row["difference"] - 0.05 * {"ssim": 2.0, "flicker": 510.0}.get(
        measure, 119.5
    )


def test_seeds_that_the_new_build_lacks_beyond_the_base_s_count_as_a_fall():
    values = np.random.default_rng(0).normal(5.0, 0.1, (100, 4))
    base, new = values.copy(), values.copy()
    base[:4, 0], new[:4] = math.nan, math.nan
    assert gate(scores(base), scores(new), GatePlan({}, 0.2)).table["verdict"][0] == "cannot say"
    assert gate(scores(new), scores(base), GatePlan({}, 0.2)).table["verdict"][0] == "not worse"


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("margin", [1e-320, 1e-12, 1.0, 1e199])
def test_extreme_numbers_end_in_a_verdict(factor: float, margin: float):
    base, new = (factor * side for side in shifts(-0.5, 60)(np.random.default_rng(0)))
    row = gate(scores(base), scores(new), GatePlan({}, margin)).table.row(0, named=True)
    assert row["verdict"] in ("not worse", "worse", "cannot say") and row["low"] < row["difference"] < row["high"]


def test_skewed_changes_of_a_build_that_is_worse_by_the_margin_seldom_pass():
    """Falls like an exponential: Student's t alone passes 9% of studies of 30 prompts."""
    passed = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        base = random.normal(5, 1, (30, 1))
        passed += verdict(base, base - random.exponential(0.3, (30, 1)), 0.3) in ("better", "not worse")
    assert passed <= 24, passed


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1])
def test_an_equal_build_of_as_many_prompts_as_needed_passes_where_few_of_them_change(share: float):
    pilot = flips(share, share, 2_000)(np.random.default_rng(0))
    needed = gate(*(scores(side) for side in pilot), GatePlan({}, 0.1)).table["needed"][0]
    said = [verdict(*flips(share, share, needed)(np.random.default_rng(seed)), 0.1) for seed in range(100)]
    assert sum(one in ("better", "not worse") for one in said) >= 70, needed


def test_nothing_that_breaks_exits_as_a_worse_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """1 says that the build is worse: not a defect, not a full disk, not a closed pipe."""
    values = np.random.default_rng(0).normal(size=(40, 1))
    for name in ("base", "new"):
        scores(values + 0.01 * (name == "new")).write_parquet(tmp_path / f"{name}.parquet")
    words = ["results", "gate", *(str(tmp_path / f"{name}.parquet") for name in ("base", "new")), "--margin", "0.5"]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert CliRunner().invoke(main, [*words, "--output", str(tmp_path)]).exit_code == 2
    salon = [str(Path(sys.executable).with_name("salon")), *words]
    if Path("/dev/full").exists():
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(salon, stdout=full, stderr=subprocess.PIPE, text=True)
        assert (done.returncode, done.stderr.count("standard output cannot be written")) == (2, 1), done.stderr
    read, write = os.pipe()
    os.close(read)
    assert subprocess.run(salon, stdout=write, stderr=subprocess.PIPE).returncode == 2
    os.close(write)

    for error in (ZeroDivisionError("a defect"), OSError(28, "No space left on device"), OSError(5, "Input/output error")):
        monkeypatch.setattr("salon_bench.analysis.gate.builds.gate", raising(error))
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 2 and (str(error) in result.stderr or "No space left" in result.stderr)


def raising(error: Exception) -> Callable[..., Gate]:
    def broken(*_: object, **__: object) -> Gate:
        raise error

    return broken


# --- Pipelines


def pipeline(folder: Path, new: str, **more: str) -> tuple[int, dict[str, str]]:
    """Run the script of the GitHub action on tables of this folder; returns its exit status and what it wrote."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][1]
    inputs = {name: str(one.get("default", "")) for name, one in action["inputs"].items()}
    inputs |= {"base": "base.parquet", "new": f"{new}.parquet", "margin": "0.2", **more}
    expressions = {name: text.removeprefix("${{ inputs.").removesuffix(" }}") for name, text in step["env"].items()}
    assert set(expressions.values()) <= set(inputs)
    given = {name: inputs[place] for name, place in expressions.items()}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    files = {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    Path(files["GITHUB_OUTPUT"]).unlink(missing_ok=True)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), **given, **files},
    )
    return done.returncode, {name: Path(file).read_text() for name, file in files.items() if Path(file).is_file()}


@pytest.mark.slow
def test_the_action_fails_where_the_gate_does_and_its_summary_says_why(tmp_path: Path):
    random = np.random.default_rng(0)
    values = random.normal(size=(40, 1))
    for name, side in (
        ("base", values),
        ("same", values + random.normal(0, 0.05, (40, 1))),
        ("worse", values - 1),
        ("unclear", values + random.normal(0, 2, (40, 1))),
    ):
        scores(side).write_parquet(tmp_path / f"{name}.parquet")
    assert pipeline(tmp_path, "same")[0] == 0
    status, files = pipeline(tmp_path, "worse")
    assert status == 1 and files["GITHUB_OUTPUT"] == "verdict=1\n" and "worse" in files["GITHUB_STEP_SUMMARY"]
    assert ET.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"
    assert pipeline(tmp_path, "unclear")[0] == 3
    assert pipeline(tmp_path, "unclear", **{"allow-unclear": "true"})[0] == 0
    status, files = pipeline(tmp_path, "missing")
    assert status == 2 and not (tmp_path / "gate.xml").exists()
    assert "missing.parquet" in files["GITHUB_STEP_SUMMARY"].rpartition("```\n")[0].rpartition("```\n")[2]
    assert pipeline(tmp_path, '$(touch owned)"; touch owned; "')[0] == 2 and not (tmp_path / "owned").exists()


def test_the_gitlab_job_runs_the_same_commands():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((ROOT / "examples/gitlab-gate.yml").read_text(encoding="utf-8"))["salon-gate"]
    options = {option.opts[0] for option in gate_command.params}
    for line in job["script"][2:]:
        words = shlex.split(line.partition(" || ")[0])
        assert words[:3] == ["salon", "results", "gate"]
        assert {word.partition("=")[0] for word in words if word.startswith("--") and word != "--"} <= options
    assert job["artifacts"]["reports"]["junit"] == "gate.xml"


# --- Runs


def test_runs_whose_prompts_have_other_texts_under_the_same_ids_are_refused(tmp_path: Path):
    stores = []
    for name, texts in (("one", "cat"), ("two", "dog")):
        (tmp_path / name).mkdir()
        store = VerdictStore(tmp_path / name)
        store.prompts({f"p{number}": f"{texts if number == 7 else 'bird'} {number}" for number in range(20)})
        store.run("app", {("t", f"p{number}", "beauty"): float(number) for number in range(20)})
        stores.append(f"{store.path}#app")
    result = CliRunner().invoke(main, ["results", "gate", *stores, "--margin", "5"])
    assert result.exit_code == 2 and "has other texts of 1 prompt, such as of p7: 'dog 7'" in result.stderr
    same = CliRunner().invoke(
        main, ["results", "gate", stores[0], "app", "--margin", "5", "--store", stores[0][: -len("#app")]]
    )
    assert same.exit_code == 2 and "one and the same" in same.stderr


# --- Folders of pictures


@pytest.fixture
def two_builds(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for build in ("old", "new"):
        (tmp_path / build).mkdir()
    for number in range(12):
        picture = random.integers(0, 255, (32, 32, 3)).astype(np.uint8)
        Image.fromarray(picture).save(tmp_path / "old" / f"{number}.png")
        noise = random.normal(0, 4 if number % 3 else 0, picture.shape)
        Image.fromarray((picture + noise).clip(0, 255).astype(np.uint8)).save(tmp_path / "new" / f"{number}.png")
    (tmp_path / "gate.toml").write_text("[measures.psnr]\nat_least = 30\n[measures.ssim]\nat_least = 0.9\n")
    return tmp_path


def folders(within: Path, *words: str) -> object:
    command = ["results", "gate", str(within / "old"), str(within / "new"), "--plan", str(within / "gate.toml")]
    return CliRunner().invoke(main, [*command, "--store", str(within / "none"), *words])


def test_folders_of_pictures_are_held_to_limits_and_shown(two_builds: Path):
    page = two_builds / "gate.html"
    result = folders(two_builds, "--format", "json", "--output", str(page))
    rows = {row["measure"]: row for row in json.loads(result.stdout)["rows"]}
    assert result.exit_code == 0 and {row["verdict"] for row in rows.values()} == {"not worse"}
    assert rows["ssim"]["identical"] == 4 and 30 < rows["psnr"]["new"] < 45
    html = page.read_text()
    assert html.count("data:image/webp") == 2 * 8 and 'class="apart"' in html  # 12 falls of 8 prompts
    (two_builds / "gate.toml").write_text("[measures.psnr]\nat_least = 60\n")
    assert folders(two_builds).exit_code == 1


def test_folders_that_do_not_fit_are_refused_and_a_broken_picture_is_not_passed_over(two_builds: Path):
    (two_builds / "new" / "3.png").write_bytes(b"no picture")
    result = folders(two_builds)
    assert result.exit_code == 3 and "cannot say" in result.stdout and "Warning: 3: " in result.stdout
    (two_builds / "new" / "3.png").unlink()
    result = folders(two_builds)
    assert result.exit_code == 2 and "lacks 1 of 12 pictures" in result.stderr and "3" in result.stderr
    (two_builds / "gate.toml").write_text("[measures.dists]\nat_most = 0.1\n")
    assert "is no measure of pictures: 'dists'" in folders(two_builds).stderr
    (two_builds / "gate.toml").write_text("[measures.beauty]\nmargin = 0.1\n")
    assert folders(two_builds).exit_code == 2


def test_features_hold_pairs_and_whole_sets_to_limits(two_builds: Path):
    mine = two_builds / "features.py"
    mine.write_text(FEATURES)
    limits = "[measures.similarity]\nat_least = 0.9\n[measures.kid]\nat_most = 1.0\n[measures.fid]\nat_most = 1.0\n"
    plan = two_builds / "gate.toml"
    plan.write_text(f'features = "{mine}:small"\n{limits}')
    assert "Warning: fid: " in folders(two_builds).stdout  # too few pictures for their features
    result = folders(two_builds, "--format", "json")
    rows = {row["measure"]: row for row in json.loads(result.stdout)["rows"]}
    assert result.exit_code == 3
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "similarity": "not worse",
        "kid": "not worse",
        "fid": "cannot say",
    }
    assert rows["similarity"]["identical"] == 4 and rows["similarity"]["new"] > 0.99 and rows["fid"]["new"] is None
    (two_builds / "new" / "3.png").write_bytes(b"no picture")
    result = folders(two_builds, "--format", "json")
    assert [row["unscored"] for row in json.loads(result.stdout)["rows"]] == [1, 1, 1] and result.exit_code == 3
    plan.write_text(limits)
    assert "needs a function of features" in folders(two_builds).stderr
    for text in ("def small(images): return [1.0]", "def small(images): return [[float('nan')]] * len(images)"):
        mine.write_text(text)
        plan.write_text(f'features = "{mine}:small"\n{limits}')
        result = folders(two_builds)
        assert result.exit_code == 2 and "must return finite numbers" in result.stderr
    plan.write_text('features = "small"\n' + limits)
    assert "names no function of features" in folders(two_builds).stderr


def test_sets_that_are_alike_or_far_are_told_by_their_limits():
    ends = {"value": 0.5, "low": 0.4, "high": 0.6, "reason": None, "prompts": 40, "unscored": 0}
    rows = pl.DataFrame([{"measure": "fid", **ends}, {"measure": "recall", **ends}])

    def verdicts(fid: float, recall: float) -> list[str]:
        rules = {"fid": MeasureRule(None, lower=True, limit=fid), "recall": MeasureRule(None, limit=recall)}
        nothing = frame_of([])
        found = gate(nothing, nothing, GatePlan(rules), pictures=Measured(pl.DataFrame(), rows))
        return [*found.table["verdict"]]

    assert verdicts(0.7, 0.3) == ["not worse", "not worse"]
    assert verdicts(0.5, 0.5) == ["cannot say", "cannot say"]
    assert verdicts(0.3, 0.7) == ["worse", "worse"]


def test_diversity_within_a_prompt_falls_when_seeds_no_longer_matter(two_builds: Path):
    """The new build draws one picture for all seeds of a prompt; its set is as diverse as its prompts are."""
    random = np.random.default_rng(0)
    for build in ("old", "new"):
        for path in (two_builds / build).iterdir():
            path.unlink()
    for prompt in range(24):
        for sample in range(4):
            picture = Image.fromarray(random.integers(0, 255, (4, 4, 3), np.uint8))
            picture.save(two_builds / "old" / f"p{prompt}.{sample}.png")
            if sample == 0:
                one = picture
            one.save(two_builds / "new" / f"p{prompt}.{sample}.png")
    mine = two_builds / "features.py"
    mine.write_text("import numpy as np\ndef centred(images): return [np.asarray(each).ravel() - 127.5 for each in images]\n")
    limits = "[measures.diversity]\nmargin = 0.5\n[measures.vendi_ratio]\nat_least = 0.8\n"
    (two_builds / "gate.toml").write_text(f'features = "{mine}:centred"\n{limits}')
    result = folders(two_builds, "--format", "json")
    rows = {row["measure"]: row for row in json.loads(result.stdout)["rows"]}
    assert result.exit_code == 1 and rows["diversity"]["verdict"] == "worse" and rows["vendi_ratio"]["verdict"] != "not worse"
    assert rows["diversity"]["base"] > 3.5 and rows["diversity"]["new"] == pytest.approx(1.0)
    assert rows["vendi_ratio"]["new"] < 0.6 and rows["diversity"]["prompts"] == 24
    (two_builds / "old" / "p3.1.png").write_bytes(b"no picture")  # of the base: no fall
    row = json.loads(folders(two_builds, "--format", "json").stdout)["rows"][0]
    assert (row["prompts"], row["unscored"]) == (23, 1)
    (two_builds / "new" / "p3.1.png").write_bytes(b"no picture")
    same = json.loads(folders(two_builds, "--format", "json").stdout)["rows"][0]
    (two_builds / "new" / "p3.2.png").write_bytes(b"no picture")  # the new build lost more
    more = json.loads(folders(two_builds, "--format", "json").stdout)["rows"][0]
    assert same["low"] == row["low"] and more["low"] == pytest.approx(row["low"] - 3 / 24)
    text = (two_builds / "gate.toml").read_text()
    (two_builds / "gate.toml").write_text(text.replace("margin = 0.5", "margin = 3.0"))
    assert "as large as all diversity of the base" in folders(two_builds).stderr
    (two_builds / "gate.toml").write_text(text)
    for path in [*two_builds.glob("*/p*.[123].png")]:
        path.unlink()
    assert "needs two pictures or more of each prompt" in folders(two_builds).stderr


def test_order_names_and_other_prompts_and_measures_change_no_verdict_of_diversity():
    random, nothing = np.random.default_rng(0), frame_of([])
    rows = {"prompt_id": [f"p{k}" for k in range(60)], "base": random.uniform(2, 3, 60), "new": random.uniform(1.9, 2.9, 60)}
    pairs = pl.DataFrame(rows).with_columns(silent=pl.lit(value=False), pictures=pl.lit(3))
    rules = {"diversity": MeasureRule(0.3), "ssim": MeasureRule(None, limit=0.93)}
    plan = GatePlan(rules, features="transformers:none")
    seen = against(random.uniform(0.9, 1, 60))
    together = gate(nothing, nothing, plan, pictures=Measured(seen, pl.DataFrame(), pairs[::-1]), names=("a", "b"))
    own = replace(plan, measures={"diversity": rules["diversity"]})
    by_itself = gate(nothing, nothing, own, pictures=Measured(pl.DataFrame(), pl.DataFrame(), pairs))
    found = together.table.filter(measure="diversity").drop("p_worse")
    assert_frame_equal(by_itself.table.drop("p_worse"), found, rel_tol=1e-12)


def test_features_are_kept_in_a_store_by_content_and_counted_once(two_builds: Path, tmp_path: Path):
    mine, store = two_builds / "features.py", tmp_path / "kept"
    seen = tmp_path / "seen"
    mine.write_text(
        f"{FEATURES}\ndef counted(images):\n    open({str(seen)!r}, 'a').write('x' * len(images))\n    return small(images)\n"
    )
    (two_builds / "gate.toml").write_text(f'features = "{mine}:counted"\n[measures.similarity]\nat_least = 0.9\n')

    def looked(*, version: str) -> tuple[int, str]:
        seen.write_text("")
        text = mine.read_text().split("\ncounted.version")[0]
        mine.write_text(f"{text}\ncounted.version = {version}\n")
        result = folders(two_builds, "--store", str(store), "--format", "json")
        assert result.exit_code == 0, result.stderr
        return len(seen.read_text()), json.dumps(json.loads(result.stdout)["rows"])

    assert looked(version="'1'")[0] == 20 and not store.exists()  # 4 of 12 pairs are equal, and shown once
    ResultStore.open(store)
    first = looked(version="'1'")
    assert looked(version="'1'") == (0, first[1]) and looked(version="'2'") == first and looked(version="None") == first
    cached = [*(store / ".cache").glob("features-*.npz")]
    for content in (b"", cached[0].read_bytes()[:200], cached[0].read_bytes()[:-1] + b"x"):
        for path in cached:
            path.write_bytes(content)
        assert [looked(version=version)[0] for version in ("'1'", "'2'")] == [20, 20]
    other = two_builds / "other.py"  # another file with a function of this name and version
    mine.rename(other)
    mine.write_text(other.read_text().replace("/ 255", "/ 127"))
    assert looked(version="'1'")[0] == 20


def test_measures_of_sets_need_no_others_and_a_picture_that_cannot_be_read_hides_nothing(two_builds: Path):
    mine = two_builds / "features.py"
    mine.write_text(FEATURES)
    (two_builds / "gate.toml").write_text(f'features = "{mine}:small"\n[measures.kid]\nat_most = 1.0\n')
    result = folders(two_builds)
    assert result.exit_code == 0 and "kid" in result.stdout
    for number in range(12, 60):  # one of 60 is less than the share that other measures may lack
        for build in ("old", "new"):
            (two_builds / build / f"{number}.png").write_bytes((two_builds / build / f"{number % 12}.png").read_bytes())
    assert folders(two_builds).exit_code == 0
    (two_builds / "new" / "3.png").write_bytes(b"no picture")
    assert folders(two_builds).exit_code == 3


def test_order_names_and_other_measures_change_no_verdict_of_pictures_battles_or_sets():
    random, nothing = np.random.default_rng(0), frame_of([])
    pictures = pl.concat([against(random.uniform(0.9, 1, 60)), against(random.uniform(30, 40, 60), "psnr")])
    ends = {"value": 0.5, "low": 0.4, "high": 0.6, "reason": None, "prompts": 40, "unscored": 0}
    sets = pl.DataFrame([{"measure": name, **ends} for name in ("fid", "kid")])
    played = battles(30, 40, 30)
    rules = {
        "psnr": MeasureRule(None, limit=33.0),
        "fid": MeasureRule(None, lower=True, limit=0.7),
        "preferred": MeasureRule(0.2),
        "ssim": MeasureRule(None, limit=0.93),
        "kid": MeasureRule(None, lower=True, limit=0.7),
    }
    mixed = {"fraction": 1.0, "shuffle": True, "seed": 1}
    given = {"pictures": Measured(pictures.sample(**mixed), sets[::-1]), "battles": played.sample(**mixed)}
    names = {"names": ("a", "b"), "models": ("base", "new")}
    together = gate(nothing, nothing, GatePlan(rules), **given, **names)
    assert together.table["measure"].to_list() == [*rules]
    for name, rule in rules.items():
        own = {"pictures": Measured(pictures.filter(measure=name), sets.filter(measure=name))}
        own |= {"battles": played} if name == "preferred" else {}
        by_itself = gate(nothing, nothing, GatePlan({name: rule}), **own)
        assert_frame_equal(by_itself.table.drop("p_worse"), together.table.filter(measure=name).drop("p_worse"), rel_tol=1e-12)


def test_prompts_of_folders_without_a_battle_are_missing_whether_or_not_a_page_is_written(two_builds: Path):
    (two_builds / "gate.toml").write_text("[measures.preferred]\nmargin = 0.2\n")
    named = battles(4, 0, 2).with_columns(model_a=pl.lit("old"), model_b=pl.lit("new"))
    ids = named["prompt_id"].unique().sort()
    named = named.with_columns(pl.col("prompt_id").replace(dict(zip(ids, map(str, range(6)), strict=True))))
    named.write_csv(two_builds / "battles.csv")
    words = ("--battles", str(two_builds / "battles.csv"), "--format", "json")
    alone, with_page = folders(two_builds, *words), folders(two_builds, *words, "--output", str(two_builds / "gate.html"))
    rows = [json.loads(each.stdout)["rows"] for each in (alone, with_page)]
    assert (rows[0], alone.exit_code) == (rows[1], with_page.exit_code)
    assert (rows[0][0]["prompts"], rows[0][0]["unscored"]) == (6, 6)


def test_battles_name_the_builds_as_their_folders(two_builds: Path):
    (two_builds / "gate.toml").write_text("[measures.preferred]\nmargin = 0.2\n")
    named = battles(60, 60, 60).with_columns(model_a=pl.lit("old"), model_b=pl.lit("new"))
    for build in ("old", "new"):
        first = (two_builds / build / "0.png").read_bytes()
        for path in (two_builds / build).iterdir():
            path.unlink()
        for prompt in named["prompt_id"]:
            (two_builds / build / f"{prompt}.png").write_bytes(first)
    named.write_csv(two_builds / "battles.csv")
    assert folders(two_builds, "--battles", str(two_builds / "battles.csv")).exit_code == 0
    named.with_columns(model_a=pl.lit("other")).write_csv(two_builds / "battles.csv")
    result = folders(two_builds, "--battles", str(two_builds / "battles.csv"))
    assert result.exit_code == 2 and "not between the two builds" in result.stderr

"""Plans of gates: what they promise, held against the gate itself and against the formula of normal changes."""

import json
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image
from test_gate import Draw, flips, scores, shifts, verdict
from verdict_store import VerdictStore

from salon_bench.analysis.gate import MeasureRule, planning
from salon_bench.analysis.gate.pairing import PairedMeasure, of_battles
from salon_bench.analysis.gate.planning import GateSizes, pilot_scores, plan_gate
from salon_bench.analysis.gate.verdicts import one_sided_ends
from salon_bench.runs.score_rows import frame_of
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Generation, Score

PASSING = ("better", "not worse")


def planned(draw: Draw, margin: float, **options: float) -> GateSizes:
    base, new = draw(np.random.default_rng(1))
    return plan_gate(scores(base), scores(new), [("beauty", MeasureRule(margin))], **options)


def test_prompts_and_seeds_are_those_of_the_formula_where_changes_are_normal():
    """Changes of prompts have variance 0.25, each seed of a difference 2."""
    found = planned(shifts(0.3, 4_000, samples=4), 0.2, power=0.9)
    between, within = found.components.select("between", "within").row(0)
    assert between == pytest.approx(0.25, abs=0.06) and within == pytest.approx(2.0, rel=0.05)
    assert found.table["seeds"].to_list() == [1, 2, 4]
    reach = NormalDist().inv_cdf(0.95) + NormalDist().inv_cdf(0.9)
    for row in found.table.iter_rows(named=True):
        expected = reach**2 * (0.25 + 2.0 / row["seeds"]) / 0.2**2
        assert row["prompts"] == pytest.approx(expected, rel=0.12) and row["pictures"] == row["prompts"] * row["seeds"]
        assert abs(row["power"] - 0.9) <= 0.05 and row["type_one"] <= 0.07


@pytest.mark.parametrize(
    ("draw", "of", "margin"),
    [
        (shifts(0.0, 2_000), lambda prompts: shifts(0.0, prompts), 0.4),
        (flips(0.1, 0.1, 3_000), lambda prompts: flips(0.1, 0.1, prompts), 0.1),
        (flips(0.01, 0.01, 3_000), lambda prompts: flips(0.01, 0.01, prompts), 0.05),
    ],
)
def test_the_gate_itself_has_the_power_that_a_plan_promises(draw: Draw, of, margin: float):
    [row] = planned(draw, margin).table.rows(named=True)
    draws = [of(row["prompts"])(np.random.default_rng(seed)) for seed in range(100)]
    passed = sum(verdict(*sides, margin) in PASSING for sides in draws) / 100
    assert row["power"] >= 0.78 and abs(passed - row["power"]) <= 0.12  # three standard errors of 100 studies
    assert row["type_one"] <= 0.07


def test_one_build_with_several_seeds_is_planned_for_seeds_of_its_own():
    base, _ = shifts(0.0, 3_000, samples=4)(np.random.default_rng(2))
    found = plan_gate(scores(base), None, [("beauty", MeasureRule(0.2))])
    row = found.components.row(0, named=True)
    assert row["seeds"] == 2 and row["within"] == pytest.approx(2.0, rel=0.06) and row["between"] < 0.06
    with pytest.raises(InputError, match="two or more seeds"):
        plan_gate(scores(base[:, :1]), None, [("beauty", MeasureRule(0.2))])


def test_smaller_margins_and_more_power_take_more_prompts_and_too_many_are_no_number(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planning, "STUDIES", 200)
    base, new = (scores(side) for side in shifts(0.0, 200)(np.random.default_rng(0)))
    rules = [("beauty", MeasureRule(margin)) for margin in (0.8, 0.4, 0.2, 0.001)]
    prompts = plan_gate(base, new, rules).table["prompts"].to_list()
    assert prompts[:3] == sorted(prompts[:3]) and prompts[3] is None
    more = plan_gate(base, new, rules[:3], power=0.95).table["prompts"].to_list()
    assert all(many > few for many, few in zip(more, prompts, strict=False))
    assert plan_gate(base, new, rules[:2], seed=3).table.equals(plan_gate(base, new, rules[:2], seed=3).table)
    assert "–" in str(plan_gate(base, new, rules[3:]))


def test_a_margin_beyond_the_worst_value_has_no_worse_build_and_lower_is_better_turns_the_values():
    base, new = (scores(side) for side in flips(0.0, 0.0, 200)(np.random.default_rng(0)))
    [row] = plan_gate(base, new, [("beauty", MeasureRule(0.9))]).table.rows(named=True)
    assert row["type_one"] is None and row["power"] == 1.0
    higher, lower = (plan_gate(base, new, [("beauty", MeasureRule(0.1, lower=side))]).table for side in (False, True))
    assert abs(higher["prompts"][0] - lower["prompts"][0]) <= 5


def test_a_pilot_that_says_nothing_is_refused():
    base, new = (scores(side) for side in shifts(0.0, 20)(np.random.default_rng(0)))
    rules = [("beauty", MeasureRule(0.2))]
    with pytest.raises(InputError, match=r"no such measure: 'x' \(allowed: beauty\)"):
        plan_gate(base, new, [("x", MeasureRule(0.2))])
    with pytest.raises(InputError, match="outside its range"):
        plan_gate(base, new, [("beauty", MeasureRule(0.2, range=(0.0, 0.1)))])
    with pytest.raises(InputError, match="a pilot needs 8 prompts or more"):
        plan_gate(base.head(7), new, rules)
    with pytest.raises(InputError, match="a pilot needs 8 prompts or more"):
        plan_gate(base, new.with_columns(value=pl.lit(None, pl.Float64)), rules)
    for power in (0.5, 1.0, math.nan):
        with pytest.raises(InputError, match=r"between 0\.5 and 1"):
            plan_gate(base, new, rules, power=power)


def test_the_command_plans_from_runs_by_sample_and_from_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planning, "STUDIES", 200)
    store = VerdictStore(tmp_path)
    random = np.random.default_rng(0)
    prompts = [f"p{number}" for number in range(40)]
    level = {name: random.normal(5, 3, 3) for name in prompts}  # of each seed: without pairs it would be noise
    for run, shift in (("base", 0.0), ("new", 0.1)):
        values = {("t", name, "beauty"): [*(level[name] + shift + random.normal(0, 0.1, 3))] for name in prompts}
        store.run(run, values, subject=run, pictures=dict.fromkeys(prompts, Path(__file__)))
    words = ["results", "plan-gate", "base", "new", "--store", str(store.path), "--format", "json"]
    result = CliRunner().invoke(main, [*words, "--margin", "0.1", "--margin", "0.05"])
    document = json.loads(result.stdout)
    assert [row["seeds"] for row in document["rows"]] == [1, 2, 3] * 2
    assert document["variances"][0]["within"] == pytest.approx(0.02, rel=0.5)
    assert pilot_scores("base", store.path)["prompt_id"].unique().len() == 40
    for name, side in zip(("base", "new"), shifts(0.0, 40)(random), strict=True):
        scores(side).write_csv(tmp_path / f"{name}.csv")
    tables = ["results", "plan-gate", str(tmp_path / "base.csv"), str(tmp_path / "new.csv")]
    (tmp_path / "gate.toml").write_text("level = 0.1\n[measures.beauty]\nmargin = 0.5\n[measures.ssim]\nat_least = 0.9\n")
    planned = [*tables, "--plan", str(tmp_path / "gate.toml")]
    assert "has no pictures" in CliRunner().invoke(main, planned).stderr
    result = CliRunner().invoke(main, [*planned, "--measure", "beauty", "--output", str(tmp_path / "plan.csv")])
    assert result.exit_code == 0 and "one-sided at 10%" in result.output
    assert pl.read_csv(tmp_path / "plan.csv")["margin"].to_list() == [0.5]
    for wrong, problem in (
        ([], "either --margin or --plan"),
        (["--margin", "1", "--measure", "x"], "no such measure"),
        (["--margin", "0"], "0.0 is not in the range"),
    ):
        result = CliRunner().invoke(main, [*tables, *wrong])
        assert result.exit_code != 0 and problem in result.output


def test_a_sample_that_a_run_lacks_moves_no_other_one_to_its_place(tmp_path: Path):
    """The builds differ by the number of the prompt, from 0 to 11, alone."""
    common = {"suite": "s", "task": "t", "dimension": "beauty", "subject_model": "m", "judge": "j", "judge_version": "1"}
    with ResultStore.open(tmp_path) as store:
        for build in ("base", "new"):
            rows: list[Score] = []
            pictures: list[Generation] = []
            for prompt in range(12):
                for sample in range(3):
                    key = {"prompt_id": f"p{prompt}", "generation_id": f"{build}-{prompt}-{sample}"}
                    value = 10.0 * sample + prompt * (build == "new")
                    lost = build == "new" and sample == 2 and prompt % 2 == 0
                    known = {"value": None, "unscored_reason": "bad_media"} if lost else {"value": value}
                    rows.append(Score(run_id=build, **common, **key, **known))
                    picture = Generation(**key, model="m", sample=sample, uri="a.png", sha256="0" * 64)
                    pictures += [] if lost else [picture]
            store.append("scores", rows, run_id=build)
            store.append("generations", pictures, run_id=build)
    base, new = (pilot_scores(build, tmp_path) for build in ("base", "new"))
    found = plan_gate(base, new, [("beauty", MeasureRule(5.0))])
    assert found.components.select("between", "within", "seeds").row(0) == (13.0, 0.0, 2)


def test_a_plan_of_a_limit_is_the_pilots_own_build_and_one_changed_to_the_limit():
    """Simulated apart: a build that changes a ninth more comes to the limit, and passes about as often as the plan says."""
    random = np.random.default_rng(0)
    pairs = pl.DataFrame({"prompt_id": [f"p{k}" for k in range(400)], "base": 1.0, "new": 1 - np.linspace(0, 0.18, 400)})
    rule = MeasureRule(None, limit=0.9)
    measure = PairedMeasure("ssim", pairs, rule, 0.1, lower=False, size=0.18, silence=2.0)
    [row] = plan_gate(frame_of([]), None, [], further=[measure]).table.rows(named=True)
    assert row["margin"] == pytest.approx(0.1) and 120 <= row["prompts"] <= 230 and row["power"] > 0.75
    drawn = [one_sided_ends(-random.uniform(0, 0.2, row["prompts"]), 0.2, 0.05)[0] > -0.1 for _ in range(2_000)]
    assert row["type_one"] == pytest.approx(np.mean(drawn), abs=0.03)


def test_a_plan_of_battles_is_that_of_the_share_of_prompts_that_change():
    rows = pl.DataFrame({"prompt_id": [f"p{k}" for k in range(100)], "model_a": "base", "model_b": "new"})
    rows = rows.with_columns(winner=pl.Series(["model_a"] * 30 + ["tie"] * 40 + ["model_b"] * 30))
    measure = of_battles(rows, MeasureRule(0.15), "base", "new")
    [row] = plan_gate(frame_of([]), None, [], further=[measure]).table.rows(named=True)
    assert row["prompts"] == pytest.approx(165, rel=0.15) and row["type_one"] <= 0.08  # 165: docs/gate.md, by the study


def test_the_command_plans_limits_of_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planning, "STUDIES", 200)
    random = np.random.default_rng(0)
    for build in ("old", "new"):
        (tmp_path / build).mkdir()
        for number in range(10):
            picture = np.full((16, 16, 3), 9 * number + random.integers(3), np.uint8)
            Image.fromarray(picture).save(tmp_path / build / f"{number}.png")
    (tmp_path / "gate.toml").write_text("[measures.psnr]\nat_least = 30\n[measures.preferred]\nmargin = 0.5\n")
    words = ["results", "plan-gate", str(tmp_path / "old"), str(tmp_path / "new"), "--plan", str(tmp_path / "gate.toml")]
    result = CliRunner().invoke(main, [*words, "--measure", "psnr", "--format", "json"])
    assert result.exit_code == 0 and json.loads(result.stdout)["rows"][0]["measure"] == "psnr"
    rows = {"prompt_id": [str(k) for k in range(10)], "model_a": "old", "model_b": "new", "winner": ["tie", "model_a"] * 5}
    pl.DataFrame(rows).write_csv(tmp_path / "battles.csv")
    result = CliRunner().invoke(main, [*words, "--battles", str(tmp_path / "battles.csv"), "--format", "json"])
    assert [row["measure"] for row in json.loads(result.stdout)["rows"]] == ["psnr", "preferred"]
    assert CliRunner().invoke(main, words).exit_code == 2  # no battles
    for path in [*tmp_path.glob("*/*.png")]:
        path.with_name(f"{path.stem}.1.png").write_bytes(path.read_bytes())
    result = CliRunner().invoke(main, [*words, "--measure", "psnr", "--format", "json"])
    [row] = json.loads(result.stdout)["rows"]
    assert row["seeds"] == 2 and row["pictures"] == 2 * row["prompts"]
    assert CliRunner().invoke(main, [*words[:3], *words[4:]]).exit_code == 2  # one folder


@pytest.fixture
def pilots(tmp_path: Path) -> list[str]:
    """Tables of scores of a base and of another build, which have two measures."""
    names = []
    for number, values in enumerate(shifts(0.0, 60)(np.random.default_rng(3))):
        rows = pl.concat([scores(values), scores(values).with_columns(dimension=pl.lit("truth"))])
        rows.write_parquet(path := tmp_path / f"pilot{number}.parquet")
        names.append(str(path))
    return names


def command(*words: str) -> tuple[int, dict, str]:
    result = CliRunner().invoke(main, ["results", "plan-gate", *words, "--format", "json"])
    return result.exit_code, json.loads(result.stdout) if not result.exit_code else {}, result.output


def test_the_command_plans_every_measure_and_margin_or_those_that_are_asked_for(
    pilots: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "STUDIES", 100)
    code, made, text = command(*pilots, "--margin", "0.5", "--margin", "0.8")
    assert code == 0, text
    assert [(row["measure"], row["margin"]) for row in made["rows"]] == [
        ("beauty", 0.5), ("beauty", 0.8), ("truth", 0.5), ("truth", 0.8)]  # fmt: skip
    assert (made["power"], made["level"], len(made["variances"])) == (0.8, 0.05, 2)
    code, made, _ = command(*pilots, "--margin", "0.5", "--measure", "truth", "--power", "0.9")
    assert [row["measure"] for row in made["rows"]] == ["truth"] and made["power"] == 0.9
    (tmp_path / "gate.toml").write_text("level = 0.1\n[measures.beauty]\nmargin = 0.8\n[measures.truth]\nmargin = 0.8\n")
    code, made, text = command(*pilots, "--plan", str(tmp_path / "gate.toml"))
    assert code == 0, text
    assert made["level"] == 0.1 and [row["measure"] for row in made["rows"]] == ["beauty", "truth"]
    code, made, text = command(*pilots, "--plan", str(tmp_path / "gate.toml"), "--measure", "beauty")
    assert [row["measure"] for row in made["rows"]] == ["beauty"], text


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["0", "1", "0", "--margin", "0.5"], "one pilot or two"),
        (["0", "1"], "margin"),
        (["0", "1", "--margin", "0.5", "--plan", "gate.toml"], "margin"),
        (["0", "1", "--margin", "0.5", "--battles", "0"], "plan"),
        (["0", "1", "--margin", "0.5", "--measure", "taste"], "no such measure"),
        (["0", "--margin", "0.5"], "two or more seeds"),
        (["0", "1", "--plan", "gate.toml"], "no such measure"),
    ],
)
def test_a_command_that_cannot_be_planned_says_why(pilots: list[str], tmp_path: Path, words: list[str], problem: str) -> None:
    plan = tmp_path / "gate.toml"
    plan.write_text("[measures.ssim]\nmargin = 0.1\n")
    named = {"0": pilots[0], "1": pilots[1], "gate.toml": str(plan)}
    code, _, text = command(*(named.get(word, word) for word in words))
    assert code == 2 and problem in text, text


def test_a_plan_is_read_by_people_with_shares_in_percent_and_warns_of_what_passes_too_often() -> None:
    row = {
        "measure": "beauty",
        "margin": 0.125,
        "seeds": 2,
        "prompts": 1200,
        "pictures": 2400,
        "power": 0.812,
        "type_one": 0.05,
    }
    none = {**row, "prompts": None, "pictures": None, "power": None, "type_one": None}
    sizes = GateSizes(pl.DataFrame([row, none, {**row, "type_one": 0.09}]), pl.DataFrame(), 0.8, 0.05)
    assert [list(cells) for cells in sizes.cells(sizes.table).rows[:2]] == [
        ["beauty", "0.125", "2", "1,200", "2,400", "81.2%", "5.0%"], ["beauty", "0.125", "2", "–", "–", "–", "–"]]  # fmt: skip
    assert sizes.cells(sizes.table).numeric == {"margin", "seeds", "prompts", "pictures", "power", "worse passes"}
    [warning] = sizes.warnings
    assert warning.startswith("beauty, margin 0.125, 1,200 prompts:") and "passes in 9.0%" in warning
    assert "passes with 80%" in sizes.header and "one-sided at 5%" in sizes.header
    most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / planning.STUDIES)
    for share, loose in ((most - 1e-6, 0), (most + 1e-6, 1)):
        assert len(GateSizes(pl.DataFrame([{**row, "type_one": share}]), pl.DataFrame(), 0.8, 0.05).warnings) == loose

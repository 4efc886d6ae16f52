"""Gates that a store keeps: what is written, once, and the drift that they show."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from test_gate import scores
from verdict_store import VerdictStore

from salon_bench.analysis.gate import GatePlan, MeasureRule, gate
from salon_bench.analysis.gate.history import GateHistory, gate_rows, keep_gate, read_gates
from salon_bench.analysis.gate.measuring import Measured
from salon_bench.runs.score_rows import frame_of
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.errors import InputError

PLAN = GatePlan({}, margin=0.5)


def build(shift: float, dimension: str = "beauty") -> pl.DataFrame:
    random = np.random.default_rng(0)
    return scores(random.normal(0, 1, 60) + shift + random.normal(0, 0.1, 60), dimension)


def command(folder: Path, *words: str) -> Result:
    sides = [str(folder / f"{name}.parquet") for name in ("base", "new")]
    return CliRunner().invoke(main, ["results", "gate", *sides, *words])


@pytest.fixture
def builds(tmp_path: Path) -> Path:
    build(0.0).write_parquet(tmp_path / "base.parquet")
    build(-0.1).write_parquet(tmp_path / "new.parquet")
    return tmp_path


def test_a_gate_is_kept_once_in_a_store_that_exists_and_none_is_made(builds: Path):
    store = builds / "results"
    assert command(builds, "--margin", "0.5", "--store", str(store)).exit_code == 0
    assert not store.exists()
    ResultStore.open(store)
    results = [command(builds, "--margin", margin, "--store", str(store)) for margin in ("0.5", "0.5", "0.01")]
    assert [result.exit_code for result in results] == [0, 0, 1]
    assert ["Added 1 row" in result.stderr for result in results] == [True, False, True]
    rows = ResultStore.open(store).read("gates").sort("gated_at").collect()
    assert rows["verdict"].to_list() == ["not worse", "worse"] and rows["gate_id"].n_unique() == 2
    row = rows.row(0, named=True)
    answer = json.loads(command(builds, "--margin", "0.5", "--store", str(store), "--format", "json").stdout)["rows"][0]
    for name, column in {"base": "base_mean", "new": "new_mean"}.items():
        assert row[column] == answer[name]
    for name in ("difference", "low", "high", "margin", "prompts", "unscored", "measure"):
        assert row[name] == answer[name], name
    assert (row["model"], row["suite"], row["new"]) == ("build", "s", str(builds / "new.parquet"))


@pytest.mark.parametrize("damage", ["{}", '{"format": "salon-store", "schema_version": 99}'])
def test_a_store_that_cannot_be_written_is_a_warning_and_the_verdict_stays(builds: Path, damage: str):
    store = builds / "results"
    ResultStore.open(store)
    (store / "store.json").write_text(damage)
    for margin, code in (("0.5", 0), ("0.01", 1)):
        result = command(builds, "--margin", margin, "--store", str(store))
        assert result.exit_code == code and "Warning: the verdict is not in the table gates" in result.stderr


def test_the_id_of_a_gate_depends_on_scores_and_plan_and_on_no_order():
    base, new = build(0.0), build(-0.1)

    def identity(one: pl.DataFrame, other: pl.DataFrame, plan: GatePlan = PLAN) -> str:
        found: str = gate_rows(gate(one, other, plan), one, other, plan)["gate_id"][0]
        return found

    same = identity(base, new)
    assert identity(base.reverse(), new.sample(fraction=1.0, shuffle=True, seed=1)) == same
    another = new.with_columns(value=pl.when(pl.int_range(pl.len()) == 3).then(pl.col("value") + 1e-9).otherwise("value"))
    others = [
        identity(new, base),
        identity(base, another),
        identity(base, new.with_columns(run_id=pl.lit("later"))),
        identity(base, new, GatePlan({}, margin=0.4)),
        identity(base, new, GatePlan({}, margin=0.5, level=0.01)),
        identity(base, new, GatePlan({"beauty": MeasureRule(0.5)})),
    ]
    assert len({same, *others}) == 7


def test_builds_without_a_difference_are_gates_of_their_own(builds: Path):
    ResultStore.open(builds / "results")
    for name in ("new", "newer", "newer"):
        (builds / f"{name}.parquet").write_bytes((builds / "new.parquet").read_bytes())
        words = [str(builds / f"{each}.parquet") for each in ("base", name)]
        command = ["results", "gate", *words, "--margin", "0.5", "--store", str(builds / "results")]
        assert CliRunner().invoke(main, command).exit_code == 0
    assert [Path(name).stem for name in read_gates(builds / "results").table["new"]] == ["new", "newer"]


def test_measures_that_nothing_can_be_said_of_are_kept_with_nulls(tmp_path: Path):
    few = build(0.0).head(3)
    rows = gate_rows(gate(few, few, PLAN), few, few, PLAN)
    assert rows.select("verdict", "low", "high").row(0) == ("cannot say", None, None)
    ResultStore.open(tmp_path / "results")
    assert (keep_gate(rows, tmp_path / "results"), keep_gate(rows, tmp_path / "nowhere")) == (1, None)
    history = read_gates(tmp_path / "results")
    assert "–" in history.cells(history.table).rows[0] and history.chart().svg()


def test_measures_of_pictures_and_battles_are_kept_without_scores(tmp_path: Path):
    none = frame_of([])
    against = pl.DataFrame(
        {"prompt_id": [f"p{k}" for k in range(60)], "measure": "ssim", "value": 0.99, "identical": [k < 50 for k in range(60)]}
    ).with_columns(reason=pl.lit(None, pl.String))
    battles = against.select("prompt_id", model_a=pl.lit("new"), model_b=pl.lit("base"), winner=pl.lit("tie"), labels=[["x"]])
    plan = GatePlan({"ssim": MeasureRule(None, limit=0.9), "preferred": MeasureRule(0.2)})
    found = gate(none, none, plan, pictures=Measured(against, pl.DataFrame()), battles=battles)
    rows = gate_rows(found, none, none, plan, further=[against, battles])
    keep_gate(rows, tmp_path / "nowhere")
    ResultStore.open(tmp_path / "results")
    assert keep_gate(rows, tmp_path / "results") == 2
    kept = ResultStore.open(tmp_path / "results").read("gates").sort("measure").collect()
    assert kept.select("measure", "limit", "model", "suite").rows() == [
        ("preferred", None, None, None),
        ("ssim", 0.9, None, None),
    ]
    assert kept["margin"].to_list() == pytest.approx([0.2, 0.1])
    changed = gate_rows(found, none, none, plan, further=[against.with_columns(value=pl.lit(0.98)), battles])
    assert changed["gate_id"][0] != rows["gate_id"][0]


def test_the_last_gates_are_shown_oldest_first_in_margins(tmp_path: Path):
    store = tmp_path / "results"
    ResultStore.open(store)
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    both = [pl.concat([build(0.0), build(0.0, "text")])]
    both += [pl.concat([build(0.0), build(-0.05 * number, "text")]) for number in range(1, 13)]
    for number in reversed(range(1, 13)):  # written in any order
        found = gate(both[0], both[number], PLAN, names=("release", f"build-{number}"))
        keep_gate(gate_rows(found, both[0], both[number], PLAN, at=noon + timedelta(days=number)), store)
    history = read_gates(store, measures=["text"], last=10)
    assert history.table["new"].to_list() == [f"build-{number}" for number in range(3, 13)]
    [line] = history.chart().lines
    assert list(line.points) == list(range(1, 11)) and line.points[10] == pytest.approx(-1.2, abs=1e-9)
    assert line.band[10][0] <= line.points[10] <= line.band[10][1]
    assert [line.label for line in read_gates(store).chart().lines] == ["beauty", "text"]
    with pytest.raises(InputError, match=r"no gates of the measure 'x'.*beauty, text"):
        read_gates(store, measures=["x"])


def test_the_command_shows_drift_and_names_an_empty_store(builds: Path):
    store = builds / "results"
    words = ["results", "gates", "--store", str(store)]
    missing = CliRunner().invoke(main, words)
    assert missing.exit_code == 2 and not store.exists()
    ResultStore.open(store)
    assert "the store has no gates" in CliRunner().invoke(main, words).stderr
    command(builds, "--margin", "0.5", "--store", str(store))
    for ending in (".html", ".svg", ".json", ".csv"):
        result = CliRunner().invoke(main, [*words, "--output", str(builds / f"drift{ending}")])
        assert result.exit_code == 0, result.output
    assert "<svg" in (builds / "drift.html").read_text() and "beauty" in (builds / "drift.svg").read_text()
    row = json.loads(CliRunner().invoke(main, [*words, "--format", "json"]).stdout)["rows"][0]
    assert row["number"] == 1 and row["gated_at"].endswith("Z")


def test_the_base_may_be_a_run_of_another_store(tmp_path: Path):
    random = np.random.default_rng(0)
    values = {("t", f"p{number}", "beauty"): float(random.normal(5, 1)) for number in range(60)}
    pictures = {prompt: Path(__file__) for _, prompt, _ in values}
    for name in ("release", "work"):
        (tmp_path / name).mkdir()
        VerdictStore(tmp_path / name).run(name, values, subject="app", pictures=pictures)
    release, work = (str(tmp_path / name / "results") for name in ("release", "work"))
    words = ["results", "gate", f"{release}#release", "work", "--margin", "0.5", "--store", work]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert ResultStore.open(work).read("gates").collect()["base"].to_list() == [f"{release}#release"]
    assert not ResultStore.open(release).read("gates").collect().height
    planned = CliRunner().invoke(main, ["results", "plan-gate", *words[2:]])
    assert planned.exit_code == 0, planned.output
    for wrong, problem in ((f"{release}#nothing", "no scores of the run 'nothing'"), ("nowhere#release", "nowhere#release")):
        refused = CliRunner().invoke(main, [*words[:2], wrong, *words[3:]])
        assert refused.exit_code == 2 and problem in refused.stderr, refused.stderr


def test_the_page_shows_quality_against_speed_and_which_builds_no_other_beats(tmp_path: Path):
    store = tmp_path / "results"
    ResultStore.open(store)
    random = np.random.default_rng(0)
    values = random.normal(size=(60, 1))
    base = scores(values)
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    builds = {"slow": (0.0, 1.0), "fast": (-0.1, 2.0), "poor": (-0.2, 1.5), "unknown": (0.3, None)}
    for number, (name, (shift, faster)) in enumerate(builds.items()):
        new = scores(values + shift + random.normal(0, 0.01, (60, 1)))
        found = gate(base, new, PLAN, names=("release", name))
        keep_gate(gate_rows(found, base, new, PLAN, faster=faster, at=noon + timedelta(days=number)), store)
    history = read_gates(store)
    rows = history.speeds
    assert rows.select("new", "best").rows() == [("slow", True), ("fast", True), ("poor", False)]
    assert rows["fell"].to_list() == pytest.approx([shift / PLAN.margin for shift in (0.0, -0.1, -0.2)], abs=0.1)
    page = history.page()
    assert "Quality against speed" in page and "fast" in page
    again = gate_rows(found, base, new, PLAN, faster=3.0)  # its times became known: another gate
    assert keep_gate(again, store) == 1 and keep_gate(again, store) == 0 and read_gates(store).speeds.height == 4
    reversed_rows = GateHistory(history.table[::-1]).speeds.sort("number")
    assert reversed_rows.equals(rows)

"""Every public function gives the same under another order, restart, engine, division into shards and number of threads."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from curate_world import drawn, made, tree

from salon_curate.asks import agreement
from salon_curate.audits import sample_audit
from salon_curate.cascade import cascade_loss
from salon_curate.dataset import DataSet
from salon_curate.draws import draw
from salon_curate.drift import drift
from salon_curate.duplicates_and_splits import duplicates, split
from salon_curate.engine import embedded, inline
from salon_curate.judging import judge_stage
from salon_curate.lineage import why
from salon_curate.measures import fields, look
from salon_curate.planning import plan
from salon_curate.release import release
from salon_curate.running import run, status, verify
from salon_curate.selection import diff, read_columns, save_selection, select, sweep
from salon_synthetic import PixelJudge, PixelSettings

LOOSE, STRICT = {"good": "good", "lively": "contrast > 5"}, {"good": "good", "lively": "contrast > 50", "agrees": "agrees"}
BY_ORDER = {"duplicate_of", "near_duplicate_of", "split"}
"""Columns that name the first of several rows."""
PARTS = ("columns", "selections", "audits", "releases", "shards")


def stages_of(order=(0, 1, 2, 3, 4), blur=0.0):
    judge = PixelJudge(PixelSettings(blur=blur))
    stages = [look, fields(good="bool"), duplicates, split, judge_stage(agreement(), judge, when="contrast > 40", explore=0.5)]
    return [stages[place] for place in order]


def facts(dataset, stages):
    """What each public function returns and writes, rows by key; without the parts' names, which follow from the shards."""
    columns = [column for stage in stages for column in (*stage.writes, stage.problem) if column not in BY_ORDER]
    rows = read_columns(dataset, stages, ["sha256", "prompt", *sorted(columns)]).collect().sort("key")
    loose = select(dataset, stages, LOOSE, "v1")
    kept = read_columns(dataset, stages, []).collect()["key"].filter(loose.mask)
    save_selection(dataset, stages, loose)
    moved = diff(dataset, stages, LOOSE, STRICT)
    sampled = sample_audit(dataset, stages, "v1", "a", per_stratum=3, near="sharpness < 100", seed=5)
    taken = draw(dataset, stages, {"good": "good", "bad": "NOT good"}, [2, 1], 6, seed=5)
    lines = {key: why(dataset, stages, key) for key in rows["key"][:2]}
    again = drift(dataset, stages, "agreement", now=stages_of(blur=6)[4], rows=9, seed=2)
    return {
        "read_columns": rows.select(sorted(rows.columns)).rows(),
        "select": (loose.rows, loose.kept, loose.by_predicate, sorted(kept)),
        "sweep": sweep(dataset, stages, LOOSE, ["contrast", "sharpness"], points=7),
        "diff": (moved.entered, moved.left, moved.by_predicate, moved.keys.sort("key").rows()),
        "drift": [(each.column, each.changed, each.lost, each.found, pytest.approx(each.low)) for each in again],
        "sample_audit": (sampled.strata, sorted(json.loads((sampled.folder / "plan.json").read_text())["stratum"].items())),
        "draw": (taken.keys.rows(), taken.available, taken.drawn),
        "cascade_loss": cascade_loss(dataset, stages, "agreement", {"agrees": "agrees"}),
        "why": {key: (line["sha256"], {each["stage"]: {name: value for name, value in each["values"].items()
                                                       if name not in BY_ORDER} for each in line["stages"]})
                for key, line in lines.items()},
        "release": sum(release(dataset, stages, "v1", "r", columns=["sharpness"]).pictures.values()),
        "status": sorted((each.stage, each.rows, each.complete) for each in status(dataset, stages)),
        "verify": verify(dataset, stages),
    }  # fmt: skip


def files(dataset):
    """The bytes of every part, selection, audit and release; of a release's manifest, which lists the stages, its root."""
    found = {path: data for inside in PARTS for path, data in tree(dataset.folder, inside).items()}
    manifest = json.loads((dataset.folder / "releases" / "r" / "manifest.json").read_text())
    return found, manifest["merkle_root"], (dataset.folder / "audits" / "a" / "sheet.csv").read_bytes()


def planned(dataset, stages):
    """What a plan promises of each stage, its seconds aside."""
    found = plan(dataset, stages, share=0.4, seed=2, engine=inline)
    return {each.stage: {name: total for name, total in each.totals.items() if name != "seconds"} for each in found}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Sixteen drawn pictures, two of them twice."""
    table = drawn(tmp_path_factory.mktemp("invariance") / "in", 2)
    lines = table.read_text().splitlines()
    again = [json.dumps({**json.loads(line), "key": f"again{number}"}) for number, line in enumerate(lines[:2])]
    table.write_text("\n".join(lines + again) + "\n")
    return table


@pytest.fixture(scope="module")
def calm(rows):
    """The undisturbed data set with its plan, facts and files."""
    dataset = made(rows.parent / "calm", rows, shard_rows=5)
    promised = planned(dataset, stages_of())
    run(dataset, stages_of(), engine=inline)
    return dataset, promised, facts(dataset, stages_of()), files(dataset)


@pytest.mark.parametrize(
    ("order", "engine"),
    [
        pytest.param((0, 1, 2, 3, 4), embedded, id="engine", marks=pytest.mark.slow),  # processes that are killed
        pytest.param((1, 0, 4, 2, 3), inline, id="order of stages"),
    ],
)
def test_the_order_of_stages_the_engine_and_restarts_change_no_byte(calm, rows, tmp_path, order, engine):
    dataset = made(tmp_path / "d", rows, shard_rows=5)
    assert planned(dataset, stages_of(order)) == calm[1]
    for part in random.Random(1).sample(sorted(tree(dataset.folder, "columns")), 6):
        (dataset.folder / part).unlink()
    for piece in (range(2, 4), range(1, 3)):  # as jobs of an array; those of the whole data set wait for all shards
        run(DataSet.open(dataset.folder), stages_of(order), engine=engine, workers=2, shards=piece)
    dataset = DataSet.open(dataset.folder)
    run(dataset, stages_of(order), engine=engine, workers=2)
    assert facts(dataset, stages_of(order)) == calm[2]
    assert files(dataset) == calm[3]


@pytest.mark.parametrize(("shard_rows", "turned"), [(7, False), (100, True)], ids=["shards", "rows"])
def test_the_division_into_shards_and_the_order_of_rows_change_no_result(calm, rows, tmp_path, shard_rows, turned):
    lines = rows.read_text().splitlines()
    table = rows.with_name(f"{shard_rows}.jsonl")
    table.write_text("\n".join(lines[::-1] if turned else lines) + "\n")
    dataset = made(tmp_path / "d", table, shard_rows=shard_rows)
    run(dataset, stages_of(), engine=inline)
    assert facts(dataset, stages_of()) == calm[2]


def test_one_thread_gives_what_several_give(calm, tmp_path):
    """In a process of its own, because the number of threads is read once."""
    dataset = calm[0]
    subprocess.run(["cp", "-r", dataset.folder, tmp_path / "d"], check=True)
    for inside in ("cache", "selections", "audits", "releases"):
        subprocess.run(["rm", "-r", tmp_path / "d" / inside], check=True)
    code = (
        "import sys; from pathlib import Path; from salon_curate.dataset import DataSet\n"
        "import test_curate_invariance as here\n"
        "facts = here.facts(DataSet.open(Path(sys.argv[1])), here.stages_of()); print(facts)"
    )
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", code, str(tmp_path / "d")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(calm[2])
    assert files(DataSet.open(tmp_path / "d")) == calm[3]

"""Duplicates, splits, draws, cascades, audits, releases: each against a plain computation, a simulation, or a second reader."""

import csv
import itertools
import json
import math
import os
import random
import re
import shutil
import tarfile
from dataclasses import replace
from uuid import UUID

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import drawn, jpeg, made
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from salon_arena import ArenaDatabase, WorkService, export_answers, read_material
from salon_arena.forms import check_task
from salon_arena.service import AnswerBody
from salon_curate import asks
from salon_curate.audits import estimates, sample_audit, score_audit
from salon_curate.cascade import cascade_loss, strictest_threshold
from salon_curate.cli import curate
from salon_curate.dataset import DataSet
from salon_curate.draws import draw, shares_of
from salon_curate.duplicates_and_splits import components, duplicates, split
from salon_curate.engine import inline
from salon_curate.errors import RefusedReleaseError
from salon_curate.importing import Columns, import_pictures
from salon_curate.judging import judge_stage
from salon_curate.measures import fields, look
from salon_curate.pipeline import PIPELINE
from salon_curate.release import card, merkle_root, release, verify_release
from salon_curate.running import run, verify
from salon_curate.selection import read_columns, save_selection, select
from salon_curate.stages import stage
from salon_ranking.near_duplicates import near_duplicates
from salon_ranking.uncertainty.proportions import highest_share
from salon_synthetic import PixelJudge, PixelSettings
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import ReplayJudge

STAGES = [look, fields(good="bool"), duplicates, split]
PIPELINE_TEXT = """
[[stage]]
use = "look"
[[stage]]
use = "fields"
parameters = { good = "bool" }
[[stage]]
use = "duplicates"
[[stage]]
use = "split"
"""


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """Twenty-four drawn pictures, three of them twice, one damaged."""
    folder = tmp_path_factory.mktemp("release")
    source = drawn(folder / "in", 3)
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    rows += [{**row, "key": f"again-{row['key']}", "prompt": f"{row['prompt']}!"} for row in rows[:3]]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "in" / "pictures" / "00020.png").write_bytes(b"no picture")
    dataset = made(folder / "d", source, shard_rows=7)
    (dataset.folder / PIPELINE).write_text(PIPELINE_TEXT)
    run(dataset, STAGES, engine=inline)
    save_selection(dataset, STAGES, select(dataset, STAGES, {"good": "good", "first": "duplicate_of IS NULL"}, "v1"))
    return dataset


def plain_groups(hashes, distance):
    labels = list(range(len(hashes)))
    for i, one in enumerate(hashes):
        for j in range(i):
            if (one ^ hashes[j]).bit_count() <= distance:
                low, high = sorted((labels[i], labels[j]))
                labels = [low if label == high else label for label in labels]
    return labels


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 300), max_size=40), st.integers(0, 7))
def test_near_duplicates_are_those_of_all_pairs(hashes, distance):
    assert near_duplicates(np.array(hashes, dtype=np.uint64), distance).tolist() == plain_groups(hashes, distance)


@pytest.mark.parametrize("distance", range(8))
def test_near_duplicates_misses_no_pair_where_many_hashes_crowd_into_few_bits(distance):
    """Pairs that differ in exactly ``distance`` of the lowest bits; all others are equal, so that runs are divided again."""
    generator = np.random.default_rng(distance)
    for crowded in (34, 40, 48):
        one = generator.integers(0, 2**crowded, 1500, dtype=np.uint64)
        flips = [sum(1 << int(bit) for bit in generator.choice(crowded, distance, replace=False)) for _ in one]
        found = near_duplicates(np.concatenate([one, one ^ np.array(flips, dtype=np.uint64)]), distance)
        assert (found[:1500] == found[1500:]).all(), crowded


def test_near_duplicates_refuses_other_numbers():
    for wrong in (np.zeros(3), np.zeros((2, 2), np.uint64)):
        with pytest.raises(InputError):
            near_duplicates(wrong)
    with pytest.raises(InputError, match="0 to 7"):
        near_duplicates(np.zeros(3, np.uint64), 8)


def test_repeated_pictures_name_the_first_and_a_damaged_one_names_none(looked):
    found = read_columns(looked, STAGES, ["duplicate_of", "near_duplicate_of", "look_problem"]).collect()
    named = found.filter(pl.col("duplicate_of").is_not_null())
    assert dict(named.select("key", "duplicate_of").iter_rows()) == {f"again-k0000{n}": f"k0000{n}" for n in range(3)}
    assert found.filter(pl.col("key") == "k00020")["near_duplicate_of"].item() is None


labels = st.lists(st.none() | st.sampled_from("abcd"), min_size=6, max_size=6)


@given(labels, labels)
def test_components_join_rows_that_share_any_label(one, other):
    found = components([pl.Series(one, dtype=pl.String), pl.Series(other, dtype=pl.String)]).tolist()
    for column in (one, other):
        for i, first in enumerate(column):
            for j, second in enumerate(column):
                if first is not None and first == second:
                    assert found[i] == found[j]
    assert all(found[each] == each <= place for place, each in enumerate(found))


def test_no_prompt_and_no_near_duplicate_straddles_a_split(looked):
    for seed in range(5):
        stage = split.with_parameters(seed=seed, shares={"train": 0.5, "test": 0.5})
        rows = read_columns(looked, STAGES, ["prompt", "duplicate_of", "near_duplicate_of"]).collect()
        found = rows.join(stage.function(stage.prepare(rows), **stage.parameters), on="key")
        where = dict(found.select("key", "split").iter_rows())
        for column in ("duplicate_of", "near_duplicate_of"):
            for key, first in found.select("key", column).drop_nulls().iter_rows():
                assert where[key] == where[first]
        by_prompt = found.group_by(pl.col("prompt").str.to_lowercase()).agg(pl.col("split").n_unique())
        assert by_prompt["split"].max() == 1
    with pytest.raises(InputError, match="add up to 1"):
        split.with_parameters(shares={"train": 0.5}).check_parameters()


def test_a_chain_of_any_length_is_one_component():
    for length in (1, 2, 50_000):
        one, other = (pl.Series([(place + shift) // 2 for place in range(length)]) for shift in (0, 1))
        assert not components([one, other]).any()


@pytest.mark.parametrize("prompt", ["", " ", "\n\t", None])
def test_rows_without_a_prompt_are_not_joined_by_it(prompt):
    names = {"duplicate_of": pl.String, "near_duplicate_of": pl.String, "prompt": pl.String}
    rows = pl.DataFrame({"key": [f"k{number}" for number in range(200)]}).with_columns(
        pl.lit(prompt if name == "prompt" else None, kind).alias(name) for name, kind in names.items()
    )
    found = split.function(split.prepare(rows), shares={"train": 0.5, "test": 0.5})
    assert 60 <= (found["split"] == "train").sum() <= 140


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 500))
def test_shares_of_a_ratio_add_up_and_are_within_one(ratio, number):
    found = shares_of(ratio, number)
    assert sum(found) == number
    assert all(abs(each - number * part / sum(ratio)) < 1 for each, part in zip(found, ratio, strict=True))


def test_a_draw_keeps_the_ratio_repeats_nothing_and_can_take_the_hardest(looked):
    buckets = {"good": "good", "wide": "width >= 1", "blank": "contrast >= 0"}
    found = draw(looked, STAGES, buckets, [4, 1, 1], 12, seed=1)
    assert dict(found.keys["bucket"].value_counts().iter_rows()) == {"good": 8, "wide": 2, "blank": 2}
    assert found.keys["key"].n_unique() == 12
    hardest = draw(looked, STAGES, {"any": "width >= 1"}, [1], 5, by="sharpness")
    ranked = read_columns(looked, STAGES, ["sharpness"]).collect().sort("sharpness", descending=True, nulls_last=True)
    assert set(hardest.keys["key"]) == set(ranked["key"].head(5))
    number = select(looked, STAGES, {"good": "good"}).kept
    every = draw(looked, STAGES, {"good": "good"}, [1], number)
    assert (len(every.keys), every.available, every.drawn) == (number, {"good": number}, {"good": number})
    with pytest.raises(InputError, match=rf"too few pictures for {number + 1}: {number}\nDraw at most {number} pictures"):
        draw(looked, STAGES, {"good": "good"}, [1], number + 1)
    with pytest.raises(InputError, match="too few pictures"):
        draw(looked, STAGES, buckets, [4, 1, 1], 60)


def test_a_draw_of_the_hardest_takes_no_picture_without_a_score(tmp_path):
    (tmp_path / "a.png").write_bytes(jpeg())
    rows = [{"key": f"k{number}", "image": "a.png", **({"score": number} if number < 3 else {})} for number in range(6)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset, stages = made(tmp_path / "d", tmp_path / "rows.jsonl"), [fields(score="int")]
    run(dataset, stages, engine=inline)
    anything = {"any": "key >= 'k'"}
    assert draw(dataset, stages, anything, [1], 3, by="score").keys["key"].to_list() == ["k2", "k1", "k0"]
    with pytest.raises(InputError, match="too few pictures for 4: 3"):
        draw(dataset, stages, anything, [1], 4, by="score")
    assert len(draw(dataset, stages, anything, [1], 6).keys) == 6


def test_a_row_without_a_picture_is_none_that_the_cheap_filter_drops(tmp_path):
    (tmp_path / "a.png").write_bytes(jpeg())
    rows = [{"key": f"k{number}", "image": "no.png" if number % 4 == 0 else "a.png", "prompt": "x"} for number in range(40)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = made(tmp_path / "d", tmp_path / "rows.jsonl")
    judge = ReplayJudge(['{"answer": true}'] * 40)
    for share in (0.5, 1.0):
        stages = [look, judge_stage(asks.agreement(), judge, when="sharpness < 0", explore=share)]
        run(dataset, stages, engine=inline)
        loss = cascade_loss(dataset, stages, "agreement", {"keeps": "agrees"})
        assert loss.dropped == 30 and 0 < loss.explored == loss.kept_by_expensive <= 30 * share + 8


def test_a_promised_loss_is_held_although_the_threshold_is_chosen_from_the_data():
    generator, broken = np.random.default_rng(0), 0
    for _ in range(300):
        quality = generator.normal(size=400)
        cheap, expensive = quality + generator.normal(size=400), quality > 0.5
        found = strictest_threshold(cheap.tolist(), expensive.tolist(), np.linspace(-3, 2, 26).tolist(), 0.05)
        truth = generator.normal(size=20_000)
        lost = ((truth + generator.normal(size=20_000) < (-9 if found is None else found)) & (truth > 0.5)).mean()
        broken += lost > 0.05
    assert broken <= 0.05 * 300 + 3 * (0.05 * 0.95 * 300) ** 0.5


@pytest.mark.parametrize("missing", [None, math.nan, -math.inf])
def test_a_score_that_is_missing_passes_no_threshold_of_a_cascade(missing):
    cheap, keeps = [*[5.0] * 95, *[missing] * 5], [True] * 100
    assert strictest_threshold(cheap, keeps, [1.0, 2.0], 0.03) is None
    assert strictest_threshold(cheap, keeps, [1.0, 6.0], 0.2) == 1.0
    with pytest.raises(InputError, match="confidence"):
        strictest_threshold(cheap, keeps, [1.0], 0.2, confidence=1.5)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in ("confidence", "epsilon") for value in (-0.1, 0.0, 1.0, 1.5)]
)
def test_a_confidence_and_a_loss_lie_between_0_and_1_and_are_neither(looked, name, value):
    allowed = {"epsilon": 0.9, "confidence": 0.5}
    assert strictest_threshold([1.0, 2.0], [True, True], [0.5], **allowed) == 0.5
    with pytest.raises(InputError, match=f"'{name}'.*must lie between 0 and 1"):
        strictest_threshold([1.0, 2.0], [True, True], [0.5], **{**allowed, name: value})
    if name == "confidence":
        with pytest.raises(InputError, match="must lie between 0 and 1"):
            cascade_loss(looked, STAGES, "look", {"keeps": "good"}, confidence=value)


def test_a_cascade_bounds_its_loss_from_the_explored_share(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 6), shard_rows=24)
    cheap = judge_stage(asks.agreement(), PixelJudge(PixelSettings(blur=6)), prefix="cheap_")
    expensive = judge_stage(asks.agreement(), PixelJudge(), when="cheap_agrees", explore=0.5)
    stages = [cheap, expensive]
    run(dataset, stages)
    loss = cascade_loss(dataset, stages, "agreement", {"keeps": "agrees"})
    found = read_columns(dataset, stages, ["agreement_explored", "agrees", "cheap_agrees"]).collect()
    explored = found.filter("agreement_explored")
    assert (loss.explored, loss.kept_by_expensive) == (len(explored), explored["agrees"].sum())
    assert loss.upper == highest_share(loss.kept_by_expensive, loss.explored, 1 - 0.95)
    assert loss.dropped == len(found) - found["cheap_agrees"].fill_null(value=False).sum()


def test_intervals_of_a_stratified_audit_cover_the_truth():
    generator, covered, number = np.random.default_rng(1), np.zeros(4), 1000
    sizes, truth = {"kept": 75_000, "dropped": 25_000}, {"kept": 0.9, "dropped": 0.2}
    expected = [0.75 * 0.9 + 0.25 * 0.8, 0.9, 0.8, 0.75 * 0.9 / (0.75 * 0.9 + 0.25 * 0.2)]
    for trial in range(number):
        counts = {name: (int(generator.binomial(300, share)), 300) for name, share in truth.items()}
        for place, estimate in enumerate(estimates(sizes, counts, seed=trial, draws=2000)):
            covered[place] += estimate.low <= expected[place] <= estimate.high
    assert (covered / number >= 0.93).all() and (covered / number <= 0.97).all(), covered / number


COUNTS = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted).map(tuple)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["kept", "kept, near a threshold", "dropped", "dropped, near a threshold"]),
                       st.tuples(st.integers(40, 5000), COUNTS), min_size=1))  # fmt: skip
def test_an_interval_contains_its_estimate_and_each_estimate_needs_its_own_strata_alone(strata):
    sizes, counts = ({name: each[part] for name, each in strata.items()} for part in (0, 1))
    found = estimates(sizes, counts, draws=500)
    kept, dropped = ([counts[name] for name in strata if name.startswith(side)] for side in ("kept", "dropped"))
    whole = {side: bool(own) and all(rated for _, rated in own) for side, own in (("kept", kept), ("dropped", dropped))}
    agreement, precision, negative, recall = found
    assert (precision.value is not None) == whole["kept"] and (negative.value is not None) == whole["dropped"]
    if whole["kept"]:
        alone = {name: count for name, count in counts.items() if name.startswith("kept")}
        assert precision.value == estimates({name: sizes[name] for name in alone}, alone, draws=500)[1].value
        assert precision.high == 1 or any(good < rated for good, rated in kept)
        assert precision.low == 0 or any(good for good, _ in kept)
    for each in found:
        assert each.value is None or 0 <= each.low <= each.value <= each.high <= 1
    if agreement.value is not None and agreement.value == 1:
        assert agreement.high == 1
    if recall.value is not None and recall.value == 0:
        assert recall.low == 0


def test_the_order_and_the_form_of_the_answers_change_no_result(looked, tmp_path):
    """Rows in any order, the marks that spreadsheets put at the beginning, their line ends, and their capitals."""
    sampled = sample_audit(looked, STAGES, "v1", "orders", per_stratum=9)
    keys = [line["key"] for line in csv.DictReader((sampled.folder / "sheet.csv").open())]
    rows = [f"{key},{rater},{'yes' if hash((place, rater == 'ann')) % 3 else 'no'}" for place, key in enumerate(keys)
            for rater in ("ann", "ben", "cara")[: 1 + place % 3]]  # fmt: skip
    shuffler, found = random.Random(1), []
    for mark, end, capitals in (("", "\n", False), ("\ufeff", "\r\n", False), ("", "\n", True), ("\ufeff", "\n", False)):
        text = "".join(f"{line}{end}" for line in ["key,rater,accept", *rows])
        text = text.replace(",yes", ",YES").replace(",no", ",No") if capitals else text
        (tmp_path / "a.csv").write_bytes(f"{mark}{text}".encode())
        found.append(score_audit(looked, "orders", tmp_path / "a.csv"))
        shuffler.shuffle(rows)
    assert found == [found[0]] * len(found) and found[0].kappa is not None


def test_an_audit_of_what_has_changed_since_gates_no_release(tmp_path):
    """The same conditions over another judge's answers, or over more pictures, were not audited."""
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2))
    conditions = {"agrees": "agrees", "lively": "contrast > 1"}
    stages = [look, judge_stage(asks.agreement(), PixelJudge(PixelSettings(blur=6)))]
    run(dataset, stages)
    save_selection(dataset, stages, select(dataset, stages, conditions, "v1"))
    sheet = sample_audit(dataset, stages, "v1", "first", per_stratum=4).folder / "sheet.csv"
    score_audit(dataset, "first", answered(sheet, tmp_path, lambda *_: "yes"))
    also = [*stages, fields(good="bool")]
    run(dataset, also)
    release(dataset, also, "v1", "same", audit="first")
    other = [look, judge_stage(asks.agreement(), PixelJudge())]
    run(dataset, other)
    with pytest.raises(InputError, match="has changed since the audit"):
        release(dataset, other, "v1", "other", audit="first")
    import_pictures(dataset, drawn(tmp_path / "more", 1, seed=3), columns=Columns(key="prompt"))
    run(dataset, stages)
    with pytest.raises(InputError, match="has changed since the audit"):
        release(dataset, stages, "v1", "more", audit="first")


def answered(sheet, folder, accept):
    with (folder / "answers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "rater", "accept"])
        for line in csv.DictReader(sheet.open()):
            for rater in ("ann", "ben"):
                writer.writerow([line["key"], rater, accept(line["key"], rater)])
    return folder / "answers.csv"


def test_an_audit_is_blind_reweighted_and_gates_the_release(looked, tmp_path):
    folder = str(looked.folder)

    def call(*arguments):
        return CliRunner().invoke(curate, [str(each) for each in arguments])

    sampled = sample_audit(looked, STAGES, "v1", "first", per_stratum=6)
    sheet = sampled.folder / "sheet.csv"
    assert "kept" not in sheet.read_text() and sampled.pictures == 12
    assert len(list((sampled.folder / "pictures" / "sample").iterdir())) >= 11
    good = dict(read_columns(looked, STAGES, ["good"]).collect().iter_rows())
    answers = answered(sheet, tmp_path, lambda key, rater: "yes" if good[key] else "no")
    done = call("audit", "score", folder, "first", answers, "--format", "json")
    result = json.loads(done.output)
    assert result["precision"]["value"] == 1.0 and result["kappa"] == 1.0 and result["missing"] == 0
    refused = call("release", folder, "--selection", "v1", "--name", "v1", "--audit", "first", "--min-precision", 0.99)
    assert isinstance(refused.exception, RefusedReleaseError) and "below the demanded 0.99" in str(refused.exception)
    assert not (looked.folder / "releases" / "v1").exists()
    assert isinstance(call("release", folder, "--selection", "v1", "--name", "v1", "--min-precision", 0.5).exception,
                      RefusedReleaseError)  # fmt: skip
    written = call("release", folder, "--selection", "v1", "--name", "v1", "--audit", "first", "--min-precision", 0.5,
                   "--split", "split", "--column", "sharpness")  # fmt: skip
    assert written.exit_code == 0, written.output
    kept = select(looked, STAGES, {"good": "good", "first": "duplicate_of IS NULL"}).kept
    manifest = json.loads((looked.folder / "releases" / "v1" / "manifest.json").read_text())
    assert sum(manifest["pictures"].values()) == kept and verify_release(looked.folder / "releases" / "v1") == []
    card = (looked.folder / "releases" / "v1" / "README.md").read_text()
    assert "κ of two raters: 1.000" in card and manifest["merkle_root"] in card
    file = next(iter(manifest["files"]))
    (looked.folder / "releases" / "v1" / file).write_bytes(b"x")
    assert verify_release(looked.folder / "releases" / "v1") == [f"{file}: has changed"]
    for folder, said in (
        (looked.folder, f"releases/v1/{file}: has changed"),
        (looked.folder / "releases" / "v1", f"{file}: has changed"),
    ):
        checked = call("verify", folder)
        assert checked.exit_code == 1 and said in checked.output.splitlines(), checked.output
        shards = len(looked.shards) if folder == looked.folder else 0  # a release alone has none
        assert json.loads(call("verify", folder, "--format", "json").stdout) == {"shards": shards, "wrong": [said]}


def test_the_arena_s_pages_give_the_result_of_the_sheet(looked, tmp_path):
    sampled = sample_audit(looked, STAGES, "v1", "three", per_stratum=6, question="it is sharp & <b>whole</b>")
    good = dict(read_columns(looked, STAGES, ["good"]).collect().iter_rows())
    said = lambda key, rater: bool(good[key]) != (rater == "ben" and key.endswith("3"))  # noqa: E731
    sheet = score_audit(
        looked, "three", answered(sampled.folder / "sheet.csv", tmp_path, lambda *of: "yes" if said(*of) else "no")
    )
    material = read_material(sampled.folder / "pictures", sampled.folder / "prompts.jsonl")
    keys = json.loads((sampled.folder / "plan.json").read_text())["pictures"]
    numbers, now, people = iter(range(1, 1000)), 1_700_000_000_000_000, {}
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = WorkService(database, check_task(material), clock=lambda: now)
        for name in ("ann", "ben"):
            rater = people[name] = service.people.join().result().rater_id
            while tasks := service.lease(rater).result()["tasks"]:
                task = tasks[0]
                payload = service.payload_of(task["assignment"])
                service.look(rater, task["assignment"])
                blank = payload["files"][0]["model"] == "blank"
                choice = [[int(name == "ben" if blank else said(keys[payload["prompt_id"]], name))]]
                about = {"answer_id": UUID(int=next(numbers), version=4), "assignment": task["assignment"], "elapsed_ms": 900,
                         "supersedes": task["supersedes"], "choice": choice}  # fmt: skip
                service.answer(rater, AnswerBody.model_validate(about)).result()
        export_answers(database, tmp_path / "store", now=now + 60_000_000)
    of_arena = score_audit(looked, "three", tmp_path / "store")
    assert of_arena.precision == sheet.precision and of_arena.recall == sheet.recall and of_arena.kappa == sheet.kappa
    assert of_arena.rated == len(material.files) - 1 == sheet.rated
    assert of_arena.careless == (people["ben"],)
    words = ["audit", "score", str(looked.folder), "three", str(tmp_path / "store")]
    told = f"accepted a blank picture: {people['ben']}\n"
    assert CliRunner().invoke(curate, words).stderr == told
    printed = CliRunner().invoke(curate, [*words, "--format", "json"])
    assert printed.stderr == "" and json.loads(printed.stdout)["careless"] == [people["ben"]]
    other = sample_audit(looked, STAGES, "v1", "four", per_stratum=6)
    with pytest.raises(InputError, match="no answer about a picture of the audit 'four'"):
        score_audit(looked, other.folder.name, tmp_path / "store")


def test_no_picture_of_an_audit_has_the_name_of_one_of_another_audit(looked, tmp_path):
    """Also of one audit name, and where other conditions chose the same sample; an equal audit of a copy is the same one."""
    other = made(tmp_path / "other", drawn(tmp_path / "in", 2, seed=5))
    run(other, STAGES, engine=inline)
    save_selection(other, STAGES, select(other, STAGES, {"good": "good"}, "v1"))
    shutil.copytree(looked.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("audits"))
    save_selection(looked, STAGES, select(looked, STAGES, {"good": "good", "all": "key IS NOT NULL"}, "v1 again"))
    found = []
    for dataset, options in (
        (looked, {}),
        (looked, {"name": "again", "selection": "v1 again"}),
        (DataSet.open(tmp_path / "copy"), {}),
        (other, {}),
        (DataSet.open(tmp_path / "copy"), {"seed": 4, "name": "same"}),
        (other, {"question": "is it sharp", "name": "same"}),
    ):
        name = options.pop("name", "shared")
        if name == "again":
            shutil.move(looked.folder / "audits/shared", tmp_path / "gone")
            name = "shared"
        sampled = sample_audit(dataset, STAGES, options.pop("selection", "v1"), name, per_stratum=5, **options)
        names = set(json.loads((sampled.folder / "plan.json").read_text())["pictures"])
        assert {path.stem for path in (sampled.folder / "pictures" / "sample").iterdir()} <= names
        found.append(names)
    assert found.pop(2) == found[0]
    assert all(not one & two for one, two in itertools.combinations(found, 2))


def test_an_audit_of_other_conditions_or_with_wrong_answers_is_refused(looked, tmp_path):
    sampled = sample_audit(looked, STAGES, "v1", "second", per_stratum=3)
    for accept, words in ((lambda *_: "perhaps", "unknown answer"),):
        with pytest.raises(InputError, match=words):
            score_audit(looked, "second", answered(sampled.folder / "sheet.csv", tmp_path, accept))
    score_audit(looked, "second", answered(sampled.folder / "sheet.csv", tmp_path, lambda *_: "yes"))
    save_selection(looked, STAGES, select(looked, STAGES, {"good": "NOT good"}, "v2"))
    with pytest.raises(InputError, match="other conditions"):
        release(looked, STAGES, "v2", "x", audit="second")
    with pytest.raises(InputError, match="there is an audit of this name"):
        sample_audit(looked, STAGES, "v1", "second")


def test_a_release_is_read_again_with_the_same_pictures_from_parquet_and_archives(looked, tmp_path):
    for form in ("datasets", "webdataset"):
        written = release(looked, STAGES, "v1", form, columns=["sharpness"], form=form)
        again = DataSet.create(tmp_path / form)
        for file in sorted((written.folder / "data").iterdir()):
            import_pictures(again, file)
        run(again, [look], engine=inline)
        found = read_columns(again, [look], ["sha256"]).collect()["sha256"].to_list()
        mask = select(looked, STAGES, {"good": "good", "first": "duplicate_of IS NULL"}).mask
        assert found == read_columns(looked, STAGES, ["sha256"]).collect()["sha256"].filter(pl.Series(mask)).to_list()


def test_every_kept_row_is_in_a_release_once_whatever_its_format_and_split(tmp_path):
    """Every format, a file that is no picture, a row without one; splits that are missing; both forms are read again."""
    image, rows = Image.effect_noise((40, 30), 60).convert("RGB"), []
    for place, form in enumerate(("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "junk", "nothing")):
        name = f"{place}.png"
        if form == "junk":
            (tmp_path / name).write_bytes(b"no picture")
        elif form != "nothing":
            image.save(tmp_path / name, form)
        rows.append({"key": form, "image": name, "part": [None, "none", "train", "train.x"][place % 4]})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset, stages = made(tmp_path / "d", tmp_path / "rows.jsonl"), [look, fields(part="text")]
    run(dataset, stages, engine=inline)
    save_selection(dataset, stages, select(dataset, stages, {"all": "key <> ''"}, "all"))
    for column in (None, "part"):
        for form in ("datasets", "webdataset"):
            written = release(dataset, stages, "all", f"{form}-{column}", form=form, split=column)
            assert sum(written.pictures.values()) == len(rows) - 2  # without the file that is no picture, and the missing one
            again = DataSet.create(tmp_path / f"{form}-{column}")
            for file in sorted((written.folder / "data").iterdir()):
                import_pictures(again, file, columns=Columns(key=None if form == "webdataset" else "key"))
            run(again, [look], engine=inline)
            assert again.rows == len(rows) - 2
            found = read_columns(again, [look], ["sha256", "width"]).collect()
            assert found["width"].is_not_null().sum() == 7
    save_selection(dataset, stages, select(dataset, stages, {"all": "problem IS NOT NULL OR key <> ''"}, "broken"))
    with pytest.raises(InputError, match=r"2 rows of the selection cannot be read .* the first is 'junk'"):
        release(dataset, stages, "broken", "broken")
    assert not (dataset.folder / "releases" / "broken").exists()
    unread = stages[1:]  # the reason is that of the import; no stage has looked at the pictures
    save_selection(dataset, unread, select(dataset, unread, {"all": "problem IS NOT NULL OR key <> ''"}, "unread"))
    reasons = dict(read_columns(dataset, unread, ["problem"]).collect().drop_nulls().iter_rows())
    told = f"2 rows of the selection cannot be read ({reasons['junk']}), the first is 'junk'"
    with pytest.raises(InputError, match=re.escape(told)):
        release(dataset, unread, "unread", "broken")
    sampled = sample_audit(dataset, stages, "all", "formats")
    shown = read_material(sampled.folder / "pictures", sampled.folder / "prompts.jsonl")
    assert len({file.prompt_id for file in shown.files if file.model == "sample"}) == 7


def test_whatever_is_changed_below_a_data_set_is_named_and_never_released(looked, tmp_path):
    """One byte of each shard, part and copy, a rewritten copy, and two files that change places: verify names it, and a release
    has the bytes of the undisturbed one or is refused."""
    wanted = release(looked, STAGES, "v1", "undisturbed", columns=["sharpness"], split="split").merkle_root
    assert verify(looked, STAGES) == []
    generator = random.Random("bytes of a data set")
    keys = select(looked, STAGES, {"good": "good"}).mask.tolist()

    def changed(kind, change):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        shutil.copytree(looked.folder, folder)
        shutil.rmtree(folder / "releases")
        dataset, path = DataSet.open(folder), generator.choice(sorted(folder.glob(f"{kind}/**/*.parquet")))
        change(path)
        return dataset, path

    def one_byte(path):
        data, stat = bytearray(path.read_bytes()), path.stat()
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        path.write_bytes(data)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the copies' names keep fitting

    def rewritten(path):
        rows = pl.read_parquet(path)
        rows.reverse().write_parquet(path)

    def another(path):
        path.write_bytes(generator.choice([other for other in sorted(path.parent.iterdir()) if other != path]).read_bytes())

    for kind, change, times in [
        ("shards", one_byte, 12), ("columns", one_byte, 12), ("cache", one_byte, 6),
        ("shards", another, 2), ("columns", another, 3), ("cache", rewritten, 3), ("cache", another, 3),
    ]:  # fmt: skip
        for _ in range(times):
            dataset, path = changed(kind, change)
            told = [line for line in verify(dataset, STAGES) if path.name in line]
            if kind != "cache":
                assert told, path
                try:
                    assert release(dataset, STAGES, "v1", "again", columns=["sharpness"], split="split").merkle_root == wanted
                except InputError as error:
                    assert path.name in str(error) or "damaged" in str(error)
            else:  # a copy is made again from what it copies
                assert told or change is another  # it is not even looked at under another name
                assert select(dataset, STAGES, {"good": "good"}).mask.tolist() == keys
                assert release(dataset, STAGES, "v1", "again", columns=["sharpness"], split="split").merkle_root == wanted


@pytest.mark.parametrize("name", ["../out", "a/b", "train-big", "a b", "", "train:", "*"])
def test_a_split_is_a_plain_name_and_no_split_s_files_are_those_of_another(looked, tmp_path, name):
    """The card names files as data/NAME-*, and `datasets` takes only such names."""
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))

    @stage(version="1", reads=[], writes={"part": pl.String})
    def part(batch):
        return batch.select("key", part=pl.lit(name))

    import salon_curate.measures as module

    module.part = part = replace(part, where="salon_curate.measures:part")
    run(dataset, [look, part], engine=inline)
    save_selection(dataset, [look, part], select(dataset, [look, part], {"x": "contrast > 0"}, "v1"))
    before = sorted(dataset.folder.parent.rglob("*"))
    with pytest.raises(InputError, match="names of splits"):
        release(dataset, [look, part], "v1", "r", split="part")
    assert sorted(path for path in dataset.folder.parent.rglob("*") if "cache" not in path.parts) == [
        path for path in before if "cache" not in path.parts]  # fmt: skip


@pytest.mark.parametrize("name", ["no", "null", "1", "1e3", "true", "train"])
def test_a_reader_of_the_card_finds_every_split_under_its_name(looked, tmp_path, monkeypatch, name):
    import salon_curate.measures as module

    yaml = pytest.importorskip("yaml")

    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    part = stage(version="1", reads=[], writes={"part": pl.String})(lambda batch: batch.select("key", part=pl.lit(name)))
    part = replace(part, name="part", where="salon_curate.measures:part")
    monkeypatch.setattr(module, "part", part, raising=False)
    run(dataset, [look, part], engine=inline)
    save_selection(dataset, [look, part], select(dataset, [look, part], {"x": "contrast > 0"}, "v1"))
    card = (release(dataset, [look, part], "v1", "r", split="part").folder / "README.md").read_text()
    assert [each["split"] for each in yaml.safe_load(card.split("---")[1])["configs"][0]["data_files"]] == [name]


def test_the_library_datasets_reads_a_release_as_pictures(looked, tmp_path):
    datasets = pytest.importorskip("datasets")
    folder = release(looked, STAGES, "v1", "hub", columns=["width", "phash"]).folder
    loaded = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert (
        loaded.num_rows > 0 and isinstance(loaded[0]["image"], Image.Image) and loaded[0]["image"].width == loaded[0]["width"]
    )


def test_whatever_is_added_to_a_release_or_changed_in_it_is_named(looked, tmp_path):
    folder = shutil.copytree(release(looked, STAGES, "v1", "whole").folder, tmp_path / "r")
    assert verify_release(folder) == []
    (tmp_path / "other").mkdir()
    for target in (tmp_path / "other", tmp_path / "nowhere"):
        (folder / "data" / "more").symlink_to(target)
        assert verify_release(folder) == ["data/more: is not of this release"]
        (folder / "data" / "more").unlink()
    for name in ("README.md", "croissant.json"):
        text = (folder / name).read_text()
        (folder / name).write_text(f"{text} ")
        assert verify_release(folder) == [f"{name}: has changed"]
        (folder / name).unlink()
        assert verify_release(folder) == [f"{name}: is missing"]
        (folder / name).write_text(text)
    assert verify_release(folder) == []


def test_a_release_that_was_interrupted_leaves_nothing_in_the_next(looked, monkeypatch):
    save_selection(looked, STAGES, select(looked, STAGES, {"good": "NOT good"}, "bad"))
    import salon_curate.release as module

    with monkeypatch.context() as patched:
        patched.setattr(module, "card", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release(looked, STAGES, "bad", "torn", split="split")
    written = release(looked, STAGES, "v1", "torn", form="webdataset")
    manifest = json.loads((written.folder / "manifest.json").read_text())
    assert sorted(manifest["files"]) == sorted(f"data/{path.name}" for path in (written.folder / "data").iterdir())
    (written.folder / "data" / "train-99999.tar").write_bytes(b"x")
    assert verify_release(written.folder) == ["data/train-99999.tar: is not of this release"]
    digest = "0" * 64
    hostile = [("../../x", digest), ("/etc/passwd", digest), ("data/../x", digest), ("data/a", "00"), ("data/a", 1)]
    named = [json.dumps({"files": {name: value}, "merkle_root": ""}) for name, value in hostile]
    for damaged in ("", "{", "[]", '{"files": []}', *named):
        (written.folder / "manifest.json").write_text(damaged)
        with pytest.raises(InputError, match="the manifest of the release is damaged"):
            verify_release(written.folder)


def test_names_cannot_break_the_tables_of_the_card(tmp_path):
    source = drawn(tmp_path / "in", 1).rename(tmp_path / "in" / "a|b.jsonl")
    dataset = DataSet.create(tmp_path / "d", "x | y\n# z")
    import_pictures(dataset, source, licence="CC0 | MIT\nx")
    run(dataset, [look], engine=inline)
    save_selection(dataset, [look], select(dataset, [look], {"a|b\n# c": "contrast > 1"}, "v1"))
    lines = (release(dataset, [look], "v1", "r").folder / "README.md").read_text().splitlines()
    row = lines[lines.index("| --- | --- | --- | --- | --- |") + 1]
    assert row.replace("\\|", "").count("|") == 6 and "CC0" in row
    assert sum(line.startswith("# ") for line in lines) == 1


def test_the_same_release_has_the_same_bytes(looked):
    one, other = (release(looked, STAGES, "v1", name, split="split") for name in ("a", "b"))
    assert one.merkle_root == other.merkle_root


@given(st.dictionaries(st.text("ab/", min_size=1, max_size=4), st.integers(0, 2**64), min_size=1, max_size=9), st.randoms())
def test_the_merkle_root_depends_on_every_file_and_on_no_order(files, shuffler):
    digests = {path: f"{value:064x}" for path, value in files.items()}
    shuffled = list(digests.items())
    shuffler.shuffle(shuffled)
    assert merkle_root(digests) == merkle_root(dict(shuffled))
    changed = random.Random(0).choice(sorted(digests))
    assert merkle_root({**digests, changed: "f" * 64}) != merkle_root(digests)


def test_archives_of_a_release_are_plain_webdataset(looked):
    written = release(looked, STAGES, "v1", "tar", form="webdataset")
    with tarfile.open(next((written.folder / "data").iterdir())) as archive:
        names = archive.getnames()
    assert [name.rpartition(".")[2] for name in names[:3]] == ["png", "json", "txt"]


def test_near_duplicates_of_the_stage_differ_in_three_bits_unless_another_distance_is_given():
    hashes = [0, 0b111, 0b1111 << 20, 0b11111 << 40]
    phash = pl.Series(hashes, dtype=pl.UInt64)
    rows = duplicates.prepare(pl.DataFrame({"key": [*"abcd"], "sha256": [digit * 64 for digit in "0123"], "phash": phash}))
    expected = {None: [None, "a", None, None], 4: [None, "a", "a", None], 2: [None] * 4}
    for distance, groups in expected.items():
        options = {} if distance is None else {"distance": distance}
        assert duplicates.function(rows, **options)["near_duplicate_of"].to_list() == groups


def test_a_card_says_what_is_in_it_and_what_people_found_or_that_it_is_unknown() -> None:
    known, unknown = {"value": 0.9, "low": 0.85, "high": 0.9449}, {"value": None, "low": None, "high": None}
    names = ("precision", "negative_value", "recall", "agreement")
    audit = {name: known if number % 2 else unknown for number, name in enumerate(names)} | {"rated": 1200, "kappa": None}
    source = {"name": "a|b", "kind": "folder", "rows": 5000, "problems": 12, "licence": "CC0-1.0"}
    stage = {"stage": "look", "version": "2", "when": None}
    manifest = {"name": "birds", "version": "3", "merkle_root": "ab", "sources": [source], "predicates": {"wide": "width > 1"},
                "pictures": {"train": 1500, "test": 0}, "stages": [stage]}  # fmt: skip
    lines = card({**manifest, "audit": audit}, 5000, ["features: x"]).splitlines()
    for line in (
        'license: "cc0-1.0"', '  - {split: "train", path: data/train-*}', "features: x", "# birds 3", "- wide: `width > 1`",
        "1,500 of 5,000 pictures. Merkle root of the data files: `ab`.", "| a\\|b | folder | 5,000 | 12 | CC0-1.0 |",
        "| look | 2 | – | always |", "- precision: unknown", "- negative value: 0.900 [0.850, 0.945]", "- recall: unknown",
        "- agreement: 0.900 [0.850, 0.945]", "- pictures rated: 1,200; κ of two raters: unknown",
    ):  # fmt: skip
        assert line in lines, line
    assert not any("test-*" in line for line in lines), "a split without pictures has no files"
    assert "κ of two raters: 0.750" in card({**manifest, "audit": audit | {"kappa": 0.75}}, 5000)
    assert "None: the conditions were not compared" in card({**manifest, "audit": None}, 5000)

"""The suite magic-bench-377: what it asks about a picture, and which rows follow."""

import json

import polars as pl
import pytest

from for_each import for_each
from salon_bench.suites import Case, RunContext, Suite, dry_run, suite_named
from salon_bench.suites.magic_bench_377 import MarkDimension, read_prompts, suite
from salon_judges.formats.generations import Generated, Generations
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Prompt, Rating, Score
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason, Unscored

CHECKS = [["quantity", "three gems"], ["negation", ""]]
OUTAGE = Unscored(Reason.TIMEOUT, "no byte")


def yes(truth=True):
    return json.dumps({"reason": "seen", "satisfied": truth})


def mark(score):
    return json.dumps({"reason": "seen", "score": score})


def a_case(checks=CHECKS, *, run="run", version="0123456789", **other):
    prompt = Prompt(prompt_id="p", suite=suite.name, text="Three gems, no box.", scenario="Art", labels=("Quantity",))
    context = RunContext(run, "judge", version)
    media = (Media.from_bytes(b"picture"),)
    facts = {"test_points": checks}
    return Case(
        "case", suite.name, "painter", prompt, facts=facts, media=media, generation_ids=("g",), context=context, **other
    )


def scores(rows):
    return {(row.task, row.dimension): row.unscored_reason or row.value for row in rows if isinstance(row, Score)}


@for_each("reply", HOSTILE_REPLIES)
def test_a_hostile_judge_gives_no_score_and_no_rating(reply):
    found = dry_run(suite, a_case(), [reply] * 5)
    assert len(found.records) == 5
    assert all(isinstance(row, Score) and row.value is None for row in found.records)


def test_every_test_point_and_every_dimension_is_asked_by_itself():
    found = dry_run(suite, a_case(), [yes(), yes(False), mark(5), mark(2), mark(3)])
    assert [each.step for each in found.inquiries] == [
        "check:quantity",
        "check:negation",
        "mark:prompt_following",
        "mark:structural_accuracy",
        "mark:aesthetic_quality",
    ]
    assert {each.step for each in found.inquiries} <= set(suite.steps)
    assert scores(found.records) == {
        ("test_points", "Quantity"): 1.0,
        ("test_points", "Negation"): 0.0,
        ("mos", "Prompt Following"): 5.0,
        ("mos", "Structural Accuracy"): 2.0,
        ("mos", "Aesthetic Quality"): 3.0,
    }
    ratings = [row for row in found.records if isinstance(row, Rating)]
    assert [(row.dimension, row.value, row.scale_min, row.scale_max) for row in ratings] == [
        ("Prompt Following", 5.0, 1.0, 5.0),
        ("Structural Accuracy", 2.0, 1.0, 5.0),
        ("Aesthetic Quality", 3.0, 1.0, 5.0),
    ]
    assert {(row.rater_id, row.model, row.prompt_id, row.generation_id) for row in ratings} == {
        ("judge@01234567", "painter", "p", "g")
    }


def test_a_demand_stands_in_the_question_and_without_one_the_kind_does():
    first, second = (each.question.text for each in dry_run(suite, a_case(), []).inquiries[:2])
    assert "<data>\nthree gems\n</data>" in first
    assert "everything that is a demand of this kind" in second
    assert '"Negation"' in second


def test_one_lost_question_costs_its_own_row_only():
    found = scores(dry_run(suite, a_case(), [OUTAGE, yes(), mark(5), "?", mark(3)]).records)
    assert found["test_points", "Quantity"] == "timeout"
    assert found["mos", "Structural Accuracy"] == "malformed"
    assert sum(isinstance(value, float) for value in found.values()) == 3


def test_a_missing_picture_is_unscored_everywhere():
    found = dry_run(suite, a_case(problem=Unscored(Reason.BAD_MEDIA, "gone")), [yes()] * 5)
    assert set(scores(found.records).values()) == {"bad_media"}
    assert not any(isinstance(row, Rating) for row in found.records)


def test_the_same_judge_and_picture_have_the_same_rating_key_in_every_run_and_another_version_another():
    def keys(**how):
        rows = dry_run(suite, a_case([], **how), [mark(3)] * 3).records
        return {row.rating_id for row in rows if isinstance(row, Rating)}

    assert keys(run="one") == keys(run="two")
    assert not keys() & keys(version="another-version")


def test_a_prompt_without_test_points_is_marked_alone():
    assert len(dry_run(suite, a_case([]), [mark(1)] * 3).inquiries) == 3


def test_the_suite_is_installed_and_needs_a_file(tmp_path):
    assert isinstance(suite, Suite)
    assert suite_named("magic-bench-377") is suite
    with pytest.raises(InputError, match="needs a file"):
        suite.prompts(None)
    path = tmp_path / "p.csv"
    path.write_text("prompt,labels,scenario\nA pond.,Style,Film\n")
    assert suite.prompts(path) == read_prompts(path)
    prompts = suite.prompts(path)
    files = [Generated("mb377-001", "painter", sample, tmp_path / f"{sample}.png", tmp_path) for sample in range(4)]
    assert len(list(suite.cases(prompts, Generations(files)))) == 4


def rows_of(samples, checks):
    """Rows of one prompt's pictures: their marks of one dimension, and answers to one check each."""
    base = {"prompt_id": "p", "unscored_reason": None, "subject_model": "painter"}
    rows = [
        {**base, "task": "mos", "generation_id": f"g{n}", "dimension": "Aesthetic Quality", "value": value}
        for n, value in enumerate(samples)
    ]
    rows += [
        {**base, "task": "test_points", "generation_id": f"g{n}", "dimension": "State", "value": value}
        for n, value in enumerate(checks)
    ]
    for row in rows:
        row["unscored_reason"] = "timeout" if row["value"] is None else None
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64, "unscored_reason": pl.String})


def test_the_summary_averages_marks_as_the_paper_does_and_counts_what_is_missing():
    summary = suite.aggregate(rows_of([3.0, 4.0, 5.0, None], [1.0, 0.0, 0.5, None]), pl.DataFrame())
    table = {(row["metric"], row["group"]): row for row in summary.table.to_dicts()}
    marked = table["Aesthetic Quality", None]
    assert (marked["value"], marked["scored"], marked["unscored"]) == (4.0, 3, 1)
    half = 4.302652729911275 * (1 / 3) ** 0.5  # Eq. 4: var 1 over k = 3 pictures of n = 1 prompt, Student's t of 2
    assert marked["ci_low"] == pytest.approx(4.0 - half)
    assert 4.0 + half > 5.0 == marked["ci_high"], "the interval ends where the scale does"
    for group in (None, "State"):
        row = table["test points", group]
        assert (row["value"], row["scored"], row["unscored"]) == (0.5, 2, 2)
    assert any("2 timeout" in note for note in summary.notes)


def test_a_summary_of_nothing_but_failures_has_no_values():
    table = suite.aggregate(rows_of([None, None], [None]), pl.DataFrame()).table
    assert table["value"].null_count() == table.height == 3
    assert table["scored"].sum() == 0
    assert suite.aggregate(rows_of([None], [None]).clear(), pl.DataFrame()).table.is_empty()


def test_dimensions_stand_in_the_papers_order():
    assert list(MarkDimension) == ["Prompt Following", "Structural Accuracy", "Aesthetic Quality"]

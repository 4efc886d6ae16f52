"""Rows of Artifact-Bench are written as they are read; options are right, easily confused, and the same for the same seed."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_judges.formats.artifact_bench import (
    TAXONOMY,
    BenchRow,
    QuestionLevel,
    QuestionTask,
    family_of,
    read_rows,
    released_row,
)
from salon_judges.formats.artifact_bench_options import offer
from salon_taxonomy import Taxonomy
from salon_taxonomy.errors import SalonError

TREE = Taxonomy.load(TAXONOMY)
LEAVES = [label.id for label in TREE.tier("leaf")]
RIGHT = st.sets(st.sampled_from(LEAVES), min_size=1, max_size=5).map(sorted)
LEVELS = st.sampled_from(list(QuestionLevel))


@given(RIGHT, st.integers(0, 5), st.text(min_size=1, max_size=5))
def test_options_are_different_hold_the_right_ones_and_are_the_same_for_the_same_seed(
    right: list[str], seed: int, sample_id: str
) -> None:
    drawn = offer(right, seed=seed, sample_id=sample_id)
    assert len(set(drawn.leaves)) == 6
    assert {leaf for letter, leaf in zip("ABCDEF", drawn.leaves, strict=True) if letter in drawn.answer} == set(right)
    assert drawn == offer(right, seed=seed, sample_id=sample_id)


@for_each("leaf", LEAVES)
def test_siblings_come_before_other_families_and_those_of_the_domain_before_others(leaf: str) -> None:
    siblings = {each.id for each in TREE.leaves(family_of(leaf))} - {leaf}
    wrong = [each for each in offer([leaf], seed=0, sample_id="1").leaves if each != leaf]
    assert len(siblings & set(wrong)) == min(len(siblings), 5)
    inside = {each.id for each in TREE.leaves(TREE.ancestors(leaf)[-1])} - {leaf}
    assert len(inside & set(wrong)) == min(len(inside), 5)


def test_another_seed_or_question_draws_other_options_and_places() -> None:
    drawn = {offer(["oversmoothing"], seed=seed, sample_id=name).leaves for seed, name in itertools.product(range(5), "ab")}
    assert len(drawn) == 10
    assert {offer(["oversmoothing"], seed=seed, sample_id="a").answer for seed in range(60)} == set("ABCDEF")


def test_options_without_a_right_label_or_with_too_many_are_refused() -> None:
    for labels, count in (([], 6), (LEAVES[:6], 6), (["oversmoothing"], 27), (["melting-clocks"], 6), (["identity"], 6)):
        with pytest.raises(SalonError):
            offer(labels, seed=0, sample_id="1", options=count)


@given(RIGHT, st.sampled_from(["yes", "no"]), st.sampled_from("AB"), st.lists(LEVELS, min_size=3, max_size=3))
def test_what_is_written_as_released_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, right: list[str], seen: str, side: str, levels: list[QuestionLevel]
) -> None:
    drawn = offer(right, seed=0, sample_id="1")
    rows = [
        BenchRow(QuestionTask.RVAC, "1", ("a.mp4",), seen, levels[0]),
        BenchRow(QuestionTask.PVRC, "1", ("a.mp4", "b.mp4"), side, levels[1]),
        BenchRow(QuestionTask.AID, "1", ("a.mp4",), drawn.answer, levels[2], drawn.texts, drawn.leaves),
    ]
    file: Path = tmp_path_factory.getbasetemp() / "rows.json"
    file.write_text(json.dumps([released_row(row) for row in rows]))
    assert read_rows(file) == rows
    first = released_row(rows[1])
    assert (first["task_type"], first["answer"]) == (2, f"<Video {side}>")
    assert first["level"] == {"L1": "easy", "L2": "medium", "L3": "hard"}[levels[1].value]

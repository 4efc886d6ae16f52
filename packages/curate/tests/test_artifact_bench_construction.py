"""Building a benchmark: options that are easily confused, three annotators and two more, levels, export, commands."""

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites.artifact_bench import BenchRow, QuestionLevel, QuestionTask, read_rows
from salon_console import main
from salon_curate.construction.artifact_bench import (
    AnnotationState,
    agreement,
    annotate,
    assemble,
    difficulty,
    export_rows,
    offer,
    read_assessments,
)
from salon_judges.formats.artifact_bench import TAXONOMY, family_of
from salon_taxonomy import Taxonomy
from salon_taxonomy.errors import InputError, SalonError

LEAVES = [label.id for label in Taxonomy.load(TAXONOMY).tier("leaf")]


def said(**labels_of: str) -> pl.DataFrame:
    """Rows about one video: ``ann="oc"`` says that oversmoothing and spatial-clipping hold; ``ann=""`` that nothing does."""
    names = {"o": "oversmoothing", "c": "spatial-clipping", "m": "unnatural-morphing"}
    rows = [("v", TAXONOMY, names[letter], letter in given, person) for person, given in labels_of.items() for letter in names]
    return pl.DataFrame(rows, schema=["generation_id", "taxonomy", "label", "present", "judge"], orient="row")


def run_status(frame: pl.DataFrame, *experts: str) -> tuple[str, tuple[str, ...], int]:
    [found] = annotate(frame, experts=experts)
    return found.stage.value, found.labels, found.missing


@given(st.sets(st.sampled_from(LEAVES), min_size=1, max_size=5), st.integers(0, 5), st.text(min_size=1, max_size=5))
def test_options_are_different_hold_the_right_ones_and_are_the_same_for_the_same_seed(
    right: set[str], seed: int, sample_id: str
) -> None:
    found = offer(sorted(right), seed=seed, sample_id=sample_id)
    assert len(set(found.leaves)) == 6
    assert {leaf for letter, leaf in zip("ABCDEF", found.leaves, strict=True) if letter in found.answer} == right
    assert found == offer(sorted(right), seed=seed, sample_id=sample_id)


@for_each("leaf", LEAVES)
def test_siblings_come_before_other_families_and_those_of_the_domain_before_others(leaf: str) -> None:
    tree = Taxonomy.load(TAXONOMY)
    siblings = {each.id for each in tree.leaves(family_of(leaf))} - {leaf}
    wrong = [each for each in offer([leaf], seed=0, sample_id="1").leaves if each != leaf]
    assert len(siblings & set(wrong)) == min(len(siblings), 5)
    domain = tree.ancestors(leaf)[-1]
    inside = {each.id for each in tree.leaves(domain)} - {leaf}
    assert len(inside & set(wrong)) == min(len(inside), 5)


def test_another_seed_or_question_draws_other_options_and_places() -> None:
    drawn = {offer(["oversmoothing"], seed=seed, sample_id=name).leaves for seed, name in itertools.product(range(5), "ab")}
    assert len(drawn) == 10
    places = {offer(["oversmoothing"], seed=seed, sample_id="a").answer for seed in range(60)}
    assert places == set("ABCDEF")


def test_options_without_a_right_label_or_with_too_many_are_refused() -> None:
    for labels, count in (([], 6), (LEAVES[:6], 6), (["oversmoothing"], 27), (["melting-clocks"], 6), (["identity"], 6)):
        with pytest.raises(SalonError):
            offer(labels, seed=0, sample_id="1", options=count)


def test_three_who_agree_settle_a_video_and_experts_confirm_it() -> None:
    assert run_status(said(a="o", b="o")) == ("first_round", (), 1)
    assert run_status(said(a="o", b="o", c="o")) == ("verify", ("oversmoothing",), 2)
    assert run_status(said(a="o", b="o", c="o", z="o"), "z", "y") == ("verify", ("oversmoothing",), 1)
    assert run_status(said(a="o", b="o", c="o", z="oc", y="oc"), "z", "y") == (
        "settled",
        ("oversmoothing", "spatial-clipping"),
        0,
    )
    assert run_status(said(a="o", b="o", c="o", z="oc", y="o"), "z", "y")[0] == AnnotationState.DISPUTED
    assert run_status(said(a="", b="", c="")) == ("verify", (), 2)


def test_three_who_differ_need_two_more_and_then_the_majority_of_each_label_holds() -> None:
    assert run_status(said(a="o", b="oc", c="o")) == ("second_round", (), 2)
    assert run_status(said(a="o", b="oc", c="o", d="o")) == ("second_round", (), 1)
    assert run_status(said(a="o", b="oc", c="m", d="oc", e="c")) == ("verify", ("oversmoothing", "spatial-clipping"), 2)


def test_only_three_who_agree_are_unanimous_and_fewer_cannot_be() -> None:
    for people, unanimous in (
        ({"a": "o", "b": "o"}, None),
        ({"a": "o", "b": "o", "c": "o"}, True),
        ({"a": "", "b": "", "c": "", "y": "c", "z": "c"}, True),
        ({"a": "o", "b": "o", "c": "o", "y": "c", "z": "o"}, True),
        ({"a": "o", "b": "oc", "c": "o"}, False),
        ({"a": "o", "b": "o", "c": "o", "d": "o"}, False),
        ({"a": "o", "b": "o", "c": "o", "d": "o", "e": "o"}, False),
        ({"a": "o", "b": "o", "c": "c", "d": "o", "e": "o", "y": "c", "z": "c"}, False),
    ):
        [found] = annotate(said(**people), experts=["y", "z"])
        assert found.unanimous is unanimous, people


def test_contradictions_strangers_and_missing_columns_are_refused() -> None:
    twice = pl.concat([said(a="o"), said(a="c")])
    with pytest.raises(InputError, match="both yes and no"):
        annotate(twice)
    with pytest.raises(InputError, match="at most 5 annotators"):
        annotate(said(a="", b="", c="", d="", e="", f=""))
    with pytest.raises(InputError, match="judge"):
        annotate(said(a="o").drop("judge"))
    assert annotate(said(a="o").with_columns(taxonomy=pl.lit("magicmirror"))) == []


def test_agreement_is_one_where_all_agree_and_below_where_they_differ() -> None:
    videos = [("v1", "o", "o", "o"), ("v2", "c", "c", "c"), ("v3", "o", "c", "oc")]
    frame = pl.concat([said(a=a, b=b, c=c).with_columns(generation_id=pl.lit(v)) for v, a, b, c in videos[:2]])
    assert [(each.label, each.alpha, each.kappa) for each in agreement(frame)] == [
        ("oversmoothing", 1.0, 1.0),
        ("spatial-clipping", 1.0, 1.0),
    ]
    whole = pl.concat([frame, said(a="o", b="c", c="oc").with_columns(generation_id=pl.lit("v3"))])
    # Per label 3 + 0 + 2 of 9 judgements: Fleiss' chance is (5/9)² + (4/9)², observed (1 + 1 + 1/3) / 3.
    chance, observed = (25 + 16) / 81, 7 / 9
    assert agreement(whole)[0].kappa == pytest.approx((observed - chance) / (1 - chance))
    lonely = agreement(pl.concat([said(a="o", b="o")]))
    assert (lonely[0].alpha, lonely[0].kappa, lonely[0].present) == (None, None, 1.0)


@pytest.mark.parametrize(
    ("levels", "level", "missing"),
    [("", None, 3), ("11", None, 1), ("111", 1, 0), ("112", None, 2), ("1121", None, 1), ("11213", 1, 0), ("11223", None, 0)],
)
def test_difficulty_is_the_majority_of_three_or_five(levels: str, level: int | None, missing: int) -> None:
    found = difficulty({f"rater{place}": QuestionLevel(f"L{each}") for place, each in enumerate(levels)})
    assert (found.level, found.missing) == (None if level is None else QuestionLevel(f"L{level}"), missing)


def test_more_than_five_raters_are_refused() -> None:
    with pytest.raises(InputError, match="at most 5"):
        difficulty({str(place): QuestionLevel.L1 for place in range(6)})


def test_what_is_exported_reads_back_as_it_was(tmp_path: Path) -> None:
    leaves = ("oversmoothing", "spatial-clipping")
    rows = [
        BenchRow(QuestionTask.RVAC, "1", ("a.mp4",), "no", QuestionLevel.L1),
        BenchRow(QuestionTask.PVRC, "1", ("a.mp4", "b.mp4"), "B", QuestionLevel.L2),
        BenchRow(
            QuestionTask.AID, "1", ("a.mp4",), "AB", QuestionLevel.L3, ("Oversmoothing: x", "Spatial Clipping: y"), leaves
        ),
    ]
    export_rows(rows, tmp_path / "rows.json")
    assert read_rows(tmp_path / "rows.json") == rows
    first = json.loads((tmp_path / "rows.json").read_text())[1]
    assert (first["task_type"], first["answer"], first["level"]) == (2, "<Video B>", "medium")
    with pytest.raises(InputError, match="cannot be written"):
        export_rows(rows, tmp_path / "gone" / "rows.json")
    with pytest.raises(InputError, match="no question"):
        export_rows([], tmp_path / "rows.json")


def test_only_confirmed_videos_with_a_level_and_a_place_become_questions() -> None:
    people = {"a": "o", "b": "o", "c": "o", "z": "o", "y": "o"}
    frames = [said(**people).with_columns(generation_id=pl.lit(name)) for name in ("full", "unrated", "lost")]
    frames += [said(**{**people, "y": "c"}).with_columns(generation_id=pl.lit("disputed"))]
    frames += [said(**dict.fromkeys(people, "")).with_columns(generation_id=pl.lit("clean"))]
    annotated = annotate(pl.concat(frames), experts=["z", "y"])
    rated = {name: dict.fromkeys("pqr", QuestionLevel.L2) for name in ("full", "lost", "disputed", "clean")}
    made = assemble(annotated, rated, {"full": "full.mp4"}, seed=3)
    assert [(row.sample_id, row.level, len(row.options)) for row in made.rows] == [("full", QuestionLevel.L2, 6)]
    assert set(made.left_out) == {"unrated", "lost", "disputed", "clean"}


# ------------------------------------------------------------------------------------------------------------ the commands


def salon(*arguments: str) -> tuple[int, str]:
    group = {"options": "curate", "annotation": "curate", "export": "curate"}.get(arguments[1], "bench")
    result = CliRunner().invoke(main, ["synthetic" if arguments[0] == "video" else group, *arguments])
    return result.exit_code, result.output


def test_labels_levels_and_places_become_a_file_of_questions(tmp_path: Path) -> None:
    people = {"a": "o", "b": "o", "c": "o", "z": "o", "y": "o"}
    said(**people).write_csv(tmp_path / "labels.csv")
    (tmp_path / "levels.csv").write_text("generation_id,rater,level\nv,p,hard\nv,q,hard\nv,r,hard\n")
    (tmp_path / "videos.csv").write_text("generation_id,video_path\nv,v.mp4\n")
    files = [str(tmp_path / name) for name in ("labels.csv", "levels.csv", "videos.csv", "rows.json")]
    experts = ("--expert", "z", "--expert", "y")
    status, text = salon("artifact-bench", "annotation", files[0], *experts)
    assert (status, "settled" in text, "oversmoothing" in text) == (0, True, True)
    status, text = salon(
        "artifact-bench", "export", files[0], "--levels", files[1], "--videos", files[2], "--output", files[3], *experts
    )
    assert (status, text.startswith("1 questions")) == (0, True)
    status, text = salon("artifact-bench", "rows", files[3], "--videos", str(tmp_path))
    assert status == 1 and "v.mp4" in text
    (tmp_path / "v.mp4").touch()
    assert salon("artifact-bench", "rows", files[3], "--videos", str(tmp_path))[0] == 0
    assert json.loads(salon("artifact-bench", "annotation", files[0], *experts, "--format", "json")[1])["videos"][0]["stage"]


@pytest.mark.parametrize(
    ("content", "column"),
    [
        ("generation_id,label,present,judge\nv,melting,true,a\n", "label"),
        ("generation_id,label,present,judge\nv,oversmoothing,maybe,a\n", "present"),
        ("generation_id,label,present\nv,oversmoothing,true\n", "judge"),
    ],
)
def test_a_wrong_table_of_labels_is_named_by_row_and_column(content: str, column: str, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(content)
    with pytest.raises(InputError) as caught:
        read_assessments(tmp_path / "labels.csv")
    assert column in str(caught.value) and "row 1" in str(caught.value)
    assert salon("artifact-bench", "annotation", str(tmp_path / "labels.csv"))[0] != 0


def test_options_are_printed_with_their_answer() -> None:
    status, text = salon("artifact-bench", "options", "Oversmoothing", "--seed", "1")
    assert status == 0 and text.count("\n") == 7 and "Answer: " in text


def test_a_run_that_is_none_has_no_confusions(tmp_path: Path) -> None:
    assert salon("artifact-bench", "confusion", "no-run", "--store", str(tmp_path))[0] != 0


def test_a_video_is_drawn_and_shown_as_one_picture(tmp_path: Path) -> None:
    pytest.importorskip("av")
    clip, sheet = str(tmp_path / "ball.mp4"), str(tmp_path / "ball.jpg")
    assert salon("video", clip, "--kind", "morph")[0] == 0
    status, text = salon("contact-sheet", clip, "--output", sheet, "--width", "320")
    assert status == 0 and "10 frames at 5 per second" in text
    assert Path(sheet).read_bytes()[:3] == b"\xff\xd8\xff"
    assert salon("contact-sheet", str(tmp_path / "no.mp4"), "--output", sheet)[0] != 0


@pytest.mark.parametrize("name", ["sheet.xyz", "sheet.png", "sheet"])
def test_a_contact_sheet_is_a_jpeg_and_is_called_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "any.mp4").touch()
    status, text = salon("contact-sheet", str(tmp_path / "any.mp4"), "--output", str(tmp_path / name))
    assert status == 2
    assert "unknown ending of a contact sheet" in text
    assert "(allowed: .jpg, .jpeg)" in text
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("text", ["", "generation_id,label,present,judge\n"], ids=["empty", "header"])
def test_a_file_without_labels_is_refused(tmp_path, text):
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(InputError, match="there is no label in the file"):
        read_assessments(tmp_path / "labels.csv")


def test_three_then_two_more_then_two_experts_are_right_as_often_as_the_binomial_says() -> None:
    """Annotators who are right about one label with probability q; the closed forms of unanimity and of most of five."""
    q, number, random = 0.8, 4000, np.random.default_rng(0)
    rows = []
    for video in range(number):
        right = random.random(5) < q
        said = 3 if len(set(right[:3])) == 1 else 5
        rows += [(f"v{video:04d}", "artifact-bench", "oversmoothing", bool(right[rater]), f"r{rater}") for rater in range(said)]
    schema = ["generation_id", "taxonomy", "label", "present", "judge"]
    found = annotate(pl.DataFrame(rows, schema=schema, orient="row"))
    assert {each.stage.value for each in found} == {"verify"}
    unanimous = sum(each.unanimous for each in found) / number
    settled = sum(each.labels == ("oversmoothing",) for each in found) / number
    together = q**3 + (1 - q) ** 3
    of_five = q**3 + 3 * q**2 * (1 - q) * (1 - (1 - q) ** 2) + 3 * q * (1 - q) ** 2 * q**2  # most of five, where three differ
    for share, expected in ((unanimous, together), (settled, of_five)):
        assert abs(share - expected) < 4 * (expected * (1 - expected) / number) ** 0.5
    experts = [(video, taxonomy, label, True, f"e{expert}") for video, taxonomy, label, _, _ in
               {row[0]: row for row in rows}.values() for expert in range(2)]  # fmt: skip
    done = annotate(pl.DataFrame(rows + experts, schema=schema, orient="row"), experts=("e0", "e1"))
    assert all(each.stage.value == "settled" and each.labels == ("oversmoothing",) for each in done)

"""Drawn scenes: prompts, contradictions, explanations and questions are exact, and the same seed draws the same bytes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_console import main
from salon_synthetic import Category, DrawnItem, Item, Scene, findings, generate, holds, png, read_prompt, read_question
from salon_synthetic.scenes.drawing import SCENE_CHUNK, read_scene
from salon_synthetic.scenes.placing import strings_clear
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES

ITEMS = list(generate(24, seed=11))


def ids(item: DrawnItem) -> str:
    return f"{item.category.value}-{item.idx}"


@for_each("item", ITEMS)
def test_an_item_is_as_it_says(item: DrawnItem) -> None:
    claims = read_prompt(item.prompt)
    assert claims is not None
    assert all(holds(claim, item.target) for claim in claims)
    assert findings(claims, item.target) == ()
    assert findings(claims, item.shown) == item.findings
    assert all(holds(claim, item.shown) for claim in claims) == (not item.findings)
    asked = [read_question(question) for question in item.questions]
    assert None not in asked
    assert [holds(claim, item.target) for claim in asked if claim] == list(item.answers)


@for_each("item", [item for item in ITEMS if item.findings])
def test_a_misaligned_picture_answers_a_question_otherwise_than_its_prompt_wants(item: DrawnItem) -> None:
    claims = [read_question(question) for question in item.questions]
    assert [holds(claim, item.shown) for claim in claims if claim] != list(item.answers)
    assert 1 <= len(item.findings) <= 2
    assert item.explanation
    assert item.edit_prompt


@for_each("item", ITEMS)
def test_no_object_is_hidden_and_no_string_runs_through_one(item: DrawnItem) -> None:
    for scene in (item.shown, item.target):
        assert strings_clear(scene)
        for place, one in enumerate(scene.items):
            assert one.clear_of(scene.items[:place] + scene.items[place + 1 :])


def test_every_category_has_its_share_of_misaligned_items() -> None:
    for category in Category:
        assert sum(bool(item.findings) for item in ITEMS if item.category == category) == 16


def test_two_of_three_is_exact_for_any_number_and_a_share_can_be_set() -> None:
    assert [bool(item.findings) for item in generate(6, categories=[Category.COLOR])] == [False, True, True, False, True, True]
    assert not any(item.findings for item in generate(3, misaligned=0))
    assert all(item.findings for item in generate(3, misaligned=1))


def test_the_same_seed_draws_the_same_bytes_and_a_larger_number_the_same_first_items() -> None:
    few, many = list(generate(2, seed=5)), list(generate(4, seed=5))
    assert [png(item.shown) for item in few] == [png(item.shown) for item in generate(2, seed=5)]
    assert [item.prompt for item in few[:2]] == [item.prompt for item in many[:2]]
    assert [item.prompt for item in few] != [item.prompt for item in generate(2, seed=6)]


@pytest.mark.parametrize(("number", "share"), [(0, 0.5), (-1, 0.5), (1, -0.1), (1, 1.1)])
def test_a_number_or_share_out_of_range_is_an_error(number: int, share: float) -> None:
    with pytest.raises(InputError):
        list(generate(number, misaligned=share))


@settings(max_examples=40)
@given(st.sampled_from(ITEMS))
def test_a_picture_carries_its_scene(item: DrawnItem) -> None:
    assert read_scene(png(item.shown)) == item.shown


@pytest.mark.parametrize("data", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", png(Scene())[:60]])
def test_a_file_without_a_scene_is_an_error(data: bytes) -> None:
    with pytest.raises(InputError):
        read_scene(data)


@for_each(
    "text",
    [
        *HOSTILE_REPLIES,
        '{"items": [{"shape": "horse", "colour": "red", "x": 1, "y": 1}]}',
        '{"items": [{"shape": "star", "colour": "red", "x": -1, "y": 1}]}',
        '{"items": [], "ties": [[0, 1]]}',
        '{"items": [], "truth": 1}',
    ],
)
def test_a_hostile_scene_is_an_error(text: str) -> None:
    with pytest.raises(InputError):
        Scene.from_json(text)


@for_each("text", HOSTILE_REPLIES)
def test_a_text_that_is_no_prompt_and_no_question_is_not_guessed_at(text: str) -> None:
    assert read_prompt(text) is None
    assert read_question(text) is None


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    read_prompt(text)
    read_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "Is there a red horse?",
        "Is the star happy?",
        "How many stars are there?",
        "Is the red star not blue?",
        "Is the red blue star large?",
    ],
)
def test_a_question_with_an_unknown_word_is_not_understood(text: str) -> None:
    assert read_question(text) is None


def test_questions_in_other_words_mean_the_same() -> None:
    scene = Scene(items=[Item(shape="circle", colour="red", x=60, y=60), Item(shape="star", colour="blue", x=180, y=60)])
    for text in (
        "Is there a round red object in the image?",
        "Does the picture show a circle?",
        "Is the circle red in color?",
        "Is the circle to the left of the star in the picture?",
        "Is the star on the right side of the circle?",
        "Are there exactly two objects?",
        "Is there exactly one star?",
        "Are there at least 1 circles?",
    ):
        claim = read_question(text)
        assert claim is not None, text
        assert holds(claim, scene), text


# --------------------------------------------------------------------------------------------------------- command line


def test_the_command_writes_rows_in_the_released_schema_with_pictures_and_truth(tmp_path: Path) -> None:
    folder = tmp_path / "drawn"
    result = CliRunner().invoke(main, ["synthetic", "scenes", "generate", "--output", str(folder), "--per-category", "3"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    keys = {"idx", "original_prompt", "bad_image", "answer", "explanation", "category", "generated_qa"}
    for row, item in zip(rows, generate(3), strict=True):
        assert row.keys() == keys
        assert row["answer"] is (not item.findings)
        assert (folder / row["bad_image"]).read_bytes() == png(item.shown)
        assert row["generated_qa"].keys() == {"yn_question_list", "yn_answer_list"}
    truth = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    assert [row["idx"] for row in truth] == [row["idx"] for row in rows]
    assert SCENE_CHUNK.encode() in (folder / rows[0]["bad_image"]).read_bytes()


@pytest.mark.parametrize(("words", "fewest"), [(["1"], 2), (["2", "--misaligned", "0.3"], 4)])
def test_the_command_says_so_where_a_draw_is_too_small_to_hold_misaligned_items(
    tmp_path: Path, words: list[str], fewest: int
) -> None:
    drawn = ["synthetic", "scenes", "generate", "--category", "color", "--output"]
    small = CliRunner().invoke(main, [*drawn, str(tmp_path / "small"), "--per-category", *words])
    assert small.exit_code == 0
    assert f"Every picture shows its prompt; for one that does not, take --per-category {fewest} or more." in small.stderr
    enough = CliRunner().invoke(main, [*drawn, str(tmp_path / "enough"), "--per-category", str(fewest), *words[1:]])
    assert enough.stderr == ""
    rows = [json.loads(line)["answer"] for line in (tmp_path / "enough" / "rows.jsonl").read_text().splitlines()]
    assert {True, False} == set(rows)


def test_whoever_asks_for_aligned_items_alone_is_not_warned(tmp_path: Path) -> None:
    words = ["synthetic", "scenes", "generate", "--output", str(tmp_path), "--per-category", "1", "--misaligned", "0"]
    assert CliRunner().invoke(main, words).stderr == ""


def test_the_command_never_writes_into_a_folder_that_holds_something(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    result = CliRunner().invoke(main, ["synthetic", "scenes", "generate", "--output", str(tmp_path)])
    assert result.exit_code == 2
    assert "not empty" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]

"""Drawn scenes: prompts, contradictions, explanations and questions are exact, and the same seed draws the same bytes."""

import hashlib
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_console import main
from salon_synthetic import Category, DrawnItem, Item, Scene, findings, generate, holds, png, read_prompt, read_question
from salon_synthetic.scenes.drawing import SCENE_CHUNK, drawn, outline, pattern, read_scene, shade
from salon_synthetic.scenes.imagining import RULES as IMAGINED_RULES
from salon_synthetic.scenes.imagining import imagine
from salon_synthetic.scenes.placing import free_place, free_places, strings_clear
from salon_synthetic.scenes.reading import LONGEST_TEXT
from salon_synthetic.scenes.vocabulary import (
    BACKGROUND,
    CANVAS,
    INKS,
    OPPOSITE,
    RADII,
    STRING,
    Colour,
    Relation,
    Shape,
    Size,
    Texture,
)
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


@for_each(
    ("question", "explanation", "instruction"),
    [
        ("Is the star red?", "The star is not red.", "Make the blue star red."),
        ("Is the square a circle?", "There is no square.", "Add a square."),
        ("Is the star striped?", "The star is not striped.", "Make the blue star striped."),
        (
            "Is the star to the right of the cross?",
            "The star is above the cross, not to the right of it.",
            "Move the star to the right of the cross.",
        ),
        (
            "Is the star tied to the cross?",
            "The star is tied to the green circle, not to the cross.",
            "Untie the star from the green circle. Tie the star to the cross.",
        ),
        ("Is the cross tied to the star?", "The cross is not tied to the star.", "Tie the cross to the star."),
    ],
)
def test_what_is_wrong_with_one_claim_is_said_with_what_mends_it(question: str, explanation: str, instruction: str) -> None:
    items = [("star", "blue", 100, 40), ("cross", "red", 110, 200), ("circle", "green", 200, 120)]
    scene = Scene(items=[Item(shape=shape, colour=colour, x=x, y=y) for shape, colour, x, y in items], ties=[(0, 2)])
    claim = read_question(question)
    assert claim is not None and not holds(claim, scene)
    [finding] = findings((claim,), scene)
    assert (finding.explanation, finding.instruction) == (explanation, instruction)


def digested(rows) -> str:
    whole = hashlib.sha256()
    for row in rows:
        whole.update(row.tobytes() if isinstance(row, np.ndarray) else str(row).encode())
    return whole.hexdigest()[:8]


GENERATED = {
    "color": "b1fd1fc9",
    "shape": "91153333",
    "texture": "709f18ba",
    "spatial": "bab7f263",
    "non-spatial": "f315a8aa",
    "numeracy": "7ffd4e18",
    "object": "9eea9ff2",
    "complex": "d05d4736",
}
"""Of each category: the digest of twenty rows with their truth."""


@for_each("category", list(Category))
def test_every_category_draws_the_same_rows_for_a_seed_in_every_version(category: Category) -> None:
    assert (
        digested(str((row.row(), row.truth())) for row in generate(20, seed=7, categories=[category]))
        == GENERATED[category.value]
    )


def test_a_scene_is_the_same_picture_in_every_version() -> None:
    """Every shape, texture, size and colour, whole and cut off by an edge, and a string."""
    kinds = itertools.product(Shape, Texture, Size, [(60, 61), (0, 250)])
    items = [
        Item(shape=shape, colour=list(Colour)[number % len(Colour)], texture=texture, size=size, x=x, y=y)
        for number, (shape, texture, size, (x, y)) in enumerate(kinds)
    ]
    scenes = [Scene(items=items[number : number + 4], ties=[(0, 2)]) for number in range(0, len(items), 4)]
    assert digested(np.asarray(drawn(scene)) for scene in scenes) == "b3dda698"


def test_a_prompt_is_imagined_the_same_while_the_rules_have_their_name() -> None:
    """Other scenes for a seed need another name of the rules: a generator's version is a digest of it."""
    prompts = [*dict.fromkeys(row.prompt for row in ITEMS), "A circle and two stars.", "An object above a small red cross."]
    scenes = [imagine(prompt, seed=seed, slips=slips) for prompt in prompts[::4] for seed, slips in ((1, 0.0), (2, 0.6))]
    assert (IMAGINED_RULES, digested(scene.model_dump_json() for scene in scenes)) == ("imagine-1", "60c58b5c")


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


@for_each(
    ("text", "key"),
    [
        ('{"items": [{"shape": "horse", "colour": "red", "x": 1, "y": 1}]}', "items.0.shape"),
        ('{"items": [], "truth": 1}', "truth"),
        ("[1]", None),
        ("{", None),
    ],
)
def test_what_is_wrong_in_a_scene_is_named(text: str, key: str | None) -> None:
    with pytest.raises(InputError) as caught:
        Scene.from_json(text)
    assert (caught.value.column, caught.value.key) == ("scene", key)


@for_each("text", HOSTILE_REPLIES)
def test_a_text_that_is_no_prompt_and_no_question_is_not_guessed_at(text: str) -> None:
    assert read_prompt(text) is None
    assert read_question(text) is None


def test_a_text_is_read_up_to_its_longest_length_and_not_beyond() -> None:
    for read, words in ((read_prompt, "a star"), (read_question, "is there a star?")):
        assert read(words.rjust(LONGEST_TEXT)) == read(words) is not None
        assert read(words.rjust(LONGEST_TEXT + 1)) is None


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


@for_each("text", ["a star above a horse", "a horse above a star", "a star above", "above a star", "a red above a star"])
def test_a_relation_of_which_one_side_is_not_understood_is_no_prompt_and_both_sides_are_one(text: str) -> None:
    assert read_prompt(text) is None
    assert read_prompt("a star above a red circle") is not None
    assert read_prompt(f"a star above a red circle and {text}") is None


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


# --------------------------------------------------------------------------------------------------------------- scenes

SPOTS = st.tuples(st.integers(0, CANVAS), st.integers(0, CANVAS))


def star(x: int, y: int, size: Size = Size.MEDIUM) -> Item:
    return Item(shape="star", colour="red", x=x, y=y, size=size)


@given(SPOTS, SPOTS)
def test_an_object_is_on_the_side_where_it_is_farther_away_and_on_no_side_halfway(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    one, other = star(*first), star(*second)
    right, down = second[0] - first[0], second[1] - first[1]
    sides = {Relation.LEFT: right, Relation.RIGHT: -right, Relation.ABOVE: down, Relation.BELOW: -down}
    farthest = max(sides.values())
    wanted = {side for side, gap in sides.items() if gap == farthest} if abs(right) != abs(down) else set()
    assert {relation for relation in Relation if one.stands(relation, other)} == wanted
    assert {OPPOSITE[relation] for relation in Relation if other.stands(relation, one)} == wanted


@for_each("size", Size)
@for_each("beside", Size)
def test_objects_keep_six_pixels_from_the_edge_and_from_each_other(size: Size, beside: Size) -> None:
    edge, apart = RADII[size] + 6, RADII[size] + RADII[beside] + 6
    for inside, step in ((edge, -1), (CANVAS - edge, 1)):
        for place in ((inside, 128), (128, inside)):
            assert star(*place, size).clear_of([])
        for place in ((inside + step, 128), (128, inside + step)):
            assert not star(*place, size).clear_of([])
    for x, y in ((apart, 0), (0, apart), (-apart, 0), (0, -apart)):
        assert star(128, 128, size).clear_of([star(128 + x, 128 + y, beside)])
        nearer = star(128 + x - (x > 0) + (x < 0), 128 + y - (y > 0) + (y < 0), beside)
        assert not star(128, 128, size).clear_of([star(128 + x, 128 + y, beside), nearer])


@given(st.lists(SPOTS, min_size=2, max_size=6), st.data())
def test_ties_are_pairs_that_follow_their_objects(places: list[tuple[int, int]], data: st.DataObject) -> None:
    pairs = st.sets(st.integers(0, len(places) - 1), min_size=2, max_size=2).map(lambda pair: tuple(sorted(pair)))
    ties = data.draw(st.sets(pairs, max_size=6))
    scene = Scene(items=[star(*place) for place in places])
    for a, b in ties:
        scene = scene.tying(*data.draw(st.sampled_from([(a, b), (b, a)])))
    assert set(scene.ties) == ties and len(scene.ties) == len(ties)
    for a, b in itertools.permutations(range(len(places)), 2):
        assert scene.tied(a, b) == ((min(a, b), max(a, b)) in ties)
        assert not scene.tied(a, a)
        assert set(scene.untying(a, b).ties) == ties - {(min(a, b), max(a, b))}
    gone = data.draw(st.integers(0, len(places) - 1))
    left = [place for place in range(len(places)) if place != gone]
    rest = scene.without(gone)
    assert rest.items == tuple(scene.items[place] for place in left)
    assert {(left[a], left[b]) for a, b in rest.ties} == {tie for tie in ties if gone not in tie}
    moved = scene.replacing(gone, star(1, 2)).adding(star(3, 4))
    assert moved.ties == scene.ties
    assert moved.items == (*scene.items[:gone], star(1, 2), *scene.items[gone + 1 :], star(3, 4))


def test_a_scene_has_at_most_32_objects_each_on_the_canvas_and_ties_between_them() -> None:
    assert len(Scene(items=[star(9, 9)] * 32).items) == 32
    two = [star(0, 0), star(CANVAS, CANVAS)]
    assert Scene(items=two, ties=[(0, 1)]).tied(1, 0)
    ties_of_none = ([(1, 0)], [(0, 0)], [(0, 2)], [(-1, 1)], [(0, 1)] * 2)
    wrong = [{"items": [star(9, 9)] * 33}, *({"items": two, "ties": ties} for ties in ties_of_none)]
    for fields in wrong:
        with pytest.raises(ValueError, match=r"at most 32|a tie is a pair"):
            Scene(**fields)
    for x, y in ((-1, 0), (0, -1), (CANVAS + 1, 0), (0, CANVAS + 1)):
        with pytest.raises(ValueError, match="equal to"):
            star(x, y)
    with pytest.raises(ValueError, match="frozen"):
        two[0].x = 5
    text = Scene(items=two).model_dump_json()
    assert Scene.from_json(text.ljust(1 << 16)) == Scene(items=two)
    with pytest.raises(InputError, match="too long"):
        Scene.from_json(text.ljust((1 << 16) + 1))


@settings(max_examples=60)
@given(SPOTS, SPOTS, SPOTS)
def test_a_string_is_clear_of_an_object_that_lies_six_pixels_from_it(
    one: tuple[int, int], two: tuple[int, int], third: tuple[int, int]
) -> None:
    scene = Scene(items=[star(*one), star(*two), star(*third)], ties=[(0, 1)])
    shares = np.linspace(0, 1, 4001)
    x, y = (one[axis] + shares * (two[axis] - one[axis]) - third[axis] for axis in (0, 1))
    distance = np.sqrt(x**2 + y**2).min()
    if abs(distance - (RADII[Size.MEDIUM] + 6)) > 0.05:
        assert strings_clear(scene) == (distance > RADII[Size.MEDIUM] + 6)
    assert strings_clear(Scene(items=scene.items))


def test_free_places_are_all_that_are_free_of_a_grid_the_nearest_first() -> None:
    scene = Scene(items=[star(60, 60), star(200, 60, Size.LARGE), star(120, 200)], ties=[(0, 1)])
    for near in (None, (30, 220)):
        x, y = near or (128, 128)
        found = list(free_places(scene, star(0, 0, Size.SMALL), near=near))
        distances = [math.dist((x, y), (item.x, item.y)) for item in found]
        assert distances == sorted(distances)
        free = {
            (a, b)
            for a, b in itertools.product(range(0, CANVAS + 1, 8), repeat=2)
            if star(a, b, Size.SMALL).clear_of(scene.items) and strings_clear(scene.adding(star(a, b, Size.SMALL)))
        }
        assert {(item.x, item.y) for item in found} == free and len(found) == len(free) > 100
        assert free_place(scene, star(0, 0, Size.SMALL), near=near) == found[0]
    full = Scene(items=[star(a, b, Size.LARGE) for a, b in itertools.product((42, 128, 214), repeat=2)])
    assert free_place(full, star(0, 0, Size.LARGE)) is None


def test_all_colours_can_be_painted_and_told_apart() -> None:
    colours = [*INKS.values(), BACKGROUND, STRING]
    assert all(0 <= part <= 255 for colour in colours for part in colour)
    assert set(INKS) == set(Colour)
    assert all(math.dist(one, other) > 40 for one, other in itertools.combinations(colours, 2))


@for_each(
    ("shape", "area", "box"),  # in radii: the area, and how far the shape reaches up, down and to each side
    [
        (Shape.CIRCLE, math.pi, (1, 1, 1)),
        (Shape.TRIANGLE, 0.75 * 3**0.5, (1, 0.5, 0.75**0.5)),
        (Shape.SQUARE, 2, (0.5**0.5,) * 3),
        (Shape.DIAMOND, 2, (1, 1, 1)),
        (Shape.HEXAGON, 1.5 * 3**0.5, (0.75**0.5, 0.75**0.5, 1)),
        (Shape.STAR, 10 * 0.42 * math.sin(math.pi / 5) / 2, (1, math.cos(math.pi / 5), math.cos(math.pi / 10))),
        (Shape.CROSS, 8 * 0.36 - 4 * 0.36**2, (1, 1, 1)),
    ],
)
def test_shapes_are_those_of_geometry_upright_and_the_same_on_both_sides(
    shape: Shape, area: float, box: tuple[float, float, float]
) -> None:
    radius = 200
    mask = outline(shape, radius)
    assert mask.sum() / radius**2 == pytest.approx(area, rel=0.015)
    rows, columns = np.flatnonzero(mask.any(axis=1)) - radius, np.flatnonzero(mask.any(axis=0)) - radius
    reach = (-rows[0], rows[-1], columns[-1])
    assert tuple(each / radius for each in reach) == pytest.approx(box, abs=0.01)
    assert -columns[0] == pytest.approx(columns[-1], abs=1)
    assert (mask != mask[:, ::-1]).mean() < 0.01


@for_each(("texture", "band"), [(Texture.STRIPED, 4), (Texture.CHECKERED, 5)])
def test_stripes_and_checks_alternate_in_equal_bands(texture: Texture, band: int) -> None:
    found = pattern(texture, 40)
    assert found.shape == (81, 81)
    assert (found[:-band] != found[band:]).all()  # a band further down is the other colour
    assert (found[:, :-band] != found[:, band:]).all() == (texture == Texture.CHECKERED)
    assert (found[:, 1:] == found[:, :-1]).all() == (texture == Texture.STRIPED)
    assert not found[40 : 40 + band, 40 : 40 + band].any()  # the band below and right of the centre has the first colour
    for axis in (0, 1):
        changes = np.flatnonzero(np.diff(found, axis=axis).any(axis=1 - axis))
        assert set(np.diff(changes)) <= {band}


def test_dots_are_round_and_stand_in_a_grid_and_a_plain_object_has_one_colour() -> None:
    assert not pattern(Texture.PLAIN, 7).any()
    found = pattern(Texture.DOTTED, 40)
    assert (found[9:] == found[:-9]).all() and (found[:, 9:] == found[:, :-9]).all()
    dot = found[40:49, 40:49]
    assert {(y - 4, x - 4) for y, x in np.argwhere(dot)} == {
        (y, x) for y, x in itertools.product(range(-4, 5), repeat=2) if math.hypot(y, x) <= 2.5**0.5 * 1.62
    }


@for_each("colour", Colour)
def test_the_second_colour_is_halfway_to_white(colour: Colour) -> None:
    assert all(abs(2 * half - part - 255) <= 1 for half, part in zip(shade(colour), INKS[colour], strict=True))


@for_each(
    ("prompt", "picture", "explanation", "instruction"),
    [
        ("a star", "", "There is no star.", "Add a star."),
        ("two stars", "", "There are no stars, not two.", "Add two stars."),
        ("three stars", "*", "There is one star, not three.", "Add two stars."),
        ("two stars", "*", "There is one star, not two.", "Add a star."),
        ("two stars", "***", "There are three stars, not two.", "Remove one star."),
    ],
)
def test_a_wrong_number_is_told_with_what_is_there_and_what_was_asked_for(
    prompt: str, picture: str, explanation: str, instruction: str
) -> None:
    scene = Scene(items=[star(40 + 60 * place, 100) for place in range(len(picture))])
    claims = read_prompt(prompt)
    assert claims is not None
    [found] = findings(claims, scene)
    assert (found.explanation, found.instruction) == (explanation, instruction)


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

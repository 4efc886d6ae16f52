"""The draw editor: every verb changes exactly what it should, in the scene and in the pixels, and nothing ever raises."""

import asyncio
import hashlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_judges.editors import open_editor
from salon_synthetic import (
    Category,
    DrawEditor,
    Item,
    PromptDrawEditor,
    Scene,
    drawn,
    execute,
    findings,
    generate,
    imagine,
    perceive,
    png,
    read_instruction,
    read_prompt,
)
from salon_synthetic.draw_editor.editor import RULES
from salon_synthetic.scenes.composing import compose
from salon_synthetic.scenes.drawing import read_scene
from salon_synthetic.scenes.placing import free_places, strings_clear
from salon_synthetic.scenes.vocabulary import Relation
from salon_synthetic.scenes.wording import relation_phrase
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Editor, Media
from salon_taxonomy.records import CallStatus
from salon_taxonomy.testing import HOSTILE_REPLIES

SCENE = Scene(
    items=[
        Item(shape="star", colour="red", x=40, y=40),
        Item(shape="circle", colour="blue", size="small", x=128, y=50),
        Item(shape="circle", colour="blue", size="small", x=200, y=40),
        Item(shape="square", colour="green", texture="striped", x=100, y=170),
    ],
    ties=[(0, 3)],
)
MISALIGNED = [item for item in generate(18, seed=21) if item.findings]


def edit(instruction: str, scene: Scene = SCENE) -> Edit:
    return asyncio.run(DrawEditor().edit(Media.from_bytes(png(scene)), instruction))


def look(item: Item) -> tuple[str, ...]:
    return (item.size.value, item.texture.value, item.colour.value, item.shape.value)


def changes(instruction: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The looks that went and the looks that came, in the scene; the pixels must say the same."""
    made = edit(instruction)
    assert made.image is not None, made.error
    after = read_scene(made.image.data or b"")
    seen = perceive(drawn(after))
    assert sorted(map(look, seen.items)) == sorted(map(look, after.items))
    assert len(seen.ties) == len(after.ties)
    gone, came = [look(item) for item in SCENE.items], [look(item) for item in after.items]
    for one in list(gone):
        if one in came:
            gone.remove(one)
            came.remove(one)
    return gone, came


STAR = ("medium", "plain", "red", "star")
CIRCLE = ("small", "plain", "blue", "circle")
SQUARE = ("medium", "striped", "green", "square")


@for_each(
    ("instruction", "gone", "came"),
    [
        ("Add a large dotted pink cross.", [], [("large", "dotted", "pink", "cross")]),
        ("Please add two more yellow diamonds to the picture.", [], [("medium", "plain", "yellow", "diamond")] * 2),
        ("Draw a small red star above the green square", [], [("small", "plain", "red", "star")]),
        ("Remove the star.", [STAR], []),
        ("Delete all circles", [CIRCLE, CIRCLE], []),
        ("remove one of the blue circles", [CIRCLE], []),
        ("Make the star blue.", [STAR], [("medium", "plain", "blue", "star")]),
        ("Change the colour of the star from red to blue.", [STAR], [("medium", "plain", "blue", "star")]),
        ("Change the red star into a hexagon.", [STAR], [("medium", "plain", "red", "hexagon")]),
        ("Replace the star with a purple cross.", [STAR], [("medium", "plain", "purple", "cross")]),
        ("Make the star dotted.", [STAR], [("medium", "dotted", "red", "star")]),
        ("Turn the striped square plain", [SQUARE], [("medium", "plain", "green", "square")]),
        ("Make the star larger.", [STAR], [("large", "plain", "red", "star")]),
        ("Shrink the green square", [SQUARE], [("small", "striped", "green", "square")]),
        ("Make the circles red", [CIRCLE, CIRCLE], [("small", "plain", "red", "circle")] * 2),
        ("Change the number of circles to three", [], [("medium", "plain", "black", "circle")]),
        ("There should be exactly one blue circle.", [CIRCLE], []),
        ("Make the star blue. Remove the square.", [STAR, SQUARE], [("medium", "plain", "blue", "star")]),
        ("Remove the star and add a pink star", [STAR], [("medium", "plain", "pink", "star")]),
        ("Move the star to the right of the square.", [], []),
        ("Swap the star and the green square.", [], []),
        ("Untie the star from the square.", [], []),
        ("Tie the square to the circle.", [], []),
    ],
)
def test_an_instruction_changes_the_looks_that_it_names_and_no_others(instruction: str, gone: list, came: list) -> None:
    assert changes(instruction) == (gone, came)


def scene_after(instruction: str) -> Scene:
    made = edit(instruction)
    assert made.image is not None, made.error
    return read_scene(made.image.data or b"")


@pytest.mark.parametrize("side", ["to the left of", "to the right of", "above", "below"])
def test_a_move_changes_the_place_and_nothing_else(side: str) -> None:
    after = scene_after(f"Move the star {side} the green square.")
    assert [item for item in after.items if item.shape != "star"] == list(SCENE.items[1:])
    assert findings(read_prompt(f"a star {side} a green square") or (), after) == ()
    assert after.ties == SCENE.ties


def test_a_move_towards_a_side_goes_there() -> None:
    assert scene_after("Move the star to the right").items[0].x > SCENE.items[0].x
    assert scene_after("Shift the square upwards").items[3].y < SCENE.items[3].y


def test_two_of_a_kind_are_tied_to_each_other_and_one_alone_is_not() -> None:
    assert scene_after("Tie the circle to the circle.").ties == ((0, 3), (1, 2))
    for instruction in ("Tie the star to the star.", "Swap the green square and the green square."):
        assert "only 1" in (edit(instruction).error or "")


def test_strings_come_and_go() -> None:
    assert scene_after("Untie the star.").ties == ()
    assert scene_after("Connect the circle with the square").ties == ((0, 3), (2, 3))
    assert scene_after("Remove the star.").ties == ()


@for_each("item", MISALIGNED)
def test_the_reference_instruction_mends_the_picture_as_the_pixels_show(item) -> None:
    claims = read_prompt(item.prompt) or ()
    made = edit(item.edit_prompt, item.shown)
    assert made.image is not None, made.error
    after = read_scene(made.image.data or b"")
    assert findings(claims, after) == ()
    assert findings(claims, perceive(drawn(after))) == ()


WORDS = "add remove make move swap tie the a two all red blue star circle square striped large into to and above of left prompt"
PARTS = st.sampled_from(WORDS.split())


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS, max_size=9).map(" ".join), st.sampled_from(MISALIGNED))
def test_any_sentence_leaves_a_sound_scene_or_a_reason(instruction: str, item) -> None:
    made = edit(instruction, item.shown)
    if made.image is None:
        assert made.status == CallStatus.REJECTED
        assert made.error
        return
    after = read_scene(made.image.data or b"")
    assert strings_clear(after)
    for place, one in enumerate(after.items):
        assert one.clear_of(after.items[:place] + after.items[place + 1 :])


@pytest.mark.parametrize(
    ("instruction", "why"),
    [
        ("Remove the horse.", "not understood"),
        ("Rewrite the prompt to say blue.", "not understood"),
        ("Remove the purple star.", "shows none of"),
        ("Remove three circles.", "shows only 2"),
        ("Make the star small and add 40 small circles", "at most 32"),
        ("Make the circle smaller", "small already"),
        ("Untie the circle.", "no string"),
        ("Swap the star and the star.", "only 1"),
        ("Add 30 large circles.", "no room"),
        ("", "0 commands"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(instruction: str, why: str) -> None:
    made = edit(instruction)
    assert made.status == CallStatus.REJECTED
    assert why in (made.error or "")
    assert made.problem() is not None


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_instruction_is_refused(text: str) -> None:
    assert edit(text).status == CallStatus.REJECTED


@pytest.mark.parametrize("data", [b"", b"GIF89a", png(SCENE)[:100]])
def test_a_picture_without_a_scene_is_refused(data: bytes) -> None:
    made = asyncio.run(DrawEditor().edit(Media.from_bytes(data), "Add a star."))
    assert made.status == CallStatus.REJECTED
    gone = asyncio.run(DrawEditor().edit(Media("0" * 64, uri="/no/such.png"), "Add a star."))
    assert gone.status == CallStatus.REJECTED


def test_an_instruction_is_done_whole_or_not_at_all() -> None:
    with pytest.raises(InputError, match="none of: purple star"):
        execute(SCENE, read_instruction("Make the star blue. Remove the purple star."))
    assert edit("Make the star blue. Remove the purple star.").image is None


ORDERS = (
    "Add a large dotted pink cross.",
    "Add three small stars to the left of the green square.",
    "Add four large squares.",
    "Remove the circle. Untie the star.",
    "Make the star larger.",
    "Change the circle into a hexagon.",
    "Move the star to the right of the green square.",
    "Move the circle to the left.",
    "Move the green square above the star.",
    "Swap the star and the circle.",
    "Tie the green square to the circle.",
    "There should be exactly five stars.",
)


def test_an_instruction_gives_the_same_scene_while_the_rules_have_their_name() -> None:
    """Other scenes need another name of the rules: an editor's version is a digest of it."""
    whole = hashlib.sha256()
    for scene in (SCENE, *(item.shown for item in MISALIGNED[::5])):
        for order in (*ORDERS, *(item.edit_prompt for item in MISALIGNED[::5])):
            commands = read_instruction(order)
            try:
                whole.update(execute(scene, commands).model_dump_json().encode())
            except InputError as error:
                whole.update(str(error).encode())
    assert (RULES, whole.hexdigest()[:8]) == ("draw-1", "966cf3b6")


def test_the_same_edit_makes_the_same_bytes() -> None:
    assert edit("Add two circles.").image == edit("Add two circles.").image


def test_the_editor_keeps_the_contract_and_is_opened_by_name() -> None:
    assert isinstance(open_editor("draw:", {}), Editor)
    assert open_editor("draw", {}).version == DrawEditor.version


@given(st.integers(0, 7), st.integers(0, 2**32), st.floats(0, 1))
def test_what_is_drawn_anew_is_always_a_scene_that_can_be_seen(number, seed, slips):
    composition = compose(list(Category)[number], random.Random(seed))
    scene = imagine(composition.prompt, seed=seed, slips=slips)
    assert imagine(composition.prompt, seed=seed, slips=slips) == scene
    assert len(scene.items) <= 10
    assert all(item.clear_of(scene.items[:place]) for place, item in enumerate(scene.items))
    if slips == 0:
        assert findings(composition.claims, scene) == ()


def test_more_slips_show_less_of_the_prompt():
    prompts = [compose(category, random.Random(number)) for category in Category for number in range(6)]
    right = [sum(not findings(each.claims, imagine(each.prompt, slips=slips)) for each in prompts) for slips in (0, 0.15, 0.9)]
    assert right[0] == len(prompts) > right[1] > right[2]


def test_a_prompt_is_drawn_anew_and_an_instruction_carried_out():
    editor = PromptDrawEditor(slips=0)
    asked = "A red star to the left of a blue circle."
    made = [asyncio.run(editor.edit(Media.from_bytes(b"no scene"), asked, seed=seed)).image.data for seed in (0, 0, 1)]
    assert made[0] == made[1] != made[2]
    assert findings(read_prompt(asked), perceive(drawn(read_scene(made[2])))) == ()
    changed = asyncio.run(editor.edit(Media.from_bytes(made[0]), "Make the star green."))
    assert {item.colour.value for item in read_scene(changed.image.data).items} == {"green", "blue"}


@for_each("asked", [*HOSTILE_REPLIES, "Eleven red stars.", "A cheerful mood."])
def test_what_is_neither_prompt_nor_instruction_is_refused(asked):
    edit = asyncio.run(PromptDrawEditor().edit(Media.from_bytes(b"no scene"), asked))
    assert (edit.status, edit.image) == (CallStatus.REJECTED, None)


@pytest.mark.parametrize(
    "text", ["draw:prompt,slips=2", "draw:prompt,slips=x", "draw:prompt,", "draw:prompt,size=3", "draw:prompt,slips=nan"]
)
def test_a_chance_that_is_none_is_refused(text):
    with pytest.raises(InputError, match=r"slips|unknown word"):
        open_editor(text, {})


def test_editors_with_other_slips_are_other_editors():
    assert len({open_editor(text, {}).version for text in ("draw", "draw:prompt", "draw:prompt,slips=0.5")}) == 3
    assert open_editor("draw:prompt,slips=0.5", {}).name == "draw:prompt,slips=0.5"


@pytest.mark.parametrize("text", ["", "paint:", "draw:fast", "replay:", "diffusers:", "llama.cpp:x"])
def test_an_unknown_editor_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="no such editor"):
        open_editor(text, {})


@for_each("side", [Relation.LEFT, Relation.RIGHT, Relation.ABOVE, Relation.BELOW])
@for_each("anchor", [SCENE.items[0], SCENE.items[3]])
def test_an_added_object_goes_to_the_nearest_free_place_half_as_far_again_along_its_side_as_across(
    anchor: Item, side: Relation
) -> None:
    cross = Item(shape="cross", colour="pink", size="small", x=0, y=0)
    wanted = None
    for place in free_places(SCENE, cross, near=(anchor.x, anchor.y)):
        across, along = sorted((abs(place.x - anchor.x), abs(place.y - anchor.y)))
        if place.stands(side, anchor) and 2 * along >= 3 * across:
            wanted = place
            break
    words = f"Add a small pink cross {relation_phrase(side)} the {anchor.colour} {anchor.shape}"
    commands = read_instruction(words)
    assert commands is not None, words
    if wanted is None:
        with pytest.raises(InputError, match="no room"):
            execute(SCENE, commands)
    else:
        assert execute(SCENE, commands).items == (*SCENE.items, wanted)

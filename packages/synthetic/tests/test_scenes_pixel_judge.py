"""The pixel judge: it sees, it can be weakened, it never looks at the truth, and it never raises."""

import asyncio
import hashlib
import json
from io import BytesIO

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from for_each import for_each
from salon_console import main
from salon_judges.clients import open_judge, read_settings, restore_settings
from salon_synthetic import Category, Eyes, Item, PixelJudge, PixelSettings, Scene, drawn, generate, measured, perceive, png
from salon_synthetic.pixel_judge.areas import Area, areas
from salon_synthetic.pixel_judge.settings import RULES
from salon_synthetic.pixel_judge.vision import _seen
from salon_synthetic.scenes.claims import holds
from salon_synthetic.scenes.equivalence import same_mismatch
from salon_synthetic.scenes.reading import read_question
from salon_synthetic.scenes.vocabulary import Texture
from salon_taxonomy.answers import Parsed, parse_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Media, Question, Reply
from salon_taxonomy.records import CallStatus, MediaKind
from salon_taxonomy.testing import HOSTILE_REPLIES

SCENE = Scene(
    items=[
        Item(shape="star", colour="red", x=60, y=60),
        Item(shape="circle", colour="blue", texture="striped", size="large", x=180, y=70),
        Item(shape="square", colour="green", size="small", x=70, y=190),
    ],
    ties=[(0, 1)],
)
REFLECT = 'Answer with {"answer": …, "explanation": …, "edit_prompt": …} about this prompt:\n<data>\n%s\n</data>'


SEEN = {
    (256, 0.0, False): "f468ff1c",
    (96, 0.0, False): "b46efc3f",
    (256, 2.5, False): "cc27ce2b",
    (128, 1.0, True): "63aebc90",
}
"""By width, blur and colour blindness: the digest of what is seen of some scenes."""


def ask(*parts: str | Media, judge: Judge | None = None, **options: object) -> Reply:
    return asyncio.run((judge or PixelJudge()).ask(Question(parts, **options)))


def picture(scene: Scene = SCENE) -> Media:
    return Media.from_bytes(png(scene))


def looks(scene: Scene) -> list[tuple[str, ...]]:
    return sorted((item.shape.value, item.colour.value, item.texture.value, item.size.value) for item in scene.items)


# ---------------------------------------------------------------------------------------------------------------- vision


@for_each("eyes", list(SEEN))
def test_the_same_is_seen_while_the_rules_have_their_name(eyes: tuple[int, float, bool]) -> None:
    """Other eyes need another name of the rules: a judge's version is a digest of it."""
    items = [item for category in Category for item in generate(2, seed=9, categories=[category])]
    whole = hashlib.sha256()
    for item in items:
        whole.update(perceive(drawn(item.shown), Eyes(*eyes)).model_dump_json().encode())
    textures = [Item(shape="hexagon", colour="blue", texture=texture, size="large", x=40 + 55 * number, y=128)
                for number, texture in enumerate(Texture)]  # fmt: skip
    whole.update(perceive(drawn(Scene(items=textures)), Eyes(*eyes)).model_dump_json().encode())
    assert (RULES, whole.hexdigest()[:8]) == ("pixels-1", SEEN[eyes])


@for_each(
    ("size", "width", "seen"),
    [((256, 3), 64, (64, 1)), ((3, 256), 64, (1, 64)), ((300, 100), 90, (90, 30)), ((8, 4), 16, (16, 8))],
)
def test_a_picture_keeps_its_proportions_and_a_pixel_of_its_shorter_side(size, width, seen) -> None:
    assert _seen(Image.new("RGB", size), Eyes(width)).shape == (seen[1], seen[0], 3)


@for_each(("column", "least", "most"), [("width", 8, 256), ("blur", 0, 32)])
def test_eyes_see_within_their_ranges_and_no_others_are_made(column: str, least: int, most: int) -> None:
    assert [getattr(Eyes(**{column: value}), column) for value in (least, most)] == [least, most]
    for value in (least - 1, most + 0.5):
        with pytest.raises(InputError, match=f"between {least} and {most}") as raised:
            Eyes(**{column: value})
        assert raised.value.column == column


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**31))
def test_areas_are_those_that_a_flood_fill_finds(height: int, width: int, seed: int) -> None:
    mask = np.random.default_rng(seed).random((height, width)) < 0.6
    labels, found = areas(mask)
    expected, number = np.zeros(mask.shape, int), 0
    for start in np.ndindex(*mask.shape):
        if not mask[start] or expected[start]:
            continue
        number, reached = number + 1, [start]
        while reached:
            y, x = reached.pop()
            if 0 <= y < height and 0 <= x < width and mask[y, x] and not expected[y, x]:
                expected[y, x] = number
                reached += [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
    assert (labels == expected).all() and len(found) == number
    for area in found:
        rows, columns = np.nonzero(expected == area.label)
        assert area == Area(area.label, len(rows), rows.min(), rows.max() + 1, columns.min(), columns.max() + 1)


@for_each("item", list(generate(6, seed=2)))
def test_sharp_eyes_see_every_object_of_a_drawn_scene(item) -> None:
    seen = perceive(drawn(item.shown))
    assert looks(seen) == looks(item.shown)
    assert len(seen.ties) == len(item.shown.ties)
    for thing in seen.items:
        nearest = min(abs(thing.x - other.x) + abs(thing.y - other.y) for other in item.shown.items)
        assert nearest <= 6


@for_each("shape", ["circle", "cross", "diamond"])
@for_each("size", ["small", "medium", "large"])
def test_sharp_eyes_see_an_object_of_four_equal_sides_where_it_is(shape: str, size: str) -> None:
    for x, y in ((60, 60), (61, 131), (200, 77)):
        [seen] = perceive(drawn(Scene(items=[Item(shape=shape, colour="blue", size=size, x=x, y=y)]))).items
        assert (seen.shape, seen.size, seen.x, seen.y) == (shape, size, x, y)


def test_what_is_seen_comes_from_the_pixels_and_not_from_the_truth_in_the_file() -> None:
    from PIL.PngImagePlugin import PngInfo

    chunks = PngInfo()
    chunks.add_text("salon-scene", Scene().model_dump_json())
    stream = BytesIO()
    drawn(SCENE).save(stream, "PNG", pnginfo=chunks)
    lying = Media.from_bytes(stream.getvalue())
    assert ask(lying, "Is there a red star?").text.startswith("Yes")
    bare = BytesIO()
    drawn(SCENE).save(bare, "PNG")
    question = "Is there a red star?\nIs the circle striped?"
    assert ask(Media.from_bytes(bare.getvalue()), question).text == ask(picture(), question).text


def test_a_jpeg_of_another_size_is_seen_as_well() -> None:
    stream = BytesIO()
    drawn(SCENE).resize((512, 512), Image.Resampling.NEAREST).save(stream, "JPEG", quality=95)
    seen = perceive(Image.open(stream))
    assert [(shape, colour) for shape, colour, _, _ in looks(seen)] == [(s, c) for s, c, _, _ in looks(SCENE)]


@for_each("scene", [SCENE, Scene(items=SCENE.items), *(item.shown for item in generate(1, seed=7))])
def test_the_colour_blind_see_what_is_there_and_no_difference_between_red_and_green(scene: Scene) -> None:
    image, blind = drawn(scene), Eyes(colour_blind=True)
    red, green, blue = image.split()
    seen = perceive(image, blind)
    assert perceive(Image.merge("RGB", (green, red, blue)), blind) == seen
    if not scene.ties:  # a string may look like what it is tied to
        assert [(item.x, item.y) for item in seen.items] == [(item.x, item.y) for item in perceive(image).items]


@for_each("near", [106, 108, 109, 110, 111])
def test_a_string_joins_the_two_objects_that_it_touches_most(near: int) -> None:
    ends = [Item(shape="circle", colour="blue", x=x, y=128) for x in (40, 216)]
    beside = Item(shape="circle", colour="red", size="small", x=128, y=near)  # at most it grazes the string
    seen = perceive(drawn(Scene(items=[*ends, beside], ties=[(0, 1)])))
    assert seen.items[0].colour == "red"
    assert seen.ties == ((1, 2),)


@for_each("size", [(512, 512), (100, 100), (64, 64), (300, 150), (150, 300)])
def test_narrow_eyes_see_what_is_seen_of_the_shrunk_picture(size: tuple[int, int]) -> None:
    image = drawn(SCENE).resize(size, Image.Resampling.BOX if size[0] < 256 else Image.Resampling.NEAREST)
    for width in (32, 64, 100):
        across, down = (max(1, side * width // max(size)) for side in size)
        shrunk = image.resize((across, down), Image.Resampling.BOX if max(size) > width else Image.Resampling.NEAREST)
        assert perceive(image, Eyes(width)) == perceive(shrunk, Eyes(width))
        blurred = shrunk.filter(ImageFilter.GaussianBlur(1))
        assert perceive(image, Eyes(width, blur=1)) == perceive(blurred, Eyes(width))
        for item in perceive(shrunk, Eyes(width)).items:
            assert 0 <= item.x <= 256 and 0 <= item.y <= 256


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from([Eyes(), Eyes(8), Eyes(64, 2.0, True)])
)
def test_noise_of_any_size_is_seen_as_something_or_nothing(width: int, height: int, seed: int, eyes: Eyes) -> None:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    assert len(perceive(Image.fromarray(noise), eyes).items) <= 32


# --------------------------------------------------------------------------------------------------------------- answers


def test_questions_are_answered_line_by_line_in_their_order() -> None:
    lines = [
        "Look at it.",
        "<data>",
        "1. Is the star red?",
        "2. Is the star blue?",
        "Is the star tied to the circle?",
        "</data>",
    ]
    text = "\n".join([*lines, "Ready?"])
    assert [line[:3] for line in ask(picture(), text).text.splitlines()] == ["Yes", "No,", "Yes"]


def test_a_question_beyond_its_words_is_answered_with_neither_yes_nor_no() -> None:
    lines = ask(picture(), "Is the star red?\nIs the mood cheerful?").text.splitlines()
    assert lines[0].startswith("Yes")
    assert not lines[1].lower().startswith(("yes", "no"))


def test_a_reflection_follows_the_grammar_and_names_what_is_wrong() -> None:
    outcome = parse_r3(ask(picture(), REFLECT % "A blue star and a green square.").text)
    assert isinstance(outcome, Parsed)
    assert not outcome.answer.matches
    assert outcome.answer.explanation == "The star is red, not blue."
    assert outcome.answer.edit_prompt == "Make the red star blue."
    right = parse_r3(ask(picture(), REFLECT % "A red star tied to a striped blue circle.").text)
    assert isinstance(right, Parsed)
    assert right.answer.matches


@for_each("prompt", ["a horse in the rain", "", *HOSTILE_REPLIES])
def test_a_prompt_that_is_not_understood_gets_no_verdict(prompt: str) -> None:
    assert not isinstance(parse_r3(ask(picture(), REFLECT % prompt).text), Parsed)


def test_explanations_are_compared_in_the_form_that_is_asked_for() -> None:
    texts = (
        "<data>\na blue star\n</data><data>\nThe star is red, not blue.\n</data><data>\nIt shows a red star, not blue.\n</data>"
    )
    assert ask(texts).text.startswith("Yes")
    assert json.loads(ask(f'Answer with {{"is_correct": true/false, "reasoning": "why"}}\n{texts}').text)["is_correct"] is True
    schema = {"type": "object", "properties": {"why": {"type": "string"}, "same": {"type": "boolean"}}}
    assert json.loads(ask(texts, response_schema=schema).text)["same"] is True


def test_the_form_of_an_answer_may_be_asked_for_by_the_system_message() -> None:
    data = "<data>\nA blue star.\n</data>"
    form = REFLECT.partition(" about")[0]
    assert ask(picture(), data, system=form).text == ask(picture(), f"{form}\n{data}").text
    assert isinstance(parse_r3(ask(picture(), data, system=form).text), Parsed)
    assert not isinstance(parse_r3(ask(picture(), data, system="Be brief.").text), Parsed)
    texts, form = f"{data}<data>\nA red star.\n</data>", 'Answer with {"alike": true/false, "why": "…"}'
    assert ask(texts, system=form).text == ask(f"{form}\n{texts}").text
    assert json.loads(ask(texts, system=form).text).keys() == {"alike", "why"}
    assert ask(texts).text.startswith(("Yes.", "No."))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The star is red, not blue.", "The star is red, not blue.", True),
        ("The star is red, not blue.", "A blue star was asked for, the star should be blue but is red.", True),
        ("The star is red, not blue.", "The star is red, not green.", False),
        ("The star is red, not blue.", "The circle is green, not blue.", False),
        ("The star is red, not blue.", "The star is red, not blue. There is no circle.", False),
        ("There are two stars, not three.", "There are two stars, not four.", False),
        ("The star is to the left of the circle, not to the right of it.", "The star is not to the right of the circle.", True),
        ("", "", False),
        ("The star is red, not blue.", "It looks odd.", False),
    ],
)
def test_two_explanations_are_alike_when_all_their_mismatches_are(one: str, other: str, same: bool) -> None:
    assert same_mismatch(one, other) is same
    assert same_mismatch(other, one) is same


@for_each("text", HOSTILE_REPLIES)
def test_hostile_texts_never_raise(text: str) -> None:
    media = picture()
    assert ask(media, text or " ").status == CallStatus.OK
    assert ask(f"<data>\n{text}\n</data><data>\n{text}\n</data>").status == CallStatus.OK


@pytest.mark.parametrize("data", [b"", b"no picture", png(SCENE)[:200]])
def test_a_picture_that_cannot_be_read_is_no_answer(data: bytes) -> None:
    reply = ask(Media.from_bytes(data), "Is the star red?")
    assert reply.status == CallStatus.REJECTED
    assert reply.problem() is not None
    assert ask(Media("0" * 64, uri="/no/such/file.png"), "Is the star red?").status == CallStatus.REJECTED
    assert ask(Media.from_bytes(b"x", MediaKind.VIDEO), "Is the star red?").status == CallStatus.REJECTED


# ------------------------------------------------------------------------------------------------------------- strengths


def right_answers(*settings: PixelSettings) -> list[int]:
    items = list(generate(6, seed=4))
    return [sum(row.answers for row in asyncio.run(measured(PixelJudge(one), items))) for one in settings]


@pytest.mark.slow  # simulated judges
def test_weaker_eyes_are_right_less_often_and_sharp_ones_nearly_always() -> None:
    sharp, hazy, dim = right_answers(PixelSettings(), PixelSettings(blur=2), PixelSettings(blur=4))
    total = sum(len(item.questions) for item in generate(6, seed=4))
    assert sharp >= 0.98 * total
    assert sharp > hazy > dim


def test_a_colour_blind_judge_mistakes_colours() -> None:
    rows = asyncio.run(
        measured(PixelJudge(PixelSettings(colour_blind=True)), generate(30, seed=4, categories=[Category.COLOR]))
    )
    assert rows[0].answers < rows[0].questions
    assert rows[0].unread == 0


# ---------------------------------------------------------------------------------------------------------------- naming


def test_a_specification_opens_the_judge_with_its_eyes() -> None:
    assert isinstance(open_judge("pixels:", {}), Judge)
    settings = read_settings("pixels:width=64,blur=1.5,colour_blind")
    assert settings.eyes == Eyes(64, 1.5, True)
    assert settings.title == "pixels:width=64,blur=1.5,colour_blind"
    assert restore_settings(settings.model_dump(mode="json")) == settings
    assert settings.version != read_settings("pixels:").version


@pytest.mark.parametrize(
    "text", ["pixels:sharp", "pixels:width", "pixels:width=a", "pixels:width=4", "pixels:blur=99", "pixels:blur=nan"]
)
def test_wrong_eyes_are_an_error(text: str) -> None:
    with pytest.raises(InputError):
        read_settings(text)


def test_the_command_prints_counts_per_category() -> None:
    arguments = ["synthetic", "scenes", "accuracy", "--per-category", "3", "--category", "numeracy", "--format", "json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    [row] = json.loads(result.stdout)
    assert (row["category"], row["items"], row["verdicts"], row["explained"], row["misaligned"]) == ("numeracy", 3, 3, 2, 2)
    assert CliRunner().invoke(main, ["synthetic", "scenes", "accuracy", "--judge", "nothing:"]).exit_code == 2


class Fixed(Judge):
    """Answers every reflection and every list of questions with one text each."""

    name = version = "fixed"

    def __init__(self, reflection: str, answer: str) -> None:
        self.reflection, self.answer = reflection, answer

    async def ask(self, question: Question) -> Reply:
        asked = next(part for part in question.parts if isinstance(part, str))
        rows = asked.partition("<data>")[2].partition("</data>")[0].strip().splitlines()
        text = self.reflection if "original" in asked or "explanation" in asked else "\n".join(self.answer for _ in rows)
        return Reply(text, CallStatus.OK, self.version)

    async def close(self) -> None: ...


def test_the_counts_of_accuracy_are_those_of_the_items() -> None:
    items = list(generate(3, seed=3, categories=[Category.COLOR, Category.NUMERACY]))

    def counts(reflection: str, answer: str) -> dict[str, int]:
        rows = asyncio.run(measured(Fixed(reflection, answer), items))
        assert [row.category for row in rows] == [Category.COLOR, Category.NUMERACY]
        return {
            name: sum(getattr(row, name) for row in rows)
            for name in ("items", "verdicts", "explained", "misaligned", "questions", "answers", "unread")
        }

    asked = [read_question(question) for item in items for question in item.questions]
    shown = [item.shown for item in items for _ in item.questions]
    yes = sum(holds(claim, scene) for claim, scene in zip(asked, shown, strict=True) if claim is not None)
    whole = {"items": 6, "misaligned": 4, "questions": len(asked)}
    wrong = '{"answer": false, "explanation": "The star is blue, not red.", "edit_prompt": "Make it red."}'
    right = '{"answer": true, "explanation": "", "edit_prompt": ""}'
    assert counts("prose", "") == {**whole, "verdicts": 0, "explained": 0, "answers": 0, "unread": 12}
    assert counts(wrong, "Yes.") == {**whole, "verdicts": 4, "explained": 0, "answers": yes, "unread": 0}
    assert counts(right, "no") == {**whole, "verdicts": 2, "explained": 0, "answers": len(asked) - yes, "unread": 0}

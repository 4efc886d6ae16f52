"""The refiner's small world: exact truth, a teacher whose habits have the shares they say, and a measure that hostile replies
cannot fool."""

import random

import pytest

from for_each import for_each
from salon_rewards import illusory
from salon_synthetic.scenes.claims import holds
from salon_synthetic.scenes.reading import read_question
from salon_taxonomy.answers import Parsed, parse_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.refiner import Habits, draw_small_scenes, teacher_reply
from studies.refiner.scene_evaluation import evaluate_replies

ITEMS = list(draw_small_scenes(200, seed=1))


def replies(habits: Habits) -> list[str]:
    generator = random.Random(0)
    return [teacher_reply(item, habits, generator) for item in ITEMS]


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_reply_to_every_item_scores_nothing(text):
    found = evaluate_replies(ITEMS[:5], [text] * 5)
    assert (found.s_ref, found.s_rect, found.verdict, found.unparsed) == (0.0, 0.0, 0.0, 5)
    assert found.illusory is None


def test_a_teacher_without_habits_is_right_about_everything():
    found = evaluate_replies(ITEMS, replies(Habits()))
    assert (found.s_ref, found.s_rect, found.verdict, found.illusory, found.refused) == (1.0, 1.0, 1.0, 0.0, 0.0)


def test_an_evasive_teacher_sees_everything_and_mends_nothing():
    found = evaluate_replies(ITEMS, replies(Habits(evasive_colours=1, evasive_shapes=1)))
    assert (found.s_ref, found.s_rect, found.illusory) == (1.0, 0.0, 1.0)


def test_a_careless_teacher_mends_nothing_and_does_not_evade():
    found = evaluate_replies(ITEMS, replies(Habits(careless=1)))
    assert found.s_ref == 1.0
    assert found.illusory == 0.0
    assert abs(found.s_rect) < 0.05  # a question about what was not asked for may be answered by luck


def test_habits_show_as_often_as_they_say():
    said = [parse_r3(text) for text in replies(Habits(overlooked_shapes=0.5, evasive_colours=0.25))]
    wrong = [(item, each.answer) for item, each in zip(ITEMS, said, strict=True) if item.findings and isinstance(each, Parsed)]
    shapes = [answer.matches for item, answer in wrong if item.category == "shape"]
    colours = [illusory(answer.edit_prompt) is not None for item, answer in wrong if item.category == "color"]
    assert 0.35 < sum(shapes) / len(shapes) < 0.65
    assert 0.1 < sum(colours) / len(colours) < 0.4


def test_a_share_out_of_its_range_is_refused():
    with pytest.raises(InputError, match="careless"):
        Habits(careless=1.5)


def test_every_misaligned_item_has_one_finding_and_targets_answer_every_question_rightly():
    for item in ITEMS:
        assert len(item.findings) == (item.shown != item.target)
        claims = [read_question(question) for question in item.questions]
        assert tuple(holds(claim, item.target) for claim in claims if claim) == item.answers


def test_the_same_seed_draws_the_same_items_and_longer_draws_begin_alike():
    assert list(draw_small_scenes(20, seed=1)) == ITEMS[:20]
    assert list(draw_small_scenes(20, seed=2)) != ITEMS[:20]


def test_nothing_to_rectify_is_an_error():
    aligned = list(draw_small_scenes(3, seed=1, misaligned=0))
    with pytest.raises(InputError, match="misaligned"):
        evaluate_replies(aligned, ["", "", ""])

"""The drawn world: what is promised of every picture, whatever is planted in it."""

import io

import pytest
from PIL import Image

from salon_taxonomy.errors import InputError
from salon_train.world import BALANCES, KINDS, Balance, Difficulty, consistent, draw_examples


def test_a_picture_depends_on_its_seed_and_number_alone():
    whole = list(draw_examples(12, seed=3, balance="even"))
    assert list(draw_examples(5, seed=3, balance="even")) == whole[:5]
    assert list(draw_examples(4, seed=3, balance="even", start=8)) == whole[8:]
    assert next(draw_examples(1, seed=4, balance="even")) != whole[0]


@pytest.mark.parametrize("name", list(KINDS))
@pytest.mark.parametrize("level", [0.0, 1.0])
def test_every_kind_is_drawn_with_its_label_and_a_sentence_that_supports_it(name, level):
    difficulty = Difficulty.level(level)
    (wrong,) = draw_examples(1, seed=1, difficulty=difficulty, balance=Balance({name: 1}, artifact_share=1))
    (right,) = draw_examples(1, seed=1, difficulty=difficulty, balance=Balance({name: 1}, artifact_share=0))
    assert KINDS[name].artifact in wrong.truth.artifacts
    assert right.truth.normal
    assert consistent(wrong.reasoning, wrong.truth)
    assert consistent(right.reasoning, right.truth)
    assert not consistent(right.reasoning, wrong.truth)
    assert not consistent(wrong.reasoning, right.truth)
    assert wrong.image != right.image
    assert Image.open(io.BytesIO(wrong.image)).size == (64, 64)


@pytest.mark.parametrize("balance", BALANCES)
def test_every_balance_plants_the_share_of_artifacts_that_it_says(balance):
    examples = list(draw_examples(300, seed=5, size=16, balance=balance))
    share = sum(not example.truth.normal for example in examples) / len(examples)
    assert abs(share - BALANCES[balance].artifact_share) < 0.1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"count": -1}, "count"),
        ({"count": 1, "start": -1}, "start"),
        ({"count": 1, "size": 8}, "size"),
        ({"count": 1, "balance": "odd"}, "balance"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_is_drawn(arguments, named):
    with pytest.raises(InputError) as raised:
        draw_examples(**{"seed": 1, **arguments})
    assert raised.value.column == named

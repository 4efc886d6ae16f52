"""Photographs with planted damage."""

import io

import numpy as np
import pytest
from PIL import Image

from for_each import for_each
from salon_synthetic.artifacts import ALL_KINDS, PHOTOGRAPHS, consistent, damage, damaged_photographs, photographs
from salon_taxonomy.errors import InputError

DAMAGES = [(name, number) for name, photograph in PHOTOGRAPHS.items() for number in range(len(photograph.damages))]


def pixels(example):
    return np.asarray(Image.open(io.BytesIO(example.image))).astype(int)


def test_a_picture_depends_on_its_seed_and_number_alone():
    whole = list(damaged_photographs(10, seed=3))
    assert list(damaged_photographs(4, seed=3)) == whole[:4]
    assert list(damaged_photographs(3, seed=3, start=7)) == whole[7:]
    assert next(damaged_photographs(1, seed=4)) != whole[0]


@for_each(("name", "number"), DAMAGES)
@for_each("subtlety", [0.0, 1.0])
def test_every_damage_is_seen_and_labelled(name, number, subtlety, monkeypatch):
    one = photographs.Photograph(PHOTOGRAPHS[name].file, PHOTOGRAPHS[name].prompt, (PHOTOGRAPHS[name].damages[number],))
    monkeypatch.setattr(photographs, "PHOTOGRAPHS", {name: one})
    for seed in range(3):
        settings = {"seed": seed, "subtlety": subtlety, "photographs": [name]}
        (wrong,) = damaged_photographs(1, artifact_share=1, **settings)
        (right,) = damaged_photographs(1, artifact_share=0, **settings)
        assert wrong.truth.artifacts == (ALL_KINDS[one.damages[0].kind].artifact,)
        assert consistent(wrong.reasoning, wrong.truth)
        assert consistent(right.reasoning, right.truth)
        assert (np.abs(pixels(wrong) - pixels(right)).max(2) > 25).sum() >= 20  # of 64 × 64


def test_thousands_of_pictures_are_distinct():
    examples = list(damaged_photographs(600, seed=1, size=16))
    assert len({example.image for example in examples}) > 590
    assert len({example.truth for example in examples}) > 4


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"count": -1}, "count"),
        ({"size": 4}, "size"),
        ({"subtlety": 2}, "subtlety"),
        ({"artifact_share": -0.1}, "artifact_share"),
        ({"photographs": ["mona-lisa"]}, "photographs"),
        ({"photographs": []}, "photographs"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_is_read(arguments, named):
    with pytest.raises(InputError) as raised:
        damaged_photographs(**{"count": 1, "seed": 1, **arguments})
    assert raised.value.column == named


def test_a_machine_without_scikit_image_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(photographs, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"uv pip install './packages/synthetic\[photographs\]'"):
        damaged_photographs(1, seed=1)


def test_damage_stays_where_it_was_planted():
    plain = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    spot, radii = (40, 30), (12, 9)
    for changed in (
        damage.put_patch(plain, plain, (10, 10), spot, radii),
        damage.smear(plain, spot, radii),
        damage.swirl(plain, spot, 9, 0.2),
        damage.shade(plain, spot, radii, 0.5),
    ):
        differs = (changed != plain).any(2)
        assert differs.any()
        assert not differs[:20].any() and not differs[40:].any() and not differs[:, :27].any() and not differs[:, 53:].any()
    shoved = damage.shove(plain, (10, 10, 20, 20), (5, 0))
    assert (shoved[10:20, 15:25] == plain[10:20, 10:20]).all()
    assert (damage.put_patch(plain, plain, spot, spot, radii) == plain).all()


def test_damage_at_an_edge_of_a_photograph_is_cut_off_there():
    plain = np.random.default_rng(0).integers(0, 256, (30, 30, 3), dtype=np.uint8)
    for spot in ((0, 0), (29, 29), (0, 15)):
        assert damage.smear(plain, spot, (8, 8)).shape == plain.shape
        assert damage.swirl(plain, spot, 8, 0.3).shape == plain.shape
        assert damage.put_patch(plain, plain, (15, 15), spot, (8, 8)).shape == plain.shape

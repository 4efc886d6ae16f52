"""Small test videos that Salon draws itself: clean, with one of four kinds of artifact, or of shots with cuts between.

A sun stands over a meadow and a ball rolls across it. In ``flicker`` the light jumps from frame to frame, in ``pop`` the ball
is gone for the middle third, in ``morph`` the ball grows corners and another colour, in ``freeze`` it stops and jumps.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from salon_taxonomy.errors import InputError
from salon_taxonomy.video_encoding import encode as encode

if TYPE_CHECKING:
    from PIL.Image import Image

ClipKind: TypeAlias = Literal["clean", "flicker", "pop", "morph", "freeze"]
CLIP_KINDS: Final[tuple[ClipKind, ...]] = ("clean", "flicker", "pop", "morph", "freeze")
"""Every kind of clip that is drawn."""


def clip_frames(kind: ClipKind, count: int, *, size: tuple[int, int] = (160, 120), seed: int = 0) -> "Iterator[Image]":
    """Yield the frames of a clip, RGB; the seed moves the ball, its colour and, in ``flicker``, the light.

    Raises:
        InputError: for an unknown kind.
    """
    from PIL import Image, ImageDraw, ImageEnhance

    if kind not in CLIP_KINDS:
        raise InputError("unknown kind of clip", value=kind, allowed=CLIP_KINDS)
    random = Random(f"salon/clip/{seed}")  # noqa: S311  (no secret)
    width, height = size
    low, radius = random.uniform(0.62, 0.78) * height, random.uniform(0.09, 0.13) * height
    colour = random.choice(((200, 40, 40), (40, 70, 200), (240, 150, 30), (150, 40, 160)))
    for number in range(count):
        moment = number / max(1, count - 1)
        image = Image.new("RGB", size, (135, 190, 235))
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, height * 0.55, width, height), fill=(80, 150, 70))
        draw.ellipse((width * 0.75, height * 0.08, width * 0.9, height * 0.28), fill=(250, 230, 120))
        moved = moment if kind != "freeze" else (0.0 if moment < 0.5 else 1.0)
        x = width * (0.15 + 0.7 * moved)
        if kind != "pop" or not 1 / 3 <= moment < 2 / 3:
            _ball(draw, (x, low), radius, colour, moment if kind == "morph" else 0.0)
        if kind == "flicker":
            image = ImageEnhance.Brightness(image).enhance(random.uniform(0.55, 1.45))
        yield image


def write_clip(
    path: Path,
    kind: ClipKind,
    *,
    seconds: float = 2.0,
    rate: int = 10,
    size: tuple[int, int] = (160, 120),
    seed: int = 0,
    **options: Any,
) -> Path:
    """Draw a clip and encode it; the file's ending says the container (``.mp4``, ``.mov``, ``.mkv``, ``.webm``, ``.avi``).

    Args:
        path: where; replaced.
        kind: what is drawn.
        seconds: how long.
        rate: pictures per second.
        size: in pixels, both even.
        seed: of what varies.
        options: further keywords of :func:`~salon_taxonomy.video_encoding.encode`.

    Returns:
        The path.

    Example:
        >>> import tempfile
        >>> write_clip(Path(tempfile.mkdtemp()) / "ball.mp4", "pop").name
        'ball.mp4'
    """
    count = max(1, round(seconds * rate))
    encode(path, clip_frames(kind, count, size=size, seed=seed), size=size, rate=rate, **options)
    return path


class Shot(NamedTuple):
    """A part of a clip between two cuts.

    Attributes:
        seconds: how long.
        seed: of its colours; the same seed is the same picture.
        kind: ``moving`` is a pan by a tenth of the width per second, ``still`` its first picture, ``black`` nothing.
    """

    seconds: float
    seed: int = 0
    kind: Literal["moving", "still", "black"] = "moving"


def shot_frames(shots: Sequence[Shot], rate: int, size: tuple[int, int]) -> "Iterator[Image]":
    """Yield the frames of shots, one after the other: RGB, of the given size; ``seconds`` × ``rate`` of each, rounded."""
    from PIL import Image

    width, height = size
    for shot in shots:
        colours = Random(f"salon/shot/{shot.seed}").randbytes(20 * 8 * 3)  # noqa: S311  (no secret)
        wide = Image.frombytes("RGB", (20, 8), colours).resize((width * 2, height), Image.Resampling.BICUBIC)
        for number in range(round(shot.seconds * rate)):
            left = min(width, round(width * number / rate / 10)) if shot.kind == "moving" else 0
            yield Image.new("RGB", size) if shot.kind == "black" else wide.crop((left, 0, left + width, height))


def write_shots(
    path: Path, shots: Sequence[Shot], *, rate: int = 10, size: tuple[int, int] = (160, 120), **options: Any
) -> Path:
    """Draw shots and encode them as :func:`write_clip`; cuts, black and still stretches are where the shots say.

    Example:
        >>> import tempfile
        >>> write_shots(Path(tempfile.mkdtemp()) / "cut.mp4", [Shot(1.0, seed=1), Shot(0.5, kind="black")]).name
        'cut.mp4'
    """
    encode(path, shot_frames(shots, rate, size), size=size, rate=rate, **options)
    return path


def _ball(draw: Any, centre: tuple[float, float], radius: float, colour: tuple[int, int, int], change: float) -> None:
    """A ball; with ``change`` from 0 to 1 more and more a white square."""
    x, y = centre
    blend = tuple(round(one + (other - one) * change) for one, other in zip(colour, (245, 245, 245), strict=True))
    box = (x - radius, y - radius, x + radius, y + radius)
    draw.rounded_rectangle(box, radius=radius * (1 - change), fill=blend)

"""Small test videos that Salon draws itself: clean, with one of four kinds of artifact, or of shots with cuts between.

A sun stands over a meadow and a ball rolls across it. In ``flicker`` the light jumps from frame to frame, in ``pop`` the ball
is gone for the middle third, in ``morph`` the ball grows corners and another colour, in ``freeze`` it stops and jumps.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

ClipKind: TypeAlias = Literal["clean", "flicker", "pop", "morph", "freeze"]
CLIP_KINDS: Final[tuple[ClipKind, ...]] = ("clean", "flicker", "pop", "morph", "freeze")
"""Every kind of clip that is drawn."""
_SOUND_CODECS: Final = {".webm": "libopus", ".avi": "pcm_s16le"}
_SOUND_RATE: Final = 48_000
_TONE_HZ: Final = 997
_CODECS: Final = {".mp4": "libx264", ".mov": "libx264", ".mkv": "libx264", ".webm": "libvpx", ".avi": "mpeg4"}


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
        options: further keywords of :func:`encode`.

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


def encode(
    path: Path,
    images: "Iterator[Image]",
    *,
    size: tuple[int, int],
    rate: int = 10,
    stamps: list[int] | None = None,
    rotation: int = 0,
    container_options: dict[str, str] | None = None,
    tone: tuple[float, float] | None = None,
) -> None:
    """Write pictures as a video.

    Args:
        path: where; the ending says the container.
        images: RGB, all of the given size.
        size: in pixels, both even.
        rate: pictures per second.
        stamps: when each picture is shown, in thousandths of a second, for a varying rate; None: evenly.
        rotation: in degrees, a multiple of 90: by which players turn the picture.
        container_options: of FFmpeg's writer (``movflags``).
        tone: seconds and level of a stereo tone of 997 Hz as sound; its peak in dBFS is its loudness in LUFS (ITU-R BS.1770).

    Raises:
        InputError: for an unknown ending, or without PyAV.
    """
    try:
        import av
    except ImportError as error:
        raise InputError(
            "videos need PyAV", hint="In a clone of Salon: uv pip install './packages/synthetic[video]'."
        ) from error

    codec = _CODECS.get(path.suffix.lower())
    if codec is None:
        raise InputError("unknown ending of a video", source=path, value=path.suffix, allowed=_CODECS)
    with av.open(str(path), "w", options=container_options or {}) as container:
        stream: Any = container.add_stream(codec, rate=rate)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        if tone is not None:
            _write_tone(container, _SOUND_CODECS.get(path.suffix.lower(), "aac"), *tone)
        if stamps is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        if rotation:
            stream.set_display_rotation(rotation)
        make_frame: Any = av.VideoFrame.from_image
        for number, image in enumerate(images):
            frame = make_frame(image)
            frame.pts = number if stamps is None else stamps[number]
            frame.time_base = Fraction(1, rate) if stamps is None else Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _write_tone(container: Any, codec: str, seconds: float, level: float) -> None:
    import av
    import numpy as np

    stream = container.add_stream(codec, rate=_SOUND_RATE, layout="stereo")
    moments = np.arange(round(seconds * _SOUND_RATE)) / _SOUND_RATE
    wave = (10 ** (level / 20) * np.sin(2 * np.pi * _TONE_HZ * moments) * 32767).round().astype(np.int16)
    frame = av.AudioFrame.from_ndarray(wave.repeat(2)[None], format="s16", layout="stereo")
    frame.sample_rate, frame.pts, frame.time_base = _SOUND_RATE, 0, Fraction(1, _SOUND_RATE)
    container.mux(stream.encode(frame))
    container.mux(stream.encode())


def _ball(draw: Any, centre: tuple[float, float], radius: float, colour: tuple[int, int, int], change: float) -> None:
    """A ball; with ``change`` from 0 to 1 more and more a white square."""
    x, y = centre
    blend = tuple(round(one + (other - one) * change) for one, other in zip(colour, (245, 245, 245), strict=True))
    box = (x - radius, y - radius, x + radius, y + radius)
    draw.rounded_rectangle(box, radius=radius * (1 - change), fill=blend)

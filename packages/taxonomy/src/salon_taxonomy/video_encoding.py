"""Write pictures as a video: drawn clips, and the frames of a pipeline."""

import math
from array import array
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

_SOUND_CODECS: Final = {".webm": "libopus", ".avi": "pcm_s16le"}
_SOUND_RATE: Final = 48_000
_TONE_HZ: Final = 997
_CODECS: Final = {".mp4": "libx264", ".mov": "libx264", ".mkv": "libx264", ".webm": "libvpx", ".avi": "mpeg4"}
STEADY_X264: Final = {"x264-params": "mbtree=0"}
"""Options of x264: with its macroblock tree the same pictures do not always give the same bytes (core 165)."""
_FORMATS: Final = {".mkv": "matroska"}
"""What FFmpeg calls a container that its ending does not name."""


def encode(
    path: Path,
    images: "Iterable[Image]",
    *,
    size: tuple[int, int],
    rate: int | Fraction = 10,
    stamps: list[int] | None = None,
    rotation: int = 0,
    container_options: dict[str, str] | None = None,
    encoder_options: dict[str, str] | None = None,
    tone: tuple[float, float] | None = None,
    into: BinaryIO | None = None,
) -> None:
    """Write pictures as a video; the same pictures give the same bytes.

    Args:
        path: where; the ending says the container.
        images: RGB, all of the given size.
        size: in pixels, both even.
        rate: pictures per second.
        stamps: when each picture is shown, in thousandths of a second, for a varying rate; None: evenly.
        rotation: in degrees, a multiple of 90: by which players turn the picture.
        container_options: of FFmpeg's writer (``movflags``).
        encoder_options: of the codec (``crf``).
        tone: seconds and level of a stereo tone of 997 Hz as sound; its peak in dBFS is its loudness in LUFS (ITU-R BS.1770).
        into: an open file that is written in place of the path.

    Raises:
        InputError: for an unknown ending, or without PyAV.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> path = Path(tempfile.mkdtemp()) / "grey.mp4"
        >>> encode(path, [Image.new("RGB", (32, 32), "grey")] * 3, size=(32, 32))
        >>> path.read_bytes()[4:8]
        b'ftyp'
    """
    try:
        import av
    except ImportError as error:
        raise InputError("videos need PyAV", hint="In a clone of Salon: uv pip install './packages/judges[video]'.") from error

    codec = _CODECS.get(path.suffix.lower())
    if codec is None:
        raise InputError("unknown ending of a video", source=path, value=path.suffix, allowed=_CODECS)
    kind = _FORMATS.get(path.suffix.lower(), path.suffix[1:].lower())
    with av.open(str(path) if into is None else into, "w", format=kind, options=container_options or {}) as container:
        steady = STEADY_X264 if codec == "libx264" else {}
        stream: Any = container.add_stream(codec, rate=rate, options={**steady, **(encoder_options or {})})
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
            frame.time_base = 1 / Fraction(rate) if stamps is None else Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _write_tone(container: Any, codec: str, seconds: float, level: float) -> None:
    import av

    stream = container.add_stream(codec, rate=_SOUND_RATE, layout="stereo")
    peak, turn = 10 ** (level / 20) * 32767, 2 * math.pi * _TONE_HZ / _SOUND_RATE
    wave = [round(peak * math.sin(turn * number)) for number in range(round(seconds * _SOUND_RATE))]
    frame = av.AudioFrame(format="s16", layout="stereo", samples=len(wave))
    frame.planes[0].update(array("h", [value for value in wave for _ in range(2)]).tobytes())
    frame.sample_rate, frame.pts, frame.time_base = _SOUND_RATE, 0, Fraction(1, _SOUND_RATE)
    container.mux(stream.encode(frame))
    container.mux(stream.encode())

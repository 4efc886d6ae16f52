"""The sound of a video: how loud it is, and a copy of it at one loudness, for people who compare videos by ear.

Loudness is the integrated one of ITU-R BS.1770-4, gated as in EBU R128, in LUFS; FFmpeg's filter ``ebur128`` measures it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from salon_judges.media.video_container import opened, picture_streams, video_failures
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_taxonomy.media_files import bad_media
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame

LEVEL: Final = -23.0
"""LUFS: the level of programmes in EBU R128."""
RATE: Final = 48_000
"""Samples per second of a levelled copy."""
_SILENCE: Final = -69.9
"""LUFS: below the absolute gate of BS.1770-4 the filter says -70."""
_SHORTEST_S: Final = 0.4
"""One block of the measure; shorter sounds are measured with silence behind them."""
_PLAIN: Final = "aformat=sample_fmts=s32:channel_layouts=stereo"
"""Whole numbers: samples that are not finite or beyond full scale are brought into range."""
_CEILING: Final = 10 ** (-1 / 20)
"""-1 dB of full scale: louder peaks are held down."""


def loudness(data: bytes, seconds: float = DEFAULT_VIDEO_LIMITS.most_seconds) -> float | Unscored | None:
    """Return the integrated loudness of a video's first sound track in LUFS; None without sound, or where it is silent.

    Args:
        data: the file: MP4, MOV, MKV, WebM or AVI.
        seconds: how much of it is measured, from the first picture on.

    Returns:
        ``Unscored(BAD_MEDIA)`` where the sound cannot be read. Never raises for what the bytes are.
    """
    try:
        with opened(data) as container:
            if not container.streams.audio:
                return None
        return _measured(data, seconds, f"apad=whole_dur={_SHORTEST_S}")
    except video_failures() as error:
        return bad_media(f"the sound cannot be read ({type(error).__name__})")


def levelled_sound(data: bytes, seconds: float) -> "Iterator[AudioFrame]":
    """Yield a video's sound in stereo, 48,000 samples per second, from its first picture on, exactly so long, at -23 LUFS.

    Peaks above -1 dB of full scale are held down, which may leave a sound of few loud moments below the level. A video without
    sound, or a silent one, gives silence.

    Args:
        data: the file, as for :func:`loudness`.
        seconds: how long the sound is to be; the rest is silence.

    Raises:
        Exception: one of :func:`~salon_judges.media.video_container.video_failures`, for sound that cannot be read.
    """
    length = round(seconds * RATE)
    whole = (f"apad=whole_len={length}", f"atrim=end_sample={length}")
    level = _measured(data, seconds, *whole)
    gain = 0.0 if level is None else LEVEL - level
    yield from _filtered(
        data, seconds, *whole, f"volume={gain:.3f}dB", f"alimiter=limit={_CEILING:.4f}:level=false:latency=true"
    )


def _measured(data: bytes, seconds: float, *filters: str) -> float | None:
    level = -70.0
    for frame in _filtered(data, seconds, *filters, "ebur128=metadata=1"):
        level = float(frame.metadata.get("lavfi.r128.I", level))
    return None if level <= _SILENCE else level


def _filtered(data: bytes, seconds: float, *filters: str) -> "Iterator[AudioFrame]":
    """Yield the sound after these filters of FFmpeg; silence where it has no sound.

    What is later than ``seconds`` after the first picture is not decoded, nor is a gap up to it filled with silence.
    """
    import av

    with opened(data) as container:
        graph = av.filter.Graph()
        audio = next(iter(container.streams.audio), None)
        chain: list[Any] = []
        if audio is None:
            chain.append(graph.add("anullsrc", f"r={RATE}:cl=stereo"))
        else:
            chain.append(graph.add_abuffer(template=audio))
            filters = (f"aresample={RATE}:async=1:first_pts=0", _PLAIN, *filters)
        chain += [graph.add(*one.split("=", 1)) for one in filters]
        chain.append(graph.add("abuffersink"))
        for one, following in pairwise(chain):
            one.link_to(following)
        graph.configure()
        source, sink = chain[0], chain[-1]

        def ready() -> "Iterator[AudioFrame]":
            while True:
                try:
                    yield sink.pull()
                except (av.error.BlockingIOError, av.error.EOFError):
                    return

        if audio is not None:
            first, heard_s = _first_picture_s(data), 0.0
            for frame in container.decode(audio):
                heard_s += frame.samples / max(1, frame.sample_rate)
                if heard_s > seconds + first + 1:  # also of sound without time stamps
                    break
                if frame.pts is not None and frame.time_base:
                    frame.pts -= round(first / frame.time_base)
                    if frame.pts * frame.time_base > seconds:
                        break
                source.push(frame)
                yield from ready()
            source.push(None)
        yield from ready()


def _first_picture_s(data: bytes) -> float:
    """Return the time stamp of the first picture in seconds, where the sound of a copy begins."""
    with opened(data) as container:
        frame = next(container.decode(picture_streams(container)[0]))
        return frame.time or 0.0

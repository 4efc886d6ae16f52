"""Videos without tags: remuxed into MP4, frame by frame as they were, or encoded again where the codecs differ.

When all videos of a task have the same codec and browsers play it, packets are copied: no pixel and no time stamp
changes. Sound, metadata, chapters, and the encoder's notes in the stream (SEI of H.264) are left out. Otherwise all of them are
encoded again, alike, at the time stamps of their frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from typing import Any, Final

from salon_bench.media.video_container import opened, outline, video_failures
from salon_bench.media.video_policy import VideoLimits
from salon_taxonomy.verdict import Reason, Unscored

TYPE: Final = "video/mp4"
PLAYED: Final = ("h264", "vp9", "av1")
"""Codecs that browsers play in MP4."""
_NOTES: Final = {"h264": "filter_units=remove_types=6"}
_CRF: Final = "14"
_CLOCK: Final = Fraction(1, 90_000)
_OPTIONS: Final = {"fflags": "+bitexact"}


@dataclass(frozen=True, slots=True)
class BlindVideo:
    """One video as it is sent.

    Attributes:
        data: an MP4 file; a ``free`` box fills it up to the length of the longest video of the task.
        frames: when each frame is shown, in seconds from the first.
    """

    data: bytes
    frames: tuple[float, ...]


def blind_videos(sources: Sequence[bytes], bucket: int) -> tuple[BlindVideo, ...] | Unscored:
    """Remux all videos, or encode all of them again; all get one length, a multiple of ``bucket`` bytes.

    Returns ``Unscored`` when one of them is no video that can be read. Never raises for what the bytes are.
    """
    for data in sources:
        seen = outline(data, VideoLimits())
        if isinstance(seen, Unscored):
            return seen
    try:
        codecs = {_codec(data) for data in sources}
        write = _remuxed if len(codecs) == 1 and codecs <= set(PLAYED) else _encoded
        made = [write(data) for data in sources]
    except video_failures() as error:
        return Unscored(Reason.BAD_MEDIA, f"the video cannot be written again ({type(error).__name__})")
    length = -(-(max(len(data) for data, _ in made) + 8) // bucket) * bucket
    return tuple(BlindVideo(_filled(data, length), frames) for data, frames in made)


def _codec(data: bytes) -> str:
    with opened(data) as container:
        return container.streams.video[0].codec.name.removeprefix("lib")


def _remuxed(data: bytes) -> tuple[bytes, tuple[float, ...]]:
    import av
    from av.bitstream import BitStreamFilterContext

    out = BytesIO()
    stamps: list[Fraction] = []
    with opened(data) as source, av.open(out, "w", format="mp4", options=_OPTIONS) as target:
        video = source.streams.video[0]
        stream = target.add_stream_from_template(video)
        notes = _NOTES.get(video.codec.name)
        cleaner = BitStreamFilterContext(notes, video) if notes else None
        packets = [packet for packet in source.demux(video) if packet.size]
        first = min((packet.pts for packet in packets if packet.pts is not None), default=0)
        for packet in packets:
            if packet.pts is not None:
                packet.pts -= first
                stamps.append(packet.pts * (packet.time_base or _CLOCK))
            if packet.dts is not None:
                packet.dts -= first
            for cleaned in cleaner.filter(packet) if cleaner else (packet,):
                cleaned.stream = stream
                target.mux(cleaned)
        _forget_tags(target)
    return out.getvalue(), _seconds(stamps)


def _encoded(data: bytes) -> tuple[bytes, tuple[float, ...]]:
    import av

    out = BytesIO()
    stamps: list[Fraction] = []
    with opened(data) as source, av.open(out, "w", format="mp4", options=_OPTIONS) as target:
        stream: Any = None
        for frame in source.decode(video=0):
            if stream is None:
                stream = target.add_stream("libx264", rate=30, options={"crf": _CRF, "preset": "veryfast", "bf": "0"})
                stream.width, stream.height = frame.width - frame.width % 2, frame.height - frame.height % 2
                stream.pix_fmt = "yuv420p"
                stream.codec_context.time_base = _CLOCK
                first = frame.pts or 0
            stamp = Fraction((frame.pts or 0) - first) * (frame.time_base or _CLOCK)
            plain = frame.reformat(stream.width, stream.height, "yuv420p")
            plain.pts, plain.time_base = round(stamp / _CLOCK), _CLOCK
            stamps.append(Fraction(plain.pts) * _CLOCK)
            target.mux(stream.encode(plain))
        target.mux(stream.encode())
        _forget_tags(target)
    cleaned, _ = _remuxed(out.getvalue())
    return cleaned, _seconds(stamps)


def _forget_tags(target: Any) -> None:
    for place in (target, *target.streams):
        place.metadata.clear()


def _seconds(stamps: Sequence[Fraction]) -> tuple[float, ...]:
    return tuple(float(stamp) for stamp in sorted(stamps))


def _filled(data: bytes, length: int) -> bytes:
    """The file with a ``free`` box of zeros behind it, which players pass over."""
    box = length - len(data)
    return data + box.to_bytes(4, "big") + b"free" + b"\0" * (box - 8)

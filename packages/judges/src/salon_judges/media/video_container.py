"""Read the container and the packets of a video file without decoding a picture.

FFmpeg guesses formats, and some of them (playlists, concatenations) are lists of other files and addresses. So the name and
the guess decide nothing: only three containers are ever opened, each with its own reader and from memory.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Final

from salon_judges.media.policy import PicturePolicy
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS, VideoLimits
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import bad_media
from salon_taxonomy.picture_formats import format_of
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

_FTYP_BOXES: Final = (b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip")
_STILL_BRANDS: Final = (b"avif", b"mif1", b"heic", b"heix", b"msf1")
VIDEO_ENDINGS: Final[Mapping[str, str]] = {
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/x-matroska": ".mkv",
    "video/webm": ".webm",
    "video/x-msvideo": ".avi",
}
"""Endings of the videos that are read, by their media type."""
_BLOCKS: Final = 1 << 18
"""Codecs decode whole blocks, so a coded picture is somewhat larger than the one shown."""
_LOST_SHARE: Final = 0.05
_LOST_SECONDS: Final = 0.3


@cache
def video_failures() -> tuple[type[Exception], ...]:
    """Return the errors of PyAV about damaged files: FFmpeg's own, and those of its wrappers and Pillow about odd values."""
    from av.error import FFmpegError

    plain = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, EOFError, OSError, RuntimeError, MemoryError)
    return (FFmpegError, *plain)


def require_av() -> None:
    """Make sure that videos can be read.

    Raises:
        InputError: without the extra ``video``.
    """
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise InputError("videos need PyAV", hint="In a clone of Salon: uv pip install './packages/judges[video]'.") from error


def container_of(data: bytes) -> str | None:
    """Return the container of a video by its first bytes, as FFmpeg calls its reader; None for anything else.

    Example:
        >>> container_of(b"\\x00\\x00\\x00\\x20ftypisom"), container_of(b"#EXTM3U"), container_of(b"\\x1aE\\xdf\\xa3...")
        ('mov', None, 'matroska')
    """
    if data[:4] == b"\x1aE\xdf\xa3":
        return "matroska"
    if data[:4] == b"RIFF" and data[8:12] == b"AVI ":
        return "avi"
    return "mov" if data[4:8] in _FTYP_BOXES and data[8:12] not in _STILL_BRANDS else None


def media_type_of(data: bytes) -> str:
    """Return what HTTP calls the video: by its container; ``video/mp4`` where nothing better is known."""
    if data[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in data[:64] else "video/x-matroska"
    return "video/x-msvideo" if data[:4] == b"RIFF" else "video/quicktime" if data[8:12] == b"qt  " else "video/mp4"


def ending_of(data: bytes) -> str | None:
    """Return the ending of a file's name by its first bytes; None for what is no picture and no video.

    Example:
        >>> ending_of(b"\\x00\\x00\\x00\\x20ftypisom"), ending_of(b"\\xff\\xd8\\xff\\xe0"), ending_of(b"a text")
        ('mp4', 'jpeg', None)
    """
    picture = format_of(data)
    if picture is not None:
        return picture.media_type.rpartition("/")[2]
    return VIDEO_ENDINGS[media_type_of(data)][1:] if container_of(data) else None


@dataclass(frozen=True, slots=True)
class Outline:
    """What the packets of a video say of it.

    Attributes:
        width: of the coded picture, in pixels.
        height: of the coded picture, in pixels.
        aspect: how much wider than high a pixel is; 1 for square ones.
        coded_frames: packets of pictures.
        time_base: seconds per unit of a time stamp.
        start: the first time stamp, in units; None where packets have none.
        last: the last one.
        step_s: the time from one picture to the next where time stamps do not say it, in seconds.
        duration_s: from the first picture to the end of the last, in seconds.
        notes: what had to be assumed, a clause each.
    """

    width: int
    height: int
    aspect: Fraction
    coded_frames: int
    time_base: Fraction
    start: int | None
    last: int | None
    step_s: float
    duration_s: float
    notes: tuple[str, ...] = ()

    def fitting(self, most_pixels: int) -> tuple[int, int]:
        """Return the size at which a frame is shown, pixels made square, before it is turned upright."""
        wide = max(1, round(self.width * self.aspect)) if self.aspect >= 1 else self.width
        high = self.height if self.aspect >= 1 else max(1, round(self.height / self.aspect))
        return PicturePolicy(most_pixels=most_pixels).fitting(wide, high)


@contextmanager
def opened(data: bytes, most_pixels: int = DEFAULT_VIDEO_LIMITS.most_pixels) -> "Iterator[InputContainer]":
    """Yield the container, from memory, with the reader that its first bytes ask for.

    A picture of clearly more than ``most_pixels`` fails to decode, also where the head of the file states another size or
    pictures grow within the video.
    """
    import av

    bounded = {"max_pixels": str(most_pixels + most_pixels // 8 + _BLOCKS)}
    with av.open(BytesIO(data), mode="r", format=container_of(data), options=bounded) as container:
        for stream in container.streams.video:
            if stream.codec_context is not None:
                stream.codec_context.options = bounded
        yield container


def picture_streams(container: "InputContainer") -> "list[VideoStream]":
    """Return the streams of pictures that can be read, the video's own first; a cover image of a file is left out."""
    from av.stream import Disposition

    streams = [each for each in container.streams.video if each.codec_context is not None]
    return [each for each in streams if not each.disposition & Disposition.attached_pic]


def frames_are_counted(container: "InputContainer") -> bool:
    """Return whether the times of pictures follow from their numbers alone.

    AVI has time stamps in the order of decoding only, which with B-frames is not the one in which pictures are shown.
    """
    return container.format.name == "avi" and bool(picture_streams(container)[0].codec_context.has_b_frames)


def outline(data: bytes, limits: VideoLimits) -> Outline | Unscored:
    """Read through all packets, decoding none; ``Unscored(BAD_MEDIA)`` for what is no video, cut off or too large.

    Never raises for what the bytes are.
    """
    if container_of(data) is None:
        return bad_media("the file is none of the video containers that are read: MP4, MOV, MKV, WebM, AVI")
    try:
        with opened(data, limits.most_pixels) as container:
            return outline_of(container, limits)
    except video_failures() as error:
        return bad_media(f"the file is cut off or damaged ({failure_words(error)})")


def outline_of(container: "InputContainer", limits: VideoLimits) -> Outline | Unscored:
    """Read through all packets of an open container, as :func:`outline`.

    Raises:
        Exception: one of :func:`video_failures`, for a damaged file.
    """
    streams = picture_streams(container)
    if not streams:
        has_sound = bool(container.streams.audio)
        return bad_media("the file has sound only, no picture" if has_sound else "there is no video in the file")
    context = streams[0].codec_context
    width, height = context.width, context.height
    if width < 1 or height < 1:
        return bad_media(f"the video does not say how large its picture is, or has far over {limits.most_pixels:,} pixels")
    if width * height > limits.most_pixels:
        return bad_media(f"the video has {width:,} × {height:,} pixels; at most {limits.most_pixels:,} are decoded")
    return _packets(container, streams[0], limits)


def _packets(container: "InputContainer", stream: "VideoStream", limits: VideoLimits) -> Outline | Unscored:
    """Count and time the packets of pictures, and see whether the file ends where its head says."""
    base = stream.time_base or Fraction(1, 1000)
    stamps: list[tuple[int, int]] = []
    ends: dict[int, int] = {}
    units: dict[int, Fraction] = {}
    count, hidden, damaged = 0, 0, False
    for packet in container.demux():
        if not packet.size:
            continue
        damaged = damaged or packet.is_corrupt
        stamp = packet.pts if packet.pts is not None else packet.dts
        if stamp is not None and packet.time_base is not None:
            track, units[packet.stream_index] = packet.stream_index, packet.time_base
            ends[track] = max(ends.get(track, 0), stamp + (packet.duration or 0))
        if packet.stream_index != stream.index:
            continue
        if packet.is_discard:
            hidden += 1
            continue
        count += 1
        if count > limits.most_coded_frames:
            return bad_media(f"the video has more than {limits.most_coded_frames:,} frames")
        if stamp is not None:
            stamps.append((stamp, packet.duration or 0))
    if not count:
        every = f"the file says of all its {hidden:,} frames that they are not to be shown"
        return bad_media(every if hidden else "there is no picture in the video")
    stated = min(stream.frames, len(stream.index_entries) or stream.frames)  # an edit list leaves frames out of the index
    if damaged or count + hidden < stated:
        return bad_media(
            f"the file is cut off ({count + hidden:,} of {stated:,} frames are there)" if stated else "the file is cut off"
        )
    end_s = max((float(end * units[track]) for track, end in ends.items()), default=0.0)
    declared = _declared_s(container)
    if declared is not None and declared - end_s > max(_LOST_SECONDS, _LOST_SHARE * (declared - _start_s(container))):
        return bad_media(f"the file is cut off (it ends after {end_s:.1f} of {declared:.1f} s)")
    return _timed(stream, base, stamps, count, limits, declared)


def _declared_s(container: "InputContainer") -> float | None:
    """Return the end of the last picture or sound in seconds, by the head of the file."""
    if container.duration is None or container.duration <= 0:
        return None
    start_s = 0 if container.format.name.startswith("matroska") else _start_s(container)  # counted from 0 there
    return container.duration / 1_000_000 + start_s


def _start_s(container: "InputContainer") -> float:
    """Return when the first picture or sound begins, in seconds."""
    return max(0, container.start_time or 0) / 1_000_000


def _timed(
    stream: "VideoStream",
    base: Fraction,
    stamps: list[tuple[int, int]],
    count: int,
    limits: VideoLimits,
    declared: float | None,
) -> Outline | Unscored:
    rate = stream.average_rate or stream.guessed_rate or Fraction(25)
    step_s = float(1 / rate) if rate > 0 else 0.04
    notes = [] if declared is not None else ["the file does not say how long it is"]
    start = last = None
    if len(stamps) == count:
        stamps.sort()
        start, last = stamps[0][0], stamps[-1][0]
        duration = float((last - start) * base) + (float(stamps[-1][1] * base) or step_s)
    else:
        notes.append(f"pictures without time stamps, taken as {1 / step_s:g} per second")
        duration = count * step_s
    if not 0 < duration <= limits.most_seconds:
        return bad_media(f"the video lasts {duration:,.1f} s; at most {limits.most_seconds:,.0f} s are read")
    context = stream.codec_context
    aspect = stream.sample_aspect_ratio or Fraction(1)
    if not Fraction(1, 16) <= aspect <= 16:
        aspect = Fraction(1)
    size = (context.width, context.height)
    return Outline(*size, aspect, count, base, start, last, step_s, duration, tuple(notes))


def failure_words(error: Exception) -> str:
    """Return what an error of :func:`video_failures` says."""
    return str(getattr(error, "strerror", None) or error) or type(error).__name__

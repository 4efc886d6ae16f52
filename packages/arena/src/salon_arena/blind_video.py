"""Encode videos again, all alike: H.264 in MP4 without tags; without sound, or all with sound.

Whatever the makers' files were, the sent ones have one codec, profile, level, distance of key frames and set of colour tags,
upright frames and square pixels. Frames keep their time stamps. A copy of the packets would keep the maker's own settings,
which tell makers apart. Where people hear the sound, each file has one track of it, AAC in stereo, as long as the picture and
equally loud, or silent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from salon_judges.media.policy import PicturePolicy
from salon_judges.media.video_container import Outline, opened, outline, video_failures
from salon_judges.media.video_policy import VideoLimits
from salon_judges.media.video_sampling import decoded, missing_end
from salon_judges.media.video_sound import RATE, levelled_sound
from salon_taxonomy.media_files import bad_media
from salon_taxonomy.verdict import Reason, Unscored

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.video.frame import VideoFrame

TYPE: Final = "video/mp4"
_NOTES: Final = "filter_units=remove_types=6"
_ENCODER: Final = MappingProxyType(
    {"crf": "14", "preset": "veryfast", "profile": "high", "level": "5.1", "bf": "0", "g": "30", "sc_threshold": "0"}
)
"""x264's settings: the same for every video, so the stream's header and the places of key frames are, too."""
_BT_709: Final = 1
_LIMITED: Final = 1
_COLOURS: Final = MappingProxyType(
    {"colorspace": _BT_709, "color_range": _LIMITED, "color_primaries": _BT_709, "color_trc": _BT_709}
)
"""Numbers of ISO/IEC 23091-2; pixels are converted to them."""
_CLOCK: Final = Fraction(1, 90_000)
_OPTIONS: Final = {"fflags": "+bitexact"}
_OPTIONS_OF_SOUND: Final = MappingProxyType({"b": "160k", "flags": "+bitexact"})


@dataclass(frozen=True, slots=True)
class BlindVideo:
    """One video as it is sent.

    Attributes:
        data: an MP4 file; a ``free`` box fills it up to the length of the longest video of the task.
        frames: when each frame is shown, in seconds from the first.
    """

    data: bytes
    frames: tuple[float, ...]


def longest_side(content: bytes) -> int | Unscored:
    """Return the longer side of a video in square pixels; ``Unscored`` for what is no video."""
    seen = outline(content, VideoLimits())
    return seen if isinstance(seen, Unscored) else max(_size(seen, None))


def blind_video(content: bytes, *, side: int | None = None, sound: bool = False) -> BlindVideo | Unscored:
    """Encode a video again: one codec, profile, level, distance of key frames and set of colour tags for all.

    Args:
        content: the file.
        side: a larger video is made so wide or high, in pixels; None: it keeps its size.
        sound: with its sound, at the level of :func:`~salon_judges.media.video_sound.levelled_sound`.

    Returns ``Unscored`` for what is no video that can be read. Never raises for what the bytes are.
    """
    seen = outline(content, VideoLimits())
    if isinstance(seen, Unscored):
        return seen
    try:
        encoded = _encoded(content, seen, _size(seen, side))
        if isinstance(encoded, Unscored):
            return encoded
        data, stamps = encoded
        end_s = stamps[-1] + _last_step(stamps, seen.duration_s)
        heard = levelled_sound(content, end_s) if sound else None
        return BlindVideo(_without_notes(data, end_s, heard), stamps)
    except video_failures() as error:
        return Unscored(Reason.BAD_MEDIA, f"the video cannot be written again ({type(error).__name__})")


def filled(videos: Sequence[BlindVideo], bucket: int) -> tuple[BlindVideo, ...]:
    """Give all videos of a task one length, a multiple of ``bucket`` bytes."""
    length = -(-(max(len(video.data) for video in videos) + 8) // bucket) * bucket
    return tuple(BlindVideo(_filled(video.data, length), video.frames) for video in videos)


def _size(seen: Outline, side: int | None) -> tuple[int, int]:
    """Return the size in which a video is sent, before it is turned: both sides even."""
    width, height = PicturePolicy(longest_side=side).fitting(*seen.fitting(VideoLimits().most_pixels))
    return max(2, width - width % 2), max(2, height - height % 2)


def _last_step(stamps: tuple[float, ...], duration_s: float) -> float:
    """Return the seconds of the last picture: those of the one before it, unless the file says otherwise."""
    stands = max(duration_s - stamps[-1], 1 / 90)
    usual = stamps[-1] - stamps[-2] if len(stamps) > 1 else stands
    return usual if usual / 1.5 < stands < usual * 1.5 else stands


def _without_notes(content: bytes, end_s: float, sound: "Iterator[AudioFrame] | None") -> bytes:
    """Leave out what the encoder says about itself within the stream, let the last picture stand, and add the sound."""
    import av
    from av.bitstream import BitStreamFilterContext

    out = BytesIO()
    with opened(content) as source, av.open(out, "w", format="mp4", options=_OPTIONS) as target:
        video = source.streams.video[0]
        stream = target.add_stream_from_template(video)
        track = None if sound is None else target.add_stream("aac", rate=RATE, layout="stereo", options=dict(_OPTIONS_OF_SOUND))
        cleaner = BitStreamFilterContext(_NOTES, video)
        last = max(packet.pts for packet in source.demux(video) if packet.size and packet.pts is not None)
        source.seek(0)
        for packet in source.demux(video):
            for cleaned in cleaner.filter(packet) if packet.size else ():
                if cleaned.pts == last:
                    cleaned.duration = max(1, round(end_s / (video.time_base or _CLOCK)) - last)
                cleaned.stream = stream
                target.mux(cleaned)
        if track is not None:
            for frame in sound or ():
                target.mux(track.encode(frame))
            target.mux(track.encode())
        _forget_tags(target)
    return out.getvalue()


def _encoded(content: bytes, seen: Outline, size: tuple[int, int]) -> tuple[bytes, tuple[float, ...]] | Unscored:
    import av
    from av.video.frame import PictureType

    out = BytesIO()
    stamps: list[Fraction] = []
    with opened(content) as source, av.open(out, "w", format="mp4", options=_OPTIONS) as target:
        stream: Any = None
        for frame, at_s in decoded(source, seen):
            if frame.is_corrupt:
                return bad_media(f"the video is damaged at {at_s:.2f} s")
            if stream is None:
                stream = target.add_stream("libx264", rate=30, options=dict(_ENCODER))
                turns = round(frame.rotation / 90) % 4
                stream.width, stream.height = size if turns % 2 == 0 else size[::-1]
                stream.pix_fmt = "yuv420p"
                stream.codec_context.time_base = _CLOCK
                for name, value in _COLOURS.items():
                    setattr(stream.codec_context, name, value)
                first_s = at_s
            plain = _turned(frame.reformat(*size, "yuv420p", dst_colorspace=_BT_709, dst_color_range=_LIMITED), turns)
            plain.pts, plain.time_base = round((at_s - first_s) / _CLOCK), _CLOCK
            plain.pict_type = PictureType.NONE  # else a key frame of the maker's becomes one again
            stamps.append(Fraction(plain.pts) * _CLOCK)
            target.mux(stream.encode(plain))
        target.mux(stream.encode())
        _forget_tags(target)
    if not stamps:
        return bad_media("no picture of the video can be decoded")
    lost = missing_end(seen, first_s + float(stamps[-1]))
    return bad_media(lost) if lost else (out.getvalue(), _seconds(stamps))


def _turned(frame: "VideoFrame", turns: int) -> "VideoFrame":
    """Return a frame of even sides, turned so many times by 90 degrees, counter-clockwise."""
    if not turns:
        return frame
    import numpy as np

    pixels = frame.to_ndarray()
    planes = [pixels[: frame.height], *pixels[frame.height :].reshape(2, frame.height // 2, -1)]
    luma, *colours = (np.rot90(plane, turns) for plane in planes)
    rest = np.concatenate([colour.ravel() for colour in colours]).reshape(-1, luma.shape[1])
    return type(frame).from_ndarray(np.ascontiguousarray(np.concatenate([luma, rest])), "yuv420p")


def _forget_tags(target: Any) -> None:
    for tagged in (target, *target.streams):
        tagged.metadata.clear()


def _seconds(stamps: Sequence[Fraction]) -> tuple[float, ...]:
    return tuple(float(stamp) for stamp in sorted(stamps))


def _filled(content: bytes, length: int) -> bytes:
    """Return the file with a ``free`` box of zeros behind it, which players pass over."""
    box = length - len(content)
    return content + box.to_bytes(4, "big") + b"free" + b"\0" * (box - 8)

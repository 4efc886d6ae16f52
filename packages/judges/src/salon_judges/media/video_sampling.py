"""Sample the frames of a video at an exact rate, as a player would show them."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_judges.media.preparing import PreparedPicture
from salon_judges.media.video_container import (
    Outline,
    failure_words,
    frames_are_counted,
    opened,
    outline,
    picture_streams,
    require_av,
    video_failures,
)
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS, VideoLimits, VideoPolicy, thinned, times_at
from salon_taxonomy.media_files import bad_media, read_inside
from salon_taxonomy.protocols import Film, Frame, Media
from salon_taxonomy.records import MediaKind
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from av import AudioFrame, VideoFrame
    from av.container import InputContainer

_QUARTER: Final = 90
_SLACK_S: Final = 1e-6
_THREADS: Final = 2


@dataclass(frozen=True, slots=True)
class SampledVideo:
    """A video that was looked at.

    Attributes:
        film: its frames, JPEG, upright, with square pixels.
        width: of the video's own picture, upright, in pixels.
        height: of the video's own picture, upright, in pixels.
    """

    film: Film
    width: int
    height: int


def prepare_video(
    path: Path, policy: VideoPolicy, root: Path, *, limits: VideoLimits = DEFAULT_VIDEO_LIMITS
) -> PreparedPicture | Unscored:
    """Read, check and sample one video: as :func:`~salon_judges.media.preparing.prepare_picture` for pictures.

    ``PreparedPicture.media`` refers to the file (``uri``) and holds the frames (``film``); the file's own bytes are not kept.

    Args:
        path: the file.
        policy: the suite's wish, within the judge's limits.
        root: the folder that the file must lie in, whatever links or ``..`` the path contains.
        limits: larger files are refused.

    Returns:
        The video, or ``Unscored(BAD_MEDIA)`` with the reason. Never raises for what a file, its name or its content is.

    Raises:
        InputError: without PyAV (the extra ``video``).

    Example:
        >>> import tempfile
        >>> from salon_synthetic.videos import write_clip
        >>> folder = Path(tempfile.mkdtemp())
        >>> clip = write_clip(folder / "1.mp4", "clean", seconds=1.0)
        >>> ready = prepare_video(clip, VideoPolicy(), folder)
        >>> [frame.at_s for frame in ready.media.film.frames], ready.width, ready.height
        ([0.0, 0.2, 0.4, 0.6, 0.8], 160, 120)
        >>> prepare_video(folder / "2.mp4", VideoPolicy(), folder).detail
        'there is no such file'
    """
    data = read_inside(path, root, limits.most_bytes)
    return data if isinstance(data, Unscored) else prepare_video_bytes(data, policy, uri=str(path), limits=limits)


def prepare_video_bytes(
    data: bytes,
    policy: VideoPolicy,
    *,
    uri: str | None = None,
    limits: VideoLimits = DEFAULT_VIDEO_LIMITS,
    sha256: str | None = None,
) -> PreparedPicture | Unscored:
    """Prepare a video whose bytes were read already, and are kept without ``uri``; ``sha256`` is their hash, if it is known."""
    sampled = sample_video(data, policy, limits=limits)
    if isinstance(sampled, Unscored):
        return sampled
    sha256 = sha256 or hashlib.sha256(data).hexdigest()
    rate, pixels = policy.frames_per_second, policy.most_pixels
    media = Media(sha256, uri, data if uri is None else None, MediaKind.VIDEO, rate, pixels, sampled.film)
    size = (sampled.width, sampled.height)
    return PreparedPicture(media, *size, sha256, *size, sampled.film.notes)


def sample_video(data: bytes, policy: VideoPolicy, *, limits: VideoLimits = DEFAULT_VIDEO_LIMITS) -> SampledVideo | Unscored:
    """Return the frames of a video at the policy's rate.

    Frame k is what a player shows k/rate seconds after the first picture: the last picture whose time stamp is not later. A
    picture that stands longer is given again, so frames stay evenly spaced whatever the video's own rate does.

    Args:
        data: the encoded file: MP4, MOV, MKV, WebM or AVI, of any codec that FFmpeg decodes.
        policy: rate, size, number.
        limits: larger videos are refused before they are decoded.

    Returns:
        The frames, or ``Unscored(BAD_MEDIA)``: no video, sound only, cut off, damaged, too large.
    """
    require_av()
    plan = outline(data, limits)
    if isinstance(plan, Unscored):
        return plan
    wanted = times_at(policy.frames_per_second, plan.duration_s)
    chosen = thinned(wanted, policy.most_frames)
    try:
        sampled = _taken(data, plan, chosen, policy, limits.most_pixels)
    except video_failures() as error:
        return bad_media(f"the video cannot be decoded ({failure_words(error)})")
    if isinstance(sampled, Unscored):
        return sampled
    frames, turned = sampled
    notes = list(plan.notes)
    notes += ["turned upright"] if turned else []
    notes += ["pixels made square"] if plan.aspect != 1 else []
    notes += [f"{len(chosen)} of {len(wanted)} frames, evenly thinned"] if len(chosen) < len(wanted) else []
    film = Film(tuple(frames), plan.duration_s, len(wanted), tuple(notes))
    sideways = turned % 180 == _QUARTER
    wide, high = plan.fitting(plan.width * plan.height * 256)
    return SampledVideo(film, *((high, wide) if sideways else (wide, high)))


def _taken(
    data: bytes, plan: Outline, times: list[float], policy: VideoPolicy, most_pixels: int
) -> tuple[list[Frame], int] | Unscored:
    """Return the frames at the given times, and by how many degrees they had to be turned."""
    frames: list[Frame] = []
    current: tuple[VideoFrame, float] | None = None
    turned, last_s = 0, 0.0
    pending = iter(times)
    due = next(pending, None)
    encode = _Encoder(plan, policy)

    def take(until: float) -> None:
        """Give the picture that stands now to every time that is due before ``until``."""
        nonlocal due, turned
        if current is None or due is None or due >= until - _SLACK_S:
            return
        image, turned = encode(current[0])
        while due is not None and due < until - _SLACK_S:
            frames.append(Frame(due, image))
            due = next(pending, None)

    with opened(data, most_pixels) as container:
        for frame, at_s in decoded(container, plan):
            if frame.is_corrupt:
                return bad_media(f"the video is damaged at {at_s:.2f} s")
            take(at_s)
            current, last_s = (frame, at_s), max(last_s, at_s)
    if current is None:
        return bad_media("no picture of the video can be decoded")
    if lost := missing_end(plan, last_s, policy.frames_per_second):
        return bad_media(lost)
    take(float("inf"))
    return frames, turned


def missing_end(plan: Outline, last_s: float, frames_per_second: float = 5.0) -> str | None:
    """Return what is missing when the last picture that can be decoded is at ``last_s`` seconds; None when nothing is.

    Half a second, or two steps of the sampling, may be missing.
    """
    expected = plan.duration_s - 2 * max(plan.step_s, plan.duration_s / plan.coded_frames)
    if plan.start is not None and plan.last is not None:
        expected = float((plan.last - plan.start) * plan.time_base)
    if last_s >= expected - max(0.5, 2 / frames_per_second):
        return None
    return f"only the first {last_s:.1f} of {plan.duration_s:.1f} s can be decoded"


def decoded(
    container: "InputContainer", plan: Outline, hear: "Callable[[AudioFrame], None] | None" = None
) -> "Iterator[tuple[VideoFrame, float]]":
    """Yield every picture in the order in which it is shown, with its time after the first, in seconds.

    Args:
        container: before its first packet.
        plan: its outline.
        hear: is given the pieces of the first track of sound, in their order; None: the sound is not decoded.

    Raises:
        Exception: one of :func:`~salon_judges.media.video_container.video_failures`, for a damaged file.
    """
    from av import AudioFrame

    stream = picture_streams(container)[0]
    stream.thread_type = "AUTO"
    stream.codec_context.thread_count = _THREADS
    tracks = [each for each in container.streams.audio if each.codec_context is not None][:1] if hear else []
    start_s = float((plan.start or 0) * plan.time_base)
    stamped = plan.start is not None and not frames_are_counted(container)
    number = -1
    frame: Any
    for frame in container.decode(stream, *tracks):
        if hear and isinstance(frame, AudioFrame):
            hear(frame)
            continue
        number += 1
        known = stamped and frame.pts is not None and frame.time_base is not None
        yield frame, frame.time - start_s if known else number * plan.step_s


@contextmanager
def rewound(data: bytes, container: "InputContainer", plan: Outline) -> "Iterator[InputContainer]":
    """Yield a container before its first packet: this one, or one that is opened again where it cannot go back.

    To open a file costs the decoding of a few frames.
    """
    try:
        container.seek(plan.start or 0, stream=picture_streams(container)[0])
    except video_failures():
        with opened(data) as again:
            yield again
    else:
        yield container


class _Encoder:
    """Makes JPEG of frames: resized, pixels square, upright. As videos do, it halves the resolution of colour."""

    def __init__(self, plan: Outline, policy: VideoPolicy) -> None:
        from av.video.reformatter import VideoReformatter

        self._resize = VideoReformatter()  # keeps its tables from frame to frame
        self._size = plan.fitting(policy.most_pixels)
        self._quality = policy.quality

    def __call__(self, frame: "VideoFrame") -> tuple[Media, int]:
        """Return one frame, and by how many degrees it was turned, counter-clockwise."""
        width, height = self._size
        small: Any = self._resize.reformat(frame, width, height, format="rgb24", interpolation="AREA")
        image = small.to_image()
        turn = round(frame.rotation / _QUARTER) * _QUARTER % 360
        if turn:
            image = image.rotate(turn, expand=True)
        stream = BytesIO()
        image.save(stream, "JPEG", quality=self._quality, subsampling="4:2:0")
        return Media.from_bytes(stream.getvalue()), turn

"""Pictures and videos as data sets hold them, as :class:`~salon_taxonomy.protocols.Media` for judges, editors and scorers."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from salon_judges.media.video_container import container_of
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS, VideoLimits, VideoPolicy
from salon_judges.media.video_sampling import sample_video
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import MediaKind
from salon_taxonomy.verdict import Unscored

MOST_FRAMES: Final = 128
"""Frames that are taken from the file of one video; of longer ones they are thinned evenly."""
_HEAD: Final = 64
"""Bytes that tell a video from a picture."""


def picture(value: object, *, row: int | None = None, column: str | None = None) -> Media:
    """Read one picture, as data sets hold it.

    Args:
        value: a path, encoded bytes, ``Media``, a PIL image, a mapping with ``bytes`` or ``path``, or a list of one. A PIL
            image is encoded as PNG, in red, green and blue where PNG does not know its colours (CMYK).
        row: where it stands, for the message.
        column: likewise.

    Raises:
        InputError: for anything else, several pictures, or a file that cannot be read.

    Example:
        >>> picture([b"not really a picture"]).sha256[:12]
        'fe1a4ab1fb63'
    """
    if isinstance(value, Media):
        return value
    if isinstance(value, bytes | bytearray):
        return Media.from_bytes(bytes(value))
    if isinstance(value, str | Path):
        return Media.from_file(value)
    if isinstance(value, Sequence) and len(value) == 1:
        return picture(value[0], row=row, column=column)
    if isinstance(value, dict) and (held := value.get("bytes") or value.get("path")):
        return picture(held, row=row, column=column)
    if callable(getattr(value, "save", None)):
        return Media.from_bytes(_png(value, row, column))
    raise InputError("no picture: give a path, encoded bytes or a PIL image, not", row=row, column=column, value=value)


def shown(value: object, *, row: int | None = None, column: str | None = None) -> Any:
    """Return a PIL image as it is; anything else as :func:`picture` does."""
    return value if callable(getattr(value, "convert", None)) else picture(value, row=row, column=column)


def video(
    value: object,
    *,
    frames_per_second: float = 5.0,
    most_frames: int = MOST_FRAMES,
    limits: VideoLimits = DEFAULT_VIDEO_LIMITS,
    row: int | None = None,
    column: str | None = None,
) -> Any:
    """Read one video: frames as they are, a file as frames that are sampled from it.

    Args:
        value: a list of frames, each as :func:`picture` takes it; or a path, encoded bytes, ``Media``, or a mapping with
            ``bytes`` or ``path``, of an MP4, MOV, MKV, WebM or AVI file.
        frames_per_second: how densely a file is sampled.
        most_frames: of a file; more are thinned evenly.
        limits: larger files are ``Unscored``.
        row: where it stands, for the message.
        column: likewise.

    Returns:
        A list of PIL images and ``Media``, or ``Media`` with a film; ``Unscored`` with the reason ``bad_media`` for a file that
        is no video, damaged or too large.

    Raises:
        InputError: for anything else, a file that cannot be read, or without PyAV.

    Example:
        >>> import tempfile
        >>> from salon_synthetic.videos import write_clip
        >>> clip = write_clip(Path(tempfile.mkdtemp()) / "1.mp4", "clean", seconds=1.0)
        >>> [frame.at_s for frame in video(clip, frames_per_second=2).film.frames], video(b"prose").reason.value
        ([0.0, 0.5], 'bad_media')
    """
    if isinstance(value, list | tuple):
        return [shown(frame, row=row, column=column) for frame in value]
    media = picture(value, row=row, column=column)
    if media.film is not None:
        return media
    path = Path(str(media.uri))
    data = media.data if media.data is not None else read_inside(path, path.parent, limits.most_bytes)
    policy = VideoPolicy(frames_per_second=frames_per_second, most_frames=most_frames)
    sampled = data if isinstance(data, Unscored) else sample_video(data, policy, limits=limits)
    return sampled if isinstance(sampled, Unscored) else replace(media, kind=MediaKind.VIDEO, film=sampled.film)


def picture_or_video(value: object, *, row: int | None = None, column: str | None = None, **settings: Any) -> Any:
    """Read what a result was made from: a video as :func:`video` does, told by its first bytes, a picture as :func:`shown`.

    Args:
        value: as of either; a list is a video's frames.
        row: where it stands, for the message.
        column: likewise.
        settings: of :func:`video`.

    Raises:
        InputError: as of either.

    Example:
        >>> picture_or_video(b"\\x00\\x00\\x00\\x20ftypisom").reason.value, picture_or_video(b"prose").kind.value
        ('bad_media', 'image')
    """
    if isinstance(value, list | tuple):
        return video(value, row=row, column=column)
    media = shown(value, row=row, column=column)
    if not isinstance(media, Media) or (media.kind != MediaKind.VIDEO and container_of(_head(media)) is None):
        return media
    return video(media, row=row, column=column, **settings)


def _head(media: Media) -> bytes:
    """Return the first bytes of a file; none where it cannot be read; decoding it reports why."""
    if media.data is not None:
        return media.data[:_HEAD]
    try:
        with Path(str(media.uri)).open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _png(image: Any, row: int | None, column: str | None) -> bytes:
    """Return a PIL image as a PNG file."""
    try:
        encoded = io.BytesIO()
        image.save(encoded, format="PNG")
    except OSError:  # PNG has no such mode; trainers' processors turn it into RGB as well
        try:
            encoded = io.BytesIO()
            image.convert("RGB").save(encoded, format="PNG")
        except (OSError, ValueError) as error:
            problem = f"cannot be encoded as PNG ({error}): a picture of mode"
            raise InputError(problem, row=row, column=column, value=getattr(image, "mode", None)) from error
    return encoded.getvalue()

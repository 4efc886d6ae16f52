"""Encode videos for requests: timed frames in order, or the file as a ``video_url``."""

import asyncio
import base64
import json
from pathlib import Path

from salon_judges.clients.pictures import PictureParts, file_bytes
from salon_judges.clients.settings import VideoInput
from salon_judges.media.video_container import media_type_of
from salon_judges.media.video_policy import VideoPolicy, thinned
from salon_judges.media.video_sampling import sample_video
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Film, Media
from salon_taxonomy.verdict import Unscored


async def video_parts(media: Media, settings: VideoInput, pictures: PictureParts) -> list[bytes]:
    """Return the JSON texts of a video's parts, in order.

    Args:
        media: the video. Frames that were taken from it before (``film``) are used where they are within the judge's limits;
            otherwise the file is read and sampled here, in a thread.
        settings: what the judge takes.
        pictures: encodes the frames and keeps those used last.

    Raises:
        InputError: for a video on the network, a file that is gone or changed, or one that cannot be decoded; the runner of
            suites finds the last before it asks.
    """
    if settings.send == "video_url" and media.part is None:
        return [await asyncio.to_thread(_whole, media)]
    parts = await asyncio.to_thread(as_frames, media, settings)
    return [_text(part) if isinstance(part, str) else await pictures.part(part) for part in parts]


def as_frames(media: Media, settings: VideoInput) -> list[str | Media]:
    """Return a video as texts and pictures: its length, then each frame, with its time if wanted.

    Args:
        media: as :func:`video_parts` takes it.
        settings: what the judge takes.

    Raises:
        InputError: as :func:`video_parts`.
    """
    film = media.film
    if film is None or _too_large(media, settings):
        film = _sampled(media, settings)
    film = film.within(media.part)
    frames = thinned(film.frames, settings.most_frames)
    what = "A video" if media.part is None else "Part of a video"
    parts: list[str | Media] = [f"{what} of {film.duration_s:.1f} seconds, as {len(frames)} frames in their order:"]
    for frame in frames:
        parts += [f"[{frame.at_s:.1f} s]", frame.image] if settings.time_stamps else [frame.image]
    return parts


def _too_large(media: Media, settings: VideoInput) -> bool:
    return settings.most_pixels is not None and (media.most_pixels is None or media.most_pixels > settings.most_pixels)


def _sampled(media: Media, settings: VideoInput) -> Film:
    policy = VideoPolicy(frames_per_second=media.frames_per_second or VideoPolicy().frames_per_second)
    policy = policy.narrowed(most_pixels=media.most_pixels)
    policy = policy.narrowed(most_frames=settings.most_frames, most_pixels=settings.most_pixels)
    sampled = sample_video(_bytes(media), policy)
    if isinstance(sampled, Unscored):
        name = None if media.uri is None else Path(media.uri)
        raise InputError(f"this video cannot be shown: {sampled.detail}", source=name)
    return sampled.film


def _whole(media: Media) -> bytes:
    data = _bytes(media)
    head = b'{"type":"video_url","video_url":{"url":"data:%b;base64,' % media_type_of(data).encode()
    return b"".join((head, base64.b64encode(data), b'"}}'))


def _bytes(media: Media) -> bytes:
    return media.data if media.data is not None else file_bytes(media)


def _text(words: str) -> bytes:
    return json.dumps({"type": "text", "text": words}, separators=(",", ":")).encode("ascii")

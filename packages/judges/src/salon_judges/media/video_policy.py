"""The sampling of videos: rate, size, number and times of frames, and limits of the files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from salon_taxonomy.errors import InputError

QWEN_FRAME_PIXELS = 768 * 28 * 28
"""602,112: what the widely used Qwen-VL video reader shows of one frame at most."""


@dataclass(frozen=True, slots=True)
class VideoPolicy:
    """Which frames of a video a judge is shown, how large and how encoded.

    Attributes:
        frames_per_second: how densely in time, by time stamps; 5 in Artifact-Bench (section 4).
        most_pixels: width × height of a frame at most, keeping its shape.
        most_frames: of one video; more are thinned evenly. None: no limit.
        quality: of the frames' JPEG, 1 to 100.

    Raises:
        InputError: for a rate that is not above 0, a limit below 1 or a quality out of its range.

    Example:
        >>> policy = VideoPolicy()
        >>> policy.narrowed(most_frames=16), policy.narrowed(most_pixels=10**9) == policy
        (VideoPolicy(frames_per_second=5.0, most_pixels=602112, most_frames=16, quality=92), True)
    """

    frames_per_second: float = 5.0
    most_pixels: int = QWEN_FRAME_PIXELS
    most_frames: int | None = None
    quality: int = 92

    def __post_init__(self) -> None:
        if not 0 < self.frames_per_second <= 1000:
            raise InputError("must be above 0 and at most 1000, not", column="frames_per_second", value=self.frames_per_second)
        if self.most_pixels < 1:
            raise InputError("must be 1 or more", column="most_pixels", value=self.most_pixels)
        if self.most_frames is not None and self.most_frames < 1:
            raise InputError("must be 1 or more, or None for no limit", column="most_frames", value=self.most_frames)
        if not 1 <= self.quality <= 100:
            raise InputError("must lie between 1 and 100", column="quality", value=self.quality)

    def narrowed(self, *, most_frames: int | None = None, most_pixels: int | None = None) -> Self:
        """Return the policy within the limits of a judge; wider limits and None change nothing."""
        frames = [limit for limit in (self.most_frames, most_frames) if limit is not None]
        pixels = [limit for limit in (self.most_pixels, most_pixels) if limit is not None]
        return replace(self, most_frames=min(frames, default=None), most_pixels=min(pixels))


@dataclass(frozen=True, slots=True)
class VideoLimits:
    """How large a video may be before it is refused; guards memory and time against files made to fill them.

    Attributes:
        most_bytes: of the file.
        most_pixels: width × height of its picture.
        most_seconds: of its length.
        most_coded_frames: that it holds; each has to be decoded, whatever the rate.
    """

    most_bytes: int = 256 << 20
    most_pixels: int = 36_000_000
    most_seconds: float = 600.0
    most_coded_frames: int = 72_000


DEFAULT_VIDEO_LIMITS = VideoLimits()
"""The default limits: refused is over 256 MiB, 36 megapixels (8K), ten minutes or 72,000 frames."""


T = TypeVar("T")
_SLACK = 1e-6  # of one step: time stamps are rounded


def times_at(frames_per_second: float, duration_s: float) -> list[float]:
    """0, 1/rate, 2/rate, … seconds, as long as the video lasts; at least the first.

    Example:
        >>> times_at(5, 1.0), len(times_at(5, 10.0)), times_at(2, 0.0)
        ([0.0, 0.2, 0.4, 0.6, 0.8], 50, [0.0])
    """
    count = max(1, math.ceil(duration_s * frames_per_second - _SLACK))
    return [number / frames_per_second for number in range(count)]


def thinned(values: Sequence[T], most: int | None) -> list[T]:
    """Return at most so many values, evenly spread, with the first and the last; for one, the middle.

    Example:
        >>> thinned(range(11), 3), thinned(range(10), 4), thinned(range(5), 1), thinned(range(3), None)
        ([0, 5, 10], [0, 3, 6, 9], [2], [0, 1, 2])
    """
    count = len(values)
    if most is None or count <= most:
        return list(values)
    if most == 1:
        return [values[(count - 1) // 2]]
    return [values[round(place * (count - 1) / (most - 1))] for place in range(most)]

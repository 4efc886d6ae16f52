"""Size and encoding of a suite's pictures; the limits of files are those of :mod:`salon_taxonomy.picture_decoding`."""

from dataclasses import dataclass
from enum import StrEnum

from salon_judges.media.video_policy import VideoPolicy
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import DEFAULT_LIMITS as DEFAULT_LIMITS
from salon_taxonomy.picture_decoding import SourceLimits as SourceLimits

_BEST_QUALITY = 100


class Encoding(StrEnum):
    """The file format that is sent."""

    KEEP = "keep"
    """PNG, JPEG and WebP stay byte for byte as they are when nothing about the picture must change; others become PNG."""
    PNG = "png"
    """PNG files from which nothing must change stay byte for byte as they are, too."""
    JPEG = "jpeg"
    WEBP = "webp"


@dataclass(frozen=True, slots=True)
class PicturePolicy:
    """Size and encoding of the pictures that a judge is shown.

    Attributes:
        longest_side: in pixels; larger pictures are made smaller, smaller ones stay. None: no limit.
        most_pixels: width × height at most, keeping the shape. None: no limit.
        encoding: the format that is sent.
        quality: of JPEG and WebP, 1 to 100.
        video: for a suite whose files are videos, which frames are shown; the fields above are then not used. None: pictures.
        mixed: with ``video``, files whose names end as a picture's are pictures.

    Raises:
        InputError: for a limit below 1 or a quality out of its range.

    Example:
        >>> PicturePolicy(longest_side=512).fitting(1600, 1200), PicturePolicy(most_pixels=1_000_000).fitting(1600, 1200)
        ((512, 384), (1154, 866))
    """

    longest_side: int | None = None
    most_pixels: int | None = None
    encoding: Encoding = Encoding.KEEP
    quality: int = 92
    video: VideoPolicy | None = None
    mixed: bool = False

    def __post_init__(self) -> None:
        for name in ("longest_side", "most_pixels"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError("must be 1 or more, or None for no limit", column=name, value=value)
        if not 1 <= self.quality <= _BEST_QUALITY:
            raise InputError("must lie between 1 and 100", column="quality", value=self.quality)

    def fitting(self, width: int, height: int) -> tuple[int, int]:
        """Return the size at which a picture is shown: never larger, same shape, each side at least 1."""
        scale = 1.0
        if self.longest_side is not None:
            scale = min(scale, self.longest_side / max(width, height))
        if self.most_pixels is not None:
            scale = min(scale, (self.most_pixels / (width * height)) ** 0.5)
        if scale == 1.0:
            return width, height
        size = (max(1, int(width * scale + 1e-9)), max(1, int(height * scale + 1e-9)))
        if self.most_pixels is not None and size[0] * size[1] > self.most_pixels:  # a line: one side could not shrink below 1
            size = (min(size[0], self.most_pixels), 1) if width > height else (1, min(size[1], self.most_pixels))
        return size

"""Measure each picture of a new build against the base's picture of the same prompt and sample.

    files of base, files of new ──► pairs ──► equal byte by byte? ──► decoded ──► each measure ──► one row

One pair at a time is in memory for each thread. A pair without a verdict has a row with its reason, never a number.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.runs.pictures import generation_id
from salon_console.numbers import counted
from salon_judges.formats.generations import VIDEO_SUFFIXES, Generated
from salon_judges.media import VideoLimits, VideoPolicy, sample_video
from salon_judges.media.video_container import container_of
from salon_judges.scorers.lpips import lpips
from salon_ranking.options import Progress, Threads, workers
from salon_ranking.pixels import colour_difference, ms_ssim, psnr, ssim
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import bad_media, read_inside
from salon_taxonomy.picture_decoding import DEFAULT_LIMITS, SourceLimits, decode, head_problem
from salon_taxonomy.verdict import Unscored

Picture: TypeAlias = NDArray[np.uint8]
"""8-bit sRGB, shape (height, width, 3)."""


def mean_psnr(values: Sequence[float]) -> float:
    """Return the PSNR in decibels of the mean squared error of frames of one size, from the PSNR of each.

    Example:
        >>> mean_psnr([30.0, math.inf]), mean_psnr([math.inf])
        (33.01029995663981, inf)
    """
    error = fmean(10.0 ** (-value / 10.0) for value in values)
    return -10.0 * math.log10(error) if error > 0.0 else math.inf


@dataclass(frozen=True, slots=True)
class PairMeasure:
    """A measure of two pictures of one size.

    Attributes:
        function: of the base's picture and the new one; an `InputError` means that it cannot measure them.
        equal: its value of equal pictures, which are not measured.
        lower: whether less is better.
        over_frames: makes one value of those of a video's frames.
    """

    function: Callable[[Picture, Picture], float]
    equal: float
    lower: bool = False
    over_frames: Callable[[Sequence[float]], float] = fmean


MEASURES: Final[Mapping[str, PairMeasure]] = {
    "psnr": PairMeasure(psnr, math.inf, over_frames=mean_psnr),
    "ssim": PairMeasure(partial(ssim, threads=1), 1.0),
    "ms_ssim": PairMeasure(partial(ms_ssim, threads=1), 1.0),
    "colour_difference": PairMeasure(partial(colour_difference, threads=1), 0.0, lower=True),
    "lpips": PairMeasure(lpips, 0.0, lower=True),
    "lpips_vgg": PairMeasure(partial(lpips, network="vgg"), 0.0, lower=True),
}
"""By name; ``docs/pixels.md`` has their formulas."""

FLICKER: Final = "flicker"
"""A measure of videos alone: the mean absolute change, from frame to frame, of new less base, in levels of 0 to 255."""

FRAMES: Final = VideoPolicy(frames_per_second=60.0, quality=100)
"""Frames of videos: those that either shows, at up to 60 per second, of at most 602,112 pixels, as JPEG of the best quality."""

_SCHEMA: Final = {
    "prompt_id": pl.String,
    "sample": pl.Int64,
    "generation_id": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
    "identical": pl.Boolean,
    "reason": pl.String,
    "detail": pl.String,
}


def between(
    base: Iterable[Generated],
    new: Iterable[Generated],
    measures: Sequence[str] | Mapping[str, PairMeasure] = ("psnr", "ssim"),
    *,
    names: tuple[str, str] = ("base", "new"),
    frames: VideoPolicy = FRAMES,
    limits: SourceLimits = DEFAULT_LIMITS,
    video_limits: VideoLimits | None = None,
    threads: Threads | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Measure each picture or video of the new build against the base's of the same prompt and sample.

    Args:
        base, new: the files of each build, as ``salon_judges.formats.generations`` reads them. Of one with a ``sha256`` only
            those very bytes are measured.
        measures: names of `MEASURES` and `FLICKER`, or measures of your own by name.
        names: what errors and details call the builds.
        frames: which frames of a video are compared, one by one; the value is their mean (of PSNR: that of the mean error).
        limits, video_limits: larger files are not decoded.
        threads: how many pairs are read at once; by default as many as the process has processors.
        progress: called after each pair with the pairs that are done and their number.

    Returns:
        One row per pair and measure, by prompt and sample: ``prompt_id``, ``sample``, ``generation_id`` (the new file's, as in
        the store; null where it cannot be read), ``measure``, ``value``, ``identical``, ``reason`` and ``detail``.
        ``identical`` is true where the files are equal byte by byte, which are then not decoded, or decode to equal pixels;
        ``value`` is then the measure's best one, for PSNR null. Where a verdict is missing, ``value`` is null, ``reason`` is
        ``bad_media`` and ``detail`` gives the cause: a file cannot be read, sizes or numbers of frames differ, a picture is
        smaller than a measure's window.

    Raises:
        InputError: an unknown measure, two files of one prompt and sample, or a side without a file that the other has.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from salon_judges.formats.generations import read_own_names
        >>> folder = Path(tempfile.mkdtemp())
        >>> for build, blue in (("base", 100), ("new", 104)):
        ...     (folder / build).mkdir()
        ...     Image.new("RGB", (32, 32), (90, 90, blue)).save(folder / build / "cat.png")
        ...     Image.new("RGB", (32, 32)).save(folder / build / "dog.png")
        >>> rows = between(read_own_names(folder / "base"), read_own_names(folder / "new"), ["psnr"])
        >>> rows.select("prompt_id", pl.col("value").round(2), "identical").rows()
        [('cat', 40.86, False), ('dog', None, True)]
    """
    work = _Work(_measures(measures), names, frames, limits, video_limits or VideoLimits())
    pairs = paired_files(base, new, names)
    rows: list[tuple[Any, ...]] = []
    pool = ThreadPoolExecutor(workers(threads), thread_name_prefix="salon-pixels")
    try:
        for done, rows_of_pair in enumerate(pool.map(work.rows, pairs), start=1):
            rows += rows_of_pair
            if progress is not None:
                progress(done, len(pairs))
    finally:
        pool.shutdown(cancel_futures=True)
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _measures(asked: Sequence[str] | Mapping[str, PairMeasure]) -> dict[str, PairMeasure | None]:
    """Return the measures by name; None for the one of successive frames."""
    if isinstance(asked, str) or not asked:
        raise InputError("must be a list of names, not", key="measures", value=asked, allowed=[*MEASURES, FLICKER])
    if isinstance(asked, Mapping):
        return dict(asked)
    for name in asked:
        if name not in MEASURES and name != FLICKER:
            raise InputError("there is no such measure:", key="measures", value=name, allowed=[*MEASURES, FLICKER])
    return {name: MEASURES.get(name) for name in asked}


def paired_files(
    base: Iterable[Generated], new: Iterable[Generated], names: tuple[str, str] = ("base", "new")
) -> list[tuple[Generated, Generated]]:
    """Return the files of each prompt and sample, by these.

    Raises:
        InputError: two files of one prompt and sample, or a side without a file that the other has.
    """
    sides: list[dict[tuple[str, int], Generated]] = []
    for side, name in ((base, names[0]), (new, names[1])):
        files: dict[tuple[str, int], Generated] = {}
        for file in side:
            key = (file.prompt_id, file.sample)
            if key in files:
                raise InputError(f"has two files of sample {file.sample} of prompt", source=name, value=file.prompt_id)
            files[key] = file
        sides.append(files)
    for mine, other, name in ((sides[0], sides[1], names[0]), (sides[1], sides[0], names[1])):
        gone = sorted(other.keys() - mine.keys())
        if gone:
            hint = "Both builds need the same prompts and seeds."
            problem = f"lacks {len(gone):,} of {counted(len(other), 'picture')}, such as sample {gone[0][1]} of prompt"
            raise InputError(problem, source=name, value=gone[0][0], hint=hint)
    if not sides[0]:
        raise InputError("has no picture", source=names[0])
    return [(sides[0][key], sides[1][key]) for key in sorted(sides[0])]


def bytes_of(file: Generated, most_bytes: int) -> bytes | Unscored:
    """Return the bytes of a file; of one with a ``sha256`` only those very bytes."""
    content = read_inside(file.path, file.root, most_bytes)
    if file.sha256 is None or isinstance(content, Unscored) or hashlib.sha256(content).hexdigest() == file.sha256:
        return content
    return bad_media("the file has changed since it was made or judged")


@dataclass(slots=True)
class _Values:
    """The values of a pair, frame by frame."""

    by_measure: dict[str, list[float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    identical: bool = True
    changes: list[float] = field(default_factory=list)


def _changing(base: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the pairs of frames in which either video shows another picture than just before."""
    before: tuple[bytes | None, bytes | None] = (None, None)
    for pair in zip(base, new, strict=True):
        if pair[0] is not before[0] or pair[1] is not before[1]:
            yield pair
        before = pair


@dataclass(frozen=True, slots=True)
class _Work:
    """What is done with each pair; called from several threads."""

    measures: Mapping[str, PairMeasure | None]
    names: tuple[str, str]
    frames: VideoPolicy
    limits: SourceLimits
    video_limits: VideoLimits

    def rows(self, pair: tuple[Generated, Generated]) -> list[tuple[Any, ...]]:
        """Return the rows of a pair, one per measure."""
        is_video = [file.path.suffix.lower() in VIDEO_SUFFIXES for file in pair]
        most = [self.video_limits.most_bytes if video else self.limits.most_bytes for video in is_video]
        base, new = (bytes_of(file, bytes_) for file, bytes_ in zip(pair, most, strict=True))
        key = None if isinstance(new, Unscored) else generation_id(pair[1], hashlib.sha256(new).hexdigest())
        values = self._compared(base, new, is_video)
        of_pair = (pair[1].prompt_id, pair[1].sample, key)
        return [(*of_pair, name, *self._cell(name, values, is_video[1])) for name in self.measures]

    def _compared(self, base: bytes | Unscored, new: bytes | Unscored, is_video: Sequence[bool]) -> _Values | Unscored:
        for content, name in ((base, self.names[0]), (new, self.names[1])):
            if isinstance(content, Unscored):
                return bad_media(f"{name}: {content.detail}")
        assert isinstance(base, bytes) and isinstance(new, bytes)  # noqa: S101 - for the type checker
        if is_video[0] != is_video[1]:
            return bad_media("one is a picture, the other a video")
        if base == new:
            problem = self._head_problem(new, is_video[1])
            return bad_media(f"both: {problem}") if problem else _Values()
        films = []
        for content, name in ((base, self.names[0]), (new, self.names[1])):
            film = self._frames(content) if is_video[0] else [content]
            if isinstance(film, Unscored):
                return bad_media(f"{name}: {film.detail}")
            films.append(film)
        if len(films[0]) != len(films[1]):
            return bad_media(f"numbers of frames differ: {len(films[0])} and {len(films[1])}")
        return self._measured(_changing(films[0], films[1]))

    def _head_problem(self, content: bytes, is_video: bool) -> str | None:
        if is_video:
            return None if container_of(content) else "the file is none of the video containers that are read"
        return head_problem(content, self.limits)

    def _frames(self, content: bytes) -> list[bytes] | Unscored:
        """Return the frames of a video, as JPEG files."""
        sampled = sample_video(content, self.frames, limits=self.video_limits)
        if isinstance(sampled, Unscored):
            return sampled
        return [frame.image.data or b"" for frame in sampled.film.frames]

    def _measured(self, frames: Iterable[tuple[bytes, bytes]]) -> _Values | Unscored:
        values, last = _Values(), None
        for pair in frames:
            pixels: list[Picture] = []
            for content, name in zip(pair, self.names, strict=True):
                picture = decode(content, self.limits)
                if isinstance(picture, Unscored):
                    return bad_media(f"{name}: {picture.detail}")
                pixels.append(np.asarray(picture.image.convert("RGB")))
            base, new = pixels
            if base.shape != new.shape:
                sizes = " and ".join(f"{each.shape[1]}x{each.shape[0]}" for each in pixels)
                return bad_media(f"sizes differ: {sizes}")
            same = np.array_equal(base, new)
            values.identical = values.identical and same
            for name, measure in self.measures.items():
                if measure is not None and name not in values.problems:
                    try:
                        value = measure.equal if same else measure.function(base, new)
                        values.by_measure.setdefault(name, []).append(value)
                    except InputError as error:
                        values.problems[name] = str(error)
            if None in self.measures.values():
                difference = new.astype(np.int16) - base
                if last is not None:
                    values.changes.append(float(np.abs(difference - last).mean()))
                last = difference
        return values

    def _cell(self, name: str, values: _Values | Unscored, is_video: bool) -> tuple[float | None, bool, str | None, str | None]:
        """Return value, identical, reason and detail."""
        if isinstance(values, Unscored):
            return None, False, values.reason.value, values.detail
        measure, problem, value = self.measures[name], values.problems.get(name), math.inf
        if measure is None and not is_video:
            problem = "flicker is of videos"
        elif values.identical:
            value = 0.0 if measure is None else measure.equal
        elif measure is not None and not problem:
            value = measure.over_frames(values.by_measure[name])
            problem = None if math.isfinite(value) else f"the measure returned {value}"
        elif values.changes:
            value = fmean(values.changes)
        elif not problem:
            problem = "flicker needs two frames or more"
        if problem:
            missing = bad_media(problem)
            return None, values.identical, missing.reason.value, missing.detail
        return (value if math.isfinite(value) else None), values.identical, None, None

"""The stage ``watch``: decode every video once, and measure its pictures over time and its sound.

A frame is measured by a grid of 32 × 32 values. Each is the mean of a run of pixels in the middle row of its cell, so that most
of the time of the stage is the decoding.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_curate.files import is_video
from salon_curate.measures import laplacian, phash, variance
from salon_curate.stages import stage
from salon_judges.media.video_container import failure_words, opened, outline_of, require_av, video_failures
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_judges.media.video_sampling import decoded, missing_end, rewound
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from av import AudioFrame, VideoFrame

_SIDE: Final = 32
SAMPLES_PER_SECOND: Final = 10
"""How often a clip is sampled for ``motion`` and ``frame_hashes``."""
_CUT_STEP: Final = 12.0
_CUT_RATIO: Final = 3.0
_BLACK_LEVEL: Final = 25.5
_BLACK_CELLS: Final = 0.98
_FROZEN_STEP: Final = 0.255
_FROZEN_SECONDS: Final = 0.5
_SHARP_ROWS: Final = 8
_LONGEST_RUN: Final = 257
"""Pixels whose sum is within 16 bits."""
_LUMA_FIRST: Final = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "gray"})
"""Pixel formats whose first plane is luma of 8 bits; others are converted."""
_FULL_RANGE: Final = 2
_SILENCE: Final = -70.0
_FRAMES_AT_ONCE: Final = 32
"""Frames, and pieces of sound, that are measured together: after each frame the decoder has emptied the processor's caches."""


@stage(
    version="3",
    reads=["image", "problem"],
    writes={
        "duration_s": pl.Float64,
        "fps": pl.Float32,
        "frames": pl.UInt32,
        "frame_width": pl.UInt32,
        "frame_height": pl.UInt32,
        "cuts": pl.UInt32,
        "cut_times": pl.List(pl.Float64),
        "black_share": pl.Float32,
        "frozen_share": pl.Float32,
        "motion": pl.Float32,
        "brightness": pl.Float32,
        "frame_sharpness": pl.Float32,
        "sound": pl.Boolean,
        "loudness": pl.Float32,
        "frame_hashes": pl.List(pl.UInt64),
    },
)
def watch(batch: pl.DataFrame) -> pl.DataFrame:
    """Decode every video once, to its last picture, and measure it.

    * ``duration_s``: from the first picture to the end of the last, in seconds. ``frames``: that were decoded. ``fps``: frames
      per second of the duration.
    * ``frame_width``, ``frame_height``: of the coded picture, in pixels.
    * ``cuts``, ``cut_times``, ``black_share``, ``frozen_share``, ``motion``, ``brightness``: see :func:`timeline`.
    * ``frame_sharpness``: median over one frame of each second of the variance of the Laplacian (as ``sharpness`` of ``look``),
      at every eighth row.
    * ``sound``: the file has a track of sound. ``loudness``: its integrated loudness in LUFS (ITU-R BS.1770-4, EBU R 128), by
      FFmpeg's filter ``ebur128``; −70 is silence; null without sound.
    * ``frame_hashes``: the perceptual hash (as ``phash`` of ``look``) of what is shown at 0, 0.1, 0.2, … seconds.

    A file that is cut off, damaged, no video, or over the limits of :class:`~salon_judges.media.VideoLimits` is null with the
    reason; so is a picture.

    Raises:
        InputError: without PyAV (the extra ``video``).
    """
    rows = [_watched(data, problem) for data, problem in batch.select("image", "problem").iter_rows()]
    return pl.DataFrame(
        {"key": batch["key"], **{name: [row.get(name) for row in rows] for name in (*watch.writes, "problem")}},
        schema={"key": pl.String, **watch.writes, "problem": pl.String},
    )


def timeline(times: Sequence[float], grids: NDArray[np.uint8], duration_s: float) -> dict[str, Any]:
    """Return what the grids of a clip's frames say of it over time.

    A difference is the mean absolute difference of two grids, 0 to 255.

    * ``cut_times``: seconds of the first frame of every shot but the first; ``cuts``: how many. A cut is a step between two
      frames of at least 12 that is over three times the steps before and after it; so neither a flash nor a fast pan is one,
      and a shot has two frames or more.
    * ``black_share``: share of the time in which at least 98% of a frame is at most a tenth of white (the defaults of FFmpeg's
      ``blackdetect``).
    * ``frozen_share``: share of the time in stretches of 0.5 s or more whose frames differ from their first by at most 0.255,
      a thousandth of white (the noise that FFmpeg's ``freezedetect`` allows).
    * ``motion``: mean difference of what is shown at 0, 0.1, 0.2, … seconds from what is shown 0.1 s before, without steps
      over a cut; 0 for a clip of one sample.
    * ``brightness``: mean over the time, 0 (black) to 255 (white).
    * ``samples``: indices of the frames that are shown at 0, 0.1, 0.2, … seconds.

    Args:
        times: of the frames, in seconds, ascending from 0.
        grids: shape (frames, 32, 32), 0 (black) to 255 (white).
        duration_s: of the clip, at least the last time.

    Example:
        >>> dark, light = np.zeros((5, 32, 32), np.uint8), np.full((5, 32, 32), 200, np.uint8)
        >>> shown = timeline([number / 10 for number in range(10)], np.concatenate([dark, light]), 1.0)
        >>> shown["cut_times"], shown["black_share"], shown["frozen_share"], round(shown["brightness"])
        ([0.5], 0.5, 1.0, 100)
    """
    at = np.asarray(times, np.float64)
    flat = grids.reshape(len(grids), -1)
    spans = np.diff(at, append=max(duration_s, at[-1])).clip(min=0.0)
    whole = float(spans.sum())
    weights = spans / whole if whole else np.full(len(at), 1 / len(at))
    steps = _differences(flat[:-1], flat[1:])
    beside = np.concatenate([[np.inf], steps, [np.inf]])
    around = np.maximum(beside[:-2], beside[2:])
    cuts = np.flatnonzero((steps >= _CUT_STEP) & (steps > _CUT_RATIO * around)) + 1
    black = (flat <= _BLACK_LEVEL).mean(axis=1) >= _BLACK_CELLS
    ends = np.arange(max(1, int(np.ceil(max(duration_s, at[-1]) * SAMPLES_PER_SECOND - 1e-6)))) / SAMPLES_PER_SECOND
    samples = np.searchsorted(at, ends + 1e-6, side="right") - 1
    shots = np.searchsorted(cuts, samples, side="right")
    moved = _differences(flat[samples[:-1]], flat[samples[1:]])[shots[:-1] == shots[1:]]
    return {
        "cuts": len(cuts),
        "cut_times": at[cuts].tolist(),
        "black_share": min(float(weights @ black), 1.0),  # weights add up to 1 but for rounding
        "frozen_share": min(_frozen_seconds(at, flat, whole) / whole, 1.0) if whole else 0.0,
        "motion": float(moved.mean()) if len(moved) else 0.0,
        "brightness": min(float(weights @ flat.mean(axis=1)), 255.0),
        "samples": samples,
    }


def _differences(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the mean absolute difference of each pair of rows."""
    means: NDArray[np.float64] = (np.maximum(before, after) - np.minimum(before, after)).mean(axis=1)
    return means


def _frozen_seconds(at: NDArray[np.float64], flat: NDArray[np.uint8], end: float) -> float:
    total, first = 0.0, 0
    for number in range(1, len(at) + 1):
        if number < len(at) and _differences(flat[first : first + 1], flat[number : number + 1])[0] <= _FROZEN_STEP:
            continue
        stood = (at[number] if number < len(at) else at[0] + end) - at[first]
        total += stood if stood >= _FROZEN_SECONDS - 1e-6 and number - first > 1 else 0.0
        first = number
    return float(total)


def _watched(content: bytes | None, problem: str | None) -> Mapping[str, Any]:
    if content is None:
        return {"problem": problem or "there is no video"}
    if not is_video(content):
        return {"problem": problem or "the row is a picture, which the stage look measures"}
    require_av()
    seen = _Seen()
    try:
        with opened(content) as container:
            plan = outline_of(container, DEFAULT_VIDEO_LIMITS)
            if isinstance(plan, Unscored):
                return {"problem": plan.detail}
            with rewound(content, container, plan) as source:
                for frame, at_s in decoded(source, plan, seen.hear):
                    if frame.is_corrupt:
                        return {"problem": f"the video is damaged at {at_s:.2f} s"}
                    seen.see(frame, at_s)
        loudness = seen.loudness()
    except video_failures() as error:
        return {"problem": f"the file is cut off or damaged ({failure_words(error)})"}
    if not seen.times:
        return {"problem": "no picture of the video can be decoded"}
    if seen.times[0] > _FROZEN_SECONDS:
        return {"problem": f"the first {seen.times[0]:.1f} s cannot be decoded"}
    if lost := missing_end(plan, seen.times[-1]):
        return {"problem": lost}
    grids = seen.grids()
    columns = timeline(seen.times, grids, plan.duration_s)
    return {
        **columns,
        "duration_s": plan.duration_s,
        "fps": len(seen.times) / plan.duration_s,
        "frames": len(seen.times),
        "frame_width": plan.width,
        "frame_height": plan.height,
        "frame_sharpness": float(np.median(seen.sharpness)),
        "sound": loudness is not None,
        "loudness": loudness,
        "frame_hashes": [phash(grid) for grid in grids[columns["samples"]]],
        "problem": None,
    }


class _Seen:
    """What is kept of a clip while it is decoded."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.sharpness: list[float] = []
        self._heard_s = 0.0
        self._rows: list[NDArray[np.uint8]] = []
        self._grids: list[NDArray[np.uint8]] = []
        self._full = False
        self._meter: _Meter | None = None

    def see(self, frame: "VideoFrame", at_s: float) -> None:
        """Measure one picture."""
        luma, self._full = _luma(frame)
        if self._rows and self._rows[0].shape[1] != luma.shape[1]:
            self._measure_rows()
        self._rows.append(_middle_rows(luma))
        if len(self._rows) == _FRAMES_AT_ONCE:
            self._measure_rows()
        if at_s >= len(self.sharpness) or not self.times:
            rows = np.arange(1, luma.shape[0] - 1, _SHARP_ROWS)
            scale = 1.0 if self._full else (255 / 219) ** 2
            self.sharpness.append(variance(laplacian(luma, rows)) * scale)
        self.times.append(max(at_s, self.times[-1]) if self.times else max(0.0, at_s))

    def hear(self, frame: "AudioFrame") -> None:
        """Measure one piece of sound.

        Raises:
            ValueError: there is more than a video may last.
        """
        self._heard_s += frame.samples / max(1, frame.sample_rate)
        if self._heard_s > DEFAULT_VIDEO_LIMITS.most_seconds:
            raise ValueError(f"its sound lasts over {DEFAULT_VIDEO_LIMITS.most_seconds:,.0f} s")
        if self._meter is None:
            self._meter = _Meter()
        self._meter.add(frame)

    def _measure_rows(self) -> None:
        if self._rows:
            self._grids.append(_grids(np.concatenate(self._rows)))
            self._rows.clear()

    def grids(self) -> NDArray[np.uint8]:
        """Return all grids, shape (frames, 32, 32), 0 (black) to 255 (white)."""
        self._measure_rows()
        coded = np.concatenate(self._grids)
        if self._full:
            return coded
        levels = np.rint((np.arange(256) - 16) * 255 / 219).clip(0, 255).astype(np.uint8)
        return levels[coded]

    def loudness(self) -> float | None:
        """Return the integrated loudness in LUFS, None without sound."""
        return None if self._meter is None else self._meter.integrated()


def _luma(frame: "VideoFrame") -> tuple[NDArray[np.uint8], bool]:
    """Return the luma of a frame, shape (height, width), and whether black is 0 and white 255, not 16 and 235."""
    name = frame.format.name
    if name not in _LUMA_FIRST:
        frame, name = frame.reformat(format="yuv420p"), "yuv420p"
    plane: Any = frame.planes[0]
    values = np.frombuffer(plane, np.uint8).reshape(-1, abs(plane.line_size))[: frame.height, : frame.width]
    return values, name.startswith("yuvj") or name == "gray" or int(frame.color_range) == _FULL_RANGE


def _middle_rows(luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the middle row of each of 32 rows of cells, shape (32, width)."""
    return luma[_middles(luma.shape[0])]


@cache
def _middles(height: int) -> NDArray[np.int64]:
    return (2 * np.arange(_SIDE) + 1) * height // (2 * _SIDE)


def _grids(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the likenesses of 32 × 32 values of frames whose middle rows are given: runs of pixels, averaged."""
    begins, lengths = _runs(rows.shape[1])
    sums = np.add.reduceat(rows, begins, axis=1, dtype=np.uint16 if lengths.max() <= _LONGEST_RUN else np.uint32)
    means: NDArray[np.uint8] = (sums / lengths + 0.5).astype(np.uint8)
    return means.reshape(-1, _SIDE, _SIDE)


@cache
def _runs(width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the runs of pixels of a row begin, and their lengths."""
    edges = np.arange(_SIDE + 1) * width // _SIDE
    return edges[:-1], np.maximum(1, np.diff(edges))


class _Meter:
    """Integrated loudness of sound that comes in pieces."""

    def __init__(self) -> None:
        self._graph: Any = None
        self._pieces: list[AudioFrame] = []
        self._last = _SILENCE

    def add(self, frame: "AudioFrame") -> None:
        """Measure the next piece."""
        self._pieces.append(frame)
        if len(self._pieces) == _FRAMES_AT_ONCE:
            self._measure()

    def integrated(self) -> float:
        """Return the loudness of all that was added, −70 at least."""
        self._measure()
        self._graph.push(None)
        self._pull()
        return self._last

    def _measure(self) -> None:
        for frame in self._pieces:
            if self._graph is None:
                self._graph = _loudness_filter(frame)
            self._graph.push(frame)
        self._pieces.clear()
        self._pull()

    def _pull(self) -> None:
        from av.error import BlockingIOError as NotYetError
        from av.error import EOFError as EndError

        while True:
            try:
                facts = self._graph.pull().metadata
            except (NotYetError, EndError):
                return
            value = float(facts.get("lavfi.r128.I", "nan"))
            if np.isfinite(value):
                self._last = max(_SILENCE, value)


def _loudness_filter(frame: "AudioFrame") -> Any:
    """Return FFmpeg's filter ``ebur128`` for sound like this piece."""
    from av.filter import Graph

    graph = Graph()
    source = graph.add_abuffer(
        sample_rate=frame.sample_rate, format=frame.format.name, layout=frame.layout.name, time_base=frame.time_base
    )
    meter, sink = graph.add("ebur128", "metadata=1"), graph.add("abuffersink")
    source.link_to(meter)
    meter.link_to(sink)
    graph.configure()
    return graph

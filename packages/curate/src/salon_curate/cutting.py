"""The stage ``cut``: the shots of a video as clips of their own, which ``importing.py`` makes rows of another data set."""

import heapq
import io
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from salon_curate.stages import stage
from salon_judges.media.video_container import (
    Outline,
    failure_words,
    opened,
    outline_of,
    picture_streams,
    require_av,
    video_failures,
)
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_judges.media.video_sampling import decoded, rewound
from salon_taxonomy.verdict import Unscored
from salon_taxonomy.video_encoding import STEADY_X264

if TYPE_CHECKING:
    from av import AudioFrame, VideoFrame

_CLOCK: Final = 90_000
"""Units of a second in the clips' time stamps."""
_ENCODER: Final = {"crf": "14", **STEADY_X264}
_LARGE_PIXELS: Final = 4_000_000
_LARGE: Final = {"crf": "14", "x264-params": f"{STEADY_X264['x264-params']}:ref=1:bframes=0:subme=0"}
"""Of larger pictures the encoder holds few: 383 MB instead of 641 for two seconds of 4K, in clips 1.6 times as large."""
_JITTER_S: Final = 0.02
"""Time stamps of sound that differ by less from where the sound before it ended are rounded ones."""
_LEAST_S: Final = 1e-6
_STANDS: Final = 1.5
"""Steps between the pictures before it that the last one of a clip may last without standing."""
_LAYOUTS: Final = re.compile(r"mono|stereo|hexagonal|(quad|[2-7]\.[01])(\(\w+\))?")
"""Of sound, that AAC has."""
_MOST_CHANNELS: Final = 7
_KEPT_FORMATS: Final = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "yuv444p10le"})
_RGB: Final = 0
"""The colour space of films that store red, green and blue; their clips do not."""
_COLOURS: Final = ("color_range", "colorspace", "color_primaries", "color_trc")


@stage(
    version="5",
    reads=["image", "cut_times", "duration_s"],
    writes={"clips": pl.List(pl.Binary), "clip_ends": pl.List(pl.Float64)},
)
def cut(batch: pl.DataFrame) -> pl.DataFrame:
    """Cut every video at its ``cut_times`` (of ``watch``) into clips, each with its part of the sound.

    * ``clips``: MP4 files in their order, H.264 at CRF 14 and AAC; the video itself, byte for byte, where it has no cut.
    * ``clip_ends``: seconds: clip ``n`` is from the ``n``-th to the next of these.

    A row that ``watch`` could not read is null with that reason.

    Raises:
        InputError: without PyAV (the extra ``video``).
    """
    rows: list[dict[str, Any]] = []
    for content, times, duration_s in batch.select("image", "cut_times", "duration_s").iter_rows():
        if content is None or times is None or duration_s is None:
            rows.append({"problem": "the stage watch has no cuts of it"})
            continue
        clips = cut_at(content, times)
        ends = [0.0, *times, duration_s]
        rows.append({"problem": clips.detail} if isinstance(clips, Unscored) else {"clips": clips, "clip_ends": ends})
    return pl.DataFrame(
        {"key": batch["key"], **{name: [row.get(name) for row in rows] for name in (*cut.writes, "problem")}},
        schema={"key": pl.String, **cut.writes, "problem": pl.String},
    )


def cut_at(content: bytes, times: Sequence[float]) -> list[bytes] | Unscored:
    """Return the clips of a video between some times, each with its part of the sound.

    Pictures keep their distances, and begin at 0; so does the sound, with silence where there is none. The same video and
    times give the same bytes.

    Args:
        content: the file: MP4, MOV, MKV, WebM or AVI.
        times: in seconds after the first picture, ascending: the first picture of every clip but the first.

    Returns:
        One clip more than times; ``Unscored(BAD_MEDIA)`` for a file that cannot be decoded or whose clip has no picture.
    """
    from salon_taxonomy.media_files import bad_media

    if not times:
        return [content]
    require_av()
    try:
        with opened(content) as container:
            plan = outline_of(container, DEFAULT_VIDEO_LIMITS)
            if isinstance(plan, Unscored):
                return plan
            with rewound(content, container, plan) as source:
                clips = _Clips(source, plan, times)
                for frame, at_s in decoded(source, plan, clips.hear):
                    clips.see(frame, at_s)
            return clips.files()
    except video_failures() as error:
        return bad_media(f"the video cannot be cut ({failure_words(error)})")


class _Sound(NamedTuple):
    """The sound of clips: samples per second, and the channels."""

    rate: int
    layout: str

    @classmethod
    def of(cls, context: Any) -> "_Sound":
        """Return the sound of a film; at 48,000 and in stereo where AAC cannot have the film's own.

        A track may say how many channels it has and not which (PCM in MKV), and PyAV reads beyond the memory of eight.
        """
        from av import Codec

        channels, rates = context.layout.nb_channels, Codec("aac", "w").audio_rates or ()
        plain = "mono" if channels == 1 else "stereo"
        kept = _LAYOUTS.fullmatch(context.layout.name) is not None and channels <= _MOST_CHANNELS
        return cls(context.sample_rate if context.sample_rate in rates else 48_000, context.layout.name if kept else plain)


class _Clips:
    """The clips of a video while it is decoded."""

    def __init__(self, source: Any, plan: Outline, times: Sequence[float]) -> None:
        self._plan, self._times, self._source = plan, [*times], source
        self._ends = [0.0, *times]
        self._start_s = float((plan.start or 0) * plan.time_base)
        tracks = [each for each in source.streams.audio if each.codec_context is not None][:1]
        self._sound = _Sound.of(tracks[0].codec_context) if tracks else None
        self._resampler: Any = None
        self._heard: int | None = None
        self._open: dict[int, _Clip] = {}

    def see(self, frame: "VideoFrame", at_s: float) -> None:
        """Add one picture."""
        number = bisect_right(self._times, at_s + _LEAST_S)
        if number and number - 1 in self._open:
            self._open[number - 1].end_pictures(self._times[number - 1] - self._ends[number - 1])
        self._clip(number, frame).see(frame, at_s - self._ends[number])

    def hear(self, frame: "AudioFrame") -> None:
        """Add one piece of sound: to several clips, where it lies over a cut."""
        from av import AudioResampler

        rate = self._sound.rate if self._sound is not None else 1
        if self._resampler is None and self._sound is not None:
            self._resampler = AudioResampler("fltp", self._sound.layout, rate)
        at_s = None if frame.pts is None or frame.time is None else frame.time - self._start_s
        for piece in self._resampler.resample(frame):
            samples = piece.to_ndarray()
            if self._heard is None or (at_s is not None and abs(at_s - self._heard / rate) > _JITTER_S):
                self._heard = round((at_s or 0.0) * rate)
            begin, self._heard = self._heard, self._heard + samples.shape[1]
            bounds = [round(each * rate) for each in self._ends]
            for number, bound in enumerate(bounds):
                last = bounds[number + 1] if number + 1 < len(bounds) else self._heard
                first, end = max(begin, bound), min(self._heard, last)
                if first < end:
                    self._clip(number).hear(samples[:, first - begin : end - begin], first - bound)
            at_s = None

    def files(self) -> list[bytes]:
        """End all clips, and return their files.

        Raises:
            ValueError: one has no picture.
        """
        clips = [self._open.get(number) for number in range(len(self._ends))]
        if not all(clip is not None and clip.seen for clip in clips):
            raise ValueError("a clip has no picture")
        spans = zip(self._ends, [*self._times, self._plan.duration_s], clips, strict=True)
        return [clip.file(end - begin) for begin, end, clip in spans if clip is not None]

    def _clip(self, number: int, frame: "VideoFrame | None" = None) -> "_Clip":
        if number not in self._open:
            self._open[number] = _Clip(self._source, self._plan, self._sound)
        return self._open[number]


class _Clip:
    """One clip that is encoded: pictures and sound each in a file of its own, so that the encoder of pictures ends with them.

    It holds some pictures, and sound comes later than the pictures that it belongs to.
    """

    def __init__(self, source: Any, plan: Outline, sound: "_Sound | None") -> None:
        import av

        self._files = (io.BytesIO(), io.BytesIO())
        self._film: Any = av.open(self._files[0], "w", format="mp4")
        codec = picture_streams(source)[0].codec_context
        odd = plan.width % 2 or plan.height % 2
        self._format = "yuv444p" if odd else codec.pix_fmt if codec.pix_fmt in _KEPT_FORMATS else "yuv420p"
        rate = Fraction(plan.coded_frames / plan.duration_s).limit_denominator(1001)
        large = plan.width * plan.height > _LARGE_PIXELS
        stream: Any = self._film.add_stream("libx264", rate=rate, options=_LARGE if large else _ENCODER)
        stream.width, stream.height, stream.pix_fmt = plan.width, plan.height, self._format
        context = stream.codec_context
        context.thread_count, context.time_base = 1, Fraction(1, _CLOCK)
        if plan.aspect != 1:
            context.sample_aspect_ratio = plan.aspect
        for name in _COLOURS:
            if name != "colorspace" or codec.colorspace != _RGB:
                setattr(context, name, getattr(codec, name))
        self._pictures, self._last, self.seen = stream, -1, False
        self._step: int = round(_CLOCK / rate)
        self._shown: VideoFrame | None = None
        self._track: Any = None
        self._sound: Any = None
        self._heard = 0
        if sound is not None:
            self._track = av.open(self._files[1], "w", format="mp4")
            self._sound = self._track.add_stream("aac", rate=sound.rate, layout=sound.layout)

    def see(self, frame: "VideoFrame", at_s: float) -> None:
        from av.video.frame import PictureType

        if not self.seen and frame.rotation:
            self._pictures.set_display_rotation(frame.rotation)
        if frame.format.name != self._format:
            frame = frame.reformat(format=self._format)
        before, self._last = self._last, max(self._last + 1, round(at_s * _CLOCK))
        self._step = self._last - before if self.seen else self._step
        self.seen, self._shown = True, frame
        frame.pts, frame.time_base, frame.pict_type = self._last, Fraction(1, _CLOCK), PictureType.NONE
        self._film.mux(self._pictures.encode(frame))

    def end_pictures(self, end_s: float) -> None:
        """Free what the encoder of pictures holds.

        A picture that stands at the end is given again: a file does not say how long its last one stands.
        """
        if self._film is not None:
            end, step = round(end_s * _CLOCK), self._step
            if self._shown is not None and end - self._last > _STANDS * step:
                self.see(self._shown, (end - step) / _CLOCK)
            self._shown = None
            for packet in self._pictures.encode():
                packet.duration = step  # of the last one alone a file has it
                self._film.mux(packet)
            self._film.close()
            self._film = self._pictures = None

    def hear(self, samples: Any, at: int) -> None:
        import numpy as np

        if at > self._heard:
            silence = np.zeros((samples.shape[0], at - self._heard), samples.dtype)
            samples = np.concatenate([silence, samples], axis=1)
        self._write(samples[:, max(0, self._heard - at) :] if at < self._heard else samples)

    def _write(self, samples: Any) -> None:
        import av
        import numpy as np

        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", self._sound.codec_context.layout.name)
        frame.sample_rate, frame.pts, frame.time_base = self._sound.rate, self._heard, Fraction(1, self._sound.rate)
        self._heard += samples.shape[1]
        self._track.mux(self._sound.encode(frame))

    def file(self, end_s: float) -> bytes:
        """Return the whole file."""
        self.end_pictures(end_s)
        if not self._heard:
            return self._files[0].getvalue()
        self._track.mux(self._sound.encode())
        self._track.close()
        return _together(*self._files)


def _together(*files: io.BytesIO) -> bytes:
    """Return a file with the first track of each of these, packet by packet."""
    import av

    out = io.BytesIO()
    with ExitStack() as stack:
        sources = [stack.enter_context(opened(file.getvalue())) for file in files]
        target = stack.enter_context(av.open(out, "w", format="mp4"))
        tracks = [(source, target.add_stream_from_template(source.streams[0])) for source in sources]

        def packets(source: Any, stream: Any) -> Iterator[tuple[Fraction, int, Any]]:
            for packet in source.demux():
                if packet.size:
                    at_s = packet.dts * packet.time_base
                    packet.stream = stream
                    yield at_s, stream.index, packet

        for _, _, packet in heapq.merge(*(packets(*track) for track in tracks)):
            target.mux(packet)
    return out.getvalue()

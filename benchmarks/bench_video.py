"""Measure the time and memory of sampling a video, beside a bare PyAV loop.

    python benchmarks/bench_video.py [--clips 1000]

A 10 s clip of 1920 × 1080 at 30 per second is drawn and encoded; then frames are taken at 5 per second, resized and encoded
as JPEG. Promised: at most twice the time of the bare loop, and memory that does not grow with the number of clips.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import av

from salon_judges.media import VideoPolicy, prepare_video, sample_video
from salon_synthetic.videos import write_clip


def bare(path: Path) -> int:
    """Decode every frame, with FFmpeg's own threads, and do nothing with it."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        return sum(1 for _ in container.decode(stream))


def best_of(runs: int, work: Callable[[], object]) -> float:
    """The shortest time of several, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=1000)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    print(memory(folder, arguments.clips))
    clip = write_clip(folder / "large.mp4", "morph", seconds=10, rate=30, size=(1920, 1080))
    data = clip.read_bytes()
    decode = best_of(5, lambda: bare(clip))
    sample = best_of(5, lambda: sample_video(data, VideoPolicy()))
    print(f"10 s of 1080p: bare decoding {decode:.2f} s, 50 frames at 5 per second {sample:.2f} s: {sample / decode:.2f} times")


def memory(folder: Path, clips: int) -> str:
    """The largest memory after a tenth of many small clips, and after all."""
    small = [write_clip(folder / f"{seed}.mp4", "pop", seed=seed) for seed in range(20)]
    peaks = []
    start = time.perf_counter()
    for number in range(clips):
        prepare_video(small[number % len(small)], VideoPolicy(), folder)
        if number in (clips // 10, clips - 1):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    spent = time.perf_counter() - start
    return f"{clips} clips: {spent:.1f} s; memory {peaks[0]} MiB after a tenth of them, {peaks[-1]} MiB at the end"


if __name__ == "__main__":
    main()

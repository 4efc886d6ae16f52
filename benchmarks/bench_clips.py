"""Measure the speed of the stage ``watch`` beside a bare PyAV loop, and its memory and that of ``cut`` at 4K.

    python benchmarks/bench_clips.py [--rounds 7]

Clips of moving grain are drawn and encoded: at 1920 × 1080 with and without sound, and one at 3840 × 2160. The bare loop
decodes the same streams with as many threads and does nothing with them. Promised: at most 10% above it, and at most 400 MB.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path

import av
import numpy as np
import polars as pl
from PIL import Image, ImageOps

from salon_curate.clips import watch
from salon_curate.dataset import DataSet
from salon_synthetic.videos import encode


def moving(count: int, size: tuple[int, int]) -> Iterator[Image.Image]:
    """Yield frames of a smooth picture with grain that moves across: about the bit rate of a filmed clip."""
    width, height = size
    generator = np.random.default_rng(0)
    smooth = np.asarray(Image.fromarray(generator.integers(0, 255, (9, 16, 3), dtype=np.uint8)).resize(size, 3)).astype(
        np.int16
    )
    wide = (smooth + generator.normal(0, 8, (height, width, 1))).clip(0, 255).astype(np.uint8)
    for number in range(count):
        yield Image.fromarray(np.roll(wide, 3 * number, axis=1))


def bare(content: bytes) -> int:
    """Decode every frame and do nothing with it."""
    with av.open(BytesIO(content)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = 2
        return sum(1 for _ in container.decode(stream, *container.streams.audio))


def compared(content: bytes, rounds: int) -> str:
    """Return the shortest times of both, measured in turn."""
    rows = pl.DataFrame({"key": ["a"], "image": [content], "problem": [None]})
    spent: dict[str, list[tuple[float, float]]] = {"bare": [], "watch": []}
    for _ in range(rounds):
        for name, work in (("bare", lambda: bare(content)), ("watch", lambda: watch.function(rows))):
            wall, processor = time.perf_counter(), time.process_time()
            work()
            spent[name].append((time.perf_counter() - wall, time.process_time() - processor))
    (bare_wall, bare_processor), (wall, processor) = ([min(each) for each in zip(*spent[name], strict=True)] for name in spent)
    ratios = f"{wall / bare_wall:.3f} times its wall time, {processor / bare_processor:.3f} times its processor time"
    return f"bare {bare_wall:.2f} s, watch {wall:.2f} s: {ratios}"


def worker_memory(folder: Path) -> str:
    """Return the largest resident sizes of an import and of a run of both stages."""
    dataset = folder / "dataset"
    DataSet.create(dataset)
    (dataset / "pipeline.toml").write_text('[[stage]]\nuse = "watch"\n[[stage]]\nuse = "cut"\n')
    sizes = []
    code = "import resource, sys; from salon_console.salon import main; main(sys.argv[1:], standalone_mode=False); "
    peak = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')), file=sys.stderr)"
    for words in (["import", str(dataset), str(folder / "in")], ["run", str(dataset), "--engine", "inline", "--quiet"]):
        done = subprocess.run([sys.executable, "-c", code + peak, "curate", *words], capture_output=True, text=True, check=True)
        sizes.append(int(done.stderr.split()[-1]) / 1024)
    return f"import {sizes[0]:.0f} MB, run {sizes[1]:.0f} MB"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "in").mkdir()
        for name, tone in (("without sound", None), ("with sound", (5.0, -20.0))):
            encode(folder / "hd.mp4", moving(150, (1920, 1080)), size=(1920, 1080), rate=30, tone=tone)
            content = (folder / "hd.mp4").read_bytes()
            print(f"5 s of 1080p {name}, {len(content) / 1e6:.1f} MB: {compared(content, rounds)}")
        clip = folder / "in" / "4k.mp4"
        halves = chain(moving(30, (3840, 2160)), (ImageOps.invert(frame) for frame in moving(30, (3840, 2160))))
        encode(clip, halves, size=(3840, 2160), rate=30)
        print(f"2 s of 4K, {clip.stat().st_size / 1e6:.1f} MB, largest resident size: {worker_memory(folder)}")


if __name__ == "__main__":
    main()

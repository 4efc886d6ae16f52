"""Measure PSNR and SSIM of pairs of pictures beside scikit-image and torchmetrics, and the memory of two builds compared.

    python benchmarks/bench_pixels.py [--pairs 20] [--side 1024]

All take the same arrays in the same run, 20 pairs in turn; pairs go through two threads, or torch's own two. Before it files:
PNG pairs are read and measured by ``between``; its memory must not grow with their number.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from torchmetrics.functional.image import peak_signal_noise_ratio as torch_psnr
from torchmetrics.functional.image import structural_similarity_index_measure as torch_ssim

from salon_bench.analysis.between_builds import between
from salon_judges.formats.generations import Generated
from salon_ranking.pixels import psnr, ssim

Pair = tuple[NDArray[np.uint8], NDArray[np.uint8]]
THREADS = 2
TURN = 20
"""Pairs that each measures before the next one does."""
WINDOW = {"data_range": 255, "channel_axis": 2, "gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}


def pair(seed: int, side: int) -> Pair:
    """A smooth picture, and the same with noise."""
    random = np.random.default_rng(seed)
    base = np.cumsum(random.normal(0, 2, (side, side, 3)), 0) + 128
    noisy = base + random.normal(0, 8, base.shape)
    return np.clip(base, 0, 255).astype(np.uint8), np.clip(noisy, 0, 255).astype(np.uint8)


def ours(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> tuple[float, float]:
    return psnr(a, b), ssim(a, b, threads=1)


def of_skimage(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> tuple[float, float]:
    return float(peak_signal_noise_ratio(a, b, data_range=255)), float(structural_similarity(a, b, **WINDOW))


def of_torchmetrics(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> tuple[float, float]:
    one, other = (torch.from_numpy(picture).permute(2, 0, 1)[None].float() for picture in (a, b))
    return float(torch_psnr(one, other, data_range=255.0)), float(torch_ssim(one, other, data_range=255.0))


def timed(measure: Callable[..., tuple[float, float]], pairs: Sequence[Pair], threads: int) -> NDArray[np.float64]:
    """Seconds of all pairs, and the sums of both values."""
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        values = list(pool.map(lambda each: measure(*each), pairs))
    return np.array([time.perf_counter() - start, *np.sum(values, 0)])


def memory(pairs: Sequence[Pair], number: int) -> str:
    """Largest memory after a tenth of the pairs of files, and after all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place, pictures in enumerate(pairs):
            for build, picture in zip(("base", "new"), pictures, strict=True):
                Image.fromarray(picture).save(folder / f"{build}-{place}.png", compress_level=1)
        sides = [
            [Generated(f"{k:04}", build, 0, folder / f"{build}-{k % len(pairs)}.png", folder) for k in range(number)]
            for build in ("base", "new")
        ]
        peaks = []

        def progress(done: int, _: int) -> None:
            if done in (max(1, number // 10), number):
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)

        start = time.perf_counter()
        between(*sides, threads=THREADS, progress=progress)
        spent = (time.perf_counter() - start) / number
    return f"files: {1000 * spent:.0f} ms a pair; memory {peaks[0]} MiB after a tenth of them, {peaks[-1]} MiB at the end"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--side", type=int, default=1024)
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    print(memory([pair(seed, arguments.side) for seed in range(4)], max(arguments.pairs, 200)))  # first: peaks never fall
    print(f"{arguments.pairs} pairs of {arguments.side} × {arguments.side}, PSNR and SSIM, two threads")
    peers = {"salon": (ours, THREADS), "scikit-image": (of_skimage, THREADS), "torchmetrics": (of_torchmetrics, 1)}
    sums = {name: np.zeros(3) for name in peers}
    for first in range(0, arguments.pairs, TURN):
        pairs = [pair(seed, arguments.side) for seed in range(first, min(first + TURN, arguments.pairs))]
        for name, (measure, threads) in peers.items():
            sums[name] += timed(measure, pairs, threads)
    for name, total in sums.items():
        seconds, *values = total / arguments.pairs
        print(f"{name:14} {1000 * seconds:6.0f} ms a pair   PSNR {values[0]:.6f}   SSIM {values[1]:.6f}")


if __name__ == "__main__":
    main()

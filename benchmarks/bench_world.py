"""Measure the pictures of synthetic scenes drawn per minute, with one and two processes.

    python benchmarks/bench_world.py [--count 2000]
    python benchmarks/bench_world.py --learn [--levels 0 --levels 0.5]

With ``--learn`` instead, how well a small network tells the four main labels after a fixed number of steps, at three levels of
difficulty or those that are named: 166,020 parameters, 4,000 pictures of 32 pixels, 600 steps of 64 pictures, 1,000 other
pictures to test on; 22 seconds of processor time a level.

Promised: 5,000 pictures of 64 pixels a minute on two cores. The processor time a picture does not depend on who else uses
the machine; the pictures a minute do.
"""

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from salon_synthetic.artifacts import Difficulty, draw_examples, write_examples
from salon_taxonomy.training_example import MAIN_BUCKETS

STEPS = {
    "painting polygons": ("canvas.py", "polygon"),
    "shrinking": ("canvas.py", "finished"),
    "light and grain": ("composing.py", "_seen"),
    "PNG": ("drawing.py", "png"),
    "seeds": ("rng.py", "__init__"),
    "colours": ("palette.py", "drawn_palette"),
}
"""Steps of drawing, by the function that does them."""


def processor_time(work: Callable[[], object], count: int) -> float:
    """Milliseconds of processor time a picture."""
    start = time.process_time()
    work()
    return (time.process_time() - start) / count * 1000


def written(count: int, workers: int) -> float:
    """Pictures a minute, drawn and written to a folder, the start of the processes included."""
    start = time.perf_counter()
    write_examples(Path(tempfile.mkdtemp()) / "drawn", partial(draw_examples, seed=1), count, settings={}, workers=workers)
    return count / (time.perf_counter() - start) * 60


def shares(count: int) -> dict[str, float]:
    """Which share of the drawing each step takes, everything that it calls included."""
    profile = cProfile.Profile()
    profile.runcall(lambda: list(draw_examples(count, seed=1, difficulty=Difficulty.level(0.5))))
    rows = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    total = sum(row[2] for row in rows.values())
    found = {}
    for step, (file, function) in STEPS.items():
        seconds = [row[3] for key, row in rows.items() if Path(key[0]).name == file and key[2] == function]
        if not seconds:
            raise LookupError(f"no call of {function} in {file} was profiled; name the function that does the step {step!r}")
        found[step] = sum(seconds) / total
    return found


def macro_f1(level: float, *, pictures: int = 4000, tested: int = 1000, steps: int = 600) -> list[float]:
    """F1 of a small convolutional network for each of the four main labels, on pictures of another seed."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)

    def loaded(number: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        images, labels = [], []
        for example in draw_examples(number, seed=seed, size=32, difficulty=Difficulty.level(level), balance="even"):
            images.append(np.asarray(Image.open(BytesIO(example.image))))
            labels.append([float(bucket in example.buckets) for bucket in MAIN_BUCKETS[1:]])
        return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 255 - 0.5, torch.tensor(labels)

    layers: list[nn.Module] = []
    for before, after in ((3, 24), (24, 48), (48, 96), (96, 128)):
        layers += [nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 2 * 2, 4))
    images, labels = loaded(pictures, seed=1)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3)
    for _ in range(steps):
        batch = torch.randint(0, pictures, (64,))
        loss = nn.functional.binary_cross_entropy_with_logits(network(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.eval()
    images, labels = loaded(tested, seed=2)
    with torch.no_grad():
        said = torch.cat([network(part) for part in images.split(250)]) > 0
    right = (said & (labels > 0)).sum(0)
    return (2 * right / (said.sum(0) + (labels > 0).sum(0))).tolist()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--levels", type=float, action="append")
    arguments = parser.parse_args()
    if arguments.learn:
        for level in arguments.levels or (0.0, 0.5, 1.0):
            values = macro_f1(level)
            each = " ".join(f"{value:.2f}" for value in values)
            print(f"level {level}: macro F1 {sum(values) / 4:.3f}, of each label {each}", flush=True)
        return
    count = arguments.count
    some = max(1, count // 5)
    for name, work in (
        ("drawn, 32 pixels, easiest", lambda: list(draw_examples(some, seed=1, size=32))),
        ("drawn, 64 pixels, easiest", lambda: list(draw_examples(some, seed=1))),
        ("drawn, 64 pixels, hardest", lambda: list(draw_examples(some, seed=1, difficulty=Difficulty.level(1)))),
        ("drawn, 256 pixels, middle", lambda: list(draw_examples(some, seed=1, size=256, difficulty=Difficulty.level(0.5)))),
    ):
        print(f"{name}: {processor_time(work, some):.2f} ms of processor time a picture")
    for workers in (1, 2):
        print(f"{workers} processes: {written(count, workers):,.0f} pictures a minute, drawn and written")
    print("of the drawing: " + ", ".join(f"{step} {share:.0%}" for step, share in shares(some).items()))


if __name__ == "__main__":
    main()

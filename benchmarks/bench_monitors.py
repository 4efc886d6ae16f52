"""What watching costs: all monitors on one step of 1,000 completions of about 1 kB, and each monitor alone.

Run with ``python benchmarks/bench_monitors.py [completions] [repetitions]``. The GRPO steps of the preset hold 64 completions.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable

from salon_rewards.monitors import MONITORS, AnswerForm, StepBatch, watch
from salon_taxonomy.answers import MAGICMIRROR_MENU, Artifact, MagicMirrorAnswer, magicmirror_json, render_magicmirror

THINGS = [
    "hand",
    "face",
    "arm",
    "dog",
    "cat",
    "chair",
    "cup",
    "shadow",
    "window",
    "lamp",
    "street",
    "tree",
    "wall",
    "coat",
    "wheel",
]
SAYINGS = [
    "looks natural",
    "is not deformed",
    "has an extra part",
    "is shown in good light",
    "is half hidden",
    "keeps its usual shape",
]


def median_milliseconds(work: Callable[[], object], repetitions: int) -> float:
    """The middle one of several timings, in processor time: other work on the machine does not count."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1000 * statistics.median(times)


def drawn(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Completions of about 1 kB, and truths."""
    draws = random.Random(seed)
    kinds = list(MAGICMIRROR_MENU)

    def answer() -> MagicMirrorAnswer:
        if draws.random() < 0.5:
            return MagicMirrorAnswer(True)
        l2 = draws.choice(kinds)
        return MagicMirrorAnswer(False, (Artifact(l2, MAGICMIRROR_MENU[l2][:1]),))

    def thought() -> str:
        words = ""
        while len(words) < 850:
            thing, place = draws.choices(THINGS, k=2)
            words += f"The {thing} by the {place} {draws.choice(SAYINGS)}, number {draws.randrange(99)}. "
        return words

    return [render_magicmirror(answer(), thought()) for _ in range(count)], [magicmirror_json(answer()) for _ in range(count)]


def main() -> None:
    """Print a table of milliseconds."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    texts, truths = drawn(count)
    rewards = [float(index % 16) for index in range(count)]
    names = [index // 8 for index in range(count)]
    print(f"{count} completions of {sum(map(len, texts)) / count:.0f} characters; median of {repetitions}")

    def read() -> StepBatch:
        return StepBatch.read(texts, step=20, truth=truths, reward=rewards, example_id=names, held_out=0.8)

    def all_of_them() -> None:
        watch().look(texts, step=20, truth=truths, reward=rewards, example_id=names, held_out=0.8)

    print(f"{'reading the batch':28} {median_milliseconds(read, repetitions):8.2f} ms")
    batch = read()
    for build in MONITORS[AnswerForm.MAGICMIRROR]:
        monitor = build()
        for _ in range(10):
            monitor.look(batch)  # past every baseline
        print(f"{monitor.name:28} {median_milliseconds(lambda monitor=monitor: monitor.look(batch), repetitions):8.2f} ms")
    print(f"{'everything, from the texts':28} {median_milliseconds(all_of_them, repetitions):8.2f} ms")


if __name__ == "__main__":
    main()

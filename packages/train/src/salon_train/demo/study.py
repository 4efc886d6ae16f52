"""Run several seeds in parallel, each in its own process; results are written as they come.

FOLDER/seed-0/measured.jsonl    one line per measurement
FOLDER/seed-0/…                 pictures, weights and logs; a second call continues after the last finished stage
"""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_taxonomy.errors import InputError
from salon_train.demo.experiment import Ablation, ArmNumbers, run_seed, stages_of
from salon_train.demo.recipe import Recipe
from salon_train.over_seeds import SeedProgress, Tell
from salon_train.run.folder import FINISHED

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

DEMO: tuple[Ablation, ...] = (Ablation.SFT, Ablation.FULL, Ablation.IMPROVE, Ablation.SFT_MORE)
"""What `salon train demo` shows: GRPO undoing a biased cold start; GRPO after the best cold start, and its control."""


def run_study(
    folder: Path,
    recipe: Recipe,
    *,
    seeds: Sequence[int],
    arms: tuple[Ablation, ...],
    processes: int = 1,
    again: bool = False,
    tell: Tell = lambda _: None,
) -> list[ArmNumbers]:
    """Run all seeds; what comes out does not depend on the number of processes.

    Args:
        folder: for everything; kept.
        recipe: sizes.
        seeds: each another set of pictures, weights and draws.
        arms: of each seed.
        processes: seeds that run at once, each on one thread.
        again: remove what these seeds have done before, and begin again.
        tell: called with what begins and how far it has come.

    Raises:
        InputError: for no seeds, one seed twice, or a number of processes below 1.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("must be one or more different numbers", column="seeds", value=list(seeds))
    if processes < 1:
        raise InputError("must be at least 1", column="processes", value=processes)
    for seed in seeds if again else ():
        shutil.rmtree(folder / f"seed-{seed}", ignore_errors=True)
    if processes == 1 or len(seeds) == 1:
        return [measured for seed in seeds for measured in _one(folder, recipe, seed, arms, tell)]
    context = get_context("spawn")
    results: dict[int, list[ArmNumbers]] = {}
    with context.Manager() as manager:
        heard: Queue[str | SeedProgress] = manager.Queue()  # type: ignore[assignment]  # a proxy of one
        with ProcessPoolExecutor(min(processes, len(seeds)), mp_context=context) as pool:
            work = {pool.submit(_in_process, folder, recipe, seed, arms, heard): seed for seed in seeds}
            waiting = set(work)
            while waiting:
                for future in [each for each in waiting if each.done()]:
                    results[work[future]] = future.result()
                    waiting.remove(future)
                for line in _messages(heard):
                    tell(line)
    return [measured for seed in seeds for measured in results[seed]]


def finished_stages(folder: Path, *, seeds: Sequence[int], arms: tuple[Ablation, ...]) -> tuple[int, int]:
    """Return how many stages of a study are finished in a folder, and how many it has."""
    there = [(folder / f"seed-{seed}" / stage / FINISHED).is_file() for seed in seeds for stage in stages_of(arms)]
    return sum(there), len(there)


def _in_process(folder: Path, recipe: Recipe, seed: int, arms: tuple[Ablation, ...], heard: Any) -> list[ArmNumbers]:
    return list(_one(folder, recipe, seed, arms, heard.put))


def _one(folder: Path, recipe: Recipe, seed: int, arms: tuple[Ablation, ...], tell: Tell) -> Iterator[ArmNumbers]:
    own = folder / f"seed-{seed}"
    own.mkdir(parents=True, exist_ok=True)
    with (own / "measured.jsonl").open("w", encoding="utf-8") as file:
        for measured in run_seed(own, recipe, seed=seed, arms=arms, tell=tell):
            file.write(measured.as_json() + "\n")
            file.flush()
            yield measured


def _messages(queue: Any) -> "Iterator[str | SeedProgress]":
    """Yield the messages so far; waits briefly for the first one."""
    from queue import Empty

    try:
        yield queue.get(timeout=0.2)
        while True:
            yield queue.get_nowait()
    except Empty:
        return

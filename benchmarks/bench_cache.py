"""Measure the reply cache: replies kept and found per second, by one process and by four.

Run with ``python benchmarks/bench_cache.py [replies]`` (5,000 by default, 600 characters each).
"""

import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable

from salon_judges.clients import ResponseCache
from salon_taxonomy.protocols import Reply

TEXT = "y" * 600


def measure(name: str, keys: Iterable[str], call: Callable[[str], object]) -> None:
    """Print the calls per second, the processor time of a call and the slowest one."""
    slowest, calls, before, began = 0.0, 0, os.times(), time.perf_counter()
    for key in keys:
        start = time.perf_counter()
        call(key)
        slowest, calls = max(slowest, time.perf_counter() - start), calls + 1
    wall, after = time.perf_counter() - began, os.times()
    cpu = after.user + after.system - before.user - before.system
    print(f"{name:12} {calls / wall:9,.0f} /s {1e6 * cpu / calls:8.1f} us CPU/call {1e3 * slowest:8.1f} ms slowest", flush=True)


def write(folder: str, worker: int, replies: int) -> None:
    """Keep replies as one of several processes."""
    cache = ResponseCache(folder)
    measure(f"  writer {worker}", (f"{worker}-{number:062x}" for number in range(replies)), lambda key: keep(cache, key))


def keep(cache: ResponseCache, key: str) -> None:
    """Keep one reply."""
    assert cache.keep("1", key, Reply(TEXT))


def main(replies: int) -> None:
    """Measure and print."""
    keys = [f"{number:064x}" for number in range(replies)]
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(folder)
        measure("keep", keys, lambda key: keep(cache, key))
        shuffled = random.Random(1).sample(keys, replies)
        measure("find", shuffled, lambda key: cache.find("1", key))
        measure("find nothing", shuffled, lambda key: cache.find("2", key))
        measure("size", ["once"], lambda _: cache.size())
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=write, args=(folder, worker, replies // 4)) for worker in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert cache.size().entries == replies + replies // 4 * 4


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)

"""Measure the multi-bucket sampler's time per index, beside TRL's ``RepeatSampler`` and torch's ``RandomSampler``.

Not part of the tests; run with ``just benchmark benchmarks/bench_sampler.py``. All draw from 325,238 examples with the buckets
of MagicData340K's training part (MagicMirror, Table 5), in the same process. A group of 8 and 4 uses of a chunk are what a GRPO
run has: an index is then drawn once and yielded 32 times. ``ns_per_index`` is in the results' extra information, and is
printed.
"""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from torch.utils.data import RandomSampler, Sampler
from trl.trainer.utils import RepeatSampler

from salon_train.sampling import DEFAULT_RATIO, MultiBucketPlan, PlannedSampler

Benchmark = Callable[..., Any]
EXAMPLES = 325_238
CHUNK = 16


@cache
def buckets() -> list[tuple[str, ...]]:
    """Half normal; the artifacts by Table 5's shares, each label on its own, so that some have two."""
    chance = random.Random(0)
    shares = dict(zip(DEFAULT_RATIO.buckets[1:], (0.366, 0.6153, 0.1384, 0.2188), strict=True))

    def one() -> tuple[str, ...]:
        if chance.random() < 0.5075:
            return ("normal",)
        return tuple(bucket for bucket, share in shares.items() if chance.random() < share) or ("other",)

    return [one() for _ in range(EXAMPLES)]


def multi_bucket(group: int, uses: int) -> PlannedSampler:
    """The plan of an epoch is drawn here: its time is measured with the indices that it gives."""
    plan = MultiBucketPlan.of(buckets(), chunk_size=CHUNK)
    return PlannedSampler([index for chunk in plan.chunks() for index in chunk], chunk=CHUNK, together=group, repeats=uses)


def trl(group: int, uses: int) -> RepeatSampler:
    return RepeatSampler(range(EXAMPLES), mini_repeat_count=group, batch_size=CHUNK, repeat_count=uses, seed=0)


def shuffle(group: int, uses: int) -> RandomSampler:
    del group, uses
    return RandomSampler(range(EXAMPLES))


@pytest.mark.parametrize(("group", "uses"), [(1, 1), (8, 4)], ids=["once", "grpo"])
@pytest.mark.parametrize("made", [multi_bucket, trl, shuffle], ids=lambda made: made.__name__)
def test_an_epoch_of_indices(benchmark: Benchmark, made: Callable[[int, int], Sampler[int]], group: int, uses: int) -> None:
    buckets()
    count = benchmark.pedantic(lambda: sum(1 for _ in made(group, uses)), rounds=3)
    benchmark.extra_info["ns_per_index"] = round(benchmark.stats.stats.median / count * 1e9, 1)
    print(f"\n{made.__name__}, {group} × {uses}: {benchmark.extra_info['ns_per_index']} ns for each of {count:,} indices")

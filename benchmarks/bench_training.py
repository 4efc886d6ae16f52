"""Measure the share of a GRPO step that rewards and sampler take. Run with ``just benchmark benchmarks/bench_training.py``.

Not part of the tests. The step is that of ``salon train demo``: 8 pictures with 8 answers each, by the tiny model on one thread
of the processor. No step of a larger model is shorter, so the shares are upper bounds. Rewards and sampler are timed on what
one step hands them, in the same process; shares are in the results' extra information, and are printed.
"""

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from salon_rewards import MagicMirrorTotal
from salon_synthetic.artifacts import draw_examples
from salon_taxonomy.answers import magicmirror_json, render_magicmirror
from salon_taxonomy.training_example import MAIN_BUCKETS, TrainingExample
from salon_train.demo.consistency import RuleConsistency
from salon_train.demo.experiment import Ablation, run_seed
from salon_train.demo.recipe import Recipe
from salon_train.sampling import MultiBucketPlan

Benchmark = Any
RECIPE = replace(Recipe(), pictures=400, reasoned=400, held_out=20, sft_steps=60, bias_steps=6, grpo_steps=12, every=100)


@pytest.fixture(scope="module")
def step_s() -> Iterator[float]:
    """Seconds of a GRPO step, the median of a short run; sampling, rewards, gradients and all."""
    from salon_train.run.events import read_log

    with tempfile.TemporaryDirectory() as folder:
        list(run_seed(Path(folder), RECIPE, seed=0, arms=(Ablation.FULL,)))
        rows = [row for row in read_log(Path(folder) / "full" / "grpo" / "log.jsonl") if row["what"] == "learned"]
    at = [(float(row["seconds"]), float(row["step"])) for row in rows]  # type: ignore[arg-type]
    yield median((after - before) / (last - first) for (before, first), (after, last) in itertools.pairwise(at))


@pytest.fixture(scope="module")
def answered() -> list[tuple[str, TrainingExample]]:
    """64 answers, as a step has them: each example's own truth, said of its group of eight."""
    examples = list(draw_examples(64, seed=1, balance="even"))
    return [(render_magicmirror(each.truth, each.reasoning), examples[place // 8]) for place, each in enumerate(examples)]


def test_the_rewards_share_of_a_step(benchmark: Benchmark, step_s: float, answered: list[tuple[str, TrainingExample]]) -> None:
    labels, consistency = MagicMirrorTotal(), RuleConsistency()
    truth = [magicmirror_json(example.truth) for _, example in answered]
    completions = [[{"role": "assistant", "content": text}] for text, _ in answered]

    def rewards() -> None:
        labels(completions, truth=truth)
        consistency(completions, truth=truth)

    benchmark.pedantic(rewards, rounds=50, warmup_rounds=5)
    _tell(benchmark, "rewards of 64 answers", step_s)


def test_the_samplers_share_of_a_step(benchmark: Benchmark, step_s: float) -> None:
    """One chunk of 8 prompts; see ``bench_sampler.py`` for the sampler beside others."""
    examples = list(draw_examples(500, seed=1, balance="even"))
    chunks = 1000
    assert {bucket for example in examples for bucket in example.buckets} <= set(MAIN_BUCKETS)
    plan = MultiBucketPlan.of([example.buckets for example in examples], chunk_size=8, chunks_per_epoch=chunks)
    benchmark.pedantic(lambda: [*plan.chunks(epoch=0)], rounds=5, warmup_rounds=1)
    _tell(benchmark, "one chunk of 8 prompts", step_s, of=chunks)


def _tell(benchmark: Any, what: str, step_s: float, *, of: int = 1) -> None:
    seconds = benchmark.stats.stats.median / of
    benchmark.extra_info |= {"milliseconds": round(seconds * 1e3, 4), "step_s": round(step_s, 3), "share": seconds / step_s}
    print(f"\n{what}: {seconds * 1e3:.3f} ms of a step of {step_s:.3f} s: {seconds / step_s:.4%}")

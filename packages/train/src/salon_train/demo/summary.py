"""Results of a study: means over seeds with intervals, and rises within seeds."""

from collections.abc import Iterable, Sequence
from typing import Final

from salon_taxonomy.training_example import MAIN_BUCKETS
from salon_train.demo.experiment import Ablation, ArmNumbers
from salon_train.over_seeds import SeedMean

LABELS: Final = MAIN_BUCKETS[1:]
"""The four main L2 labels."""


def ends(measured: Iterable[ArmNumbers], arm: Ablation, metric: str) -> dict[int, float]:
    """Return the last number of an arm, by seed; a seed without one is left out."""
    return {
        each.seed: value
        for each in measured
        if each.arm is arm and each.last and _is_end(each) and (value := each.numbers.get(metric)) is not None
    }


def starts(measured: Iterable[ArmNumbers], arm: Ablation, metric: str) -> dict[int, float]:
    """Return what an arm of GRPO began with, by seed: its cold start."""
    return {
        each.seed: value
        for each in measured
        if each.arm is arm and each.stage == "grpo" and each.step == 0 and (value := each.numbers.get(metric)) is not None
    }


def rise(measured: Sequence[ArmNumbers], arm: Ablation, metric: str = "f1_macro") -> SeedMean:
    """Return how much a metric rose over the cold start, within seeds."""
    before, after = starts(measured, arm, metric), ends(measured, arm, metric)
    return SeedMean.of([after[seed] - before[seed] for seed in sorted(before.keys() & after.keys())], differences=True)


def end(measured: Sequence[ArmNumbers], arm: Ablation, metric: str) -> SeedMean:
    """Return the last number of an arm, over seeds."""
    return SeedMean.of(list(ends(measured, arm, metric).values()))


def _is_end(numbers: ArmNumbers) -> bool:
    """Return whether a stage is the last of its arm; the clean warm-up is not."""
    return numbers.stage == "grpo" or numbers.arm in (Ablation.SFT, Ablation.SFT_MORE)

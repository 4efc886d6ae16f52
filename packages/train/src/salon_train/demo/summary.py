"""What a study came to: means over seeds with intervals, rises within seeds, and the paper's ablations beside ours."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from salon_taxonomy.training_example import MAIN_BUCKETS
from salon_train.demo.experiment import Ablation, ArmNumbers
from salon_train.over_seeds import SeedMean

LABELS: Final = MAIN_BUCKETS[1:]
"""The four main L2 labels."""


def _paper(f1: float, artifact: tuple[float, float, float], recalls: tuple[float, ...]) -> Mapping[str, float]:
    numbers = {"f1/macro": f1} | {f"recall/{label}": value for label, value in zip(LABELS, recalls, strict=True)}
    kinds = ("precision/artifact", "recall/artifact", "f1/artifact")
    return MappingProxyType(numbers | dict(zip(kinds, artifact, strict=True)))


PAPER: Mapping[Ablation, Mapping[str, float]] = MappingProxyType(
    {
        Ablation.FULL: _paper(0.5261, (0.7756, 0.6381, 0.7001), (0.4621, 0.6177, 0.6563, 0.3616)),
        Ablation.NO_BUCKETS: _paper(0.4177, (0.5337, 0.9652, 0.6874), (0.0097, 0.8955, 0.9071, 0.5233)),
        Ablation.NO_RESAMPLING: _paper(0.5153, (0.7725, 0.5937, 0.6714), (0.4917, 0.5624, 0.6322, 0.3529)),
        Ablation.NO_CONSISTENCY: _paper(0.5120, (0.7448, 0.6026, 0.6662), (0.5523, 0.5488, 0.6579, 0.3735)),
        Ablation.SFT: _paper(0.4306, (0.7205, 0.6936, 0.7068), (0.4567, 0.7382, 0.4615, 0.0798)),
    }
)
"""Table 4 (macro F1 of the labels; precision, recall and F1 of artifact or not) and Table 6 (recalls) of MagicMirror."""


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


def difference(measured: Sequence[ArmNumbers], arm: Ablation, metric: str, *, to: Ablation = Ablation.FULL) -> SeedMean:
    """Return how much an arm's last number differs from another's, within seeds."""
    one, other = ends(measured, arm, metric), ends(measured, to, metric)
    return SeedMean.of([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())], differences=True)


def end(measured: Sequence[ArmNumbers], arm: Ablation, metric: str) -> SeedMean:
    """Return the last number of an arm, over seeds."""
    return SeedMean.of(list(ends(measured, arm, metric).values()))


@dataclass(frozen=True, slots=True)
class AblationEffect:
    """Whether leaving something out moved a number the way the paper's did.

    Attributes:
        arm: what was left out.
        metric: which number.
        paper: the paper's difference to its full recipe.
        ours: ours, within seeds.
    """

    arm: Ablation
    metric: str
    paper: float
    ours: SeedMean

    @property
    def verdict(self) -> str:
        """``same``, ``other``, or ``unclear`` when our interval holds 0."""
        if not self.ours.seeds or self.ours.low <= 0 <= self.ours.high or math.isnan(self.ours.low):
            return "unclear"
        return "same" if (self.ours.mean > 0) == (self.paper > 0) else "other"


def directions(measured: Sequence[ArmNumbers]) -> list[AblationEffect]:
    """Return every number that the paper's text makes something of."""
    wanted = [
        (Ablation.NO_BUCKETS, "f1/macro"),
        *((Ablation.NO_BUCKETS, f"recall/{label}") for label in LABELS),
        (Ablation.NO_RESAMPLING, "f1/macro"),
        (Ablation.NO_RESAMPLING, "precision/artifact"),
        (Ablation.NO_CONSISTENCY, "f1/macro"),
        (Ablation.NO_CONSISTENCY, "f1/artifact"),
        (Ablation.SFT, "f1/macro"),
        (Ablation.SFT, "f1/artifact"),
    ]
    return [
        AblationEffect(arm, metric, PAPER[arm][metric] - PAPER[Ablation.FULL][metric], difference(measured, arm, metric))
        for arm, metric in wanted
        if ends(measured, arm, metric)
    ]


def _is_end(numbers: ArmNumbers) -> bool:
    """Return whether a stage is the last of its arm; the clean warm-up is not."""
    return numbers.stage == "grpo" or numbers.arm in (Ablation.SFT, Ablation.SFT_MORE)

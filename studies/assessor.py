"""MagicMirror's ablations in small: what does GRPO lose without each part of the recipe? ``python -m studies.assessor FOLDER``.

Each row leaves one thing out of GRPO after the biased cold start of ``salon train demo``. The paper's model has seven billion
weights and photographs; only directions can be compared.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click
from rich.console import Console

from salon_console.output import print_parts
from salon_console.table_files import Table
from salon_train.demo.experiment import Ablation, ArmNumbers
from salon_train.demo.page import study_page
from salon_train.demo.recipe import QUICK, Recipe
from salon_train.demo.study import run_study
from salon_train.demo.summary import LABELS, end, ends
from salon_train.over_seeds import SeedBars, SeedMean

ABLATIONS: tuple[Ablation, ...] = (
    Ablation.SFT,
    Ablation.FULL,
    Ablation.NO_BUCKETS,
    Ablation.NO_RESAMPLING,
    Ablation.NO_CONSISTENCY,
)
"""The rows of the paper's Table 4."""

_SHORT: Final[Mapping[str, str]] = dict(zip(LABELS, ("Interaction", "Human", "Animal", "Object"), strict=True))
"""The labels in a word each."""

ABLATION_COLUMNS = ("GRPO", "", "Macro F1", "Binary F1", *_SHORT.values(), "Consistent")
"""Headings of :func:`ablation_rows`; the four in the middle are recalls."""

DIRECTION_COLUMNS = ("Left out", "Number", "Paper", "Here", "Effect")
"""Headings of :func:`direction_rows`."""


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


def difference(measured: Sequence[ArmNumbers], arm: Ablation, metric: str, *, to: Ablation = Ablation.FULL) -> SeedMean:
    """Return how much an arm's last number differs from another's, within seeds."""
    one, other = ends(measured, arm, metric), ends(measured, to, metric)
    return SeedMean.of([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())], differences=True)


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


def ablation_rows(measured: Sequence[ArmNumbers]) -> list[list[str]]:
    """Return the table of ablations: macro F1, binary F1 and the labels' recalls, ours and then the paper's."""
    rows = []
    for arm in (Ablation.FULL, Ablation.NO_BUCKETS, Ablation.NO_RESAMPLING, Ablation.NO_CONSISTENCY, Ablation.SFT):
        if not end(measured, arm, "f1/macro").seeds:
            continue
        metrics = ("f1/macro", "f1/artifact", *(f"recall/{label}" for label in LABELS))
        ours = [_short(end(measured, arm, metric)) for metric in metrics]
        rows.append([arm, "here", *ours, _short(end(measured, arm, "consistent"))])
        rows.append(["", "paper", *(f"{PAPER[arm][metric]:.3f}" for metric in metrics), "–"])
    return rows


def direction_rows(effects: Sequence[AblationEffect]) -> list[list[str]]:
    """Return what leaving something out did, here and in the paper."""
    rows = []
    for number, effect in enumerate(effects):
        again = number and effects[number - 1].arm is effect.arm
        numbers = (f"{effect.paper:+.3f}", effect.ours.text("+.3f"), effect.verdict)
        rows.append(["" if again else str(effect.arm), _words(effect.metric), *numbers])
    return rows


def _words(metric: str) -> str:
    """Return a number's name as one says it: ``recall/L2: Abnormal Human Anatomy`` is the recall of Human."""
    kind, _, of = metric.partition("/")
    if of in LABELS:
        return f"{kind.capitalize()}, {_SHORT[of]}"
    return {"f1/macro": "Macro F1", "f1/artifact": "Binary F1"}.get(metric, f"{kind.capitalize()}, {of} or not")


def _short(estimate: SeedMean) -> str:
    return f"{estimate.mean:.3f}" if estimate.seeds else "–"


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Experiments, each from end to end.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="The others follow it.")
@click.option("--quick", is_flag=True, help="One seed, a few steps: checks that every arm runs.")
def main(folder: Path, seeds: int, first_seed: int, quick: bool) -> None:
    """Run the recipe and its ablations; the same command continues after the last finished stage."""
    recipe = QUICK if quick else Recipe()
    numbers = range(first_seed, first_seed + (1 if quick else seeds))
    with SeedBars(Console(stderr=True)) as bars:
        measured = run_study(folder, recipe, seeds=numbers, arms=ABLATIONS, processes=2, tell=bars)
    page = study_page(measured, recipe, title="What GRPO loses without each part of its recipe")
    (folder / "report.html").write_text(page, encoding="utf-8")
    print_parts(
        "Macro and binary F1, the recalls of the four labels, and the share of consistent answers",
        Table(ABLATION_COLUMNS, ablation_rows(measured), frozenset(ABLATION_COLUMNS[2:])),
        "Differences to the full recipe, within seeds; unclear: our interval contains 0",
        Table(DIRECTION_COLUMNS, direction_rows(directions(measured)), frozenset({"Paper", "Here"})),
        *(["--quick trains for a few steps only: these numbers say nothing about the method."] if quick else []),
        f"curves: {folder / 'report.html'}",
    )


if __name__ == "__main__":
    main()

"""What a run will take: measured on a few shards, extrapolated to all.

run ──► costs.jsonl, one line for each part ──► estimate: calls, tokens, bytes, money, hours of each stage
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from salon_curate.costs import PartCost, recorded_costs
from salon_curate.dataset import DataSet, Shard, seeded_hash
from salon_curate.engine import embedded
from salon_curate.judging import JudgedStage
from salon_curate.running import run
from salon_curate.stages import DataSetStage, Stage, expected_parts
from salon_curate.tasks import Engine
from salon_taxonomy.errors import IncompleteError, InputError

QUANTITIES: Final = ("calls", "prompt_tokens", "completion_tokens", "cost_usd", "bytes_read", "bytes_written", "seconds")


@dataclass(frozen=True, slots=True)
class EstimatedTotal:
    """A total of a whole run, from a sample of shards.

    Attributes:
        value: the sample's total per picture, times all pictures; None where it is not known.
        low: end of the 95% interval; None with one shard.
        high: likewise. Student's interval of the ratio estimator over shards, with the finite population correction.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class StagePlan:
    """What one stage will take over all shards.

    Attributes:
        stage: its name.
        measured: shards that were run.
        shards: of the data set.
        asked: calls to a judge in the shards that were run; their replies are kept.
        totals: of :data:`QUANTITIES`.
    """

    stage: str
    measured: int
    shards: int
    asked: int
    totals: Mapping[str, EstimatedTotal]


def sample_of(dataset: DataSet, share: float, seed: int = 0) -> DataSet:
    """Return the data set of a random share of the shards, at least two; nothing is copied.

    Raises:
        InputError: the share is outside (0, 1], or the data set has no shard.
    """
    if not 0 < share <= 1:
        raise InputError("must be above 0 and at most 1", column="share", value=share)
    if not dataset.shards:
        raise InputError("the data set has no pictures", source=dataset.folder, hint="salon curate import")
    number = max(min(2, len(dataset.shards)), round(share * len(dataset.shards)))
    chosen = {shard.name for shard in sorted(dataset.shards, key=lambda shard: seeded_hash(shard.name, seed, "plan"))[:number]}
    shards = [shard for shard in dataset.shards if shard.name in chosen]
    return DataSet(dataset.folder, dataset.name, dataset.sources, shards)


def plan(
    dataset: DataSet,
    stages: Sequence[Stage],
    *,
    share: float = 0.02,
    seed: int = 0,
    workers: int = 1,
    engine: Engine = embedded,
) -> list[StagePlan]:
    """Run the stages on a random share of the shards, and return what all shards will take.

    The replies are paid and kept: the run that follows does not ask these questions again. A stage that sees the whole data set
    sees the sample alone here, so where it drops repeated pictures, later stages are asked somewhat more than in the run.

    Args:
        share: of the shards, above 0 and at most 1; at least two are run.
        seed: of the choice of shards.
        workers: processes; take as many as the run will have, so that what they cost each other is measured too.
        engine: see :mod:`~salon_curate.engine`.

    Raises:
        InputError: the share is out of its range, or the pipeline contradicts itself.
        IncompleteError: a shard of the sample could not be finished.
        StorageError: a part cannot be written.
    """
    sample = sample_of(dataset, share, seed)
    result = run(sample, stages, workers=workers, engine=engine)
    if result.stopped or result.set_aside:
        raise IncompleteError(
            f"the sample is not finished: {result.stopped or result.set_aside[0]}. Run the same command again."
        )
    stage_plans = estimate(dataset, sample, stages)
    kept = {part.path for parts in expected_parts(dataset, stages).values() for part in parts}
    for parts in expected_parts(sample, stages).values():
        for part in parts:
            if part.path not in kept:  # it follows from a stage that saw the sample alone
                (dataset.folder / part.path).unlink(missing_ok=True)
    return stage_plans


def estimate(dataset: DataSet, sample: DataSet, stages: Sequence[Stage]) -> list[StagePlan]:
    """Return what all shards of a data set take, by the recorded costs of a sample of them."""
    costs = recorded_costs(dataset)
    stage_plans = []
    for stage in stages:
        known = [costs[stage.identity, shard.name] for shard in sample.shards if (stage.identity, shard.name) in costs]
        totals = {name: total_of(known, name, dataset.shards) for name in QUANTITIES}
        asked = int(sum(each.quantity("calls") or 0 for each in known))
        stage_plans.append(StagePlan(stage.name, len(known), len(dataset.shards), asked, totals))
    return stage_plans


def actual(dataset: DataSet, stages: Sequence[Stage]) -> list[StagePlan]:
    """Return what a finished run took, for comparison with its plan: the recorded costs of all parts."""
    return estimate(dataset, dataset, stages)


def total_of(known: Sequence[PartCost], name: str, shards: Sequence[Shard]) -> EstimatedTotal:
    """Return the total of a quantity over shards, by the ratio estimator from the costs of some of them."""
    from salon_ranking.uncertainty.student import two_sided_quantile

    pairs = [(value, each.rows) for each in known if (value := each.quantity(name)) is not None]
    if not pairs or (name == "cost_usd" and len(pairs) < len(known)):
        return EstimatedTotal(None)
    rows, count = sum(shard.rows for shard in shards), len(pairs)
    ratio = sum(value for value, _ in pairs) / sum(size for _, size in pairs)
    if count == 1 and len(shards) > 1:
        return EstimatedTotal(ratio * rows)
    if count == len(shards):
        return EstimatedTotal(ratio * rows, ratio * rows, ratio * rows)
    variance = sum((value - ratio * size) ** 2 for value, size in pairs) / (count - 1)
    error = len(shards) * math.sqrt(variance * (1 - count / len(shards)) / count)
    reach = two_sided_quantile(0.05, count - 1) * error
    return EstimatedTotal(ratio * rows, max(0.0, ratio * rows - reach), ratio * rows + reach)


def wall_seconds(plans: Sequence[StagePlan], stages: Sequence[Stage], *, workers: int = 1) -> float | None:
    """Estimate the seconds of a run, one stage after the other; None where those of a stage are not known.

    Workers share the shards of a stage, and those beyond the number of shards have nothing to do; a judged stage, and one over
    the whole data set, is made by one process. What a worker takes to start is left out.

    Args:
        plans: of all stages, as :func:`plan` returns them.
        stages: of the pipeline.
        workers: processes for stages without a judge.
    """
    wall = 0.0
    for planned, stage in zip(plans, stages, strict=True):
        seconds = planned.totals["seconds"].value
        if seconds is None:
            return None
        alone = isinstance(stage, DataSetStage | JudgedStage)
        wall += seconds / (1 if alone else min(workers, planned.shards))
    return wall

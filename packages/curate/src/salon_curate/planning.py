"""What a run will take: measured on a few shards, extrapolated to all, and simulated for other numbers of workers.

run ──► costs.jsonl, one line for each part ──► estimate: calls, tokens, bytes, money, hours of each stage
                                          └──► simulate: the wall-clock time of a run with N workers and M judges
"""

import heapq
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from salon_curate.costs import PartCost, recorded_costs
from salon_curate.dataset import DataSet, Shard, seeded_hash
from salon_curate.engine import Engine, embedded
from salon_curate.running import run
from salon_curate.stages import Stage, expected_parts
from salon_taxonomy.errors import IncompleteError, InputError

QUANTITIES: Final = ("calls", "prompt_tokens", "completion_tokens", "cost_usd", "bytes_read", "bytes_written", "seconds")
SIMULATIONS: Final = 50
"""How often :func:`simulate` draws a run, if not told otherwise."""


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
    """What one stage will take over all shards: ``measured`` of ``shards`` were run, ``totals`` are of :data:`QUANTITIES`."""

    stage: str
    measured: int
    shards: int
    totals: Mapping[str, EstimatedTotal]


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One simulated run.

    Attributes:
        workers: processes for stages without a judge.
        judges: shards that are judged at once, each by a process with a judge as fast as the measured one.
        seconds: the wall-clock time of the run, the mean over the simulations.
        low, high: the 2.5th and 97.5th percentile over the simulations, which draw the shards that were not measured.
        by_stage: the mean wall-clock time of each stage.
        busy: the share of the workers' and judges' time in which they work.
    """

    workers: int
    judges: int
    seconds: float
    low: float
    high: float
    by_stage: Mapping[str, float]
    busy: float


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
    chosen = {shard.name for shard in sorted(dataset.shards, key=lambda each: seeded_hash(each.name, seed, "plan"))[:number]}
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
    found = estimate(dataset, sample, stages)
    kept = {part.path for parts in expected_parts(dataset, stages).values() for part in parts}
    for parts in expected_parts(sample, stages).values():
        for part in parts:
            if part.path not in kept:  # it follows from a stage that saw the sample alone
                (dataset.folder / part.path).unlink(missing_ok=True)
    return found


def estimate(dataset: DataSet, sample: DataSet, stages: Sequence[Stage]) -> list[StagePlan]:
    """Return what all shards of a data set take, by the recorded costs of a sample of them."""
    costs = recorded_costs(dataset)
    found = []
    for stage in stages:
        known = [costs[stage.identity, shard.name] for shard in sample.shards if (stage.identity, shard.name) in costs]
        totals = {name: total_of(known, name, dataset.shards) for name in QUANTITIES}
        found.append(StagePlan(stage.name, len(known), len(dataset.shards), totals))
    return found


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


def simulate(
    dataset: DataSet, stages: Sequence[Stage], *, workers: int = 1, judges: int = 1, seed: int = 0, times: int = SIMULATIONS
) -> SimulatedRun:
    """Simulate a run of all stages over all shards from the recorded costs.

    Events are the ends of shards: a worker or judge that is free takes the next shard in order, and a stage begins when the one
    before it has ended. A shard takes fixed seconds and seconds per picture, fitted to the measured ones; one that was not
    measured differs from the fit by the ratio of a measured one, drawn at random, so slow shards occur as often as measured.
    The first task of a worker process also takes its start: imports, and everything that is done once.
    What workers cost each other (memory, disk, a judge that serves several) is in the costs only if they were measured with as
    many.

    Args:
        workers: processes for stages without a judge.
        judges: processes that judge at once, each with a judge of the measured speed (``--shards`` in arrays).
        seed: of the draws.
        times: simulations.

    Raises:
        InputError: a number is below 1, or a stage has no recorded cost.
    """
    for name, value in (("workers", workers), ("judges", judges), ("times", times)):
        if value < 1:
            raise InputError("must be 1 or more", column=name, value=value)
    costs = recorded_costs(dataset)
    lanes = {stage.name: judges if stage.judged else 1 if stage.whole else workers for stage in stages}
    measured = {stage.name: _measured(dataset, stage, costs) for stage in stages}
    draws = {name: random.Random(f"simulate {seed} {name}") for name in measured}  # noqa: S311 - draws of a simulation
    walls: list[float] = []
    by_stage = dict.fromkeys(measured, 0.0)
    working = held = 0.0
    for _ in range(times):
        wall = 0.0
        for name, known in measured.items():
            seconds = _drawn(dataset, known, draws[name])
            made = wall_of(seconds, lanes[name], start=known.start, gap=known.gap)
            wall, by_stage[name] = wall + made, by_stage[name] + made / times
            working, held = working + sum(seconds), held + made * lanes[name]
        walls.append(wall)
    walls.sort()
    low, high = walls[int(0.025 * (times - 1))], walls[math.ceil(0.975 * (times - 1))]
    return SimulatedRun(workers, judges, sum(walls) / times, low, high, by_stage, working / held if held else 0.0)


def wall_of(seconds: Sequence[float], lanes: int, *, start: float = 0.0, gap: float = 0.0) -> float:
    """Return the wall-clock time of tasks that are taken in order by so many lanes.

    Args:
        seconds: of each task.
        lanes: tasks at once.
        start: what a lane takes before its first task, in seconds.
        gap: what each lane takes beside each later task.

    Example:
        >>> wall_of([3, 1, 1, 1], 2), wall_of([2, 2], 1, start=1.0, gap=0.5)
        (3.0, 5.5)
    """
    free = [0.0] * lanes
    heapq.heapify(free)
    end = 0.0
    for number, each in enumerate(seconds):
        done = heapq.heappop(free) + (start if number < lanes else gap) + each
        end = max(end, done)
        heapq.heappush(free, done)
    return end


@dataclass(frozen=True, slots=True)
class _Measured:
    """What shards of a stage take, in seconds: ``fixed + per_row × rows``, times one of ``ratios``.

    ``seconds`` are those of measured shards, without the first of each worker process. ``start`` is what a worker takes before
    its first task and once within it, ``gap`` what it takes beside each later one.
    """

    seconds: Mapping[str, float]
    fixed: float
    per_row: float
    ratios: tuple[float, ...]
    start: float
    gap: float

    def expected(self, rows: int) -> float:
        """Return the seconds of a shard by the fit."""
        return self.fixed + self.per_row * rows


def _measured(dataset: DataSet, stage: Stage, costs: Mapping[tuple[str, str], PartCost]) -> _Measured:
    known = {shard: each for (of, shard), each in sorted(costs.items()) if of == stage.identity}  # whatever ended first
    usable = {shard: each for shard, each in known.items() if not each.spent.replayed}
    if not usable and known:
        problem = "the journals had its replies, so no judge was timed; the stage"
        raise InputError(problem, source=dataset.folder, value=stage.name)
    if not usable:
        hint = f"Measure it: salon curate plan {dataset.folder}"
        raise InputError("no cost is recorded of the stage", source=dataset.folder, value=stage.name, hint=hint)
    later = {shard: each for shard, each in usable.items() if not each.spent.started}
    timed = later or usable  # where each worker had one task, its start is known only as far as it is not work
    fixed, per_row = _line([(each.rows, each.spent.seconds) for each in timed.values()])
    fits = {shard: fixed + per_row * each.rows for shard, each in usable.items()}
    ratios = tuple(each.spent.seconds / fits[shard] if fits[shard] else 1.0 for shard, each in timed.items())
    starts = [
        max(0.0, each.spent.overhead + (each.spent.seconds - fits[shard] if later else 0.0))
        for shard, each in usable.items()
        if each.spent.started
    ]
    gaps = [each.spent.overhead for each in later.values()]
    seconds = {shard: each.spent.seconds for shard, each in timed.items()}
    return _Measured(seconds, fixed, per_row, ratios, median(starts or [0.0]), median(gaps or [0.0]))


def _line(points: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Return the fixed seconds and seconds per row of shards, by least squares; neither is below 0.

    Shards of one size say nothing about what is fixed: all of it then counts as per row.
    """
    count, rows, seconds = len(points), sum(row for row, _ in points), sum(value for _, value in points)
    spread = sum((row - rows / count) ** 2 for row, _ in points)
    if not spread:
        return 0.0, seconds / max(rows, 1)
    slope = max(0.0, sum((row - rows / count) * value for row, value in points) / spread)
    fixed = (seconds - slope * rows) / count
    return (fixed, slope) if fixed >= 0 else (0.0, seconds / rows)


def _drawn(dataset: DataSet, known: _Measured, generator: random.Random) -> list[float]:
    return [known.seconds[shard.name] if shard.name in known.seconds
            else known.expected(shard.rows) * generator.choice(known.ratios) for shard in dataset.shards]  # fmt: skip

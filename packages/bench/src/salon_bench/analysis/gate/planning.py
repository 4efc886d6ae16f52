"""Plan a gate from a pilot: how many prompts and seeds show that an equal build is not worse?

    pilot: two builds over the same prompts and seeds, or one build with several seeds for each prompt
      │ the variance of differences: between prompts, and of seeds within a prompt
      ▼
    prompts for each margin and number of seeds ──► simulated from the pilot: how often an equal build passes (the power), and
                                                    how often one that is worse by the margin does (at most the level)

Studies are drawn from the pilot's own prompts and seeds, so that what is skewed stays skewed. An equal build is the pilot with
its mean difference taken out; of values of few levels, such as yes and no, with base and new exchanged in half of the prompts.
A worse build is the equal one less the margin; of few levels, with as many new values at the worst level as it takes. Of a
measure with a limit no new build is equal to the base: there the pilot's own build shall pass, and the worse one is changed so
many times more that it comes to the limit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.analysis.gate.pairing import PairedMeasure, most_fall
from salon_bench.analysis.gate.plan import LEVEL, MeasureRule
from salon_bench.analysis.gate.verdicts import FEW_CHANGES, POWER, one_sided_ends, prompts_needed, prompts_reached
from salon_bench.runs.score_rows import located_run, read_scores
from salon_bench.runs.view import RunView
from salon_console.numbers import MISSING
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_console.table_rows import TABLE_ENDINGS
from salon_ranking.uncertainty.quantiles import least_units
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

STUDIES: Final = 1_000
"""Simulated for each number."""
MOST_PROMPTS: Final = 10_000
"""Beyond which no number is given."""
_FEW_LEVELS: Final = 3
_NEAR: Final = 0.02
"""Accepted distance of the simulated power from the wanted one."""
_TRIES: Final = 8
_LEAST: Final = 8
"""Prompts of a pilot."""
_GROUP: Final = ("suite", "task", "judge", "judge_version", "prompt_id")
_COLUMNS: Final = ("measure", "margin", "seeds", "prompts", "pictures", "power", "worse passes")

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GateSizes(ShownResult):
    """How many prompts gates need.

    Attributes:
        table: a row per measure, margin and number of seeds: ``measure``, ``margin``, ``seeds``, ``prompts`` (null: more than
            10,000), ``pictures`` of a build, ``power`` (simulated), ``type_one`` (how often a build that is worse by the margin
            passes, simulated; null where the pilot's values cannot be that much worse).
        components: a row per measure: ``measure``, ``between`` and ``within`` (variances of the difference between prompts, and
            of one seed within a prompt; null where a prompt has one seed), ``prompts`` and ``seeds`` of the pilot.
        power, level: what was wanted.
    """

    table: pl.DataFrame
    components: pl.DataFrame
    power: float
    level: float

    @property
    def header(self) -> str:
        """One sentence: what the numbers are."""
        return (
            f"Prompts with which a build equal to the base passes with {self.power:.0%}, each end one-sided at "
            f"{100 * self.level:.3g}%; both shares from {STUDIES:,} studies each, drawn from the pilot."
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """The numbers whose gate lets a worse build pass more often than its level, beyond chance."""
        most = self.level + 3.0 * math.sqrt(self.level * (1.0 - self.level) / STUDIES)
        loose = self.table.filter(pl.col("type_one") > most).iter_rows(named=True)
        return tuple(
            f"{row['measure']}, margin {row['margin']:.4g}, {row['prompts']:,} prompts: a build that is worse by the margin "
            f"passes in {row['type_one']:.1%}, as changes are skewed. Take a smaller level or more prompts."
            for row in loose
        )

    def cells(self, frame: pl.DataFrame) -> Table:
        """Return rows of the table as people read them."""
        rows = []
        for row in frame.iter_rows(named=True):
            counts = [MISSING if row[name] is None else f"{row[name]:,}" for name in ("prompts", "pictures")]
            shares = [MISSING if row[name] is None else f"{row[name]:.1%}" for name in ("power", "type_one")]
            rows.append((row["measure"], f"{row['margin']:.4g}", f"{row['seeds']}", *counts, *shares))
        return Table(_COLUMNS, rows, frozenset(_COLUMNS[1:]))

    def view(self) -> ResultView:
        """Return the table."""
        return ResultView(self.header, self.cells(self.table), None, self.warnings)


@dataclass(frozen=True, eq=False, slots=True)
class _Pilot:
    """Values of both builds in the good direction, of shape (prompts, seeds), and the range of a prompt's fall.

    ``margin`` is that of a measure with a limit, whose values are changes from the base's picture; else None.
    """

    base: Floats
    new: Floats
    size: float
    margin: float | None = None

    @property
    def has_few_levels(self) -> bool:
        return len(np.unique(np.concatenate([self.base, self.new]))) <= _FEW_LEVELS

    def variances(self) -> tuple[float, float | None]:
        """Return the variance of differences between prompts, and of one seed within a prompt."""
        gaps = self.new - self.base
        seeds = gaps.shape[1]
        whole = float(gaps.mean(axis=1).var(ddof=1))
        if seeds == 1:
            return whole, None
        within = float(gaps.var(axis=1, ddof=1).mean())
        return max(0.0, whole - within / seeds), within

    def studies(self, worse: float) -> Callable[[np.random.Generator, int, int], Floats] | None:
        """Return what draws one study's differences; ``worse``: of a build that is worse by so much."""
        if self.margin is not None:
            changes = self.new * (self.margin / abs(self.new.mean()) if worse else 1.0)
            return lambda random, prompts, seeds: _drawn(random, prompts, seeds, changes)[0].mean(axis=1)
        if not self.has_few_levels:
            gaps = self.new - self.base
            centred = gaps - gaps.mean() - worse
            return lambda random, prompts, seeds: _drawn(random, prompts, seeds, centred)[0].mean(axis=1)
        worst = min(self.base.min(), self.new.min())
        room = float(np.concatenate([self.base, self.new]).mean() - worst)
        if worse > room:
            return None
        share = worse / room if worse else 0.0

        def exchanged(random: np.random.Generator, prompts: int, seeds: int) -> Floats:
            base, new = _drawn(random, prompts, seeds, self.base, self.new)
            swapped = random.random((prompts, 1)) < 0.5
            base, new = np.where(swapped, new, base), np.where(swapped, base, new)
            new = np.where(random.random(new.shape) < share, worst, new)
            difference: Floats = (new - base).mean(axis=1)
            return difference

        return exchanged


def _drawn(random: np.random.Generator, prompts: int, seeds: int, *values: Floats) -> list[Floats]:
    """Draw prompts with replacement, and of each so many seeds without; the same of all values."""
    known, per_prompt = values[0].shape
    row = random.integers(0, known, prompts)[:, None]
    column = random.random((prompts, per_prompt)).argsort(axis=1)[:, :seeds] if seeds < per_prompt else np.arange(seeds)
    return [each[row, column] for each in values]


def pilot_scores(source: str, store: StoreAddress) -> pl.DataFrame:
    """Return the scores of a run or a table, a prompt's rows in the order of their samples.

    Those of a run have the column ``sample``, if the store knows that of every score: a sample may be missing.

    Args:
        source: a run's id, or a table, whose rows are in that order already.
        store: of the run.

    Raises:
        InputError: there is neither such a run nor such a file.
    """
    rows = read_scores([source], store)
    if source.lower().endswith(TABLE_ENDINGS):
        return rows
    samples = (
        RunView(*located_run(source, store))
        .read("generations")
        .select("generation_id", "sample")
        .unique("generation_id")
        .collect()
    )
    sorted_rows = rows.join(samples, on="generation_id", how="left").sort("sample", maintain_order=True)
    known = sorted_rows.filter(pl.col("value").is_not_null())["sample"]
    return sorted_rows.drop("sample") if known.null_count() else sorted_rows


def plan_gate(
    base: pl.DataFrame,
    new: pl.DataFrame | None,
    rules: Sequence[tuple[str, MeasureRule]],
    *,
    further: Sequence[PairedMeasure] = (),
    power: float = POWER,
    level: float = LEVEL,
    seed: int = 0,
) -> GateSizes:
    """Return how many prompts gates need, planned from a pilot and checked by simulation.

    Args:
        base, new: scores of the pilot; rows of a prompt in the order of their seeds, the same in both, or with a column
            ``sample`` that says which seed. Without ``new``, two
            builds are the halves of the base's seeds: equal builds whose seeds have nothing in common.
        rules: dimensions with the margins to plan for; a dimension may come several times.
        further: measures of two builds that are no scores, from :class:`~salon_bench.analysis.gate.gate.Gate`.
        power: with which an equal build shall pass, above 0.5 and below 1.
        level: of each end.
        seed: of the studies.

    Raises:
        InputError: a measure is missing, the pilot has too few prompts, or without ``new`` fewer than two seeds, or
            a value is outside the measure's range.

    Example:
        >>> random = np.random.default_rng(0)
        >>> common = {"suite": "s", "task": "t", "judge": "j", "judge_version": "1", "dimension": "beauty"}
        >>> rows = [{**common, "prompt_id": f"p{k}", "value": random.normal(k % 5)} for k in range(40) for _ in range(4)]
        >>> plan_gate(pl.DataFrame(rows), None, [("beauty", MeasureRule(0.3))]).table.select("seeds", "prompts").rows()
        [(1, 128), (2, 76)]
    """
    if not 0.5 < power < 1.0:
        raise InputError("must lie between 0.5 and 1, not", key="power", value=power)
    rows: list[dict[str, Any]] = []
    components = []
    pilots = [(name, rule, _pilot(base, new, name, rule), 1) for name, rule in rules]
    pilots += [(each.name, MeasureRule(each.margin), _pilot_of(each), each.seeds) for each in further]
    for name, rule, pilot, whole in pilots:
        prompts, most = pilot.base.shape
        between, within = pilot.variances()
        components.append({"measure": name, "between": between, "within": within, "prompts": prompts, "seeds": most * whole})
        for seeds in sorted({*(2**step for step in range(most.bit_length())), most}):
            random = np.random.default_rng([seed, len(rows)])
            variance = between + (within or 0.0) / seeds
            planned = _planned(pilot, rule.margin or 0.0, seeds, variance, power, level, random)
            if planned["pictures"] is not None:
                planned["pictures"] *= whole
            rows.append({"measure": name, "margin": rule.margin, "seeds": seeds * whole, **planned})
    floats = dict.fromkeys(("power", "type_one", "between", "within"), pl.Float64)
    table = pl.DataFrame(rows, schema_overrides=floats | dict.fromkeys(("prompts", "pictures"), pl.Int64))
    known = pl.DataFrame(components, schema_overrides=floats).unique("measure", keep="first", maintain_order=True)
    return GateSizes(table, known, power, level)


def _planned(
    pilot: _Pilot, margin: float, seeds: int, variance: float, power: float, level: float, random: np.random.Generator
) -> dict[str, Any]:
    """Return the cells of a row: the prompts that reach the power, and how often a worse build passes with them."""
    equal, worse = pilot.studies(0.0), pilot.studies(margin)
    nothing = {"prompts": None, "pictures": None, "power": None, "type_one": None}
    if equal is None:
        return nothing
    sample = equal(random, MOST_PROMPTS, seeds)
    changed, fell = float(np.mean(sample != 0.0)), float(np.mean(sample < 0.0))
    count = prompts_needed(math.sqrt(variance), changed, fell, pilot.size, margin, level, power)
    if pilot.margin is not None:
        count = prompts_reached(math.sqrt(variance), margin + float(pilot.new.mean()), level, power)
    least = max(FEW_CHANGES, least_units(1.0 - 2.0 * level, clustered=True))
    reach = NormalDist().inv_cdf(1.0 - level)
    too_few = least - 1
    best: tuple[int, float] | None = None
    for _ in range(_TRIES):
        if count > MOST_PROMPTS:
            break
        prompts = max(least, math.ceil(count))
        passing = _passing(equal, prompts, seeds, pilot.size, margin, level, random)
        if passing < power - _NEAR:
            too_few = prompts
        else:
            best = (prompts, passing)
        if abs(passing - power) <= _NEAR or (best is not None and best[0] - too_few <= _NEAR * best[0]):
            break
        seen = NormalDist().inv_cdf(min(0.99, max(0.05, passing)))
        count = prompts * ((reach + NormalDist().inv_cdf(power)) / max(reach + seen, 0.5)) ** 2
        if best is not None and not too_few < count < best[0]:
            count = math.sqrt(max(too_few, 1) * best[0])
        elif count <= too_few:
            count = 1.2 * too_few
    if best is None:
        return nothing
    prompts, passing = best
    type_one = None if worse is None else _passing(worse, prompts, seeds, pilot.size, margin, level, random)
    return {"prompts": prompts, "pictures": prompts * seeds, "power": passing, "type_one": type_one}


def _passing(
    draw: Callable[[np.random.Generator, int, int], Floats],
    prompts: int,
    seeds: int,
    size: float,
    margin: float,
    level: float,
    random: np.random.Generator,
) -> float:
    """Return the share of studies whose build is not worse."""
    passed = sum(one_sided_ends(draw(random, prompts, seeds), size, level)[0] > -margin for _ in range(STUDIES))
    return passed / STUDIES


def _pilot_of(measure: PairedMeasure) -> _Pilot:
    """Return a measure's values by prompt, less the base's.

    Raises:
        InputError: too few prompts.
    """
    known = measure.pairs.drop_nulls(["base", "new"])
    if known.height < _LEAST:
        raise InputError(
            f"a pilot needs {_LEAST} prompts or more; with a value of {measure.name} there are", value=known.height
        )
    gaps = (-1.0 if measure.lower else 1.0) * (known["new"] - known["base"]).to_numpy().reshape(-1, 1)
    return _Pilot(np.zeros_like(gaps), gaps, measure.size, None if measure.rule.limit is None else measure.margin)


def _pilot(base: pl.DataFrame, new: pl.DataFrame | None, name: str, rule: MeasureRule) -> _Pilot:
    """Return a measure's values by prompt and seed.

    Raises:
        InputError: see :func:`plan_gate`.
    """
    sides = []
    for side in (base,) if new is None else (base, new):
        rows = side.filter(dimension=name)
        if not rows.height:
            allowed = sorted({*side["dimension"]})
            raise InputError("the pilot has no such measure:", value=name, allowed=allowed)
        place = pl.col("sample").cast(pl.Int64) if "sample" in rows.columns else pl.int_range(pl.len()).over(*_GROUP)
        numbered = rows.with_columns(pl.col("value").cast(pl.Float64), sample=place, known=pl.col("value").is_not_null())
        means = numbered.group_by("prompt_id", "sample").agg(pl.col("value").mean(), pl.col("known").all())
        sides.append(means.filter("known").drop("known"))
    both = sides[0] if new is None else sides[0].join(sides[1], on=["prompt_id", "sample"], suffix="_new")
    seeds = int(np.median(both.group_by("prompt_id").len()["len"].to_numpy())) if both.height else 0
    whole = both.filter(pl.len().over("prompt_id") >= seeds).sort("prompt_id", "sample")
    whole = whole.filter(pl.int_range(pl.len()).over("prompt_id") < seeds)
    prompts = whole["prompt_id"].n_unique()
    if prompts < _LEAST:
        raise InputError(f"a pilot needs {_LEAST} prompts or more; with a verdict of {name} there are", value=prompts)
    sign = -1.0 if rule.lower else 1.0
    values = [sign * whole[column].to_numpy().reshape(prompts, seeds) for column in whole.columns if column.startswith("value")]
    if new is None:
        if seeds < 2:
            raise InputError("one build is a pilot only with two or more seeds of each prompt", value=name)
        half = seeds // 2
        values = [values[0][:, :half], values[0][:, half : 2 * half]]
    levels = pl.Series(sign * np.concatenate([each.ravel() for each in values]))
    return _Pilot(values[0], values[1], most_fall(name, levels, 0.0, rule))

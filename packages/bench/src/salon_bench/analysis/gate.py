"""Hold a new build against the base: is any measure worse by more than its margin?

    better       the interval of the difference lies above 0
    not worse    it lies above -margin
    worse        it lies below -margin
    cannot say   none of these

The difference is new less base, in the good direction, of the means of each prompt's rows. Ends are one-sided: each holds with
probability 1 - level. A build passes when every measure is better or not worse, each tested at the level: one that is worse by
the margin in every measure passes no more often than by its measure that passes least (intersection-union test: Berger 1982,
doi:10.1080/00401706.1982.10487790). Simulated at 5%, such a build passes one measure in 4 to 5% of studies where changes are
normal, in 1% or less where few yes/no answers change, and in 7% where falls are exponential.

An end is the farther one of Student's t and of Hall's correction of it for skewness (1992, doi:10.1214/aos/1176348532).
Where few prompts changed, as of yes/no answers and of builds that are nearly identical, it is also no nearer than Clopper and
Pearson's for the share of prompts that changed so, each by the measure's range. A verdict that the new build alone lacks is in
the low end as a fall by the range. No sample shows failures that are rarer than it is large: what happens to one prompt of 100
is in most draws of 100 prompts too seldom for any interval.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final
from xml.sax.saxutils import quoteattr

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import MISSING, counted
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.uncertainty.multiple_testing import holm
from salon_ranking.uncertainty.proportions import highest_share
from salon_ranking.uncertainty.quantiles import least_units
from salon_ranking.uncertainty.student import two_sided_quantile, two_sided_tail
from salon_taxonomy.errors import InputError
from salon_taxonomy.toml_files import read_toml
from salon_taxonomy.visible_text import visible

LEVEL: Final = 0.05
POWER: Final = 0.8
"""With which an equal build shall pass, for the column of prompts."""
MOST_UNSCORED: Final = 0.05
"""Share of prompts without a verdict on either side up to which a measure can say anything."""
_PASSING: Final = ("better", "not worse")
FEW_CHANGES: Final = 20
"""Prompts that changed below which an end is no nearer than the exact one."""
MOST_NEEDED: Final = 10_000_000
_NO_SKEW: Final = 1e-6
_WORST: Final = 12
_ENDS: Final = ("difference", "low", "high")
_VERSION: Final = ("suite", "dimension", "task", "judge", "judge_version")
_KEY: Final = (*_VERSION, "prompt_id")


@dataclass(frozen=True, slots=True)
class MeasureRule:
    """How a measure is judged.

    Attributes:
        margin: how much worse is still allowed, in the measure's unit, above 0.
        lower: whether less is better.
        range: the least and the largest value that the measure can take; None: those of its rows, and 0.
    """

    margin: float
    lower: bool = False
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.margin) and self.margin > 0.0):
            raise InputError("a margin is a number above 0, not", key="margin", value=self.margin)
        if self.range is not None and not (self.range[0] < self.range[1] and all(map(math.isfinite, self.range))):
            raise InputError("a range is two numbers, the lower one first, not", key="range", value=self.range)


@dataclass(frozen=True, slots=True)
class GatePlan:
    """What a build is held against.

    Attributes:
        measures: by name, a dimension of the scores; empty: all dimensions, by ``margin``.
        margin: of every dimension, where no measures are named.
        level: the chance with which a build that is worse by a margin may pass, between 0 and 0.5.
    """

    measures: Mapping[str, MeasureRule]
    margin: float | None = None
    level: float = LEVEL

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 0.5:
            raise InputError("must lie between 0 and 0.5, not", key="level", value=self.level)
        if self.margin is not None:
            MeasureRule(self.margin)
        if bool(self.measures) == (self.margin is not None):
            raise InputError("a plan has either measures or one margin for all", hint="Write [measures.NAME] with a margin.")

    @classmethod
    def read(cls, path: str | Path) -> "GatePlan":
        """Read a plan: ``level`` (optional) and a table ``[measures.NAME]`` with ``margin`` and, optionally, ``better``
        and ``range``.

        Raises:
            InputError: the file is no such plan.
        """
        document = read_toml(path, "plan")
        try:
            unknown = set(document) - {"level", "measures"}
            if unknown:
                raise InputError("unknown key", value=min(unknown), allowed=["level", "measures"])
            measures = document.get("measures", {})
            if not isinstance(measures, dict):
                raise InputError("must be a table of measures", key="measures", value=measures)
            rules = {name: _rule(name, values) for name, values in measures.items()}
            return cls(rules, level=_number("level", document.get("level", LEVEL)))
        except InputError as error:
            raise error.at(source=path) from error

    def rules(self, dimensions: list[str]) -> dict[str, MeasureRule]:
        """Return the rule of each measure.

        Raises:
            InputError: a measure is none of the dimensions.
        """
        if self.margin is not None:
            return {name: MeasureRule(self.margin) for name in dimensions}
        for name in self.measures:
            if name not in dimensions:
                raise InputError("the scores have no such measure:", value=name, allowed=dimensions)
        return dict(self.measures)


def _rule(name: str, values: object) -> MeasureRule:
    allowed = ["margin", "better", "range"]
    if not isinstance(values, dict) or set(values) - {*allowed}:
        raise InputError("a measure is a table of", key=f"measures.{name}", value=values, allowed=allowed)
    better = values.get("better", "higher")
    if better not in ("higher", "lower"):
        raise InputError("is wrong:", key=f"measures.{name}.better", value=better, allowed=["higher", "lower"])
    if "margin" not in values:
        raise InputError("is missing", key=f"measures.{name}.margin")
    limits = values.get("range")
    if limits is not None and not (isinstance(limits, list) and len(limits) == 2):
        raise InputError("a range is two numbers, not", key=f"measures.{name}.range", value=limits)
    ends = (
        None if limits is None else (_number(f"measures.{name}.range", limits[0]), _number(f"measures.{name}.range", limits[1]))
    )
    return MeasureRule(_number(f"measures.{name}.margin", values["margin"]), better == "lower", ends)


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("must be a number, not", key=key, value=value)
    try:
        return float(value)
    except OverflowError as error:
        raise InputError("is too large", key=key) from error


@dataclass(frozen=True, eq=False)
class Gate(ShownResult):
    """Whether a build may pass, and why.

    Attributes:
        table: one row per measure: ``measure``, ``verdict``, ``base``, ``new`` (means over prompts), ``difference`` (new less
            base, in the good direction), ``low`` and ``high`` (one-sided ends; null where nothing varies or prompts are too
            few), ``margin``, ``prompts``, ``unscored`` (prompts without a verdict on some side; in no mean), ``p_worse``
            (of the claim that it is worse by the margin, with Holm's correction over the measures; null where few prompts
            changed), ``needed`` (prompts with which a build that is equal to the base would pass with 80%).
        worst: the prompts that fell most: ``measure``, ``prompt_id``, ``base``, ``new``, ``difference``.
        base, new: what was compared, in words.
        level: of each end.
    """

    table: pl.DataFrame
    worst: pl.DataFrame
    base: str
    new: str
    level: float

    @property
    def passed(self) -> bool:
        """Whether every measure is better or not worse."""
        return bool(self.table["verdict"].is_in(_PASSING).all())

    @property
    def header(self) -> str:
        """One sentence: the verdict and how it was made."""
        failing = self.table.filter(~pl.col("verdict").is_in(_PASSING))
        reasons = ", ".join(f"{row['measure']}: {row['verdict']}" for row in failing.iter_rows(named=True))
        return (
            f"{'PASSED' if self.passed else f'FAILED ({reasons})'}: {self.new} against {self.base}; differences by prompt, "
            f"Student's t with Hall's correction, each end one-sided at {100 * self.level:.3g}%."
        )

    def cells(self, frame: pl.DataFrame) -> Table:
        """Return rows of the table as people read them."""
        columns = ("measure", "verdict", "base", "new", "difference", "ends", "margin", "prompts", "unscored", "needed")
        rows = []
        for row in frame.iter_rows(named=True):
            ends = MISSING if row["low"] is None else f"{row['low']:+.4g} – {row['high']:+.4g}"
            means = [MISSING if row[name] is None else f"{row[name]:.4g}" for name in ("base", "new")]
            difference = MISSING if row["difference"] is None else f"{row['difference']:+.4g}"
            needed = MISSING if row["needed"] is None else f"{row['needed']:,}"
            counts = (f"{row['prompts']:,}", f"{row['unscored']:,}", needed)
            rows.append((row["measure"], row["verdict"], *means, difference, ends, f"{row['margin']:.4g}", *counts))
        return Table(columns, rows, frozenset(columns[2:]))

    def view(self) -> ResultView:
        """Return the table, and differences in margins as a chart: left of −1 is worse."""
        points = [PlotRow(row["measure"], *_in_margins(row)) for row in self.table.iter_rows(named=True)]
        chart = ForestPlot("Difference in margins (below −1: worse)", points, -1.0)
        return ResultView(self.header, self.cells(self.table), chart)

    def junit(self) -> str:
        """Return a JUnit report: one test case per measure."""
        cases = []
        for row in self.table.iter_rows(named=True):
            name = f'  <testcase classname="salon.gate" name={quoteattr(visible(row["measure"]))}'
            said = (
                f"{row['verdict']}: difference {row['difference']}, ends {row['low']} to {row['high']}, margin {row['margin']}"
            )
            ok = row["verdict"] in _PASSING
            cases.append(f"{name}/>" if ok else f"{name}><failure message={quoteattr(said)}/></testcase>")
        failures = self.table.filter(~pl.col("verdict").is_in(_PASSING)).height
        head = f'<testsuite name="salon results gate" tests="{self.table.height}" failures="{failures}">'
        return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>", ""])


def _in_margins(row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    difference, low, high = (None if row[name] is None else row[name] / row["margin"] for name in _ENDS)
    return difference, low, high


def gate(base: pl.DataFrame, new: pl.DataFrame, plan: GatePlan, *, names: tuple[str, str] = ("base", "new")) -> Gate:
    """Hold the scores of a new build against those of the base, prompt by prompt.

    Args:
        base, new: rows with the columns of ``records.Score``, each of one model; null values are missing verdicts.
        plan: measures, margins and the level.
        names: what to call the two.

    Raises:
        InputError: a side has several models, they were judged by different versions, a measure is missing, or a side lacks
            prompts, samples or pictures that the other has.

    Example:
        >>> rows = [{"dimension": "beauty", "task": "t", "prompt_id": f"p{k}", "value": k % 3} for k in range(60)]
        >>> common = {"suite": "s", "subject_model": "m", "judge": "j", "judge_version": "1", "generation_id": "g"}
        >>> base = pl.DataFrame([{**row, **common} for row in rows])
        >>> new = base.with_columns(pl.col("value") + pl.when(pl.int_range(pl.len()) % 2 == 0).then(0.1).otherwise(-0.1))
        >>> found = gate(base, new, GatePlan({}, margin=0.1))
        >>> found.passed, found.table["verdict"].to_list(), found.table["needed"].to_list()
        (True, ['not worse'], [20])
    """
    for side, name in ((base, names[0]), (new, names[1])):
        models = side["subject_model"].unique().sort().to_list()
        if len(models) != 1:
            raise InputError("has scores of several models, or of none", source=name, value=", ".join(models))
    rules = plan.rules(sorted(base["dimension"].unique()))
    own = pl.col("dimension").is_in(list(rules))
    sides = [side.filter(own).with_columns(pl.col("value").cast(pl.Float64)) for side in (base, new)]
    asked = [{*side.select(_VERSION).unique().rows()} for side in sides]
    if asked[0] != asked[1]:
        row = min(asked[0] ^ asked[1], key=repr)
        other = names[0] if row in asked[1] else names[1]
        hint = "Judge both builds with the same suite, judge and version."
        raise InputError(
            "the builds were not judged alike; no score of", source=other, value=" ".join(map(str, row)), hint=hint
        )
    pairs = _paired(sides[0], sides[1], names)
    rows = [
        {"measure": name, **_judged(pairs.filter(dimension=name), rule, _size(sides, name, rule), plan.level)}
        for name, rule in rules.items()
    ]
    table = pl.DataFrame(
        rows,
        schema_overrides=dict.fromkeys(("low", "high", "difference", "base", "new", "p_worse"), pl.Float64)
        | {"needed": pl.Int64},
    )
    table = table.with_columns(p_worse=pl.Series(holm(table["p_worse"].to_numpy()), dtype=pl.Float64).fill_nan(None))
    return Gate(table, _worst(pairs, rules), *names, plan.level)


def _paired(base: pl.DataFrame, new: pl.DataFrame, names: tuple[str, str]) -> pl.DataFrame:
    """Return one row per dimension and prompt: ``base``, ``new`` (null: a verdict is missing)."""
    sides = []
    for side, name in ((base, names[0]), (new, names[1])):
        loose = side.filter(pl.col("prompt_id").is_null())
        if loose.height:
            raise InputError("has scores without a prompt_id, which have no pair:", source=name, value=loose["dimension"][0])
        twice = side.drop_nulls("generation_id").filter(pl.struct(*_KEY, "generation_id").is_duplicated())
        if twice.height:
            raise InputError("has two scores of one picture, such as of prompt", source=name, value=twice["prompt_id"][0])
        has_ids = pl.col("generation_id").is_not_null().any().over("dimension")
        found = pl.col("value").is_not_null() | pl.col("generation_id").is_not_null() | ~has_ids
        grouped = side.with_columns(found=found).group_by(_KEY, maintain_order=True)
        counts = {"rows": pl.len(), "unscored": pl.col("value").null_count(), "found": pl.col("found").sum()}
        sides.append(grouped.agg(pl.col("value").sort().mean(), **counts))
    both = sides[0].join(sides[1], on=_KEY, how="full", coalesce=True, suffix="_new", nulls_equal=True).sort(_KEY)
    if not both.height:
        raise InputError("has no score of a prompt", source=names[0])
    for column, problem in (("rows", "lacks samples of"), ("found", "has no pictures for")):
        for mine, other, name in ((column, f"{column}_new", names[0]), (f"{column}_new", column, names[1])):
            gone = both.filter(pl.col(mine).fill_null(0) < pl.col(other).fill_null(0))
            if gone.height:
                lacking, prompts = gone["prompt_id"].n_unique(), counted(both["prompt_id"].n_unique(), "prompt")
                hint = "Both builds need the same prompts and seeds."
                where = f"{gone['prompt_id'][0]} ({gone['dimension'][0]})"
                raise InputError(f"{problem} {lacking:,} of {prompts}, such as", source=name, value=where, hint=hint)
    known = (pl.col("unscored") == 0) & (pl.col("unscored_new") == 0)
    return both.group_by("dimension", "prompt_id", maintain_order=True).agg(
        base=pl.when(known.all()).then(pl.col("value").mean()),
        new=pl.when(known.all()).then(pl.col("value_new").mean()),
        silent=((pl.col("unscored_new") > 0) & (pl.col("unscored") == 0)).any(),
    )


def _size(sides: Sequence[pl.DataFrame], name: str, rule: MeasureRule) -> float:
    """Return how much a prompt can fall at most: the measure's range."""
    if rule.range is not None:
        return rule.range[1] - rule.range[0]
    values = pl.concat([side.filter(dimension=name)["value"].drop_nulls() for side in sides]).to_numpy()
    return float(max(values.max(initial=0.0), 0.0) - min(values.min(initial=0.0), 0.0))


def _judged(pairs: pl.DataFrame, rule: MeasureRule, size: float, level: float) -> dict[str, Any]:
    known = pairs.drop_nulls(["base", "new"])
    count, unscored = known.height, pairs.height - known.height
    sign = -1.0 if rule.lower else 1.0
    gaps = sign * (known["new"] - known["base"]).to_numpy()
    result: dict[str, Any] = {
        "verdict": "cannot say",
        "base": known["base"].mean(),
        "new": known["new"].mean(),
        "difference": math.fsum(gaps) / count if count else None,
        "low": None,
        "high": None,
        "margin": rule.margin,
        "prompts": count,
        "unscored": unscored,
        "p_worse": math.nan,
        "needed": None,
    }
    least = least_units(1.0 - 2.0 * level, clustered=True)
    if count < least:
        return result
    largest = float(np.abs(gaps).max())
    spread = largest * float(np.std(gaps / largest, ddof=1)) if largest else 0.0  # of tiny values squares would vanish
    error, degrees = spread / math.sqrt(count), count - 1.0
    reach = two_sided_quantile(2.0 * level, degrees)
    below, above = _hall(gaps, spread, reach)
    low, high = result["difference"] - error * max(reach, below), result["difference"] + error * max(reach, above)
    changed, fell = np.count_nonzero(gaps), int(np.count_nonzero(gaps < 0.0))
    if changed < FEW_CHANGES:
        rose = int(changed) - fell
        low, high = min(low, -size * highest_share(fell, count, level)), max(high, size * highest_share(rose, count, level))
    elif error > 0.0:
        ratio = (result["difference"] + rule.margin) / error
        tail = 0.5 * float(two_sided_tail(np.array(min(abs(ratio), 1e100)), degrees))
        result["p_worse"] = tail if ratio < 0.0 else 1.0 - tail
    low -= size * float(pairs["silent"].sum()) / pairs.height
    reaches = (NormalDist().inv_cdf(1.0 - level) + NormalDist().inv_cdf(POWER)) * spread / rule.margin
    enough = min(
        FEW_CHANGES / (changed / count) if changed else math.inf, _exact_needed(fell / count, size, rule.margin, level)
    )
    needed = max(math.ceil(min(reaches, 1e9) ** 2), enough)
    result |= {"low": low, "high": high, "needed": math.ceil(needed) if needed < MOST_NEEDED else None}
    if unscored > MOST_UNSCORED * pairs.height:
        return result
    result["verdict"] = (
        "better" if low > 0.0 else "not worse" if low > -rule.margin else "worse" if high < -rule.margin else "cannot say"
    )
    return result


def _hall(gaps: NDArray[np.float64], spread: float, reach: float) -> tuple[float, float]:
    """Return how many standard errors Hall's ends lie below and above the mean."""
    if not spread > 0.0:
        return 0.0, 0.0
    root = math.sqrt(len(gaps))
    skew = float(np.mean(((gaps - gaps.mean()) / spread) ** 3))
    if abs(skew) < _NO_SKEW:
        return reach, reach

    def turned(quantile: float) -> float:
        inner = 1.0 + skew * (quantile / root - skew / (6.0 * len(gaps)))
        return root * 3.0 / skew * (math.copysign(abs(inner) ** (1.0 / 3.0), inner) - 1.0)

    return turned(reach), -turned(-reach)


def _exact_needed(fall: float, size: float, margin: float, level: float) -> float:
    """Return how many prompts bring the exact low end above -margin; infinite if no number does."""
    if fall * size >= margin:
        return math.inf
    count = FEW_CHANGES
    reach = NormalDist().inv_cdf(POWER)
    while count < MOST_NEEDED:
        fallen = fall * count + reach * math.sqrt(fall * count)  # no more of them fall with the power
        if size * highest_share(math.ceil(fallen), count, level) < margin:
            break
        count = math.ceil(1.05 * count)
    return float(count)


def _worst(pairs: pl.DataFrame, rules: Mapping[str, MeasureRule]) -> pl.DataFrame:
    """Return the prompts that fell most, in margins."""
    signs = {name: (-1.0 if rule.lower else 1.0) for name, rule in rules.items()}
    margins = {name: rule.margin for name, rule in rules.items()}
    of = pl.col("dimension")
    return (
        pairs.drop_nulls(["base", "new"])
        .filter(of.is_in(list(rules)))
        .with_columns(
            difference=(pl.col("new") - pl.col("base")) * of.replace_strict(signs, return_dtype=pl.Float64),
            margin=of.replace_strict(margins, return_dtype=pl.Float64),
        )
        .filter(pl.col("difference") < 0.0)
        .sort(pl.col("difference") / pl.col("margin"), "prompt_id")
        .head(_WORST)
        .select(pl.col("dimension").alias("measure"), "prompt_id", "base", "new", "difference")
    )

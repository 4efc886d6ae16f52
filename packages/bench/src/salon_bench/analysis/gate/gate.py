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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import quoteattr

import polars as pl

from salon_bench.analysis.gate.measuring import Measured
from salon_bench.analysis.gate.pairing import (
    IDENTITY,
    PEAK,
    PSNR,
    PairedMeasure,
    limit_of,
    of_battles,
    of_diversity,
    of_pictures,
    of_scores,
)
from salon_bench.analysis.gate.plan import DIVERSITY, PREFERRED, GatePlan, MeasureRule
from salon_bench.analysis.gate.verdicts import PASSING, judged
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import MISSING
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.uncertainty.multiple_testing import holm
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

_WORST: Final = 12
_FIRST: Final = ("measure", "verdict", "base", "new")
_COLUMNS: Final = (*_FIRST, "difference", "ends", "margin", "prompts", "unscored", "needed")
_LIMITED: Final = (*_FIRST, "ends", "margin", "beyond", "identical", "prompts", "unscored", "needed")
_WHOLE: Final = ("prompts", "unscored", "needed", "identical")
_ENDS: Final = ("difference", "low", "high")
_TABLE: Final = (
    *("measure", "verdict", "base", "new", *_ENDS, "margin", "prompts", "unscored", "p_worse", "needed"),
    *("limit", "beyond", "identical"),
)
_FLOATS: Final = (*_ENDS, "base", "new", "p_worse", "limit", "beyond")
_COUNTS: Final = ("needed", "identical")


@dataclass(frozen=True, eq=False)
class Gate(ShownResult):
    """Whether a build may pass, and why.

    Attributes:
        table: one row per measure: ``measure``, ``verdict``, ``base``, ``new`` (means over prompts), ``difference`` (new less
            base, in the good direction), ``low`` and ``high`` (one-sided ends; null where nothing varies or prompts are too
            few), ``margin``, ``prompts``, ``unscored`` (prompts without a verdict on some side; in no mean), ``p_worse``
            (of the claim that it is worse by the margin, with Holm's correction over the measures; null where few prompts
            changed), ``needed`` (prompts with which a build that is equal to the base would pass with 80%; of a measure with
            a limit, with which this build would). Of measures with a limit, else null: ``limit``, ``beyond`` (the share of
            prompts beyond it) and ``identical`` (prompts whose pictures are equal); ``base`` is the base's picture against
            itself, and the margin is from there to the limit. PSNR's ``new`` is that of the mean squared error, and its
            differences are of that error.
        worst: the prompts that fell most: ``measure``, ``prompt_id``, ``base``, ``new``, ``difference``.
        base, new: what was compared, in words.
        level: of each end.
        primary: the measure that decides; None: all do.
        measures: the pairs of prompts that rows of the table were made from.
    """

    table: pl.DataFrame
    worst: pl.DataFrame
    base: str
    new: str
    level: float
    primary: str | None = None
    measures: Sequence[PairedMeasure] = ()

    @property
    def deciding(self) -> pl.DataFrame:
        """The rows of the table that decide."""
        return self.table if self.primary is None else self.table.filter(measure=self.primary)

    @property
    def passed(self) -> bool:
        """Whether every measure that decides is better or not worse."""
        return bool(self.deciding["verdict"].is_in(PASSING).all())

    @property
    def header(self) -> str:
        """One sentence: the verdict and how it was made."""
        failing = self.deciding.filter(~pl.col("verdict").is_in(PASSING))
        reasons = ", ".join(f"{row['measure']}: {row['verdict']}" for row in failing.iter_rows(named=True))
        word = "PASSED" if self.passed else f"{'FAILED' if 'worse' in failing['verdict'] else 'UNDECIDED'} ({reasons})"
        return (
            f"{word}: {self.new} against {self.base}; differences by prompt, "
            f"Student's t with Hall's correction, each end one-sided at {100 * self.level:.3g}%."
        )

    def cells(self, frame: pl.DataFrame) -> Table:
        """Return rows of the table as people read them."""
        limited = frame["limit"].is_not_null().any()
        columns = _LIMITED if limited else _COLUMNS
        rows = []
        for row in frame.iter_rows(named=True):
            cells = {name: MISSING if row.get(name) is None else f"{row[name]:,}" for name in _WHOLE}
            cells |= {name: MISSING if row[name] is None else f"{row[name]:.4g}" for name in ("base", "new")}
            cells |= {
                "measure": row["measure"],
                "verdict": row["verdict"],
                "difference": MISSING if row["difference"] is None else f"{row['difference']:+.4g}",
                "ends": MISSING if row["low"] is None else f"{row['low']:+.4g} – {row['high']:+.4g}",
                "margin": _allowed(row),
                "beyond": MISSING if row["beyond"] is None else f"{row['beyond']:.1%}",
            }
            rows.append(tuple(cells[name] for name in columns))
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
            message = (
                f"{row['verdict']}: difference {row['difference']}, ends {row['low']} to {row['high']}, margin {row['margin']}"
            )
            ok = row["verdict"] in PASSING or self.primary not in (None, row["measure"])
            cases.append(f"{name}/>" if ok else f"{name}><failure message={quoteattr(message)}/></testcase>")
        failures = self.deciding.filter(~pl.col("verdict").is_in(PASSING)).height
        head = f'<testsuite name="salon results gate" tests="{self.table.height}" failures="{failures}">'
        return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>", ""])


def _allowed(row: Mapping[str, Any]) -> str:
    """Return the margin, or the limit."""
    if row["limit"] is None:
        return f"{row['margin']:.4g}"
    return f"{'≤' if row['measure'] != PSNR and row['base'] == 0.0 else '≥'} {row['limit']:.4g}"


def _in_margins(row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    difference, low, high = (None if row[name] is None else row[name] / row["margin"] for name in _ENDS)
    return difference, low, high


def gate(
    base: pl.DataFrame,
    new: pl.DataFrame,
    plan: GatePlan,
    *,
    names: tuple[str, str] = ("base", "new"),
    pictures: Measured | None = None,
    battles: pl.DataFrame | None = None,
    models: tuple[str, str] | None = None,
    prompts: Collection[str] = (),
) -> Gate:
    """Hold a new build against the base, prompt by prompt.

    Args:
        base, new: rows with the columns of ``records.Score``, each of one model; null values are missing verdicts. May be
            empty where the plan has no measure of scores.
        plan: measures, margins and the level.
        names: what to call the two.
        pictures: what was measured of both builds' pictures, for the measures that need them.
        battles: between the two, for the measure ``preferred`` (:func:`of_battles`).
        models: what the battles call them; None: as ``names``.
        prompts: of the builds, beside those of their scores: those that battles shall be about.

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
    rules = plan.of_scores(sorted({*base["dimension"]}), has_battles=battles is not None)
    measures = of_scores(base, new, rules, names) if rules else []
    measured_pictures = pictures or Measured(pl.DataFrame(), pl.DataFrame())
    untaken = plan.of_pictures.keys() - measured_pictures.names
    if untaken:
        raise InputError("this measure needs the pictures of both builds:", value=min(untaken))
    measures += of_pictures(
        measured_pictures.against, {name: rule for name, rule in plan.of_pictures.items() if name in IDENTITY}
    )
    if measured_pictures.diversity is not None:
        measures.append(of_diversity(measured_pictures.diversity, plan.measures[DIVERSITY]))
    if battles is not None:
        if PREFERRED not in plan.measures:
            raise InputError("battles need a measure of the plan:", value=f"[measures.{PREFERRED}]")
        known = {*prompts, *base["prompt_id"], *new["prompt_id"]} - {None}
        if known:
            battles = battles.filter(pl.col("prompt_id").is_in(list(known)) | pl.col("prompt_id").is_null())
            if battles.is_empty():
                raise InputError("no battle is about a prompt of the builds, such as", source="battles", value=min(known))
        measures.append(of_battles(battles, plan.measures[PREFERRED], *(models or names), known))
    if not measures and measured_pictures.sets.is_empty():
        hint = "Judge both builds (`salon bench run`); of pictures alone a plan needs limits."
        raise InputError("has no score", source=names[0], hint=hint)
    return Gate(_table(measures, measured_pictures.sets, plan), _worst(measures), *names, plan.level, plan.primary, measures)


def _table(measures: Sequence[PairedMeasure], sets: pl.DataFrame, plan: GatePlan) -> pl.DataFrame:
    order = {name: place for place, name in enumerate(plan.measures)}
    rows = [_of_sets(row, plan.measures[row["measure"]]) for row in sets.iter_rows(named=True)]
    for measure in measures:
        row = {"measure": measure.name} | judged(measure, plan.level)
        new = measure.pairs["new"].drop_nulls()
        row |= {"limit": measure.rule.limit, "identical": measure.identical, "beyond": None}
        if measure.rule.limit is not None and len(new):
            row["beyond"] = float(((new - measure.pairs["base"][0]).abs() > measure.margin).mean())
        if measure.name == PSNR and measure.rule.limit is not None:
            row |= {"base": None, "new": _decibels(row["new"])}
        rows.append(row)
    rows.sort(key=lambda row: order.get(row["measure"], 0))
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(_FLOATS, pl.Float64) | dict.fromkeys(_COUNTS, pl.Int64))
    table = table.select(_TABLE)
    return table.with_columns(p_worse=pl.Series(holm(table["p_worse"].to_numpy()), dtype=pl.Float64).fill_nan(None))


def _of_sets(row: Mapping[str, Any], rule: MeasureRule) -> dict[str, Any]:
    """Return the row of a measure of two sets.

    Ends are those of the sets, and the margin is from sets that are alike. A picture that cannot be read is in no set, so that
    nothing is known of how far it is: then the measure can only be worse, or says nothing.
    """
    best, name = 0.0 if rule.lower else 1.0, row["measure"]
    limit, sign = limit_of(name, rule, best), -1.0 if rule.lower else 1.0
    ends = [None if row[end] is None else sign * (row[end] - best) for end in ("low", "high")]
    low, high = reversed(ends) if rule.lower else ends
    margin = abs(limit - best)
    verdict = "cannot say"
    if low is not None and high is not None:
        verdict = "worse" if high < -margin else "not worse" if low > -margin and not row["unscored"] else verdict
    numbers = {"base": best, "new": row["value"], "low": low, "high": high, "margin": margin, "limit": limit}
    difference = None if row["value"] is None else sign * (row["value"] - best)
    counts = {"prompts": row["prompts"], "unscored": row["unscored"], **dict.fromkeys(("needed", "identical", "beyond"))}
    return {"measure": name, "verdict": verdict, "difference": difference, "p_worse": math.nan, **numbers, **counts}


def _decibels(error: float | None) -> float | None:
    """Return the PSNR of a mean squared error; None without an error, or where it is 0."""
    return 10.0 * math.log10(PEAK**2 / error) if error else None


def _worst(measures: Sequence[PairedMeasure]) -> pl.DataFrame:
    """Return the prompts that fell most, in margins."""
    columns = ("measure", "prompt_id", "base", "new", "difference")
    numbers = dict.fromkeys(("base", "new", "difference", "margins"), pl.Float64)
    texts = dict.fromkeys(("measure", "prompt_id"), pl.String)
    parts = [pl.DataFrame(schema={**texts, **numbers})]
    for measure in measures:
        difference = (pl.col("new") - pl.col("base")) * (-1.0 if measure.lower else 1.0)
        fell = measure.pairs.drop_nulls(["base", "new"]).with_columns(measure=pl.lit(measure.name), difference=difference)
        rows = fell.filter(pl.col("difference") < 0.0).with_columns(margins=pl.col("difference") / measure.margin)
        if measure.name == PSNR and measure.rule.limit is not None:
            rows = rows.with_columns(
                base=pl.lit(None, pl.Float64), new=pl.col("new").map_elements(_decibels, return_dtype=pl.Float64)
            )
        parts.append(rows.select(*columns, "margins"))
    return pl.concat(parts).sort("margins", "prompt_id", "measure").head(_WORST).select(columns)

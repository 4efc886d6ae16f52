"""Mean opinion scores: the mean of Eq. 3 and the variance of Eq. 4 of the MEF paper, per model, dimension and scenario.

Let prompt i of n have k_i evaluations a_i1 … a_ik of one model in one dimension. Then

    M      = 1/n · Σ_i  mean(a_i)                       (Eq. 3)
    var(M) = 1/n² · Σ_i  var(a_i) / k_i                 (Eq. 4; the paper's 1/(n²k) · Σ var(a_i) when all k_i = k)

with the sample variance var(a_i) = Σ_j (a_ij - mean)² / (k_i - 1). The prompts are taken as they are: a benchmark is
written, not drawn at random, so the spread *between* prompts is no uncertainty of M. Only the generations of a prompt are
independent and identically distributed. An evaluation is therefore one generation, its mark the mean over its raters.

Where no prompt of a model has two evaluations, Eq. 4 has nothing to go by. Then prompts are resampled: the interval says what
another choice of prompts would give, which is the wider statement.
"""

import math
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from salon_ranking.errors import OptionError
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.options import Confidence, Replicates, Seed, checked
from salon_ranking.uncertainty.quantiles import small_sample
from salon_ranking.uncertainty.student import two_sided_quantiles

Unit: TypeAlias = Literal["generation", "rating"]
"""What counts as one evaluation: a generation (mean over its raters), or every single rating."""
UNITS: tuple[Unit, ...] = ("generation", "rating")
CELL = ("model", "dimension", "prompt_id")
ROUNDING = 1e-12
"""Marks that differ by less, as a share of the largest one from 1 on, are equal."""


def evaluations(ratings: MosRatings, unit: Unit = "generation") -> pl.DataFrame:
    """Return one row per evaluation: ``model``, ``dimension``, ``prompt_id``, ``value`` (and ``scenario`` where known)."""
    if unit not in UNITS:
        raise OptionError("unknown unit of evaluation", value=unit, allowed=UNITS)
    scenario = ["scenario"] if ratings.has_scenarios else []
    if unit == "rating":
        return ratings.scored.select(*CELL, *scenario, "value")
    by_generation = ratings.scored.group_by("generation_id", "dimension")
    constant = [pl.col(name).first() for name in ("model", "prompt_id", *scenario)]
    return by_generation.agg(pl.col("value").mean(), *constant).select(*CELL, *scenario, "value")


def cells(ratings: MosRatings, unit: Unit = "generation") -> pl.DataFrame:
    """Return one row per model, dimension and prompt, sorted: the building blocks of Eq. 3 and 4.

    Columns: ``model``, ``dimension``, ``prompt_id``, ``scenario`` (where known), ``mean``, ``k`` (evaluations) and
    ``within``: the sample variance of the evaluations. A prompt with one evaluation has none of its own and gets the pooled
    one of its model and dimension, Σ(k_i - 1)·var(a_i) / Σ(k_i - 1); null when no prompt there has two evaluations.
    ``pooled_degrees`` is that Σ(k_i - 1).
    """
    scenario = [pl.col("scenario").first()] if ratings.has_scenarios else []
    value, spare = pl.col("value"), pl.col("k") - 1
    grouped = evaluations(ratings, unit).group_by(CELL)
    blocks = grouped.agg(*scenario, mean=value.mean(), k=pl.len().cast(pl.Int64), own=_variance(value))
    pooled = blocks.group_by("model", "dimension").agg(
        pooled=pl.when(spare.sum() > 0).then((spare * pl.col("own").fill_null(0.0)).sum() / spare.sum()),
        pooled_degrees=spare.sum(),
    )
    joined = blocks.join(pooled, on=["model", "dimension"], how="left")
    return joined.with_columns(within=pl.coalesce("own", "pooled")).drop("own", "pooled").sort(CELL)


def _variance(value: pl.Expr) -> pl.Expr:
    """Return the sample variance, 0 where values differ by rounding alone: means of the same marks in another order may."""
    variance = value.var(ddof=1)
    differs = variance.sqrt() > ROUNDING * pl.max_horizontal(1.0, value.abs().max())
    return pl.when(differs).then(variance).otherwise(0.0 * variance)


@checked
def mean_opinion_scores(
    ratings: MosRatings,
    *,
    confidence: Confidence = 0.95,
    unit: Unit = "generation",
    replicates: Replicates = 1000,
    seed: Seed = 0,
) -> pl.DataFrame:
    """Means with their variance and interval, one row per scenario (null: all prompts), dimension and model, best first.

    The interval is M ± t · √var(M), t Student's with Σ(k_i - 1) degrees of freedom. A prompt with one evaluation gets the
    pooled variance of its model and dimension (see :func:`cells`; ``pooled_prompts`` counts them). When no prompt has two
    evaluations, or all evaluations of each prompt agree, the interval is M ± t · standard error of a bootstrap over prompts
    (``docs/intervals.md``, "Small samples"); null of fewer than five prompts (at 95%), or the same mark on all.
    Intervals are cut off at the ends of the dimension's scale: the true mean lies between them, so that the coverage stays
    the same.

    Args:
        replicates: of the bootstrap over prompts; at least 2.
        seed: of the bootstrap, from 0 to 2⁶³-1; the order and the names of prompts and models do not matter.

    Returns:
        Columns ``scenario``, ``dimension``, ``model``, ``mean``, ``variance``, ``standard_error``, ``ci_low``, ``ci_high``,
        ``prompts`` (n), ``missing_prompts`` (prompts of the row's scenario that have ratings of others, but none of this
        model in this dimension), ``k_min``, ``k_max`` (evaluations per prompt), ``evaluations``, ``ratings``,
        ``unscored`` (ratings without a mark), ``raters``, ``pooled_prompts``, ``ci_method`` (``within prompts``, Eq. 4;
        ``over prompts``, the bootstrap; null without an interval). A model without any mark in a dimension has
        a row with null for its mean.

    Raises:
        OptionError: ``confidence``, ``replicates`` or ``seed`` is outside its range, or the unit is unknown.

    Example:
        >>> frame = pl.DataFrame(
        ...     {"rating_id": range(4), "prompt_id": ["p", "p", "q", "q"], "generation_id": range(4), "model": ["x"] * 4,
        ...      "dimension": ["beauty"] * 4, "value": [1, 3, 4, 4], "scale_min": [1] * 4, "scale_max": [5] * 4,
        ...      "rater_id": ["ann"] * 4}
        ... )
        >>> mean_opinion_scores(MosRatings.from_frame(frame)).select("mean", "variance").row(0)
        (3.0, 0.25)
    """
    if not 0.0 < confidence < 1.0:
        raise OptionError("must lie between 0 and 1:", key="confidence", value=confidence)
    if replicates < 2:
        raise OptionError("must be 2 or more:", key="replicates", value=replicates)
    if not 0 <= seed < 1 << 63:
        raise OptionError("must lie between 0 and 2**63 - 1:", key="seed", value=seed)
    blocks = cells(ratings, unit)
    levels = [False, True] if ratings.has_scenarios else [False]
    table = pl.concat(_level(ratings, blocks, by_scenario=level) for level in levels)
    resampled = [_over_prompts(marks, confidence, replicates, seed) for marks in table["marks"]]
    table = table.hstack(pl.DataFrame(resampled, schema=dict.fromkeys(_RESAMPLED, pl.Float64), orient="row"))
    error = pl.col("variance").sqrt()
    reach = error * pl.Series(two_sided_quantiles(1.0 - confidence, table["degrees"].cast(pl.Float64).to_numpy()))
    around = {"ci_low": pl.col("mean") - reach, "ci_high": pl.col("mean") + reach}
    method = pl.when(error.is_not_null()).then(pl.lit("within prompts")).when(pl.col("over_standard_error").is_not_null())
    order = pl.col("dimension").replace_strict({name: number for number, name in enumerate(ratings.dimensions)})
    scales = [{name: scale[end] for name, scale in ratings.scales.items()} for end in (0, 1)]
    lowest, highest = (pl.col("dimension").replace_strict(ends, return_dtype=pl.Float64) for ends in scales)
    return (
        table.with_columns(ci_method=method.then(pl.lit("over prompts")), standard_error=error, **around)
        .with_columns(pl.coalesce(name, f"over_{name}") for name in ("standard_error", "ci_low", "ci_high"))
        .with_columns(pl.col("ci_low").clip(lowest, highest), pl.col("ci_high").clip(lowest, highest))
        .with_columns(variance=pl.col("standard_error") ** 2)
        .sort(
            [pl.col("scenario"), order, pl.col("mean"), pl.col("model")],
            descending=[False, False, True, False],
            nulls_last=[False, False, True, False],
        )
        .select(_COLUMNS)
    )


_COLUMNS = (
    "scenario",
    "dimension",
    "model",
    "mean",
    "variance",
    "standard_error",
    "ci_low",
    "ci_high",
    "prompts",
    "missing_prompts",
    "k_min",
    "k_max",
    "evaluations",
    "ratings",
    "unscored",
    "raters",
    "pooled_prompts",
    "ci_method",
)
_RESAMPLED = ("over_standard_error", "over_ci_low", "over_ci_high")


def _level(ratings: MosRatings, blocks: pl.DataFrame, *, by_scenario: bool) -> pl.DataFrame:
    """Return the rows over all prompts, or those of every scenario."""
    scenario = pl.col("scenario") if by_scenario else pl.lit(None, dtype=pl.String)
    keys = ["scenario", "dimension", "model"]
    rows = ratings.frame.with_columns(scenario=scenario)
    mark = pl.col("value").is_not_null()
    counts = rows.group_by(keys).agg(
        ratings=mark.sum().cast(pl.Int64),
        unscored=(~mark).sum().cast(pl.Int64),
        raters=pl.col("rater_id").filter(mark).n_unique().cast(pl.Int64),
    )
    # A model without a rating in some dimension still has a row there.
    frame = rows.select("scenario").unique().join(rows.select("dimension").unique(), how="cross")
    frame = frame.join(rows.select("model").unique(), how="cross")
    asked = rows.group_by("scenario").agg(asked=pl.col("prompt_id").n_unique().cast(pl.Int64))
    scored = _scored(blocks.with_columns(scenario=scenario), keys)
    table = frame
    for other, on in ((counts, keys), (scored, keys), (asked, ["scenario"])):
        table = table.join(other, on=on, how="left", nulls_equal=True)
    whole = ["ratings", "unscored", "raters", "prompts", "evaluations", "pooled_prompts"]
    return table.with_columns(pl.col(whole).fill_null(0)).with_columns(missing_prompts=pl.col("asked") - pl.col("prompts"))


def _scored(blocks: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Eq. 3 and Eq. 4 over the cells of every group."""
    k, n, within = pl.col("k"), pl.len(), pl.col("within")
    varies = (within.null_count() == 0) & (within.sum() > 0.0)
    return blocks.group_by(keys).agg(
        mean=pl.col("mean").mean(),
        variance=pl.when(varies).then((within / k).sum() / n.cast(pl.Float64).pow(2)),
        degrees=pl.max_horizontal((k - 1).sum(), pl.when((k - 1).sum() == 0).then(pl.col("pooled_degrees").max())),
        prompts=n.cast(pl.Int64),
        k_min=k.min(),
        k_max=k.max(),
        evaluations=k.sum(),
        marks=pl.when(~varies).then(pl.col("mean")).drop_nulls().sort(),
        pooled_prompts=((k == 1) & within.is_not_null()).sum().cast(pl.Int64),
    )


def _over_prompts(
    marks: pl.Series | None, confidence: float, replicates: int, seed: int
) -> tuple[float | None, float | None, float | None]:
    """Return standard error and interval of the mean of a model's marks, by resampling prompts."""
    if marks is None or len(marks) < 2 or marks[-1] - marks[0] <= ROUNDING * max(1.0, abs(marks[0]), abs(marks[-1])):
        return None, None, None
    values = marks.to_numpy()
    drawn = np.random.default_rng(seed).multinomial(len(values), np.full(len(values), 1.0 / len(values)), replicates) @ values
    factor, reach = small_sample(len(values), confidence)
    error, mean = factor * float(np.std(drawn / len(values), ddof=1)), float(values.mean())
    return (None, None, None) if math.isnan(error) else (error, mean - reach * error, mean + reach * error)

"""Which models differ in a dimension: tests paired by prompt, with Holm's correction.

The MEF paper tests at p < 0.01 and finds that a gap of 0.1 is typically significant; it does not name its test. Three
are offered, on the difference d_i of the two models' means for prompt i, over their common prompts:

``t``               Student's paired t-test of mean(d) = 0. Treats prompts as a sample of all prompts. The default.
``wilcoxon``        Wilcoxon's signed-rank test of d (zero differences dropped). For marks that are far from symmetric.
``within-prompts``  t = mean(d) / √(var(M_a) + var(M_b)) with Eq. 4's variances, each of Σ(k_i - 1) degrees of freedom.
                    Treats the prompts as they are: significant on this benchmark, whatever other prompts would say.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.errors import OptionError
from salon_ranking.extras import analysis
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.opinion.scores import Unit, cells
from salon_ranking.options import Range, checked
from salon_ranking.uncertainty.multiple_testing import benjamini_hochberg, holm
from salon_ranking.uncertainty.student import two_sided_tail

Floats = NDArray[np.float64]
Test: TypeAlias = Literal["t", "wilcoxon", "within-prompts"]
TESTS: tuple[Test, ...] = ("t", "wilcoxon", "within-prompts")

COMPARISONS = {
    "scenario": pl.String,
    "dimension": pl.String,
    "model_a": pl.String,
    "model_b": pl.String,
    "prompts": pl.Int64,
    "difference": pl.Float64,
    "standard_error": pl.Float64,
    "statistic": pl.Float64,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "p_bh": pl.Float64,
    "significant": pl.Boolean,
}
"""The columns of :func:`paired_comparisons`."""


@checked
def paired_comparisons(
    ratings: MosRatings,
    *,
    test: Test = "t",
    alpha: Annotated[float, Range(0, 1, is_open=True)] = 0.01,
    by_scenario: bool = False,
    unit: Unit = "generation",
) -> pl.DataFrame:
    """Compare every two models in every dimension over the prompts that both were rated on.

    Holm's correction is taken over all pairs of models of one dimension (and scenario). Where a test cannot be made, its
    statistic and p are null, it counts in no correction, and ``significant`` is null: fewer than two common prompts;
    differences that are all equal but not zero (``t``); no prompt with two evaluations (``within-prompts``).

    Args:
        alpha: ``significant`` is ``p_holm < alpha``.
        by_scenario: one set of comparisons per scenario instead of one over all prompts.

    Returns:
        Columns ``scenario`` (null: all prompts), ``dimension``, ``model_a`` (the one with the higher mean over the common
        prompts), ``model_b``, ``prompts``, ``difference`` (marks, at least 0), ``standard_error`` (null for ``wilcoxon``),
        ``statistic`` (t, the normal z of the signed ranks, or z), ``p`` (two-sided), ``p_holm`` and ``p_bh`` (by Holm, and by
        Benjamini and Hochberg), ``significant``.

    Raises:
        OptionError: an unknown test, ``alpha`` outside 0 … 1, or ``by_scenario`` without scenarios.
        MissingExtraError: the first two tests need ``salon-ranking[analysis]``.
    """
    if test not in TESTS:
        raise OptionError("unknown test", value=test, allowed=TESTS)
    if not 0.0 < alpha < 1.0:
        raise OptionError("must lie between 0 and 1:", key="alpha", value=alpha)
    if by_scenario and not ratings.has_scenarios:
        raise OptionError("no scenarios are known", source=ratings.source, hint="Give the ratings a column 'scenario'.")
    blocks = cells(ratings, unit)
    scenarios = blocks["scenario"].unique().sort().to_list() if by_scenario else [None]
    frames = [pl.DataFrame(schema=COMPARISONS)]
    for scenario in scenarios:
        chosen = blocks if scenario is None else blocks.filter(scenario=scenario)
        for dimension in ratings.dimensions:
            rows = list(_pairs(_Grid.of(chosen.filter(dimension=dimension)), test))
            frames.append(_frame(scenario, dimension, rows, alpha))
    return pl.concat(frames)


@dataclass(frozen=True)
class _Grid:
    """Prompts × models: means, their squared standard errors and degrees of freedom; NaN where there is no rating."""

    models: list[str]
    means: Floats
    errors: Floats
    degrees: Floats

    @classmethod
    def of(cls, blocks: pl.DataFrame) -> "_Grid":
        models = blocks["model"].unique().sort().to_list()
        rows = blocks.with_columns(error=pl.col("within") / pl.col("k"), spare=pl.col("k") - 1)
        shape = (blocks["prompt_id"].n_unique(), len(models))
        where = (
            rows["prompt_id"].rank("dense").to_numpy().astype(np.int64) - 1,
            rows["model"].rank("dense").to_numpy().astype(np.int64) - 1,
        )
        means, errors, degrees = (np.full(shape, np.nan) for _ in range(3))
        means[where], errors[where], degrees[where] = (rows[name].to_numpy() for name in ("mean", "error", "spare"))
        return cls(models, means, errors, degrees)


@dataclass(frozen=True)
class _Pair:
    """One comparison; NaN where the test cannot be made."""

    model_a: str
    model_b: str
    prompts: int
    difference: float
    standard_error: float
    statistic: float
    p: float


def _pairs(grid: _Grid, test: Test) -> Iterator[_Pair]:
    for a, first in enumerate(grid.models):
        for b in range(a + 1, len(grid.models)):
            gaps = grid.means[:, a] - grid.means[:, b]
            common = ~np.isnan(gaps)
            gaps = _without_rounding(gaps[common], grid.means[common])
            if len(gaps) == 0:
                yield _Pair(first, grid.models[b], 0, math.nan, *_UNTESTED)
                continue
            names = (first, grid.models[b])
            if gaps.mean() < 0:
                gaps, names = -gaps, names[::-1]
            noise = grid.errors[common][:, [a, b]].sum(axis=0) / len(gaps) ** 2
            degrees = grid.degrees[common][:, [a, b]].sum(axis=0)
            yield _Pair(*names, len(gaps), float(gaps.mean()), *_tested(gaps, noise, degrees, test))


def _without_rounding(gaps: Floats, means: Floats) -> Floats:
    """Return differences of means in which equal ones, and those of 0, are equal although decimal marks are rounded."""
    largest = np.abs(means[np.isfinite(means)]).max(initial=1.0)
    return np.round(gaps, 12 - math.ceil(math.log10(largest)))


class _Tested(NamedTuple):
    """What a test says; NaN where there is nothing to say."""

    standard_error: float
    statistic: float
    p: float


_UNTESTED = _Tested(math.nan, math.nan, math.nan)


def _tested(gaps: Floats, noise: Floats, degrees: Floats, test: Test) -> _Tested:
    """Test whether the differences have mean (or, signed ranks, median) 0, two-sided.

    Args:
        noise: Eq. 4's variance of both models.
        degrees: of freedom of each.
    """
    mean, count = float(gaps.mean()), len(gaps)
    if count < 2:
        return _UNTESTED
    if test == "wilcoxon":
        return _signed_ranks(gaps)
    error = math.sqrt(noise.sum()) if test == "within-prompts" else float(gaps.std(ddof=1)) / math.sqrt(count)
    if math.isnan(error):
        return _UNTESTED
    if error <= 1e-12 * max(1.0, abs(mean)):  # all differences are equal, up to rounding
        return _Tested(error, 0.0, 1.0) if mean == 0.0 else _Tested(error, math.nan, math.nan)
    statistic = mean / error
    if test == "within-prompts":
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = float(noise.sum() ** 2 / np.nansum(noise**2 / degrees))  # Welch and Satterthwaite's
        return _Tested(error, statistic, float(two_sided_tail(np.array(statistic), freedom)))
    special = analysis("scipy.special", "Student's t-test")
    return _Tested(error, statistic, 2.0 * float(special.stdtr(count - 1, -statistic)))


def _signed_ranks(gaps: Floats) -> _Tested:
    if not gaps.any():
        return _Tested(math.nan, 0.0, 1.0)
    result = analysis("scipy.stats", "Wilcoxon's test").wilcoxon(gaps, method="asymptotic")
    return _Tested(math.nan, abs(float(result.zstatistic)), float(result.pvalue))


def _frame(scenario: str | None, dimension: str, rows: list[_Pair], alpha: float) -> pl.DataFrame:
    names = ("model_a", "model_b", "prompts", "difference", "standard_error", "statistic", "p")
    columns: dict[str, object] = {name: [getattr(row, name) for row in rows] for name in names}
    p_values = np.array([row.p for row in rows], dtype=np.float64)
    columns |= {"p_holm": holm(p_values), "p_bh": benjamini_hochberg(p_values)}
    frame = pl.DataFrame(
        {"scenario": [scenario] * len(rows), "dimension": [dimension] * len(rows), **columns},
        schema={name: dtype for name, dtype in COMPARISONS.items() if name != "significant"},
    )
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None)).with_columns(significant=pl.col("p_holm") < alpha)

"""Everything about a set of ratings at once: scores, comparisons, stability, and how well raters keep dimensions apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.errors import OptionError
from salon_ranking.opinion.dimension_correlation import WANTED_BELOW, dimension_correlations
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.opinion.scores import Unit, mean_opinion_scores
from salon_ranking.opinion.significance import COMPARISONS, TESTS, Test, paired_comparisons
from salon_ranking.opinion.stability import NOTABLE_GAP, self_comparison
from salon_ranking.options import Confidence, Range, Replicates, Seed, checked


@dataclass(frozen=True, eq=False)
class MosSummary(ShownResult):
    """The tables of one set of ratings and how they were made.

    Attributes:
        scores: see :func:`mean_opinion_scores`.
        comparisons: see :func:`paired_comparisons`; empty when ``test`` is ``"none"``.
        stability: see :func:`self_comparison`.
        correlations: see :func:`dimension_correlations`.
        scales: lowest and highest mark of each dimension.
        ratings: rows with a mark.
        unscored: rows without one, by reason.
        remarks: what was changed while the ratings were read.
    """

    scores: pl.DataFrame
    comparisons: pl.DataFrame
    stability: pl.DataFrame
    correlations: pl.DataFrame
    source: str
    scales: dict[str, tuple[float, float]]
    ratings: int
    unscored: dict[str, int]
    raters: int
    unit: Unit
    confidence: float
    replicates: int
    seed: int
    test: Test | Literal["none"]
    alpha: float
    threshold: float
    correlation_limit: float
    remarks: tuple[str, ...] = ()

    @property
    def header(self) -> str:
        """A few sentences on how the tables were made, with everything that has no mark counted."""
        why = f" ({', '.join(f'{count:,} {reason}' for reason, count in self.unscored.items())})" if self.unscored else ""
        models, raters = self.scores["model"].n_unique(), self.raters
        parts = [f"{self.source}: {self.ratings:,} scored, {sum(self.unscored.values()):,} unscored{why}"]
        parts += self.remarks
        parts.append(f"{models:,} {'model' if models == 1 else 'models'}, {raters:,} {'rater' if raters == 1 else 'raters'}")
        parts.append("mean over prompts of the mean over evaluations (MEF Eq. 3)")
        methods = self.scores["ci_method"].unique().drop_nulls().to_list()
        kinds = {
            "within prompts": f"Student's t, variance within prompts (MEF Eq. 4), evaluations are {self.unit}s",
            "over prompts": f"Student's t, bootstrap over prompts, {self.replicates:,} replicates, seed {self.seed}",
        }
        how = "; where no prompt has two evaluations: ".join(kind for name, kind in kinds.items() if name in methods)
        cut = ", cut off at the ends of the scale" if how else ""
        parts.append(f"{100 * self.confidence:.4g}% interval: {how or 'none is known'}{cut}")
        missing = int(self.scores.filter(pl.col("scenario").is_null())["missing_prompts"].sum())
        if missing:
            parts.append(f"{missing:,} combinations of prompt, model and dimension have no rating")
        without = self.scores.filter(pl.col("mean").is_not_null() & pl.col("ci_low").is_null()).height
        if without:
            parts.append(
                f"{without:,} means without an interval: one evaluation of each of few prompts, or the same mark on all prompts"
            )
        return "; ".join(parts) + "."

    def view(self) -> ResultView:
        """Return means by dimension and model as table and chart; the notes name the other tables."""
        there = {
            tuple(names): mean for *names, mean in self.scores.select("scenario", "dimension", "model", "mean").iter_rows()
        }
        scenarios = [name for name in self.scores["scenario"].unique().sort() if name is not None]
        rows = [
            (
                row["dimension"],
                row["model"],
                numbers.mark(row["mean"]),
                numbers.MISSING if row["ci_low"] is None else f"{numbers.mark(row['ci_low'])} – {numbers.mark(row['ci_high'])}",
                *(f"{row[name]:,}" for name in ("prompts", "missing_prompts", "evaluations", "unscored")),
                *(numbers.mark(there.get((scenario, row["dimension"], row["model"]))) for scenario in scenarios),
            )
            for row in self.scores.filter(pl.col("scenario").is_null()).iter_rows(named=True)
        ]
        interval = f"{100 * self.confidence:.4g}% CI"
        heads = ("dimension", "model", "MOS", interval, "prompts", "missing", "evaluations", "unscored", *scenarios)
        chart = ForestPlot("Mean opinion score", numbers.plot_rows(self.scores, "mean"))
        return ResultView(self.header, Table(heads, rows, frozenset(heads[2:])), chart, tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        """Yield what comparisons, stability and correlations say."""
        compared, flagged = self.comparisons, self.correlations.filter("flagged")
        if compared.height:
            significant = int(compared["significant"].sum())
            yield f"{significant:,} of {compared.height:,} comparisons differ at p < {self.alpha:g} ({self.test}, Holm)."
        stability = self.stability.group_by("samples").agg(pl.col("probability").mean()).sort("samples")
        for samples, probability in stability.iter_rows():
            often = f"a model differs from itself by over {self.threshold:g}: {numbers.share(probability)}"
            yield f"{numbers.counted(samples, 'sample')} per prompt: {often}"
        if self.correlations.height:
            pairs = f"{flagged.height:,} of {self.correlations.height:,}"
            yield f"{pairs} correlations between dimensions reach {self.correlation_limit:g}."
        for row in flagged.iter_rows(named=True):
            yield f"  {row['rater_id']}: {row['dimension_a']} and {row['dimension_b']}, r = {row['pearson']:+.2f}"


@checked
def summarise(
    ratings: MosRatings,
    *,
    test: Test | Literal["none"] = "t",
    alpha: Annotated[float, Range(0, 1, is_open=True)] = 0.01,
    by_scenario: bool = False,
    confidence: Confidence = 0.95,
    unit: Unit = "generation",
    replicates: Replicates = 1000,
    seed: Seed = 0,
    threshold: Annotated[float, Range(0)] = NOTABLE_GAP,
    correlation_limit: float = WANTED_BELOW,
) -> MosSummary:
    """Make all tables of a set of ratings.

    Args:
        test: how models are compared; ``"none"`` leaves comparisons out and needs no extra.
        by_scenario: compare models within each scenario too.

    For the other arguments and errors see the functions that make the tables.

    Example:
        >>> frame = pl.DataFrame(
        ...     {"rating_id": range(4), "prompt_id": ["p", "p", "q", "q"], "generation_id": range(4), "model": ["x"] * 4,
        ...      "dimension": ["beauty"] * 4, "value": [1, 3, 4, 4], "scale_min": [1] * 4, "scale_max": [5] * 4,
        ...      "rater_id": ["ann"] * 4}
        ... )
        >>> print(summarise(MosRatings.from_frame(frame)).header.split(";")[0])
        ratings: 4 scored, 0 unscored
    """
    if test != "none" and test not in TESTS:
        raise OptionError("unknown test", value=test, allowed=(*TESTS, "none"))
    scored = ratings.scored
    return MosSummary(
        scores=mean_opinion_scores(ratings, confidence=confidence, unit=unit, replicates=replicates, seed=seed),
        comparisons=_compared(ratings, test, alpha, by_scenario, unit),
        stability=self_comparison(ratings, threshold=threshold, unit=unit),
        correlations=dimension_correlations(ratings, limit=correlation_limit),
        source=ratings.source,
        scales=ratings.scales,
        ratings=scored.height,
        unscored=ratings.unscored,
        raters=scored["rater_id"].n_unique(),
        unit=unit,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
        test=test,
        alpha=alpha,
        threshold=threshold,
        correlation_limit=correlation_limit,
        remarks=ratings.remarks,
    )


def _compared(ratings: MosRatings, test: Test | Literal["none"], alpha: float, by_scenario: bool, unit: Unit) -> pl.DataFrame:
    if test == "none":
        return pl.DataFrame(schema=COMPARISONS)
    comparisons = paired_comparisons(ratings, test=test, alpha=alpha, unit=unit)
    if not by_scenario:
        return comparisons
    return pl.concat([comparisons, paired_comparisons(ratings, test=test, alpha=alpha, by_scenario=True, unit=unit)])

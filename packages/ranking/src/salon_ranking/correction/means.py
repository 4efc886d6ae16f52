"""Means and shares of models as people mark them, out of a judge's scores of all pictures and a few marks of people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_console import numbers
from salon_console.forest_plot import ForestPlot
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.correction.balance import by_chance, unlikely
from salon_ranking.correction.marks import Marked, marked
from salon_ranking.correction.pairing import Codes, Floats
from salon_ranking.correction.ratings import FEWEST_VOTES, three_marks
from salon_ranking.errors import OptionError
from salon_ranking.models.likelihood import RowScores, check_size
from salon_ranking.options import Confidence, Options, Range, with_options
from salon_ranking.uncertainty.sandwich import Sandwich, clustered, inverse_of
from salon_ranking.uncertainty.student import two_sided_quantile, two_sided_quantiles

_ESTIMATES = ("corrected", "people", "judge")
_OTHER_SCALE = 1.1
"""λ above which the judge's scale is taken for narrower than people's."""


@dataclass(frozen=True, eq=False)
class CorrectedMeans(ShownResult):
    """Mean scores of models by people, by the judge, and by the judge corrected by people.

    Attributes:
        table: one row per model, best corrected mean first: ``rank``, ``model``, ``mean``, ``ci_low``, ``ci_high`` and
            ``degrees`` (of freedom of Student's t) of the corrected estimate; ``people`` and ``judge`` with ``_low`` and
            ``_high``, of either alone; with a baseline ``difference`` from it with ``_low`` and ``_high``, corrected; where all
            values are 0 or 1, ``rogan_gladen`` with ``_low`` and ``_high``; ``marks`` and ``pictures``, of the model. In units
            of people's marks. Null where it is not known; no interval of a model whose marks are all equal.
        factor: λ, how far the judge is used: 0, people alone; 1, a judge like people.
        counts_for: how many marks one mark counts for: the variance by people alone over the corrected one, mean of the models.
        header: how it was made.
        warnings: what to know before it is believed.
    """

    table: pl.DataFrame
    factor: float
    counts_for: float | None
    header: str
    warnings: tuple[str, ...] = ()

    def view(self) -> ResultView:
        """Return the header, the table, and three marks per model as a chart."""
        chart = ForestPlot("mean", three_marks(self.table, "mean"))
        return ResultView(self.header, self.cells(self.table), chart, tuple(f"Warning: {text}" for text in self.warnings))

    def cells(self, table: pl.DataFrame) -> Table:
        """Return rows of ``table`` as people read them."""
        named = {
            "mean": ("mean", "ci_low", "ci_high"),
            "people alone": ("people", "people_low", "people_high"),
            "judge alone": ("judge", "judge_low", "judge_high"),
            "Rogan–Gladen": ("rogan_gladen", "rogan_gladen_low", "rogan_gladen_high"),
            "difference": ("difference", "difference_low", "difference_high"),
        }
        kept = {name: columns for name, columns in named.items() if columns[0] in table.columns}
        text = numbers.share if "rogan_gladen" in table.columns else numbers.mark
        rows = [
            [
                numbers.count(row["rank"]),
                row["model"],
                *(_with_ends(*(text(row[column]) for column in columns)) for columns in kept.values()),
                numbers.count(row["marks"]),
                numbers.count(row["pictures"]),
            ]
            for row in table.iter_rows(named=True)
        ]
        return Table(("rank", "model", *kept, "marks", "pictures"), rows, frozenset({"rank", *kept, "marks", "pictures"}))


def _with_ends(value: str, low: str, high: str) -> str:
    return value if numbers.MISSING in (value, low, high) else f"{value} ({low} – {high})"


@dataclass(frozen=True, kw_only=True)
class MeanCorrectionOptions(Options):
    """How scores of a judge are corrected.

    Attributes:
        baseline: the model from which differences are taken; None: no differences.
        cluster_by: ``prompt_id``, ``rater_id`` or both: what is about one prompt, or by one rater, hangs together. Empty: by
            prompt where it is known, else by picture.
        probability: the column of the marks with the chance that the picture was shown to people, above 0 and at most 1; None:
            all pictures had the same.
        factor: λ, from 0 to 1; None: the best one.
        confidence: of the intervals.
    """

    baseline: str | None = None
    cluster_by: tuple[str, ...] = ()
    probability: str | None = None
    factor: Annotated[float, Range(0, 1)] | None = None
    confidence: Confidence = 0.95


@with_options(MeanCorrectionOptions)
def correct_means(people: pl.DataFrame, judged: pl.DataFrame, options: MeanCorrectionOptions) -> CorrectedMeans:
    """Give each model the mean mark that people would give it, from a judge's scores of all pictures and marks of a part.

    Of a model with marks h of people, scores j of the judge on the marked pictures and scores J on all its pictures, the mean
    is mean(h) + λ (mean(J) - mean(j)): prediction-powered inference in its nested form. λ is the covariance of h and j over the
    variance of j within models (each model's over its number of marks), between 0 and 1. So a judge that answers as people do
    gives people's mean on all pictures, one that answers at random gives people alone, and a constant added to all its scores
    changes nothing. The covariance is a sandwich of both parts' influences, added within a cluster before they are squared,
    with CR2 and Satterthwaite's degrees of freedom as for other boards (``docs/correction.md``).

    The marked pictures must be a random part of the judged ones, or ``probability`` says with which chance each was shown.

    Args:
        people: one row per mark: ``value``, and the picture by ``generation_id``, or by ``prompt_id`` and ``model``;
            ``rater_id`` where known. Several marks of one picture are several marks.
        judged: one row per picture: ``model``, ``value`` (null: not scored, left out and counted), ``generation_id`` and
            ``prompt_id`` as far as known.
        options: as keywords, the fields of :class:`MeanCorrectionOptions`.

    Raises:
        OptionError: fewer than 20 marks, a model without a mark, a mark of no judged picture, two scores of one picture, a
            value that is not finite, an unknown baseline or column.

    Example:
        >>> rows = [(f"{name}{n}", name, float((n * 7 + start) % 5)) for name, start in (("x", 0), ("y", 2)) for n in range(40)]
        >>> judged = pl.DataFrame(rows, ["generation_id", "model", "value"], orient="row")
        >>> people = judged[::3].with_columns(pl.col("value") / 2 + 1)
        >>> board = correct_means(people, judged)
        >>> board.factor, board.table.select("model", "mean", "marks", "pictures").rows()
        (0.5, [('x', 2.0, 14, 40), ('y', 2.0, 13, 40)])
    """
    both = marked(people, judged, options.cluster_by, options.probability)
    _refuse(both, options.baseline)
    best = _best_factor(both)
    factor = min(max(best, 0.0), 1.0) if options.factor is None else options.factor
    check_size(2 * len(both.models) + 1, "a table of corrected means")
    estimates = {
        kind: _estimate(both, *arguments)
        for kind, arguments in zip(_ESTIMATES, ((True, factor), (True, 0.0), (False, 1.0)), strict=True)
    }
    constant = _constant_marks(both)
    columns: dict[str, Floats | NDArray[np.int64]] = {}
    for kind, estimate in estimates.items():
        names = ("mean", "ci_low", "ci_high") if kind == "corrected" else (kind, f"{kind}_low", f"{kind}_high")
        contrasts = np.eye(len(both.models))
        ends, degrees = estimate.ends(contrasts, options.confidence)
        silent = constant if kind != "judge" else np.zeros_like(constant)
        columns |= dict(zip(names, (estimate.mean, *np.where(silent, np.nan, ends)), strict=True))
        if kind == "corrected":
            columns["degrees"] = np.where(np.isfinite(degrees) & ~constant, degrees, np.nan)
    if options.baseline is not None:
        fixed = both.models.index(options.baseline)
        contrasts = np.eye(len(both.models))
        contrasts[:, fixed] -= 1.0
        ends, _ = estimates["corrected"].ends(contrasts, options.confidence)
        silent = constant | constant[fixed] | (np.arange(len(constant)) == fixed)
        difference = estimates["corrected"].mean - estimates["corrected"].mean[fixed]
        names = ("difference", "difference_low", "difference_high")
        columns |= dict(zip(names, (difference, *np.where(silent, np.nan, ends)), strict=True))
    if _is_yes_no(both):
        columns |= _rogan_gladen(both, options.confidence)
    columns |= {"marks": both.counts(both.model[both.picture]), "pictures": both.counts(both.model)}
    frame = pl.DataFrame({"model": both.models, **columns}).with_columns(pl.col(pl.Float64).fill_nan(None))
    rank = pl.col("mean").round(9).rank("min", descending=True).cast(pl.Int64)
    table = frame.select(rank.alias("rank"), pl.all()).sort("mean", "model", descending=[True, False])
    counts_for = _counts_for(estimates["people"], estimates["corrected"], constant)
    parts = [
        f"{numbers.counted(len(both.people), 'mark')} of people",
        f"{numbers.counted(len(both.judged), 'picture')} of {numbers.counted(len(both.models), 'model')} scored by a judge",
        f"matched by {both.matched_by}",
        f"the judge is used by λ = {factor:.2f}",
        *([] if counts_for is None else [f"one mark counts for {counts_for:.2f}"]),
        *([] if options.probability is None else [f"marks weigh the inverse of {options.probability}"]),
        f"{100 * options.confidence:.4g}% CI: sandwich of both parts, clustered by {' and '.join(both.clusters)}",
    ]
    warnings = [*_about_pictures(constant, both), *_about_scale(best, options)]
    if options.probability is None:
        differs = "the marked pictures are no random part of the judged ones, which the correction takes for granted:"
        warnings += [f"{differs} {text}" for text in _imbalances(both)]
    return CorrectedMeans(table, factor, counts_for, "; ".join(parts) + ".", tuple(warnings))


def _refuse(marked: Marked, baseline: str | None) -> None:
    if len(marked.people) < FEWEST_VOTES:
        raise OptionError(f"{FEWEST_VOTES} marks or more are needed to correct a judge, not", value=len(marked.people))
    if baseline is not None and baseline not in marked.models:
        raise OptionError("the baseline is no model of the scores:", value=baseline, allowed=list(marked.models))
    counts = marked.counts(marked.model[marked.picture])
    unseen = [model for model, count in zip(marked.models, counts, strict=True) if not count]
    if unseen:
        raise OptionError("people marked no picture of", value=", ".join(unseen[:5]))


def _best_factor(marked: Marked) -> float:
    """Return Σ cov(h, j)/n over Σ var(j)/n of the models, n their marks' weight; 0 where the judge does not vary."""
    model = marked.model[marked.picture]
    judge = marked.within(marked.judged[marked.picture], model, marked.weight)[1]
    human = marked.within(marked.people, model, marked.weight)[1]
    share = (marked.weight / np.bincount(model, marked.weight, len(marked.models))[model] ** 2).astype(np.float64)
    variance = float(share @ judge**2)
    return float(share @ (human * judge)) / variance if variance > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class _Means:
    """Means of models, and the sandwich of their parts: parameter 0 is fixed, then those of each part."""

    mean: Floats
    sandwich: Sandwich
    parts: int

    def ends(self, contrasts: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Return lower and upper ends of contrasts of the means, shape (2, contrasts), and degrees of freedom."""
        whole = np.hstack([-self.parts * contrasts.sum(axis=1, keepdims=True), *[contrasts] * self.parts])
        variance = np.einsum("ij,jk,ik->i", whole, self.sandwich.covariance, whole)
        degrees = self.sandwich.degrees(whole)
        reach = two_sided_quantiles(1.0 - confidence, degrees) * np.sqrt(np.where(variance > 0.0, variance, np.nan))
        value = contrasts @ self.mean
        return np.stack([value - reach, value + reach]), degrees

    def variance(self) -> Floats:
        """Return the variance of each mean."""
        size = len(self.mean)
        whole = np.hstack([np.full((size, 1), -self.parts), *[np.eye(size)] * self.parts])
        return np.asarray(np.einsum("ij,jk,ik->i", whole, self.sandwich.covariance, whole))


def _estimate(marked: Marked, with_people: bool, factor: float) -> _Means:
    """Return the means, and their sandwich as that of weighted means: one of the marks and one of all scores per model.

    A part's rows weigh the inverse of its variance within models, so that CR2 and the degrees of freedom know how much of the
    variance comes from marks.
    """
    size, marks = len(marked.models), len(marked.people)
    parts: list[tuple[slice, Codes, Floats, Floats]] = []
    if with_people:
        values = marked.people - factor * marked.judged[marked.picture]
        parts.append((slice(0, marks), marked.model[marked.picture], values, marked.weight))
    if factor > 0.0:
        parts.append((slice(marks, None), marked.model, factor * marked.judged, np.ones(len(marked.judged))))
    mean: Floats = np.zeros(size)
    nodes: list[NDArray[np.int64]] = []
    slopes: list[Floats] = []
    bends: list[Floats] = []
    groups: list[list[Codes]] = []
    for number, (rows, model, values, weight) in enumerate(parts):
        means, rest = marked.within(values, model, weight)
        spread = float(weight @ rest**2) / float(weight.sum())
        precision: Floats = weight / spread if spread > 0.0 else weight
        mean += means
        nodes.append(1 + number * size + model.astype(np.int64))
        slopes.append(precision * rest)
        bends.append(precision)
        groups.append([group[rows] for group in marked.groups])
    first: Codes = np.concatenate(nodes).astype(np.uint32)
    none, count = np.zeros((len(first), 0)), 1 + len(parts) * size
    rows_of_sandwich = RowScores(
        count,
        (first, np.zeros(len(first), dtype=np.uint32), np.concatenate(slopes), none, np.ones(len(first))),
        np.concatenate(bends),
        none,
        np.zeros((0, 0)),
    )
    nothing = np.zeros(count)
    bread = inverse_of(rows_of_sandwich.curvature(), nothing, count)
    ways = tuple(_dense(np.concatenate(way)) for way in zip(*groups, strict=True))
    # Raters have given no score: without people their clusters are single pictures, and one way is left.
    return _Means(mean, clustered(rows_of_sandwich, ways if with_people else ways[:1], bread, nothing), len(parts))


def _dense(groups: NDArray[np.uint32]) -> Codes:
    return np.unique(groups, return_inverse=True)[1].astype(np.uint32)


def _constant_marks(marked: Marked) -> NDArray[np.bool_]:
    """Return of which models all marks are equal, shape (models,)."""
    model = marked.model[marked.picture]
    low, high = np.full(len(marked.models), np.inf), np.full(len(marked.models), -np.inf)
    np.minimum.at(low, model, marked.people)
    np.maximum.at(high, model, marked.people)
    return np.asarray(low == high)


def _counts_for(people: _Means, corrected: _Means, constant: NDArray[np.bool_]) -> float | None:
    before, after = people.variance()[~constant], corrected.variance()[~constant]
    return float((before / after).mean()) if len(before) and (before > 0.0).all() and (after > 0.0).all() else None


def _is_yes_no(marked: Marked) -> bool:
    return all(bool(np.isin(values, (0.0, 1.0)).all()) for values in (marked.people, marked.judged))


def _rogan_gladen(marked: Marked, confidence: float) -> dict[str, Floats]:
    """Return shares of yes by sensitivity and specificity, one pair for all models, within [0, 1].

    Rogan & Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510: (p + b - 1)/(a + b - 1) of the judge's share of yes p, its
    sensitivity a and its specificity b; the variance by their formula, of independent answers. NaN where people gave one answer
    only, or the judge is no better than chance.
    """
    judge, yes = marked.judged[marked.picture], marked.people
    ones, noes = float(marked.weight @ yes), float(marked.weight @ (1.0 - yes))
    size = len(marked.models)
    names = ("rogan_gladen", "rogan_gladen_low", "rogan_gladen_high")
    if not ones or not noes:
        return {name: np.full(size, np.nan) for name in names}
    sensitivity = float(marked.weight @ (yes * judge)) / ones
    specificity = float(marked.weight @ ((1.0 - yes) * (1.0 - judge))) / noes
    youden = sensitivity + specificity - 1.0
    if youden <= 0.0:
        return {name: np.full(size, np.nan) for name in names}
    pictures = marked.counts(marked.model)
    share = np.bincount(marked.model, marked.judged, size) / pictures
    corrected = (share + specificity - 1.0) / youden
    variance = (
        share * (1.0 - share) / pictures
        + corrected**2 * sensitivity * (1.0 - sensitivity) / ones
        + (1.0 - corrected) ** 2 * specificity * (1.0 - specificity) / noes
    ) / youden**2
    reach = two_sided_quantile(1.0 - confidence, np.inf) * np.sqrt(variance)
    reach = np.where(reach > 0.0, reach, np.nan)
    return {
        name: np.clip(corrected + sign * reach if sign else corrected, 0.0, 1.0)
        for name, sign in zip(names, (0.0, -1.0, 1.0), strict=True)
    }


def _imbalances(marked: Marked) -> list[str]:
    """Return for which models the judge scores the marked pictures unlike all; one sentence each."""
    texts, p_values = [], []
    pictures = np.unique(marked.picture)
    means, rest = marked.within(marked.judged, marked.model, np.ones(len(marked.judged)))
    spread = np.bincount(marked.model, rest**2, len(marked.models)) / marked.counts(marked.model)
    of_shown = marked.counts(marked.model[pictures])
    part = np.bincount(marked.model[pictures], marked.judged[pictures], len(marked.models)) / of_shown
    for number, model in enumerate(marked.models):
        texts.append(f"the judge gives {model} {part[number]:.3g} there and {means[number]:.3g} in all")
        count = float(marked.counts(marked.model)[number])
        p_values.append(by_chance(part[number] - means[number], float(spread[number]), count, float(of_shown[number])))
    return unlikely(texts, p_values)


def _about_pictures(constant: NDArray[np.bool_], marked: Marked) -> list[str]:
    marks, pictures = marked.left_out
    texts = [f"{numbers.counted(pictures, 'picture')} left out, not scored by the judge"] if pictures else []
    texts += [f"{numbers.counted(marks, 'mark')} left out, of pictures that the judge did not score"] if marks else []
    equal = [model for model, is_constant in zip(marked.models, constant, strict=True) if is_constant]
    return texts + ([f"no interval where all marks are equal: {', '.join(equal[:5])}"] if equal else [])


def _about_scale(best: float, options: MeanCorrectionOptions) -> Sequence[str]:
    if options.factor is not None or best <= _OTHER_SCALE:
        return ()
    return (f"λ would be {best:.2f} and is kept at 1: is the judge's scale narrower than people's? Multiply its scores.",)

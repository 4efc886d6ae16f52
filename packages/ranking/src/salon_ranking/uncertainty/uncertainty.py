"""The uncertainty of the parameters of one league, from replicates or a covariance.

An :class:`Uncertainty` has the same methods for every kind of interval: intervals of ratings, standard errors of differences,
and the deviations that simultaneous statements need.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from salon_console.numbers import counted
from salon_ranking.uncertainty.options import Interval
from salon_ranking.uncertainty.quantiles import bca_interval, least_replicates, least_units, percentile_interval
from salon_ranking.uncertainty.sandwich import Sandwich
from salon_ranking.uncertainty.student import two_sided_quantile, two_sided_quantiles, two_sided_tail

Floats = NDArray[np.float64]

FEW_CLUSTERS = 20
"""With fewer clusters than these, resampled intervals are rough in ways that Student's t does not mend: a warning says so."""
FEW_DEGREES = 4.0
"""With fewer degrees of freedom than these, a sandwich's intervals are rough, and a warning says so."""
_NO_WIDTH = 1e-8
"""Units of log-strength; an interval that is narrower has no width."""
_MOST_NAMED = 5


class Ends(NamedTuple):
    """Intervals of one league, in units of log-strength beside the baseline.

    Attributes:
        low, high: shape (n,); both NaN where there is no interval.
        used: replicates in which each value is known, shape (n,).
        reasons: why some have no interval, and which: a mask of shape (n,). The baseline is in none of them.
    """

    low: Floats
    high: Floats
    used: NDArray[np.int64]
    reasons: tuple[tuple[str, NDArray[np.bool_]], ...]


def method_of(interval: Interval, cluster: str | None, replicates: int) -> str | None:
    """Return how intervals were made, in words; None without intervals. ``cluster`` is the column, or two joined by "and"."""
    if interval == "sandwich":
        return "sandwich" if cluster is None else f"sandwich clustered by {cluster}"
    if replicates == 0:
        return None
    kind = "BCa" if interval == "bca" else interval
    return f"{kind} bootstrap over battles" if cluster is None else f"{kind} bootstrap clustered by {cluster}"


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The uncertainty of one league. Everything is in units of log-strength (θ), for ``n`` models.

    Attributes:
        members: the league's models, as numbers into all models, shape (n,); a chain of battles joins them.
        base: position of the baseline among them; None where it is not, so that no rating has an interval.
        estimate: θ, the fit to all battles, shape (n,).
        replicates: θ of each replicate, shape (replicates, n), NaN where a model has none; None for a sandwich.
        acceleration: shape (n,), of the difference to the baseline; None unless for BCa.
        covariance: shape (n, n); None unless for a sandwich.
        degenerate: replicates without a finite estimate.
        unconverged: replicates whose fit did not reach the tolerance.
        degrees: degrees of freedom of Student's t that intervals reach by; infinite, the normal distribution, unless there
            are clusters. Percentiles are taken as far out as the normal quantiles that reach as far (the expanded percentile
            interval of Hesterberg 2015, doi:10.1080/00031305.2015.1089789).
        strong: numbers of the models' strong components, shape (n,), where an estimate is finite across them. One side won
            every battle between two of them, so that no error and no interval of such a difference is known. None: all known.
        units: what is drawn, and how many there are: clusters (of two columns, of the rarer one), else battles; infinite where
            their number does not matter.
        still: models whose own battles vary by nothing: all are ties between equals, or lie in one cluster; None: none.
        drawn: the replicates that each model has a value in, where those were given up for the covariance; else None.
        unjoined: models that too many of these replicates do not join to the others; None: none.
        sandwich: of clusters, where every difference has degrees of freedom of its own; None: all have ``degrees``.
        parameters: the numbers of the entries in the sandwich, shape (n,); -1 is the fixed 0. None: 0, 1, …
        notes: what to know of the whole league's intervals.
        scale: shape (n,), the size beside which a width is nothing; 1 for log-strengths.
    """

    members: NDArray[np.int64]
    base: int | None
    estimate: Floats
    replicates: Floats | None = None
    acceleration: Floats | None = None
    covariance: Floats | None = None
    degenerate: int = 0
    unconverged: int = 0
    degrees: float = math.inf
    strong: NDArray[np.int64] | None = None
    units: float = math.inf
    still: NDArray[np.bool_] | None = None
    drawn: NDArray[np.int64] | None = None
    unjoined: NDArray[np.bool_] | None = None
    sandwich: Sandwich | None = None
    parameters: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    scale: float | Floats = 1.0

    def among(self, chosen: NDArray[np.int64]) -> "Uncertainty":
        """Return the uncertainty of some of the models, given by position; without the baseline no rating has an interval."""
        place = np.flatnonzero(chosen == self.base)

        def part(values: "NDArray[np.generic] | None") -> Any:
            return None if values is None else values[..., chosen]

        return replace(
            self,
            members=self.members[chosen],
            base=int(place[0]) if len(place) else None,
            estimate=self.estimate[chosen],
            replicates=part(self.replicates),
            acceleration=part(self.acceleration),
            covariance=None if self.covariance is None else self.covariance[np.ix_(chosen, chosen)],
            strong=part(self.strong),
            still=part(self.still),
            drawn=part(self.drawn),
            unjoined=part(self.unjoined),
            parameters=self._numbers[chosen],
        )

    @property
    def _numbers(self) -> NDArray[np.int64]:
        return np.arange(len(self.estimate)) if self.parameters is None else self.parameters

    def degrees_of(self, model: int) -> Floats:
        """Return the degrees of freedom of the differences to a model, shape (n,); infinite for the model itself.

        NaN where a difference cannot be estimated without one of the clusters.
        """
        if self.sandwich is None:
            return np.full(len(self.estimate), self.degrees)
        if "all_degrees" in self.__dict__:
            row: Floats = self.all_degrees[model]
            return row
        return self._base_degrees if model == self.base else self._degrees_of(model)

    @cached_property
    def _base_degrees(self) -> Floats:
        return self._degrees_of(self.base or 0)

    def _degrees_of(self, model: int) -> Floats:
        others = np.flatnonzero(np.arange(len(self.estimate)) != model)
        row = np.full(len(self.estimate), math.inf)
        if self.sandwich is not None:
            row[others] = self.sandwich.degrees_between(self._numbers[others], np.full(len(others), self._numbers[model]))
        return row

    def degrees_of_contrasts(self, contrasts: Floats) -> Floats:
        """Return the degrees of freedom of contrasts of all entries, one per row, shape (contrasts,)."""
        if self.sandwich is None:
            return np.full(len(contrasts), self.degrees)
        among = np.zeros((len(contrasts), len(self.sandwich.bread)))
        among[:, self._numbers] = contrasts
        return self.sandwich.degrees(among)

    @cached_property
    def all_degrees(self) -> Floats:
        """The degrees of freedom of all differences, shape (n, n); infinite on the diagonal."""
        count = len(self.estimate)
        if self.sandwich is None:
            return np.full((count, count), self.degrees)
        first, second = np.triu_indices(count, 1)
        matrix = np.full((count, count), math.inf)
        matrix[first, second] = matrix[second, first] = self.sandwich.degrees_between(
            self._numbers[first], self._numbers[second]
        )
        return matrix

    def _apart(self, model: int) -> NDArray[np.bool_]:
        """Return the models whose difference to ``model`` has no known error: one side won every battle."""
        if self.strong is None:
            return np.zeros(len(self.estimate), dtype=np.bool_)
        apart: NDArray[np.bool_] = self.strong != self.strong[model]
        return apart

    def reach(self, confidence: float) -> float:
        """Return how many standard errors an interval reaches to each side, by ``degrees``."""
        return two_sided_quantile(1.0 - confidence, self.degrees)

    def _reach_of(self, model: int, confidence: float) -> Floats:
        """Return how many standard errors the intervals of the differences to a model reach, shape (n,)."""
        return two_sided_quantiles(1.0 - confidence, self.degrees_of(model))

    def _level(self, confidence: float) -> float:
        return min(1.0 - 2.0 * self._tail(confidence), math.nextafter(1.0, 0.0))  # of two clusters it rounds to 1

    def _tail(self, confidence: float) -> float:
        return NormalDist().cdf(-self.reach(confidence))

    def too_few_units(self, confidence: float, *, resampled: bool) -> str | None:
        """Return why there can be no interval of so few battles or clusters; None when there can."""
        clustered = math.isfinite(self.degrees)
        least = least_units(confidence, clustered=clustered) if resampled or not clustered else 2
        if self.units >= least:
            return None
        are = "is" if self.units == 1 else "are"
        units = counted(int(self.units), "cluster" if clustered else "battle")
        other = " or a sandwich" if resampled and clustered and self.units > 1 else ""
        return f"{units} {are} too few for a {100 * confidence:.4g}% interval (at least {least}{other})"

    def too_little(self, confidence: float) -> str | None:
        """Return why there can be no interval at all: too few battles, clusters or replicates; None when there can."""
        units = self.too_few_units(confidence, resampled=self.replicates is not None)
        if units is not None or self.replicates is None:
            return units
        least = least_replicates(self._tail(confidence))
        if len(self.replicates) >= least:
            return None
        are = "is" if len(self.replicates) == 1 else "are"
        drawn = counted(len(self.replicates), "replicate")
        return f"{drawn} {are} too few for a {100 * confidence:.4g}% interval (at least {least:,})"

    def interval(self, confidence: float) -> Ends:
        """Return the intervals of θ - θ_base.

        The baseline's has no width. Another one without a width is not given: replicates that are all alike say nothing about
        chance. Nor is that of a model that is not joined to the baseline in too many replicates: they count beyond both ends.
        """
        if self.base is None:
            unknown, everyone = np.full(len(self.estimate), np.nan), np.ones(len(self.estimate), dtype=np.bool_)
            reason = "no chain of battles joins it to the baseline"
            return Ends(unknown, unknown, np.zeros(len(unknown), dtype=np.int64), ((reason, everyone),))
        centre = self.estimate - self.estimate[self.base]
        others = np.arange(len(centre)) != self.base
        used = np.zeros(len(centre), dtype=np.int64) if self.drawn is None else self.drawn
        relative = None if self.replicates is None else self.replicates - self.replicates[:, [self.base]]
        if relative is not None:
            used = np.count_nonzero(~np.isnan(relative), axis=0)
        whole = self.too_little(confidence)
        if whole is not None:
            none = np.full(len(centre), np.nan)
            return Ends(none, none, used, ((whole, others),))
        missing = ""
        if relative is None:
            reach = self._reach_of(self.base, confidence) * self.difference_errors_of(self.base)
            low, high = centre - reach, centre + reach
            known = self.covariance is not None and bool(np.isfinite(self.covariance).all())
            missing = "its battles show no variation" if known else "too little is known for a covariance"
        elif self.acceleration is not None:
            low, high, _ = bca_interval(relative, centre, self.acceleration, self._level(confidence))
            missing = "its corrected quantiles lie beyond the replicates (draw more, or take a sandwich)"
        else:
            low, high, _ = percentile_interval(relative, self._level(confidence))
        apart = others & self._apart(self.base)
        still = others & ~apart & self._still_beside(self.base)
        absent = others & ~apart & ~still & self._absent(used, confidence)
        alone = others & ~apart & ~still & ~absent & np.isnan(self.degrees_of(self.base))
        open_ = others & ~apart & ~still & ~absent & ~alone & ~np.isfinite(high - low)
        narrow = (
            others & ~apart & ~still & ~absent & ~alone & (high - low <= _NO_WIDTH * np.maximum(np.abs(centre), self.scale))
        )
        found = (
            ("it, or a group with it, won or lost every battle against the baseline's group, so that no data bound it", apart),
            ("its battles, or the baseline's, are ties between equals or lie in one cluster, and show no variation", still),
            ("in too many replicates no battle joins it to the baseline", absent),
            ("without one of the clusters it could not be compared with the baseline", alone),
            ("its replicates are all the same and show no variation", narrow),
            (missing, open_),
        )
        none = np.logical_or.reduce([mask for _, mask in found])
        none[self.base] = bool(none[others].all())
        low, high = np.where(none, np.nan, low), np.where(none, np.nan, high)
        if not none[self.base]:
            low[self.base] = high[self.base] = 0.0
        return Ends(low, high, used, tuple((text, mask) for text, mask in found if mask.any()))

    def _absent(self, used: NDArray[np.int64], confidence: float) -> NDArray[np.bool_]:
        """Return models whose unknown replicates reach into the interval."""
        if self.replicates is None:
            return np.zeros(len(self.estimate), dtype=np.bool_) if self.unjoined is None else self.unjoined
        return len(self.replicates) - used > self._tail(confidence) * max(len(self.replicates) - 1, 0)

    def _still_beside(self, model: int) -> NDArray[np.bool_]:
        """Return which differences to a model show no variation of one of the two."""
        if self.still is None:
            return np.zeros(len(self.estimate), dtype=np.bool_)
        beside: NDArray[np.bool_] = np.logical_or(self.still, self.still[model])
        return beside

    def warnings(
        self, names: Sequence[str], confidence: float, cluster: str | None = None, ends: Ends | None = None
    ) -> tuple[str, ...]:
        """Return what to know before these intervals are believed: few clusters, and models without an interval.

        Args:
            names: of all models that ``members`` counts.
            cluster: what the clusters are called.
            ends: the intervals, where they are known already.
        """
        said, whole = list(self.remarks(confidence, cluster)), self.too_little(confidence)
        for reason, mask in (ends or self.interval(confidence)).reasons:
            if self.base is not None and mask.sum() == len(self.estimate) - 1:
                said += [] if reason == whole else [f"no interval: {reason}"]
            else:
                said.append(f"no interval for {_listed([names[number] for number in self.members[mask]])}: {reason}")
        return tuple(said)

    def remarks(self, confidence: float, cluster: str | None) -> tuple[str, ...]:
        """Return the warnings that are about all models: notes, few clusters, and why there is no interval at all."""
        few: tuple[str, ...] = ()
        whole = self.too_little(confidence)
        by = "" if cluster is None else f" by {cluster}"
        if self.sandwich is not None:
            known = self.all_degrees if "all_degrees" in self.__dict__ or self.base is None else self._base_degrees
            least = float(np.nanmin(known, initial=math.inf))
            if least < FEW_DEGREES:
                hold = (
                    "few clusters hold most of what is known" if self.units < math.inf and cluster else "few battles weigh most"
                )
                few = (f"few degrees of freedom for some intervals ({least:.2g}): {hold}{by}, so that they are wide and rough",)
        elif self.degrees + 1.0 < FEW_CLUSTERS:
            number = counted(int(min(self.units, self.degrees + 1.0)), "cluster")
            few = (f"{number}{by}: intervals of fewer than {FEW_CLUSTERS} clusters are rough, and often too narrow",)
        return (*self.notes, *few, *(() if whole is None else (f"no interval: {whole}",)))

    def errors(self) -> Floats:
        """Return standard errors of θ - θ_base, shape (n,): 0 for the baseline, NaN with fewer than two replicates."""
        if self.base is None:
            return np.full(len(self.estimate), np.nan)
        if self.covariance is not None:
            return self.difference_errors_of(self.base)
        drawn = np.empty((0, len(self.estimate))) if self.replicates is None else self.replicates
        return self._varied(_deviation(drawn - drawn[:, [self.base]]), self.base)

    def difference_interval(self, model: int, confidence: float) -> tuple[Floats, Floats]:
        """Ends of the intervals of θ_model - θ, one by one, shape (n,): percentile, or symmetric."""
        error = self.difference_errors_of(model)
        if self.replicates is None:
            reach, centre = self._reach_of(model, confidence) * error, self.estimate[model] - self.estimate
            low, high = centre - reach, centre + reach
        else:
            low, high, _ = percentile_interval(self.replicates[:, [model]] - self.replicates, self._level(confidence))
        none = np.isnan(error) | (self.too_little(confidence) is not None)
        return np.where(none, np.nan, low), np.where(none, np.nan, high)

    def difference_errors(self) -> Floats:
        """Return the standard errors of θ_i - θ_j, shape (n, n).

        NaN for a pair with fewer than two replicates or without variation.
        """
        if self.sandwich is not None:
            _ = self.all_degrees  # all at once, before they are asked for row by row
        return np.array([self.difference_errors_of(model) for model in range(len(self.estimate))])

    def difference_errors_of(self, model: int) -> Floats:
        """Return one row of :meth:`difference_errors`, shape (n,): 0 for the model itself."""
        if self.covariance is not None:
            variances = np.diag(self.covariance)
            squared = variances[model] + variances - 2.0 * self.covariance[model]
            squared[model] = 0.0 * variances[model]  # rounding aside, it is 0 where it is known
            return self._varied(np.sqrt(np.maximum(squared, 0.0)), model)
        drawn = np.empty((0, len(self.estimate))) if self.replicates is None else self.replicates
        return self._varied(_deviation(drawn[:, [model]] - drawn), model)

    def _varied(self, errors: Floats, model: int) -> Floats:
        """Return errors of the differences to a model, NaN where they show no variation or cannot be known."""
        nothing = (errors <= _NO_WIDTH * np.maximum(np.abs(self.estimate), self.scale)) | self._still_beside(model)
        nothing = np.logical_or(nothing, np.isnan(self.degrees_of(model)))
        if self.replicates is None and self.unjoined is not None:
            nothing = nothing | np.logical_or(self.unjoined, self.unjoined[model])
        nothing[model] = False
        return np.where(nothing | self._apart(model), np.nan, errors)

    def student_quantile(self, quantile: float) -> float:
        """Return the quantile of Student's t that has the tail of this quantile of the normal distribution."""
        if math.isinf(self.degrees) or math.isnan(quantile) or quantile <= 0.0:
            return quantile
        return two_sided_quantile(float(two_sided_tail(np.array([quantile]), math.inf)[0]), self.degrees)

    def normal_ratios(self, gaps: Floats, errors: Floats) -> Floats:
        """Return differences in standard errors, each as the quantile of the normal distribution with its tail; shape (n, n).

        NaN where there is no error.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: Floats = gaps / errors
        degrees = self.all_degrees
        drawn = np.isfinite(degrees) & (ratios > 0.0)
        tails = two_sided_tail(ratios[drawn], degrees[drawn])
        ratios[drawn] = [-NormalDist().inv_cdf(max(tail / 2.0, 1e-300)) for tail in tails]
        return ratios

    def deviations(self, draws: int, seed: int) -> Floats:
        """Return draws of the estimate's error, up to a constant, shape (draws, n); no rows when it is unknown."""
        if self.replicates is not None:
            return self.replicates - self.estimate
        if self.covariance is None or not np.isfinite(self.covariance).all():
            return np.empty((0, len(self.estimate)))
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal: Floats = np.random.default_rng(seed).standard_normal((draws, len(values)))
        return np.asarray(normal @ root.T)


def settled(
    drawn: Uncertainty, confidence: float, analytic: Callable[[], Uncertainty], *, concentrated: bool = False
) -> Uncertainty:
    """Return the spread of replicates, or the analytic one where too many replicates do not rate the baseline.

    In most of those a model loses or wins everything, so the others show a less extreme model. When they are more than the
    share of one tail, no percentile is known.

    Args:
        concentrated: few clusters hold most of what is known, so that replicates vary too little, by how much is not known.
    """
    replicates = drawn.replicates
    if replicates is None or drawn.too_little(confidence) is not None:
        return drawn
    unknown = drawn.degenerate if drawn.base is None else int(np.isnan(replicates[:, drawn.base]).sum())
    too_many = unknown > drawn._tail(confidence) * (len(replicates) - 1)
    if not (too_many or concentrated):
        return drawn
    beside = replicates if drawn.base is None else replicates - replicates[:, [drawn.base]]
    why = "draw no battle of the baseline"
    if 2 * drawn.degenerate > unknown:
        why = "have no finite estimate, as a group of models wins or loses everything in them"
    which = (
        f"{unknown:,} of {counted(len(replicates), 'replicate')} {why}"
        if too_many
        else "few clusters hold most of what is known"
    )
    note = f"{which}: these intervals are sandwiches instead"
    found = analytic()
    # Degenerate replicates have no value at all; where others have none for a model, no battle joins it to the rest.
    known = replicates[~np.isnan(replicates).all(axis=1)]
    unjoined = np.isnan(known).sum(axis=0) > drawn._tail(confidence) * (len(replicates) - 1)
    return replace(
        found,
        drawn=np.count_nonzero(~np.isnan(beside), axis=0),
        unjoined=unjoined,
        notes=(note, *found.notes),
        degenerate=drawn.degenerate,
        unconverged=drawn.unconverged,
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED:,} more"


def _deviation(values: Floats) -> Floats:
    """Return standard deviation of every column, NaN left out; NaN for fewer than two values."""
    count = np.count_nonzero(~np.isnan(values), axis=0)
    mean = np.nansum(values, axis=0) / np.maximum(count, 1)
    squares = np.nansum((values - mean) ** 2, axis=0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)


def stretched(replicates: Floats, estimate: Floats, clusters: int) -> Floats:
    """Replicates of a cluster bootstrap with their deviations √(G/(G - 1)) as large, for G clusters.

    Draws with replacement vary by (G - 1)/G of what samples do; the sandwich has the same factor (Liang & Zeger 1986).
    """
    moved: Floats = estimate + math.sqrt(clusters / (clusters - 1.0)) * (replicates - estimate)
    return moved

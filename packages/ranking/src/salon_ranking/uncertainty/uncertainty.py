"""The uncertainty of the parameters of one league, from replicates or a covariance.

Every kind has the methods of :class:`Uncertainty`: intervals of ratings, standard errors of differences, and the deviations
that simultaneous statements need.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from salon_console.numbers import counted
from salon_ranking.uncertainty.anytime import LEAST_UNITS, Anytime
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
    if interval in ("sandwich", "anytime"):
        kind = "sandwich" if interval == "sandwich" else "anytime sandwich"
        return kind if cluster is None else f"{kind} clustered by {cluster}"
    if replicates == 0:
        return None
    kind = "BCa" if interval == "bca" else interval
    return f"{kind} bootstrap over battles" if cluster is None else f"{kind} bootstrap clustered by {cluster}"


@dataclass(frozen=True, eq=False)
class Freedom:
    """The degrees of freedom of differences between parameters of a sandwich.

    Attributes:
        numbers: which of its parameters they are, shape (n,); -1 is the fixed 0.
    """

    sandwich: Sandwich
    numbers: NDArray[np.int64]

    def of_differences(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Return those of differences, each of two parameters that are given by position."""
        return self.sandwich.degrees_between(self.numbers[first], self.numbers[second])

    def of_contrasts(self, contrasts: Floats) -> Floats:
        """Return those of contrasts of all parameters, one per row, shape (contrasts,)."""
        among = np.zeros((len(contrasts), len(self.sandwich.bread)))
        among[:, self.numbers] = contrasts
        return self.sandwich.degrees(among)


@dataclass(frozen=True, eq=False)
class GivenUp:
    """Replicates that cannot give intervals, so that another kind is used.

    Attributes:
        drawn: the replicates that each model has a value in, shape (n,).
        unjoined: models that too many of them do not join to the others.
        degenerate: replicates without a finite estimate.
        unconverged: replicates whose fit did not reach the tolerance.
    """

    drawn: NDArray[np.int64]
    unjoined: NDArray[np.bool_]
    degenerate: int
    unconverged: int


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The uncertainty of one league, in units of log-strength (θ), for ``n`` models; this kind knows no interval.

    :class:`ResampledUncertainty` and :class:`AnalyticUncertainty` know some.

    Attributes:
        members: the league's models, as numbers into all models, shape (n,); a chain of battles joins them.
        base: position of the baseline among them; None where it is not, so that no rating has an interval.
        estimate: θ, the fit to all battles, shape (n,).
        degrees: degrees of freedom of Student's t that intervals reach by; infinite, the normal distribution, unless there
            are clusters. Percentiles are taken as far out as the normal quantiles that reach as far (the expanded percentile
            interval of Hesterberg 2015, doi:10.1080/00031305.2015.1089789).
        strong: numbers of the models' strong components, shape (n,), where an estimate is finite across them. One side won
            every battle between two of them, so that no error and no interval of such a difference is known. None: all known.
        units: what is drawn, and how many there are: clusters (of two columns, of the rarer one), else battles; infinite where
            their number does not matter.
        still: models whose own battles vary by nothing: all are ties between equals, or lie in one cluster; None: none.
        notes: what to know of the whole league's intervals.
        scale: shape (n,), the size beside which a width is nothing; 1 for log-strengths.
        given_up: replicates in whose place this uncertainty stands; None: none were drawn.
        anytime: the look whose intervals and tests hold at every look; None: they hold once.
    """

    members: NDArray[np.int64]
    base: int | None
    estimate: Floats
    degrees: float = math.inf
    strong: NDArray[np.int64] | None = None
    units: float = math.inf
    still: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()
    scale: float | Floats = 1.0
    given_up: GivenUp | None = None
    anytime: Anytime | None = None

    def among(self, chosen: NDArray[np.int64]) -> Self:
        """Return the uncertainty of some of the models, given by position; without the baseline no rating has an interval."""
        base, given_up = np.flatnonzero(chosen == self.base), self.given_up
        return replace(
            self,
            members=self.members[chosen],
            base=int(base[0]) if len(base) else None,
            estimate=self.estimate[chosen],
            strong=None if self.strong is None else self.strong[chosen],
            still=None if self.still is None else self.still[chosen],
            given_up=given_up and replace(given_up, drawn=given_up.drawn[chosen], unjoined=given_up.unjoined[chosen]),
            **self._own(chosen),
        )

    def _own(self, chosen: NDArray[np.int64]) -> dict[str, Any]:
        """Return what only this kind has, of some of the models."""
        return {}

    def resampled(
        self, replicates: Floats, acceleration: Floats | None, degenerate: int, unconverged: int
    ) -> "ResampledUncertainty":
        """Return the uncertainty that replicates show."""
        return ResampledUncertainty(
            **self._shared,
            replicates=replicates,
            acceleration=acceleration,
            degenerate=degenerate,
            unconverged=unconverged,
        )

    def analytic(self, covariance: Floats, freedom: Freedom | None) -> "AnalyticUncertainty":
        """Return the uncertainty of a covariance."""
        return AnalyticUncertainty(**self._shared, covariance=covariance, freedom=freedom)

    @property
    def _shared(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Uncertainty)}

    @property
    def degenerate(self) -> int:
        """Replicates without a finite estimate."""
        return 0 if self.given_up is None else self.given_up.degenerate

    @property
    def unconverged(self) -> int:
        """Replicates whose fit did not reach the tolerance."""
        return 0 if self.given_up is None else self.given_up.unconverged

    @property
    def used(self) -> NDArray[np.int64]:
        """Replicates in which each value is known beside the baseline's, shape (n,)."""
        return np.zeros(len(self.estimate), dtype=np.int64) if self.given_up is None else self.given_up.drawn

    def degrees_of(self, model: int) -> Floats:
        """Return the degrees of freedom of the differences to a model, shape (n,); infinite for the model itself.

        NaN where a difference cannot be estimated without one of the clusters.
        """
        return np.full(len(self.estimate), self.degrees)

    @property
    def all_degrees(self) -> Floats:
        """The degrees of freedom of all differences, shape (n, n); infinite on the diagonal."""
        return np.full((len(self.estimate), len(self.estimate)), self.degrees)

    def difference_errors_of(self, model: int) -> Floats:
        """Return one row of :meth:`difference_errors`, shape (n,): 0 for the model itself."""
        return np.full(len(self.estimate), np.nan)

    def deviations(self, draws: int, seed: int) -> Floats:
        """Return draws of the estimate's error, up to a constant, shape (draws, n); no rows when it is unknown."""
        return np.empty((0, len(self.estimate)))

    def too_little(self, confidence: float) -> str | None:
        """Return why there can be no interval at all: too few battles, clusters or replicates; None when there can."""
        return self._too_few_units(confidence, resampled=False)

    def _ends(self, model: int, confidence: float) -> tuple[Floats, Floats]:
        """Return the interval ends of the differences to a model, θ - θ_model; shape (n,), NaN where unknown."""
        centre = self.estimate - self.estimate[model]
        degrees = self.degrees_of(model)
        quantiles = two_sided_quantiles(1.0 - confidence, degrees) if self.anytime is None else self.anytime.reaches(degrees)
        reach = quantiles * self.difference_errors_of(model)
        return centre - reach, centre + reach

    def tails(self, ratio: Floats, degrees: float | Floats) -> Floats:
        """Return two-sided p-values of estimates in standard errors, 0 or more, of any shape; NaN for NaN."""
        return (two_sided_tail if self.anytime is None else self.anytime.tails)(ratio, degrees)

    @property
    def _why_open(self) -> str:
        """Why an interval has no end, where no other reason is known."""
        return "too little is known for a covariance"

    def _absent(self, confidence: float) -> NDArray[np.bool_]:
        """Return models whose unknown replicates reach into the interval."""
        return np.zeros(len(self.estimate), dtype=np.bool_) if self.given_up is None else self.given_up.unjoined

    def _apart(self, model: int) -> NDArray[np.bool_]:
        """Return the models whose difference to ``model`` has no known error: one side won every battle."""
        if self.strong is None:
            return np.zeros(len(self.estimate), dtype=np.bool_)
        apart: NDArray[np.bool_] = self.strong != self.strong[model]
        return apart

    def _still_beside(self, model: int) -> NDArray[np.bool_]:
        """Return which differences to a model show no variation of one of the two."""
        if self.still is None:
            return np.zeros(len(self.estimate), dtype=np.bool_)
        beside: NDArray[np.bool_] = np.logical_or(self.still, self.still[model])
        return beside

    def _varied(self, errors: Floats, model: int) -> Floats:
        """Return errors of the differences to a model, NaN where they show no variation or cannot be known."""
        nothing = (errors <= _NO_WIDTH * np.maximum(np.abs(self.estimate), self.scale)) | self._still_beside(model)
        nothing = np.logical_or(nothing, np.isnan(self.degrees_of(model)))
        if self.given_up is not None:
            nothing = nothing | np.logical_or(self.given_up.unjoined, self.given_up.unjoined[model])
        nothing[model] = False
        return np.where(nothing | self._apart(model), np.nan, errors)

    def _level(self, confidence: float) -> float:
        return min(1.0 - 2.0 * self._tail(confidence), math.nextafter(1.0, 0.0))  # of two clusters it rounds to 1

    def _tail(self, confidence: float) -> float:
        return NormalDist().cdf(-two_sided_quantile(1.0 - confidence, self.degrees))

    def _too_few_units(self, confidence: float, *, resampled: bool) -> str | None:
        """Return why there can be no interval of so few battles or clusters; None when there can."""
        clustered = math.isfinite(self.degrees)
        if self.anytime is not None:
            if self.anytime.units >= LEAST_UNITS:
                return None
            number = counted(int(self.anytime.units), "cluster" if clustered else "battle")
            return f"{number} are too few for an interval that holds at every look (at least {LEAST_UNITS})"
        least = least_units(confidence, clustered=clustered) if resampled or not clustered else 2
        if self.units >= least:
            return None
        are = "is" if self.units == 1 else "are"
        units = counted(int(self.units), "cluster" if clustered else "battle")
        other = " or a sandwich" if resampled and clustered and self.units > 1 else ""
        return f"{units} {are} too few for a {100 * confidence:.4g}% interval (at least {least}{other})"

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
        whole = self.too_little(confidence)
        if whole is not None:
            none = np.full(len(centre), np.nan)
            return Ends(none, none, self.used, ((whole, others),))
        low, high = self._ends(self.base, confidence)
        apart = others & self._apart(self.base)
        still = others & ~apart & self._still_beside(self.base)
        absent = others & ~apart & ~still & self._absent(confidence)
        alone = others & ~apart & ~still & ~absent & np.isnan(self.degrees_of(self.base))
        open_ = others & ~apart & ~still & ~absent & ~alone & ~np.isfinite(high - low)
        narrow = (
            others & ~apart & ~still & ~absent & ~alone & (high - low <= _NO_WIDTH * np.maximum(np.abs(centre), self.scale))
        )
        reasons = (
            ("it, or a group with it, won or lost every battle against the baseline's group, so that no data bound it", apart),
            ("its battles, or the baseline's, are ties between equals or lie in one cluster, and show no variation", still),
            ("in too many replicates no battle joins it to the baseline", absent),
            ("without one of the clusters it could not be compared with the baseline", alone),
            ("its replicates are all the same and show no variation", narrow),
            (self._why_open, open_),
        )
        none = np.logical_or.reduce([mask for _, mask in reasons])
        none[self.base] = bool(none[others].all())
        low, high = np.where(none, np.nan, low), np.where(none, np.nan, high)
        if not none[self.base]:
            low[self.base] = high[self.base] = 0.0
        return Ends(low, high, self.used, tuple((text, mask) for text, mask in reasons if mask.any()))

    def warnings(
        self, names: Sequence[str], confidence: float, cluster: str | None = None, ends: Ends | None = None
    ) -> tuple[str, ...]:
        """Return what to know before these intervals are believed: few clusters, and models without an interval.

        Args:
            names: of all models that ``members`` counts.
            cluster: what the clusters are called.
            ends: the intervals, where they are known already.
        """
        # Models that only a prior joins to the baseline have no interval for that reason alone, whatever their clusters.
        sentences = list(self.notes if self.base is None else self.remarks(confidence, cluster))
        whole = self.too_little(confidence)
        for reason, mask in (ends or self.interval(confidence)).reasons:
            if self.base is not None and mask.sum() == len(self.estimate) - 1:
                sentences += [] if reason == whole else [f"no interval: {reason}"]
            else:
                sentences.append(f"no interval for {_listed([names[number] for number in self.members[mask]])}: {reason}")
        return tuple(sentences)

    def remarks(self, confidence: float, cluster: str | None) -> tuple[str, ...]:
        """Return the warnings that are about all models: notes, few clusters, and why there is no interval at all."""
        whole = self.too_little(confidence)
        return (*self.notes, *self._few(cluster), *(() if whole is None else (f"no interval: {whole}",)))

    def _few(self, cluster: str | None) -> tuple[str, ...]:
        """Return the warning that there are few clusters, if there are."""
        if self.degrees + 1.0 >= FEW_CLUSTERS:
            return ()
        number = counted(int(min(self.units, self.degrees + 1.0)), "cluster")
        by = "" if cluster is None else f" by {cluster}"
        return (f"{number}{by}: intervals of fewer than {FEW_CLUSTERS} clusters are rough, and often too narrow",)

    def errors(self) -> Floats:
        """Return standard errors of θ - θ_base, shape (n,): 0 for the baseline, NaN with fewer than two replicates."""
        return np.full(len(self.estimate), np.nan) if self.base is None else self.difference_errors_of(self.base)

    def difference_interval(self, model: int, confidence: float) -> tuple[Floats, Floats]:
        """Return ends of the intervals of θ_model - θ, one by one, shape (n,): percentile, or symmetric."""
        low, high = self._difference_ends(model, confidence)
        none = np.isnan(self.difference_errors_of(model)) | (self.too_little(confidence) is not None)
        return np.where(none, np.nan, low), np.where(none, np.nan, high)

    def _difference_ends(self, model: int, confidence: float) -> tuple[Floats, Floats]:
        low, high = self._ends(model, confidence)
        return -high, -low

    def difference_errors(self) -> Floats:
        """Return the standard errors of θ_i - θ_j, shape (n, n).

        NaN for a pair with fewer than two replicates or without variation.
        """
        return np.array([self.difference_errors_of(model) for model in range(len(self.estimate))])

    def normal_ratios(self, gaps: Floats, errors: Floats) -> Floats:
        """Return differences in standard errors, each as the quantile of the normal distribution with its tail; shape (n, n).

        NaN where there is no error.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: Floats = gaps / errors
        degrees = self.all_degrees
        drawn = (np.isfinite(degrees) | (self.anytime is not None)) & (ratios > 0.0)
        tails = self.tails(ratios[drawn], degrees[drawn])
        ratios[drawn] = [-NormalDist().inv_cdf(max(tail / 2.0, 1e-300)) for tail in tails]
        return ratios


@dataclass(frozen=True, eq=False, kw_only=True)
class ResampledUncertainty(Uncertainty):
    """The uncertainty from bootstrap replicates.

    Attributes:
        replicates: θ of each replicate, shape (replicates, n), NaN where a model has none.
        acceleration: shape (n,), of the difference to the baseline; None: intervals are plain percentiles, not BCa.
        degenerate: replicates without a finite estimate.
        unconverged: replicates whose fit did not reach the tolerance.
    """

    replicates: Floats
    acceleration: Floats | None = None
    degenerate: int = 0
    unconverged: int = 0

    def _own(self, chosen: NDArray[np.int64]) -> dict[str, Any]:
        skew = None if self.acceleration is None else self.acceleration[chosen]
        return {"replicates": self.replicates[:, chosen], "acceleration": skew}

    @property
    def used(self) -> NDArray[np.int64]:
        """As :attr:`Uncertainty.used`."""
        beside = self.replicates if self.base is None else self.replicates - self.replicates[:, [self.base]]
        used: NDArray[np.int64] = np.count_nonzero(~np.isnan(beside), axis=0)
        return used

    def difference_errors_of(self, model: int) -> Floats:
        """As :meth:`Uncertainty.difference_errors_of`."""
        return self._varied(_deviation(self.replicates[:, [model]] - self.replicates), model)

    def deviations(self, draws: int, seed: int) -> Floats:
        """As :meth:`Uncertainty.deviations`."""
        return self.replicates - self.estimate

    def too_little(self, confidence: float) -> str | None:
        """As :meth:`Uncertainty.too_little`."""
        units = self._too_few_units(confidence, resampled=True)
        if units is not None:
            return units
        least = least_replicates(self._tail(confidence))
        if len(self.replicates) >= least:
            return None
        are = "is" if len(self.replicates) == 1 else "are"
        drawn = counted(len(self.replicates), "replicate")
        return f"{drawn} {are} too few for a {100 * confidence:.4g}% interval (at least {least:,})"

    def _ends(self, model: int, confidence: float) -> tuple[Floats, Floats]:
        relative, level = self.replicates - self.replicates[:, [model]], self._level(confidence)
        if self.acceleration is None:
            return percentile_interval(relative, level)[:2]
        return bca_interval(relative, self.estimate - self.estimate[model], self.acceleration, level)[:2]

    @property
    def _why_open(self) -> str:
        bca = "its corrected quantiles lie beyond the replicates (draw more, or take a sandwich)"
        return "" if self.acceleration is None else bca

    def _difference_ends(self, model: int, confidence: float) -> tuple[Floats, Floats]:
        return percentile_interval(self.replicates[:, [model]] - self.replicates, self._level(confidence))[:2]

    def _absent(self, confidence: float) -> NDArray[np.bool_]:
        absent: NDArray[np.bool_] = len(self.replicates) - self.used > self._tail(confidence) * max(len(self.replicates) - 1, 0)
        return absent

    def settled(self, confidence: float, analytic: Callable[[], Uncertainty], *, concentrated: bool = False) -> Uncertainty:
        """Return this uncertainty, or the analytic one where too many replicates do not rate the baseline.

        In most of those a model loses or wins everything, so the others show a less extreme model. When they are more than the
        share of one tail, no percentile is known.

        Args:
            concentrated: few clusters hold most of what is known, so that replicates vary too little, by how much is not
                known.
        """
        if self.too_little(confidence) is not None:
            return self
        tail, drawn = self._tail(confidence), len(self.replicates)
        unknown = self.degenerate if self.base is None else int(np.isnan(self.replicates[:, self.base]).sum())
        too_many = unknown > tail * (drawn - 1)
        if not (too_many or concentrated):
            return self
        why = "draw no battle of the baseline"
        if 2 * self.degenerate > unknown:
            why = "have no finite estimate, as a group of models wins or loses everything in them"
        which = f"{unknown:,} of {counted(drawn, 'replicate')} {why}" if too_many else "few clusters hold most of what is known"
        note = f"{which}: these intervals are sandwiches instead"
        sandwiches = analytic()
        # Degenerate replicates have no value at all; where others have none for a model, no battle joins it to the rest.
        known = self.replicates[~np.isnan(self.replicates).all(axis=1)]
        unjoined = np.isnan(known).sum(axis=0) > tail * (drawn - 1)
        given_up = GivenUp(self.used, unjoined, self.degenerate, self.unconverged)
        return replace(sandwiches, given_up=given_up, notes=(note, *sandwiches.notes))


@dataclass(frozen=True, eq=False, kw_only=True)
class AnalyticUncertainty(Uncertainty):
    """The uncertainty of a sandwich.

    Attributes:
        covariance: shape (n, n).
        freedom: of clusters and weights, where every difference has degrees of freedom of its own; None: all have ``degrees``.
    """

    covariance: Floats
    freedom: Freedom | None = None

    def _own(self, chosen: NDArray[np.int64]) -> dict[str, Any]:
        freedom = None if self.freedom is None else replace(self.freedom, numbers=self.freedom.numbers[chosen])
        return {"covariance": self.covariance[np.ix_(chosen, chosen)], "freedom": freedom}

    def degrees_of(self, model: int) -> Floats:
        """As :meth:`Uncertainty.degrees_of`."""
        if "all_degrees" in self.__dict__:
            row: Floats = self.all_degrees[model]
            return row
        return self._base_degrees if model == self.base else self._degrees_of(model)

    @cached_property
    def _base_degrees(self) -> Floats:
        return self._degrees_of(self.base or 0)

    def _degrees_of(self, model: int) -> Floats:
        if self.freedom is None:
            return np.full(len(self.estimate), self.degrees)
        others = np.flatnonzero(np.arange(len(self.estimate)) != model)
        row = np.full(len(self.estimate), math.inf)
        row[others] = self.freedom.of_differences(others, np.full(len(others), model))
        return row

    def degrees_of_contrasts(self, contrasts: Floats) -> Floats:
        """Return the degrees of freedom of contrasts of all entries, one per row, shape (contrasts,)."""
        if self.freedom is None:
            return np.full(len(contrasts), self.degrees)
        return self.freedom.of_contrasts(contrasts)

    @cached_property
    def all_degrees(self) -> Floats:  # a cache in place of a property
        """As :attr:`Uncertainty.all_degrees`."""
        count = len(self.estimate)
        if self.freedom is None:
            return np.full((count, count), self.degrees)
        first, second = np.triu_indices(count, 1)
        matrix = np.full((count, count), math.inf)
        matrix[first, second] = matrix[second, first] = self.freedom.of_differences(first, second)
        return matrix

    def difference_errors(self) -> Floats:
        """As :meth:`Uncertainty.difference_errors`."""
        _ = self.all_degrees  # all at once, before they are asked for row by row
        return super().difference_errors()

    def difference_errors_of(self, model: int) -> Floats:
        """As :meth:`Uncertainty.difference_errors_of`."""
        variances = np.diag(self.covariance)
        squared = variances[model] + variances - 2.0 * self.covariance[model]
        squared[model] = 0.0 * variances[model]  # rounding aside, it is 0 where it is known
        return self._varied(np.sqrt(np.maximum(squared, 0.0)), model)

    def deviations(self, draws: int, seed: int) -> Floats:
        """As :meth:`Uncertainty.deviations`."""
        if not np.isfinite(self.covariance).all():
            return super().deviations(draws, seed)
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal: Floats = np.random.default_rng(seed).standard_normal((draws, len(values)))
        return np.asarray(normal @ root.T)

    @property
    def _why_open(self) -> str:
        return "its battles show no variation" if np.isfinite(self.covariance).all() else super()._why_open

    def _few(self, cluster: str | None) -> tuple[str, ...]:
        if self.freedom is None:
            return super()._few(cluster)
        known = self.all_degrees if "all_degrees" in self.__dict__ or self.base is None else self._base_degrees
        least = float(np.nanmin(known, initial=math.inf))
        if least >= FEW_DEGREES:
            return ()
        hold = "few clusters hold most of what is known" if self.units < math.inf and cluster else "few battles weigh most"
        by = "" if cluster is None else f" by {cluster}"
        return (f"few degrees of freedom for some intervals ({least:.2g}): {hold}{by}, so that they are wide and rough",)


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(names[:_MOST_NAMED])
    return listed if len(names) <= _MOST_NAMED else f"{listed} and {len(names) - _MOST_NAMED:,} more"


def _deviation(values: Floats) -> Floats:
    """Return standard deviation of every column, NaN left out; NaN for fewer than two values."""
    count = np.count_nonzero(~np.isnan(values), axis=0)
    mean = np.nansum(values, axis=0) / np.maximum(count, 1)
    squares = np.nansum((values - mean) ** 2, axis=0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)


def stretched(replicates: Floats, estimate: Floats, clusters: int) -> Floats:
    """Return replicates of a cluster bootstrap with their deviations √(G/(G - 1)) as large, for G clusters.

    Draws with replacement vary by (G - 1)/G of what samples do; the sandwich has the same factor (Liang & Zeger 1986).
    """
    moved: Floats = estimate + math.sqrt(clusters / (clusters - 1.0)) * (replicates - estimate)
    return moved

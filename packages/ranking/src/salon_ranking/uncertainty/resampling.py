"""The uncertainty of a fit, of any model and by any kind of interval.

A league's uncertainty is a sandwich (:mod:`salon_ranking.uncertainty.sandwich`) or comes from replicates: battles, or whole
clusters, are drawn with replacement and the model is fitted again. Strengths are measured from the baseline, further parameters
(a tie parameter, coefficients) from 0.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from salon_ranking.errors import UnratableError
from salon_ranking.models.league import default_baseline
from salon_ranking.models.likelihood import MOST_MODELS, DrawPlan, Floats, Likelihood, PairLikelihood
from salon_ranking.models.ratings import FittedLeague, Ratings
from salon_ranking.models.ties import TieLikelihood
from salon_ranking.options import workers
from salon_ranking.uncertainty.anytime import Anytime
from salon_ranking.uncertainty.options import IntervalOptions
from salon_ranking.uncertainty.sandwich import (
    Sandwich,
    accelerations,
    counts_of,
    degrees_of_freedom,
    independent_votes,
    models_of_one_cluster,
    sandwich,
    still_models,
    two_way,
)
from salon_ranking.uncertainty.uncertainty import Freedom, ResampledUncertainty, Uncertainty, stretched


@dataclass(frozen=True, eq=False)
class LeagueUncertainty:
    """The uncertainty of one league of a fit.

    Attributes:
        strengths: of the log-strengths, one for each group of models that chains of battles join; one group without a prior.
        further: of the further parameters, with a fixed 0 as the last entry; None where the model has none.
    """

    strengths: tuple[Uncertainty, ...]
    further: Uncertainty | None


def uncertainties(ratings: Ratings, asked: IntervalOptions) -> Iterator[LeagueUncertainty]:
    """Yield the uncertainty of every league of ``ratings``; nothing when no intervals are wanted.

    Every league is what it would be alone: its own draws, clusters and degrees of freedom. A prior joins no models: without
    further parameters, the groups of models that chains of battles join have likelihoods with no term in common and are
    resampled each by itself.
    """
    if not asked.is_wanted:
        return
    for league in ratings.leagues:
        parts = list(_parts(league))
        parts_resampled = [_uncertainty(part, base, asked) for part, base in parts]
        strengths = [one for each, _ in parts_resampled for one in _joined(each, league)]
        yield LeagueUncertainty(tuple(strengths), parts_resampled[0][1])


def _parts(league: FittedLeague) -> Iterator[tuple[FittedLeague, int | None]]:
    """Yield the parts of a league that are resampled each by itself, with the baseline's position in each."""
    joined = league.likelihood.cells.joined()
    is_one = league.likelihood.options.prior_ties == 0.0 or league.likelihood.size or not joined.any()
    if is_one or not isinstance(league.likelihood, PairLikelihood | TieLikelihood):
        yield league, league.base
        return
    for number in range(int(joined.max()) + 1):
        group = np.flatnonzero(joined == number)
        likelihood = replace(league.likelihood, cells=league.likelihood.cells.among(group.tolist()))
        estimate = replace(league.estimate, values=league.log_strengths[group])
        base = np.flatnonzero(group == league.base)
        yield FittedLeague(league.members[group], 0, likelihood, estimate), int(base[0]) if len(base) else None


def _joined(uncertainty: Uncertainty, league: FittedLeague) -> Iterator[Uncertainty]:
    """Yield the uncertainty of each group of models that chains of battles join, from that of all of them together."""
    joined = league.likelihood.cells.joined()
    if len(uncertainty.members) < len(joined) or not joined.any():
        yield uncertainty
        return
    for number in range(int(joined.max()) + 1):
        yield uncertainty.among(np.flatnonzero(joined == number))


def _uncertainty(league: FittedLeague, base: int | None, asked: IntervalOptions) -> tuple[Uncertainty, Uncertainty | None]:
    """Return the uncertainty of strengths, and of further parameters."""
    likelihood, values, models = league.likelihood, league.estimate.values, len(league.members)
    cells, prior = likelihood.cells, likelihood.options.prior_ties
    counts = counts_of(likelihood.groups)
    units = float(min(counts[:2], default=independent_votes(likelihood)))
    still = models_of_one_cluster(cells) if asked.cluster else np.zeros(models, dtype=np.bool_)
    if prior == 0.0:
        still |= still_models(likelihood, values)
    # What only a prior, or Firth's penalty, keeps finite has no interval: battles do not say how far it may reach.
    strong = cells.components() if likelihood.options.estimator == "firth" or prior else None
    degrees = degrees_of_freedom(counts)
    anytime = Anytime(units, bool(asked.clustered and counts), asked.confidence) if asked.interval == "anytime" else None
    if asked.is_analytic and prior and not counts:
        units = math.inf
    bare = Uncertainty(
        league.members, base, values[:models], degrees=degrees, strong=strong, units=units, still=still, anytime=anytime
    )
    rest = None
    if likelihood.size:
        number = np.arange(likelihood.size + 1)
        rest = replace(
            bare,
            members=number,
            base=likelihood.size,
            estimate=np.append(values[models:], 0.0),
            strong=None,
            still=None,
            scale=0.0,
        )
    both = _Both(bare, rest, models)
    if asked.is_analytic:
        return both.with_covariance(sandwich(likelihood, values))
    if counts and units < 2:
        # Drawn again and again, one cluster would always give the same answer: that says nothing.
        return both.with_replicates(np.empty((0, len(values))), None, 0, 0)
    # Replicates are measured from some model in any case.
    origin = default_baseline(cells, values[:models]) if base is None else base
    drawn = likelihood.draw(values, DrawPlan(origin, asked.replicates, asked.seed, workers(asked.threads), _counter(asked)))
    skew = accelerations(likelihood, values, origin) if asked.interval == "bca" else None
    replicates = drawn.log_strengths
    if len(counts) == 3:
        replicates = two_way(likelihood, values).carried_over(replicates, values, models)
    elif counts:
        replicates = stretched(replicates, values, counts[0])
    strengths, further = both.with_replicates(replicates, skew, drawn.degenerate, drawn.unconverged)
    analytic = cache(lambda: both.analytic(likelihood, values))
    concentrated = bool(counts) and models <= MOST_MODELS and _is_concentrated(likelihood, values, origin, counts)
    settled = strengths.settled(asked.confidence, lambda: analytic()[0], concentrated=concentrated)
    if settled is not strengths and further is not None:
        return settled, analytic()[1]
    return settled, further


def _is_concentrated(likelihood: Likelihood, values: Floats, origin: int, counts: tuple[int, ...]) -> bool:
    """Return whether a difference has less than half of the degrees of freedom that equal clusters would give."""
    try:
        estimate = sandwich(likelihood, values)
    except UnratableError:
        return False
    if not np.isfinite(estimate.covariance).all():
        return False
    others = np.delete(np.arange(likelihood.cells.models), origin)
    degrees = estimate.degrees_between(others, np.full(len(others), origin))
    return bool((degrees < 0.5 * degrees_of_freedom(counts)).any())


@dataclass(frozen=True, eq=False)
class _Both:
    """What is known of strengths and of further parameters before any interval is made."""

    strengths: Uncertainty
    further: Uncertainty | None
    models: int

    def with_covariance(self, estimate: Sandwich) -> tuple[Uncertainty, Uncertainty | None]:
        """Return both with their parts of a covariance, and its degrees of freedom."""
        matrix, models = estimate.covariance, self.models
        has_own = bool(estimate.columns) and bool(np.isfinite(matrix).all())
        own = Freedom(estimate, np.arange(models)) if has_own else None
        strengths = self.strengths.analytic(matrix[:models, :models], own)
        if self.further is None:
            return strengths, None
        rest = Freedom(estimate, np.append(np.arange(models, len(matrix)), -1)) if has_own else None
        return strengths, self.further.analytic(np.pad(matrix[models:, models:], (0, 1)), rest)

    def with_replicates(
        self, replicates: Floats, skew: Floats | None, degenerate: int, unconverged: int
    ) -> tuple[ResampledUncertainty, Uncertainty | None]:
        """Return both with their parts of replicates and accelerations."""
        models, lost = self.models, (degenerate, unconverged)
        strengths = self.strengths.resampled(replicates[:, :models], None if skew is None else skew[:models], *lost)
        if self.further is None:
            return strengths, None
        rest = np.column_stack([replicates[:, models:], np.zeros(len(replicates))])
        return strengths, self.further.resampled(rest, None if skew is None else np.append(skew[models:], 0.0), *lost)

    def analytic(self, likelihood: Likelihood, values: Floats) -> tuple[Uncertainty, Uncertainty | None]:
        """Return both by a sandwich; without it, and with a note why, where there can be none."""
        if self.models > MOST_MODELS:
            note = f"sandwiches are for at most {MOST_MODELS:,} models; a prior may help"
        else:
            try:
                return self.with_covariance(sandwich(likelihood, values))
            except UnratableError as error:
                note = str(error).splitlines()[0]
        return replace(self.strengths, notes=(note,)), self.further


def _counter(asked: IntervalOptions) -> Callable[[int], object] | None:
    """Return the progress callback in the form that the core calls."""
    progress, replicates = asked.progress, asked.replicates
    return None if progress is None else lambda done: progress(done, replicates)

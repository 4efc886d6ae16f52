"""Ratings by maximum likelihood or with Firth's bias reduction, on the Elo scale: Bradley-Terry, of rankings Plackett-Luce.

P(i beats j) = 1 / (1 + exp(θ_j - θ_i)); Bradley & Terry 1952. Every kind of tie counts half a win for each model, and a
rating is ``baseline_rating + 400/ln 10 · (θ - θ_baseline)``, so 400 points are odds of ten to one (MEF: win
rate, linear map to Elo, baseline fixed at 1,000).

Maximum likelihood spreads ratings too far when battles are few. Firth 1993 (doi:10.1093/biomet/80.1.27) takes away the leading
term of that bias: the estimate maximises the likelihood times the square root of the determinant of its curvature (Jeffreys'
prior). Every pair then counts h further drawn battles, h its leverage; all together they are the number of models less one.
Ratings are finite as soon as battles connect all models (Kosmidis & Firth 2021, doi:10.1093/biomet/asaa052).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles
from salon_ranking.errors import UnknownModelError
from salon_ranking.models.covariate_likelihood import CovariateLikelihood, design_of
from salon_ranking.models.league import League, default_baseline, leagues_of
from salon_ranking.models.likelihood import LeagueFit, Likelihood, PairLikelihood, check_size
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ranking_likelihood import RankingLikelihood, check_options
from salon_ranking.models.ties import Chances, TieLikelihood, outcome_chances
from salon_ranking.options import Rankable, with_options

Floats = NDArray[np.float64]

POINTS_PER_UNIT = 400.0 / math.log(10.0)
"""Elo points per unit of log-strength."""
RANK_DIGITS = 6
"""Ratings that agree to so many decimals share a rank."""
TIE_TERMS = {"davidson": "ν", "rao-kupper": "κ"}
"""The name of each tie parameter."""


@dataclass(frozen=True, eq=False)
class FittedLeague:
    """The fit of the models that can be compared with each other.

    Attributes:
        members: indices into all models, shape (n,).
        base: position of the baseline among them.
    """

    members: NDArray[np.int64]
    base: int
    likelihood: Likelihood
    estimate: LeagueFit

    @property
    def log_strengths(self) -> Floats:
        """θ, shape (n,)."""
        return self.estimate.values[: len(self.members)]

    @property
    def further(self) -> Floats:
        """The further parameters, shape (k,)."""
        return self.estimate.values[len(self.members) :]


@dataclass(frozen=True, eq=False)
class Ratings:
    """A fitted model of any kind, and how it was fitted. Arrays have one entry per model, in the order of ``models``.

    Attributes:
        models: names in ascending order.
        log_strengths: θ, mean 0 within each component; NaN for a model alone in its component.
        ratings: Elo points, at equal covariates; NaN where θ is.
        component: number of each model's strongly connected component, 0 the largest. Ratings of different components
            cannot be compared. All 0 unless ``components="separate"`` was needed. By Firth's estimator, components are
            connected by battles, won or lost.
        baselines: per component, the model whose rating is ``baseline_rating``.
        converged: whether the last step changed no parameter or difference of log-strengths by more than the tolerance.
        iterations: Newton steps (the most that any component took).
        gradient_norm: largest slope of the log-likelihood per match.
        left_out: battles between models of different components, which no rating uses.
        options: the model that was fitted, and how.
        leagues: the fit of each component with two models or more.
    """

    models: tuple[str, ...]
    log_strengths: Floats
    ratings: Floats
    component: NDArray[np.int64]
    baselines: tuple[str, ...]
    baseline_rating: float
    converged: bool
    iterations: int
    gradient_norm: float
    left_out: int
    options: FitOptions
    leagues: tuple[FittedLeague, ...] = field(repr=False)

    @cached_property
    def parameters(self) -> pl.DataFrame:
        """The further parameters of each component: ``component``, ``term``, ``estimate`` and ``scale``.

        The tie parameter of a component without ties is 0 (ν) or 1 (κ). ``scale`` is what a covariate was divided by; null for
        a tie parameter.
        """
        rows: list[tuple[int, str, float, float | None]] = []
        for number, league in enumerate(self.leagues):
            if isinstance(league.likelihood, TieLikelihood):
                parameter = league.likelihood.tie_parameter(league.estimate.values)
                rows.append((number, TIE_TERMS[self.options.ties], parameter, None))
            elif isinstance(league.likelihood, CovariateLikelihood):
                for term, value in zip(league.likelihood.terms, league.further.tolist(), strict=True):
                    rows.append((number, term.name, value, term.scale))
        schema = {"component": pl.Int64, "term": pl.String, "estimate": pl.Float64, "scale": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @property
    def log_likelihood(self) -> float:
        """The weighted log-likelihood at the answer, without the prior."""
        return float(sum(league.likelihood.log_likelihood(league.estimate.values) for league in self.leagues))

    def win_probability(self, model: str, opponent: str) -> float:
        """Return the fitted probability that ``model`` beats ``opponent``, a tie half a win; NaN when they cannot be compared.

        Raises:
            UnknownModelError: one of them has no battle.
        """
        return float(predicted(self, np.array([self._number(model)]), np.array([self._number(opponent)]))[0])

    def chances(self, model: str, opponent: str) -> Chances:
        """Return the fitted probabilities that ``model`` wins, ties and loses, at equal covariates; NaN when they cannot be
        compared. Without a tie model a tie has probability 0.

        Raises:
            UnknownModelError: one of them has no battle.
        """
        win, tie, loss = chances_of(self, np.array([self._number(model)]), np.array([self._number(opponent)]))
        return Chances(float(win[0]), float(tie[0]), float(loss[0]))

    def _number(self, model: str) -> int:
        if model not in self.models:
            raise UnknownModelError("unknown model", value=model, allowed=self.models)
        return self.models.index(model)


def predicted(ratings: Ratings, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """Return the fitted win rates of pairs of models, ties as half wins; NaN for models of different components."""
    win, tie, _ = chances_of(ratings, first, second)
    share: Floats = win + 0.5 * tie
    return share


def chances_of(ratings: Ratings, first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Return P(win), P(tie) and P(loss) of pairs of models, given by number; NaN for models of different components."""
    gap = ratings.log_strengths[first] - ratings.log_strengths[second]
    gap = np.where(ratings.component[first] == ratings.component[second], gap, np.nan)
    share: Floats = 0.5 * (1.0 + np.tanh(0.5 * gap))
    chances = (share, 0.0 * share, 1.0 - share)
    for number, league in enumerate(ratings.leagues):
        if isinstance(league.likelihood, TieLikelihood):
            own = ratings.component[first] == number
            tie = league.likelihood.tie_parameter(league.estimate.values)
            win, draw, loss = outcome_chances(league.likelihood.model, gap, tie)
            chances = (np.where(own, win, chances[0]), np.where(own, draw, chances[1]), np.where(own, loss, chances[2]))
    return chances


@with_options(FitOptions)
def fit(battles: Rankable, options: FitOptions) -> Ratings:
    """Rate all models, by Bradley-Terry, a tie model, or at equal covariates; by Plackett-Luce where battles are rankings.

    The keywords are the fields of :class:`salon_ranking.FitOptions`.

    Raises:
        BattleError: there are no battles.
        UnratableError: some models won all or lost all of their battles against the rest, or never met it; by Firth's
            estimator only the last. With a tie model also when every battle is a tie, or no cycle of models has more wins than
            ties, so that a tie parameter without bound fits best.
        CovariateError: a column is missing or incomplete; :class:`CovariateCollinearityError`: a covariate is determined
            by the models that met or by other covariates; :class:`CovariateSeparationError`: no finite coefficients exist.
        UnknownModelError: the baseline, or a model to start from, has no battle.
        OptionError: an argument is outside its range, or two of them cannot be combined.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a"] * 3 + ["model_b"]})
        >>> fit(Battles.from_frame(votes)).ratings.round(1).tolist()
        [1190.8, 1000.0]
        >>> fit(Battles.from_frame(votes), estimator="firth").ratings.round(1).tolist()
        [1147.2, 1000.0]

        With two models Davidson's parameter has a closed form: ν = ties / √(wins · losses).

        >>> winners = ["model_a"] * 8 + ["model_b"] * 2 + ["tie"] * 4
        >>> votes = pl.DataFrame({"winner": winners}).with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"))
        >>> tied = fit(votes, ties="davidson")
        >>> tied.parameters.select("term", pl.col("estimate").round(6)).row(0), tied.ratings.round(1).tolist()
        (('ν', 1.0), [1240.8, 1000.0])
    """
    return fitted(battles, options)


def fitted(battles: Battles, options: FitOptions, *, clustered: bool = False) -> Ratings:
    """Fit the model of ``options``, as :func:`fit`.

    Args:
        clustered: keep the clusters of the battles for the uncertainty of the fit.
    """
    check_options(battles, options)
    baseline, start = options.baseline, options.start
    if baseline is not None and baseline not in battles.models:
        raise UnknownModelError("unknown baseline", source=battles.source, value=baseline, allowed=battles.models)
    unknown = sorted({*(start or ())} - {*battles.models})
    if unknown:
        raise UnknownModelError("unknown model to start from", source=battles.source, value=unknown[0], allowed=battles.models)
    component, all_leagues = leagues_of(battles, options.prior_ties, options.components, options.estimator)
    log_strengths, ratings = np.full(len(battles.models), np.nan), np.full(len(battles.models), np.nan)
    leagues: list[FittedLeague] = []
    for league, likelihood in zip(all_leagues, _likelihoods(battles, all_leagues, options, clustered), strict=True):
        names = [battles.models[number] for number in league.members]
        estimate = likelihood.fit(np.array([start.get(name, 0.0) for name in names]) if start else None)
        theta = estimate.values[: len(names)]
        base = names.index(baseline) if baseline in names else default_baseline(league.cells, theta)
        leagues.append(FittedLeague(league.members, base, likelihood, estimate))
        log_strengths[league.members], ratings[league.members] = theta, elo(theta, base, options.baseline_rating)
    return Ratings(
        models=battles.models,
        log_strengths=log_strengths,
        ratings=ratings,
        component=component,
        baselines=tuple(battles.models[league.members[league.base]] for league in leagues),
        baseline_rating=options.baseline_rating,
        converged=all(league.estimate.converged for league in leagues),
        iterations=max((league.estimate.iterations for league in leagues), default=0),
        gradient_norm=max((league.estimate.gradient_norm for league in leagues), default=0.0),
        left_out=battles.count - sum(league.cells.battles for league in all_leagues),
        options=options,
        leagues=tuple(leagues),
    )


def _likelihoods(battles: Battles, leagues: Sequence[League], options: FitOptions, clustered: bool) -> list[Likelihood]:
    """Return the likelihood of each league.

    Raises:
        UnratableError: a tie parameter has no finite estimate.
        CovariateError: a column is missing or incomplete.
    """
    if battles.orders is not None:
        orders = battles.orders
        return [RankingLikelihood(league.cells, options, orders.among(league.members), clustered) for league in leagues]
    if options.covariates:
        design = design_of(battles, options.parsed_covariates, options.standardize, clustered)
        return [design.likelihood(league, options) for league in leagues]
    if options.ties != "half":
        tied = [TieLikelihood(league.cells, options, clustered) for league in leagues]
        for likelihood in tied:
            likelihood.check(battles.source)
        return list(tied)
    if options.estimator == "firth":
        for league in leagues:
            check_size(len(league.members), "Firth's bias reduction")
    return [PairLikelihood(league.cells, options, clustered) for league in leagues]


def elo(log_strengths: Floats, baseline: int, baseline_rating: float) -> Floats:
    """Return Elo points of log-strengths along the last axis; exactly ``baseline_rating`` for the baseline itself."""
    points: Floats = baseline_rating + POINTS_PER_UNIT * (log_strengths - log_strengths[..., baseline, None])
    return points

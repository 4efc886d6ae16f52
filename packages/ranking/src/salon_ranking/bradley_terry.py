"""Bradley-Terry ratings by maximum likelihood or with Firth's bias reduction, on the Elo scale.

P(i beats j) = 1 / (1 + exp(θ_j - θ_i)); Bradley & Terry 1952. Every kind of tie counts half a win for each model, and a
rating is ``baseline_rating + 400/ln 10 · (θ - θ_baseline)``, so 400 points are odds of ten to one (MEF: win
rate, linear map to Elo, baseline fixed at 1,000).

Maximum likelihood spreads ratings too far when battles are few. Firth 1993 (doi:10.1093/biomet/80.1.27) takes away the leading
term of that bias: the estimate maximises the likelihood times the square root of the determinant of its curvature (Jeffreys'
prior). Every pair then counts h further drawn battles, h its leverage; all together they are the number of models less one.
Ratings are finite as soon as battles connect all models (Kosmidis & Firth 2021, doi:10.1093/biomet/asaa052).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core, reference
from salon_ranking.battles import Battles
from salon_ranking.errors import BattleError, OptionError, UnknownModelError, UnratableError
from salon_ranking.options import takes_battles
from salon_ranking.sandwich import check_size

Floats = NDArray[np.float64]
Solver: TypeAlias = Literal["rust", "reference"]
Components: TypeAlias = Literal["refuse", "separate"]
Estimator: TypeAlias = Literal["maximum-likelihood", "firth"]

POINTS_PER_UNIT = 400.0 / math.log(10.0)
"""Elo points per unit of log-strength."""
TOLERANCE = 1e-9
MAX_ITERATIONS = 200
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Ratings:
    """A fitted model and how it was fitted. Arrays have one entry per model, in the order of ``models``.

    Attributes:
        models: names in ascending order.
        log_strengths: θ, mean 0 within each component; NaN for a model alone in its component.
        ratings: Elo points; NaN where θ is.
        component: number of each model's strongly connected component, 0 the largest. Ratings of different components
            cannot be compared. All 0 unless ``components="separate"`` was needed. By Firth's estimator, components are
            connected by battles, whoever won them.
        baselines: per component, the model whose rating is ``baseline_rating``.
        converged: whether the last step changed no difference of log-strengths by more than ``tolerance``.
        iterations: Newton steps (the most that any component took).
        gradient_norm: largest difference between observed and expected score per match, a probability.
        prior_ties: drawn battles that every model was given against one opponent of mean strength; 0: none.
        left_out: battles between models of different components, which no rating uses.
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
    solver: Solver
    prior_ties: float
    tolerance: float
    left_out: int
    estimator: Estimator = "maximum-likelihood"

    def win_probability(self, model: str, opponent: str) -> float:
        """The fitted probability that ``model`` beats ``opponent``; NaN when they cannot be compared.

        Raises:
            UnknownModelError: one of them has no battle.
        """
        first, second = self._number(model), self._number(opponent)
        if self.component[first] != self.component[second]:
            return math.nan
        return float(1.0 / (1.0 + np.exp(self.log_strengths[second] - self.log_strengths[first])))

    def _number(self, model: str) -> int:
        if model not in self.models:
            raise UnknownModelError("unknown model", value=model, allowed=self.models)
        return self.models.index(model)


@dataclass(frozen=True, eq=False)
class League:
    """Models that can be compared with each other: indices into all models, and their battles."""

    members: NDArray[np.int64]
    cells: _core.Cells


@takes_battles
def fit(
    battles: Battles,
    *,
    baseline: str | None = None,
    baseline_rating: float = 1000.0,
    solver: Solver = "rust",
    prior_ties: float = 0.0,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    components: Components = "refuse",
    start: Mapping[str, float] | None = None,
    estimator: Estimator = "maximum-likelihood",
) -> Ratings:
    """Rate all models.

    Args:
        baseline: the model whose rating is fixed; by default the lowest rated of those that have at least the median
            number of matches (MEF advises a low-ranked one).
        solver: ``"reference"`` is the NumPy twin of the Rust core, for checks: slow, and its memory grows with the
            square of the models.
        prior_ties: give every model this many drawn battles against one fixed opponent of mean strength. Then finite
            ratings always exist, pulled towards the middle.
        components: what to do when no finite ratings exist: refuse, or rate each strongly connected component by
            itself, leaving out the battles between components.
        start: log-strengths to start from, by model (0 for others), such as those of an earlier fit: they change the number
            of iterations, not the answer. The reference solver always starts from 0.
        estimator: ``"firth"`` reduces the bias of maximum likelihood. It counts weights as battles: weights that are all
            ten times as large leave a tenth of the correction. A tie is half a win in its penalty too.

    Raises:
        BattleError: there are no battles.
        UnratableError: some models won all or lost all of their battles against the rest, or never met it; by Firth's
            estimator only the last.
        UnknownModelError: the baseline, or a model to start from, has no battle.
        OptionError: an argument is outside its range, or Firth's estimator is given a prior: it has its own.

    Example:
        >>> import polars as pl
        >>> votes = pl.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a"] * 3 + ["model_b"]})
        >>> fit(Battles.from_frame(votes)).ratings.round(1).tolist()
        [1190.8, 1000.0]
        >>> fit(Battles.from_frame(votes), estimator="firth").ratings.round(1).tolist()
        [1147.2, 1000.0]
    """
    check_options(baseline_rating=baseline_rating, prior_ties=prior_ties, tolerance=tolerance, max_iterations=max_iterations)
    for name, given, known in (
        ("solver", solver, Solver),
        ("components", components, Components),
        ("estimator", estimator, Estimator),
    ):
        if given not in get_args(known):
            raise OptionError(f"unknown {name}", value=given, allowed=get_args(known))
    check_estimator(estimator, prior_ties)
    if baseline is not None and baseline not in battles.models:
        raise UnknownModelError("unknown baseline", source=battles.source, value=baseline, allowed=battles.models)
    unknown = sorted({*(start or ())} - {*battles.models})
    if unknown:
        raise UnknownModelError("unknown model to start from", source=battles.source, value=unknown[0], allowed=battles.models)
    count = len(battles.models)
    if solver == "reference":
        check_size(count, "the reference solver")
    component, leagues = leagues_of(battles, prior_ties, components, estimator)
    log_strengths = np.full(count, np.nan)
    ratings = np.full(count, np.nan)
    baselines: list[str] = []
    fits: list[_core.Fit | reference.Fit] = []
    found: _core.Fit | reference.Fit
    for league in leagues:
        if estimator == "firth":
            check_size(len(league.members), "Firth's bias reduction")
            found = _reduced(league, battles, solver, tolerance, max_iterations, start)
        elif solver == "reference":
            found = reference.fit(league.cells, prior_ties, tolerance, max_iterations)
        elif start:
            begin = np.array([start.get(battles.models[number], 0.0) for number in league.members])
            found = _core.fit_from(league.cells, begin, prior_ties, tolerance, max_iterations)
        else:
            found = _core.fit(league.cells, prior_ties, tolerance, max_iterations)
        fits.append(found)
        log_strengths[league.members] = found.log_strengths
        names = [battles.models[number] for number in league.members]
        base = names.index(baseline) if baseline in names else default_baseline(league.cells, found.log_strengths)
        baselines.append(names[base])
        ratings[league.members] = elo(found.log_strengths, base, baseline_rating)
    return Ratings(
        models=battles.models,
        log_strengths=log_strengths,
        ratings=ratings,
        component=component,
        baselines=tuple(baselines),
        baseline_rating=baseline_rating,
        converged=all(found.converged for found in fits),
        iterations=max((found.iterations for found in fits), default=0),
        gradient_norm=max((found.gradient_norm for found in fits), default=0.0),
        solver=solver,
        prior_ties=prior_ties,
        tolerance=tolerance,
        left_out=battles.count - sum(league.cells.battles for league in leagues),
        estimator=estimator,
    )


def _reduced(
    league: League,
    battles: Battles,
    solver: Solver,
    tolerance: float,
    max_iterations: int,
    start: Mapping[str, float] | None,
) -> _core.Fit | reference.Fit:
    if solver == "reference":
        return reference.fit_firth(league.cells, tolerance, max_iterations)
    begin = None if not start else np.array([start.get(battles.models[number], 0.0) for number in league.members])
    return _core.fit_firth(league.cells, tolerance, max_iterations, begin)


def check_estimator(estimator: Estimator, prior_ties: float) -> None:
    """Refuse Firth's estimator with a prior.

    Raises:
        OptionError: names the number of drawn battles.
    """
    if estimator == "firth" and prior_ties > 0.0:
        hint = "Leave out prior_ties (--prior-ties), or rate by maximum likelihood."
        raise OptionError("Firth's estimator has a prior of its own; prior_ties must be 0, not", value=prior_ties, hint=hint)


def elo(log_strengths: Floats, baseline: int, baseline_rating: float) -> Floats:
    """Elo points of log-strengths along the last axis; exactly ``baseline_rating`` for the baseline itself."""
    points: Floats = baseline_rating + POINTS_PER_UNIT * (log_strengths - log_strengths[..., baseline, None])
    return points


def leagues_of(
    battles: Battles, prior_ties: float, components: Components, estimator: Estimator = "maximum-likelihood"
) -> tuple[NDArray[np.int64], list[League]]:
    """The component of every model, and the components that have at least two models as leagues of their own."""
    if battles.count == 0:
        raise BattleError("there are no battles", source=battles.source)
    component = components_of(battles.cells, estimator)
    if prior_ties > 0.0 or not component.any():
        whole = League(np.arange(len(battles.models)), battles.cells)
        return np.zeros_like(component), [whole]
    if components == "refuse":
        raise _unratable(battles, component, estimator)
    sizes = np.bincount(component)
    members = [np.flatnonzero(component == number) for number in range(np.count_nonzero(sizes > 1))]
    return component, [League(indices, battles.cells.among(indices.tolist())) for indices in members]


def components_of(cells: _core.Cells, estimator: Estimator) -> NDArray[np.int64]:
    """Number of each model's component, the largest first: models whose differences have finite estimates."""
    if estimator != "firth":
        return cells.components()
    joined = cells.joined()
    order = np.argsort(-np.bincount(joined), kind="stable")
    return np.argsort(order)[joined]


def check_options(**values: float) -> None:
    """Refuse numbers that no fit can use."""
    for name, value in values.items():
        lowest = 0.0 if name == "prior_ties" else -math.inf if name == "baseline_rating" else 5e-324
        if not (math.isfinite(value) and value >= lowest):
            wanted = {"prior_ties": "a number of 0 or more", "baseline_rating": "a finite number"}.get(
                name, "a positive number"
            )
            raise OptionError(f"{name} must be {wanted}, not", value=value)


def default_baseline(cells: _core.Cells, log_strengths: Floats) -> int:
    """The lowest rated of the models that have at least the median number of matches."""
    matches = cells.records()[0]
    settled = np.flatnonzero(matches >= np.median(matches))
    # Rounded, so that among equals it is the first by name, whatever the last digits are.
    return int(settled[np.argmin(log_strengths[settled].round(9))])


def _unratable(battles: Battles, component: NDArray[np.int64], estimator: Estimator) -> UnratableError:
    """Name the models that keep the ratings from being finite."""
    _, wins, ties, losses = battles.cells.records()
    reduced = estimator == "firth"
    winners = np.flatnonzero((losses == 0) & (ties == 0) & (not reduced))
    losers = np.flatnonzero((wins == 0) & (ties == 0) & (not reduced))
    problems = []
    if len(winners):
        problems.append(f"won all of their battles: {_listed(battles, winners)}")
    if len(losers):
        problems.append(f"lost all of their battles: {_listed(battles, losers)}")
    order = np.argsort(component, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    if len(groups) > 1 + len(winners) + len(losers) or not problems:
        shown = "; ".join(f"{{{_listed(battles, group)}}}" for group in groups[:_MOST_NAMED])
        more = f"; and {len(groups) - _MOST_NAMED} more" if len(groups) > _MOST_NAMED else ""
        apart = "never met" if reduced else "do not both win and lose against each other"
        problems.append(f"groups that {apart}: {shown}{more}")
    hint = (
        "Rate each connected group by itself (--components separate)"
        f"{'' if reduced else ', or give every model a few drawn battles (--prior-ties 1)'}."
    )
    error = UnratableError(f"no finite ratings exist; {'; '.join(problems)}", source=battles.source, hint=hint)
    error.groups = tuple(tuple(battles.models[number] for number in group) for group in groups)
    return error


def _listed(battles: Battles, numbers: NDArray[np.int64]) -> str:
    names = [repr(battles.models[number]) for number in numbers[:_MOST_NAMED]]
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return ", ".join(names) + more

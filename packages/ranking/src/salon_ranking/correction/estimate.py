"""The corrected Bradley-Terry estimate, its covariance, and how far the judge is used."""

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from salon_ranking.correction.pairing import Codes, Floats, Paired
from salon_ranking.errors import UnratableError
from salon_ranking.models.likelihood import RowScores
from salon_ranking.uncertainty.sandwich import Sandwich, clustered, inverse_of

_MOST_STEPS = 60
_FARTHEST = 30.0
"""Log-strengths beyond which no minimum exists."""
_CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class CorrectedStrengths:
    """Log-strengths at a given λ, and their covariance."""

    theta: Floats
    sandwich: Sandwich

    def beside(self, baseline: int) -> Floats:
        """Return the variance of each strength less the baseline's."""
        v = self.sandwich.covariance
        variance: Floats = np.diag(v) + v[baseline, baseline] - 2.0 * v[:, baseline]
        return np.where(np.arange(len(v)) == baseline, 0.0, variance)


def _shares(both: Paired, times: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the shares of each vote in H and J_n, and of each verdict in J_N, where rows count several times."""
    if times is None:
        return both.weight / max(len(both.people), 1), np.full(len(both.judged), 1.0 / len(both.judged))
    votes, verdicts = both.weight * times[: len(both.people)], times[len(both.people) :]
    return votes / max(votes.sum(), _CLOSE), verdicts / max(verdicts.sum(), _CLOSE)


def _terms(both: Paired, factor: float, times: Floats | None = None) -> tuple[Codes, Codes, Floats, Floats]:
    """Return first and second model of each row of the loss, its pull towards the first, and its weight.

    The slope of a row in θ_first - θ_second is its pull less its weight times the chance of the first. Votes come first;
    without λ they are all there is.
    """
    share, other = _shares(both, times)
    if factor == 0.0:
        return both.first[both.battle], both.second[both.battle], share * both.people, share
    first = np.concatenate([both.first[both.battle], both.first])
    second = np.concatenate([both.second[both.battle], both.second])
    pull = np.concatenate([share * (both.people - factor * both.judged[both.battle]), factor * other * both.judged])
    weight = np.concatenate([share * (1.0 - factor), factor * other])
    return first, second, pull, weight


def _minimum(models: int, first: Codes, second: Codes, pull: Floats, weight: Floats) -> Floats:
    """Return the log-strengths, mean 0, of the convex loss, by Newton's method over its pairs.

    Raises:
        UnratableError: it has no minimum.
    """
    pair = first.astype(np.int64) * models + second
    kinds = np.flatnonzero(np.bincount(pair))
    a, b = kinds // models, kinds % models
    pulls, weights = np.bincount(pair, pull)[kinds], np.bincount(pair, weight)[kinds]
    theta = np.zeros(models)
    for _ in range(_MOST_STEPS if _is_connected(models, a, b) else 0):
        chance = 1.0 / (1.0 + np.exp(theta[b] - theta[a]))
        slope, bend = pulls - weights * chance, weights * chance * (1.0 - chance)
        gradient = np.bincount(a, slope, models) - np.bincount(b, slope, models)
        met = np.zeros((models, models))
        np.add.at(met, (a, b), bend)
        met += met.T
        curvature = np.diag(met.sum(axis=1)) - met + bend.sum() / models
        try:
            step = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError:
            break
        size = float(np.abs(step).max())
        theta += step * min(1.0, 2.0 / size) if size > 0.0 else step
        theta -= theta.mean()
        if not np.isfinite(theta).all() or np.abs(theta).max() > _FARTHEST:
            break
        if size < _CLOSE:
            return theta
    problem = (
        "no finite ratings minimise the loss: a model won or lost everything, battles do not connect the models, or the judge "
        "errs by more than so few votes can correct; collect more votes, or leave the model out"
    )
    raise UnratableError(problem)


def _is_connected(models: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    label, last = np.arange(models), np.full(models, -1)
    while not np.array_equal(label, last):
        last = label.copy()
        np.minimum.at(label, a, last[b])
        np.minimum.at(label, b, last[a])
    return not label.any()


def _scores(both: Paired, factor: float, theta: Floats) -> tuple[RowScores, Floats]:
    """Return the slopes of all rows as the sandwich takes them, and the curvature."""
    first, second, pull, weight = _terms(both, factor)
    chance = 1.0 / (1.0 + np.exp(theta[second] - theta[first]))
    count, none = len(pull), np.zeros((len(pull), 0))
    rows = RowScores(
        len(both.models),
        (first, second, pull - weight * chance, none, np.ones(count)),
        weight * chance * (1.0 - chance),
        none,
        np.zeros((0, 0)),
    )
    return rows, rows.curvature()


def estimate(both: Paired, factor: float) -> CorrectedStrengths:
    """Return the estimate at a given λ.

    Raises:
        UnratableError: the loss has no minimum.
    """
    theta = _minimum(len(both.models), *_terms(both, factor))
    rows, curvature = _scores(both, factor, theta)
    nothing = np.zeros(len(both.models))
    bread = inverse_of(curvature, nothing, len(both.models))
    sandwich = clustered(rows, tuple(group[: len(rows.rows[0])] for group in both.groups), bread, nothing)
    return CorrectedStrengths(theta, _centred(both, factor, rows, sandwich, bread))


def _centred(both: Paired, factor: float, rows: RowScores, sandwich: Sandwich, bread: Floats) -> Sandwich:
    """Take from the covariance what the parts' means add to it.

    Slopes of votes and of verdicts add up to 0 only together: the judge's bias gives every vote's slope a mean m, and every
    verdict's the opposite one. A cluster with n_g of the n votes and N_g of the N verdicts has them by t_g = n_g/n - N_g/N of
    m; its slopes are squared about that.
    """
    if factor == 0.0:
        return sandwich
    votes, verdicts, models = len(both.people), len(both.judged), len(both.models)
    first, second, slope = rows.rows[0], rows.rows[1], rows.rows[2]
    mean = np.bincount(first[:votes], slope[:votes], models) - np.bincount(second[:votes], slope[:votes], models)
    share = np.concatenate([both.weight / votes, np.full(verdicts, -1.0 / verdicts)])
    covariance = sandwich.covariance
    for group, sign in zip(both.groups, (1.0, 1.0, -1.0), strict=False):
        of_cluster = np.bincount(group, share)
        each = of_cluster[group] * slope
        crossed = np.bincount(first, each, models) - np.bincount(second, each, models)
        outer = np.outer(crossed, mean)
        middle = outer + outer.T - float(of_cluster @ of_cluster) * np.outer(mean, mean)
        covariance = covariance - sign * (bread @ middle @ bread)
    return Sandwich(covariance, sandwich.bread, sandwich.columns)


def resampled(both: Paired, factor: float, replicates: int, seed: int) -> Floats:
    """Return log-strengths of bootstrap replicates, shape (replicates, models); NaN where the loss has no minimum.

    Clusters of one column are drawn, each with its votes and verdicts.
    """
    random = np.random.default_rng(seed)
    clusters = int(both.groups[0].max(initial=0)) + 1
    draws = np.full((replicates, len(both.models)), np.nan)
    for draw in draws:
        times = np.bincount(random.integers(0, clusters, clusters), minlength=clusters)[both.groups[0]].astype(np.float64)
        with suppress(UnratableError):
            draw[:] = _minimum(len(both.models), *_terms(both, factor, times))
    return draws


def possible_estimate(both: Paired, factor: float) -> CorrectedStrengths | None:
    """Return the estimate at a given λ; None where the loss has no minimum."""
    try:
        return estimate(both, factor)
    except UnratableError:
        return None


def without_people(both: Paired) -> Paired:
    """Return the verdicts without votes: with λ = 1 the judge alone."""
    votes, none = len(both.people), np.empty(0)
    groups = tuple(group[votes:] for group in both.groups[:1])
    return replace(both, battle=np.empty(0, dtype=np.int64), people=none, weight=none, groups=groups)


def best_factors(both: Paired) -> Floats:
    """Return λ of each judge, 0 or more, which add up to 1 at most.

    They minimise the trace of B Var(h - Σ λ j) B of the slopes of the votes, B the inverse curvature. Of one judge λ is
    tr(B Cov(h, j) B) / tr(B Var(j) B), kept between 0 and 1.
    """
    models = len(both.models)
    try:
        theta = _minimum(models, *_terms(both, 0.0))
    except UnratableError:
        theta = _minimum(models, *_terms(both, 1.0))
    bread = inverse_of(_scores(both, 0.0, theta)[1], np.zeros(models), models)
    votes = len(both.people)
    first, second = both.first[both.battle], both.second[both.battle]
    chance = 1.0 / (1.0 + np.exp(theta[second] - theta[first]))
    metric = bread @ bread
    length = metric[first, first] + metric[second, second] - 2.0 * metric[first, second]
    slopes = np.column_stack([both.people, both.verdicts[both.battle]]) - chance[:, None]
    share = both.weight / votes
    each = share[:, None] * slopes
    means = np.zeros((models, slopes.shape[1]))
    np.add.at(means, first, each)
    np.subtract.at(means, second, each)
    moments = slopes.T @ (length[:, None] * each) - means.T @ metric @ means
    return shares_of_judges(moments[1:, 1:], moments[1:, 0])


def shares_of_judges(variance: Floats, covariance: Floats) -> Floats:
    """Return λ that minimises λ'Vλ / 2 - c'λ with λ ≥ 0 and a sum of 1 at most, by trying all sets of judges."""
    count = len(covariance)
    best, least = np.zeros(count), 0.0
    for size in range(1, count + 1):
        for chosen in map(list, combinations(range(count), size)):
            part, target = variance[np.ix_(chosen, chosen)], covariance[chosen]
            bordered = np.block([[part, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            inside = np.linalg.lstsq(part, target, rcond=None)[0]
            on_edge = np.linalg.lstsq(bordered, np.append(target, 1.0), rcond=None)[0][:size]
            for shares in (inside, on_edge):
                value = float(shares @ part @ shares) / 2.0 - float(target @ shares)
                if (shares >= 0.0).all() and shares.sum() <= 1.0 + _CLOSE and value < least - _CLOSE * abs(least):
                    best, least = np.zeros(count), value
                    best[chosen] = shares
    return best / max(float(best.sum()), 1.0)


def mixed(both: Paired, factors: Floats) -> Paired:
    """Return the same with the mean verdict of the judges by their λ; the plain mean where none is used."""
    total = float(factors.sum())
    weights = factors / total if total else np.full(len(factors), 1.0 / len(factors))
    return replace(both, judged=both.verdicts @ weights)

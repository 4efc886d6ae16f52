"""The corrected estimate, its covariance, and how far the judge is used."""

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from salon_ranking.correction.joint_fit import (
    CLOSE,
    FARTHEST,
    MOST_STEPS,
    LossRows,
    is_connected,
    joint_minimum,
    joint_scores,
    no_minimum,
    slopes_of,
)
from salon_ranking.correction.pairing import TIE, Codes, Floats, Indices, Paired
from salon_ranking.correction.terms import Further
from salon_ranking.errors import UnratableError
from salon_ranking.models.likelihood import RowScores
from salon_ranking.uncertainty.sandwich import Sandwich, clustered, inverse_of


@dataclass(frozen=True, eq=False)
class CorrectedStrengths:
    """Log-strengths at a given λ, ln ν, ln κ or the coefficients (none of the plain model), and the covariance of all."""

    theta: Floats
    sandwich: Sandwich
    further: Floats

    def beside(self, baseline: int) -> Floats:
        """Return the variance of each strength less the baseline's."""
        v = self.sandwich.covariance[: len(self.theta), : len(self.theta)]
        variance: Floats = np.diag(v) + v[baseline, baseline] - 2.0 * v[:, baseline]
        return np.where(np.arange(len(v)) == baseline, 0.0, variance)


def _shares(both: Paired, times: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the shares of each vote in H and J_n, and of each verdict in J_N, where rows count several times."""
    if times is None:
        return both.weight / max(len(both.people), 1), np.full(len(both.judged), 1.0 / len(both.judged))
    votes, verdicts = both.weight * times[: len(both.people)], times[len(both.people) :]
    return votes / max(votes.sum(), CLOSE), verdicts / max(verdicts.sum(), CLOSE)


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
    for _ in range(MOST_STEPS if is_connected(models, a, b) else 0):
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
        if not np.isfinite(theta).all() or np.abs(theta).max() > FARTHEST:
            break
        if size < CLOSE:
            return theta
    raise no_minimum()


def further_size(both: Paired, factor: float) -> int:
    """Return how many further parameters a λ has: none of a tie model where nothing that counts is a tie."""
    further = both.further
    if further is None or further.terms:
        return 0 if further is None else len(further.terms)
    return int((both.people == TIE).any() or (factor > 0.0 and further.ties.any()))


def loss_rows(both: Paired, further: Further, factor: float, times: Floats | None = None) -> list[LossRows]:
    """Return the rows of the loss with further parameters: votes, the verdicts on their battles, and all verdicts.

    Without λ votes are all there is. Rows count ``times``, shape (n + N,).
    """
    share, other = _shares(both, times)

    def rows(battle: Indices, terms: Floats, score: Floats, ties: Floats, weight: Floats) -> LossRows:
        sides = both.first[battle], both.second[battle]
        return LossRows(len(both.models), *sides, terms if further.terms else None, score, ties, weight, further.model)

    votes = rows(both.battle, further.votes, both.people, (both.people == TIE) * 1.0, share)
    if factor == 0.0:
        return [votes]
    voted, judge = both.battle, (further.verdicts, both.judged, further.ties)
    of_votes = rows(voted, judge[0][voted], judge[1][voted], judge[2][voted], -factor * share)
    return [votes, of_votes, rows(np.arange(len(both.judged)), *judge, factor * other)]


def _values(both: Paired, factor: float, times: Floats | None = None) -> Floats:
    """Return log-strengths, mean 0, then the further parameters.

    Raises:
        UnratableError: the loss has no minimum.
    """
    size = further_size(both, factor)
    if both.further is not None and size:
        return joint_minimum(loss_rows(both, both.further, factor, times), size)
    return _minimum(len(both.models), *_terms(both, factor, times))


def _scores(both: Paired, factor: float, values: Floats) -> tuple[RowScores, Floats]:
    """Return the slopes of all rows as the sandwich takes them, and the curvature."""
    if both.further is not None and len(values) > len(both.models):
        return joint_scores(loss_rows(both, both.further, factor), factor, values)
    first, second, pull, weight = _terms(both, factor)
    chance = 1.0 / (1.0 + np.exp(values[second] - values[first]))
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
    values, models = _values(both, factor), len(both.models)
    rows, curvature = _scores(both, factor, values)
    nothing = np.zeros(len(values))
    bread = inverse_of(curvature, nothing, models)
    sandwich = clustered(rows, tuple(group[: len(rows.rows[0])] for group in both.groups), bread, nothing)
    return CorrectedStrengths(values[:models], _centred(both, factor, rows, sandwich, bread), values[models:])


def _centred(both: Paired, factor: float, rows: RowScores, sandwich: Sandwich, bread: Floats) -> Sandwich:
    """Take from the covariance what the parts' means add to it.

    Slopes of votes and of verdicts add up to 0 only together: the judge's bias gives every vote's slope a mean m, and every
    verdict's the opposite one. A cluster with n_g of the n votes and N_g of the N verdicts has them by t_g = n_g/n - N_g/N of
    m; its slopes are squared about that.
    """
    if factor == 0.0:
        return sandwich
    votes, verdicts = len(both.people), len(both.judged)
    mean = slopes_of(rows.taken(np.arange(votes, dtype=np.int64)))
    share = np.concatenate([both.weight / votes, np.full(verdicts, -1.0 / verdicts)])
    covariance = sandwich.covariance
    for group, sign in zip(both.groups, (1.0, 1.0, -1.0), strict=False):
        of_cluster: Floats = np.bincount(group, share).astype(np.float64)
        outer = np.outer(slopes_of(rows, of_cluster[group]), mean)
        middle = outer + outer.T - float(of_cluster @ of_cluster) * np.outer(mean, mean)
        covariance = covariance - sign * (bread @ middle @ bread)
    return Sandwich(covariance, sandwich.bread, sandwich.columns)


def resampled(both: Paired, factor: float, replicates: int, seed: int) -> Floats:
    """Return the values of bootstrap replicates, shape (replicates, models + k); NaN where the loss has no minimum.

    Clusters of one column are drawn, each with its votes and verdicts.
    """
    random = np.random.default_rng(seed)
    clusters = int(both.groups[0].max(initial=0)) + 1
    draws = np.full((replicates, len(both.models) + further_size(both, factor)), np.nan)
    for draw in draws:
        times = np.bincount(random.integers(0, clusters, clusters), minlength=clusters)[both.groups[0]].astype(np.float64)
        with suppress(UnratableError):
            draw[:] = _values(both, factor, times)
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
    further = both.further and replace(both.further, votes=both.further.votes[:0])
    return replace(both, battle=np.empty(0, dtype=np.int64), people=none, weight=none, groups=groups, further=further)


def best_factors(both: Paired) -> Floats:
    """Return λ of each judge, 0 or more, which add up to 1 at most.

    They minimise the trace of B Var(h - Σ λ j) B' of the slopes of the votes in all parameters, B the strengths' rows of the
    inverse curvature: the errors of the ratings count, those of a tie parameter or of coefficients do not. Of one judge λ is
    tr(B Cov(h, j) B') / tr(B Var(j) B'), kept between 0 and 1.
    """
    models = len(both.models)
    try:
        values = _values(both, 0.0)
    except UnratableError:
        values = _values(both, 1.0)
    bread = inverse_of(_scores(both, 0.0, values)[1], np.zeros(len(values)), models)
    votes = len(both.people)
    first, second = both.first[both.battle], both.second[both.battle]
    metric = bread[:, :models] @ bread[:models]
    length = metric[first, first] + metric[second, second] - 2.0 * metric[first, second]
    slopes, further = _slopes(both, values)
    share = both.weight / votes
    weighted = share[:, None] * slopes
    means = np.zeros((len(values), slopes.shape[1]))
    np.add.at(means, first, weighted)
    np.subtract.at(means, second, weighted)
    means[models:] = np.einsum("n,nuk->ku", share, further)
    moments = slopes.T @ (length[:, None] * weighted) - means.T @ metric @ means
    if further.size:
        mixed_part = np.einsum("nu,nk,nvk->uv", weighted, metric[first, models:] - metric[second, models:], further)
        moments += mixed_part + mixed_part.T
        moments += np.einsum("n,nuk,kl,nvl->uv", share, further, metric[models:, models:], further, optimize=True)
    return shares_of_judges(moments[1:, 1:], moments[1:, 0])


def _slopes(both: Paired, values: Floats) -> tuple[Floats, Floats]:
    """Return the slopes of each vote by people and by each judge in θ_first - θ_second and in the further parameters.

    Shapes (n, 1 + judges) and (n, 1 + judges, k).
    """
    first, second = both.first[both.battle], both.second[both.battle]
    verdicts = both.verdicts[both.battle]
    if both.further is None or len(values) == len(both.models):
        chance = 1.0 / (1.0 + np.exp(values[second] - values[first]))
        slopes = np.column_stack([both.people, verdicts]) - chance[:, None]
        return slopes, np.zeros((*slopes.shape, 0))
    votes = loss_rows(both, both.further, 0.0)[0]
    of_verdicts = both.further.verdicts[both.battle] if both.further.terms else None
    losses = [replace(votes, weight=np.ones(len(first)))]
    losses += [replace(losses[0], terms=of_verdicts, score=score, ties=(score == TIE) * 1.0) for score in verdicts.T]
    rows = [one.at(values)[1].rows for one in losses]
    return np.column_stack([row[2] for row in rows]), np.stack([row[3] for row in rows], axis=1)


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
                if (shares >= 0.0).all() and shares.sum() <= 1.0 + CLOSE and value < least - CLOSE * abs(least):
                    best, least = np.zeros(count), value
                    best[chosen] = shares
    return best / max(float(best.sum()), 1.0)


def mixed(both: Paired, factors: Floats) -> Paired:
    """Return the same with the mean verdict of the judges by their λ; the plain mean where none is used."""
    total = float(factors.sum())
    weights = factors / total if total else np.full(len(factors), 1.0 / len(factors))
    further = both.further and replace(both.further, ties=(both.verdicts == TIE) @ weights)
    return replace(both, judged=both.verdicts @ weights, further=further)

"""Whole schedules played among models of known strength, to see after how many matches a leaderboard can be trusted.

Votes follow Davidson's model of ties (1970): P(i wins) : P(j wins) : P(tie) = π_i : π_j : ν·√(π_i·π_j), with ν so
that equal models tie as often as asked; with some probability a rater answers at random instead. Every round the
schedule plans the next battles from what was voted so far, as ``next_pairs`` does, with as many streams; the Bradley-Terry
fit with half-win ties is repeated, and intervals come from the sandwich formula, as they would on the leaderboard.
"""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.diagnostics.convergence import bread_of, interval_widths, laplacian
from salon_ranking.models.ratings import POINTS_PER_UNIT
from salon_ranking.scheduling.pairs import CROSSED, Rule
from salon_ranking.scheduling.state import bernoulli_variance
from salon_ranking.uncertainty.anytime import LEAST_UNITS, Anytime
from salon_ranking.uncertainty.sandwich import prior_curvature

Floats = NDArray[np.float64]

_NEWTON_STEPS = 50
_SETTLED = 1e-8
_ENDLESS = 1e9


@dataclass(frozen=True)
class Voting:
    """How votes come about.

    Attributes:
        ties: share of ties between equal models, 0 or more and below 1.
        noise: share of votes that are drawn at random: left, right or tie, with the shares of equal models.
    """

    ties: float = 0.1
    noise: float = 0.0

    def outcomes(self, gap: Floats) -> Floats:
        """Return probabilities that the first wins, the second wins, and of a tie, at a difference of log-strengths.

        Returns:
            Shape (n, 3); rows sum to 1.

        Example:
            >>> Voting(ties=0.2).outcomes(np.array([0.0])).round(3).tolist()
            [[0.4, 0.4, 0.2]]
        """
        tie_weight = 2.0 * self.ties / (1.0 - self.ties)
        parts = np.stack([np.exp(gap / 2.0), np.exp(-gap / 2.0), np.full_like(gap, tie_weight)], axis=-1)
        chance = np.array([(1.0 - self.ties) / 2.0, (1.0 - self.ties) / 2.0, self.ties])
        shares: Floats = (1.0 - self.noise) * parts / parts.sum(axis=-1, keepdims=True) + self.noise * chance
        return shares


@dataclass(frozen=True)
class Goals:
    """What a leaderboard shall reach.

    Attributes:
        width: the interval of a rating is at most this wide, in Elo points.
        power: a test finds the difference of two neighbours with at least this probability.
        confidence: of the intervals; the test's level is 1 - ``confidence``, two-sided.
        least_gap: neighbours nearer than this, in Elo points, need not be separated.
        anytime: intervals and tests hold at every look (``uncertainty/anytime.py``).
    """

    width: float = 20.0
    power: float = 0.8
    confidence: float = 0.95
    least_gap: float = 10.0
    anytime: bool = False

    def reach(self, battles: int) -> float:
        """Return how many standard errors an interval reaches."""
        if self.anytime:
            return Anytime(max(battles, LEAST_UNITS), False, self.confidence).reach
        return NormalDist().inv_cdf((1.0 + self.confidence) / 2.0)


@dataclass(frozen=True)
class SimulatedState:
    """What stands after some battles. Widths are in Elo points."""

    battles: int
    mean_width: float
    median_width: float
    widest: float
    separated: float
    """Share of the neighbours, at least ``least_gap`` apart, that are separated with the wanted power; 1 when none are."""
    hardest: float
    """How many times too wide the interval of the hardest of those differences still is for that power; at most 1: done."""
    newcomer: float
    """The interval of the model that came last; NaN when all came together."""


class SimulatedLeague:
    """A simulated arena: truth, votes so far, and the fit to them."""

    def __init__(self, truth: Floats, voting: Voting, prior_ties: float, seed: int) -> None:
        self._truth, self._voting, self._prior_ties = truth, voting, prior_ties
        self._random = np.random.default_rng(seed)
        size = len(truth)
        self._first, self._second = np.triu_indices(size, 1)
        self._outcomes = voting.outcomes(truth[self._first] - truth[self._second])
        self.log_strengths: Floats = np.zeros(size)
        # What the ratings tend to: ties as half wins and random answers pull them together, and tests see that gap.
        self._limit = self._fitted(self._outcomes * _ENDLESS, np.zeros(size))
        self._streams = np.zeros((2, len(self._first), 3))
        self._of_streams: list[Floats] = [np.zeros(size), np.zeros(size)]

    @property
    def _votes(self) -> Floats:
        whole: Floats = self._streams.sum(axis=0)
        return whole

    @property
    def battles(self) -> int:
        """Votes so far."""
        return int(self._streams.sum())

    def play(self, rule: Rule, battles: int) -> None:
        """Plan ``battles`` more, vote on them, and fit again."""
        if rule in CROSSED:
            theta = [self._fitted(votes, before) for votes, before in zip(self._streams, self._of_streams, strict=True)]
            self._of_streams = theta
            new = [
                self._planned(rule, count, self._streams[1 - stream], theta[1 - stream])
                for stream, count in enumerate((battles - battles // 2, battles // 2))
            ]
            self._streams += np.array([self._random.multinomial(planned, self._outcomes) for planned in new])
        else:
            planned = self._planned(rule, battles, self._votes, self.log_strengths)
            self._streams[0] += self._random.multinomial(planned, self._outcomes)
        self._fit()

    def _planned(self, rule: Rule, battles: int, votes: Floats, theta: Floats) -> NDArray[np.int64]:
        """Return battles of each pair, planned from ``votes`` and their fit."""
        size = len(self._truth)
        matches = self._square(votes.sum(axis=1))
        covariance = self._bread(matches, theta) if rule in ("information", "proportional") else None
        seed = int(self._random.integers(1 << 62))
        a, b, *_ = _core.schedule(theta, matches, rule, battles, seed, covariance)
        low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
        counts = np.bincount(low * size + high, minlength=size * size).reshape(size, size)
        return counts[self._first, self._second]

    def settle(self, newcomer: int, battles: int) -> None:
        """Let all but ``newcomer`` meet each other ``battles`` times more, and fit again."""
        old = (self._first != newcomer) & (self._second != newcomer)
        # Every other vote of a pair is of the second stream, as if drawn at random.
        for stream in (0, 1):
            self._streams[stream] += self._random.multinomial(np.where(old, (battles + 1 - stream) // 2, 0), self._outcomes)
        self._fit()

    def checkpoint(self, goals: Goals, baseline: int, newcomer: int | None = None) -> SimulatedState:
        """Intervals with ``baseline`` fixed, of the ``newcomer`` and of the others, and the power to tell neighbours apart."""
        gap = self.log_strengths[self._first] - self.log_strengths[self._second]
        p = 1.0 / (1.0 + np.exp(-gap))
        scores = np.array([1.0, 0.0, 0.5])
        votes = self._votes
        spread = (votes * (scores - p[:, None]) ** 2).sum(axis=1)
        bread = self._bread(self._square(votes.sum(axis=1)), self.log_strengths)
        # The prior's share, as in ``sandwich.assembled``: without it a model that has not played would look certain.
        prior = prior_curvature(self.log_strengths, self._prior_ties)
        covariance = bread @ laplacian(self._square(spread)) @ bread + (bread * prior) @ bread
        once = replace(goals, anytime=False).reach(self.battles)
        every = interval_widths(covariance, baseline, goals.confidence) * (goals.reach(self.battles) / once)
        widths = np.delete(every, [baseline] if newcomer is None else [baseline, newcomer])
        return SimulatedState(
            self.battles,
            float(widths.mean()),
            float(np.median(widths)),
            float(widths.max()),
            *self._separated(covariance, goals),
            math.nan if newcomer is None else float(every[newcomer]),
        )

    def _separated(self, covariance: Floats, goals: Goals) -> tuple[float, float]:
        order = np.argsort(self._truth)
        lower, upper = order[:-1], order[1:]
        counted = (self._truth[upper] - self._truth[lower]) * POINTS_PER_UNIT >= goals.least_gap
        gap = self._limit[upper] - self._limit[lower]
        if not counted.any():
            return 1.0, 0.0
        variance = np.diag(covariance)[lower] + np.diag(covariance)[upper] - 2.0 * covariance[lower, upper]
        needed = goals.reach(self.battles) + NormalDist().inv_cdf(goals.power)
        excess = needed * np.sqrt(np.maximum(variance[counted], 0.0)) / gap[counted]
        return float(np.mean(excess <= 1.0)), float(excess.max())

    def _fit(self) -> None:
        self.log_strengths = self._fitted(self._votes, self.log_strengths)

    def _fitted(self, votes: Floats, start: Floats) -> Floats:
        """Fit by Newton's method from ``start``, with the prior of the schedule."""
        score = votes @ np.array([1.0, 0.0, 0.5])
        matches = self._square(votes.sum(axis=1))
        size = len(self._truth)
        won = np.bincount(self._first, score, size)
        won += np.bincount(self._second, votes.sum(axis=1) - score, size)
        theta = start
        for _ in range(_NEWTON_STEPS):
            expected = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
            slope = won - (matches * expected).sum(axis=1) + self._prior_ties * (0.5 - 1.0 / (1.0 + np.exp(-theta)))
            step = self._bread(matches, theta) @ slope
            reach = float(np.ptp(step))
            theta = theta + step * (math.log1p(reach) / reach if reach > _SETTLED else 1.0)  # Bach 2010, as in the core
            if reach <= _SETTLED:
                break
        return theta

    def _bread(self, matches: Floats, theta: Floats) -> Floats:
        curvature = matches * bernoulli_variance(theta[:, None] - theta[None, :])
        return bread_of(curvature, self._prior_ties * bernoulli_variance(theta))

    def _square(self, per_pair: Floats) -> Floats:
        square = np.zeros((len(self._truth), len(self._truth)))
        square[self._first, self._second] = per_pair
        return square + square.T
